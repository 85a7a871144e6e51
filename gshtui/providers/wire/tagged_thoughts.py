"""Reasoning that a server leaves in the text of an answer, between tags such as `<think>`. Pure.

Only what opens an answer is taken for a tag: a model that writes about tags further on is quoted as it is.
"""

from __future__ import annotations

TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
}


class TaggedThoughts:
    """Splits the text of one answer as it comes, wherever the pieces are cut."""

    def __init__(self) -> None:
        self._held = ""
        """Text that may still become a tag."""
        self._close = ""
        """The tag that ends the reasoning; empty: this is none."""
        self._open = True
        """A tag may begin here."""
        self._fresh = False
        """Nothing of the reasoning has come: the line end behind its tag is not part of it."""
        self._trim = False
        """Blank lines after the reasoning are not part of the text."""

    def split(self, words: str) -> list[tuple[bool, str]]:
        """(it is reasoning, the words) of what is known by now."""
        text, self._held = self._held + words, ""
        out: list[tuple[bool, str]] = []
        while text:
            if self._close:
                text = self._inside(text, out)
            elif self._open:
                text = self._before(text, out)
            else:
                out.append((False, text))
                break
        return out

    def rest(self) -> list[tuple[bool, str]]:
        """What was held back and never became a tag."""
        held, self._held = self._held, ""
        return [(bool(self._close), held)] if held.strip() or (held and not self._trim) else []

    def _inside(self, text: str, out: list[tuple[bool, str]]) -> str:
        if self._fresh and not (text := text.lstrip("\n")):
            return ""
        self._fresh = False
        thought, found, after = text.partition(self._close)
        if found:
            if thought:
                out.append((True, thought))
            self._close, self._trim = "", True
            return after
        keep = _overlap(text, self._close)
        self._held = text[len(text) - keep :]
        if len(text) > keep:
            out.append((True, text[: len(text) - keep]))
        return ""

    def _before(self, text: str, out: list[tuple[bool, str]]) -> str:
        start = text.lstrip()
        if tag := next((tag for tag in TAGS if start.startswith(tag)), ""):
            self._close, self._fresh = TAGS[tag], True
            return start[len(tag) :]
        if any(tag.startswith(start) for tag in TAGS):  # also where nothing but blanks has come
            self._held = text
            return ""
        self._open = False
        out.append((False, start if self._trim else text))
        return ""


def _overlap(text: str, tag: str) -> int:
    """How many of the last characters may be the beginning of the tag."""
    return next((size for size in range(min(len(text), len(tag) - 1), 0, -1) if text.endswith(tag[:size])), 0)

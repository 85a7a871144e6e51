"""What a program's answer means, by its words: allows once, allows more, denies, changes the program's mode. Pure.

Nothing is guessed: words that are not known have no meaning. From the meanings follow the digits that a person presses,
which are the same for every program: 1 allows once, 4 denies, and what changes a mode is on no digit of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gshtui.bus.agent_data import Meaning
from gshtui.text.linear_regex import compile_linear

_REFUSES = re.compile(
    r"(?i)^(?:no|deny|reject|refuse|decline|cancel|disallow|(?:don['’]t|do not) (?:allow|continue|proceed|run|trust))\b"
)
_BUT = re.compile(r"(?i)\b(?:switch|change|set|use|always|but)\b")
"""What makes a refusal more than that."""
_NO_SUCH = re.compile(r"(?i)^no +(?!thank|not\b|\()\w")
"""A no that says of what there is none, such as `No restrictions`."""
_GRANTS = re.compile(
    r"(?i)\b(?:yes|allow\w*|approv\w*|accept\w*|run|running|proceed\w*|execut\w*|trust\w*|apply|ask\w*|without"
    r"|(?:un)?sandbox\w*|(?:un)?restrict\w*|(?:un)?limit\w*|confirm\w*|anyway)\b"
)
"""What behind a refusal makes it another wish, such as `No, run without sandbox`."""
_WITH_WORDS = re.compile(
    r"(?i)\b(?:tell|suggest|explain|feedback|instruct\w*|differently|what to (?:change|do)|(?:with|give) a reason)\b"
)
_MODE = re.compile(
    r"(?i)\bmode\b|\bswitch(?:es)? to\b|\bauto[ -]?(?:accept|approve|run|edit)|\bbypass\w* permissions\b"
)
_EDITS = re.compile(r"(?i)\bedits\b")
_UNASKED = re.compile(r"(?i)\b(?:all|accept\w*|auto\w*)\b")
_ALLOWS = re.compile(r"(?i)^(?:yes|allow|always|approve|accept|trust|proceed|run)\b")
_MORE = re.compile(
    r"(?i)\balways\b|\b(?:don['’]t|do not|never) ask (?:me )?again\b|\bsession\b|\bremember\b|\bremainder\b"
    r"|\bpermanently\b|\bforever\b|\bevery time\b|\bfrom now on\b"
    r"|\bfor (?:this|the|all) (?:project|user|workspace|director\w+|folder)\b"
    r"|^trust\b|\bI trust\b|\btrust this\b|^allow all\b|\ball (?:commands|tools|calls)\b"
)
_NO_MORE_QUESTIONS = re.compile(r"(?i)\b(?:don['’]t|do not|never) ask (?:me )?again\b")
_NEGATES = re.compile(
    r"(?i)\b(?:don['’]t|do not|never|not|no|den(?:y|ied)|reject\w*|refuse\w*|decline\w*|disallow|block)\b"
)
_OTHER = re.compile(r"(?i)\b(?:switch|default|change|set|edits)\b")
"""Words by which more than a call may be allowed."""
_ONCE = re.compile(
    r"(?i)^(?:(?:yes|ok|okay)|(?:(?:yes|ok|okay)[,.:]? +)?(?:just )?"
    r"(?:allow|approve|accept|proceed|continue|run|run it|do it)"
    r"(?:,? +(?:(?:just )?(?:this )?once|this time|this|it|this command|this call|this edit|this change))?)[.!]?$"
)
_DIGITS: dict[Meaning, str] = {
    "once": "1789",
    "more": "23789",
    "deny": "4789",
    "words": "5789",
    "mode": "6789",
    "": "7896",
}
"""The digits of a meaning, by preference."""
_MOST = 9


def meaning_of(label: str, known: Mapping[Meaning, Sequence[str]] | None = None) -> Meaning:
    """What an answer means. `known`: a profile's patterns, which come first."""
    words = " ".join(label.split())
    for meaning, patterns in (known or {}).items():
        if any(compile_linear(pattern).search(words) for pattern in patterns):
            return meaning
    if (refused := _REFUSES.match(words)) is not None:
        if _BUT.search(words):
            return "mode" if _changes_mode(words) else ""
        if _WITH_WORDS.search(words):
            return "words"
        return "" if _NO_SUCH.match(words) or _GRANTS.search(words, refused.end()) else "deny"
    if not _ALLOWS.match(words):
        return ""
    if _changes_mode(words):
        return "mode"
    if _NEGATES.search(_NO_MORE_QUESTIONS.sub("", words)):
        return ""  # it says no as well as yes
    if _MORE.search(words):
        return "" if _OTHER.search(words) else "more"
    return "once" if _ONCE.match(words) else ""


def _changes_mode(words: str) -> bool:
    return bool(_MODE.search(words) or (_EDITS.search(words) and _UNASKED.search(words)))


def digits_of(meanings: Sequence[Meaning]) -> tuple[str, ...]:
    """The digit of each choice: by its meaning, or its place where none has a meaning. Empty: there are too many."""
    if len(meanings) > _MOST:
        return ()
    if not any(meanings):
        return tuple(str(place) for place in range(1, len(meanings) + 1))
    denies = "deny" in meanings
    free = set("123456789")
    found = [""] * len(meanings)
    order: tuple[Meaning, ...] = ("once", "deny", "words", "more", "mode", "")
    for meaning in order:
        for place, one in enumerate(meanings):
            if one != meaning:
                continue
            wanted = _DIGITS[one] if one != "words" or denies else "4" + _DIGITS[one]
            digit = next((digit for digit in wanted if digit in free), "")
            if not digit:
                return ()
            free.discard(digit)
            found[place] = digit
    return tuple(found)

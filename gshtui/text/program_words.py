"""What a program asks, in one line for rows without room for more, and what it said last on its terminal. Pure.

Banners, frames and spinners say nothing.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]{3}")
_WRONG = re.compile(
    r"(?i)error\b|\bfail(?:s|ed|ure)?\b|\bunable\b|\b(?:can|could) ?not\b|\b(?:can|could|did|does)n['’]t\b"
    r"|\bnot found\b|\bno such\b|\brefused\b|\bdenied\b|\binvalid\b|\bmissing\b|\bexpired\b|\btimed out\b"
)
"""What a line has that says what is wrong."""
_NEAR = 8
"""Lines from the end in which it is looked for."""
_OPENS, _CLOSES = "'\"(/~.", "'\")/~.!?:;,%"
"""What a line may begin and end with, besides letters and digits."""
_MOSTLY = 0.7
"""Share of the characters that are letters, digits or plain punctuation, in a line that says something."""


def last_lines(text: str, most: int = 2) -> str:
    """The last lines that say something, joined, or those of the last ones that say what is wrong, since hints often
    follow; empty: none says anything.
    """
    said: list[str] = []
    for line in reversed(text.splitlines()):
        words = _unframed(" ".join(line.split()))
        plain = sum(character.isalnum() or (character.isascii() and character not in "*=_#+~|") for character in words)
        if _WORD.search(words) and plain >= _MOSTLY * len(words):
            said.insert(0, words)
            if len(said) == _NEAR:
                break
    return " · ".join(([line for line in said if _WRONG.search(line)] or said)[-most:])


def last_line(text: str) -> str:
    """The last line that has words."""
    return next((line for line in reversed(text.splitlines()) if any(map(str.isalnum, line))), "")


def _unframed(line: str) -> str:
    """The line without what is drawn around its words."""
    start, end = 0, len(line)
    while start < end and not (line[start].isalnum() or line[start] in _OPENS):
        start += 1
    while end > start and not (line[end - 1].isalnum() or line[end - 1] in _CLOSES):
        end -= 1
    return line[start:end]


_GENERAL = re.compile(
    r"(?i)(?:(?:do|would|you|want|like|to|proceed|continue|run|execute|allow|apply|the|this|following|"
    r"execution|of)\b *)+(?:command|change|\[shell\])?\?"
)
"""The words of a program's question that say nothing which what it is about does not say."""
_LONGEST = 400
_LINE_END = " ⏎ "
_NO_FILE = "/dev/null"
_OF_CHANGE = re.compile(
    r"(?i)→ edit |(?:(?:do|would) you (?:want|like) to )?(?:make|create|overwrite|update|write) |apply this change\?|"
    r"permission for the file_system\."
)
"""How programs ask about a change of a file."""
_CHANGE_WORDS = re.compile(
    r"(?i)(?:(?:→|do|would|you|want|like|to|make|create|overwrite|update|write|edit|edits|apply|the|this|these|"
    r"following|file|change|changes)(?: +|$))*"
)
"""The words of such a question beside the name of its file."""
_OVERWRITES = re.compile(r"(?i)\boverwrite\b")
_FILE = "+++ "
"""How the line of a unified diff begins that names a file."""
_DRAWN = re.compile(r" {0,20}\d{1,9} ")
"""A line of a change, as programs draw it: below its number is the file's."""


def only_line(detail: str) -> str:
    """The one line of what a program asks about, such as a command; empty: there are none or more, or it is long."""
    lines = [line.strip() for line in detail.split("\n") if line.strip()]
    return lines[0] if len(lines) == 1 and len(lines[0]) <= _LONGEST else ""


def is_general(subject: str, detail: str) -> bool:
    """Whether these words of a program say nothing that the lines about it do not say."""
    return bool(detail.strip()) and _GENERAL.fullmatch(subject) is not None


def unsaid(subject: str, detail: str) -> str:
    """What a program asks about, without its first line where that is no more than the question says."""
    first, _, rest = detail.partition("\n")
    return rest if first.strip() and first.strip() in (subject, subject.partition(": ")[2]) else detail


def without_beginning(subject: str, detail: str) -> str:
    """The question without words that are cut short, where the lines about it have them whole."""
    asks, _, words = subject.removesuffix("…").partition(" ")
    begun = "".join(words.replace("␊", " ").split())
    is_told = subject.endswith("…") and begun and begun in "".join(detail.split())
    return asks if is_told else subject


def change_wish(subject: str, diff: str) -> str:
    """What a question wants that is about this change of one file, as our own agents say it; empty: it has words that
    say more than that.
    """
    from gshtui.text.sanitise import one_line  # not before the first letter

    head, _, rest = diff.partition("\n@@ ")
    *others, named = head.split("\n")
    if not rest or f"\n{_FILE}" in rest or not named.startswith(_FILE):
        return ""
    path = named.removeprefix(_FILE).partition("\t")[0].removeprefix("b/")
    said = one_line(subject, _LONGEST).removesuffix("?")
    name = path if said.endswith(path) else path.rpartition("/")[2]
    if path == _NO_FILE or _CHANGE_WORDS.fullmatch(said.removesuffix(name)) is None:
        return ""
    verb = "overwrite" if _OVERWRITES.search(said.removesuffix(name)) else "edit"
    return f"wants to {'write' if f'--- {_NO_FILE}' in others else verb} {one_line(path, _LONGEST)}"


def asked_line(subject: str, detail: str, diff: str = "") -> str:
    """The question with what it is about, each said once: all lines of that in their order, their ends marked."""
    from gshtui.text.sanitise import one_line  # not before the first letter

    subject, lines = one_line(subject, _LONGEST), [line.strip() for line in detail.split("\n") if line.strip()]
    lines = _undrawn(detail) if _OF_CHANGE.match(subject) else lines or [""]
    subject = change_wish(subject, diff) or subject
    told = one_line(_LINE_END.join(lines), _LONGEST)
    asked = subject.removesuffix("?").lower()
    if not told or told.lower() in asked:
        return subject
    if asked in told.lower() or is_general(subject, told):
        return told
    return " · ".join((told, subject) if subject.endswith("?") and len(lines) == 1 else (subject, told))


def _undrawn(detail: str) -> list[str]:
    """The lines without a change that is drawn below its heading, or alone."""
    first, *others = lines = [line for line in detail.split("\n") if line.strip()] or [""]
    if all(_DRAWN.match(line) for line in others):
        lines = [first] if not others or not _DRAWN.match(first) else []
    return [line.strip() for line in lines]

"""The keys of vi over a text and a cursor: a pure state machine, which the input asks once vi keys are chosen.

It knows insert and normal mode, the operators d c y with motions, counts, one register and the repetition of the last
change. In insert mode it takes only escape: typing is the input's own business. It never raises, whatever is pressed.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

Mode = Literal["insert", "normal"]
Effect = Literal["", "undo", "redo"]
MOST = 999
"""The largest count."""
_LONGEST = 100_000
"""Characters that one put may insert."""
_OPERATORS = "dcy"
_FINDS = "fFtT"
_ALIASES = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "S": "cc", "Y": "yy"}
_ARROWS = {"left": "h", "right": "l", "backspace": "h", "space": "l"}


class Buffer(msgspec.Struct, frozen=True):
    """A text and the cursor's index in it."""

    text: str = ""
    at: int = 0


class Register(msgspec.Struct, frozen=True):
    """What was deleted or copied last; `lines`: whole lines."""

    text: str = ""
    lines: bool = False


class LastChange(msgspec.Struct, frozen=True):
    """The last change, to be repeated: its keys, and what was typed in insert mode after them."""

    keys: tuple[str, ...] = ()
    typed: str = ""


class Insertion(msgspec.Struct, frozen=True):
    """Where insert mode began: the text before the cursor and behind it."""

    before: str
    behind: str
    keys: tuple[str, ...]
    times: int = 1
    """How often what is typed is put in."""
    between: str = ""
    """What is put between two of them."""


class ViState(msgspec.Struct, frozen=True):
    """The state between two keys."""

    mode: Mode = "insert"
    pending: tuple[str, ...] = ()
    """The keys of a command that is not complete."""
    register: Register = Register()
    found: str = ""
    """The last search within a line: its kind and its character."""
    last: LastChange = LastChange()
    insertion: Insertion | None = None


class Step(msgspec.Struct, frozen=True):
    """What a key has done."""

    state: ViState
    buffer: Buffer
    effect: Effect = ""


class _Command(msgspec.Struct, frozen=True):
    """Keys, taken apart."""

    count: int
    """0: none was given."""
    operator: str
    name: str
    """Of the motion or command; empty: more keys must come."""
    argument: str = ""

    @property
    def times(self) -> int:
        return max(1, self.count)


class _Motion(msgspec.Struct, frozen=True):
    """Where a motion leads."""

    to: int
    inclusive: bool = False
    lines: bool = False


def press(state: ViState, buffer: Buffer, key: str) -> Step:
    """Take a key. `key`: a character, or the name of a key: `escape`, `ctrl+r`, `left` …"""
    if state.mode == "insert":
        return _leave_insert(state, buffer) if key == "escape" else Step(state, buffer)
    if key == "escape":
        return Step(replace(state, pending=()), buffer)
    keys = (*state.pending, key)
    command = _parse(keys)
    if command is None:
        return Step(replace(state, pending=()), buffer)
    if not command.name:
        return Step(replace(state, pending=keys), buffer)
    return _run(replace(state, pending=()), buffer, command, keys)


def _parse(keys: tuple[str, ...]) -> _Command | None:
    """The command of these keys; `None`: there is none that begins like this."""
    rest = [_ARROWS.get(key, key) for key in keys]
    before, rest = _number(rest)
    if rest and rest[0] in _ALIASES:
        rest = [*_ALIASES[rest[0]], *rest[1:]]
    operator = rest.pop(0) if rest and rest[0] in tuple(_OPERATORS) else ""
    between, rest = _number(rest)
    count = min(MOST, (before or 1) * (between or 1)) if before or between else 0
    if not rest:
        return _Command(count, operator, "")
    name, *more = rest
    if name == operator:
        return _Command(count, operator, "line")
    if name in tuple(_FINDS) or (name == "r" and not operator):
        argument = "".join(more)
        if more and len(argument) != 1 and argument != "enter":
            return None
        return _Command(count, operator, name if more else "", "\n" if argument == "enter" else argument)
    if name == "g":
        return _Command(count, operator, "gg" if more == ["g"] else "") if more in ([], ["g"]) else None
    known = _MOTIONS if operator else (*_MOTIONS, *_COMMANDS)
    return _Command(count, operator, name) if name in known and not more else None


def _number(keys: list[str]) -> tuple[int, list[str]]:
    """A count at the beginning, and the rest; 0 is a motion unless it continues a number."""
    digits = ""
    while keys and keys[0] in tuple("0123456789") and (digits or keys[0] != "0"):
        digits = (digits + keys[0])[:4]
        keys = keys[1:]
    return min(MOST, int(digits)) if digits else 0, keys


_MOTIONS = ("h", "l", "j", "k", "w", "b", "e", "W", "B", "E", "0", "^", "$", "G", ";", ",")
_COMMANDS = ("p", "P", "u", "ctrl+r", "i", "a", "I", "A", "o", "O", ".", "~", "J")


def _run(state: ViState, buffer: Buffer, command: _Command, keys: tuple[str, ...]) -> Step:
    if command.operator:
        return _operate(state, buffer, command, keys)
    text, at, times = buffer.text, buffer.at, command.times
    if command.name in tuple(_FINDS):
        state = replace(state, found=command.name + command.argument)
    motion = _motion(text, at, command, state.found)
    if motion is not None:
        return Step(state, _clamped(text, motion.to))
    if command.name not in _COMMANDS and command.name != "r":
        return Step(state, buffer)  # a motion that leads nowhere
    changed = replace(state, last=LastChange(keys))
    match command.name:
        case "u":
            return Step(state, buffer, "undo")
        case "ctrl+r":
            return Step(state, buffer, "redo")
        case ".":
            return _repeat(state, buffer, command.count)
        case "r":
            end = at + times
            if end > _line_end(text, at):
                return Step(state, buffer)
            new = command.argument if command.argument == "\n" else command.argument * times
            return Step(changed, _clamped(text[:at] + new + text[end:], at + max(0, len(new) - 1)))
        case "~":
            end = min(at + times, _line_end(text, at))
            return Step(changed, _clamped(text[:at] + text[at:end].swapcase() + text[end:], end))
        case "J":
            return Step(changed, _joined(text, at, max(1, times - 1)))
        case "p" | "P":
            return Step(changed, _put(buffer, state.register, times, behind=command.name == "p"))
        case _:
            return _insert(state, buffer, command, keys)


def _operate(state: ViState, buffer: Buffer, command: _Command, keys: tuple[str, ...]) -> Step:
    text, at = buffer.text, buffer.at
    if command.name in tuple(_FINDS):
        state = replace(state, found=command.name + command.argument)
    if command.name == "line":
        last = _line_start(text, at)
        if command.times > 1 and _line_end(text, at) == len(text):
            return Step(state, buffer)
        for _ in range(command.times - 1):
            last = _line_end(text, last) + 1 if _line_end(text, last) < len(text) else last
        motion: _Motion | None = _Motion(last, lines=True)
    else:
        motion = _motion(text, at, command, state.found)
        if command.operator == "c" and command.name in ("w", "W") and _kind(text, at, wide=False) != " ":
            motion = _Motion(_changed_words(text, at, command.times, command.name == "W"), inclusive=True)
    if motion is None:
        return Step(state, buffer)
    start, end = sorted((at, motion.to))
    if motion.lines:
        return _operate_lines(state, buffer, command.operator, _line_start(text, start), _line_end(text, end), keys)
    if motion.inclusive:
        end = min(len(text), end + 1)
    if command.name in ("w", "W") and "\n" in text[start:end]:
        stop = _line_end(text, start + len(text[start:end].rstrip(" \t\n")))
        end = min(end, stop) if stop > start else end  # not into the next line
    if start == end and command.operator != "c":
        return Step(state, buffer)
    blank = not text[_line_start(text, start) : start].strip() and not text[end : _line_end(text, end)].strip()
    if command.operator == "d" and blank and "\n" in text[start:end]:
        return _operate_lines(state, buffer, "d", _line_start(text, start), _line_end(text, end), keys)
    state = replace(state, register=Register(text[start:end]) if start < end else state.register)
    if command.operator == "y":
        return Step(state, _clamped(text, start))
    left = Buffer(text[:start] + text[end:], start)
    if command.operator == "d":
        return Step(replace(state, last=LastChange(keys)), _clamped(left.text, start))
    return _typing(state, left, keys)


def _changed_words(text: str, at: int, times: int, wide: bool) -> int:
    """The last sign that `cw` takes: it leaves the spaces behind the word."""
    kind = _kind(text, at, wide=wide)
    while _kind(text, at + 1, wide=wide) == kind:
        at += 1
    for _ in range(times - 1):
        at = _word_end(text, at, wide)
    return at


def _operate_lines(state: ViState, buffer: Buffer, operator: str, start: int, end: int, keys: tuple[str, ...]) -> Step:
    """On whole lines: `start` is the first one's beginning, `end` the last one's end."""
    text = buffer.text
    state = replace(state, register=Register(text[start:end], lines=True))
    if operator == "y":
        return Step(state, _clamped(text, min(buffer.at, start) if buffer.at > end else buffer.at))
    if operator == "c":
        return _typing(state, Buffer(text[:start] + text[end:], start), keys)
    if end < len(text):
        left = text[:start] + text[end + 1 :]
    else:
        left, start = text[: max(0, start - 1)], max(0, start - 1)
    at = min(start, len(left))
    return Step(replace(state, last=LastChange(keys)), _clamped(left, _first_sign(left, at)))


def _insert(state: ViState, buffer: Buffer, command: _Command, keys: tuple[str, ...]) -> Step:
    text, at, times = buffer.text, buffer.at, command.times
    start, end = _line_start(text, at), _line_end(text, at)
    if command.name == "o":
        return _typing(state, Buffer(f"{text[:end]}\n{text[end:]}", end + 1), keys, times, "\n")
    if command.name == "O":
        return _typing(state, Buffer(f"{text[:start]}\n{text[start:]}", start), keys, times, "\n")
    places = {"i": at, "a": min(at + 1, end), "I": _first_sign(text, at), "A": end}
    return _typing(state, Buffer(text, places[command.name]), keys, times)


def _typing(state: ViState, buffer: Buffer, keys: tuple[str, ...], times: int = 1, between: str = "") -> Step:
    """Insert mode from here on."""
    began = Insertion(buffer.text[: buffer.at], buffer.text[buffer.at :], keys, times, between)
    return Step(replace(state, mode="insert", insertion=began), buffer)


def _leave_insert(state: ViState, buffer: Buffer) -> Step:
    began, text, last = state.insertion, buffer.text, state.last
    if began is not None:
        whole = text.startswith(began.before) and text.endswith(began.behind)
        whole = whole and len(text) >= len(began.before) + len(began.behind)
        typed = text[len(began.before) : len(text) - len(began.behind)] if whole else ""
        last = LastChange(began.keys, typed)
        if typed and began.times > 1:
            more = (began.between + typed) * min(began.times - 1, _LONGEST // len(typed))
            buffer = Buffer(text := text[: buffer.at] + more + text[buffer.at :], buffer.at + len(more))
    at = max(_line_start(text, buffer.at), buffer.at - 1)
    return Step(replace(state, mode="normal", pending=(), insertion=None, last=last), _clamped(text, at))


def _repeat(state: ViState, buffer: Buffer, count: int) -> Step:
    """The last change once more, with another count if one is given."""
    last = state.last
    if not last.keys:
        return Step(state, buffer)
    keys = last.keys
    if count:
        plain = list(keys)
        while plain and plain[0].isdigit() and plain[0] != "0":
            plain.pop(0)
        keys = (*str(count), *plain)
    step = Step(state, buffer)
    for key in keys:
        step = press(step.state, step.buffer, key)
    if step.state.mode == "insert":
        text, at = step.buffer.text, step.buffer.at
        step = press(step.state, Buffer(text[:at] + last.typed + text[at:], at + len(last.typed)), "escape")
    return Step(replace(step.state, last=replace(last, keys=keys)), step.buffer)


def _put(buffer: Buffer, register: Register, times: int, *, behind: bool) -> Buffer:
    text, at = buffer.text, buffer.at
    if not register.text and not register.lines:
        return buffer
    times = min(times, max(1, _LONGEST // (len(register.text) + 1)))
    if register.lines:
        new = "\n".join([register.text] * times)
        place = _line_end(text, at) if behind else _line_start(text, at)
        put = f"{text[:place]}\n{new}{text[place:]}" if behind else f"{text[:place]}{new}\n{text[place:]}"
        return _clamped(put, _first_sign(put, place + 1 if behind else place))
    place = min(at + 1, _line_end(text, at)) if behind else at
    new = register.text * times
    return _clamped(text[:place] + new + text[place:], place + len(new) - 1)


def _joined(text: str, at: int, times: int) -> Buffer:
    for _ in range(times):
        end = _line_end(text, at)
        if end == len(text):
            break
        rest = text[end + 1 :].lstrip(" \t")
        gap = " " if rest and not rest.startswith("\n") and text[:end] and not text[:end].endswith((" ", "\n")) else ""
        text, at = text[:end] + gap + rest, end
    return _clamped(text, at)


# Motions


def _motion(text: str, at: int, command: _Command, found: str) -> _Motion | None:
    """Where the motion leads from here; `None`: it is none, or it leads nowhere."""
    name, times = command.name, command.times
    start, end = _line_start(text, at), _line_end(text, at)
    match name:
        case "h":
            return _Motion(max(start, at - times))
        case "l":
            return _Motion(min(end, at + times))
        case "j" | "k":
            return _vertical(text, at, times if name == "j" else -times, strict=bool(command.operator))
        case "0":
            return _Motion(start)
        case "^":
            return _Motion(_first_sign(text, at))
        case "$":
            if times > 1 and end == len(text):
                return None
            for _ in range(times - 1):
                end = _line_end(text, end + 1) if end < len(text) else end
            return _Motion(end)
        case "gg" | "G":
            lines = text.split("\n")
            row = min(command.count or (1 if name == "gg" else len(lines)), len(lines)) - 1
            return _Motion(_first_sign(text, sum(len(line) + 1 for line in lines[:row])), lines=True)
        case "w" | "W" | "b" | "B" | "e" | "E":
            step = {"w": _next_word, "b": _word_before, "e": _word_end}[name.lower()]
            to = at
            for _ in range(times):
                to = step(text, to, name.isupper())
            if to == at and name in "bBeE" and command.operator:
                return None
            return _Motion(to, inclusive=name in "eE" and to < len(text))
        case "f" | "F" | "t" | "T":
            return _find(text, at, name, command.argument, times)
        case ";" | "," if found:
            kind = found[0] if name == ";" else found[0].swapcase()
            return _find(text, at, kind, found[1:], times, again=True)
        case _:
            return None


def _vertical(text: str, at: int, rows: int, *, strict: bool) -> _Motion | None:
    lines = text.split("\n")
    row, column = text.count("\n", 0, at), at - _line_start(text, at)
    wanted = min(max(0, row + rows), len(lines) - 1)
    if wanted == row:
        return None if strict else _Motion(at)
    to = sum(len(line) + 1 for line in lines[:wanted]) + min(column, len(lines[wanted]))
    return _Motion(to, lines=True)


def _find(text: str, at: int, kind: str, sign: str, times: int, *, again: bool = False) -> _Motion | None:
    start, end = _line_start(text, at), _line_end(text, at)
    place = at
    for number in range(times):
        skip = 1 + (again and kind in "tT" and number == 0)
        if kind in "ft":
            place = text.find(sign, place + skip, end)
        else:
            place = text.rfind(sign, start, max(start, place - skip + 1))
        if place < 0 or not sign:
            return None
    place += {"t": -1, "T": 1}.get(kind, 0)
    return _Motion(place, inclusive=kind in "ft")


def _kind(text: str, at: int, *, wide: bool) -> str:
    """The class of the sign there: of a word, of punctuation, or space (as the end is)."""
    if at >= len(text) or text[at].isspace():
        return " "
    return "w" if wide or text[at].isalnum() or text[at] == "_" else "."


def _next_word(text: str, at: int, wide: bool) -> int:
    kind = _kind(text, at, wide=wide)
    while at < len(text) and kind != " " and _kind(text, at, wide=wide) == kind:
        at += 1
    while at < len(text) and text[at].isspace():
        if text[at] == "\n" and text[at + 1 : at + 2] == "\n":
            return at + 1  # an empty line is a word
        at += 1
    return at


def _word_before(text: str, at: int, wide: bool) -> int:
    at = max(0, at - 1)
    while at > 0 and text[at].isspace():
        if text[at] == "\n" and text[at - 1] == "\n":
            return at
        at -= 1
    kind = _kind(text, at, wide=wide)
    while at > 0 and kind != " " and _kind(text, at - 1, wide=wide) == kind:
        at -= 1
    return at


def _word_end(text: str, at: int, wide: bool) -> int:
    if at + 1 >= len(text):
        return at
    at += 1
    while at < len(text) - 1 and text[at].isspace():
        at += 1
    kind = _kind(text, at, wide=wide)
    while at + 1 < len(text) and kind != " " and _kind(text, at + 1, wide=wide) == kind:
        at += 1
    return at


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _first_sign(text: str, at: int) -> int:
    """The first sign of the line that is no space."""
    start, end = _line_start(text, at), _line_end(text, at)
    line = text[start:end]
    return start + len(line) - len(line.lstrip())


def _clamped(text: str, at: int) -> Buffer:
    """The cursor on a sign of its line, as in normal mode, not behind the last one."""
    at = min(max(0, at), len(text))
    start, end = _line_start(text, at), _line_end(text, at)
    return Buffer(text, max(start, min(at, end - 1)))

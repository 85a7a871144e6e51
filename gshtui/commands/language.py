"""The command language: one line read as words, a command and its validated parameters.

Pure. Runs nothing.
"""

from __future__ import annotations

import json
import types
import typing
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gshtui.commands.declaration import Parameters, UsageError
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.text.similar_names import similar_names

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a line. `start` and `end` are offsets into the line; `key` is set for `key=value`."""

    text: str
    start: int
    end: int
    key: str = ""
    quoted: bool = False


def tokens(line: str, *, lenient: bool = False) -> list[Token]:
    """Split a line into tokens.

    Args:
        line: without the leading slash.
        lenient: take an unclosed quote as closed at the end, for completion while someone types.

    Raises:
        UsageError: a quote is not closed.
    """
    found: list[Token] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        token = _word(line, at, lenient)
        found.append(token)
        at = token.end
    return found


def _word(line: str, start: int, lenient: bool) -> Token:
    out: list[str] = []
    key, quoted, at = "", False, start
    while at < len(line) and not line[at].isspace():
        char = line[at]
        if char in "'\"":
            text, at = _quoted(line, at, lenient)
            out.append(text)
            quoted = True
        elif char == "\\" and at + 1 < len(line):
            out.append(line[at + 1])
            at += 2
        elif char == "=" and not key and not quoted and "".join(out).isidentifier():
            key, out = "".join(out), []
            at += 1
        else:
            out.append(char)
            at += 1
    return Token("".join(out), start, at, key, quoted)


def _quoted(line: str, start: int, lenient: bool) -> tuple[str, int]:
    quote = line[start]
    out: list[str] = []
    at = start + 1
    while at < len(line):
        char = line[at]
        if char == quote:
            return "".join(out), at + 1
        if char == "\\" and quote == '"' and at + 1 < len(line):
            out.append(_ESCAPES.get(line[at + 1], "\\" + line[at + 1]))
            at += 2
        else:
            out.append(char)
            at += 1
    if lenient:
        return "".join(out), at
    raise UsageError(f"The quote {quote} at column {start + 1} is not closed.")


def quote(text: str) -> str:
    """The text as one word of the language."""
    if text and not any(char.isspace() or char in "'\"\\=" for char in text):
        return text
    if "'" not in text:
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class Parsed:
    """A line bound to its command: what to run and with which validated parameters."""

    command: AnyCommand
    parameters: Parameters


def parse(registry: Registry, line: str) -> Parsed:
    """Bind a line to a command.

    Args:
        registry: where the command is looked up.
        line: with or without a leading slash.

    Raises:
        UsageError: empty, unknown command, unknown, doubled, missing or unfit parameter, unclosed quote.
    """
    text = strip_slash(line)
    name, rest = head(text)
    if not name:
        raise UsageError("The line is empty.", hint="`help` lists all commands.")
    command = registry.get(name)
    return Parsed(command, validate(command, _named(command, text, rest)))


def strip_slash(line: str) -> str:
    """The line without surrounding space and its leading slash."""
    return line.strip().removeprefix("/").lstrip()


def head(text: str) -> tuple[str, int]:
    """The first word and the offset behind it."""
    name = text.split(maxsplit=1)[0] if text.strip() else ""
    return name, text.find(name) + len(name)


def _named(command: AnyCommand, text: str, start: int) -> dict[str, Any]:
    fields = command.parameters.model_fields
    free = list(command.positions)
    values: dict[str, Any] = {}
    words = tokens_of_rest(command, text, start)
    for word in words:
        while free and free[0] in values:
            free.pop(0)
        takes_rest = len(free) == 1 and _takes_text(command, free[0])
        if word.key and (word.key in fields or not takes_rest):
            name, value = word.key, word.text
            if name in values:
                raise UsageError(f"{command.name}: {name} is given twice.")
        else:
            if not free:
                raise UsageError(f"{command.name}: unexpected {text[word.start : word.end]!r}.", hint=usage(command))
            name = free.pop(0)
            raw = takes_rest and text[word.start] not in "'\""
            value = text[word.start :].rstrip() if raw else (f"{word.key}={word.text}" if word.key else word.text)
            if raw:
                values[name] = value
                break
        values[name] = _shape(command, name, value)
    return values


def tokens_of_rest(command: AnyCommand, text: str, start: int, *, lenient: bool = False) -> list[Token]:
    """Tokens behind the name, with offsets into the text; quotes in what a parameter takes raw need not close."""
    takes_rest = bool(command.positions) and _takes_text(command, command.positions[-1])
    shifted = " " * start + text[start:]
    return tokens(shifted, lenient=lenient or takes_rest)


def _bare(annotation: object) -> tuple[Any, ...]:
    """The alternatives of an annotation, without None."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return tuple(a for a in typing.get_args(annotation) if a is not type(None))
    return (annotation,)


def _takes_text(command: AnyCommand, name: str) -> bool:
    return str in _bare(command.parameters.model_fields[name].annotation)


def _shape(command: AnyCommand, name: str, value: str) -> Any:
    """Text in the shape that the parameter expects: lists as `[a, b]` or one value, objects as JSON."""
    field = command.parameters.model_fields.get(name)
    kinds = {typing.get_origin(a) or a for a in _bare(field.annotation)} if field else set[Any]()
    if kinds & {list, tuple, set}:
        inner = value[1:-1] if value.startswith("[") and value.endswith("]") else value
        return [part.strip().strip("'\"") for part in inner.split(",") if part.strip()]
    if dict in kinds:
        try:
            return json.loads(value)
        except RecursionError as error:
            raise UsageError(f"{command.name}: {name} is nested too deeply.") from error
        except ValueError as error:
            raise UsageError(f"{command.name}: {name} must be a JSON object: {error}.") from error
    return value


def validate(command: AnyCommand, values: dict[str, Any]) -> Parameters:
    """The command's parameters from plain values (a line's, or a model's JSON).

    Raises:
        UsageError: one sentence that names each parameter that is wrong, and why.
    """
    try:
        return command.parameters.model_validate(values)
    except ValidationError as error:
        said = [_complaint(command, detail) for detail in error.errors(include_url=False, include_context=False)]
        raise UsageError(f"{command.name}: {'; '.join(said[:5])}.", hint=usage(command)) from error


def _complaint(command: AnyCommand, detail: ErrorDetails) -> str:
    where = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "missing":
        return f"{where} is missing"
    if detail["type"] == "extra_forbidden":
        near = similar_names(where, command.parameters.model_fields)
        return f"there is no parameter {where!r}" + (f", did you mean {near[0]!r}?" if near else "")
    given = repr(detail["input"])
    shown = given if len(given) <= 60 else given[:57] + "…"
    message = str(detail["msg"])
    return f"{where}: {message[:1].lower()}{message[1:]} (given {shown})"


def usage(command: AnyCommand) -> str:
    """One line that shows how it is used."""
    parts: list[str] = []
    for name, field in command.parameters.model_fields.items():
        word = f"<{name}>" if name in command.positions else f"{name}=…"
        parts.append(word if field.is_required() else f"[{word}]")
    return f"Usage: {' '.join([command.name, *parts])}"

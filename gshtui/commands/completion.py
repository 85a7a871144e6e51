"""Completion of a line while it is typed: command names, parameter names, and values where a command knows them."""

from __future__ import annotations

import typing
from dataclasses import dataclass

from gshtui.commands.declaration import Invocation, UsageError
from gshtui.commands.language import quote, tokens_of_rest
from gshtui.commands.registry import AnyCommand, Registry


@dataclass(frozen=True, slots=True)
class Completion:
    """Replace `line[start:end]` by `value`. `kind`: command, parameter or value; `detail` explains it."""

    value: str
    start: int
    end: int
    kind: str
    detail: str = ""


async def complete(registry: Registry, invocation: Invocation, line: str, cursor: int) -> list[Completion]:
    """What may stand at the cursor; best first. Never raises for a half-typed line."""
    typed = line[:cursor]
    offset = len(typed) - len(typed.lstrip())
    offset += typed[offset : offset + 1] == "/"
    body = typed[offset:]
    name, _, rest = body.partition(" ")
    if not rest and " " not in body:
        fits = [command for command in registry.visible(invocation.caller) if command.name.startswith(name)]
        # A complete name comes before longer ones, and what a model uses as a tool after what people use.
        fits.sort(key=lambda command: (command.name != name, command.tool))
        return [Completion(command.name, offset, cursor, "command", command.summary) for command in fits]
    try:
        command = registry.get(name)
    except UsageError:
        return []
    words = tokens_of_rest(command, body, len(name), lenient=True)
    current = words[-1] if words and words[-1].end == len(body) else None
    given = {word.key for word in words if word.key}
    start = offset + current.start if current else cursor
    if current and current.key:
        values = await _values(command, invocation, current.key, current.text)
        return [Completion(f"{current.key}={quote(v)}", start, cursor, "value") for v in values]
    places = sum(1 for word in words if not word.key) - (current is not None)
    prefix = current.text if current else ""
    found: list[Completion] = []
    if places < len(command.positions):
        for value in await _values(command, invocation, command.positions[places], prefix):
            found.append(Completion(quote(value), start, cursor, "value"))
    for key, field in command.parameters.model_fields.items():
        if key.startswith(prefix) and key not in given:
            found.append(Completion(f"{key}=", start, cursor, "parameter", field.description or ""))
    return found


async def _values(command: AnyCommand, invocation: Invocation, name: str, prefix: str) -> list[str]:
    field = command.parameters.model_fields.get(name)
    if field is None:
        return []
    values = [value for value in _choices(field.annotation) if value.startswith(prefix)]
    if not values and command.complete is not None:
        values = [v for v in await command.complete(invocation, name, prefix) if v.startswith(prefix)]
    return values


def _choices(annotation: object) -> list[str]:
    if annotation is bool:
        return ["true", "false"]
    if typing.get_origin(annotation) is typing.Literal:
        return [str(choice) for choice in typing.get_args(annotation)]
    return [choice for part in typing.get_args(annotation) for choice in _choices(part)]

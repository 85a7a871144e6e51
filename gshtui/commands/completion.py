"""Completion of a line while it is typed: commands, parameters, values where a command knows them, and variables."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import Invocation, Offered, UsageError, typed_fields
from gshtui.commands.language import piped_parameter, signature, signatures
from gshtui.commands.line_parser import ACTION, LineParser, OpenStage
from gshtui.commands.line_syntax import TextNode, quote
from gshtui.commands.line_values import VariableError, Variables, selected
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.system.json_types import is_object

_VARIABLE = re.compile(r"\$(?:\{([^\W\d]\w*)\.([\w.]*)|(\{?)((?:[^\W\d]\w*)?))$")
"""A variable at the end of a text: `${name.field`, or `$name` and `${name`."""


class Completion(msgspec.Struct, frozen=True):
    """Replace `line[start:end]` by `value`. `kind`: command, parameter, value or variable; `detail` explains it."""

    value: str
    start: int
    end: int
    kind: str
    detail: str = ""


async def complete(registry: Registry, invocation: Invocation, line: str, cursor: int) -> list[Completion]:
    """What may stand at the cursor; best first. Never raises for a half-typed line."""
    typed = line[:cursor]
    parser = LineParser(typed, signatures(registry))
    try:
        parser.script()
    except UsageError:
        if not parser.has_read_all:
            return []
    if parser.expects_command or not parser.open:
        return _commands(registry, invocation, OpenStage(cursor), cursor)
    stage = parser.open[-1]
    if not stage.named:
        return _commands(registry, invocation, stage, cursor)
    raw = bool(stage.given) and isinstance(last := stage.given[-1].value, TextNode) and last.raw
    literal = raw or stage.word < 0 or typed[stage.value : stage.value + 1] == "'"
    if not literal and (found := _VARIABLE.search(typed)) is not None:
        return [
            Completion(value, found.start(), cursor, "variable", detail)
            for value, detail in _variables(found, invocation.variables)
        ]
    if stage.name not in registry or (raw and any(map(str.isspace, typed[stage.word :]))):
        return []
    return await _arguments(registry.get(stage.name), invocation, stage, typed)


def _commands(registry: Registry, invocation: Invocation, stage: OpenStage, cursor: int) -> list[Completion]:
    group, _, word = stage.name.partition(" ")
    if word:
        known = registry.get(group).words.items()
        fits = [one for one, command in known if one.startswith(word) and _can_follow(stage, command)]
        return [Completion(one, cursor - len(word), cursor, "value") for one in fits]
    visible = registry.visible(invocation.caller)
    fits = [(name, one) for one in visible if (name := _named(one, stage.name)) and _can_follow(stage, one)]
    # A complete name comes before longer ones, and what a model uses as a tool after what people use.
    fits.sort(key=lambda fit: (fit[0] != stage.name, fit[1].tool))
    return [Completion(name, stage.start, cursor, "command", command.summary) for name, command in fits]


def _named(command: AnyCommand, begun: str) -> str:
    """The command's name that begins so, or its alias; empty: none does."""
    names = (command.name, *command.aliases)
    return begun if begun in names else next((name for name in names if name.startswith(begun)), "")


def _can_follow(stage: OpenStage, command: AnyCommand) -> bool:
    """Whether the command, or a word of the group, takes what a `|` in front of it gives."""
    return not stage.piped or any(map(piped_parameter, (command, *command.words.values())))


def _variables(found: re.Match[str], variables: Variables) -> Iterator[tuple[str, str]]:
    name, path, brace, begun = found.groups()
    if name is None:
        for known in variables:
            if known.startswith(begun):
                yield (f"${{{known}}}" if brace else f"${known}"), variables[known].text[:60]
        return
    *steps, begun = path.split(".")
    try:
        data: object = selected(variables[name], tuple(steps)).data if name in variables else None
    except VariableError:
        return
    fields = data if is_object(data) else {"text": ""}
    for field in fields:
        if field.startswith(begun) and field.isidentifier():
            yield f"${{{'.'.join([name, *steps, field])}}}", ""


async def _arguments(command: AnyCommand, invocation: Invocation, stage: OpenStage, typed: str) -> list[Completion]:
    """Values and names of parameters for the word at the end of the text."""
    cursor = len(typed)
    finished = [one for one in stage.given if stage.word < 0 or one.span.start < stage.word]
    prefix = "" if stage.word < 0 else typed[stage.value :].lstrip("'\"")
    if stage.word >= 0 and len(finished) < len(stage.given):
        value = stage.given[-1].value
        if not isinstance(value, TextNode):
            return []
        prefix = value.text
    start = cursor if stage.word < 0 else stage.word
    if stage.key:
        key = signature(command).former.get(stage.key, stage.key)
        values = await _values(command, invocation, key, prefix)
        in_array = stage.value > stage.word + len(stage.key) + 1
        at, lead = (stage.value, "") if in_array else (start, f"{stage.key}=")
        return [Completion(f"{lead}{quote(v)}", at, cursor, "value", _about(v)) for v in values]
    given = {one.name for one in finished if one.name}
    free = [name for name in signature(command).positions if name not in given]
    places = sum(1 for one in finished if not one.name)
    unnamed = iter(free)
    so_far = {one.name or next(unnamed, ""): one.value for one in finished}
    texts = {name: value.text for name, value in so_far.items() if isinstance(value, TextNode)}
    if word := command.name.removeprefix(command.first_word).strip():
        texts[ACTION] = word
    invocation = replace(invocation, given=texts)
    found: list[Completion] = []
    if command.words and not finished:
        found += [
            Completion(word, start, cursor, "value", one.summary)
            for word, one in command.words.items()
            if word.startswith(prefix) and one.name.endswith(f" {word}") and _can_follow(stage, one)
        ]
    if places < len(free):
        for value in await _values(command, invocation, free[places], prefix):
            found.append(Completion(quote(value), start, cursor, "value", _about(value)))
    for key, field in typed_fields(command.parameters).items():
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


def _about(value: str) -> str:
    return value.about if isinstance(value, Offered) else ""


def _choices(annotation: object) -> list[str]:
    if annotation is bool:
        return ["true", "false"]
    if typing.get_origin(annotation) is typing.Literal:
        return [str(choice) for choice in typing.get_args(annotation)]
    return [choice for part in typing.get_args(annotation) for choice in _choices(part)]

"""A command as a model's tool: its JSON schema, and a parameter base class in which `null` means omitted."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from annotated_types import Le
from pydantic import JsonValue, model_validator

from gshtui.commands.declaration import Access, Parameters
from gshtui.commands.line_parser import ACTION
from gshtui.commands.registry import AnyCommand, own_words
from gshtui.system.json_types import is_object, obj


class ToolParameters(Parameters):
    """Parameters of a tool: like any command's, but `null` counts as omitted."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: object) -> object:
        if not is_object(data):
            return data
        return {name: value for name, value in data.items() if value is not None}


def renamed(old: str, new: str, data: object) -> object:
    """The arguments with one name for what has two: what people write as `old` is the field `new`. Raises `ValueError`:
    both are given.
    """
    if not is_object(data):
        return data
    given = dict(data)
    if given.get(old) in (None, ""):
        return given
    if given.get(new) not in (None, ""):
        raise ValueError(f"{old} and {new} are the same; give one of them")
    given[new] = given.pop(old)
    return given


FOR_PEOPLE: dict[str, Any] = {"for_people": True}
"""`json_schema_extra` of a parameter that is hidden from models, because it is of no use to them."""
PLAIN: dict[str, Any] = {"plain": True}
"""`json_schema_extra` of a parameter whose name tells a model enough; its description is for people."""
RARE: dict[str, Any] = {"rare": True}
"""`json_schema_extra` of a parameter that requests leave out, because few calls need it; `find_tool` describes it."""
Schema = dict[str, JsonValue]
_NOTHING: tuple[JsonValue, ...] = ({"type": "null"}, {"type": "string", "const": ""})
"""Choices that stand for an omitted value."""
_FAR = 600
"""Upper bounds from this value on are left out."""


def tool_schema(command: AnyCommand) -> dict[str, Any]:
    """JSON schema of an object with the command's parameters; references are resolved in place. Of a group: the word as
    `action`, and what the words have that agents can use.
    """
    words = [word for word in own_words(command) if command.words and _is_shared(command.words[word])]
    if words:
        usual = str(getattr(command.parameters, "WORD", ""))
        return _group_schema({word: tool_schema(command.words[word]) for word in words}, usual)
    schema: Schema = command.parameters.model_json_schema()
    definitions = obj(schema.pop("$defs", None))
    plain = _plain_fields(schema, definitions)
    plain.setdefault("properties", {})
    plain.pop("description", None)
    return plain


def _is_shared(command: AnyCommand) -> bool:
    return command.access is not Access.HUMAN_ONLY


def _group_schema(words: dict[str, dict[str, Any]], usual: str) -> dict[str, Any]:
    """Parameters of several words are said once, with the words that have them. `usual`: the word that is left out."""
    having: dict[str, list[str]] = {}
    fields: dict[str, dict[str, Any]] = {}
    for word, schema in words.items():
        for field, about in schema["properties"].items():
            having.setdefault(field, []).append(word)
            fields.setdefault(field, about)
    for field, its in having.items():
        if len(its) < len(words):
            said = fields[field].get("description", "")
            fields[field] = {**fields[field], "description": f"{', '.join(its)}: {said}".removesuffix(": ")}
    action: dict[str, Any] = {"type": "string", "enum": list(words)} | ({"default": usual} if usual else {})
    shape = {"type": "object", "additionalProperties": False, "properties": {ACTION: action, **fields}}
    return shape if usual else {**shape, "required": [ACTION]}


def lean_schema(command: AnyCommand, *, rare: bool = False) -> dict[str, Any]:
    """The schema as sent with every request, without the parts that cost tokens and tell a model nothing.

    The omitted rules still apply when a call arrives: bounds that no call comes near, and the refusal of unknown
    parameters. The descriptions explain empty defaults. `rare`: with the parameters that few calls need.
    """
    return _lean_fields(tool_schema(command), {"for_people"} if rare else {"for_people", "rare"})


def _lean(node: JsonValue, left_out: Set[str], *, properties: bool = False) -> JsonValue:
    if isinstance(node, list):
        return [_lean(item, left_out) for item in node]
    return _lean_fields(node, left_out, properties=properties) if isinstance(node, dict) else node


def _lean_fields(fields: Schema, left_out: Set[str], *, properties: bool = False) -> Schema:
    """
    Args:
        left_out: the marks of the parameters to leave out.
        properties: the fields are parameters' names, each with its schema.
    """
    if properties:
        kept = {name: value for name, value in fields.items() if left_out.isdisjoint(obj(value))}
        return {name: _lean(value, left_out) for name, value in kept.items()}
    offered = fields.get("anyOf")
    choices = [one for one in offered if one not in _NOTHING] if isinstance(offered, list) else []
    if len(choices) == 1:
        fields = {**obj(choices[0]), **{name: value for name, value in fields.items() if name != "anyOf"}}
    said = {"rare", "plain", "description"} if fields.get("plain") else {"rare"}
    return {
        name: _lean(value, left_out, properties=name == "properties")
        for name, value in fields.items()
        if name not in said and not _idle(name, value)
    }


def _idle(name: str, value: JsonValue) -> bool:
    match name:
        case "default":
            return not value
        case "additionalProperties" | "minLength" | "exclusiveMinimum":
            return not value or value == 1
        case "minimum":
            return value == 0
        case "maximum":
            return isinstance(value, int | float) and value >= _FAR
        case _:
            return False


def _plain(node: JsonValue, definitions: Schema, *, properties: bool = False) -> JsonValue:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    return _plain_fields(node, definitions, properties=properties) if isinstance(node, dict) else node


def _plain_fields(fields: Schema, definitions: Schema, *, properties: bool = False) -> Schema:
    """`properties`: the fields are parameters' names, each with its schema."""
    if isinstance(reference := fields.get("$ref"), str):
        target = obj(definitions.get(reference.rsplit("/", 1)[-1]))
        return _plain_fields({**target, **{k: v for k, v in fields.items() if k != "$ref"}}, definitions)
    kept = {k: v for k, v in fields.items() if properties or k != "title"}
    return {k: _plain(v, definitions, properties=k == "properties") for k, v in kept.items()}


def tool_description(command: AnyCommand) -> str:
    """The part of it that a model sees."""
    return command.description or command.summary


def lowered(command: AnyCommand, values: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The values with numbers above their maximum lowered to it, and the sentence that says so; empty: none was."""
    changed: dict[str, Any] = {}
    for name, field in command.parameters.model_fields.items():
        value = values.get(name)
        most = next((limit.le for limit in field.metadata if isinstance(limit, Le)), None)
        if isinstance(value, int | float) and isinstance(most, int | float) and value > most:
            changed[name] = most
    said = ", ".join(f"{name}: {value}" for name, value in changed.items())
    return {**values, **changed}, f"the maximum was used: {said}" if changed else ""

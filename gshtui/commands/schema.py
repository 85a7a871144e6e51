"""A command as a model's tool: its JSON schema, and the base of its parameters, where `null` means left out."""

from __future__ import annotations

from typing import Any, cast

from pydantic import model_validator

from gshtui.commands.declaration import Parameters
from gshtui.commands.registry import AnyCommand


class ToolParameters(Parameters):
    """Parameters of a tool: as any command's, and `null` counts as not given."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in cast("dict[str, Any]", data).items() if value is not None}


FOR_PEOPLE: dict[str, Any] = {"for_people": True}
"""`json_schema_extra` of a parameter that models are not told of: it is of no use to them."""
PLAIN: dict[str, Any] = {"plain": True}
"""`json_schema_extra` of a parameter whose name says it all to a model; its description is for people."""
_FAR = 600
"""Upper bounds from which on they are not told."""


def tool_schema(command: AnyCommand) -> dict[str, Any]:
    """JSON schema of an object with the command's parameters; references are resolved in place."""
    schema = command.parameters.model_json_schema()
    definitions = cast("dict[str, Any]", schema.pop("$defs", {}))
    plain = cast("dict[str, Any]", _plain(schema, definitions))
    plain.setdefault("properties", {})
    plain.pop("description", None)
    return plain


def lean_schema(command: AnyCommand) -> dict[str, Any]:
    """The schema as it is sent with every request: without what costs tokens and tells a model nothing.

    What is left out is checked all the same when a call comes in: bounds no call comes near, and that there are no
    other parameters. Empty defaults are what the descriptions say of an empty value.
    """
    return cast("dict[str, Any]", _lean(tool_schema(command)))


def _lean(node: Any, name_of_property: bool = False) -> Any:
    if isinstance(node, list):
        return [_lean(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    if name_of_property:
        return {name: _lean(value) for name, value in fields.items() if not value.get("for_people")}
    choices = [one for one in fields.get("anyOf", ()) if one not in ({"type": "null"}, {"type": "string", "const": ""})]
    if len(choices) == 1:
        fields = {**choices[0], **{name: value for name, value in fields.items() if name != "anyOf"}}
    said = {"plain", "description"} if fields.get("plain") else set[str]()
    return {
        name: _lean(v, name == "properties") for name, v in fields.items() if name not in said and not _idle(name, v)
    }


def _idle(name: str, value: Any) -> bool:
    match name:
        case "default":
            return not value
        case "additionalProperties" | "minLength" | "exclusiveMinimum":
            return not value or value == 1
        case "minimum":
            return value == 0
        case "maximum":
            return value >= _FAR
        case _:
            return False


def _plain(node: Any, definitions: dict[str, Any], name_of_property: bool = False) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    if isinstance(reference := fields.get("$ref"), str):
        target = definitions.get(reference.rsplit("/", 1)[-1], {})
        return _plain({**target, **{k: v for k, v in fields.items() if k != "$ref"}}, definitions)
    kept = {k: v for k, v in fields.items() if name_of_property or k != "title"}
    return {k: _plain(v, definitions, name_of_property=k == "properties") for k, v in kept.items()}


def tool_description(command: AnyCommand) -> str:
    """What a model is told of it."""
    return command.description or command.summary

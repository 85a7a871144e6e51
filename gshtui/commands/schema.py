"""A command's parameters as the JSON schema that models are given, without pydantic's titles."""

from __future__ import annotations

from typing import Any, cast

from gshtui.commands.registry import AnyCommand


def tool_schema(command: AnyCommand) -> dict[str, Any]:
    """JSON schema of an object with the command's parameters; references are resolved in place."""
    schema = command.parameters.model_json_schema()
    definitions = cast("dict[str, Any]", schema.pop("$defs", {}))
    plain = cast("dict[str, Any]", _plain(schema, definitions))
    plain.setdefault("properties", {})
    plain.pop("description", None)
    return plain


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

"""Writes a syntax tree as a line, `parse_line(format_line(tree)) == tree`, and the form that names every parameter."""

from __future__ import annotations

import re
from dataclasses import replace

from gshtui.commands.language import named, signature
from gshtui.commands.line_syntax import (
    QUOTED,
    Argument,
    Array,
    Joined,
    Node,
    Pipeline,
    Script,
    Stage,
    Substitution,
    TextNode,
    VariableNode,
    quote,
)
from gshtui.commands.registry import Registry

_FIELD = re.compile(r"[^\W\d]\w*")


def canonical(registry: Registry, script: Script) -> Script:
    """The script with every argument given by name, and commands by their names in place of aliases.
    Raises `UsageError`: unknown command, doubled argument, or one without a place.
    """

    def stage(one: Stage) -> Stage:
        command = registry.get(one.name)
        given = named(signature(command), one, script.source)
        arguments = [Argument(name, value(argument.value), argument.span) for name, argument in given.items()]
        return Stage(command.name, tuple(arguments), one.span)

    def value(node: Node) -> Node:
        match node:
            case Substitution(inner):
                return replace(node, script=canonical(registry, inner))
            case Joined(parts):
                return replace(node, parts=tuple(value(part) for part in parts))
            case Array(items):
                return replace(node, items=tuple(map(value, items)))
            case _:
                return node

    pipelines = [Pipeline(tuple(map(stage, pipeline.stages)), pipeline.span) for pipeline in script.pipelines]
    return Script(tuple(pipelines), script.source)


def format_line(script: Script) -> str:
    return "; ".join(" | ".join(map(_stage, pipeline.stages)) for pipeline in script.pipelines)


def _stage(stage: Stage) -> str:
    values = (f"{one.name}={_node(one.value)}" if one.name else _node(one.value) for one in stage.arguments)
    return " ".join([stage.name, *values])


def _node(node: Node) -> str:
    match node:
        case TextNode(text):
            return quote(text)
        case VariableNode(name, path):
            return f"${{{_expression(name, path)}}}" if path else f"${name}"
        case Substitution(script, readable):
            return f"{'<' if readable else '$'}({format_line(script)})"
        case Joined(parts):
            return f'"{"".join(map(_inside, parts))}"'
        case Array(items):
            return f"[{', '.join(map(_node, items))}]"


def _inside(part: TextNode | VariableNode | Substitution) -> str:
    """A part of a double-quoted text."""
    match part:
        case TextNode(text):
            return text.translate(QUOTED)
        case VariableNode(name, path):
            return f"${{{_expression(name, path)}}}"
        case Substitution():
            return _node(part)


def _expression(name: str, path: tuple[str | int, ...]) -> str:
    return name + "".join(map(_step, path))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _FIELD.fullmatch(step):
        return f".{step}"
    return f'["{step}"]' if '"' not in step else f"['{step}']"

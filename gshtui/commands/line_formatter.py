"""Writes a syntax tree as a line: `parse_line(format_line(tree)) == tree`. Pure."""

from __future__ import annotations

import re

from gshtui.commands.line_syntax import Array, Joined, Node, Script, Stage, Substitution, TextNode, VariableNode

_PLAIN = re.compile(r"[^\s|;$\\'\"\[\]()<>&=,]+")
_FIELD = re.compile(r"[^\W\d]\w*")
_DOUBLE = str.maketrans({"\\": "\\\\", '"': '\\"', "$": "\\$"})


def format_line(script: Script) -> str:
    return "; ".join(" | ".join(map(_stage, pipeline.stages)) for pipeline in script.pipelines)


def quote(text: str) -> str:
    """The text as one word of the language, which interpolates nothing."""
    if _PLAIN.fullmatch(text) and text != "--help":
        return text
    return f"'{text}'" if "'" not in text else f'"{text.translate(_DOUBLE)}"'


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
            return text.translate(_DOUBLE)
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

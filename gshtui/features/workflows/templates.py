"""Texts with Liquid interpolation, `{{ params.name }}`: strict, bounded, and with no tags.

Unknown names, filters and tags are errors. A result has a limit, and so has what each filter makes. In a shell script,
a value is never spliced into the code: each `{{ … }}` becomes a variable of the environment, quoted where it stands.
Loading this loads python-liquid, so it is imported where a workflow is read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
from liquid import Environment, Mode
from liquid.ast import Node
from liquid.builtin.content import ContentNode
from liquid.builtin.output import OutputNode
from liquid.exceptions import LiquidError
from liquid.template import BoundTemplate
from liquid.undefined import StrictDefaultUndefined

from gshtui.features.workflows.definition import Template
from gshtui.guard.policy.shell_line import has_parser, quoting_at
from gshtui.text.sanitise import one_line

LONGEST = 1024 * 1024
"""Characters of a template, of what a filter makes, and bytes of a whole result."""
_MOST_FILTERS = 20
"""In one template."""
_FILTERS = (
    *("default", "strip", "lstrip", "rstrip", "squish", "strip_newlines", "downcase", "upcase", "capitalize"),
    *("append", "prepend", "replace", "replace_first", "replace_last", "remove", "remove_first", "remove_last"),
    *("truncate", "truncatewords", "split", "join", "first", "last", "size", "slice", "reverse", "uniq", "compact"),
    *("plus", "minus", "at_least", "at_most", "abs", "ceil", "floor", "round", "escape", "url_encode", "date"),
)
_GROWS = {"replace": 1, "append": 0, "prepend": 0, "join": 0}
"""Filters whose result can be longer than their input and arguments together, checked before they run."""
ROOTS = frozenset(("params", "step", "env", "workspace", "now", "agent", "terminal"))
"""The names that templates can use."""


class TemplateError(ValueError):
    """One sentence without its full stop. `line`: in the file; 0: unknown."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class Reference(msgspec.Struct, frozen=True):
    """A variable that a template uses: `step['diff'].stdout` is ("step", "diff", "stdout")."""

    parts: tuple[object, ...]
    line: int


class _Interpolation(Environment):
    output_stream_limit = LONGEST
    loop_iteration_limit = 1
    local_namespace_limit = 1
    logical_parentheses = True
    logical_not_operator = True

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        super().setup_tags_and_filters(extra=extra)
        self.tags = {name: tag for name, tag in self.tags.items() if name in ("content", "output", "illegal")}
        self.filters = {name: _bounded(name, self.filters[name]) for name in _FILTERS}


class _Conditions(_Interpolation):
    """For `when` alone, whose expression becomes the condition of an `if`."""

    def setup_tags_and_filters(self, *, extra: bool = False) -> None:
        Environment.setup_tags_and_filters(self, extra=extra)
        self.tags = {name: tag for name, tag in self.tags.items() if name in ("content", "output", "if", "illegal")}
        self.filters = {}


def _bounded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, refusing to make more than fits."""

    @functools.wraps(function)
    def checked(value: Any, *arguments: Any, **named: Any) -> Any:
        if name in _GROWS:
            longest = sum(len(str(each)) for each in arguments) or 1
            text = str(value)
            pieces = len(cast("list[Any]", value)) if name == "join" and isinstance(value, list | tuple) else len(text)
            if name == "replace" and arguments and str(arguments[0]):
                pieces = text.count(str(arguments[0]))
            made = pieces * longest + (len(text) if name != "join" else 0)
            if made > LONGEST * (1 + _GROWS[name]):
                raise LiquidError(f"`{name}` would make more than {LONGEST:,} characters", token=None)
        return function(value, *arguments, **named)

    return checked


@functools.cache
def _environment() -> _Interpolation:
    return _Interpolation(undefined=StrictDefaultUndefined, tolerance=Mode.STRICT)


@functools.cache
def _conditions() -> _Conditions:
    return _Conditions(undefined=StrictDefaultUndefined, tolerance=Mode.STRICT)


def references(template: Template, *, condition: bool = False) -> list[Reference]:
    """The variables that it uses. Raises `TemplateError`: it is not valid."""
    parsed = _condition(template) if condition else _parsed(template)
    found: list[Reference] = []
    analysis = parsed.analyze()
    if sum(len(uses) for uses in analysis.filters.values()) > _MOST_FILTERS:
        raise TemplateError(f"it uses more than {_MOST_FILTERS} filters", template.line)
    for uses in analysis.variables.values():
        for use in uses:
            line = template.line + template.text.count("\n", 0, max(0, use.span.index))
            found.append(Reference(tuple(use.segments), template.line if condition else line))
    return found


def render(template: Template, values: Mapping[str, object]) -> str:
    """The text with its values. Raises `TemplateError`."""
    try:
        return _parsed(template).render(**values)
    except LiquidError as error:
        raise _explained(error, template) from None
    except (ArithmeticError, RecursionError, MemoryError) as error:
        raise TemplateError(f"it cannot be rendered: {type(error).__name__}", template.line) from None


def check_known(template: Template, values: Mapping[str, object]) -> None:
    """Raise `TemplateError` where a part that needs no step's result cannot be rendered, as of a missing variable."""
    parsed = _parsed(template)
    for node in parsed.nodes:
        if isinstance(node, OutputNode) and "step" not in BoundTemplate(parsed.env, [node]).analyze().variables:
            _rendered(parsed, node, values, template)


def holds(template: Template, values: Mapping[str, object]) -> bool:
    """Whether an expression such as `params.amend == true` is true. Raises `TemplateError`."""
    try:
        return _condition(template).render(**values) == "1"
    except LiquidError as error:
        raise _explained(error, template) from None


def number(template: Template, values: Mapping[str, object]) -> float:
    """The number that a text or an expression, without `{{ }}`, stands for. Raises `TemplateError`."""
    text = template.text.strip()
    said = render(Template(text if "{{" in text else f"{{{{ {text} }}}}", template.line), values)
    try:
        found = float(said)
    except ValueError:
        raise TemplateError(f"{one_line(said, 60)!r} is not a number", template.line) from None
    if not 0 < found <= 86_400:
        raise TemplateError("it must be more than 0 and at most 86400 seconds", template.line)
    return found


_MARK = "gsh_value_{}_of_workflow"


def shell_script(template: Template, values: Mapping[str, object]) -> tuple[str, dict[str, str]]:
    """The script, and the variables that it names where values were interpolated. Raises `TemplateError`: it is not
    valid, or a value stands where a shell puts no variable in its place.
    """
    parsed = _parsed(template)
    pieces: list[str] = []
    variables: dict[str, str] = {}
    for node in parsed.nodes:
        if isinstance(node, ContentNode):
            pieces.append(node.text)
        elif isinstance(node, OutputNode):
            name = _MARK.format(len(variables) + 1)
            variables[name] = _rendered(parsed, node, values, template)
            pieces.append(name)
    script = "".join(pieces)
    for name in variables:
        at = script.index(name)
        if not has_parser():
            raise TemplateError(
                "a value cannot be put into a shell line: tree-sitter, which reads it, is not installed"
            )
        quoting = quoting_at(script, at)
        if quoting in ("single", "heredoc"):
            where = "single quotes" if quoting == "single" else "a quoted here-document"
            raise TemplateError(
                f"a value stands in {where}, where a shell puts none in its place; use double quotes",
                template.line + script.count("\n", 0, at),
            )
        inserted = f"${{{name}}}" if quoting in ("double", "plain heredoc") else f'"${{{name}}}"'
        script = script[:at] + inserted + script[at + len(name) :]
    return script, variables


def _rendered(parsed: BoundTemplate, node: Node, values: Mapping[str, object], template: Template) -> str:
    try:
        return BoundTemplate(parsed.env, [node]).render(**values)
    except LiquidError as error:
        raise _explained(error, template) from None


def _parsed(template: Template) -> BoundTemplate:
    return _parse(_environment(), template.text, template)


def _condition(template: Template) -> BoundTemplate:
    text = template.text.strip()
    if any(sign in text for sign in ("{%", "%}", "{{", "}}", "\n")):
        raise TemplateError("it is an expression on one line, without `{{ }}` or `{% %}`", template.line)
    return _parse(_conditions(), f"{{% if {text} %}}1{{% endif %}}", template)


def _parse(environment: Environment, text: str, template: Template) -> BoundTemplate:
    if len(text) > LONGEST:
        raise TemplateError(f"it is longer than {LONGEST:,} characters", template.line)
    try:
        return _parse_once(environment, text)
    except LiquidError as error:
        raise _explained(error, template) from None
    except RecursionError:
        raise TemplateError("it is nested too deeply", template.line) from None


@functools.lru_cache(maxsize=512)
def _parse_once(environment: Environment, text: str) -> BoundTemplate:
    return environment.from_string(text)


def _explained(error: LiquidError, template: Template) -> TemplateError:
    said = one_line(str(error.args[0]) if error.args else type(error).__name__, 200).rstrip(".")
    kind = type(error).__name__
    if kind == "OutputStreamLimitError":
        said = f"its result is longer than {LONGEST // 1024:,} KB"
    elif "unexpected tag" in said or "unknown tag" in said or kind == "DisabledTagError":
        said = f"{said}; only `{{{{ … }}}}` can be used here, and `{{% raw %}}` for braces that stay"
    token = error.token
    line = template.line + (template.text.count("\n", 0, token.start_index) if token is not None else 0)
    return TemplateError(said, line)

"""The command language: a syntax tree bound to commands and their validated parameters.

Pure. Runs nothing: `evaluation` runs the lines inside values, and gives their results.
"""

from __future__ import annotations

import functools
import json
import shlex
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from gshtui.commands.declaration import (
    Caller,
    CommandError,
    Incomplete,
    Mark,
    Parameters,
    UsageError,
    Word,
    is_marked,
    option_of,
    typed_fields,
)
from gshtui.commands.line_parser import ACTION, Signature, Signatures, parse_line
from gshtui.commands.line_syntax import (
    Argument,
    Array,
    Joined,
    Node,
    Script,
    SourceSpan,
    Stage,
    Substitution,
    TextNode,
    VariableNode,
    position,
    substitutions,
)
from gshtui.commands.line_values import LineValue, VariableError, Variables, selected
from gshtui.commands.registry import AnyCommand, Registry, may_run, own_words, refused
from gshtui.system.json_types import is_array
from gshtui.text.plain_name import similar_names
from gshtui.text.units import counted

Results = Mapping[SourceSpan, LineValue]
"""The results of the lines inside values, by where those are."""


class Parsed(msgspec.Struct, frozen=True):
    """A line bound to its command: what to run and with which validated parameters."""

    command: AnyCommand
    parameters: Parameters


def signatures(registry: Registry) -> Signatures:
    """What the parser knows of the commands."""
    return lambda name: signature(registry.get(name)) if name in registry else None


def signature(command: AnyCommand) -> Signature:
    """What the parser knows of a command."""
    found = _signature(command.parameters, command.positions, bool(command.words) or " " in command.name)
    if not command.words:
        return found
    words = {**command.elsewhere, **{word: one.name for word, one in command.words.items()}}
    return msgspec.structs.replace(
        found, words=words, names=found.names | {ACTION}, former={**found.former, ACTION: ACTION}
    )


@functools.lru_cache(maxsize=1024)
def _signature(parameters: type[Parameters], positions: tuple[str, ...], in_group: bool) -> Signature:
    """`in_group`: its last position takes several words only where it says so."""
    fields = typed_fields(parameters)
    lists = frozenset(
        name for name, field in fields.items() if _LISTS & {typing.get_origin(a) for a in _bare(field.annotation)}
    )
    last = positions[-1] if positions else ""
    verbatim = last if last and is_marked(fields[last], Mark.VERBATIM) else ""
    takes_several = bool(last) and bool({str, LineValue} & set(_bare(fields[last].annotation)))
    if takes_several and in_group:
        takes_several = bool(verbatim) or option_of(fields[last]).words != 1
    takes_several = takes_several or (in_group and last in lists)
    former = {
        **{other: name for name, field in fields.items() for other in _option_names(field) if other not in fields},
        **parameters.FORMER_NAMES,
    }
    names = frozenset((*fields, *former))
    switches = frozenset(
        name for name in names if (field := fields.get(former.get(name, name))) and field.annotation is bool
    )
    no_options = frozenset({verbatim} if verbatim and option_of(fields[verbatim]).absent else ())
    tail = last if takes_several else ""
    return Signature(positions, names, verbatim, tail, former, switches, lists, no_options=no_options)


def _option_names(field: FieldInfo) -> list[str]:
    """Its names in the shell, such as `all` of `--all`, which a line may use, too."""
    names = (name.removeprefix("--").replace("-", "_") for name in option_of(field).name.split())
    return [name for name in names if name.isidentifier()]


def read_line(registry: Registry, line: str) -> Script:
    """The syntax tree of a line, with or without a leading slash. Raises `UsageError`."""
    script = parse_line(line, signatures(registry))
    pipelines = tuple(
        replace(pipeline, stages=tuple(_as_meant(registry, stage) for stage in pipeline.stages))
        for pipeline in script.pipelines
    )
    return script if pipelines == script.pipelines else replace(script, pipelines=pipelines)


def _as_meant(registry: Registry, stage: Stage) -> Stage:
    """The stage under the name of the command that it is of, which its parameters can tell."""
    if stage.name not in registry:
        return stage
    command = registry.get(stage.name)
    if command.bare and not stage.arguments:
        return replace(stage, name=command.bare)
    if not command.instead:
        return stage
    return replace(stage, name=registry.meant(stage.name, [one.name for one in stage.arguments]).name)


def split_line(registry: Registry, line: str) -> list[str]:
    """The pipelines of a line, each as it was typed. Raises `UsageError`."""
    script = read_line(registry, line)
    return [script.source_of(pipeline.span).strip() for pipeline in script.pipelines]


def strip_slash(line: str) -> str:
    """The line without surrounding space and its leading slash."""
    return line.strip().removeprefix("/").lstrip()


def is_bound_at_once(script: Script) -> bool:
    """Whether it is one command without lines inside its values."""
    stage = script.only_stage
    return stage is not None and not any(substitutions(one.value) for one in stage.arguments)


def parse(registry: Registry, line: str) -> Parsed:
    """Bind a line of one command. `registry`: where the command is looked up. `line`: with or without a leading slash.
    Raises `UsageError`: empty, not of the language, several commands, unknown command or variable, unknown, doubled,
    missing or unfit parameter.
    """
    script = read_line(registry, line)
    stage = script.only_stage
    if stage is None or not is_bound_at_once(script):
        raise UsageError("Only a single command can stand here.", hint="Run the others by themselves.")
    return bind(registry, stage, script.source, Variables(), {})


def bind(
    registry: Registry,
    stage: Stage,
    source: str,
    variables: Variables,
    results: Results,
    piped: LineValue | None = None,
) -> Parsed:
    """A command with its validated parameters.

    Args:
        source: the text that it was parsed from.
        results: of the lines inside its values.
        piped: the result of the command before it.

    Raises `UsageError`: with its position; see `parse`.
    """
    where = stage.span
    try:
        command = registry.get(stage.name)
        _refuse_word(command, stage)
        given = named(signature(command), stage, source)
        values = {
            name: _shape(command, name, argument.value, _Scope(source, variables, results))
            for name, argument in given.items()
        }
        if piped is not None:
            _take_piped(command, values, piped)
        spans = {name: argument.span for name, argument in given.items()}
        return Parsed(command, validate(command, values, spans))
    except _MisplacedError as error:
        raise located(error, source, error.span) from None
    except CommandError as error:
        located(error, source, where)
        raise


def check_stage(registry: Registry, stage: Stage, source: str, caller: Caller, *, is_piped: bool) -> None:
    """Refuse a command that cannot run, as far as that can be seen without its values. Raises `UsageError`: with its
    position; it is unknown, for people only, or takes nothing from a pipe, or its arguments do not fit.
    """
    try:
        command = registry.get(stage.name)
        if not may_run(command, caller):
            raise refused(command.name, caller)
        _refuse_word(command, stage)
        named(signature(command), stage, source)
        if is_piped and not piped_parameter(command):
            raise _takes_nothing(command)
    except _MisplacedError as error:
        raise located(error, source, error.span) from None
    except CommandError as error:
        located(error, source, stage.span)
        raise


def _refuse_word(command: AnyCommand, stage: Stage) -> None:
    """Refuse a first word that a group does not have. Raises `UsageError`."""
    by_name = next((one for one in stage.arguments if one.name == ACTION), None) if command.words else None
    first = by_name or (stage.arguments[0] if stage.arguments else None)
    if first is not None and (first is by_name or not first.name) and isinstance(first.value, TextNode):
        word = first.value.text.split(maxsplit=1)[0] if first.value.text.strip() else ""
        if command.words and (by_name is not None or not command.positions):
            if word in command.words:
                message = f"`{word}` must be the first word after `{command.name}`."
                raise _MisplacedError(message, first.span, hint=f"Write `{command.words[word].name} …`.")
            near = similar_names(word, {**command.words, **command.elsewhere}, most=2)
            words = dict.fromkeys((*own_words(command), *command.elsewhere.values()))
            hint = f"Did you mean {' or '.join(near)}?" if near else f"It has {', '.join(words)}."
            raise _MisplacedError(f"`{command.name}` has no action {word!r}.", first.span, hint=hint)


def _refuse_option(signature: Signature, stage: Stage, argument: Argument, found: Collection[str]) -> None:
    """Refuse `--name` without a value for a parameter of this name. Raises `UsageError`."""
    text = argument.value.text if isinstance(argument.value, TextNode) and not argument.value.quoted else ""
    word = text.strip()
    name = word.removeprefix("--").replace("-", "_")
    takes = signature.left({*found, *signature.no_options})
    if word.startswith("--") and name in takes and not argument.name:
        raise _MisplacedError(f"{stage.name}: {word} needs a value.", argument.span, hint=f"Use {name}=….")


def piped_parameter(command: AnyCommand) -> str:
    """The parameter that takes the result of the command before a `|`; empty: none."""
    fields = command.parameters.model_fields
    return next((name for name, field in fields.items() if is_marked(field, Mark.PIPED)), "")


def _takes_nothing(command: AnyCommand) -> UsageError:
    return UsageError(
        f"{command.name} takes nothing from a pipe.", hint=f"`{command.name} NAME=$(…)` gives a parameter a result."
    )


def located(error: CommandError, source: str, span: SourceSpan) -> CommandError:
    """The error with its position in the source, unless it has one."""
    if error.position is None:
        error.position = position(source, span)
    return error


class _MisplacedError(UsageError):
    """Something is wrong at one place of a line."""

    def __init__(self, message: str, span: SourceSpan, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.span = span


def named(signature: Signature, stage: Stage, source: str) -> dict[str, Argument]:
    """The arguments of a command by the names of their parameters. Raises `UsageError`: one is given twice, or there is
    no place for it.
    """
    free = list(signature.positions)
    found: dict[str, Argument] = {}
    arguments = list(stage.arguments)
    while arguments:
        argument = arguments.pop(0)
        _refuse_option(signature, stage, argument, found)
        while free and free[0] in found:
            free.pop(0)
        takes_several = free == [signature.tail]
        if argument.name and (argument.name in signature.names or not takes_several):
            name = signature.former.get(argument.name, argument.name)
            if name in found and name in signature.several:
                argument = _added(found[name], argument)
            elif name in found:
                raise _MisplacedError(f"{stage.name}: {name} is given twice.", argument.span)
        else:
            if not free:
                word = source[argument.span.start : argument.span.end]
                shown = word if len(word) <= 60 else f"{word[:57]}…"
                hint = f"Write `--{word}`." if word in signature.switches else _usage(stage.name, signature)
                raise _MisplacedError(f"{stage.name}: unexpected {shown!r}.", argument.span, hint=hint)
            name = free.pop(0)
            if takes_several:
                more = [argument]
                while arguments and arguments[0].name not in signature.names:
                    more.append(arguments.pop(0))
                is_list = name in signature.several
                argument = functools.reduce(_added, more) if is_list else _joined(more, source)
        found[name] = argument
    return found


def _added(before: Argument, argument: Argument) -> Argument:
    """A list that is given item by item."""
    span = SourceSpan(before.span.start, argument.span.end)
    items = before.value.items if isinstance(before.value, Array) else (before.value,)
    return Argument(argument.name, Array((*items, argument.value), span), span)


def _usage(name: str, signature: Signature) -> str:
    rest = sorted(signature.names.difference(signature.positions, signature.former))
    return f"Usage: {' '.join([name, *(f'[{one}]' for one in signature.positions), *(f'[{one}=…]' for one in rest)])}"


def _joined(arguments: list[Argument], source: str) -> Argument:
    """Several words as one text, with the blanks that are between them."""
    first = arguments[0]
    if len(arguments) == 1 and not first.name:
        return first
    parts: list[TextNode | VariableNode | Substitution] = []
    end = first.span.start
    for one in arguments:
        parts.append(TextNode(source[end : one.span.start]))
        if one.name:
            parts.append(TextNode(f"{one.name}="))
        parts += _parts(one.value, source)
        end = one.span.end
    span = SourceSpan(first.span.start, end)
    texts = [part.text for part in parts if isinstance(part, TextNode)]
    if len(texts) == len(parts):
        return Argument("", TextNode("".join(texts), span=span), span)
    merged: list[TextNode | VariableNode | Substitution] = []
    for part in parts:
        if isinstance(part, TextNode) and merged and isinstance(last := merged[-1], TextNode):
            merged[-1] = TextNode(last.text + part.text)
        elif part != TextNode(""):
            merged.append(part)
    return Argument("", Joined(tuple(merged), span), span)


def _parts(node: Node, source: str) -> list[TextNode | VariableNode | Substitution]:
    match node:
        case Joined(parts):
            return list(parts)
        case Array():
            return [TextNode(source[node.span.start : node.span.end])]
        case _:
            return [node]


class _Scope(msgspec.Struct, frozen=True):
    source: str
    variables: Variables
    results: Results


def _value(node: Node, scope: _Scope) -> LineValue:
    """What a node stands for. Raises `UsageError`."""
    match node:
        case TextNode(text):
            return LineValue(text, text)
        case VariableNode():
            return _variable(node, scope.variables)
        case Substitution():
            return scope.results[node.span]
        case Joined(parts):
            text = "".join(_value(part, scope).text for part in parts)
            return LineValue(text, text)
        case Array(items):
            return LineValue.from_data([_value(item, scope).data for item in items], "computed")


def _variable(node: VariableNode, variables: Variables) -> LineValue:
    if node.name not in variables:
        near = similar_names(node.name, variables)
        hint = f"Did you mean ${near[0]}?" if near else f"`env name={node.name} value=…` sets it."
        if node.name.isupper():
            hint = f"{hint} Variables of the process are not visible here; single quotes keep a `$` as it is."
        raise _MisplacedError(f"There is no variable {node.name!r}.", node.span, hint=hint)
    try:
        return msgspec.structs.replace(selected(variables[node.name], node.path), origin="computed")
    except VariableError as error:
        raise _MisplacedError(f"${node.name}: {error.message}", node.span, hint=error.hint) from None


def _take_piped(command: AnyCommand, values: dict[str, Any], piped: LineValue) -> None:
    """Add what is piped to the values of the parameter that takes it. Raises `UsageError`."""
    name = piped_parameter(command)
    if not name:
        raise _takes_nothing(command)
    before = values.get(name)
    if before is None:
        values[name] = _fitted(command, name, piped)
    elif isinstance(before, str):
        values[name] = f"{before}\n\n{piped.text}"
    else:
        raise UsageError(f"{command.name}: {name} is given, and comes out of the pipe, too.")


def _bare(annotation: object) -> tuple[Any, ...]:
    """The alternatives of an annotation, without None."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return tuple(a for a in typing.get_args(annotation) if a is not type(None))
    return (annotation,)


_LISTS: set[Any] = {list, tuple, set, frozenset}
_SCALARS: set[Any] = {bool, int, float}


def _kinds(command: AnyCommand, name: str) -> set[Any]:
    field = command.parameters.model_fields.get(name)
    return {typing.get_origin(a) or a for a in _bare(field.annotation)} if field else set[Any]()


def _shape(command: AnyCommand, name: str, node: Node, scope: _Scope) -> Any:
    """A value in the shape that the parameter expects. Raises `UsageError`."""
    kinds = _kinds(command, name)
    if isinstance(node, TextNode):
        return LineValue(node.text, node.text) if LineValue in kinds else _written(command, name, node.text, kinds)
    if isinstance(node, Array):
        if kinds & _LISTS:
            return _items(command, name, node, scope)
        if kinds & {str, Word} and LineValue not in kinds and not substitutions(node):
            return scope.source[node.span.start : node.span.end]
    value = _value(node, scope)
    if value.origin == "readable" and LineValue not in kinds:
        raise _MisplacedError(
            f"{command.name}: {name} takes no `<(…)`.", node.span, hint="`$(…)` gives it the result as a value."
        )
    return _fitted(command, name, value)


def _written(command: AnyCommand, name: str, text: str, kinds: set[Any]) -> Any:
    """Text in the shape that the parameter expects: lists as `a,b` or one value, objects as JSON."""
    if kinds & _LISTS:
        if is_marked(command.parameters.model_fields[name], Mark.VERBATIM):
            return _shell_words(command, name, text)
        if option_of(command.parameters.model_fields[name]).whole:
            return [text]
        inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        return [part.strip().strip("'\"") for part in inner.split(",") if part.strip()]
    if dict in kinds:
        try:
            return json.loads(text)
        except RecursionError as error:
            raise UsageError(f"{command.name}: {name} is nested too deeply.") from error
        except ValueError as error:
            raise UsageError(f"{command.name}: {name} must be a JSON object: {error}.") from error
    return text


def _shell_words(command: AnyCommand, name: str, text: str) -> list[str]:
    """Text as the words of a shell's line, which quotes hold together. Raises `UsageError`."""
    try:
        return shlex.split(text.removeprefix("-- "))
    except ValueError as error:
        raise UsageError(
            f"{command.name}: {name} is not a line of words: {error}.", hint="Close every quote."
        ) from error


def _items(command: AnyCommand, name: str, array: Array, scope: _Scope) -> list[Any]:
    annotations = [a for a in _bare(command.parameters.model_fields[name].annotation) if typing.get_origin(a) in _LISTS]
    of_text = bool(annotations) and str in typing.get_args(annotations[0])
    values = [_value(item, scope) for item in array.items]
    return [value.text if of_text else value.data for value in values]


def _fitted(command: AnyCommand, name: str, value: LineValue) -> Any:
    """A computed value in the shape that the parameter expects: one value, never split."""
    kinds = _kinds(command, name)
    if LineValue in kinds:
        return value
    data = value.data
    if kinds & _LISTS:
        if is_array(data):
            return data
        return [data if isinstance(data, (str, dict)) else value.text]
    if dict in kinds and not kinds & {str}:
        return data
    if kinds <= _SCALARS and isinstance(data, (bool, int, float)):
        return data
    return data if isinstance(data, str) else value.text


def validate(command: AnyCommand, values: dict[str, Any], spans: Mapping[str, SourceSpan] | None = None) -> Parameters:
    """The command's parameters from plain values (a line's, or a model's JSON). `spans`: where in a line the values
    are. Raises `UsageError`: one sentence that names each parameter that is wrong, and why.
    """
    hidden = [
        name for name in values if name in command.parameters.model_fields.keys() - typed_fields(command.parameters)
    ]
    if hidden:
        raise UsageError(f"{command.name}: there is no parameter {hidden[0]!r}.", hint=usage(command))
    try:
        return command.parameters.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False)
        complaints = [_complaint(command, detail) for detail in details][:5]
        is_named = complaints[0].startswith(f"{command.name} ")
        message = f"{'' if is_named else f'{command.name}: '}{'; '.join(complaints)}."
        wrong = [str(detail["loc"][0]) for detail in details if detail["loc"]]
        span = next((spans[name] for name in wrong if name in spans), None) if spans else None
        if span is not None:
            raise _MisplacedError(message, span, hint=usage(command)) from error
        lacks = all(detail["type"] == "missing" for detail in details)
        raise (Incomplete if lacks else UsageError)(message, hint=usage(command)) from error


def _complaint(command: AnyCommand, detail: ErrorDetails) -> str:
    where = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "missing":
        return f"{where} is missing"
    if detail["type"] == "extra_forbidden":
        near = similar_names(where, typed_fields(command.parameters))
        return f"there is no parameter {where!r}" + (f", did you mean {near[0]!r}?" if near else "")
    given = repr(detail["input"])
    shown = given if len(given) <= 60 else given[:57] + "…"
    if detail["type"] == "value_error":
        said = str(detail["msg"]).removeprefix("Value error, ")
        return f"{where}: {said[:1].lower()}{said[1:]} (given {shown})"
    return f"{where} must be {_wanted(detail)}, not {shown}"


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
}


def _wanted(detail: ErrorDetails) -> str:
    """What a value has to be, in words."""
    limits = detail.get("ctx", {})
    if detail["type"] == "literal_error":
        return str(limits["expected"]).removeprefix("'', ").replace("'", "")
    for name, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
        if name in limits:
            return f"{words} {limits[name]:.15g}"
    for name, words in (("min_length", "at least"), ("max_length", "at most")):
        if name in limits:
            is_text = detail["type"].startswith("string_")
            size = counted(limits[name], "character" if is_text else "item")
            return f"{words} {size} long" if is_text else f"a list of {words} {size}"
    if "pattern" in limits:
        return f"text that matches {limits['pattern']}"
    said = str(detail["msg"]).removeprefix("Input should be ")
    return _KINDS.get(detail["type"].partition("_")[0], said)


def usage(command: AnyCommand) -> str:
    """One line that shows how it is used."""
    if command.words:
        ways = [usage_words(command, command.positions)] if command.positions else []
        ways.append(["|".join(own_words(command)), "…"])
        return f"Usage: {' or '.join(' '.join([command.name, *way]) for way in ways)}"
    return f"Usage: {' '.join([command.name, *usage_words(command, typed_fields(command.parameters))])}"


def usage_words(command: AnyCommand, names: Iterable[str]) -> list[str]:
    """How these of its parameters are written, one after the other."""
    words: list[str] = []
    for name in names:
        word = f"<{name}>" if name in command.positions else f"{name}=…"
        words.append(word if command.parameters.model_fields[name].is_required() else f"[{word}]")
    return words

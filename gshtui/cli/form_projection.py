"""Makes the commands' shell forms from their declarations: docstrings, fields, types, bounds and positions.

It has to load the declarations, so the command line instead reads the result that `python -m tests.kit.shell_forms`
writes.
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Iterable, Sequence

import annotated_types
from pydantic.fields import FieldInfo

from gshtui.cli.declared_forms import CommandForm, FormValue, GroupForm
from gshtui.commands.declaration import AnyAction, Effect, Parameters, option_of, typed_fields
from gshtui.commands.group import positions_of
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption

_YES = "Do not ask, even in a terminal."
_NUMBERS: dict[object, str] = {bool: "flag", int: "int", float: "float"}


def forms(commands: Iterable[AnyCommand]) -> tuple[list[GroupForm], list[CommandForm]]:
    """The groups and commands that these declare, by name. Raises `ValueError`: a place does not name a field."""
    groups: list[GroupForm] = []
    made: list[CommandForm] = []
    for command in commands:
        shell = command.shell or command.parameters.SHELL
        if isinstance(shell, ShellGroup):
            groups.append(GroupForm(command.name, summary=shell.summary, help=shell.help, synonyms=shell.synonyms))
        for action in command.actions:
            if isinstance(action.parameters.SHELL, ShellForm):
                made.append(command_form(action, positions_of(action) if command.words else command.positions))
    return sorted(groups, key=lambda form: form.name), sorted(made, key=lambda form: form.name)


def command_form(action: AnyAction, positions: Sequence[str]) -> CommandForm:
    """The form of an action that declares one; `positions` are those of its command. A change takes `--yes`."""
    named = " ".join(filter(None, (action.parameters.COMMAND, action.parameters.WORD)))
    return _form(
        action.parameters, named, positions, takes_yes=action.asks is not None or action.effect is not Effect.READ
    )


def _form(parameters: type[Parameters], named: str, positions: Sequence[str], *, takes_yes: bool) -> CommandForm:
    """The form of these parameters: of an action, or of a line that comes down to one of several."""
    shell = parameters.SHELL
    assert isinstance(shell, ShellForm)
    fields = typed_fields(parameters)
    places = [name for name in positions if name in fields] if shell.places is None else shell.places
    if unknown := set(places) - set(fields):
        raise ValueError(f"{parameters.__name__}: places {sorted(unknown)} are not fields")
    values = [_value(name, fields[name], option_of(fields[name]), place=True) for name in places]
    for name, field in fields.items():
        option = option_of(field)
        if name not in places and name != "yes" and not (option.absent or option.fixed):
            values.append(_value(name, field, option))
    return CommandForm(
        shell.name or named,
        parameters.__module__,
        parameters.__qualname__,
        values,
        help=_help(parameters, shell),
        summary=shell.summary,
        yes=shell.yes or (_YES if takes_yes else ""),
        takes_settings=shell.takes_settings,
        by_keeper="" if shell.alone else shell.waiting,
        brings_keeper=bool(shell.parts) and not shell.alone,
        quiet=shell.quiet,
    )


def _help(parameters: type[Parameters], shell: ShellForm) -> str:
    said = shell.help or inspect.cleandoc(parameters.__doc__ or "")
    if not shell.examples:
        return said
    return "\n".join([said, "", "\b", "Examples:", *(f"  {line}" for line in shell.examples)])


def _value(name: str, field: FieldInfo, option: ShellOption, *, place: bool = False) -> FormValue:
    kind, choices, each = _type(field.annotation)
    low, high = _bounds(field)
    shown = None if place or field.is_required() or kind == "flag" else field.default
    return FormValue(
        name,
        option.name or (name if place else f"--{name.replace('_', '-')}"),
        "choice" if option.choices else option.kind or kind,
        help="" if place else option.help or field.description or "",
        metavar=option.metavar,
        choices=option.choices or choices,
        synonyms=option.synonyms,
        low=low,
        high=high,
        default=option.default or (shown if isinstance(shown, str | int | float) and shown else None),
        many=option.words if option.words != 1 else 0,
        each=each,
        required=place and (field.is_required() or option.required),
        piped=option.piped,
        file=option.file,
        lines=option.lines,
        alone=option.alone,
        whole=option.whole,
    )


def _type(annotation: object) -> tuple[str, tuple[str, ...], bool]:
    """Its kind, its choices, and whether it takes several values."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(inner[0])
    if origin in (typing.Union, types.UnionType):
        return _type(next(one for one in inner if one is not type(None)))
    if origin is typing.Literal:
        return "choice", tuple(str(one) for one in inner if one), False
    if origin in (list, tuple):
        kind, choices, _ = _type(inner[0])
        return kind, choices, True
    return _NUMBERS.get(annotation, "text"), (), False


def _bounds(field: FieldInfo) -> tuple[tuple[float, bool] | None, tuple[float, bool] | None]:
    low: tuple[float, bool] | None = None
    high: tuple[float, bool] | None = None
    for one in field.metadata:
        match one:
            case annotated_types.Ge(ge=int() | float() as at):
                low = at, False
            case annotated_types.Gt(gt=int() | float() as at):
                low = at, True
            case annotated_types.Le(le=int() | float() as at):
                high = at, False
            case annotated_types.Lt(lt=int() | float() as at):
                high = at, True
            case _:
                pass
    return low, high


def written(groups: Iterable[GroupForm], commands: Iterable[CommandForm]) -> str:
    """The text of `declared_forms.json` with these, a line for each: what is as by default is left out."""
    given = [_given(form) | {"values": [_given(value) for value in form.values]} for form in commands]
    return f'{{"groups": [\n{_lines(map(_given, groups))}\n], "commands": [\n{_lines(given)}\n]}}\n'


def _lines(forms: Iterable[dict[str, object]]) -> str:
    return ",\n".join(json.dumps(form, ensure_ascii=False) for form in forms)


def _given(form: CommandForm | FormValue | GroupForm) -> dict[str, object]:
    return {name: value for name, value in form._asdict().items() if form._field_defaults.get(name, form) != value}

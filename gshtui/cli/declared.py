"""The commands of `gsh-tui` that are declared ones: click's groups and commands, made from their forms.

A form is read from `declared_forms`, so that help and completion load no declaration; the call itself makes the
parameters that the form names, and `headless` runs them. Called by `root` and `at_prompt`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import click

from gshtui.cli.command_form import CommandForm, FormValue, GroupForm
from gshtui.cli.declared_forms import COMMANDS, GROUPS
from gshtui.cli.options import KINDS, json_option, set_option, yes_option

Run = Callable[[CommandForm, dict[str, Any]], int]
"""Runs a command with what the line says, by the names of its fields, and `as_json`, `yes`, `flags`."""
BY_HAND = {
    ("agent", "run"): "gshtui.cli.agent_run",
}
"""Commands of declared groups that are the command line's own, each with the module that has it under its name."""


class DeclaredGroup(click.Group):
    """A family. It makes the one command that is called, and no other."""

    def __init__(self, form: GroupForm) -> None:
        super().__init__(name=form.name, short_help=form.summary or None, help=form.help)
        self._synonyms = dict(form.synonyms)
        self._forms = {
            word: one for one in COMMANDS for first, _, word in [one.name.partition(" ")] if word and first == form.name
        }
        self._by_hand = {word: module for (group, word), module in BY_HAND.items() if group == form.name}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self._forms, *self._by_hand})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.command_named(cmd_name)

    def command_named(self, word: str) -> click.Command | None:
        """The command of this word, made; `None`: there is none."""
        name = self._synonyms.get(word, word)
        if name in self._by_hand:
            return getattr(importlib.import_module(self._by_hand[name]), name)
        return command(self._forms[name]) if name in self._forms else None

    def knows(self, word: str) -> bool:
        """Whether this is a command of the group, by whichever word."""
        name = self._synonyms.get(word, word)
        return name in self._forms or name in self._by_hand


def named(name: str) -> click.Command | None:
    """The group or command of this first word; `None`: none is declared."""
    if (form := next((one for one in GROUPS if one.name == name), None)) is not None:
        return DeclaredGroup(form)
    found = next((one for one in COMMANDS if one.name == name), None)
    return None if found is None else command(found)


def group(name: str) -> DeclaredGroup:
    """A group that is declared."""
    return DeclaredGroup(next(one for one in GROUPS if one.name == name))


def command(form: CommandForm, run: Run | None = None) -> click.Command:
    """click's command of a form. `run`: what its call does; else `headless` runs what is declared."""

    def call(**given: Any) -> int:
        return (run or _run)(form, given)

    made: Callable[..., int] = json_option(call)
    if form.takes_settings:
        made = set_option(made)
    if form.yes:
        made = yes_option(form.yes)(made)
    for value in reversed(form.values):
        made = _parameter(value)(made)
    return click.command(form.name.rpartition(" ")[2], help=form.help, short_help=form.summary or None)(made)


def values(form: CommandForm, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of the fields, as the parameters take it; what was left out is left out."""
    from gshtui.headless.streams import words

    found: dict[str, Any] = {}
    for value in form.values:
        one = given[value.name if value.is_argument else value.field]
        if value.each and one:
            parts = one if value.is_argument else [part for word in one for part in word.split(",")]
            found[value.field] = tuple(part.strip() for part in parts if part.strip())
        elif value.many and one:
            found[value.field] = words(one) if value.piped else " ".join(one)
        elif one not in (None, "", False, ()):
            found[value.field] = one
    return found


def _run(form: CommandForm, given: dict[str, Any]) -> int:
    from gshtui.headless.declared_command import DeclaredCall, run_call

    parameters = getattr(importlib.import_module(form.module), form.parameters)
    yes = bool(given.get("yes"))
    flags: dict[str, str] = given.get("flags") or {}
    call = DeclaredCall(parameters, values(form, given), json=given["as_json"], yes=yes, flags=flags)
    return run_call(call, _open_session)


def _open_session(session: str) -> int:
    from gshtui.cli.opening import Opening
    from gshtui.cli.window import open_window

    return open_window(Opening(session=session))


def _parameter(value: FormValue) -> Callable[[Callable[..., int]], Callable[..., int]]:
    kind = _type(value)
    if value.is_argument:
        several = -1 if value.each else value.many or 1
        return click.argument(
            value.name, type=kind, nargs=several, required=value.required, metavar=value.metavar or None
        )
    names = [*value.name.split(), value.field]
    if value.kind == "flag":
        return click.option(*names, is_flag=True, help=value.help)
    return click.option(
        *names,
        type=kind,
        multiple=value.each,
        nargs=value.many or 1,
        default=value.default,
        show_default=value.default is not None,
        metavar=value.metavar or None,
        help=value.help,
    )


def _type(value: FormValue) -> click.ParamType[Any]:
    low, low_open = value.low or (None, False)
    high, high_open = value.high or (None, False)
    bounded = value.low is not None or value.high is not None
    match value.kind:
        case "int" if bounded:
            return click.IntRange(
                None if low is None else int(low), None if high is None else int(high), low_open, high_open
            )
        case "float" if bounded:
            return click.FloatRange(low, high, low_open, high_open)
        case "int":
            return click.INT
        case "float":
            return click.FLOAT
        case "choice":
            return _Choice(value.choices, dict(value.synonyms))
        case _:
            return KINDS.get(value.kind, click.STRING)


class _Choice(click.Choice[str]):
    """One of these words, or another word for one."""

    def __init__(self, choices: tuple[str, ...], synonyms: Mapping[str, str]) -> None:
        super().__init__(choices)
        self._synonyms = synonyms

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(self._synonyms.get(value, value), param, ctx)

"""The declared commands of `gsh-tui`: click groups and commands made from their forms.

The forms come from `declared_forms`, so help and completion load no declaration; a call builds the parameters that the
form names, and `headless` runs them. Called by `root` and `at_prompt`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from gshtui.cli import by_hand
from gshtui.cli.declared_forms import COMMANDS, GROUPS, CommandForm, FormValue, GroupForm
from gshtui.cli.options import KINDS, json_option, set_option, yes_option
from gshtui.settings.paths import FolderError
from gshtui.text.plain_name import similar_names

FEATURE_WORDS = {
    "acp": ("acp",),
    "code": ("code",),
    "mcp serve": ("mcp_server",),
    "people": ("ssh",),
    "replay": ("replay",),
    "serve": ("ssh", "web"),
    "workflow": ("workflows",),
}
"""Words that are for features which can be switched off: without all of these, help does not list one."""
Run = Callable[[CommandForm, dict[str, Any]], int]
"""Runs a command with the given values by field name, plus `as_json`, `yes` and `flags`."""


class DeclaredGroup(click.Group):
    """A family. It makes only the command that is called."""

    def __init__(self, form: GroupForm) -> None:
        super().__init__(name=form.name, short_help=form.summary or None, help=form.help)
        self._synonyms = dict(form.synonyms)
        mine = f"{form.name} "
        self._forms = {one.name.removeprefix(mine): one for one in COMMANDS if one.name.startswith(mine)}
        self._by_hand = {name.removeprefix(mine) for name in by_hand.MODULES if name.startswith(mine)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self._forms, *self._by_hand})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        gone = words_off()
        listed = [word for word in self.list_commands(ctx) if f"{self.name} {word}" not in gone]
        made = {word: one for word in listed if (one := self.command_named(word)) is not None and not one.hidden}
        with formatter.section("Commands"):
            formatter.write_dl([(word, one.get_short_help_str(200)) for word, one in made.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.command_named(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but a wrong word names the right ones."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            known = self.list_commands(ctx)
            near = similar_names(args[0], [*known, *self._synonyms]) if args else []
            ours = list(dict.fromkeys(self._synonyms.get(name, name) for name in near))
            hint = f"Did you mean {' or '.join(ours)}?" if ours else f"There are {', '.join(known)}."
            raise click.UsageError(f"{error.message} {hint}", ctx) from error

    def command_named(self, word: str) -> click.Command | None:
        """The command with this name, newly made; `None` if there is none."""
        name = self._synonyms.get(word, word)
        if name in self._by_hand:
            return written(f"{self.name} {name}")
        return command(self._forms[name]) if name in self._forms else None

    def knows(self, word: str) -> bool:
        """Whether this is a command of the group, synonyms included."""
        name = self._synonyms.get(word, word)
        return name in self._forms or name in self._by_hand


class CommandWithWords(DeclaredGroup):
    """A command whose first word may name one of its own: `models [PROVIDER]` and `models update`."""

    def __init__(self, form: CommandForm) -> None:
        super().__init__(GroupForm(form.name, summary=form.summary, help=form.help))
        self.own = command(form)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Of itself where the first word is none of its words."""
        if args and self.knows(args[0]):
            return super().make_context(info_name, args, parent, **extra)
        return self.own.make_context(info_name, args, parent, **extra)

    def get_help(self, ctx: click.Context) -> str:
        return self.own.get_help(click.Context(self.own, info_name=ctx.info_name, parent=ctx.parent))


def words_off() -> frozenset[str]:
    """The words of features that are switched off."""
    from gshtui.cli.window import settings_naming

    try:
        settings = settings_naming("features", "GSH_FEATURES__")
    except FolderError:
        settings = None
    if settings is None:
        return frozenset()
    off = {name for name, on in dict(settings.features).items() if not on}
    return frozenset(words for words, names in FEATURE_WORDS.items() if off.issuperset(names))


def written(name: str) -> click.Command:
    """The command of these words that is written by hand."""
    found: object = getattr(importlib.import_module(by_hand.MODULES[name]), name.replace(" ", "_"))
    assert isinstance(found, click.Command)
    return found


def named(name: str) -> click.Command | None:
    """The group or command with this first word; `None` if none is declared."""
    if (form := next((one for one in GROUPS if one.name == name), None)) is not None:
        return DeclaredGroup(form)
    found = next((one for one in COMMANDS if one.name == name), None)
    if found is None:
        return None
    return CommandWithWords(found) if any(one.name.startswith(f"{name} ") for one in COMMANDS) else command(found)


def group(name: str) -> DeclaredGroup:
    """A declared group."""
    return DeclaredGroup(next(one for one in GROUPS if one.name == name))


def command(form: CommandForm, run: Run | None = None) -> click.Command:
    """The click command for a form. `run`: what a call does; by default `headless` runs the declared command."""

    def call(**given: Any) -> int:
        return (run or _run)(form, given)

    made: Callable[..., int] = json_option(call)
    if form.takes_settings:
        made = set_option(made)
    if form.yes:
        made = yes_option(form.yes)(made)
    for value in reversed(form.values):
        made = _parameter(value)(made)
        if value.file:
            said = f"Read the {value.field} from this file; - is standard input."
            made = click.option(value.file, type=KINDS["file"], metavar="FILE", help=said)(made)
    return click.command(form.name.rpartition(" ")[2], help=form.help, short_help=form.summary or None)(made)


def values(form: CommandForm, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given, as the parameters take them; omitted ones are left out."""
    from gshtui.headless.streams import words

    found: dict[str, Any] = {}
    for value in form.values:
        one = given[value.name if value.is_argument else value.field]
        if value.file:
            file = given[value.file.strip("-").replace("-", "_")]
            if bool(file) == bool(one):
                raise click.UsageError(f"give the {value.field} either as words or by {value.file} FILE.")
            if file:
                found[value.field] = words(["-"]) if file == "-" else _text_of(file)
                continue
        if value.each and one:
            parts = one if value.is_argument or value.whole else [part for word in one for part in word.split(",")]
            found[value.field] = tuple(part.strip() for part in parts if part.strip())
        elif value.many and one:
            found[value.field] = words(one) if value.piped else " ".join(one)
        elif not (one is None or one is False or one in ("", ())):
            found[value.field] = one
    return found


def _text_of(file: str) -> str:
    """The text in a file. Raises `click.UsageError`."""
    from gshtui.headless.streams import LIMIT

    try:
        with Path(file).open("rb") as opened:
            raw = opened.read(LIMIT + 1)
    except OSError as error:
        raise click.UsageError(f"cannot read {file}: {error.strerror or error}.") from error
    if len(raw) > LIMIT:
        raise click.UsageError(f"{file} is too long for a message; the limit is {LIMIT:,} bytes.")
    return raw.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _run(form: CommandForm, given: dict[str, Any]) -> int:
    found, yes = values(form, given), bool(given.get("yes"))
    flags: dict[str, str] = given.get("flags") or {}
    lines = any(value.lines and given[value.name] == "-" for value in form.values)
    waits = any(value.alone and given[value.field] for value in form.values)
    if form.by_keeper and not (lines or waits):
        from gshtui.client.hub_greeting import HubUnavailable
        from gshtui.headless.commands.keeper_call import KeeperCall, run_by_keeper
        from gshtui.headless.streams import complain

        by_keeper = KeeperCall(
            form.name, form.declared, found, json=given["as_json"], yes=yes, waiting=form.by_keeper, flags=flags
        )
        try:
            if (code := run_by_keeper(by_keeper, _open_session, brings=form.brings_keeper)) is not None:
                return code
        except HubUnavailable as error:
            if form.brings_keeper:
                raise
            if not form.quiet:
                complain(error.message, error.hint)  # what needs no record is done here
    return _run_here(form, found, as_json=given["as_json"], yes=yes, lines=lines, flags=flags)


def _run_here(
    form: CommandForm,
    found: dict[str, Any],
    *,
    as_json: bool,
    yes: bool = False,
    lines: bool = False,
    flags: Mapping[str, str] | None = None,
) -> int:
    from gshtui.headless.commands.declared_command import DeclaredCall, run_call

    parameters = getattr(importlib.import_module(form.module), form.parameters)
    call = DeclaredCall(parameters, found, form.name, json=as_json, yes=yes, lines=lines, flags=flags or {})
    return run_call(call, _open_session)


def _open_session(session: str) -> int:
    from gshtui.cli.opening import Opening
    from gshtui.cli.window import open_window

    return open_window(Opening(session=session))


def _parameter(value: FormValue) -> Callable[[Callable[..., int]], Callable[..., int]]:
    kind = _type(value)
    if value.is_argument:
        several = -1 if value.each else value.many or 1
        name = value.metavar if value.required or not value.metavar else f"[{value.metavar}]"
        return click.argument(value.name, type=kind, nargs=several, required=value.required, metavar=name or None)
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
    """One of these words, or a synonym of one."""

    def __init__(self, choices: Sequence[str], synonyms: Mapping[str, str]) -> None:
        super().__init__(choices)
        self._synonyms = synonyms

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(self._synonyms.get(value, value), param, ctx)

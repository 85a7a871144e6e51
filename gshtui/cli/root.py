"""The root of the command line: help, version, usage errors, and the commands, one file per group.

click parses. Imports nothing of the hub, and only the command that is called. Called by `entry` for everything except
opening the window.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from gshtui.cli import by_hand, declared
from gshtui.cli.familiar_words import MEANT, OPTIONS
from gshtui.cli.opening import Opening
from gshtui.cli.options import AGENT, MODEL, PROVIDER, SESSION, json_option, mode_option, print_version, version_option
from gshtui.client.pane_names import LEFT, RIGHT
from gshtui.commands.word_groups import grouped
from gshtui.settings.known_providers import PROVIDER_NAMES
from gshtui.settings.paths import FolderError

FOLDER = "FOLDER"
"""Stands for a command where a folder is given."""
F = TypeVar("F", bound=Callable[..., Any])
EPILOG = """\
Exit codes: 0 done, 1 error, 2 wrong usage, 3 provider or tool unreachable, 4 approval denied or nobody there to give
it, 124 time-out, 130 interrupted.
"""


class Root(click.Group):
    """The root group. It loads only the module of the command that is called.

    A first word that is no command is a folder, whose window opens.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(by_hand.command_words())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, those that most people need first."""
        found = {word: self.get_command(ctx, word) for word in self.list_commands(ctx)}
        gone = declared.words_off()
        shown = {
            word: command
            for word, command in found.items()
            if command is not None and not command.hidden and word not in gone
        }
        width = max(map(len, shown))
        for title, words in grouped(shown):
            with formatter.section(title):
                formatter.write_dl([(word.ljust(width), shown[word].get_short_help_str(200)) for word in words])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in by_hand.MODULES and cmd_name not in self.commands:
            self.add_command(declared.written(cmd_name))
        return super().get_command(ctx, cmd_name) or declared.named(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if not args or args[0].startswith("-"):
                raise
            if os.path.isdir(args[0]):  # noqa: PTH112  (`Path.is_dir` raises for a name that is too long)
                return FOLDER, _folder, args
            said = f"There is no command or folder {args[0]!r}.{_meant(args[0])}"
            raise click.UsageError(said, ctx) from error


def _window_options(function: F) -> F:
    """What a window opens with."""
    for option in reversed(
        (
            click.option("--continue", "-c", "latest", is_flag=True, help="Open the folder's latest conversation."),
            click.option("--new", is_flag=True, help="Start a new conversation without asking."),
            click.option("--resume", "-r", type=SESSION, metavar="ID", help="Open this conversation."),
            click.option("--agent", type=AGENT, metavar="NAME", help="Agent to talk to."),
            click.option(
                "--provider",
                type=PROVIDER,
                metavar="NAME",
                help=f"Provider to start with: {PROVIDER_NAMES}.",
            ),
            click.option("--model", "-m", type=MODEL, metavar="NAME", help="Model to start with."),
            mode_option("What runs unasked at first: plan, ask, edit, auto or yolo."),
            click.option("--pane", type=click.Choice((*LEFT, *RIGHT)), help="Pane to show and go to."),
            click.option("--alone", is_flag=True, help="Run in one process, with a hub of its own."),
            click.option("--screen-reader", is_flag=True, help="Lines in place of a window: no frames, nothing moves."),
        )
    ):
        function = option(function)
    return function


@click.group(
    cls=Root,
    invoke_without_command=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="[FOLDER | COMMAND …]",
)
@_window_options
@json_option
@version_option
@click.pass_context
def root(context: click.Context, **options: Any) -> int | None:
    """A full-screen terminal workbench for people who work in a shell beside several AI agents.

    Without a command, open the window for FOLDER or the current folder.
    """
    given = _given(options)
    if context.invoked_subcommand not in (None, FOLDER):
        if given:
            raise click.UsageError(f"{given[0]} before a command is for the window; put it after the command.")
        return None
    if "--json" in given:
        raise click.UsageError("--json is for commands; the window prints nothing for scripts.")
    return _open(options) if context.invoked_subcommand is None else None


@click.command("gsh-tui", hidden=True)
@click.argument("folder", type=click.Path(file_okay=False))
@_window_options
@click.pass_context
def _folder(context: click.Context, folder: str, **options: Any) -> int:
    """Open the window for a folder."""
    assert context.parent is not None
    before = context.parent.params
    if twice := [name for name in _given(options) if name in _given(before)]:
        raise click.UsageError(f"give {twice[0]} once.")
    return _open({name: value or before[name] for name, value in options.items()}, folder)


def _given(options: Mapping[str, Any]) -> list[str]:
    """The names of the options that were given."""
    names = {"latest": "continue", "as_json": "json"}
    return [f"--{names.get(name, name).replace('_', '-')}" for name, value in options.items() if value]


def _open(options: Mapping[str, Any], folder: str = "") -> int:
    """Open a window, or the face for screen readers; returns the exit code."""
    given = _given(options)
    if empty := [name for name, value in options.items() if value == ""]:
        raise click.UsageError(f"--{empty[0]} needs a value.")
    sessions = [name for name in given if name in ("--continue", "--new", "--resume")]
    if len(sessions) > 1:
        raise click.UsageError(f"{' and '.join(sessions)} cannot be combined; choose one.")
    from gshtui.cli.window import open_terminal

    session = "latest" if options["latest"] else "new" if options["new"] else options["resume"] or ""
    texts: dict[str, Any] = {name: options[name] or "" for name in ("agent", "provider", "model", "mode", "pane")}
    alone, lines = options["alone"], options["screen_reader"]
    return open_terminal(Opening(folder, session, **texts, alone=alone, lines=lines))


@root.command("help", hidden=True)
@click.argument("command", nargs=-1)
@click.pass_context
def _help(context: click.Context, command: tuple[str, ...]) -> int:
    """Show the help of a command, such as `agent` or `agent send`."""
    found: click.Command = root
    inner = click.Context(root, info_name="gsh-tui")
    for at, word in enumerate(command, 1):
        one = found.get_command(inner, word) if isinstance(found, click.Group) else None
        if one is None:
            raise click.UsageError(_unknown(found, inner, command[:at]))
        found, inner = one, click.Context(one, info_name=one.name or word, parent=inner)
    click.echo(found.get_help(inner))
    return 0


@root.command("version", hidden=True)
@json_option
@click.pass_context
def _version(context: click.Context, as_json: bool) -> None:
    """Print the version."""
    print_version(context, None, True)


def _meant(word: str) -> str:
    """Which command somebody means who wrote this first word, as a sentence with a blank in front; empty: none."""
    if word in MEANT:
        ours = f"gsh-tui {MEANT[word]}".rstrip()
        return f" Use `{ours}`{'' if MEANT[word] else ', which opens the window'}."
    from gshtui.cli.declared_forms import COMMANDS

    inner = [form.name for form in COMMANDS if form.name.endswith(f" {word}")]
    if inner:
        return f" Did you mean {' or '.join(f'`gsh-tui {name}`' for name in inner[:3])}?"
    import difflib  # only a mistake needs it

    known = [name for name in by_hand.command_words() if name not in ("help", "version")]
    near = difflib.get_close_matches(word, known, n=2, cutoff=0.67)
    # More than one word is no command that is written wrongly: it is a question.
    hint = ' To ask it: `gsh-tui prompt "…"`.' if " " in word else ""
    return f" Did you mean {' or '.join(near)}?" if near else hint


def _unknown(group: click.Command, context: click.Context, words: tuple[str, ...]) -> str:
    """What is said of a command that is not in this group."""
    import difflib  # only a mistake needs it

    known = group.list_commands(context) if isinstance(group, click.Group) else []
    near = difflib.get_close_matches(words[-1], known, n=2)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"there is no command '{' '.join(words)}'.{hint}"


def run(arguments: list[str]) -> int:
    """Parse and run; returns the exit code. Prints usage errors and returns 2 for them."""
    try:
        code: object = root.main(arguments, prog_name="gsh-tui", standalone_mode=False)
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.Abort:
        return 130
    except click.NoSuchOption as error:
        ours = OPTIONS.get(error.option_name)
        shown = click.UsageError(f"{error.message} Use {ours}.", error.ctx) if ours else error
        shown.show()
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except FolderError as error:
        click.echo(f"gsh-tui: {error}", err=True)
        return 1
    return code if isinstance(code, int) else 0

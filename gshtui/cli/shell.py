"""`gsh-tui shell`: the shell's side. The plugin and its line, pausing, the history of what ran."""

from __future__ import annotations

import click

from gshtui.cli.options import json_option, yes_option
from gshtui.cli.shell_import import export, import_
from gshtui.cli.shell_log import log

SHELL = click.Choice(["zsh", "bash"])


@click.group(short_help="Your shells: install, status, pause, log …")
def shell() -> None:
    """Your shells: what runs in them is part of the conversation.

    \b
    By hand, in ~/.zshrc:   source <(gsh-tui shell init zsh)
    zinit:                  zinit load "$(dirname "$(gsh-tui shell path)")"
    oh-my-zsh:              ln -s "$(dirname "$(gsh-tui shell path)")" "$ZSH_CUSTOM/plugins/gsh", and plugins=(… gsh)
    """


@shell.command()
@click.argument("shell", type=SHELL)
@json_option
def init(shell: str, as_json: bool) -> int:
    """Print the text to source: `source <(gsh-tui shell init zsh)`, in bash `eval "$(gsh-tui shell init bash)"`."""
    from gshtui.cli.shell_init import command
    from gshtui.headless import streams
    from gshtui.shell import plugin

    text = plugin.text(shell, command())
    if as_json:
        streams.result_json({"shell": shell, "text": text, "path": plugin.path(shell)})
    else:
        streams.result(text)
    return 0


@shell.command()
@click.argument("shell", type=SHELL, default="zsh")
@json_option
def path(shell: str, as_json: bool) -> int:
    """Print the plugin's file, for a plugin manager that loads by path."""
    from gshtui.headless import streams
    from gshtui.shell import plugin

    if as_json:
        streams.result_json({"shell": shell, "path": plugin.path(shell)})
    else:
        streams.result(plugin.path(shell))
    return 0


@shell.command()
@click.argument("shell", type=SHELL, default="zsh")
@yes_option("Do not show it and ask first.")
@json_option
def install(shell: str, yes: bool, as_json: bool) -> int:
    """Add one line to your .zshrc (or .bashrc): it is shown first, and a copy of the file is kept."""
    from gshtui.headless.shell import install as do

    return do(shell, yes=yes, as_json=as_json)


@shell.command()
@click.argument("shell", type=SHELL, default="zsh")
@json_option
def uninstall(shell: str, as_json: bool) -> int:
    """Take that line out again; everything else in the file stays."""
    from gshtui.headless.shell import uninstall as do

    return do(shell, as_json=as_json)


@shell.command()
@json_option
def status(as_json: bool) -> int:
    """Say whether your shells report, to whom, and what stands in the way."""
    from gshtui.headless.shell_status import status as do

    return do(as_json=as_json)


@shell.command()
@json_option
def pause(as_json: bool) -> int:
    """Record nothing from now on, in any shell, until `gsh-tui shell resume`."""
    from gshtui.headless.shell import pause as do

    return do(True, as_json=as_json)


@shell.command()
@json_option
def resume(as_json: bool) -> int:
    """Record again."""
    from gshtui.headless.shell import pause as do

    return do(False, as_json=as_json)


@shell.command(hidden=True)
@click.option("--busy", is_flag=True, help="Only those that do something.")
@json_option
def menu(busy: bool, as_json: bool) -> int:
    """Print the agents for the prompt's menu, a line each: ID, TAB, what is shown."""
    from gshtui.headless.shell_menu import menu as do

    return do(busy=busy, as_json=as_json)


for command in (log, import_, export):
    shell.add_command(command)

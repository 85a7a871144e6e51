"""`gsh-tui shell` and `completion`: the shell's side. The plugin and its line, pausing, the history of what ran."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from gshtui.cli.options import AGENT, json_option, yes_option


@click.command()
@click.argument("words", nargs=-1)
@click.option("--failed", is_flag=True, help="Only what ended with another status than 0.")
@click.option("--exit", "code", type=int, metavar="N", help="Only what ended with this status.")
@click.option(
    "--cwd",
    default="",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Only in this folder and below; `.` is this one.",
)
@click.option("--shell", default="", metavar="ID", help="Only of this shell; `.` is the one you are in.")
@click.option(
    "--agent", type=AGENT, default=None, metavar="NAME", help="Only what this agent ran; empty: only what people ran."
)
@click.option("--since", default="", metavar="TIME", help="Not older: 30m, 2h, 3d, 2026-11-20, 2026-11-20T14:30.")
@click.option("--until", default="", metavar="TIME", help="Older than this.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Commands at most.")
@click.option("--output", "output", is_flag=True, help="With what they printed, where it was kept.")
@json_option
def log(
    words: tuple[str, ...],
    failed: bool,
    code: int | None,
    cwd: str,
    shell: str,
    agent: str | None,
    since: str,
    until: str,
    limit: int,
    output: bool,
    as_json: bool,
) -> int:
    """Print what ran in your shells, the newest last. WORDS must all occur in a command.

    \b
    Examples:
      gsh-tui shell log --failed --since 2h
      gsh-tui shell log pytest --cwd . --output
    """
    from gshtui.headless.shell_history import LogOptions
    from gshtui.headless.shell_history import log as do

    return do(
        LogOptions(
            query=" ".join(words),
            failed=failed,
            exit=code,
            cwd=cwd,
            shell=shell,
            agent=agent,
            since=since,
            until=until,
            limit=limit,
            output=output,
            json=as_json,
        )
    )


@click.command("import", short_help="Take in the history of zsh, bash or Atuin")
@click.argument("source", type=click.Choice(["zsh", "bash", "atuin", "jsonl"]))
@click.argument("file", default="", type=click.Path())
@json_option
def import_(source: str, file: str, as_json: bool) -> int:
    """Take in a history: zsh's, bash's or Atuin's, or one as JSON lines (`shell export`, or `shell-history.jsonl`).

    Doing so twice adds nothing twice. Secrets are taken out, and what [shell] ignore names is left out. Without FILE,
    the usual place.
    """
    from gshtui.headless.shell_history import import_ as do

    return do(source, file, as_json=as_json)


@click.command(short_help="Write the history as JSON lines")
@click.argument("file", default="-", type=click.Path())
@json_option
def export(file: str, as_json: bool) -> int:
    """Write the history of commands as JSON lines, oldest first, to a new FILE (standard output without one)."""
    from gshtui.headless.shell_history import export as do

    return do(file)


VARIABLE = "_GSH_TUI_COMPLETE"
"""How the shell's script asks; click derives the same name from the program's."""


@click.command()
@click.argument("shell", type=click.Choice(["zsh", "bash", "fish"]))
@json_option
def completion(shell: str, as_json: bool) -> int:
    """Print the completion script of a shell.

    \b
    To install it:
      zsh   gsh-tui completion zsh > "${fpath[1]}/_gsh-tui"       (then start a new shell)
            or in ~/.zshrc, behind compinit: eval "$(gsh-tui completion zsh)"
      bash  in ~/.bashrc: eval "$(gsh-tui completion bash)"       (bash 4.4 or newer)
      fish  gsh-tui completion fish > ~/.config/fish/completions/gsh-tui.fish
    """
    from gshtui.cli.root import root
    from gshtui.headless.streams import result, result_json

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click has no completion for {shell}.")
    script = kind(root, {}, "gsh-tui", VARIABLE).source()
    if as_json:
        result_json({"shell": shell, "script": script})
    else:
        result(script)
    return 0


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
    from gshtui.headless.shell_plugin import install as do

    return do(shell, yes=yes, as_json=as_json)


@shell.command()
@click.argument("shell", type=SHELL, default="zsh")
@json_option
def uninstall(shell: str, as_json: bool) -> int:
    """Take that line out again; everything else in the file stays."""
    from gshtui.headless.shell_plugin import uninstall as do

    return do(shell, as_json=as_json)


@shell.command()
@json_option
def status(as_json: bool) -> int:
    """Say whether your shells report, to whom, and what stands in the way."""
    from gshtui.headless.shell_plugin import status as do

    return do(as_json=as_json)


@shell.command()
@json_option
def pause(as_json: bool) -> int:
    """Record nothing from now on, in any shell, until `gsh-tui shell resume`."""
    from gshtui.headless.shell_plugin import pause as do

    return do(True, as_json=as_json)


@shell.command()
@json_option
def resume(as_json: bool) -> int:
    """Record again."""
    from gshtui.headless.shell_plugin import pause as do

    return do(False, as_json=as_json)


@shell.command(hidden=True)
@click.option("--busy", is_flag=True, help="Only those that do something.")
@json_option
def menu(busy: bool, as_json: bool) -> int:
    """Print the agents for the prompt's menu, a line each: ID, TAB, what is shown."""
    from gshtui.headless.agent_menu import print_menu as do

    return do(busy=busy, as_json=as_json)


for command in (log, import_, export):
    shell.add_command(command)

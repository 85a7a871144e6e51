"""`gsh-tui shell` and `completion`: the plugin and its line in a start-up file, pausing, the history of commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from gshtui.cli.options import AGENT, json_option, yes_option


@click.command()
@click.argument("words", nargs=-1)
@click.option("--failed", is_flag=True, help="Only commands with a non-zero exit code.")
@click.option("--exit", "code", type=int, metavar="N", help="Only commands with this exit code.")
@click.option(
    "--cwd",
    default="",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Only in this folder and below; `.` is the current one.",
)
@click.option("--shell", default="", metavar="ID", help="Only from this shell; `.` is the one you are in.")
@click.option(
    "--agent",
    type=AGENT,
    default=None,
    metavar="NAME",
    help="Only commands this agent ran; empty: only those people ran.",
)
@click.option(
    "--since", default="", metavar="TIME", help="Only since: 30m, 2h, 7d, yesterday, 14:30, 2026-11-20T14:30."
)
@click.option("--until", default="", metavar="TIME", help="Only before this time.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Maximum number of commands."
)
@click.option("--output", "output", is_flag=True, help="Include recorded output.")
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
    """Print the commands run in your shells, newest last. A command must contain all WORDS.

    \b
    Examples:
      gsh-tui shell log --failed --since 2h
      gsh-tui shell log pytest --cwd . --output
    """
    from gshtui.headless.shells.shell_history import LogOptions
    from gshtui.headless.shells.shell_history import log as do

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


@click.command("import", short_help="Import the history of zsh, bash or Atuin")
@click.argument("source", type=click.Choice(["zsh", "bash", "atuin", "jsonl"]))
@click.argument("file", default="", type=click.Path())
@json_option
def import_(source: str, file: str, as_json: bool) -> int:
    """Import a history from zsh, bash or Atuin, or from JSON lines (`shell export`, or `shell-history.jsonl`).

    Importing twice adds nothing twice. Secrets are removed, and commands that match [shell] ignore are skipped. FILE
    defaults to the usual place.
    """
    from gshtui.headless.shells.shell_history import import_ as do

    return do(source, file, as_json=as_json)


@click.command(short_help="Export the history as JSON lines")
@click.argument("file", default="-", type=click.Path())
@json_option
def export(file: str, as_json: bool) -> int:
    """Write the command history as JSON lines, oldest first, to a new FILE or to standard output."""
    from gshtui.headless.shells.shell_history import export as do

    return do(file)


VARIABLE = "_GSH_TUI_COMPLETE"
"""The variable by which a shell's script asks; click derives the same name from the program's."""


@click.command()
@click.argument("shell", type=click.Choice(["zsh", "bash", "fish"]))
@json_option
def completion(shell: str, as_json: bool) -> int:
    """Print the completion script of a shell.

    \b
    To install it:
      zsh   gsh-tui completion zsh > "${fpath[1]}/_gsh-tui"       (then start a new shell)
            or in ~/.zshrc, after compinit: eval "$(gsh-tui completion zsh)"
      bash  in ~/.bashrc: eval "$(gsh-tui completion bash)"       (bash 4.4 or newer)
      fish  gsh-tui completion fish > ~/.config/fish/completions/gsh-tui.fish
    """
    from gshtui.cli.root import root
    from gshtui.headless.streams import result, result_json

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}.")
    script = kind(root, {}, "gsh-tui", VARIABLE).source()
    if as_json:
        result_json({"shell": shell, "script": script})
    else:
        result(script)
    return 0


SHELL = click.Choice(["zsh", "bash", "fish"])


@click.group(short_help="Your shells: install, status, pause, log …")
def shell() -> None:
    """Your shells: agents can see what you run in them.

    \b
    By hand, in ~/.zshrc:   source <(gsh-tui shell init zsh)
    zinit:                  zinit load "$(dirname "$(gsh-tui shell path)")"
    oh-my-zsh:              ln -s "$(dirname "$(gsh-tui shell path)")" "$ZSH_CUSTOM/plugins/gsh", and plugins=(… gsh)
    """


@shell.command()
@click.argument("shell", type=SHELL)
@json_option
def init(shell: str, as_json: bool) -> int:
    """Print the code that a shell has to source.

    For zsh: `source <(gsh-tui shell init zsh)`; for bash: `eval "$(gsh-tui shell init bash)"`; for
    fish: `gsh-tui shell init fish | source`.
    """
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
    """Print the plugin's path, for plugin managers that load by path."""
    from gshtui.headless import streams
    from gshtui.shell import plugin

    if as_json:
        streams.result_json({"shell": shell, "path": plugin.path(shell)})
    else:
        streams.result(plugin.path(shell))
    return 0


@shell.command()
@click.argument("shell", type=SHELL, default="zsh")
@click.option("--in-tmux", is_flag=True, help="Keep what commands print outside tmux, too: in a tmux of its own.")
@yes_option("Skip the preview and the question.")
@json_option
def install(shell: str, in_tmux: bool, yes: bool, as_json: bool) -> int:
    """Add one line to your .zshrc (or .bashrc). It first shows the line, and keeps a copy of the file."""
    from gshtui.headless.shells.shell_plugin import install as do

    return do(shell, in_tmux=in_tmux, yes=yes, as_json=as_json)


@shell.command()
@click.argument("shell", type=SHELL, default="zsh")
@yes_option("It never asks; this is here for scripts that always say it.")
@json_option
def uninstall(shell: str, yes: bool, as_json: bool) -> int:
    """Remove that line. The rest of the file stays unchanged."""
    from gshtui.headless.shells.shell_plugin import uninstall as do

    return do(shell, as_json=as_json)


@shell.command()
@json_option
def status(as_json: bool) -> int:
    """Show whether your shells report, and what prevents it."""
    from gshtui.headless.shells.shell_plugin import status as do

    return do(as_json=as_json)


@shell.command()
@json_option
def pause(as_json: bool) -> int:
    """Stop recording in all shells until `gsh-tui shell resume`."""
    from gshtui.headless.shells.shell_plugin import pause as do

    return do(True, as_json=as_json)


@shell.command()
@json_option
def resume(as_json: bool) -> int:
    """Start recording again."""
    from gshtui.headless.shells.shell_plugin import pause as do

    return do(False, as_json=as_json)


@shell.command(hidden=True)
@click.option("--busy", is_flag=True, help="Only agents that are busy.")
@json_option
def menu(busy: bool, as_json: bool) -> int:
    """Print the agents for the prompt's menu, one per line: ID, TAB, label."""
    from gshtui.headless.commands.agent_menu import print_menu as do

    return do(busy=busy, as_json=as_json)


for command in (log, import_, export):
    shell.add_command(command)

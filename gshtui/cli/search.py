"""`gsh-tui search SOURCE QUERY`: what `search_context` finds. A line of that command."""

from __future__ import annotations

import click

from gshtui.cli.names import AGENT
from gshtui.cli.options import json_option

_SOURCES = ["shell_history", "sessions", "logs"]
_SHORT = {"history": "shell_history", "shell": "shell_history"}


class _Source(click.Choice[str]):
    """The sources, also by the short names of the first."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(_SHORT.get(value, value), param, ctx)


@click.command(short_help="Find shell commands, past conversations, log records.")
@click.argument("source", type=_Source(_SOURCES))
@click.argument("query", nargs=-1)
@click.option(
    "--cwd",
    default="",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Only in this folder or below.",
)
@click.option("--exit-code", type=click.IntRange(-1, 255), help="Exit code; -1: any failure (shell_history).")
@click.option("--event-type", default="", metavar="TYPE", help="Kind of record: bash_exec, tool_call, error … (logs).")
@click.option("--agent", type=AGENT, default="", metavar="NAME", help="Only what this agent did (shell_history, logs).")
@click.option("--since", default="", metavar="WHEN", help="Only from then on: 2h, 7d, today, 2026-11-21 …")
@click.option("--until", default="", metavar="WHEN", help="Only before that moment.")
@click.option("--last-n", "-n", type=click.IntRange(1, 50), default=20, show_default=True, help="Results at most.")
@json_option
def search(
    source: str,
    query: tuple[str, ...],
    cwd: str,
    exit_code: int | None,
    event_type: str,
    agent: str,
    since: str,
    until: str,
    last_n: int,
    as_json: bool,
) -> int:
    """Find what was before: SOURCE is shell_history (or history), sessions or logs.

    QUERY is plain text, in capitals or not: nothing in it is syntax. Without it the newest come.

    \b
    Examples:
      gsh-tui search history docker --exit-code -1
      gsh-tui search sessions "retry policy" --since 7d
      gsh-tui search logs test --event-type bash_exec
    """
    from gshtui.commands.lexer import quote
    from gshtui.headless.line import STORE_ONLY, LineOptions, run_line

    named = {"source": source, "query": " ".join(query), "cwd": cwd, "event_type": event_type, "agent": agent}
    named |= {"exit_code": "" if exit_code is None else str(exit_code), "since": since, "until": until}
    named["last_n"] = str(last_n)
    words = [f"{name}={quote(value)}" for name, value in named.items() if value]
    return run_line(LineOptions(" ".join(["search_context", *words]), json=as_json, parts=STORE_ONLY))

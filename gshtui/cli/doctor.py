"""`gsh-tui doctor` and `logs`: what is missing, with the command that installs it, and what was logged."""

from __future__ import annotations

import click

from gshtui.cli.options import AGENT, json_option

_TYPES = ["truncation", "prune", "compaction", "tool_call", "bash_exec", "prompt", "usage", "error", "warning"]


@click.command(short_help="What agents did: the log.")
@click.argument("query", nargs=-1)
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until it is interrupted.")
@click.option("--type", "kind", type=click.Choice(_TYPES), default=None, help="Only this kind of record.")
@click.option("--agent", type=AGENT, default="", metavar="NAME", help="Only of this agent.")
@click.option("--since", default="", metavar="WHEN", help="Only from then on: 2h, 7d, today, 2026-11-21 …")
@click.option("--until", default="", metavar="WHEN", help="Only before that moment.")
@click.option("--limit", "-n", type=click.IntRange(0, 1_000_000), default=50, show_default=True,
              help="The newest of those, at most.")  # fmt: skip
@json_option
def logs(
    query: tuple[str, ...],
    follow: bool,
    kind: str | None,
    agent: str,
    since: str,
    until: str,
    limit: int,
    as_json: bool,
) -> int:
    """Show what agents did, the oldest of it first: commands and tools with their ends, prompts, cuts, usage, errors.

    QUERY is plain text, in capitals or not. With --json each record is a line. Secrets are not in the log.
    """
    from gshtui.headless.logs import LogsOptions, show_logs

    return show_logs(LogsOptions(" ".join(query), kind or "", agent, since, until, limit, follow, as_json))


@click.command(short_help="Say what is missing, and how to get it.")
@json_option
def doctor(as_json: bool) -> int:
    """Check what the workbench needs, and say how to get what is missing.

    Exit code 0 when nothing that is needed is missing, else 1. Keys are named, never shown.
    """
    from gshtui.headless.diagnosis import doctor as examine

    return examine(as_json=as_json)

"""`gsh-tui shell log`: what ran in the shells, with filters."""

from __future__ import annotations

import click

from gshtui.cli.names import AGENT
from gshtui.cli.options import json_option


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
    from gshtui.headless.shell_log import LogOptions
    from gshtui.headless.shell_log import log as do

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

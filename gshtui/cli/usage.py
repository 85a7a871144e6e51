"""`gsh-tui usage`: tokens, money and time that model requests used. A line of the command `usage`."""

from __future__ import annotations

import click

from gshtui.cli.names import AGENT, MODEL, SESSION
from gshtui.cli.options import json_option


@click.command(short_help="Tokens, money and time used.")
@click.option("--by", type=click.Choice(["day", "agent", "model", "session"]), default="day", show_default=True,
              help="What each line is.")  # fmt: skip
@click.option("--since", default="", metavar="WHEN", help="Only from then on: 2h, 7d, today, 2026-11-21 …")
@click.option("--agent", type=AGENT, default="", metavar="NAME", help="Only this agent's.")
@click.option("--model", type=MODEL, default="", metavar="NAME", help="Only this model's.")
@click.option(
    "--session",
    type=SESSION,
    default="",
    metavar="ID",
    help="Only of this conversation and the agents started from it.",
)
@json_option
def usage(by: str, since: str, agent: str, model: str, session: str, as_json: bool) -> int:
    """Show what model requests used, by day, agent, model or conversation, of every folder.

    Tokens are the providers' count. `estimate` says by how much our own estimate of what was sent was off.
    """
    from gshtui.commands.lexer import quote
    from gshtui.headless.line import STORE_ONLY, LineOptions, run_line

    named = {"by": by, "since": since, "agent": agent, "model": model, "session": session}
    words = [f"{name}={quote(value)}" for name, value in named.items() if value]
    return run_line(LineOptions(" ".join(["usage", *words]), json=as_json, parts=STORE_ONLY))

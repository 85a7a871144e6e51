"""`gsh-tui agent run`: one agent in its own terminal."""

from __future__ import annotations

from pathlib import Path

import click

from gshtui.cli.options import json_option


@click.command(name="run", short_help="Run one agent in this terminal.")
@click.option(
    "--spec",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The agent's spec, a file that `agent spawn` writes.",
)
@json_option
def run(spec: Path, as_json: bool) -> int:
    """Run the agent that FILE describes until its work is done.

    `agent spawn` runs this command in a new terminal. It also works without a window: questions then wait for the next
    window, or for your answer here. With --json it prints one event per line and reads nothing from the terminal.
    """
    from gshtui.headless.agents.agent_runner import run_agent

    return run_agent(spec, as_json=as_json)

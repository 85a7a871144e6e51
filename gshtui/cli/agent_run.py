"""`gsh-tui agent run`: being an agent, in its own terminal."""

from __future__ import annotations

from pathlib import Path

import click

from gshtui.cli.options import json_option


@click.command(name="run", short_help="Be an agent, in this terminal.")
@click.option(
    "--spec",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What it was started for; `agent spawn` writes such files.",
)
@json_option
def run(spec: Path, as_json: bool) -> int:
    """Be the agent that FILE describes, until its work is done.

    `agent spawn` starts this in a terminal of the agent's own. It works without a window, too: questions then wait for
    the next one, or for your answer here. With --json each event is a line, and nothing is read from the terminal.
    """
    from gshtui.headless.agent_runner import run_agent

    return run_agent(spec, as_json=as_json)

"""`gsh-tui agent`: the agents that are at work in the windows of this data folder."""

from __future__ import annotations

import click

from gshtui.cli.agent_run import run
from gshtui.cli.options import json_option


@click.group()
def agent() -> None:
    """Agents: list them, show one."""


@agent.command()
@click.option("--all", "everywhere", is_flag=True, help="Of every folder.")
@json_option
def ls(everywhere: bool, as_json: bool) -> int:
    """List the agents that have a conversation open in a window of this folder."""
    from gshtui.headless.agent import ls as do

    return do(everywhere=everywhere, as_json=as_json)


@agent.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> int:
    """Show one agent: by its name, or by its conversation's ID."""
    from gshtui.headless.agent import show as do

    return do(id, as_json=as_json)


agent.add_command(run)

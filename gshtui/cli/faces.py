"""Commands that are a process of their own: doors for people, editors, programs and browsers, agents, hub, replay."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from gshtui.cli.options import json_option


@click.command(short_help="Let people in over SSH, or open the window in a browser.")
@click.option("--ssh", is_flag=True, help="Serve the shell of calls over SSH.")
@click.option("--web", is_flag=True, help="Serve the window to a browser on this machine.")
@click.option("--host", default="", metavar="ADDRESS", help="Address to listen on; by default only this machine.")
@click.option("--port", type=click.IntRange(0, 65_535), default=None, metavar="N", help="Port; 0: any free one.")
@json_option
def serve(ssh: bool, web: bool, host: str, port: int | None, as_json: bool) -> int:
    """Let people into your calls over SSH, or use the window in a browser, until you stop it.

    --ssh: only those whom `gsh-tui people allow` let in can enter, each by their public key: `ssh -p 8022 HOST`.

    --web: prints a link to your window, and one for somebody who may only look. Whoever has the link can use it.
    """
    if ssh == web:
        raise click.UsageError("Say what to serve: `--ssh` or `--web`.")
    from gshtui.headless.commands.command_hub import serve_face

    if web:
        return serve_face("web", host or "127.0.0.1", port or 0, as_json)
    return serve_face("ssh", host, port, as_json)


@click.command(name="run", short_help="Run one agent in this terminal.")
@click.option(
    "--spec",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The agent's spec, a file that `agent spawn` writes.",
)
@click.option("--left", default=-1, hidden=True, help="Descriptor with what the program before has left.")
@json_option
def agent_run(spec: Path, left: int, as_json: bool) -> int:
    """Run the agent that FILE describes until its work is done.

    `agent spawn` runs this command in a new terminal. It also works without a window: questions then wait for the next
    window, or for your answer here. With --json it prints one event per line and reads nothing from the terminal.
    """
    from gshtui.headless.agents.agent_terminal import run_agent

    return run_agent(spec, as_json=as_json, left=left)


_GARBAGE = (2_000, 10, 10)
"""Thresholds of the garbage collector, which the start of a command has raised."""


@click.command(name="run", short_help="Be the hub.", hidden=True)
@click.option(
    "--idle",
    type=click.FloatRange(0),
    default=None,
    metavar="SECONDS",
    help="End after so long without anything to do; 0: stay.",
)
@click.option(
    "--at-first",
    type=click.FloatRange(0),
    default=None,
    metavar="SECONDS",
    help="The same until there has been something to do.",
)
@click.option("--lock", type=click.IntRange(0), default=None, hidden=True, help="Descriptor with the hub's lock.")
@click.option("--for-window", is_flag=True, hidden=True, help="Only if the settings want a hub for windows.")
def hub_run(idle: float | None, at_first: float | None, lock: int | None, for_window: bool) -> int:
    """Look after agents, shells and mail while no window is open.

    gsh-tui starts this by itself; a system that starts it (`gsh-tui hub install`) uses `--idle 0`. It returns at once
    if a keeper runs.
    """
    from gshtui.headless.servers.keeper_process import IDLE_FOR, KeeperTerms, run_keeper

    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    return run_keeper(KeeperTerms(IDLE_FOR if idle is None else idle, at_first, lock, for_window))

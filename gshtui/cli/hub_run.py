"""`gsh-tui hub run`: the hub's own process."""

from __future__ import annotations

import gc

import click

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
def run(idle: float | None, at_first: float | None, lock: int | None, for_window: bool) -> int:
    """Look after agents, shells and mail while no window is open.

    gsh-tui starts this by itself; a system that starts it (`gsh-tui hub install`) uses `--idle 0`. It returns at once
    if a keeper runs.
    """
    from gshtui.headless.servers.keeper_process import IDLE_FOR, KeeperTerms, run_keeper

    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    return run_keeper(KeeperTerms(IDLE_FOR if idle is None else idle, at_first, lock, for_window))

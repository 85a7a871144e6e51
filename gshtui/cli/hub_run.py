"""`gsh-tui hub run`: the keeper's own process."""

from __future__ import annotations

import click

from gshtui.cli.keeper_start import FOR_WINDOW, be_keeper


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
@click.option("--lock", type=click.IntRange(0), default=None, hidden=True)
@click.option(FOR_WINDOW, is_flag=True, hidden=True)
def run(idle: float | None, at_first: float | None, lock: int | None, for_window: bool) -> int:
    """Look after agents, shells and mail while no window is open.

    gsh-tui starts this by itself; a system that starts it (`gsh-tui hub install`) uses `--idle 0`. It returns at once
    if a keeper runs.
    """
    return be_keeper(idle, at_first, lock, for_window)

"""`gsh-tui hub run`: the keeper's own process."""

from __future__ import annotations

import gc
import sys
from typing import Any, cast

import click

_UNUSED = ("ssl", "_hashlib")
"""OpenSSL, a tenth of the keeper's memory: it speaks to nobody over a network. `asyncio` and `hashlib` do without it
where it is missing."""
_GARBAGE = (2_000, 10, 10)
"""Thresholds of the garbage collector, which the start of a command has raised."""


@click.command(name="run", short_help="Be the keeper.", hidden=True)
@click.option(
    "--idle",
    type=click.FloatRange(0),
    default=None,
    metavar="SECONDS",
    help="End after so long without anything to do; 0: stay.",
)
def run(idle: float | None) -> int:
    """Look after agents, shells and mail while no window is open.

    gsh-tui starts this by itself; a system that starts it (`gsh-tui hub install`) uses `--idle 0`. It returns at once
    if a keeper runs.
    """
    modules = cast("dict[str, Any]", sys.modules)
    for name in _UNUSED:
        modules.setdefault(name, None)
    from gshtui.headless.keeper_process import IDLE_FOR, run_keeper

    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    return run_keeper(IDLE_FOR if idle is None else idle)

"""`gsh-tui hub run` as gsh-tui itself and the system start it: the keeper with as little in memory as it needs.

Called by `entry` before click is loaded, and by the command `hub run`.
"""

from __future__ import annotations

import gc

_GARBAGE = (2_000, 10, 10)
"""Thresholds of the garbage collector, which the start of a command has raised."""


def quick(arguments: list[str]) -> int | None:
    """Be the keeper if these arguments say so and nothing else; returns its exit code. `None`: leave it to click."""
    idle: float | None = None
    match arguments:
        case ["hub", "run"]:
            pass
        case ["hub", "run", "--idle", seconds] if seconds.isdecimal() and seconds.isascii():
            idle = float(seconds)
        case _:
            return None
    from gshtui.headless.crash import catch_in_threads

    catch_in_threads()
    return be_keeper(idle)


def be_keeper(idle: float | None) -> int:
    """Look after agents, shells and mail; returns the exit code, at once if another process does.

    Args:
        idle: seconds without anything to look after until it ends; 0: it stays; `None`: as long as usual.
    """
    from gshtui.headless.keeper_process import IDLE_FOR, run_keeper

    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    return run_keeper(IDLE_FOR if idle is None else idle)

"""`gsh-tui hub run` as gsh-tui itself and the system start it: the keeper with as little in memory as it needs.

Called by `entry` before click is loaded, with `hub run` as the first words, and by that command.
"""

from __future__ import annotations

import gc

FOR_WINDOW = "--for-window"
_GARBAGE = (2_000, 10, 10)
"""Thresholds of the garbage collector, which the start of a command has raised."""


def quick(arguments: list[str]) -> int | None:
    """Be the keeper if these arguments say so and nothing else; returns its exit code. `None`: leave it to click."""
    for_window = arguments[2:3] == [FOR_WINDOW]
    rest = arguments[3:] if for_window else arguments[2:]
    given = dict(zip(rest[::2], rest[1::2], strict=False))
    if len(rest) != 2 * len(given) or not given.keys() <= {"--idle", "--at-first", "--lock"}:
        return None
    if not all(value.isdecimal() and value.isascii() for value in given.values()):
        return None
    from gshtui.headless.crash import catch_in_threads

    catch_in_threads()
    idle, at_first, lock = (int(given[name]) if name in given else None for name in ("--idle", "--at-first", "--lock"))
    return be_keeper(idle, at_first, lock, for_window)


def be_keeper(idle: float | None, at_first: float | None, lock: int | None, for_window: bool = False) -> int:
    """Look after agents, shells and mail; returns the exit code, at once if another process does.

    Args:
        idle: seconds without anything to look after until it ends; 0: it stays; `None`: as long as usual.
        at_first: the same until there has been something; `None`: no difference.
        lock: descriptor with the lock of the keeper, from the process that starts this one.
        for_window: only if the settings want one for windows.
    """
    from gshtui.headless.servers.keeper_process import IDLE_FOR, KeeperTerms, run_keeper

    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    return run_keeper(KeeperTerms(IDLE_FOR if idle is None else idle, at_first, lock, for_window))

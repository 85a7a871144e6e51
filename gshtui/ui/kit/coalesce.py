"""Fewer events for a frame: neighbours of the same merge key become one, in an order that costs little.

Pure functions; refuses to merge across another event, so nothing changes its place. Called by the bridge.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from gshtui.bus.event import Event


def coalesced(events: Sequence[Event]) -> list[Event]:
    """The events with runs of the same key made one each."""
    out: list[Event] = []
    run: list[Event] = []
    run_key: Hashable | None = None
    for event in events:
        key = event.merge_key()
        if key is None or key != run_key:
            if run:
                out.append(_folded(run))
            run = []
            run_key = key
        if key is None:
            out.append(event)
        else:
            run.append(event)
    if run:
        out.append(_folded(run))
    return out


def _folded(run: list[Event]) -> Event:
    """One event of many, by halves: joining text piece by piece would cost the square of its length."""
    while len(run) > 1:
        pairs = [first.merged_with(second) for first, second in zip(run[::2], run[1::2], strict=False)]
        if len(run) % 2:
            pairs.append(run[-1])
        run = pairs
    return run[0]

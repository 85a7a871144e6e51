"""Merging of events that only the eye needs: deltas of one answer, statuses of one agent.

Pure: no queue, no time. Used by a subscription that is behind and by whoever gathers events for a frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from gshtui.bus.event import Event


def merged(events: Iterable[Event]) -> deque[Event]:
    """Events with those of the same merge key made one, at the place of the first; the rest and all order kept."""
    out: list[Event] = []
    groups: dict[object, tuple[int, list[Event]]] = {}
    for event in events:
        key = event.merge_key()
        if key is None:
            out.append(event)
        elif (group := groups.get(key)) is None:
            groups[key] = (len(out), [event])
            out.append(event)
        else:
            group[1].append(event)
    for place, group in groups.values():
        out[place] = _folded(group)
    return deque(out)


def _folded(events: list[Event]) -> Event:
    """One event of many, oldest first.

    Neighbours are joined in rounds, not one by one from the left: ten thousand pieces of text would be copied ten
    thousand times otherwise. So `merged_with` must be associative.
    """
    while len(events) > 1:
        pairs = [older.merged_with(newer) for older, newer in zip(events[::2], events[1::2], strict=False)]
        if len(events) % 2:
            pairs.append(events[-1])
        events = pairs
    return events[0]

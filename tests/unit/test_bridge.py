"""Fewer events for a frame, and nothing else changed."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TextDelta, ThinkingDelta
from gshtui.bus.events.hub_events import Noticed
from gshtui.ui.kit.bridge import coalesced

pieces = st.lists(st.tuples(st.sampled_from("abT!"), st.text(max_size=5)), max_size=80)


def made(piece: tuple[str, str]) -> Event:
    kind, text = piece
    if kind == "!":
        return Noticed(text=text)
    if kind == "T":
        return ThinkingDelta(agent="main", session="s", message="a", text=text)
    return TextDelta(agent="main", session="s", message=kind, text=text)


def told(events: list[Event]) -> list[tuple[object, str]]:
    """What the events say in order, with the text of neighbours of a key put together."""
    out: list[tuple[object, str]] = []
    for event in events:
        key = event.merge_key()
        text = str(getattr(event, "text", ""))
        if key is not None and out and out[-1][0] == key:
            out[-1] = (key, out[-1][1] + text)
        else:
            out.append((key if key is not None else ("alone", id(event)), text))
    return [(key if not (isinstance(key, tuple) and key[0] == "alone") else None, text) for key, text in out]


@given(pieces)
def test_all_text_stays_in_its_order(given_pieces: list[tuple[str, str]]) -> None:
    events = [made(piece) for piece in given_pieces]
    assert told(coalesced(events)) == told(events)


@given(pieces)
def test_no_two_neighbours_could_still_be_one(given_pieces: list[tuple[str, str]]) -> None:
    keys = [event.merge_key() for event in coalesced([made(piece) for piece in given_pieces])]
    assert all(one is None or one != other for one, other in itertools.pairwise(keys))


def test_a_flood_becomes_one() -> None:
    events = [TextDelta(agent="main", session="s", message="m", text=f"{n} ") for n in range(10_000)]
    merged = coalesced(events)
    assert len(merged) == 1
    assert isinstance(merged[0], TextDelta) and merged[0].text == "".join(f"{n} " for n in range(10_000))

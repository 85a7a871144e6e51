"""The memory section: which notes a request has, in which order, and what it says of the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gshtui.agents.memory.memory_section import MemorySection, choose_notes, note_text, passages
from gshtui.context.log.blocks import text_tokens
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.memory_table import MemoryNote

NOTES = st.lists(
    st.builds(
        MemoryNote,
        st.just("main"),
        st.just("/p"),
        st.uuids().map(str),
        st.text(max_size=200),
        st.sampled_from(["main", "person"]),
        st.floats(0, 9),
    ),
    max_size=12,
)


def note(key: str, value: str, at: float = 0.0, author: str = "main") -> MemoryNote:
    return MemoryNote("main", "/p", key, value, author, at)


@given(NOTES, st.text(max_size=60), st.integers(0, 200))
def test_every_note_is_sent_or_named_and_the_order_stays(notes: list[MemoryNote], prompt: str, room: int) -> None:
    chosen = choose_notes(notes, prompt, room)
    assert sorted([*chosen.notes, *chosen.left_out], key=notes.index) == notes
    assert list(chosen.notes) == [one for one in notes if one in chosen.notes]
    assert sum(text_tokens(note_text(one)) for one in chosen.notes) <= room
    assert choose_notes(notes, prompt, room) == chosen


def test_where_there_is_no_room_for_all_the_notes_that_fit_the_conversation_are_sent() -> None:
    notes = [note("audio-routing", "JACK " * 20), note("colours", "blue " * 30, 5.0), note("parser", "winnow " * 10)]
    chosen = choose_notes(notes, "Fix the audio routing, please", 60)
    assert [one.key for one in chosen.notes] == ["audio-routing", "parser"]
    said = passages("main", chosen)
    assert said[-1].text.startswith(
        "Left out for lack of room, since they fit this conversation less well (1): colours."
    )
    assert [one.path for one in said][1:3] == ["/memory/main/audio-routing.mem", "/memory/main/parser.mem"]
    assert {one.section for one in said} == {"memory"}


def test_a_note_of_a_person_says_so_and_hides_nothing() -> None:
    assert note_text(note("style", "tabs\x1b[2J", author="person")) == "style (person): tabs␛[2J"


async def test_a_record_that_fails_leaves_the_last_notes() -> None:
    notes = [note("a", "one")]
    fails = False

    async def read() -> tuple[str, list[MemoryNote]]:
        if fails:
            raise StoreError("busy", "The record is busy.")
        return "main", notes

    async def prompt() -> str:
        return ""

    section = MemorySection(read, prompt, 100)
    first = await section(True)
    assert [one.source for one in first.passages] == ["memory", "a.mem"]
    fails = True
    assert await section(False) == first
    assert (await MemorySection(read, prompt, 0)(True)).passages == ()

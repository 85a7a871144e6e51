"""The inspector without a terminal: its state, its outline, long texts as rows, the search."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gshtui.bus.context_data import Block, Difference
from gshtui.bus.events.agent_events import IterationStarted, MessageAppended, TextDelta
from gshtui.bus.events.context_events import BlockPinned
from gshtui.bus.messages import Message, Text
from gshtui.context.log.block_diff import differences
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.inspector_lines import (
    SectionLine,
    compared_text,
    inspector_entries,
    inspector_title,
    inspector_words,
    sections,
)
from gshtui.ui.context.inspector_search import BlockSearch, ordered
from gshtui.ui.context.inspector_state import InspectorState
from gshtui.ui.context.outline import Outline, OutlineEntry, TextRows, displayed
from gshtui.ui.kit.drawing.figures import context_meter, meter_level, meter_sign
from tests.kit.recorded import NOW, S
from tests.kit.recorded_contexts import RecordedContexts


async def shown(service: RecordedContexts | None = None, at: str = "", agent: str = "main") -> InspectorState:
    """The state once a request was read."""
    service = service or RecordedContexts()
    view = await service.view(agent, at)
    return states.with_view(InspectorState(agent, at=at), view, tuple(await service.iterations(agent)))


def lines(state: InspectorState, width: int = 100) -> list[str]:
    said: list[str] = []
    for entry in inspector_entries(state):
        made = inspector_words(entry, width, NOW, lambda _: "")
        said.append(entry.text if entry.text is not None else "".join(part[1] for part in (*made.left, *made.right)))
    return said


async def test_six_sections_in_order_with_tokens_and_shares() -> None:
    state = await shown()
    found = sections(state.blocks)
    assert [one.name for one in found] == ["system", "call", "memory", "tools", "history", "input"]
    assert sum(one.tokens for one in found) == state.view.tokens if state.view else False
    assert [one.blocks for one in found] == [1, 0, 1, 3, 4, 1]
    assert found[0].read == found[0].tokens and found[5].fresh == found[5].tokens
    entries = inspector_entries(state)
    assert [type(entry.data) for entry in entries] == [SectionLine] * 6
    assert entries[1].opened is None, "an empty section opens to nothing"
    assert "nothing" in lines(state)[1] and "3 blocks" in lines(state)[3]


async def test_a_section_opens_to_blocks_and_a_block_to_its_exact_text() -> None:
    service = RecordedContexts()
    state = states.toggled(await shown(service), "s:history")
    blocks = [entry for entry in inspector_entries(state) if entry.id.startswith("b:")]
    assert [entry.data.source for entry in blocks if isinstance(entry.data, Block)] == [
        "you",
        "read src/parse.py",
        "read src/parse.py",
        "bash make test",
    ]
    pruned = blocks[-1]
    assert isinstance(pruned.data, Block)
    state = states.toggled(state, pruned.id)
    assert states.wanted(state) == [pruned.data.hash]
    assert "Loading …" in lines(state)
    state = states.with_texts(state, {pruned.data.hash: await service.text(pruned.data.hash)})
    assert states.wanted(state) == []
    said = lines(state)
    assert any("P pruned 640 → 16 tokens" in line and "receipt" in line for line in said)
    assert "[pruned: 1,240 tokens of `make test`; read it with search_context]" in said
    assert "Loading …" not in said


async def test_what_a_block_has_cost_is_told() -> None:
    service = RecordedContexts()
    state = await shown(service)
    state = replace(state, carry={one.source: one for one in await service.carry("main")})
    state = states.toggled(states.toggled(state, "s:history"), "b:r2/0")
    assert any("sent 3 times, 1.9k tokens, $0.0058" in line for line in lines(state))


async def test_control_characters_are_shown_and_never_sent_to_the_terminal() -> None:
    service = RecordedContexts()
    state = states.toggled(states.toggled(await shown(service), "s:system"), "b:system/0")
    evil = "\x1b]0;owned\x07 \x9b31m ‮ [bold]x[/bold]"
    said = lines(states.with_texts(state, {state.blocks[0].hash: evil}))
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for line in said for letter in line if letter != "\n")
    assert any("[bold]x[/bold]" in line for line in said)


async def test_going_through_time() -> None:
    state = await shown()
    assert (state.place, states.stepped(state, 1), states.stepped(state, -1)) == (4, None, "it4")
    state = await shown(at="it4")
    assert (states.stepped(state, 1), states.stepped(state, -1)) == ("", "it3")
    assert states.stepped(await shown(at="it1"), -1) is None


async def test_what_happens_makes_it_look_again_and_counts_the_answer() -> None:
    state = await shown()
    other = BlockPinned(agent="else", session=S, block="b")
    assert states.reduce(state, other) is state
    assert states.reduce(state, BlockPinned(agent="main", session=S, block="b")).stale
    state = states.reduce(state, TextDelta(agent="main", session=S, message="m", text="x" * 400))
    assert state.streamed == 400 and not state.stale
    assert "answer so far ~100" in inspector_title(state, "main", 120).plain
    done = MessageAppended(agent="main", session=S, message=Message("m", "assistant", (Text("x"),)))
    assert states.reduce(state, done).streamed == 0 and states.reduce(state, done).stale
    assert (
        states.reduce(state, IterationStarted(agent="main", session=S, turn="t", iteration=1, message="m")).streamed
        == 0
    )


async def test_the_title_tells_the_count_beside_the_estimate() -> None:
    state = await shown(at="it3")
    said = inspector_title(state, "main", 200).plain
    assert "request 3 of 4" in said and "counted by the provider; the estimate was" in said and "$0.01" in said
    assert "compacts at 160k" in said
    rows = [inspector_title(state, "main", width).plain for width in range(100, len(said.split("\n")[1]))]
    assert not any("compac…" in row for row in rows), "what stands elsewhere, too, is left out rather than cut"
    assert "estimated; off by 4 % so far" in inspector_title(await shown(), "main", 200).plain
    foreign = await shown(agent="0004")
    assert "Reconstructed from its transcript" in lines(foreign)[0]


async def test_the_title_has_no_figures_of_a_model_without_one() -> None:
    state = await shown(at="it3")
    assert state.view is not None
    said = inspector_title(replace(state, view=replace(state.view, provider="offline")), "main", 200).plain
    assert not any(word in said for word in ("compacts", "$", "k of ", "counted by the provider"))


async def test_a_comparison_names_what_came_went_and_changed() -> None:
    service = RecordedContexts()
    old, new = await service.view("main", "it3"), await service.view("main", "")
    state = states.compared(await shown(service), old, tuple(differences(old.blocks, new.blocks)))
    said = lines(state)
    assert any(line.startswith("~ rewritten") and "bash make test" in line for line in said)
    assert any(line.startswith("+ added") and "you" in line for line in said)
    opened = states.all_toggled(state)
    texts = {hash: await service.text(hash) for hash in states.wanted(opened)}
    shown_text = "\n".join(lines(states.with_texts(opened, texts)))
    assert "- tests/test_parse.py::test_000 PASSED" in shown_text
    assert "+ [pruned: 1,240 tokens" in shown_text
    assert states.all_toggled(opened).opened == frozenset()
    same = states.compared(state, new, ())
    assert lines(same) == ["Both requests are identical."]


def test_a_change_is_shown_line_by_line_with_signs() -> None:
    one = Difference("rewritten", "b", "history", "x", 1, 1, "a", "b")
    found = compared_text(one, {"a": "one\ntwo\nthree", "b": "one\n2\nthree"})
    assert found is not None
    assert found.split("\n")[1:] == ["  one", "- two", "+ 2", "  three"]
    assert compared_text(one, {"a": "x"}) is None
    assert compared_text(Difference("added", "b", "input", "x", hash_after="b"), {"b": "new"}) == "+ new"


async def test_a_search_finds_what_is_folded_in_the_order_in_which_it_is_sent() -> None:
    service = RecordedContexts()
    state = await shown(service)
    search = BlockSearch("PARSE")
    for block in ordered(state.blocks):
        search.search_text(block, await service.text(block.hash), block.source)
    sources = [hit.block.source for hit in search.hits if hit.block]
    assert sources[:2] == ["AGENTS.md", "you"] and "read src/parse.py" in sources
    first = search.go(1)
    assert first is search.hits[0] and search.go(-1) is search.hits[-1] and search.go(1) is first
    assert BlockSearch("nothing like it").go(1) is None


@given(st.lists(st.text(alphabet="ab ü漢e\u0301\t😀", max_size=90), max_size=12), st.integers(4, 60))
def test_rows_hold_every_character_once(parts: list[str], width: int) -> None:
    text = displayed("\n".join(parts))
    rows = TextRows(text, width)
    found = [rows.row(number) for number in range(rows.height)]
    again = "".join(("\n" if row.first and number else "") + row.text for number, row in enumerate(found))
    assert again == text
    for number, row in enumerate(found):
        assert text[row.offset : row.offset + len(row.text)] == row.text
        if row.text:
            assert rows.row_of(row.offset) == number


@given(st.lists(st.tuples(st.integers(0, 2), st.none() | st.text(alphabet="ab\n", max_size=60)), max_size=20))
def test_an_outline_knows_which_row_is_whose(parts: list[tuple[int, str | None]]) -> None:
    entries = [OutlineEntry(str(at), meter_level, text=text) for at, (meter_level, text) in enumerate(parts)]
    made = Outline(entries, 30)
    rows = [made.at(row) for row in range(made.height)]
    assert made.at(made.height) is None and made.at(-1) is None
    assert [found[0].id for found in rows if found and found[1] == 0] == [entry.id for entry in entries]
    for entry in entries:
        top = made.top(entry.id)
        assert top is not None and rows[top] == (entry, 0)


def test_the_meter_warns_before_the_trigger_and_says_so_without_colour() -> None:
    assert [meter_level(tokens, 200, 160) for tokens in (100, 140, 160)] == ["primary", "warning", "error"]
    assert [meter_sign(tokens, 200, 160) for tokens in (100, 140, 160)] == ["", "!", "!!"]
    assert [meter_level(tokens, 200) for tokens in (100, 150, 190)] == ["primary", "warning", "error"]
    for tokens in (0, 5, 100, 170, 250):
        drawn = context_meter(tokens, 200, 160, 20).plain
        assert len(drawn) == 20 and drawn[16] == "┃"
    assert "┃" not in context_meter(10, 200, 0, 20).plain


async def test_a_request_that_is_not_exact_says_so() -> None:
    service = RecordedContexts()
    state = await shown(service, agent="0004")
    state = replace(state, mode="request", request=await service.request("0004"))
    assert lines(state)[:2] == [
        "This is not an exact copy of what was sent.",
        "Its program sends its own; this is what its transcript holds.",
    ]
    assert json.loads(lines(state)[2])["stream"] is True


def test_a_pinned_block_has_a_mark_and_its_changes_have_letters() -> None:
    block = Block("b", "history", "tool_result", "bash ls", 12, "h", pinned=True, cache="read")
    made = inspector_words(OutlineEntry("b:b", 1, block, False), 80, NOW, lambda _: "a.py b.py")
    said = "".join(part[1] for part in (*made.left, *made.right))
    assert said.startswith("⚑ bash ls result") and "a.py b.py" in said and "●" in said

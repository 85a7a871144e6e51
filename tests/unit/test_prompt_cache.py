"""The cache ledger: which block broke the prefix, what was read, and what is to be expected."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.context_data import Block, BlockKind, Iteration, SectionName
from gshtui.bus.messages import Usage
from gshtui.context.assembly.prompt_cache import (
    CacheEntry,
    as_read,
    broken_by,
    cache_entry,
    foreseen,
    in_common,
    ledger,
    marked,
)
from gshtui.context.commands.tables import timeline
from gshtui.context.views import Forecast


def block(name: str, section: SectionName = "history", kind: BlockKind = "text", tokens: int = 100) -> Block:
    return Block(name, section, kind, name, tokens=tokens, hash=f"#{name}")


SYSTEM = block("system/0", "system", "system", 500)
MEMORY = block("memory/AGENTS.md", "memory", "file", 300)
TOOL = block("tool/read", "tools", "tool", 200)
FIRST, ANSWER, NEXT = block("m1/0", "input"), block("m2/0"), block("m3/0", "input")
SENT = (SYSTEM, MEMORY, TOOL, FIRST)


def other(one: Block, **changes: object) -> Block:
    return msgspec.structs.replace(one, hash="#changed", **changes)


def mark(id: str, at: float = 0.0, *, broken: str = "", model: str = "m", usage: Usage | None = None) -> Iteration:
    return Iteration(id, "main", "s", "t", 1, at, provider="anthropic", model=model, usage=usage, broken_by=broken)


def test_a_request_that_goes_on_breaks_nothing() -> None:
    moved = msgspec.structs.replace(FIRST, section="history")
    assert broken_by(SENT, SENT) == ""
    assert broken_by(SENT, (*SENT, ANSWER, NEXT)) == ""
    assert broken_by(SENT, (SYSTEM, MEMORY, TOOL, moved, ANSWER, NEXT)) == ""
    assert broken_by(SENT, SENT[:3]) == ""
    assert broken_by(SENT, SENT[:2], "anthropic") == SYSTEM.id  # the tools, which come first, are gone
    assert broken_by((), SENT) == ""
    assert in_common(SENT, (SYSTEM, MEMORY, TOOL, moved, ANSWER)) == 4


def test_the_first_block_that_differs_is_named_in_the_order_of_the_provider() -> None:
    assert broken_by(SENT, (SYSTEM, other(MEMORY), TOOL, FIRST, ANSWER)) == MEMORY.id
    assert broken_by(SENT, (SYSTEM, TOOL, FIRST)) == FIRST.id  # the file is gone; what follows it stands elsewhere
    assert broken_by(SENT, (other(SYSTEM), MEMORY, other(TOOL), FIRST), "anthropic") == TOOL.id
    assert broken_by(SENT, (other(SYSTEM), MEMORY, other(TOOL), FIRST), "gemini") == SYSTEM.id
    result = block("m2/1", kind="tool_result")
    pruned = other(result, tokens=5)
    assert broken_by((*SENT, ANSWER, result, NEXT), (*SENT, ANSWER, pruned, NEXT)) == result.id


def test_blocks_are_marked_by_what_the_provider_counted() -> None:
    blocks = (*SENT, ANSWER, NEXT)  # 1,300 by the estimate
    usage = Usage(input=200, cache_read=2_200, cache_write=200, output=50)  # 2,600 by the count
    assert [b.cache for b in marked(blocks, usage, "anthropic")] == ["read"] * 4 + ["written", "fresh"]
    assert [b.cache for b in marked(blocks, Usage(cache_read=400, input=2_200), "anthropic")] == [
        "fresh",
        "fresh",
        "read",
        "fresh",
        "fresh",
        "fresh",
    ]
    assert marked(blocks, None) == blocks
    assert marked(blocks, Usage(input=2_600)) == blocks
    assert marked((), usage) == ()


def test_the_next_request_shows_what_is_held_for_it() -> None:
    last = marked(SENT, Usage(cache_write=1_100), "anthropic")
    assert [b.cache for b in foreseen(last, (*SENT, ANSWER, NEXT), "anthropic")] == ["read"] * 4 + ["fresh"] * 2
    changed = (SYSTEM, other(MEMORY), TOOL, FIRST)
    assert [b.cache for b in foreseen(last, changed, "anthropic")] == ["read", "fresh", "read", "fresh"]
    assert foreseen(SENT, changed, "anthropic") == changed


def test_the_ledger_says_hit_or_miss_and_why() -> None:
    wrote = Usage(input=10, cache_write=2_000)
    read = Usage(input=10, cache_read=2_000, cache_write=300)
    nothing = Usage(input=2_400)
    marks = [
        mark("1", usage=wrote),
        mark("2", 10, usage=read),
        mark("3", 20),
        mark("4", 30, usage=Usage(input=10, cache_read=500, cache_write=1_900), broken="memory/AGENTS.md"),
        mark("5", 1_000, usage=nothing),
        mark("6", 1_010, usage=wrote),
        mark("7", 1_020, usage=nothing, model="other"),
        mark("8", 1_030, usage=nothing, model="other"),
    ]
    entries = ledger(marks)
    assert [one.verdict for one in entries] == ["first", "hit", "", "part", "miss", "miss", "miss", ""]
    assert "memory/AGENTS.md" in entries[3].why
    assert "16 minutes" in entries[4].why
    assert entries[6].why == "The previous model was m."
    assert entries[1] == CacheEntry("2", "hit", 2_000, 300, 10)
    assert round(entries[1].share, 2) == 0.87
    assert cache_entry(None, mark("0")).share == 0.0


def test_the_timeline_tells_it() -> None:
    marks = [
        mark("1", usage=Usage(input=10, cache_write=2_000)),
        mark("2", 10, usage=Usage(input=10, cache_read=2_000, cache_write=300)),
        mark("3", 20, usage=Usage(input=2_400), broken="system/0"),
    ]
    told = timeline("main", marks, [], Forecast(None, 0, 0), 10)
    rows = [[cell.strip() for cell in line.split("|")][1:-1] for line in told.split("\n") if line.startswith("| ")]
    assert [row[6] for row in rows if "-" not in row[6]] == ["cache", "first", "87 %", "miss"]
    assert "- #3: system/0 changed." in told
    assert "#2:" not in told


def test_a_cache_that_is_not_used_although_it_could_be_is_a_miss() -> None:
    before = mark("1", usage=Usage(cache_write=5_000))
    missed = cache_entry(before, mark("2", 5, usage=Usage(input=6_000)))
    assert missed.verdict == "miss"
    assert "did not use its cache" in missed.why
    small = cache_entry(mark("1", usage=Usage(cache_write=900)), mark("2", 5, usage=Usage(input=950)))
    assert "1,024" in small.why


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@given(NAMES, NAMES, st.sampled_from(["anthropic", "gemini"]))
def test_what_breaks_is_the_first_place_at_which_they_part(one: list[str], two: list[str], provider: str) -> None:
    before, after = tuple(map(block, one)), tuple(map(block, two))
    common = in_common(before, after, provider)
    broken = broken_by(before, after, provider)
    if common == min(len(before), len(after)):
        assert broken == ""
    else:
        assert broken == as_read(after, provider)[common].id


@given(
    st.lists(st.integers(0, 5_000), max_size=12), st.integers(0, 9_000), st.integers(0, 9_000), st.integers(0, 9_000)
)
def test_marks_come_in_order_and_lose_no_block(tokens: list[int], read: int, written: int, fresh: int) -> None:
    blocks = tuple(block(str(number), tokens=size) for number, size in enumerate(tokens))
    found = marked(blocks, Usage(input=fresh, cache_read=read, cache_write=written))
    assert [msgspec.structs.replace(one, cache="") for one in found] == list(blocks)
    if read or written:
        order = ["read", "written", "fresh"]
        states = [order.index(one.cache) for one in found]
        assert states == sorted(states)

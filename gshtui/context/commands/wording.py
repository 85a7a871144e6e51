"""Contexts in words: the sections with their bars, blocks, differences, what-if, carry cost. For 80 columns.

Pure. Tables are Markdown whose columns are set, so that they read well as they are; what models and tools wrote is
sanitised. Called by the context commands.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from gshtui.bus.context import SECTIONS, Block, Difference
from gshtui.context.views import Carry, ContextView, Forecast, WhatIf
from gshtui.guard.sanitise import literal, one_line, visible

BAR = 20
SOURCE = 26
"""Characters of a source that a table shows."""
LARGEST = 8
"""Blocks that the overview names."""
_SIGNS = {"added": "+", "removed": "-", "rewritten": "~", "moved": ">"}


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A Markdown table with set columns. `right`: the columns that are set to the right."""
    cells = [[one_line(cell).replace("|", "¦") for cell in row] for row in (head, *rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        shown = [
            f"{cell:>{w}}" if n in right else f"{cell:<{w}}"
            for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(shown)} |"

    rule = [f"{'-' * (width - 1)}:" if n in right else "-" * width for n, width in enumerate(widths)]
    return "\n".join([line(cells[0]), f"| {' | '.join(rule)} |", *(line(row) for row in cells[1:])])


def money(dollars: float | None) -> str:
    """A price; small ones with as many digits as they need."""
    if dollars is None:
        return "unknown"
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def counted(number: int, what: str) -> str:
    """A number of things: `1 cut`, `3 cuts`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def ago(at: float) -> str:
    """How long ago a time was."""
    if not at:
        return ""
    seconds = max(0.0, time.time() - at)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def cut_short(text: str, width: int = SOURCE) -> str:
    """One clean line of at most this many characters."""
    clean = one_line(text)
    return clean if len(clean) <= width else clean[: width - 1] + "…"


def headline(view: ContextView, forecast: Forecast | None = None, number: int = 0) -> str:
    """Whose request it is, how full the window is, and when something is cut."""
    which = f"iteration {number}" if number else "the next request"
    size = view.expected or view.tokens
    full = f"{size:,} of {view.window:,} tokens ({size / view.window:.0%})" if view.window else f"{size:,} tokens"
    estimate = " by estimate" if view.error is None else ""
    if view.error and view.error >= 0.005:
        estimate = f" (estimates are off by {view.error:.0%} so far)"
    lines = [f"**{view.agent}**, {which}: {full}{estimate} · {view.model or 'no model yet'}"]
    if view.trigger:
        lines.append(f"{due(forecast, view.trigger)}.")
    if view.note:
        lines.append(visible(view.note))
    return "\n\n".join(lines)


def due(forecast: Forecast | None, trigger: int) -> str:
    """When the next compaction comes."""
    said = f"A compaction starts at {trigger:,} tokens"
    if forecast is None or forecast.turns is None:
        return said
    if forecast.turns == 0:
        return f"{said}: before the next request"
    turns = "the next turn" if forecast.turns == 1 else f"about {forecast.turns:,} turns"
    return f"{said}, in {turns} ({forecast.per_turn:+,} tokens a turn)"


def overview(view: ContextView, forecast: Forecast | None = None, number: int = 0) -> str:
    """All sections with their shares, and the largest blocks."""
    rows: list[list[str]] = []
    for name in SECTIONS:
        blocks = [block for block in view.blocks if block.section == name]
        tokens = sum(block.tokens for block in blocks)
        share = tokens / view.tokens if view.tokens else 0.0
        rows.append([name, str(len(blocks)), f"{tokens:,}", f"{share:.0%}", bar(share), cache_of(blocks)])
    sections = table(("section", "blocks", "tokens", "share", "", "cache"), rows, right=(1, 2, 3))
    largest = sorted(enumerate(view.blocks, 1), key=lambda entry: -entry[1].tokens)[:LARGEST]
    parts = [headline(view, forecast, number), sections]
    if largest:
        parts += ["The largest blocks:", blocks_table(largest)]
    return "\n\n".join(parts)


def bar(share: float) -> str:
    """A share of 1 as a bar."""
    eighths = round(max(0.0, min(share, 1.0)) * BAR * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8].strip())


def cache_of(blocks: Sequence[Block]) -> str:
    """What the provider had of these in its cache."""
    known = {block.cache for block in blocks} - {""}
    return ", ".join(state for state in ("read", "written", "fresh") if state in known)


def section(view: ContextView, name: str, limit: int, number: int = 0) -> str:
    """One section's blocks."""
    numbered = [(place, block) for place, block in enumerate(view.blocks, 1) if block.section == name]
    shown = numbered[-limit:] if limit else numbered
    tokens = sum(block.tokens for _, block in numbered)
    left_out = len(numbered) - len(shown)
    what = f"{name}: {counted(len(numbered), 'block')}, {tokens:,} tokens" + (
        f"; the newest {len(shown)}" if left_out else ""
    )
    return "\n\n".join([headline(view, None, number), f"{what}.", blocks_table(shown) if shown else "(empty)"])


def blocks_table(numbered: Sequence[tuple[int, Block]]) -> str:
    """Blocks with their numbers."""
    rows = [
        [str(number), cut_short(block.source), short_kind(block), f"{block.tokens:,}", ago(block.at), marked(block)]
        for number, block in numbered
    ]
    return table(("#", "source", "kind", "tokens", "age", "state"), rows, right=(0, 3))


def short_kind(block: Block) -> str:
    """What a block is, in at most eight characters."""
    return block.kind.removeprefix("tool_")


def marked(block: Block) -> str:
    """The first thing that was done to a block, and how many more."""
    first, *more = state_of(block).split(", ")
    return f"{first} +{len(more)}" if more else first


def state_of(block: Block) -> str:
    """What was done to a block."""
    words = ["pinned"] if block.pinned else []
    words += [change.kind for change in block.changes]
    return ", ".join(dict.fromkeys(words))


def whole_block(block: Block, text: str, number: int) -> str:
    """One block with its exact text, in a fence that the text cannot close."""
    facts = [f"**{cut_short(block.source, 60)}** (#{number}, {block.section}, {block.kind}): {block.tokens:,} tokens"]
    if block.at:
        facts[0] += f", {ago(block.at)} ago"
    facts.append(f"id `{one_line(block.id)}`" + (f", {state_of(block)}" if state_of(block) else ""))
    return "\n\n".join([*facts, fenced(text)])


def fenced(text: str, language: str = "") -> str:
    """A text as it is, between fences that are longer than any in it."""
    clean = literal(text)
    longest = max((len(run) for run in clean.replace("~", " ").split() if set(run) == {"`"}), default=0)
    longest = max(longest, *(len(line) - len(line.lstrip("`")) for line in clean.split("\n")))
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{clean}\n{fence}"


def difference(found: Sequence[Difference], names: tuple[str, str]) -> str:
    """What differs, a line each, with the sums."""
    if not found:
        return f"{names[0]} and {names[1]} send the same."
    before, after = sum(one.before for one in found), sum(one.after for one in found)
    counts = {kind: sum(1 for one in found if one.kind == kind) for kind in _SIGNS}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    rows = [
        [_SIGNS[one.kind], one.section, cut_short(one.source), f"{one.before:,}", f"{one.after:,}"] for one in found
    ]
    head = f"From {names[0]} to {names[1]}: {said}; {after - before:+,} tokens."
    return "\n\n".join([head, table(("", "section", "source", "before", "after"), rows, right=(3, 4))])


def what_if(view: ContextView, told: WhatIf, model: str) -> str:
    """The next request under other circumstances, beside what it is now."""
    now = view.expected or view.tokens
    fits = "fits" if told.fits else "does not fit"
    rows = [
        ["now", view.model or "?", f"{now:,}", f"{view.window:,}", "", ""],
        ["then", model or view.model, f"{told.tokens:,}", f"{told.window:,}", money(told.price), money(told.warm)],
    ]
    lines = [
        f"It {fits}: {told.tokens:,} of {told.window:,} tokens ({told.tokens - now:+,}).",
        table(("", "model", "tokens", "window", "first request", "from cache"), rows, right=(2, 3, 4, 5)),
    ]
    lines += [f"- {said}" for said in (*told.cuts, *told.notes)]
    return "\n\n".join(lines[:2]) + ("\n\n" + "\n".join(lines[2:]) if lines[2:] else "")


def carry(found: Sequence[Carry], limit: int) -> str:
    """What was read once and paid for again and again."""
    if not found:
        return "Nothing was sent yet."
    rows = [
        [cut_short(one.source), f"{one.tokens:,}", f"{one.times:,}", f"{one.tokens_paid:,}", money(one.cost)]
        for one in found[:limit]
    ]
    first = found[0]
    head = (
        f"{cut_short(first.source)}: {first.tokens:,} tokens, sent {first.times:,} times, {first.tokens_paid:,} paid."
    )
    return "\n\n".join([head, table(("what", "tokens", "times", "paid", "cost"), rows, right=(1, 2, 3, 4))])

"""Contexts as text: sections with bars, blocks, differences, what-if, costs; the chart of requests, receipts of cuts.

Laid out for 80 columns; looks nothing up.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from gshtui.bus.context_data import SECTIONS, Block, Difference, Iteration, Receipt
from gshtui.context.assembly.prompt_cache import CacheEntry, ledger
from gshtui.context.views import Carry, ContextView, Forecast, WhatIf
from gshtui.text import units
from gshtui.text.sanitise import literal, one_line, visible
from gshtui.text.units import counted, money

BAR = 20
SOURCE = 26
"""Characters of a source that a table shows."""
LARGEST = 8
"""Blocks listed in the overview."""
_SIGNS = {"added": "+", "removed": "-", "rewritten": "~", "moved": ">"}


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A Markdown table with set columns. `right`: the right-aligned columns."""
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


def ago(at: float) -> str:
    """The age of a moment; empty for none."""
    return units.age(time.time() - at) if at else ""


def cut_short(text: str, width: int = SOURCE) -> str:
    """One sanitised line of at most this many characters."""
    clean = one_line(text)
    return clean if len(clean) <= width else clean[: width - 1] + "…"


def headline(view: ContextView, forecast: Forecast | None = None, number: int = 0) -> str:
    """Whose request it is, how full the window is, and when something will be cut; with no model there is no window."""
    from gshtui.providers.catalog import label_of  # read only where a model is named

    has_model = view.provider != "offline"
    which = f"iteration {number}" if number else "the next request"
    size = view.expected or view.tokens
    full = f"{units.tokens(size)} tokens"
    if view.window and has_model:
        full = f"{units.tokens(size)} of {units.tokens(view.window)} tokens ({units.percent(size, view.window)})"
    estimate = " by estimate" if view.error is None else ""
    if view.expected and units.tokens(view.expected) != units.tokens(view.tokens):
        estimate = f", estimated {units.tokens(view.tokens)}"
    lines = [f"{view.agent}, {which}: {full}{estimate} · {label_of(view.model) or 'no model yet'}"]
    if view.trigger and has_model:
        lines.append(f"{due(forecast, view.trigger)}.")
    if view.note:
        lines.append(visible(view.note))
    return "\n\n".join(lines)


def due(forecast: Forecast | None, trigger: int) -> str:
    """Where the next compaction comes, and when, if that is near enough to be foreseen."""
    said = f"A compaction starts at {units.tokens(trigger)} tokens"
    if forecast is None:
        return said
    if forecast.turns == 0:
        return f"{said}: before the next request"
    ahead = units.turns_ahead(forecast.turns)
    return f"{said}, {ahead} ({units.change(forecast.per_turn)} tokens a turn)" if ahead else said


def overview(view: ContextView, forecast: Forecast | None = None, number: int = 0, *, aloud: bool = False) -> str:
    """All sections with their shares, and the largest blocks. `aloud`: nothing is cut."""
    rows: list[list[str]] = []
    for name in SECTIONS:
        blocks = [block for block in view.blocks if block.section == name]
        tokens = sum(block.tokens for block in blocks)
        share = tokens / view.tokens if view.tokens else 0.0
        part = units.percent(tokens, view.tokens)
        rows.append([name, str(len(blocks)), units.tokens(tokens), part, bar(share), cache_of(blocks)])
    sections = table(("section", "blocks", "tokens", "share", "", "cache"), rows, right=(1, 2, 3))
    largest = sorted(enumerate(view.blocks, 1), key=lambda entry: -entry[1].tokens)[:LARGEST]
    parts = [headline(view, forecast, number), sections]
    if largest:
        parts += ["The largest blocks:", blocks_table(largest, aloud=aloud)]
    return "\n\n".join(parts)


def bar(share: float) -> str:
    return units.bar(share, BAR)


def cache_of(blocks: Sequence[Block]) -> str:
    """How much of these blocks the provider had cached."""
    known = {block.cache for block in blocks} - {""}
    return ", ".join(state for state in ("read", "written", "fresh") if state in known)


def section(view: ContextView, name: str, limit: int, number: int = 0, *, aloud: bool = False) -> str:
    numbered = [(place, block) for place, block in enumerate(view.blocks, 1) if block.section == name]
    shown = numbered[-limit:] if limit else numbered
    tokens = sum(block.tokens for _, block in numbered)
    left_out = len(numbered) - len(shown)
    what = f"{name}: {counted(len(numbered), 'block')}, {units.tokens(tokens)} tokens" + (
        f"; the newest {len(shown)}" if left_out else ""
    )
    blocks = blocks_table(shown, aloud=aloud) if shown else "(empty)"
    return "\n\n".join([headline(view, None, number), f"{what}.", blocks])


def blocks_table(numbered: Sequence[tuple[int, Block]], *, aloud: bool = False) -> str:
    rows = [
        [
            str(number),
            block.source if aloud else cut_short(block.source),
            short_kind(block),
            units.tokens(block.tokens),
            ago(block.at),
            marked(block),
        ]
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
    """Each thing that was done to a block."""
    words = ["pinned"] if block.pinned else []
    words += [change.kind for change in block.changes]
    return ", ".join(dict.fromkeys(words))


def whole_block(block: Block, text: str, number: int) -> str:
    """One block with its exact text, in a fence that the text cannot close."""
    where = f"#{number}, {block.section}, {block.kind}"
    facts = [f"{cut_short(block.source, 60)} ({where}): {units.tokens(block.tokens)} tokens"]
    if block.at:
        facts[0] += f", {ago(block.at)} ago"
    facts.append(f"id `{one_line(block.id)}`" + (f", {state_of(block)}" if state_of(block) else ""))
    return "\n\n".join([*facts, fenced(text)])


def fenced(text: str, language: str = "") -> str:
    """A text unchanged, between fences longer than any in it."""
    clean = literal(text)
    longest = max((len(run) for run in clean.replace("~", " ").split() if set(run) == {"`"}), default=0)
    longest = max(longest, *(len(line) - len(line.lstrip("`")) for line in clean.split("\n")))
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{clean}\n{fence}"


def difference(found: Sequence[Difference], names: tuple[str, str]) -> str:
    """The differences, one line each, with the sums."""
    if not found:
        return f"{names[0]} and {names[1]} send the same."
    before, after = sum(one.before for one in found), sum(one.after for one in found)
    counts = {kind: sum(1 for one in found if one.kind == kind) for kind in _SIGNS}
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    rows = [
        [_SIGNS[one.kind], one.section, cut_short(one.source), units.tokens(one.before), units.tokens(one.after)]
        for one in found
    ]
    head = f"From {names[0]} to {names[1]}: {said}; {units.change(after - before)} tokens."
    return "\n\n".join([head, table(("", "section", "source", "before", "after"), rows, right=(3, 4))])


def what_if(view: ContextView, told: WhatIf, model: str) -> str:
    """The next request under other circumstances, compared with the current one."""
    now = view.expected or view.tokens
    fits = "fits" if told.fits else "does not fit"
    rows = [
        ["now", view.model or "?", units.tokens(now), units.tokens(view.window), "", ""],
        [
            "then",
            model or view.model,
            units.tokens(told.tokens),
            units.tokens(told.window),
            money(told.price),
            money(told.warm),
        ],
    ]
    lines = [
        f"It {fits}: {units.tokens(told.tokens)} of {units.tokens(told.window)} tokens"
        f" ({units.change(told.tokens - now)}).",
        table(("", "model", "tokens", "window", "first request", "from cache"), rows, right=(2, 3, 4, 5)),
    ]
    lines += [f"- {said}" for said in (*told.cuts, *told.notes)]
    return "\n\n".join(lines[:2]) + ("\n\n" + "\n".join(lines[2:]) if lines[2:] else "")


def carry(found: Sequence[Carry], limit: int) -> str:
    """The things that were read once and paid for again and again."""
    if not found:
        return "Nothing has been sent yet."
    rows = [
        [
            cut_short(one.source),
            units.tokens(one.tokens),
            f"{one.times:,}",
            units.tokens(one.tokens_paid),
            money(one.cost),
        ]
        for one in found[:limit]
    ]
    first = found[0]
    paid = f"sent {first.times:,} times, {units.tokens(first.tokens_paid)} paid"
    head = f"{cut_short(first.source)}: {units.tokens(first.tokens)} tokens, {paid}."
    return "\n\n".join([head, table(("what", "tokens", "times", "paid", "cost"), rows, right=(1, 2, 3, 4))])


WIDTH = 64
HEIGHT = 8
_MISSES = 5
"""Most requests whose cache misses are explained."""
MARKS = {"truncate": "T", "prune": "P", "compact": "C", "clear": "X", "drop": "D"}
_STEPS = " ▁▂▃▄▅▆▇█"


def marks_of(iteration: Iteration, receipts: Mapping[str, Receipt]) -> str:
    letters: list[str] = []
    for cut in iteration.cuts:
        receipt = receipts.get(cut)
        letters.append(MARKS.get(receipt.kind if receipt else cut, ""))
        if receipt is not None and receipt.undone:
            letters.append("U")
    return "".join(dict.fromkeys(letters)) + ("!" if iteration.error else "")


def chart(iterations: Sequence[Iteration], receipts: Mapping[str, Receipt], trigger: int = 0) -> str:
    """Draw tokens as bars; older requests share a column when there are more than fit."""
    if not iterations:
        return ""
    each = -(-len(iterations) // WIDTH)
    groups = [iterations[at : at + each] for at in range(0, len(iterations), each)]
    heights = [max(one.tokens for one in group) for group in groups]
    letters = ["".join(dict.fromkeys("".join(marks_of(one, receipts) for one in group))) for group in groups]
    top = max(1, trigger, *heights)
    line = round(trigger / top * HEIGHT) if trigger else 0
    rows: list[str] = []
    for row in range(HEIGHT, 0, -1):
        cells = "".join(_cell(height / top * HEIGHT, row) for height in heights)
        label = f"{top * row // HEIGHT:>9,}" if row in (HEIGHT, HEIGHT // 2) else " " * 9
        if row == line:
            label = f"{trigger:>9,}"
            cells = "".join("─" if cell == " " else cell for cell in cells.ljust(len(groups)))
        rows.append(f"{label} ┤{cells}")
    said = "".join(letter[-1] if letter else "·" for letter in letters)
    rows.append(f"{'':9} └{'─' * len(groups)}")
    rows.append(f"{'':11}{said}")
    return "\n".join(row.rstrip() for row in rows)


def _cell(height: float, row: int) -> str:
    return _STEPS[max(0, min(8, round((height - row + 1) * 8)))]


def timeline(
    agent: str,
    iterations: Sequence[Iteration],
    receipts: Sequence[Receipt],
    forecast: Forecast,
    limit: int,
    *,
    aloud: bool = False,
) -> str:
    """The chart (not to be read aloud), the newest iterations, and when the next compaction is due."""
    if not iterations:
        return f"{agent} has sent nothing yet."
    known = {receipt.id: receipt for receipt in receipts}
    trigger = forecast.trigger or iterations[-1].trigger
    spent = [one.cost for one in iterations if one.usage is not None]
    cost = None if None in spent else sum(one or 0.0 for one in spent)
    cuts = sum(1 for receipt in receipts if not receipt.undone)
    head = f"{agent}: {counted(len(iterations), 'request')}, {counted(cuts, 'cut')}, {money(cost)}."
    entries = ledger(iterations)
    rows = [
        [
            str(place),
            ago(one.at),
            units.tokens(one.tokens),
            marks_of(one, known),
            one.model if aloud else cut_short(one.model, 12),
            money(one.cost) if one.usage is not None else "",
            cached(entry),
            one.error if aloud else cut_short(one.error, 12),
        ]
        for place, (one, entry) in list(enumerate(zip(iterations, entries, strict=True), 1))[-limit:]
    ]
    parts = [head] if aloud else [head, fenced(chart(iterations, known, trigger))]
    if trigger:
        parts.append(f"{due(forecast, trigger)}.")
    parts.append(table(("#", "ago", "tokens", "cuts", "model", "cost", "cache", "error"), rows, right=(0, 2, 5)))
    missed = [f"- #{n}: {entry.why}" for n, entry in enumerate(entries, 1) if entry.why][-min(limit, _MISSES) :]
    if missed:
        parts.append("\n".join(["What was not in the provider's cache:", *missed]))
    if receipts:
        parts += ["Cuts (`timeline cut=ID` shows one):", cuts_table(receipts[-limit:])]
    return "\n\n".join(parts)


def cached(entry: CacheEntry) -> str:
    """How much of a request came from the provider's cache; empty if unknown."""
    return units.percent(entry.share, 1) if entry.verdict in ("hit", "part") else entry.verdict


def cuts_table(receipts: Sequence[Receipt]) -> str:
    rows = [
        [
            one.id,
            one.kind,
            ago(one.at),
            f"{units.tokens(one.tokens_before)} → {units.tokens(one.tokens_after)}",
            one.by,
            "undone" if one.undone else "",
        ]
        for one in receipts
    ]
    return table(("id", "kind", "ago", "tokens", "by", ""), rows)


def receipt(of: Receipt, limit: int = 40) -> str:
    """A cut's effect or, without an id, its preview: item by item."""
    what = f"{of.kind} {of.id}" if of.id else f"{of.kind} (preview: nothing changed)"
    when = f", {ago(of.at)} ago" if of.at and of.id else ""
    by = f" by {of.by}" if of.by else ""
    lines = [
        f"{what} of {of.agent}{by}{when}" + (" — undone" + (f" by {of.undone_by}" if of.undone_by else "")) * of.undone
    ]
    if of.why:
        lines.append(visible(of.why))
    saved = of.tokens_before - of.tokens_after
    size = f"{units.tokens(of.tokens_before)} → {units.tokens(of.tokens_after)} tokens ({units.change(-saved)})"
    if of.messages_before:
        size += f", {of.messages_before:,} → {counted(of.messages_after, 'message')}"
    lines.append(size + ".")
    if of.request_before is not None and of.request_after is not None:
        lines.append(f"A request then costs {money(of.request_after)} instead of {money(of.request_before)}.")
    if of.id and (of.cost or of.seconds):
        lines.append(f"It took {of.seconds:.1f} s and cost {money(of.cost)}.")
    lines += [f"- {visible(said)}" for said in (*of.steps, *of.notes)]
    if of.items:
        counts = {
            fate: sum(1 for item in of.items if item.fate == fate) for fate in dict.fromkeys(i.fate for i in of.items)
        }
        lines.append(", ".join(f"{count} {fate}" for fate, count in counts.items()) + ":")
        telling = sorted(of.items, key=lambda item: item.fate == "kept")[:limit]
        rows = [
            [
                item.fate,
                cut_short(item.source),
                units.tokens(item.before),
                units.tokens(item.after),
                one_line(item.why),
            ]
            for item in telling
        ]
        lines.append(table(("", "source", "before", "after", "why"), rows, right=(2, 3)))
        if len(of.items) > limit:
            lines.append(f"… and {len(of.items) - limit} more (`--json` lists all).")
    if of.summary:
        lines += ["The summary:", fenced(of.summary)]
    return "\n\n".join(lines)

"""The timeline and receipts in words: a chart of requests in plain characters, the newest ones, and what a cut did.

Pure. The marks are T (truncate), P (prune), C (compact), X (clear), D (drop), U (undone) and ! (an error). Called by
the context commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gshtui.bus.context import Iteration, Receipt
from gshtui.context.cache import Entry, ledger
from gshtui.context.commands.wording import ago, counted, cut_short, due, fenced, money, table
from gshtui.context.views import Forecast
from gshtui.guard.sanitise import one_line, visible

WIDTH = 64
HEIGHT = 8
_MISSES = 5
"""Requests at most of which it is said why they were no hits."""
MARKS = {"truncate": "T", "prune": "P", "compact": "C", "clear": "X", "drop": "D"}
_STEPS = " ▁▂▃▄▅▆▇█"


def marks_of(iteration: Iteration, receipts: Mapping[str, Receipt]) -> str:
    """The letters of an iteration."""
    letters: list[str] = []
    for cut in iteration.cuts:
        receipt = receipts.get(cut)
        letters.append(MARKS.get(receipt.kind if receipt else cut, ""))
        if receipt is not None and receipt.undone:
            letters.append("U")
    return "".join(dict.fromkeys(letters)) + ("!" if iteration.error else "")


def chart(iterations: Sequence[Iteration], receipts: Mapping[str, Receipt], trigger: int = 0) -> str:
    """Heights are tokens; older requests are taken together where there are more than columns."""
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
    first: int = 1,
) -> str:
    """The chart, the newest iterations, and when the next compaction comes. `first`: number of the first iteration."""
    if not iterations:
        return f"{agent} has sent nothing yet."
    known = {receipt.id: receipt for receipt in receipts}
    trigger = forecast.trigger or iterations[-1].trigger
    spent = [one.cost for one in iterations if one.usage is not None]
    cost = None if None in spent else sum(one or 0.0 for one in spent)
    cuts = sum(1 for receipt in receipts if not receipt.undone)
    head = f"**{agent}**: {counted(len(iterations), 'request')}, {counted(cuts, 'cut')}, {money(cost)}."
    entries = ledger(iterations)
    rows = [
        [
            str(first + place),
            ago(one.at),
            f"{one.tokens:,}",
            marks_of(one, known),
            cut_short(one.model, 12),
            money(one.cost) if one.usage is not None else "",
            cached(entry),
            cut_short(one.error, 12),
        ]
        for place, (one, entry) in list(enumerate(zip(iterations, entries, strict=True)))[-limit:]
    ]
    parts = [head, fenced(chart(iterations, known, trigger))]
    if trigger:
        parts.append(f"{due(forecast, trigger)}.")
    parts.append(table(("#", "ago", "tokens", "cuts", "model", "cost", "cache", "error"), rows, right=(0, 2, 5)))
    missed = [f"- #{n}: {entry.why}" for n, entry in enumerate(entries, first) if entry.why][-min(limit, _MISSES) :]
    if missed:
        parts.append("\n".join(["What the provider's cache did not have:", *missed]))
    if receipts:
        parts += ["Cuts (`timeline cut=ID` shows one):", cuts_table(receipts[-limit:])]
    return "\n\n".join(parts)


def cached(entry: Entry) -> str:
    """How much of a request came from the provider's cache; empty where that is not known."""
    return f"{entry.share:.0%}" if entry.verdict in ("hit", "part") else entry.verdict


def cuts_table(receipts: Sequence[Receipt]) -> str:
    """Receipts, a line each."""
    rows = [
        [
            one.id,
            one.kind,
            ago(one.at),
            f"{one.tokens_before:,} → {one.tokens_after:,}",
            one.by,
            "undone" if one.undone else "",
        ]
        for one in receipts
    ]
    return table(("id", "kind", "ago", "tokens", "by", ""), rows)


def receipt(of: Receipt, limit: int = 40) -> str:
    """What a cut did or, without an id, would do: item by item."""
    what = f"**{of.kind}** {of.id}" if of.id else f"**{of.kind}** (preview: nothing is changed)"
    when = f", {ago(of.at)} ago" if of.at and of.id else ""
    by = f" by {of.by}" if of.by else ""
    lines = [
        f"{what} of {of.agent}{by}{when}" + (" — undone" + (f" by {of.undone_by}" if of.undone_by else "")) * of.undone
    ]
    if of.why:
        lines.append(visible(of.why))
    saved = of.tokens_before - of.tokens_after
    size = f"{of.tokens_before:,} → {of.tokens_after:,} tokens ({-saved:+,})"
    if of.messages_before:
        size += f", {of.messages_before:,} → {of.messages_after:,} messages"
    lines.append(size + ".")
    if of.request_before is not None and of.request_after is not None:
        lines.append(f"A request costs {money(of.request_after)} then, and {money(of.request_before)} before.")
    if of.id and (of.cost or of.seconds):
        lines.append(f"Making it took {of.seconds:.1f} s and cost {money(of.cost)}.")
    lines += [f"- {visible(said)}" for said in (*of.steps, *of.notes)]
    if of.items:
        counts = {
            fate: sum(1 for item in of.items if item.fate == fate) for fate in dict.fromkeys(i.fate for i in of.items)
        }
        lines.append(", ".join(f"{count} {fate}" for fate, count in counts.items()) + ":")
        telling = sorted(of.items, key=lambda item: item.fate == "kept")[:limit]
        rows = [
            [item.fate, cut_short(item.source), f"{item.before:,}", f"{item.after:,}", one_line(item.why)]
            for item in telling
        ]
        lines.append(table(("", "source", "before", "after", "why"), rows, right=(2, 3)))
        if len(of.items) > limit:
            lines.append(f"… and {len(of.items) - limit} more (`--json` has all).")
    if of.summary:
        lines += ["The summary:", fenced(of.summary)]
    return "\n\n".join(lines)

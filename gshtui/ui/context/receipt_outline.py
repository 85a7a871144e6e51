"""A receipt as lines: what a cut did (or would do), what it cost, and each item's lot with the text that it had.

Pure; refuses to draw widgets. Called by the receipt's screen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from textwrap import wrap
from typing import cast

import msgspec

from gshtui.bus.context import Fate, Item, Receipt
from gshtui.guard.sanitise import one_line
from gshtui.ui.context.entries import Entry, Part, Words
from gshtui.ui.context.text_rows import displayed
from gshtui.ui.kit import figures

KINDS = {
    "truncate": "Truncation",
    "prune": "Pruning",
    "compact": "Compaction",
    "clear": "New beginning",
    "drop": "Drop",
}
ORDER: tuple[Fate, ...] = ("summarised", "dropped", "shortened", "carried", "kept")
FATES: dict[Fate, tuple[str, str, str]] = {
    "kept": ("=", "ok", "kept as it is"),
    "shortened": ("~", "warning", "shortened"),
    "dropped": ("-", "error", "no longer sent"),
    "summarised": ("C", "accent", "in the summary instead"),
    "carried": ("→", "ok", "carried word for word"),
}


WRAPPED = 66
"""Cells of a line of prose: what fits the smallest window."""


class Group(msgspec.Struct, frozen=True):
    """The items of one lot."""

    fate: Fate
    count: int
    before: int
    after: int


def outline(receipt: Receipt, opened: frozenset[str], texts: dict[str, str]) -> list[Entry]:
    """All lines."""
    return [*_head(receipt), *_summary(receipt, opened), *_items(receipt, opened, texts)]


def wanted(receipt: Receipt, opened: frozenset[str], texts: dict[str, str]) -> list[str]:
    """Hashes of the texts that what is open needs and that are not here."""
    hashes = [item.hash for number, item in enumerate(receipt.items) if f"i:{number}" in opened]
    return [hash for hash in dict.fromkeys(hashes) if hash and hash not in texts]


def title(receipt: Receipt) -> str:
    """What it is, in a line."""
    kind = KINDS[receipt.kind]
    if not receipt.id:
        return f"Preview: {kind.lower()}"
    when = f" at {time.strftime('%H:%M:%S', time.localtime(receipt.at))}" if receipt.at else ""
    by = {"person": "you", "threshold": "the threshold", "overflow": "the provider's limit"}.get(receipt.by, receipt.by)
    undone = f" · undone by {_who(receipt.undone_by)}" if receipt.undone else ""
    return f"{kind}{when}{f' · by {one_line(by, 40)}' if by else ''}{undone}"


def _who(by: str) -> str:
    return "you" if by in ("person", "") else one_line(by, 40)


def _head(receipt: Receipt) -> Iterator[Entry]:
    for number, line in enumerate(wrap(one_line(receipt.why, 1_000), WRAPPED)):
        yield Entry(f"why:{number}", "line", data=(("text", line),))
    saved = receipt.tokens_before - receipt.tokens_after
    sizes: list[Part] = [
        ("strong", f"{figures.tokens(receipt.tokens_before)} → {figures.tokens(receipt.tokens_after)} tokens"),
        ("ok" if saved > 0 else "warning", f"  {'−' if saved >= 0 else '+'}{figures.tokens(abs(saved))}"),
        ("muted", f" ({figures.percent(abs(saved), receipt.tokens_before)})" if receipt.tokens_before else ""),
    ]
    if receipt.messages_before:
        sizes.append(("muted", f" · {receipt.messages_before} → {receipt.messages_after} messages"))
    yield Entry("sizes", "line", data=tuple(sizes))
    for number, cost in enumerate(_costs(receipt)):
        yield Entry(f"cost:{number}", "note", data=cost)
    for number, note in enumerate(receipt.notes):
        for part, line in enumerate(wrap(one_line(note, 1_000), WRAPPED)):
            yield Entry(f"n:{number}:{part}", "note", data=line)
    for number, step in enumerate(receipt.steps, 1):
        for part, line in enumerate(wrap(one_line(step, 1_000), WRAPPED)):
            lead = f"{number}. " if part == 0 else "   "
            yield Entry(f"p:{number}:{part}", "line", data=(("faint", lead), ("muted", line)))


def _costs(receipt: Receipt) -> list[str]:
    costs: list[str] = []
    before, after = receipt.request_before, receipt.request_after
    if before is not None and after is not None:
        costs.append(f"sending it once: {figures.dollars(before)} → {figures.dollars(after)}")
    if receipt.cost:
        costs.append(f"the cut itself cost {figures.dollars(receipt.cost)}")
    effort = [
        f"the summary took {figures.tokens(receipt.usage.output)} tokens" if receipt.usage.output else "",
        f"{receipt.seconds:.1f} s" if receipt.id and receipt.seconds else "",
    ]
    return [*costs, *filter(None, [" and ".join(filter(None, effort))])]


def _summary(receipt: Receipt, opened: frozenset[str]) -> Iterator[Entry]:
    if receipt.summary and receipt.id:  # a preview has none yet
        yield Entry("summary", "summary", data=receipt, opened="summary" in opened)
        if "summary" in opened:
            yield Entry("summary:text", "text", 1, text=displayed(receipt.summary))


def _items(receipt: Receipt, opened: frozenset[str], texts: dict[str, str]) -> Iterator[Entry]:
    for fate in ORDER:
        inside = [(number, item) for number, item in enumerate(receipt.items) if item.fate == fate]
        if not inside:
            continue
        before, after = sum(item.before for _, item in inside), sum(item.after for _, item in inside)
        id = f"g:{fate}"
        yield Entry(id, "group", data=Group(fate, len(inside), before, after), opened=id in opened)
        if id in opened:
            for number, item in inside:
                yield from _item(number, item, opened, texts)


def _item(number: int, item: Item, opened: frozenset[str], texts: dict[str, str]) -> Iterator[Entry]:
    id = f"i:{number}"
    yield Entry(id, "item", 1, item, id in opened if item.hash else None)
    if id in opened and item.hash:
        text = texts.get(item.hash)
        if text is None:
            yield Entry(f"w:{number}", "note", 2, "Reading …")
        else:
            yield Entry(f"t:{number}", "text", 2, item, text=displayed(text))


def words(entry: Entry, width: int) -> Words:
    """An entry's line."""
    match entry.kind:
        case "line":
            return Words(cast("tuple[Part, ...]", entry.data))
        case "summary":
            receipt = cast("Receipt", entry.data)
            lines = receipt.summary.count("\n") + 1
            return Words((("strong", "the summary"), ("muted", f" {lines} lines" if lines > 1 else "")))
        case "group":
            group = cast("Group", entry.data)
            sign, style, said = FATES[group.fate]
            count = "1 block" if group.count == 1 else f"{group.count} blocks"
            return Words(
                ((style, f"{sign} "), ("strong", group.fate), ("muted", f" {count}, {said}")),
                (("text", _change(group.before, group.after)),),
            )
        case "item":
            item = cast("Item", entry.data)
            why = f"  {one_line(item.why, 60)}" if item.why else ""
            fold = () if item.hash else (("text", "  "),)
            return Words(
                (*fold, ("strong", one_line(item.source, 80)), ("muted", why)),
                (("text", _change(item.before, item.after)),),
            )
        case _:
            return Words((("muted", one_line(str(entry.data), 400)),))


def _change(before: int, after: int) -> str:
    shown = figures.tokens(after) if before == after else f"{figures.tokens(before)} → {figures.tokens(after)}"
    return f" {shown}".rjust(17)

"""How the lines of an inspector look: signs first, colours second, figures at the right that keep their place.

Pure: an entry in, words out. Called by the inspector's tab for the lines that are on the screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from gshtui.bus.context import Block, Change, Difference
from gshtui.context.views import Carry
from gshtui.guard.sanitise import one_line
from gshtui.ui.context.entries import Entry, Part, Words
from gshtui.ui.context.inspector_outline import Changed, Section, paid
from gshtui.ui.kit import figures

CACHE = {"read": ("●", "ok"), "written": ("◐", "accent"), "fresh": ("○", "muted"), "": (" ", "faint")}
"""Signs and colours: by the provider's count read from its cache, written into it, or neither."""
CHANGES = {
    "truncated": ("T", "warning"), "pruned": ("P", "warning"), "summarised": ("C", "accent"),
    "carried": ("→", "ok"), "restored": ("↺", "ok"), "shortened": ("S", "warning"),
}  # fmt: skip
DIFFERENCES = {"added": ("+", "ok"), "removed": ("-", "error"), "rewritten": ("~", "warning"), "moved": ("↕", "accent")}
KINDS = {"thinking": "thought", "tool_call": "call", "tool_result": "result", "image": "image", "document": "document"}
WIDE = 110

Peek = Callable[[Block], str]
"""The beginning of a block's text, empty while it is not here."""


def words(entry: Entry, width: int, now: float, peek: Peek) -> Words:
    """An entry's line at a width in cells."""
    match entry.kind:
        case "section":
            return _section(cast("Section", entry.data), width)
        case "block":
            return _block(cast("Block", entry.data), width, now, peek)
        case "facts":
            return _facts(*cast("tuple[Block, Carry | None]", entry.data), width, now)
        case "change":
            return _change(cast("Changed", entry.data).change)
        case "difference":
            return _difference(cast("Difference", entry.data))
        case _:
            return Words((("muted", one_line(str(entry.data), 400)),))


def _section(section: Section, width: int) -> Words:
    count = "1 block" if section.blocks == 1 else f"{section.blocks} blocks"
    name = ("strong" if section.blocks else "faint", section.name.ljust(9))
    fold = () if section.blocks else (("faint", "  "),)
    cache = [
        (CACHE[state][1], f" {CACHE[state][0]} {figures.tokens(tokens)}{f' {word}' if width >= WIDE else ''}")
        for state, tokens, word in (
            ("read", section.read, "cached"),
            ("written", section.written, "stored"),
            ("fresh", section.fresh, "new"),
        )
        if tokens
    ]
    share = figures.percent(section.tokens, section.whole)
    bar_room = max(6, min(40, (width - 60) // 2))
    bar = figures.bar(section.tokens, section.whole, bar_room).ljust(bar_room) if width >= 60 else ""
    right: list[Part] = [
        ("strong" if section.tokens else "faint", figures.tokens(section.tokens).rjust(7)),
        ("muted", share.rjust(7)),
        ("marker", f"  {bar}" if bar else ""),
    ]
    told: tuple[Part, ...] = (("muted", f" {count}" if section.blocks else " nothing"),)
    return Words((*fold, name, *told, *cache), tuple(right))


def _block(block: Block, width: int, now: float, peek: Peek) -> Words:
    left: list[Part] = [("warning", "⚑ ") if block.pinned else ("text", "")]
    left.append(("strong", one_line(block.source, 60)))
    if (kind := KINDS.get(block.kind)) and kind not in block.source:
        left.append(("faint", f" {kind}"))
    for change in block.changes:
        sign, style = CHANGES[change.kind]
        left.append((style, f" {sign} {change.kind}" if width >= WIDE else f" {sign}"))
    if begins := peek(block):
        left.append(("muted", f"  {begins}"))
    sign, style = CACHE[block.cache]
    age = figures.age(now - block.at) if block.at else ""
    return Words(
        (*left,),
        ((style, f" {sign}"), ("text", figures.tokens(block.tokens).rjust(7)), ("faint", age.rjust(8))),
    )


def _facts(block: Block, carry: Carry | None, width: int, now: float) -> Words:
    cache = {"read": "read from the cache", "written": "written into the cache", "fresh": "not cached"}.get(block.cache)
    told = [
        f"{block.tokens:,} tokens",
        f"{figures.age(now - block.at)} ago" if block.at and now - block.at >= 2 else "",
        paid(carry),
        cache or "",
        "pinned: never cut" if block.pinned else "",
        block.path if block.path not in block.source else "",
    ]
    if width >= WIDE:
        told += [block.kind.replace("_", " "), block.id]
    return Words((("muted", one_line(" · ".join(filter(None, told)), 300)),))


def _change(change: Change) -> Words:
    sign, style = CHANGES[change.kind]
    sizes = f" {figures.tokens(change.before)} → {figures.tokens(change.after)} tokens" if change.before else ""
    way = "u brings it back" if change.kind in ("truncated", "pruned", "shortened") else ""
    leads = "enter opens its receipt" if change.cut else ""
    return Words(((style, f"{sign} {change.kind}"), ("muted", sizes), ("faint", _joined(way, leads))))


def _joined(*words: str) -> str:
    return "".join(f" · {word}" for word in words if word)


def _difference(one: Difference) -> Words:
    sign, style = DIFFERENCES[one.kind]
    sizes = {
        "added": f"+{figures.tokens(one.after)}",
        "removed": f"-{figures.tokens(one.before)}",
        "rewritten": f"{figures.tokens(one.before)} → {figures.tokens(one.after)}",
        "moved": figures.tokens(one.after),
    }[one.kind]
    return Words(
        (
            (style, f"{sign} {one.kind.ljust(9)} "),
            ("muted", one.section.ljust(8)),
            ("strong", one_line(one.source, 80)),
        ),
        (("text", f" {sizes}".rjust(16)),),
    )

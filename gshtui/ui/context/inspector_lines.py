"""An inspector's lines: sections, blocks, facts and exact texts, or a comparison; and its title.

Pure: state in, entries and words out. Signs carry the meaning, colours support it, and figures are right-aligned.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterator

import msgspec
from rich.cells import cell_len
from textual.content import Content

from gshtui.bus.context_data import SECTIONS, Block, Change, Difference, Iteration, SectionName
from gshtui.bus.messages import Image
from gshtui.context.views import Carry, ContextView
from gshtui.text import units
from gshtui.text.sanitise import one_line
from gshtui.ui.context.inspector_state import InspectorState
from gshtui.ui.context.outline import EntryWords, OutlineEntry, StyledPart, displayed
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.drawing.figures import context_meter, meter_sign
from gshtui.ui.kit.drawing.picture_rows import thumbnail_size

MOST_COMPARED = 4_000
"""Up to this many lines, a block's change is shown line by line."""


class SectionLine(msgspec.Struct, frozen=True):
    """One of the six sections, summed up."""

    name: SectionName
    blocks: int = 0
    tokens: int = 0
    whole: int = 0
    """Tokens of the whole request."""
    read: int = 0
    written: int = 0
    fresh: int = 0


class ChangeLine(msgspec.Struct, frozen=True):
    """A change of a block, as a line that links to its receipt."""

    change: Change


class BlockFacts(msgspec.Struct, frozen=True):
    """A block's own line of facts."""

    block: Block
    carry: Carry | None
    """The cost of its source so far, once known."""


class PictureLine(msgspec.Struct, frozen=True):
    """A picture, as a few rows."""

    image: Image
    rows: int


InspectorLine = SectionLine | Block | BlockFacts | ChangeLine | PictureLine | Difference | str
"""What an entry is about; a `str` is a note."""


def sections(blocks: tuple[Block, ...]) -> list[SectionLine]:
    """The six sections in the order sent, including empty ones."""
    whole = sum(block.tokens for block in blocks)
    found: list[SectionLine] = []
    for name in SECTIONS:
        inside = [block for block in blocks if block.section == name]
        cached = {state: sum(block.tokens for block in inside if block.cache == state) for state in _CACHE}
        tokens = sum(block.tokens for block in inside)
        found.append(SectionLine(name, len(inside), tokens, whole, cached["read"], cached["written"], cached["fresh"]))
    return found


_CACHE = ("read", "written", "fresh")


def inspector_entries(state: InspectorState, *, pictures: bool = False) -> list[OutlineEntry[InspectorLine]]:
    """All lines. `pictures`: whether the terminal can show any."""
    if state.mode == "request":
        said = state.request
        if said is None:
            return [OutlineEntry("note", data="Loading …")]
        notes = [said.note] if said.note else []
        if not said.exact:
            notes.insert(0, "This is not an exact copy of what was sent.")
        return [
            *(OutlineEntry(f"note:{at}", data=note) for at, note in enumerate(notes)),
            OutlineEntry("request", text=displayed(said.text)),
        ]
    if state.mode == "difference":
        return list(_differences(state))
    return list(_blocks(state, pictures))


def _blocks(state: InspectorState, pictures: bool) -> Iterator[OutlineEntry[InspectorLine]]:
    if state.view is None:
        return
    if state.view.note:
        yield OutlineEntry("note", data=state.view.note)
    for section in sections(state.blocks):
        id = f"s:{section.name}"
        opened = id in state.opened and section.blocks > 0
        yield OutlineEntry(id, data=section, opened=opened if section.blocks else None)
        if opened:
            for block in state.blocks:
                if block.section == section.name:
                    yield from _block(state, block, pictures)


def _block(state: InspectorState, block: Block, pictures: bool) -> Iterator[OutlineEntry[InspectorLine]]:
    id = f"b:{block.id}"
    opened = id in state.opened
    yield OutlineEntry(id, 1, block, opened)
    if not opened:
        return
    yield OutlineEntry(f"f:{block.id}", 2, BlockFacts(block, state.carry.get(block.source)))
    for number, change in enumerate(block.changes):
        yield OutlineEntry(f"c:{block.id}:{number}", 2, ChangeLine(change))
    if pictures and block.picture is not None and (rows := thumbnail_size(block.picture)[1]):
        yield OutlineEntry(f"p:{block.id}", 2, PictureLine(block.picture, rows), text="\n" * (rows - 1), look="picture")
    text = state.texts.get(block.hash)
    if text is None:
        yield OutlineEntry(f"w:{block.id}", 2, "Loading …")
    else:
        yield OutlineEntry(f"t:{block.id}", 2, block, text=displayed(text))


def _differences(state: InspectorState) -> Iterator[OutlineEntry[InspectorLine]]:
    if not state.differences:
        yield OutlineEntry("note", data="Both requests are identical.")
    for number, one in enumerate(state.differences):
        id = f"d:{number}"
        opened = id in state.opened
        yield OutlineEntry(id, 0, one, opened)
        if opened:
            text = compared_text(one, state.texts)
            if text is None:
                yield OutlineEntry(f"dw:{number}", 1, "Loading …")
            else:
                yield OutlineEntry(f"dt:{number}", 1, one, text=text, look="diff")


def compared_text(one: Difference, texts: dict[str, str]) -> str | None:
    """A block's change with a sign before each line; `None`: a text is not loaded yet."""
    if any(hash and hash not in texts for hash in (one.hash_before, one.hash_after)):
        return None
    before = displayed(texts[one.hash_before]).split("\n") if one.hash_before else []
    after = displayed(texts[one.hash_after]).split("\n") if one.hash_after else []
    if one.kind == "moved" or before == after:
        return "\n".join(f"  {line}" for line in after or before)
    if not before or not after or len(before) + len(after) > MOST_COMPARED:
        return "\n".join([*(f"- {line}" for line in before), *(f"+ {line}" for line in after)])
    lines = difflib.unified_diff(before, after, lineterm="", n=3)
    shown = [line for line in lines if not line.startswith(("--- ", "+++ "))]
    return "\n".join(line if line.startswith("@@") else f"{line[:1]} {line[1:]}" for line in shown)


def cost_text(carry: Carry | None) -> str:
    """The cost of a source so far, in words."""
    from gshtui.ui.kit.drawing import figures

    if carry is None or not carry.times:
        return ""
    cost = f", {figures.money(carry.cost)}" if carry.cost is not None else ""
    times = "once" if carry.times == 1 else f"{carry.times} times"
    return f"sent {times}, {figures.tokens(carry.tokens_paid)} tokens{cost}"


CACHE = {"read": ("●", "ok"), "written": ("◐", "marker"), "fresh": ("○", "muted"), "": (" ", "faint")}
"""Signs and colours for what the provider counted as read from its cache, written to it, or neither."""
CHANGES = {
    "truncated": ("T", "warning"),
    "pruned": ("P", "warning"),
    "summarised": ("C", "accent"),
    "carried": ("→", "ok"),
    "restored": ("↺", "ok"),
    "shortened": ("S", "warning"),
}
DIFFERENCES = {"added": ("+", "ok"), "removed": ("-", "error"), "rewritten": ("~", "warning"), "moved": ("↕", "accent")}
KINDS = {
    "thinking": "thought",
    "tool_call": "call",
    "tool_result": "result",
    "image": "image",
    "document": "document",
    "audio": "sound",
}
WIDE = 110

Peek = Callable[[Block], str]
"""The beginning of a block's text; empty until it is loaded."""


def inspector_words(entry: OutlineEntry[InspectorLine], width: int, now: float, peek: Peek) -> EntryWords:
    """An entry's line at a width in cells."""
    match entry.data:
        case SectionLine() as section:
            return _section(section, width)
        case Block() as block:
            return _block_words(block, width, now, peek)
        case BlockFacts(block=block, carry=carry):
            return _facts(block, carry, width, now)
        case ChangeLine(change=change):
            return _change(change)
        case PictureLine():
            return EntryWords(())
        case Difference() as difference:
            return _difference(difference)
        case note:
            return EntryWords((("muted", one_line(note or "", 400)),))


def _section(section: SectionLine, width: int) -> EntryWords:
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
    share = units.percent(section.tokens, section.whole)
    bar_room = max(6, min(40, (width - 60) // 2))
    bar = figures.bar(section.tokens, section.whole, bar_room).ljust(bar_room) if width >= 60 else ""
    right: list[StyledPart] = [
        ("strong" if section.tokens else "faint", figures.tokens(section.tokens).rjust(7)),
        ("muted", share.rjust(7)),
        ("marker", f"  {bar}" if bar else ""),
    ]
    told: tuple[StyledPart, ...] = (("muted", f" {count}" if section.blocks else " nothing"),)
    return EntryWords((*fold, name, *told, *cache), tuple(right))


def _block_words(block: Block, width: int, now: float, peek: Peek) -> EntryWords:
    left: list[StyledPart] = [("warning", "⚑ ") if block.pinned else ("text", "")]
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
    return EntryWords(
        (*left,),
        ((style, f" {sign}"), ("text", figures.tokens(block.tokens).rjust(7)), ("faint", age.rjust(8))),
    )


def _facts(block: Block, carry: Carry | None, width: int, now: float) -> EntryWords:
    cache = {"read": "read from the cache", "written": "written to the cache", "fresh": "not cached"}.get(block.cache)
    told = [
        f"{block.tokens:,} tokens",
        f"{figures.age(now - block.at)} ago" if block.at and now - block.at >= 2 else "",
        cost_text(carry),
        cache or "",
        "pinned: never cut" if block.pinned else "",
        block.path if block.path not in block.source else "",
    ]
    if width >= WIDE:
        told += [block.kind.replace("_", " "), block.id]
    return EntryWords((("muted", one_line(" · ".join(filter(None, told)), 300)),))


def _change(change: Change) -> EntryWords:
    sign, style = CHANGES[change.kind]
    sizes = f" {figures.tokens(change.before)} → {figures.tokens(change.after)} tokens" if change.before else ""
    way = "u to restore it" if change.kind in ("truncated", "pruned", "shortened") else ""
    leads = "enter to open its receipt" if change.cut else ""
    return EntryWords(((style, f"{sign} {change.kind}"), ("muted", sizes), ("faint", _joined(way, leads))))


def _joined(*words: str) -> str:
    return "".join(f" · {word}" for word in words if word)


def _difference(one: Difference) -> EntryWords:
    sign, style = DIFFERENCES[one.kind]
    sizes = {
        "added": f"+{figures.tokens(one.after)}",
        "removed": f"-{figures.tokens(one.before)}",
        "rewritten": f"{figures.tokens(one.before)} → {figures.tokens(one.after)}",
        "moved": figures.tokens(one.after),
    }[one.kind]
    return EntryWords(
        (
            (style, f"{sign} {one.kind.ljust(9)} "),
            ("muted", one.section.ljust(8)),
            ("strong", one_line(one.source, 80)),
        ),
        (("text", f" {sizes}".rjust(16)),),
    )


METER = 24


def inspector_title(state: InspectorState, name: str, width: int) -> Content:
    """Two lines."""
    from gshtui.providers.catalog import label_of  # not before the first frame

    view = state.view
    who = Content.styled(one_line(name, 40), "bold $primary")
    if view is None:
        return Content.assemble(
            who, (f"  {state.problem or 'Loading …'}", "$warning" if state.problem else "$foreground-muted")
        )
    first = Content.assemble(
        who,
        f" · {request_name(state)}",
        (_comparison(state), "$warning"),
        (f" · {label_of(view.model)}", "$foreground-muted"),
    )
    if state.problem:
        return Content("\n").join([first, Content.styled(state.problem, "$warning")])
    return Content("\n").join([first.truncate(max(8, width), ellipsis=True), size_line(view, width)])


def request_name(state: InspectorState) -> str:
    """Which request this is, in words."""
    count = len(state.iterations)
    one = state.view.iteration if state.view is not None else None
    if one is None:
        coming = f" · answer so far ~{figures.tokens(state.streamed // 4)}" if state.streamed else ""
        return f"the next request, {count} sent{coming}"
    at = time.strftime("%H:%M:%S", time.localtime(one.at)) if one.at else ""
    return f"request {state.place + 1} of {count}{f' at {at}' if at else ''}"


def _comparison(state: InspectorState) -> str:
    if state.mode == "request":
        return " · as sent" if state.request is None or state.request.exact else " · roughly as sent"
    if state.other is None:
        return ""
    one = state.other.iteration
    numbers = [iteration.id for iteration in state.iterations]
    if state.other.agent != state.agent:
        return f" · against {one_line(state.other.agent, 24)}"
    if one is None:
        return " · against the next request"
    return f" · against request {numbers.index(one.id) + 1}" if one.id in numbers else " · against an older request"


def size_line(view: ContextView, width: int) -> Content:
    """The meter, the estimate and the provider's count, as far as there is room; without a model, its size alone."""
    if view.provider == "offline":
        view = msgspec.structs.replace(view, window=0, trigger=0, iteration=None)
    used = input_tokens(view.iteration) or view.expected or view.tokens
    parts = (
        [Content.assemble(context_meter(used, view.window, view.trigger, METER), " ")]
        if view.window and width > 60
        else []
    )
    window = f" of {figures.tokens(view.window)} ({units.percent(used, view.window)})" if view.window else ""
    parts.append(Content(f"{figures.tokens(used)}{window}{meter_sign(used, view.window, view.trigger)}"))
    facts, one = [estimate(view)], view.iteration
    if one is not None:
        facts += [figures.money(one.cost) if one.cost is not None else "", one_line(one.error, 60)]
        facts.append("the cached prefix changed" if one.broken_by else "")
    trigger = [f"compacts at {figures.tokens(view.trigger)}"] if view.trigger else []
    told, short = ("".join(f" · {fact}" for fact in (*facts, *more) if fact) for more in (trigger, ()))
    used = Content("").join(parts)
    told = told if used.cell_length + cell_len(told) <= width else short
    return Content.assemble(used, (told, "$foreground-muted")).truncate(max(8, width), ellipsis=True)


def input_tokens(iteration: Iteration | None) -> int:
    """What the provider counted as input; 0: it has not."""
    usage = iteration.usage if iteration is not None else None
    return usage.input + usage.cache_read + usage.cache_write if usage is not None else 0


def estimate(view: ContextView) -> str:
    """The estimate compared with the count, and its error."""
    exact = input_tokens(view.iteration)
    if exact:
        off = units.deviation((view.tokens - exact) / exact)
        return f"counted by the provider; the estimate was {figures.tokens(view.tokens)} ({off})"
    if view.error is not None:
        rows = figures.tokens(view.tokens)
        corrected = f" from the rows' {rows}" if view.expected and figures.tokens(view.expected) != rows else ""
        return f"estimated{corrected}; off by {units.percent(abs(view.error), 1)} so far"
    return "estimated"

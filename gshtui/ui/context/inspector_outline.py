"""An inspector's state as lines: sections, their blocks, what is known of each, and its exact text; or a comparison.

Pure; refuses to draw (`inspector_lines` says how a line looks). Called by the inspector's tab.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import msgspec

from gshtui.bus.context import SECTIONS, Block, Change, Difference, SectionName
from gshtui.context.views import Carry
from gshtui.ui.context.entries import Entry
from gshtui.ui.context.inspector_state import InspectorState
from gshtui.ui.context.text_rows import displayed

MOST_COMPARED = 4_000
"""Lines of a block up to which its change is shown line by line."""


class Section(msgspec.Struct, frozen=True):
    """One of the six, summed up."""

    name: SectionName
    blocks: int = 0
    tokens: int = 0
    whole: int = 0
    """Tokens of the request."""
    read: int = 0
    written: int = 0
    fresh: int = 0


class Changed(msgspec.Struct, frozen=True):
    """A transformation of a block, as a line that leads to its receipt."""

    change: Change


def sections(blocks: tuple[Block, ...]) -> list[Section]:
    """The six sections in the order in which they are sent, also the empty ones."""
    whole = sum(block.tokens for block in blocks)
    found: list[Section] = []
    for name in SECTIONS:
        inside = [block for block in blocks if block.section == name]
        cached = {state: sum(block.tokens for block in inside if block.cache == state) for state in _CACHE}
        tokens = sum(block.tokens for block in inside)
        found.append(Section(name, len(inside), tokens, whole, cached["read"], cached["written"], cached["fresh"]))
    return found


_CACHE = ("read", "written", "fresh")


def outline(state: InspectorState) -> list[Entry]:
    """All lines."""
    if state.mode == "request":
        said = state.request
        if said is None:
            return [Entry("note", "note", data="Reading …")]
        notes = [said.note] if said.note else []
        if not said.exact:
            notes.insert(0, "This is not byte for byte what was sent.")
        return [
            *(Entry(f"note:{at}", "note", data=note) for at, note in enumerate(notes)),
            Entry("request", "request", text=displayed(said.text)),
        ]
    if state.mode == "difference":
        return list(_differences(state))
    return list(_blocks(state))


def _blocks(state: InspectorState) -> Iterator[Entry]:
    if state.view is None:
        return
    if state.view.note:
        yield Entry("note", "note", data=state.view.note)
    for section in sections(state.blocks):
        id = f"s:{section.name}"
        opened = id in state.opened and section.blocks > 0
        yield Entry(id, "section", data=section, opened=opened if section.blocks else None)
        if opened:
            for block in state.blocks:
                if block.section == section.name:
                    yield from _block(state, block)


def _block(state: InspectorState, block: Block) -> Iterator[Entry]:
    id = f"b:{block.id}"
    opened = id in state.opened
    yield Entry(id, "block", 1, block, opened)
    if not opened:
        return
    yield Entry(f"f:{block.id}", "facts", 2, (block, state.carry.get(block.source)))
    for number, change in enumerate(block.changes):
        yield Entry(f"c:{block.id}:{number}", "change", 2, Changed(change))
    text = state.texts.get(block.hash)
    if text is None:
        yield Entry(f"w:{block.id}", "note", 2, "Reading …")
    else:
        yield Entry(f"t:{block.id}", "text", 2, block, text=displayed(text))


def _differences(state: InspectorState) -> Iterator[Entry]:
    if not state.differences:
        yield Entry("note", "note", data="Both are the same, block by block.")
    for number, one in enumerate(state.differences):
        id = f"d:{number}"
        opened = id in state.opened
        yield Entry(id, "difference", 0, one, opened)
        if opened:
            text = compared_text(one, state.texts)
            if text is None:
                yield Entry(f"dw:{number}", "note", 1, "Reading …")
            else:
                yield Entry(f"dt:{number}", "text", 1, one, text=text, look="diff")


def compared_text(one: Difference, texts: dict[str, str]) -> str | None:
    """A block's change with a sign before each line; `None`: a text of it is not here yet."""
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


def paid(carry: Carry | None) -> str:
    """What a source has cost so far, in words."""
    from gshtui.ui.kit import figures

    if carry is None or not carry.times:
        return ""
    cost = f", {figures.dollars(carry.cost)}" if carry.cost is not None else ""
    times = "once" if carry.times == 1 else f"{carry.times} times"
    return f"sent {times}, {figures.tokens(carry.tokens_paid)} tokens{cost}"

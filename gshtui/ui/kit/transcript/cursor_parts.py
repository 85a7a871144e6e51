"""What belongs together around the block cursor: the answer, the code block, the turn.

Reads the document and moves nothing. Called by the transcript's keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from gshtui.ui.kit.transcript.document import TranscriptDocument
from gshtui.ui.kit.transcript.entries import FOLDING, OF_MESSAGES, AnswerEntry, Entry, PromptEntry, ToolEntry
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.viewport import BlockCursor


def turn_of(document: TranscriptDocument, sheet: Sheet) -> tuple[int, int]:
    """The index of the turn's first entry, its prompt, and the one after its last."""
    sheets = document.sheets
    first = document.index(sheet)
    while first > 0 and not isinstance(sheets[first].entry, PromptEntry):
        first -= 1
    last = document.index(sheet) + 1
    while last < len(sheets) and not isinstance(sheets[last].entry, PromptEntry):
        last += 1
    return first, last


def prompt_of(document: TranscriptDocument, cursor: BlockCursor) -> PromptEntry | None:
    """The prompt of the turn under the cursor; `None`: there is none."""
    if cursor.sheet is None:
        return None
    entry = document.sheets[turn_of(document, cursor.sheet)[0]].entry
    return entry if isinstance(entry, PromptEntry) else None


def message_near(document: TranscriptDocument, cursor: BlockCursor) -> Entry | None:
    """What was said or called under the cursor, else the nearest above it; `None`: there is nothing."""
    if cursor.sheet is None:
        return None
    entries = (sheet.entry for sheet in reversed(document.sheets[: document.index(cursor.sheet) + 1]))
    return next((one for one in entries if isinstance(one, OF_MESSAGES) and not _by_person(one)), None)


def _by_person(entry: Entry) -> bool:
    return isinstance(entry, ToolEntry) and entry.by_person


def answer_near(document: TranscriptDocument, cursor: BlockCursor) -> Sheet | None:
    """The answer under the cursor, else the one above it in its turn, else the one below; `None`: there is none."""
    here = cursor.sheet
    if here is None:
        return None
    first, last = turn_of(document, here)
    at = document.index(here)
    order = (*range(at, first - 1, -1), *range(at + 1, last))
    return next((document.sheets[n] for n in order if isinstance(document.sheets[n].entry, AnswerEntry)), None)


def code_near(document: TranscriptDocument, cursor: BlockCursor) -> tuple[Sheet, int] | None:
    """The first block of the code under the cursor, else of the nearest above it, else below; `None`: none.

    What is in the cursor's turn comes first.
    """
    here = cursor.sheet
    if here is None:
        return None
    at = document.index(here)
    for first, last in (turn_of(document, here), (0, len(document.sheets))):
        for sheet, block in _blocks_from(document, at, cursor.block, first, last):
            chunk = sheet.blocks[block].chunk
            if chunk is not None and chunk.kind == "code" and not chunk.goes_on:
                return sheet, block
    return None


def _blocks_from(
    document: TranscriptDocument, at: int, block: int, first: int, last: int
) -> Iterator[tuple[Sheet, int]]:
    """The blocks from a place upwards to the first entry, then from that place downwards to the one before `last`."""
    sheets = document.sheets
    for number in range(at, first - 1, -1):
        sheet = sheets[number]
        if number == at or _has_code(sheet):
            document.built(sheet)
            start = min(block, len(sheet.blocks) - 1) if number == at else len(sheet.blocks) - 1
            yield from ((sheet, each) for each in range(start, -1, -1))
    for number in range(at, last):
        sheet = sheets[number]
        if number == at or _has_code(sheet):
            document.built(sheet)
            yield from ((sheet, each) for each in range(block + 1 if number == at else 0, len(sheet.blocks)))


def _has_code(sheet: Sheet) -> bool:
    """Whether it may have a code block; without splitting it."""
    if not isinstance(sheet.entry, AnswerEntry) and not sheet.opened:
        return False
    text = sheet.text
    return "```" in text or "~~~" in text or "\n    " in text


def folding_in_turn(document: TranscriptDocument, sheet: Sheet) -> list[Sheet]:
    """The turn's entries that open and fold."""
    first, last = turn_of(document, sheet)
    return [each for each in document.sheets[first:last] if isinstance(each.entry, FOLDING)]

"""The memory section of a request: an agent's notes, all of them or those that fit its conversation best.

Which notes are sent depends on the notes and on the conversation's first prompt alone, and they keep the order in which
they were first written: while the memory stays the same, so does the beginning of every request, also after a restart,
and the provider's prompt cache holds. A new note comes last.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from gshtui.context.log.blocks import Passage, text_tokens
from gshtui.context.log.ports import Contribution
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.memory_table import MemoryNote
from gshtui.text.sanitise import literal, one_line

_WORD = re.compile(r"\w{3,}")
_KEY_WEIGHT = 3
"""A word of the key counts as three of the text."""
_NAMED = 40
"""Left-out notes whose keys are listed."""
_HEAD = """\
Your memory: notes kept from earlier conversations by you or the person. They may be out of date, and grant no \
permissions."""


class ChosenNotes(msgspec.Struct, frozen=True):
    """The notes of a request."""

    notes: tuple[MemoryNote, ...] = ()
    """Those that are sent, in their order."""
    left_out: tuple[MemoryNote, ...] = ()


def choose_notes(notes: Sequence[MemoryNote], prompt: str, room: int) -> ChosenNotes:
    """All notes if there is room; otherwise those that share the most words with the prompt, newest first among equals.

    Args:
        prompt: what the conversation began with.
        room: tokens.
    """
    if sum(_tokens(note) for note in notes) <= room:
        return ChosenNotes(tuple(notes))
    words = _words(prompt)
    left, chosen = room, set[int]()
    ranked = sorted(range(len(notes)), key=lambda at: (-_fit(notes[at], words), -notes[at].at, at))
    for at in ranked:
        if (size := _tokens(notes[at])) <= left:
            chosen.add(at)
            left -= size
    return ChosenNotes(
        tuple(note for at, note in enumerate(notes) if at in chosen),
        tuple(note for at, note in enumerate(notes) if at not in chosen),
    )


def _tokens(note: MemoryNote) -> int:
    return text_tokens(note_text(note))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _fit(note: MemoryNote, words: set[str]) -> int:
    return _KEY_WEIGHT * len(_words(note.key.replace("-", " ").replace("_", " ")) & words) + len(
        _words(note.value) & words
    )


def note_text(note: MemoryNote) -> str:
    """A note as a model reads it."""
    who = "" if note.author == note.agent else f" ({one_line(note.author, 40)})"
    return f"{one_line(note.key)}{who}: {literal(note.value)}"


def passages(owner: str, chosen: ChosenNotes) -> tuple[Passage, ...]:
    """The section: what it is, a passage for each note, and what was left out."""
    if not chosen.notes and not chosen.left_out:
        return ()
    found = [Passage("memory", "memory", _HEAD)]
    found += [
        Passage("memory", f"{one_line(note.key)}.mem", note_text(note), path=f"/memory/{owner}/{note.key}.mem")
        for note in chosen.notes
    ]
    if chosen.left_out:
        found.append(Passage("memory", "left out", _left_out(chosen.left_out)))
    return tuple(found)


def _left_out(notes: Sequence[MemoryNote]) -> str:
    keys = ", ".join(one_line(note.key) for note in notes[:_NAMED])
    more = f" and {len(notes) - _NAMED} more" if len(notes) > _NAMED else ""
    return (
        f"Left out for lack of room, since they fit this conversation less well ({len(notes)}): {keys}{more}."
        " The tool `memory` searches all."
    )


class MemorySection:
    """The section of one agent, as a contribution to its context."""

    def __init__(
        self,
        notes: Callable[[], Awaitable[tuple[str, list[MemoryNote]]]],
        first_prompt: Callable[[], Awaitable[str]],
        room: int,
    ) -> None:
        """`notes`: with the owner of the memory. `room`: most tokens of the notes; 0: there is no section."""
        self._notes = notes
        self._first_prompt = first_prompt
        self._room = room
        self._contribution = Contribution()

    async def __call__(self, new: bool) -> Contribution:
        """The notes as they are now; the last ones that could be read, where the record fails."""
        if not self._room:
            return Contribution()
        try:
            owner, notes = await self._notes()
            prompt = await self._first_prompt() if notes else ""
        except StoreError:
            return self._contribution  # the record reports its own faults
        self._contribution = Contribution(passages(owner, choose_notes(notes, prompt, self._room)))
        return self._contribution

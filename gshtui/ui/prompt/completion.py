"""Completion of what is being written: the port for those who know what may stand there, and the one who asks them.

The asker works without the widget: it drops what comes late, and cancels what nobody waits for any more. A source that
fails costs its own candidates only. Called by `PromptInput`; sources are in `sources.py` and `files.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from gshtui.system.tasks import report_unexpected, start_job

DEADLINE = 2.0
"""Seconds that one source has."""


class Candidate(msgspec.Struct, frozen=True):
    """Something that may stand in the line from column `start` up to the cursor."""

    insert: str
    start: int
    label: str = ""
    """What to show; empty: `insert`."""
    detail: str = ""
    kind: str = ""
    marked: tuple[int, ...] = ()
    """Indices of the label's letters that matched."""
    ends_word: bool = True
    """A space follows when it is taken."""

    @property
    def shown(self) -> str:
        """The label."""
        return self.label or self.insert


class CompletionSource(Protocol):
    """Someone who knows what may stand at the cursor."""

    def start(self, before: str, row: int) -> int | None:
        """Column of what would be replaced; `None`: nothing of mine stands here.

        Called at every keystroke: cheap, and without I/O.

        Args:
            before: the cursor's line up to the cursor.
            row: the line's number, from 0.
        """
        ...

    async def candidates(self, before: str, start: int) -> Sequence[Candidate]:
        """What fits, best first. Cancelled when the person types on."""
        ...


class Completer:
    """Asks the sources while a person types; `show` gets the candidates of the newest text alone."""

    def __init__(self, show: Callable[[Sequence[Candidate]], None], failed: Callable[[str], None]) -> None:
        self.sources: list[CompletionSource] = []
        self._show = show
        self._failed = failed
        self._task: asyncio.Task[None] | None = None
        self._complained: set[str] = set()

    def update(self, before: str, row: int) -> bool:
        """The text before the cursor is another one now. Whether any source knows this place."""
        asked = [(source, at) for source in self.sources if (at := source.start(before, row)) is not None]
        self.cancel()
        if not asked:
            return False
        self._task = start_job(self._ask(asked, before), "the completion")
        return True

    @property
    def pending(self) -> bool:
        """Whether candidates for the newest text are on their way: those that are shown are older ones."""
        return self._task is not None and not self._task.done()

    def cancel(self) -> None:
        """What is on its way is not wanted any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _ask(self, asked: list[tuple[CompletionSource, int]], before: str) -> None:
        answers = await asyncio.gather(*(self._one(source, before, at) for source, at in asked))
        self._show([candidate for answer in answers for candidate in answer])

    async def _one(self, source: CompletionSource, before: str, at: int) -> Sequence[Candidate]:
        try:
            async with asyncio.timeout(DEADLINE):
                return await source.candidates(before, at)
        except TimeoutError:
            return ()
        except Exception as error:
            report_unexpected("the completion", error)
            self._complain(f"{type(source).__name__}: {error}")
            return ()

    def _complain(self, why: str) -> None:
        """Once for each complaint: it would come again at every keystroke."""
        if why not in self._complained:
            self._complained.add(why)
            self._failed(f"Completion does not work here: {why}")

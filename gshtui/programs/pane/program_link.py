"""A connection to a program in a terminal by a protocol of its own: prompts and answers go by it, not by keys.

The terminal shows the same program; what a person does there and what is done by the link come to the same. Where the
link is not there, everything is typed. There is a subclass for each protocol; used by `CliSession` and the status
watcher.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from gshtui.bus.agent_data import GuardMode, OpenQuestion
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.status.evidence import Evidence, LiveSource, Rank
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on


class LinkedRequest(Protocol):
    """One open question of a program's."""

    @property
    def question(self) -> OpenQuestion: ...
    @property
    def answers(self) -> Mapping[str, Any]:
        """Digit → what its protocol takes for that."""
        ...


class ProgramLink(LiveSource, abc.ABC):
    """See the module. Its evidence is of the rank `PROTOCOL`.

    It connects again whenever the connection breaks; meanwhile it says nothing, so that the next rank counts.
    """

    def __init__(self, name: str) -> None:
        """`name`: of the agent, for messages."""
        self._name = name
        self._task: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        """Somebody waits for a connection: the next attempt comes at once."""
        self._stirred = asyncio.Event()
        self._changed: Callable[[], None] = _nothing
        self._said: tuple[object, ...] = ()

    # -- what it says ----------------------------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def is_connected(self) -> bool:
        """Whether there is a connection."""

    @property
    @abc.abstractmethod
    def asked(self) -> LinkedRequest | None:
        """The question that is open; of several, the first."""

    async def start(self, changed: Callable[[], None]) -> None:
        """Begin to connect, and to tell of changes."""
        self._changed = changed
        self._begin()

    async def stop(self) -> None:
        """End the connection."""
        self._changed = _nothing
        task, self._task = self._task, None
        await cancel_and_wait(task)

    def _begin(self) -> None:
        if self._task is None:
            self._task = keep_on(self._run, f"the connection to {self._name}")

    @abc.abstractmethod
    async def _run(self) -> None:
        """Connect, and connect again."""

    def _evidence(self, status: str, since: float, doing: str, why: str) -> Evidence:
        question = self.asked.question if status == "waiting" and self.asked is not None else None
        return Evidence(Rank.PROTOCOL, "protocol", status, since, time.time(), doing, question=question, why=why)

    def _tell(self) -> None:
        """Wake those who wait for something, and tell of what is different."""
        self._stirred.set()
        self._stirred = asyncio.Event()
        told = self.evidence
        evidence = told and (told.status, told.doing, told.question, told.at)
        now = self.is_connected, self.conversation, self.answer_text, self.mode, evidence
        if now != self._said:
            self._said = now
            self._changed()

    async def _until(self, good: Callable[[], bool], within: float) -> bool:
        """Wait until something holds; whether it does."""
        with contextlib.suppress(TimeoutError):
            async with time_limit(within):
                while not good():
                    await self._stirred.wait()
        return good()

    async def _pause(self, seconds: float) -> None:
        """Wait so long before the next attempt, or until somebody waits for a connection."""
        self._wanted.clear()
        with contextlib.suppress(TimeoutError):
            async with time_limit(seconds):
                await self._wanted.wait()

    # -- what is done by it ----------------------------------------------------------------------------------------

    @abc.abstractmethod
    async def connected(self) -> bool:
        """Whether prompts and answers can go by it now; waits a moment for a connection that is just being made."""

    @abc.abstractmethod
    async def prompt(self, text: str) -> bool:
        """Give it a prompt, in its turn where it is in one; whether it took it. It is never given twice.
        Raises `SessionError`: unsure: nobody knows whether it was taken.
        """

    @abc.abstractmethod
    async def interrupt(self) -> bool:
        """Interrupt its turn; whether there was one."""

    async def question(self) -> OpenQuestion | None:
        """What it asks now."""
        return self.asked.question if self.is_connected and self.asked is not None else None

    @abc.abstractmethod
    def asks(self, question: str) -> bool:
        """Whether a question with this id comes from this link."""

    @abc.abstractmethod
    async def answer(self, question: str, choice: str, reason: str = "") -> OpenQuestion | None:
        """Answer a question that it asks; what is asked next, if anything is.

        `reason`: why something is refused, for its model to read. Raises `SessionError`: waiting: it does not ask that
        any more, or it still does; dialog: this answer takes no reason; unsure.
        """

    async def change_mode(self, mode: GuardMode) -> bool:
        """Put it into one of its modes; whether that can be done by this link. Raises `SessionError`."""
        return False

    def _checked(self, request: LinkedRequest | None, choice: str) -> Any:
        """What stands for a choice of a request that is still open. Raises `SessionError`."""
        if not self.is_connected:
            raise SessionError("terminal", f"The connection to {self._name} is broken.", "Answer it in its terminal.")
        if request is None:
            raise self._over_now()
        if choice not in request.answers:
            offered = ", ".join(f"{one.key} {one.label}" for one in request.question.choices) or "none"
            message = f"{self._name} does not offer that. Its answers: {offered}."
            raise SessionError("waiting", message, "Nothing was answered.")
        return request.answers[choice]

    def _takes_no_reason(self) -> SessionError:
        return SessionError("dialog", f"{self._name} takes no reason with that answer.", "Nothing was answered.")

    def _over_now(self) -> SessionError:
        """A question was not answered, since it is not asked any more."""
        what = f"The question of {self._name} changed: {self.asked.question.subject}" if self.asked else ""
        return SessionError("waiting", what or f"{self._name} no longer asks that.", "Nothing was answered.")

    def _unsure(self, what: str, why: Exception, hint: str = "Look at its terminal.") -> SessionError:
        return SessionError("unsure", f"Nobody knows whether {self._name} got this {what}: {why}.", hint)


def _nothing() -> None:
    pass

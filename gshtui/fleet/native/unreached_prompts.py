"""The prompts for agents that are not connected: in the record from the moment they are sent.

There they are held, since the hub itself sends them once the agent is back. When it ends in order they become mail,
which the agent reads by itself; when it is killed, they wait for a person. Held by the relay.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from gshtui.bus.events.agent_events import PromptEditRequested, PromptSubmitted
from gshtui.bus.letter import PERSON, UNREACHED, Letter
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.mail_table import MailTable
from gshtui.system.tasks import start_job


class UnreachedPrompts:
    """See the module's text."""

    def __init__(self, mail: MailTable) -> None:
        self._mail = mail
        self._waiting: set[str] = set()
        self._writes: list[Coroutine[Any, Any, Any]] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, event: PromptSubmitted) -> None:
        """Keep a prompt."""
        sender = event.source.removeprefix("agent ") if event.source.startswith("agent ") else PERSON
        letter = Letter(
            id=event.prompt,
            sender=sender,
            recipient=event.agent,
            text="\n\n".join((event.text, *(f"Attached: {path}" for path in event.attachments))),
            kind="send",
            mode=event.mode,
            call=event.call,
            created=event.at,
            state="held",
            why=UNREACHED,
        )
        self._waiting.add(letter.id)
        self._write(self._mail.add(letter))

    def edit(self, event: PromptEditRequested) -> None:
        """Keep its new text; without a text, it is withdrawn."""
        if event.prompt not in self._waiting:
            return
        if event.text.strip():
            self._write(self._mail.change(event.prompt, within=("held",), text=event.text))
        else:
            self.reached(event.prompt)

    def reached(self, prompt: str) -> None:
        """Its agent has it."""
        if prompt in self._waiting:
            self._waiting.discard(prompt)
            self._write(self._mail.change(prompt, within=("held",), state="acted", why="", answered=True))

    async def release(self) -> None:
        """Leave what waits to the agents' mail."""
        for prompt in sorted(self._waiting):
            self._write(self._mail.change(prompt, within=("held",), state="queued", why=""))
        await self.written()

    async def written(self) -> None:
        """Return once the record has all of it."""
        while self._writing is not None and not self._writing.done():
            await asyncio.wait((self._writing,))

    def _write(self, work: Coroutine[Any, Any, Any]) -> None:
        self._writes.append(work)
        if self._writing is None or self._writing.done():
            self._writing = start_job(self._write_all(), "prompts for agents that are not connected")

    async def _write_all(self) -> None:
        while self._writes:
            with contextlib.suppress(StoreError):  # one that came out of the mail is there; a failing record says so
                await self._writes.pop(0)

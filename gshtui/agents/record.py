"""The two records of a conversation: the store, and memory alone when there is no store (which the window says).

Both fail as `RecordError`, in one sentence.
"""

from __future__ import annotations

from gshtui.bus.messages import Message
from gshtui.context.ports import RecordError
from gshtui.store.errors import StoreError
from gshtui.store.store import Store


class StoreRecord:
    """Conversations in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def append(self, session: str, message: Message) -> None:
        """Add a message; returns when it is committed."""
        try:
            await self._store.append(session, message)
        except StoreError as error:
            raise RecordError(str(error)) from error

    async def load(self, session: str) -> list[Message]:
        """All messages, in order."""
        try:
            return [stored.message for stored in await self._store.messages(session)]
        except StoreError as error:
            raise RecordError(str(error)) from error

    async def save_partial(self, session: str, message: Message) -> None:
        """Keep an answer that still streams."""
        try:
            await self._store.save_partial(session, message)
        except StoreError as error:
            raise RecordError(str(error)) from error

    async def partials(self, session: str) -> list[Message]:
        """Answers whose stream was cut off by a crash."""
        try:
            return await self._store.partials(session)
        except StoreError as error:
            raise RecordError(str(error)) from error

    async def put_output(self, session: str, call: str, text: str) -> str:
        """Keep a tool's full output; returns its key, empty when it could not be kept."""
        try:
            return await self._store.put_output(session, call, text)
        except StoreError:
            return ""  # the shortened output is in the log all the same; the store reports its own trouble

    async def set_title(self, session: str, title: str) -> None:
        """Name the conversation."""
        try:
            await self._store.update_session(session, title=title)
        except StoreError as error:
            raise RecordError(str(error)) from error


class MemoryRecord:
    """A conversation that lives as long as the process."""

    def __init__(self) -> None:
        self._messages: dict[str, list[Message]] = {}

    async def append(self, session: str, message: Message) -> None:
        """Add a message."""
        self._messages.setdefault(session, []).append(message)

    async def load(self, session: str) -> list[Message]:
        """All messages, in order."""
        return list(self._messages.get(session, ()))

    async def save_partial(self, session: str, message: Message) -> None:
        """Nothing to guard against: memory goes with the process."""

    async def partials(self, session: str) -> list[Message]:
        """None: see `save_partial`."""
        return []

    async def put_output(self, session: str, call: str, text: str) -> str:
        """Not kept; an empty key says so."""
        return ""

    async def set_title(self, session: str, title: str) -> None:
        """Nobody lists what is not kept."""

"""Which conversation an agent has in hand, by its name or id, wherever it lives and whether or not a window is open.

Owns the order of looking: here, on the roster, in the record. Refuses to guess: empty when there is none. Called by
commands that work on conversations.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gshtui.store.errors import StoreError
from gshtui.store.store import Store


def sessions_by_agent(store: Store, here: Callable[[str], str], cwd: str) -> Callable[[str], Awaitable[str]]:
    """The look-up. `here(agent)`: the conversation of an agent of this process, else empty. It raises `StoreError`."""

    async def session_of(agent: str) -> str:
        if session := here(agent):
            return session
        if agent:
            try:
                row = await store.agent(agent)
            except StoreError as error:
                if error.kind not in ("unknown", "ambiguous"):
                    raise
            else:
                return row.session
        for info in await store.sessions(cwd=cwd, limit=100):
            if info.agent == agent:
                return info.id
        return ""

    return session_of

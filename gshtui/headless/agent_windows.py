"""The agents that live in windows, as the record shows them to a command that is not that window.

What they do is worked out from their journals, so the source of a status is `journal` and its age is said. Called by
`agent`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gshtui.store.store import SessionInfo, Store

_PAGE = 2_000
"""Events that are read at once."""
_LOOKED_AT = 10_000
"""Conversations that are looked through for those that are open."""


async def agents(store: Store, cwd: str | None) -> list[dict[str, Any]]:
    """Every agent whose conversation is held by a living window, as the scripting interface gives it.

    Raises:
        StoreError: the record cannot be read.
    """
    infos = await store.sessions(cwd=cwd, limit=_LOOKED_AT, empty=True)
    return [await _agent(store, info) for info in infos if info.held_by]


async def _agent(store: Store, info: SessionInfo) -> dict[str, Any]:
    from gshtui.fleet.ledger import Entry, noted, plain

    entry = Entry(info.agent, cwd=info.cwd, session=info.id, title=info.title, status_since=info.created)
    after = 0
    while page := await store.events(info.id, after=after, limit=_PAGE):
        for after, event in page:  # noqa: B007  # the last one is where the next page begins
            entry = noted(entry, event)
    told = plain(entry)
    told |= {"status_source": "journal", "status_age_s": round(max(0.0, time.time() - entry.status_since), 1)}
    return told | {"session": info.id, "title": info.title, "held_by": info.held_by}

"""Searches past conversations by their titles and messages, with excerpts.

Groups messages by conversation; leaves out the conversation that asks, which contains the question itself. Called by
`search_context`.
"""

from __future__ import annotations

import msgspec

from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.session_table import SessionInfo

EXCERPTS = 3
"""Most excerpts of one conversation."""
_TITLES = 2_000
"""Most conversations whose titles are searched, last used first."""


class FoundConversation(msgspec.Struct, frozen=True):
    """One conversation with its matches; without excerpts, only its title matches."""

    info: SessionInfo
    excerpts: tuple[str, ...] = ()


async def find_conversations(
    store: Store, query: str, *, cwd: str, after: float | None, before: float | None, limit: int, current: str = ""
) -> list[FoundConversation]:
    """Matching conversations, best first; without a query, the latest. Raises `StoreError`.

    Args:
        cwd: held in this folder or below; empty: in any.
        after: with a message (or, by title alone, used) not before this moment; `before`: earlier than this one.
        current: the conversation that asks.
    """
    recent = {info.id: info for info in await store.sessions.find_all(limit=_TITLES)}

    def fits(info: SessionInfo, at: float) -> bool:
        inside = not cwd or info.cwd == cwd.rstrip("/") or info.cwd.startswith(f"{cwd.rstrip('/')}/")
        soon = (after is None or at >= after) and (before is None or at < before)
        return inside and soon and info.id != current

    excerpts: dict[str, list[str]] = {}
    infos: dict[str, SessionInfo] = {}
    if query.strip():
        for hit in await store.messages.search(query, limit=min(limit * 20, 1_000)):
            info = infos.get(hit.session) or recent.get(hit.session) or await _session(store, hit.session)
            if info is not None and fits(info, hit.at):
                infos[hit.session] = info
                excerpts.setdefault(hit.session, []).append(hit.excerpt)
    needle = " ".join(query.lower().split())
    for info in recent.values():
        if len(infos) >= limit:
            break
        if info.id not in infos and needle in " ".join(info.title.lower().split()) and fits(info, info.updated):
            infos[info.id] = info
    return [
        FoundConversation(info, tuple(excerpts.get(info.id, ())[:EXCERPTS])) for info in list(infos.values())[:limit]
    ]


async def _session(store: Store, id: str) -> SessionInfo | None:
    try:
        return await store.sessions.find(id)
    except StoreError:
        return None

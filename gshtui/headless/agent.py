"""`gsh-tui agent ls|show`: the agents that are at work in windows of this data folder, by the record alone.

What they do is worked out from their journals, so the source of a status is `journal` and its age is said. Called by
`cli`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.line import STORE_ONLY
from gshtui.headless.running import Stop, run, until_asked
from gshtui.headless.surroundings import here, loaded_here, running

if TYPE_CHECKING:
    from gshtui.store.store import SessionInfo, Store

_PAGE = 2_000
"""Events that are read at once."""
_LOOKED_AT = 10_000
"""Conversations that are looked through for those that are open."""


def ls(*, everywhere: bool, as_json: bool) -> int:
    """List the agents; gives the exit code."""

    async def work(found: list[dict[str, Any]]) -> int:
        if as_json:
            streams.result_json(found)
        else:
            streams.result(_table(found))
        return exits.DONE

    return run(lambda stop: _with_agents(stop, everywhere, work))


def show(id: str, *, as_json: bool) -> int:
    """Show one agent, by name or by conversation; gives the exit code."""

    async def work(found: list[dict[str, Any]]) -> int:
        matching = [agent for agent in found if agent["name"] == id or str(agent["session"]).startswith(id)]
        if len(matching) != 1:
            names = ", ".join(f"{agent['name']} ({agent['session']})" for agent in matching or found) or "none"
            which = "Several agents are called" if matching else "No agent at work is called"
            streams.complain(f"{which} {id!r}. There are: {names}.")
            return exits.ERROR
        if as_json:
            streams.result_json(matching[0])
        else:
            streams.result("\n".join(f"{name:14} {value}" for name, value in matching[0].items()))
        return exits.DONE

    return run(lambda stop: _with_agents(stop, True, work))


async def _with_agents(stop: Stop, everywhere: bool, work: Any) -> int:
    from gshtui.hub import HubOptions

    async def look() -> int:
        options = HubOptions(cwd=here(), loaded=loaded_here(), parts=STORE_ONLY, where="gsh-tui agent")
        async with running(options) as hub:
            await hub.start()
            if hub.store is None:
                failed = hub.failed["store"]
                streams.complain(failed.why, failed.hint)
                return exits.ERROR
            found = await agents(hub.store, None if everywhere else str(options.cwd))
        return await work(found)

    return await until_asked(look(), stop)


async def agents(store: Store, cwd: str | None) -> list[dict[str, Any]]:
    """Every agent whose conversation is held by a living window, as the scripting interface gives it.

    Raises:
        StoreError: the record cannot be read.
    """
    infos = await store.sessions(cwd=cwd, limit=_LOOKED_AT, empty=True)
    return [await _agent(store, info) for info in infos if info.held_by]


async def _agent(store: Store, info: SessionInfo) -> dict[str, Any]:
    from gshtui.agents.ledger import Entry, noted, plain

    entry = Entry(info.agent, cwd=info.cwd, session=info.id, title=info.title, status_since=info.created)
    after = 0
    while page := await store.events(info.id, after=after, limit=_PAGE):
        for after, event in page:  # noqa: B007  # the last one is where the next page begins
            entry = noted(entry, event)
    told = plain(entry)
    told |= {"status_source": "journal", "status_age_s": round(max(0.0, time.time() - entry.status_since), 1)}
    return told | {"session": info.id, "title": info.title, "held_by": info.held_by}


def _table(found: list[dict[str, Any]]) -> str:
    if not found:
        return "No agent is at work in a window of this folder. `agent ls --all` looks in every folder."
    rows = [("agent", "status", "age", "model", "conversation", "open in")]
    rows += [
        (a["name"], a["status"], f"{a['status_age_s']:.0f} s", a["model"] or "-", a["session"], a["held_by"])
        for a in found
    ]
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{cell!s:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )

"""A native agent as a process of its own, and a window's relay: real processes, real sockets, a real record."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gshtui.bus.events.agent import AgentStatusChanged, MessageAppended, TextDelta, ToolFinished, TurnFinished
from gshtui.bus.events.approval import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.session import SessionOpened
from gshtui.settings import paths
from gshtui.store.store import Store
from tests.kit.native import AGENT, ended, running, spec_of, window


async def test_from_spawn_to_report(tmp_path: Path) -> None:
    """Status events, words and a tool over the link; a question relayed, answered, and the report."""
    async with window(tmp_path) as hub:
        _, file = spec_of(tmp_path, "run echo over-there", hub=hub.relay.socket, background=True)
        with running(file, tmp_path) as process:
            starting = await hub.heard.first(AgentStatusChanged, agent=AGENT)
            assert starting.status == "starting"
            asked = await hub.heard.first(ApprovalRequested, agent=AGENT)
            assert "echo over-there" in asked.detail or "echo over-there" in asked.subject
            await hub.heard.first(AgentStatusChanged, agent=AGENT, status="waiting")
            hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
            turn = await hub.heard.first(TurnFinished, agent=AGENT)
            code, _, err = await ended(process)
        assert (code, err) == (0, "")
        assert "over-there" in turn.text
        settled = await hub.heard.first(ApprovalSettled, approval=asked.approval)
        assert settled.decision == "once"
        assert (await hub.heard.first(ToolFinished, agent=AGENT)).status == "ok"
        assert await hub.heard.first(AgentStatusChanged, agent=AGENT, status="done")
        opened = await hub.heard.first(SessionOpened, agent=AGENT)
        said = "".join(delta.text for delta in hub.heard.of(TextDelta, agent=AGENT))
        assert said == turn.text
        appended = [event.message.id for event in hub.heard.of(MessageAppended, agent=AGENT)]
        assert len(appended) == len(set(appended)) == 4
    store = await Store.open(paths.data_dir() / "gsh.db")
    try:
        kept = await store.messages(opened.session)
        assert [one.message.id for one in kept] == appended
        assert await store.latest_session(str(tmp_path)) is None, "an agent's conversation is not the folder's latest"
        assert not (await store.session(opened.session)).held_by
        assert await store.check() == []
    finally:
        await store.close()
    assert asyncio.get_running_loop().is_running()

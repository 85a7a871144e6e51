"""kill -9 between a summary and the overlay that makes it count, and right behind it: all of the cut, or none of it."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.system.ids import new_id
from tests.kit.context_harness import SUMMARY
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Say
from tests.kit.running_hub import started_hub

SCRIPT = Path(__file__).with_name("crash_compact_script.py")
PARTS = frozenset({"store", "guard", "providers", "agents"})


async def killed(cwd: Path, when: str) -> None:
    """Run the script until it says that it stopped, and kill it there."""
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[2])}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), when, cwd=cwd, env=environment, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 30) == f"stopped {when}\n".encode()
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_compaction_counts_wholly_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    thinking: Answer = [Say("so " * 400)]
    script: list[Answer] = [thinking, thinking, [Say(SUMMARY)], [Say("here again")]]
    async with loopback("anthropic", script) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        await killed(tmp_path, when)
        assert len(server.chats) == 3  # the summary was written and paid for
        options = HubOptions(
            cwd=tmp_path,
            loaded=load(tmp_path),
            session="latest",
            provider="anthropic",
            respondent="policy",
            parts=PARTS,
        )
        hub = build_hub(options)
        async with started_hub(hub):
            assert hub.contexts is not None
            receipts = await hub.contexts.queries.receipts("main")
            assert [receipt.kind for receipt in receipts] == ([] if when == "before" else ["compact"])
            waiting = hub.bus.wait_for(TurnFinished, timeout=60)
            hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="Are you there?"))
            assert (await waiting).text == "here again"
            sent = json.dumps(server.chats[-1].body["messages"])
            assert "The rule is 4711." in sent
            assert ("so so so" in sent) == (when == "before")
            assert ("The port is 4711." in sent) == (when == "after")
            assert "CONTEXT CHECKPOINT" not in sent  # the wish for a summary is never part of the log
            if receipts:
                await (await hub.contexts.editor("main")).undo("main", receipts[0].id)
                assert "so so so" in (await hub.contexts.queries.request("main")).text
        assert server.refused == []

"""What a hub gives an agent to remember by: shell activity at the start, search, tasks that outlive the window."""

import time
from pathlib import Path

from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.bus.events.context_events import TasksChanged
from gshtui.bus.shell_data import ShellRecord
from gshtui.commands.declaration import Caller
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from tests.kit.running_hub import started_hub


def options(project: Path, session: str = "new") -> HubOptions:
    return HubOptions(cwd=project, loaded=load(project), session=session, provider="offline", respondent="policy")


async def asked(hub: Hub, prompt: str, text: str) -> None:
    hub.bus.publish(PromptSubmitted(prompt=prompt, agent="main", text=text))
    await hub.bus.wait_for(TurnFinished, timeout=60)
    await hub.bus.drained()


async def sent(hub: Hub) -> list[str]:
    """The texts of the newest request, block by block."""
    assert hub.store is not None
    newest = (await hub.store.contexts.iterations(agent="main"))[-1]
    return [await hub.store.contexts.text(block.hash) for block in await hub.store.contexts.blocks(newest.id)]


async def test_shell_activity_is_told_in_the_first_message_of_a_new_conversation_alone(project: Path) -> None:
    hub = build_hub(options(project))
    async with started_hub(hub):
        assert hub.store is not None and not hub.failed
        ran = {"command": "cargo test", "cwd": str(project), "at": time.time() - 9, "exit": 1, "state": "done"}
        await hub.store.shells.add_all([ShellRecord(shell="z", number=1, **ran)])  # type: ignore[arg-type]
        await asked(hub, "p1", "hello")
        await asked(hub, "p2", "and again")
        texts = await sent(hub)
        told = [text for text in texts if text.startswith("# Recent Shell Activity")]
        assert len(told) == 1 and f"$ cargo test (in {project}) → exit 1" in told[0]
        session = hub.invocation(Caller()).session
    hub = build_hub(options(project, session))
    async with started_hub(hub):
        await asked(hub, "p3", "after a restart")
        assert sum(text.startswith("# Recent Shell Activity") for text in await sent(hub)) == 1


async def test_tasks_outlive_a_restart_and_are_told_to_the_next_window(project: Path) -> None:
    hub = build_hub(options(project))
    async with started_hub(hub):
        await asked(hub, "p1", "hello")
        await hub.run("todo add write the tests")
        outcome = await hub.run("todo")
        assert outcome.data["tasks"] == [{"state": "open", "id": "1", "text": "write the tests"}]
    hub = build_hub(options(project, "latest"))
    told: list[TasksChanged] = []
    hub.bus.subscribe(told.extend, TasksChanged, name="test")  # type: ignore[arg-type]
    async with started_hub(hub):
        await hub.bus.drained()
        await hub.bus.drained()
        assert [task.text for task in told[-1].tasks] == ["write the tests"]

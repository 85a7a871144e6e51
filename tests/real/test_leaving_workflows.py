"""A workflow that is left begins no further step, asks no model again, and goes on where it stopped when told to."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.workflow_events import WorkflowFinished, WorkflowStepOutput
from gshtui.bus.workflow_data import StepResult
from gshtui.commands.declaration import CommandError
from gshtui.features.workflows.definition import WorkflowError
from gshtui.features.workflows.tool_step import StepTools
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.system.tasks import start_job
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Fault, Say
from tests.kit.loopback.server import Loopback
from tests.kit.storms import combined

WITHIN = 60.0
AFTER = "      - shell: {command: echo after >> after.txt}\n"
FIRST = {
    "model": "      - llm: {prompt: hello}\n",
    "command": "      - shell: {command: 'echo begun >> begun.txt; echo begun; test -e go || sleep 60'}\n",
    "question": "      - {on_failure: ask, shell: {command: 'echo begun >> begun.txt; test -e go'}}\n",
    "retry": (
        "      - {on_failure: retry, retry: {max: 3, backoff: {base_ms: 60000}}, "
        "shell: {command: 'echo begun >> begun.txt; echo begun; test -e go'}}\n"
    ),
}
"""The first step, in which the person leaves, by what it waits for."""


def _reached(state: str, hub: Hub, server: Loopback) -> Awaitable[Any]:
    if state == "model":
        return server.asked.wait()
    if state == "question":
        return hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
    return hub.bus.wait_for(WorkflowStepOutput, timeout=WITHIN)


def _hub(folder: Path) -> Hub:
    parts = frozenset({"store", "guard", "providers", "agents"})
    return build_hub(HubOptions(cwd=folder, loaded=load(folder), mode="yolo", parts=parts))


async def _quietly(hub: Hub, line: str) -> None:
    with suppress(CommandError):
        await hub.run(line)


async def _stop(hub: Hub) -> None:
    await hub.stop()


async def _cease(hub: Hub) -> None:
    """As a window does; a run that was on its way then begins nothing either."""
    hub.cease()
    late = start_job(_quietly(hub, "workflow run made"), "a late run")
    await asyncio.wait({late}, timeout=WITHIN)
    await hub.stop()


@pytest.mark.parametrize(("state", "end"), combined(list(FIRST), [_stop, _cease]))
async def test_a_workflow_that_is_left_begins_nothing_more_and_can_be_resumed(
    state: str, end: Callable[[Hub], Awaitable[None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflows = paths.config_dir(create=True) / "workflows"
    workflows.mkdir()
    (workflows / "made.yml").write_text(f"workflows:\n  made:\n    steps:\n{FIRST[state]}{AFTER}")
    begun, after = tmp_path / "begun.txt", tmp_path / "after.txt"
    async with loopback("anthropic", choose=lambda _: [Fault.hang()]) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        hub = _hub(tmp_path)
        await hub.start()
        reached = asyncio.ensure_future(_reached(state, hub, server))
        running = start_job(_quietly(hub, "workflow run made"), "a run")
        await reached
        await end(hub)
        await asyncio.wait({running}, timeout=WITHIN)
        assert not after.exists()
        assert len(server.chats) == (state == "model")
        assert state == "model" or begun.read_text() == "begun\n"

        (tmp_path / "go").touch()
        server.choose = lambda _: [Say("well said")]
        hub = _hub(tmp_path)
        await hub.start()
        await hub.bus.drained()
        assert not after.exists()
        assert len(server.chats) == (state == "model")
        done = asyncio.ensure_future(hub.bus.wait_for(WorkflowFinished, timeout=WITHIN))
        assert hub.store is not None
        rows = await hub.store.workflows.find_all()
        assert {row.state for row in rows} == {"cancelled"}
        await hub.run(f"workflow resume {rows[-1].id} --yes")
        assert (await done).state == "done"
        await hub.stop()
    assert after.read_text() == "after\n"
    assert state == "model" or begun.read_text() == "begun\n" * 2


async def test_a_step_whose_tool_is_gone_fails_and_the_workflow_goes_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object) -> StepResult:
        raise WorkflowError("There is no tool 'x'.")

    monkeypatch.setattr(StepTools, "call", gone)
    workflows = paths.config_dir(create=True) / "workflows"
    workflows.mkdir()
    step = "      - {on_failure: continue, tool: {name: read, args: {path: a}}}\n"
    (workflows / "made.yml").write_text(f"workflows:\n  made:\n    steps:\n{step}{AFTER}")
    hub = _hub(tmp_path)
    await hub.start()
    await _quietly(hub, "workflow run made")
    assert hub.store is not None
    (row,) = await hub.store.workflows.find_all()
    assert (tmp_path / "after.txt").read_text() == "after\n"
    assert (await hub.store.workflows.steps(row.id))[1].state == "failed"
    await hub.stop()

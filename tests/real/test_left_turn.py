"""The resident hub calls the person by what is configured, where no window does."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.client.window_protocol import OpenRequest
from gshtui.settings import paths
from gshtui.ui.window.app import Workbench
from tests.kit.configuration import made_project
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.resident import resident_hub
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh

__all__ = ["calls"]
WAITS = "touch begun; until test -e go; do sleep 0.05; done"


@pytest.fixture
def calls(tmp_path: Path) -> Callable[[], list[str]]:
    """Has the person called by a command; gives what they were told."""
    called = tmp_path / "called"
    command = ["sh", "-c", f'printf "%s\\n" "$GSH_TEXT" >>"{called}"']
    paths.config_dir(create=True)
    paths.config_file().write_text(f"[notify]\ncommand = {json.dumps(command)}\n", "utf-8")
    return lambda: called.read_text("utf-8").splitlines() if called.exists() else []


async def test_the_turn_of_a_closed_window_calls_when_it_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: Callable[[], list[str]]
) -> None:
    project = made_project(tmp_path / "project")
    answers = [[Call("bash", {"command": WAITS})], [Call("write", {"path": "../out", "content": "x"})], [Say("done")]]
    async with loopback("anthropic", answers) as server:
        for name, value in (variables("anthropic", server.url) | {"ANTHROPIC_API_KEY": "key"}).items():
            monkeypatch.setenv(name, value)
        with resident_hub(monkeypatch):
            app = Workbench(OpenRequest(project, "", mode="auto"))
            async with app.run_test(size=(120, 35)):
                await app.bridge.running()
                app.publish(PromptSubmitted(prompt="p", agent="main", text="go"))
                await eventually(lambda: asyncio.to_thread((project / "begun").exists))
            assert not calls()
            (project / "go").touch()
            told = await eventually(lambda: asyncio.to_thread(calls))
            assert told[0].startswith("main in project wants to write ")


async def test_an_agent_that_ends_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: Callable[[], list[str]]
) -> None:
    """By the window that is open in its folder, before which the person sits; without one by the resident hub."""
    project = made_project(tmp_path / "project")
    with resident_hub(monkeypatch):
        app = Workbench(OpenRequest(project))
        async with app.run_test(size=(120, 35)):
            await (await app.bridge.running()).run("spawn cli='sh -c \"exit 3\"' name=shy")
            await eventually(lambda: asyncio.to_thread(lambda: [one.message for one in app._notifications]))
            assert [one.message for one in app._notifications] == ["shy has failed"]
        ran = await asyncio.to_thread(
            run_gsh, "agent", "spawn", "--cli", 'sh -c "exit 3"', "--name", "sly", cwd=project
        )
        assert ran.code == 0, ran.err
        await eventually(lambda: asyncio.to_thread(calls), until=lambda told: any("sly" in line for line in told))

"""A turn that goes on without its window calls the person, by what is configured."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.settings import paths
from gshtui.ui.kit.hub_port import OpenRequest
from gshtui.ui.window.app import Workbench
from tests.kit.configuration import made_project
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.resident import resident_hub
from tests.kit.tmux import eventually

WAITS = "touch begun; until test -e go; do sleep 0.05; done"


async def test_the_person_is_called_when_it_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, called = made_project(tmp_path / "project"), tmp_path / "called"
    monkeypatch.setenv("GSH_HUB__CLOSING", "finish")
    command = ["sh", "-c", f'printf "%s" "$GSH_TEXT" >"{called}"']
    paths.config_dir(create=True)
    paths.config_file().write_text(f"[notify]\ncommand = {json.dumps(command)}\n", "utf-8")
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
            assert not called.exists()
            (project / "go").touch()

            def text() -> str:
                return called.read_text("utf-8") if called.exists() else ""

            assert "main in project asks" in await eventually(lambda: asyncio.to_thread(text))

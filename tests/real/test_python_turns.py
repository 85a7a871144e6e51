"""Whole turns with Python: the real program against a loopback provider whose model writes blocks or calls the tool."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.kit.configuration import user_file
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import parse
from tests.kit.warm_program import run_gsh

BLOCK = "I add them.\n\n<python>\nnumbers = [1, 2, 3]\nprint('adding')\nsum(numbers)\n</python>"
QUOTED = "One writes:\n\n```\n<python>\nopen('made.txt', 'w')\n</python>\n```"
NEXT = "<python>\nlen(numbers) / 0\n</python>"


async def turn(project: Path, monkeypatch: pytest.MonkeyPatch, *answers: str, yes: bool = True) -> tuple[Any, Any]:
    """Run one turn; how it ended, and the requests that the provider got."""

    async with loopback("anthropic", parse([[{"say": text}] for text in answers])) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        words = ("prompt", "--json", *(["--yes"] if yes else []), "--provider", "anthropic", "add one to three")
        ran = await asyncio.to_thread(run_gsh, *words, cwd=project)
        return ran, [request.body for request in server.requests if request.kind == "chat"]


def results(body: dict[str, Any]) -> list[str]:
    """The results that a request carries."""
    return [
        block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
        for message in body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else [])
        if block["type"] == "tool_result"
    ]


async def test_blocks_are_run_and_their_output_comes_back(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, bodies = await turn(project, monkeypatch, BLOCK, NEXT, QUOTED)
    assert ran.code == 0, ran.err
    assert results(bodies[1]) == ["[Python output]:\nadding\n6"]
    assert results(bodies[2])[-1].startswith("[Python output]:\nError: ZeroDivisionError: division by zero (line 1)\n")
    assert len(bodies) == 3
    assert not (project / "made.txt").exists(), "a block in a fence is only shown"
    started = [event for event in ran.lines if event["type"] == "ToolStarted"]
    assert [event["tool"] for event in started] == ["python", "python"]
    assert ran.lines[-1]["text"] == QUOTED


async def test_blocks_ask_like_every_call(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, bodies = await turn(project, monkeypatch, BLOCK, "It was refused.", yes=False)
    assert ran.code == 4
    assert "nobody is there to ask" in results(bodies[1])[0]


async def test_the_settings_switch_blocks_off(home: Home, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user_file(home, '[python]\nblocks = false\n[agent]\nalways_tools = ["python"]\n')
    _, bodies = await turn(project, monkeypatch, BLOCK, "never asked")
    assert len(bodies) == 1
    assert "python" in [tool["name"] for tool in bodies[0]["tools"]]
    user_file(home, '[python]\nenabled = false\n[agent]\nalways_tools = ["python"]\n')
    _, bodies = await turn(project, monkeypatch, BLOCK, "never asked")
    assert len(bodies) == 1
    assert "python" not in [tool["name"] for tool in bodies[0]["tools"]]

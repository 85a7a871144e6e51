"""The scratchpad in whole turns against a provider: there for the rest of a turn, in no later one, and for people."""

import asyncio
from pathlib import Path
from typing import Any

from tests.kit.configuration import made_project
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say, Think
from tests.kit.warm_program import run_gsh

NOTE = "the moss grows on the north side"


def of(request: Any) -> str:
    return str(request.body["messages"])


async def test_a_thought_is_there_for_its_turn_only_and_people_see_it(tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    (project / "a.txt").write_text("hello", encoding="utf-8")
    script = [
        [Think("Let me note it."), Call("think", {"content": NOTE})],
        [Call("think", {"content": f"still: {NOTE}"}), Call("read", {"path": "a.txt"})],
        [Say("Noted.")],
        [Say("No idea.")],
    ]
    async with loopback("anthropic", script) as server:
        env = variables("anthropic", server.url)

        async def gsh(*words: str) -> str:
            ran = await asyncio.to_thread(run_gsh, *words, cwd=project, env=env)
            assert ran.code == 0, ran.err
            return ran.out

        await gsh("prompt", "look around")
        assert NOTE in of(server.requests[1]) and f"still: {NOTE}" in of(server.requests[2])
        shown = await gsh("context", "--section", "thinking")
        assert "think" in shown and "moss" in shown
        assert NOTE in await gsh("run", "cat path=/context/main/thinking.ctx")
        assert NOTE not in await gsh("run", "cat path=/context/main/full.ctx")
        await gsh("prompt", "--session", "latest", "and now?")
        last = of(server.requests[-1])
        assert NOTE not in last and "look around" in last and "a.txt" in last and "Noted." in last
    assert server.refused == [], "the calls that are left have their results"


async def test_only_an_agent_has_one(tmp_path: Path) -> None:
    ran = await asyncio.to_thread(run_gsh, "run", "think content=hm", cwd=tmp_path)
    assert ran.code == 1 and "Only an agent has a scratchpad" in ran.err

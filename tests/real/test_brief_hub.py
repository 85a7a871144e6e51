"""Where the hub is not kept, it is there for as long as there are agents of ours."""

import asyncio
import time
from pathlib import Path

import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.settings.paths import data_dir
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh
from tests.real.test_keeper import CLAUDE, Place, place

pytestmark = pytest.mark.tmux
__all__ = ["place"]


@pytest.mark.parametrize(("tool", "said"), [("talk", "Answer number 1."), ("say", "Sent to cc")], ids=["talk", "say"])
@pytest.mark.timeout(180)
async def test_an_agent_speaks_to_a_program_by_a_hub_that_ends_with_the_last_agent(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, said: str
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "never")
    log = tmp_path / "heard"
    place.run("agent", "spawn", "--cli", f"{CLAUDE} --heard {log}", "--profile", "claude", "--name", "cc")
    script = [[Call(tool, {"to": "cc", "text": "how is the moss?"})], [Say("Done.")]]
    async with loopback("anthropic", script, repeat=True) as provider:
        words = ("agent", "spawn", "--name", "asker", "ask it")
        ran = await asyncio.to_thread(run_gsh, *words, cwd=place.project, env=variables("anthropic", provider.url))
        assert ran.code == 0, ran.err
        asker = await place.row(lambda row: row.pane, id="0002")
        await press_when_asked(asker)

        async def told() -> str:
            return "" if len(provider.chats) < 2 else str(provider.chats[1].body["messages"][-1])

        assert said in await eventually(told, until=bool, within=90)
    await eventually(lambda: asyncio.to_thread(lambda: log.exists() and log.read_text().endswith("how is the moss?\n")))
    assert running_keeper(data_dir()) is not None
    for agent in ("asker", "cc"):
        assert run_gsh("agent", "kill", "--yes", agent).code == 0
    await eventually(lambda: asyncio.to_thread(lambda: running_keeper(data_dir()) is None))


async def press_when_asked(asker: AgentRow) -> None:
    """Allow what the agent asks for in its own terminal, once."""
    terminals = AgentTerminals()
    server = terminals.server(asker.socket)
    again = 0.0

    async def pressed() -> str:
        nonlocal again
        screen = "\n".join(await server.capture(asker.pane, styled=False))
        if "1 allow once" in screen and "allowed once" not in screen and time.monotonic() > again:
            again = time.monotonic() + 2  # a key that comes too early for a question does not count
            await server.send_keys(asker.pane, "1")
            await server.send_keys(asker.pane, "Enter")
        return screen

    try:
        await eventually(pressed, until=lambda screen: "allowed once" in screen, within=40)
    finally:
        await terminals.close()

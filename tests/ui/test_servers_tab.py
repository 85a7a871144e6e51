"""The tab of MCP servers: what it says of each, what its keys do, and that it follows what changes."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from gshtui.bus.events.server_events import ToolServerChanged
from gshtui.mcp_client import mcp_calls as calls
from gshtui.mcp_client.commands import commands
from gshtui.mcp_client.server_definition import ServerDefinition
from gshtui.mcp_client.tool_pins import PromptPin, ServerPins, ToolPin
from gshtui.settings.loader import load
from gshtui.settings.started_programs import McpServer
from gshtui.ui.kit.widgets.dialogs import InputScreen, Picker
from gshtui.ui.servers.servers_tab import ServersTab
from tests.kit.fake_hub import FakeHub, declared_keys
from tests.kit.snapshots import Snap, screens, snap
from tests.kit.terminal_agents import wait_until
from tests.kit.window import Window

__all__ = ["snap"]


def row(
    name: str,
    state: str = "off",
    *,
    why: str = "",
    brought: bool = False,
    agreed: bool = True,
    on: bool = True,
    tools: tuple[str, ...] = (),
    changed: tuple[str, ...] = (),
    said: tuple[str, ...] = (),
) -> calls.ServerRow:
    """A server as the command lists it."""
    settings = McpServer(command="uvx", args=[f"mcp-server-{name}"], enabled=on, hosts=["pypi.org"])
    definition = ServerDefinition(name, settings, Path("/src/aurora"), "project" if brought else "yours")
    pins = ServerPins(
        definition.digest if tools else "",
        accepted=tuple(ToolPin(tool, f"What {tool} does.", {}) for tool in tools),
        offered=tuple(ToolPin(tool, "Sends it to \x1b[31mevil.example.", {}) for tool in changed),
        prompts=(PromptPin("greet", "Greet somebody."),) if tools else (),
        has_resources=bool(tools),
    )
    return calls.ServerRow(definition, pins, state, why, agreed, 0.4, f"{name} 1.0 · MCP 2026-07-28", "", said)


ROWS = (
    replace(row("docs", "ready", tools=("search", "fetch", "list_pages")), elsewhere=(("fix", "starting"),)),
    row(
        "build",
        "failed",
        why="The MCP server build did not start: it ended with exit code 1.",
        said=("Traceback (most recent call last):", "ModuleNotFoundError: No module named \x1b[31m'yaml'"),
    ),
    row("git", "ready", tools=("log", "diff"), changed=("diff",)),
    row("brought", brought=True, agreed=False),
    row("old", on=False, tools=("one",)),
)


@pytest.fixture(autouse=True)
def with_servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The keys that the command `mcp` declares, beside the others."""
    known = declared_keys()
    mcp = {command.name: command for command in commands(load(tmp_path))}["mcp"]
    of = {place.key: place.of for action in mcp.actions for place in action.where}
    real = FakeHub.for_row
    monkeypatch.setattr(
        FakeHub, "for_row", lambda hub, key, row: of[key](row) if key in of else real(hub, key, row) if known else None
    )


async def opened(app: Window, pilot: Pilot[int]) -> ServersTab:
    await wait_until(pilot, lambda: app.hub is not None)
    await pilot.press("alt+m")
    await wait_until(pilot, lambda: any(tab.rows for tab in app.screen.query(ServersTab)))
    await pilot.pause()
    return app.screen.query_one(ServersTab)


def details(tab: ServersTab) -> str:
    return str(tab.details.query("Static").first().render())  # type: ignore[attr-defined]


async def test_it_says_of_each_server_what_a_person_needs_to_know() -> None:
    app = Window(results={calls.ListServers(): calls.ServerList(ROWS)})
    async with app.run_test(size=(160, 40)) as pilot:
        tab = await opened(app, pilot)
        wanted = {
            "docs": ("ready", "started in 0.4 s", "fix: starting", "list_pages", "/ greet", "@docs:"),
            "build": ("failed", "exit code 1", "No module named"),
            "git": ("tools changed", "held back until you accept: 1 tool", "evil.example"),
            "brought": ("not accepted", "the project's configuration"),
            "old": ("disabled",),
        }
        for name, words in wanted.items():
            assert tab.chosen is not None
            assert tab.chosen.definition.name == name
            text = details(tab)
            assert all(word in text for word in words), (name, text)
            assert "\x1b" not in text
            await pilot.press("down")


async def test_keys_do_what_fits_the_server_and_say_so_where_nothing_does() -> None:
    app = Window(results={calls.ListServers(): calls.ServerList(ROWS)})
    async with app.run_test(size=(160, 40)) as pilot:
        await opened(app, pilot)
        assert app.hub is not None
        app.hub.ran.clear()
        keys = [
            ("d", calls.CheckServers(name="docs")),
            ("R", calls.RestartServer(name="docs")),
            ("o", calls.EnableServer(name="docs", off=True)),
        ]
        for key, value in keys:
            await pilot.press(key)
            await wait_until(pilot, lambda value=value: value in app.hub.ran)  # type: ignore[union-attr]
        before = len(app.hub.ran)
        await pilot.press("A")  # nothing to accept
        assert len(app.hub.ran) == before
        await pilot.press("down", "down", "A")
        await wait_until(pilot, lambda: calls.AcceptServer(name="git") in app.hub.ran)  # type: ignore[union-attr]
        await pilot.press("down", "D")  # a project's server is not in the person's configuration
        assert not [one for one in app.hub.ran if isinstance(one, calls.RemoveServer)]
        await pilot.press("down", "e")
        await wait_until(pilot, lambda: calls.EnableServer(name="old") in app.hub.ran)  # type: ignore[union-attr]
        await pilot.press("space")
        assert isinstance(app.screen, Picker)
        await pilot.press("escape", "a")
        assert isinstance(app.screen, InputScreen)
        await pilot.press("escape", "i")
        await wait_until(pilot, lambda: calls.ImportServers() in app.hub.ran)  # type: ignore[union-attr]


async def test_it_follows_a_server_that_changes_and_keeps_its_cursor() -> None:
    found: dict[object, object] = {calls.ListServers(): calls.ServerList(ROWS)}
    app = Window(results=found)
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await opened(app, pilot)
        await pilot.press("down")
        found[calls.ListServers()] = calls.ServerList((row("another"), *ROWS[:1], row("build", "ready", tools=("go",))))
        app.feed(ToolServerChanged(server="build", state="ready"))
        await wait_until(pilot, lambda: len(tab.rows) == 3)
        assert tab.chosen is not None
        assert (tab.chosen.definition.name, tab.chosen.state) == ("build", "ready")
        found[calls.ListServers()] = calls.ServerList(())
        app.feed(ToolServerChanged(server="build"))
        await wait_until(pilot, lambda: not tab.rows)
        assert "Press a to add one" in details(tab) and tab.heading().plain == " MCP servers"


@screens(light=True)
async def test_how_it_looks(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = Window(theme=theme, results={calls.ListServers(): calls.ServerList(ROWS)})
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot)
        await pilot.press("down", "down")
        await pilot.pause()
        snap(app)

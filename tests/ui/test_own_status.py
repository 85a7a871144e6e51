"""The window's state for people's own bars: what their command reads, and what of its output is shown."""

from pathlib import Path

import pytest
from textual.widgets import Static

from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.hub_events import BranchChanged
from gshtui.settings.model import Settings
from gshtui.settings.settings_tables import Sandbox, Ui
from gshtui.ui.window.header import HeaderState, reduce
from gshtui.ui.window.own_status import options, status_data
from tests.kit.window import Window

READS = "read -r json; case $json in *'\"branch\": \"topic\"'*'\"waiting\": 0'*) printf '%b' "


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (rf"{READS} '\n\033[31mcalm\033[0m \033]2;title\007now\nsecond line' ;; esac", "calm now"),
        ("echo gone; exit 3", "status line: it ended with code 3"),
        ("head -c 100000 /dev/zero | tr '\\0' x", "x" * 399 + "…"),
        ("true", ""),
    ],
)
async def test_the_first_line_of_a_command_is_shown_and_harmless(command: str, shown: str, tmp_path: Path) -> None:
    app = Window(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await app.workers.wait_for_complete()
        assert app.bridge.hub is not None and not app.bench.query("#own-status")
        ui, sandbox = Ui(status_line=command), Sandbox(enabled=False)
        app.bridge.hub.settings = Settings.model_construct(ui=ui, sandbox=sandbox)  # pyright: ignore[reportAttributeAccessIssue]
        app.feed(BranchChanged(branch="topic"))
        while not app.bench.query("#own-status"):
            await pilot.pause()
        row = app.bench.query_one("#own-status", Static)
        assert str(row.content).strip() == shown
        assert row.region.height <= 1 and app.bench.input.region.bottom < 30


def test_options_of_tmux_hold_nothing_that_a_bar_would_expand() -> None:
    data = status_data(HeaderState("#(rm -rf ~)", "#{pane_id}"), "/src", "s1")
    values = options(data)
    assert values["@gsh_project"] == "(rm -rf ~)" and values["@gsh_branch"] == "{pane_id}"
    assert values["@gsh_waiting"] == "0" and values["@gsh_mode"] == ""
    asks = AgentStatusChanged(agent="main", status="waiting")
    asking = status_data(reduce(HeaderState("aurora"), asks), "/src", "s1")
    assert options(asking)["@gsh_status"] == "needs you" and asking["gsh"]["status"] == "waiting", "words for people"
    assert data["workspace"] == {"current_dir": "/src", "project_dir": "/src"} and data["session_id"] == "s1"

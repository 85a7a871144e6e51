"""An agent's terminal on the whole screen: inside its tmux the person is switched, elsewhere the window says how."""

from pathlib import Path

import pytest
from textual.app import App

from gshtui.tmux.mirror import Mirror
from gshtui.tmux.quoting import command
from gshtui.tmux.server import TmuxServer
from gshtui.ui.terminal.terminals import TmuxTerminal
from tests.kit.tmux import eventually, tmux
from tests.real.test_attach_client import person, sessions, spawned

__all__ = ["tmux"]
pytestmark = pytest.mark.tmux


async def test_inside_the_same_tmux_the_person_is_switched_and_told_the_way_back(
    tmux: TmuxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = await spawned(tmux, "desk", tmp_path)
    terminal = TmuxTerminal(tmux, Mirror(tmux), await spawned(tmux, "gsh-agent-0001", tmp_path), "gsh-agent-0001")
    (told,) = await tmux.connection.ask(
        [command("display-message", "-p", "-t", here, "#{socket_path},#{pid},#{session_id}")]
    )
    monkeypatch.setenv("TMUX", told.lines[0].replace("$", ""))
    with person(tmux, "desk", tmp_path):
        await eventually(lambda: sessions(tmux), until=lambda seen: seen == ["desk"])
        said = await terminal.visit(App[None]())
        assert "now shows gsh-agent-0001" in said and "to come back" in said
        await eventually(lambda: sessions(tmux), until=lambda seen: seen == ["gsh-agent-0001"])


async def test_a_window_without_a_terminal_of_its_own_names_the_line_that_attaches(
    tmux: TmuxServer, tmp_path: Path
) -> None:
    terminal = TmuxTerminal(tmux, Mirror(tmux), await spawned(tmux, "gsh-agent-0001", tmp_path), "gsh-agent-0001")
    app = App[None]()
    async with app.run_test():
        said = await terminal.visit(app)
    assert said.endswith(f"run: {tmux.attach_line('gsh-agent-0001')}")
    assert await sessions(tmux) == []

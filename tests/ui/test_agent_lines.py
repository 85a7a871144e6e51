"""Lines about agents in the window: attaching really attaches, the palette opens terminals, looking marks as read."""

from gshtui.commands.declaration import AttachView
from gshtui.fleet.core import agent_calls as calls
from gshtui.fleet.core.agent_states import AgentState
from gshtui.ui.window.palette import listed_entries
from tests.kit.fake_hub import Answer
from tests.kit.recorded_fleet import row
from tests.kit.window import at_rest, settled
from tests.ui.test_agents_pane import Listening

AGENTS = [
    row("0002", "lexer\x1b[31m", status="tool", pane="%2", kind="cli"),
    row("0003", "gone", status="lost", pane="%3"),
    row("0004", "without", status="idle", pane=""),
]


async def test_a_line_that_attaches_does_so_in_this_window() -> None:
    attach = calls.AttachAgent(agent="2")
    app = Listening(
        values={"agent attach 2": attach}, results={attach: Answer(text="`tmux …`", view=AttachView("0002"))}
    )
    async with at_rest(app, (120, 40)) as pilot:
        app.run_command("agent attach 2")
        await settled(pilot)
        assert app.opened == [("0002", True)]
        app.run_command("agent show 2")
        await settled(pilot)
        assert app.opened == [("0002", True)]


async def test_the_palette_opens_the_terminal_of_every_agent_that_has_one() -> None:
    app = Listening(results={calls.ListAgents(windows=False): calls.AgentList([*map(AgentState, AGENTS)])})
    async with at_rest(app, (120, 40)) as pilot:
        found = {entry.label: entry.run for entry in await listed_entries(app) if entry.id.startswith("agent:")}
        assert len(found) == 1
        assert all(name.isprintable() for name in found)
        next(iter(found.values()))()
        await settled(pilot)
        assert app.opened == [("0002", False)]

"""What the terminal shows once the window is closed."""

from typing import Any

from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.agent_reducer import local_row
from gshtui.bus.events.hub_events import HubStarted
from gshtui.ui.agents.agents_state import AgentView
from gshtui.ui.window.header import HeaderState, reduce
from gshtui.ui.window.window_run import farewell, staying

OWN = local_row("main", 0.0)


def said(known_cost: float = 0.0, turn: str = "", **row: Any) -> list[str]:
    fields = {"session": "1m8x", "tokens": 12_345, "cost": known_cost, **row}
    view = AgentView(AgentRow(id="main", name="main", **fields), known_cost=known_cost, turn=turn)
    return farewell(view).splitlines()


def test_it_says_how_to_come_back_and_what_it_cost() -> None:
    back, used = said(0.25, provider="anthropic")
    assert back.endswith("gsh-tui --resume 1m8x")
    assert used == "It has used 12.3k tokens for $0.25."


def test_a_price_that_is_not_known_is_not_hidden_and_none_is_not_said() -> None:
    assert said(0.25, cost=None)[1] == "It has used 12.3k tokens for $0.25+."
    assert said(provider="ollama")[1] == "It has used 12.3k tokens."
    assert len(said(provider="offline")) == 1, "what no model was sent are no tokens"


def test_a_window_without_a_turn_says_nothing() -> None:
    assert farewell(None) == ""
    assert said(tokens=0) == said(session="") == []


def test_a_window_that_is_left_in_the_midst_of_its_first_turn_says_how_to_come_back() -> None:
    assert said(tokens=0, turn="1m8y") == ["To continue this conversation: gsh-tui --resume 1m8x"]


def test_a_turn_that_goes_on_is_said_first() -> None:
    view = AgentView(AgentRow(id="main", name="main", session="1m8x", tokens=5), turn="t")
    assert farewell(view, goes_on=True).splitlines()[0] == "Its turn goes on: `gsh-tui` in this folder shows it again."


def test_agents_that_outlive_the_window_are_counted_and_those_that_ask_too() -> None:
    def said(*rows: AgentRow) -> str:
        begun = reduce(HeaderState("p"), HubStarted(project="/p", cwd="/p"))
        return staying(replace(begun.agents, agents={row.id: AgentView(row) for row in (OWN, *rows)}))

    def one(id: str, status: str, **row: Any) -> AgentRow:
        return AgentRow(id=id, name=id, runtime="tmux", status=status, home="/p", **row)

    rests, asks, works = one("2", "idle", unread=1), one("3", "waiting", needs_you=True), one("4", "tool")
    assert said(one("1", "done"), replace(asks, home="/other")) == ""
    assert said(rests) == "1 agent open (none working): `gsh-tui agent ls` to list them.\n"
    assert said(rests, asks).startswith("2 agents open (1 needs you): ")
    assert said(rests, asks, works, one("5", "thinking")).startswith("4 agents open (2 working, 1 needs you): ")

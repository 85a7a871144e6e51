"""The side panes' and the header's reducers: pure, and what they say of recorded events."""

from gshtui.bus.context_data import Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    ContextAssembled,
    ModelChanged,
    PromptQueued,
    PromptWithdrawn,
    SectionSize,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from gshtui.bus.events.context_events import ContextCut, ContextTuned, CutUndone
from gshtui.bus.events.hub_events import BranchChanged, HubStarted, PartFailed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.messages import Usage
from gshtui.ui.agents import agents_state
from gshtui.ui.agents.agents_state import AgentsState, AgentView
from gshtui.ui.context import context_pane, timeline_state
from gshtui.ui.context.context_pane import ContextState
from gshtui.ui.context.timeline_state import KEPT, TimelineState
from gshtui.ui.window import header
from gshtui.ui.window.header import HeaderState


def assembled(iteration: int, tokens: int, agent: str = "main", turn: str = "t1") -> ContextAssembled:
    sections = (SectionSize("system", 100), SectionSize("history", tokens - 100))
    return ContextAssembled(
        agent=agent, session="s", turn=turn, iteration=iteration, sections=sections, tokens=tokens, window=200_000
    )


def used(iteration: int, usage: Usage, cost: float | None = 0.5, turn: str = "t1") -> UsageReported:
    return UsageReported(
        agent="main", session="s", turn=turn, iteration=iteration, provider="p", model="m", usage=usage, cost=cost
    )


def agents(*events: Event) -> AgentView:
    state = AgentsState()
    for event in events:
        state = agents_state.reduce(state, event)
    return state.agents["main"]


def test_an_agent_comes_with_its_name_and_model() -> None:
    agent = agents(
        AgentAdded(agent="main", name="Main", at=5.0),
        ModelChanged(agent="main", provider="p", model="m", window=1_000, label="The Model"),
    )
    assert (agent.row.name, agent.model, agent.row.window, agent.since) == ("Main", "The Model", 1_000, 5.0)


def test_the_age_of_a_status_is_that_of_its_first_report() -> None:
    thinking = AgentStatusChanged(agent="main", status="thinking", at=10.0)
    again = AgentStatusChanged(agent="main", status="thinking", doing="reads", at=12.0)
    tool = AgentStatusChanged(agent="main", status="tool", source="pane", at=20.0)
    assert (agents(thinking, again).since, agents(thinking, again).row.doing) == (10.0, "reads")
    assert (agents(thinking, again, tool).since, agents(thinking, again, tool).row.status_source) == (20.0, "pane")


def test_of_a_long_answer_the_end_is_kept() -> None:
    said = "word after word\n" * 500 + "That is all."
    agent = agents(TurnFinished(agent="main", session="s", turn="t", stop="end", text=said))
    assert agent.row.said == "That is all."


def test_the_meter_shows_an_estimate_until_the_provider_has_counted() -> None:
    before = agents(assembled(1, 4_000))
    assert (before.row.context, before.exact, before.row.window) == (4_000, False, 200_000)
    after = agents(assembled(1, 4_000), used(1, Usage(input=3_000, output=200, cache_read=900)))
    assert (after.row.context, after.exact, after.row.tokens) == (4_100, True, 4_100)


def test_cost_adds_up_and_says_when_part_of_it_is_unknown() -> None:
    known = agents(used(1, Usage(input=1)), used(2, Usage(input=1)))
    assert (known.row.cost, known.known_cost, known.cost_known) == (1.0, 1.0, True)
    unknown = agents(used(1, Usage(input=1)), used(2, Usage(input=1), cost=None))
    assert (unknown.row.cost, unknown.known_cost, unknown.cost_known) == (None, 0.5, False)


def test_prompts_that_wait_are_counted() -> None:
    queued, other = (PromptQueued(agent="main", prompt=name, text="x") for name in "pq")
    assert agents(queued, other, queued, PromptWithdrawn(agent="main", prompt="p")).queued == 1
    assert agents(queued, TurnStarted(agent="main", session="s", turn="t", prompt="p")).queued == 0


def test_a_turn_makes_busy_and_its_end_idle() -> None:
    started = TurnStarted(agent="main", session="s", turn="t", prompt="p")
    idle = AgentStatusChanged(agent="main", status="idle")
    assert agents(idle, started).busy
    assert not agents(idle, started, TurnFinished(agent="main", session="s", turn="t", stop="end")).busy


def test_another_conversation_starts_counting_anew() -> None:
    opened = SessionOpened(agent="main", session="other")
    agent = agents(used(1, Usage(input=9)), opened)
    assert (agent.row.context, agent.row.cost) == (0, 0.0)


def test_the_context_pane_shows_the_last_assembly() -> None:
    state = ContextState("main")
    for event in (assembled(1, 4_000), used(1, Usage(input=10)), assembled(2, 6_000)):
        state = context_pane.reduce(state, event)
    assert state.sections == (("system", 100), ("history", 5_900))
    assert state.usage is None and state.iteration == 2 and state.requests == 1


def test_after_a_cut_and_its_undoing_the_sizes_are_those_of_the_next_request() -> None:
    small = (SectionSize("system", 100), SectionSize("history", 900))
    large = (SectionSize("system", 100), SectionSize("history", 5_900))
    receipt = Receipt("compact", "main", "s", id="c", tokens_before=6_000, tokens_after=1_000)
    cut = ContextCut(agent="main", session="s", receipt=receipt, sections=small)
    undone = CutUndone(agent="main", session="s", cut="c", tokens=6_000, sections=large)
    said: list[Event] = [assembled(1, 6_000), used(1, Usage(input=6_200, output=40))]
    for event, tokens, sections in ((cut, 1_000, small), (undone, 6_000, large)):
        said.append(event)
        pane = ContextState("main")
        for one in said:
            pane = context_pane.reduce(pane, one)
        assert (pane.used, pane.tokens) == (tokens, tokens)
        assert pane.sections == tuple((section.name, section.tokens) for section in sections)
        assert (agents(*said).row.context, agents(*said).exact) == (tokens, False)


def test_a_changed_threshold_is_known_at_once_wherever_it_is_shown() -> None:
    said = [assembled(1, 6_000), ContextTuned(agent="main", session="s", trigger=70_000)]
    pane, line = ContextState("main"), TimelineState("main")
    for event in said:
        pane, line = context_pane.reduce(pane, event), timeline_state.reduce(line, event)
    assert (pane.trigger, line.trigger, agents(*said).trigger) == (70_000, 70_000, 70_000)


def test_the_context_of_other_agents_is_theirs() -> None:
    state = ContextState("main")
    assert context_pane.reduce(state, assembled(1, 4_000, agent="other")) is state


def test_the_timeline_has_one_mark_an_iteration() -> None:
    state = TimelineState("main")
    for event in (assembled(1, 4_000), used(1, Usage(input=4_200)), assembled(2, 6_000)):
        state = timeline_state.reduce(state, event)
    assert [(mark.iteration, mark.tokens, mark.exact) for mark in state.marks] == [(1, 4_200, True), (2, 6_000, False)]


def test_the_timeline_marks_how_a_turn_ended() -> None:
    state = TimelineState("main")
    for event in (assembled(1, 4_000), TurnFinished(agent="main", session="s", turn="t1", stop="interrupted")):
        state = timeline_state.reduce(state, event)
    assert state.marks[-1].end == "interrupted"


def test_the_timeline_stays_small() -> None:
    state = TimelineState("main")
    for number in range(KEPT + 50):
        state = timeline_state.reduce(state, assembled(number, 1_000))
    assert len(state.marks) == KEPT and state.marks[-1].iteration == KEPT + 49


def test_the_header_knows_where_it_is_and_what_does_not_run() -> None:
    state = HeaderState("here")
    state = header.reduce(state, PartFailed(part="store", why="disk full"))
    state = header.reduce(state, HubStarted(project="/src/aurora", branch="main"))
    assert (state.project, state.branch, state.hub) == ("aurora", "main", "partial")
    assert header.reduce(state, BranchChanged(branch="other")).branch == "other"
    assert header.reduce(HeaderState("here"), HubStarted()).hub == "ready"

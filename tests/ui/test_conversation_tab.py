"""The tab of one of our own agents: its conversation from the record and its events, and who gets what is typed."""

import asyncio
from collections.abc import Sequence
from typing import Any

from textual.pilot import Pilot

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    InterruptRequested,
    IterationStarted,
    MessageAppended,
    PromptSubmitted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.fleet_events import AgentChanged, AgentEnded
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.messages import Message, Text, ToolCall
from gshtui.fleet.core.agent_calls import SendToAgent
from gshtui.ui.conversation.conversation_tab import ConversationTab
from gshtui.ui.conversation.pickers import ModelsScreen
from gshtui.ui.kit.keys.key_bar import KeyBar
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widget_messages import OpenConversation, OpenTerminal
from gshtui.ui.prompt.prompt_input import PromptInput
from gshtui.ui.prompt.prompt_status import PromptStatus
from tests.kit.snapshots import Snap, screens, snap
from tests.kit.terminal_agents import wait_until
from tests.kit.transcript_host import wait_until_drawn
from tests.kit.window import NOW, Window
from tests.ui.test_conversation_pane import Row, record

__all__ = ["snap"]
FOUND = "## The fault\n\n`add` **subtracts**:\n\n```python\ndef add(a, b):\n    return a - b\n```\n\nI'll "
FIX, SESSION = "0001", "s-fix"


def row(**more: Any) -> AgentRow:
    usual: dict[str, Any] = {
        "status": "thinking",
        "status_source": "event",
        "status_at": NOW - 4,
        "session": SESSION,
        "pane": "%1",
        "socket": "gsh",
        "tmux_session": "gsh-agent-0001",
        "model": "claude-sonnet-4-5",
        "cwd": "/src/aurora",
    }
    return AgentRow(id=FIX, name="fix", **(usual | more))


class Server:
    """A tmux server that nobody connects to."""

    def attach_line(self, session: str) -> str:
        return f"tmux -L gsh attach -t ={session}"


class Fleet:
    """One agent of ours."""

    def __init__(self, agent: AgentRow) -> None:
        self.agent = agent

    @property
    def terminals(self) -> Any:
        return self

    def server(self, socket: str) -> Server:
        return Server()

    def get(self, id: str) -> AgentRow | None:
        return self.agent if id == FIX else None


class AgentWindow(Window):
    """A window on a hub with one agent of ours, and its record."""

    asked: list[str]
    """The agents whose terminals were to be shown."""

    def on_open_terminal(self, message: OpenTerminal) -> None:
        self.asked = [message.agent]
        message.prevent_default()

    async def open(self, pilot: Pilot[int], agent: AgentRow | None = None) -> ConversationTab:
        """The agent's tab, with the newest page of its conversation."""
        await self.begin(pilot, agent or row())
        self.asked = []
        self.post_message(OpenConversation(agent or row()))
        return await self.opened(pilot)

    async def begin(self, pilot: Pilot[int], agent: AgentRow) -> None:
        await wait_until(pilot, lambda: self.hub is not None and self.bench.query(Transcript))
        assert self.hub is not None
        self.hub.fleet = Fleet(agent)
        self.feed(AgentChanged(agent=FIX, row=agent))

    async def opened(self, pilot: Pilot[int]) -> ConversationTab:
        await wait_until(pilot, lambda: self.screen.query(ConversationTab))
        tab = self.screen.query_one(ConversationTab)
        await drawn(pilot, tab)
        return tab


def window(stored: Sequence[Row] = (), *, linked: bool = True, reading: asyncio.Event | None = None) -> AgentWindow:
    """A window on a record; `linked`: the agent's events arrive in it. Reading the record waits for `reading`."""
    return AgentWindow(stored=list(stored), linked={FIX} if linked else set(), reading=reading)


def shown(tab: ConversationTab) -> str:
    """What is on the screen of its transcript."""
    transcript = tab.conversation.transcript
    return "\n".join(transcript.row_strip(y).text.rstrip() for y in range(transcript.size.height))


def line(tab: ConversationTab) -> str:
    return str(tab.query_one(".tab-title").render())


async def drawn(pilot: Pilot[int], tab: ConversationTab) -> str:
    await pilot.pause()
    await wait_until_drawn(pilot, tab.conversation.transcript)
    return shown(tab)


def turn(*events: Event) -> tuple[Event, ...]:
    return (
        TurnStarted(agent=FIX, session=SESSION, turn="t1", prompt="p1", text="fix add", at=NOW - 4),
        IterationStarted(agent=FIX, session=SESSION, turn="t1", iteration=1, message="live"),
        *events,
    )


def began(call: str, subject: str) -> ToolStarted:
    return ToolStarted(agent=FIX, session=SESSION, message="m0", call=call, tool="bash", subject=subject)


def ended(call: str, content: str, tool: str = "bash") -> ToolFinished:
    return ToolFinished(agent=FIX, session=SESSION, call=call, tool=tool, content=content, status="ok", duration=0.2)


def said(text: str, message: str = "live") -> TextDelta:
    return TextDelta(agent=FIX, session=SESSION, message=message, text=text)


async def test_it_opens_at_the_end_of_a_long_conversation_and_names_its_agent() -> None:
    app = window(record(10_000))
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await app.open(pilot)
        assert "needle in output 9997" in shown(tab) or "prompt 9999" in shown(tab)
        assert "thinking" in line(tab) and "fix" in line(tab) and "attach -t =gsh-agent-0001" in line(tab)
        prompt = app.bench.input
        assert isinstance(prompt, PromptInput) and prompt.has_focus
        assert prompt.addressee.title().plain == "to fix · Claude Sonnet 4.5"
        end = shown(tab)
        await pilot.press("pageup")
        assert await drawn(pilot, tab) != end


async def test_a_turn_in_progress_is_shown_from_its_beginning_and_goes_on() -> None:
    call = ToolCall("c1", "bash", {"command": "slow"})
    answer = Message("m0", "assistant", (Text("Reading first."), call))
    reading = asyncio.Event()
    app = window([Row(1, Message("p1", "user", (Text("fix add"),))), Row(2, answer)], reading=reading)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.begin(pilot, row())
        app.feed(
            *turn(said("Rea", "m0")), MessageAppended(agent=FIX, session=SESSION, message=answer), began("c1", "slow")
        )
        app.post_message(OpenConversation(row()))
        await wait_until(pilot, lambda: app.screen.query(ConversationTab))
        app.feed(ended("c1", "made"), said("Now it "))
        reading.set()
        tab = await app.opened(pilot)
        app.feed(said("works."))
        await wait_until(pilot, lambda: "works." in shown(tab))
        seen = shown(tab)
        order = [seen.index(part) for part in ("fix add", "Reading first.", "slow", "made", "Now it works.")]
        assert order == sorted(order)
        assert seen.count("fix add") == 1 and "lost" not in seen


async def test_calls_that_wait_in_a_turn_elsewhere_are_not_lost() -> None:
    calls = (ToolCall("c1", "bash", {"command": "one"}), ToolCall("c2", "bash", {"command": "two"}))
    stored = [Row(1, Message("p1", "user", (Text("both"),))), Row(2, Message("m0", "assistant", calls))]
    app = window(stored, linked=False)
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await app.open(pilot)
        assert "lost" not in shown(tab) and shown(tab).count("waiting") == 2


async def test_a_question_marks_its_call_and_stands_below_the_tab() -> None:
    call = ToolCall("c1", "edit", {"path": "calc.py"})
    stored = [Row(1, Message("m0", "assistant", (call,)))]
    app = window(stored)
    async with app.run_test(size=(100, 40)) as pilot:
        tab = await app.open(pilot)
        asks = ApprovalRequested(
            approval="a1", agent=FIX, session=SESSION, call="c1", tool="edit", subject="calc.py", effect="write"
        )
        app.feed(*turn(), asks)
        seen = await drawn(pilot, tab)
        assert "edit calc.py" in seen and "waiting" in seen
        assert app.bench.query_one("#approvals").display


async def test_what_is_typed_goes_to_the_agent_and_escape_interrupts_it() -> None:
    app = window(record(3))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.open(pilot)
        await pilot.press(*"now tests", "enter")
        await pilot.pause()
        hub = app.hub
        assert hub is not None
        sent = hub.intents(PromptSubmitted)
        assert [(one.agent, one.text) for one in sent if isinstance(one, PromptSubmitted)] == [(FIX, "now tests")]
        app.run_command("model opus")
        await wait_until(pilot, lambda: hub.fronts)
        await pilot.press("f2")
        await wait_until(pilot, lambda: len(hub.fronts) > 1)
        assert [front for _, front in hub.fronts] == [FIX, FIX], "it marks the model of the agent it changes"
        await wait_until(pilot, lambda: isinstance(app.screen, ModelsScreen))
        await pilot.press("escape")
        await pilot.press("escape")
        await wait_until(pilot, lambda: hub.intents(InterruptRequested))
        assert [one.agent for one in hub.intents(InterruptRequested) if isinstance(one, InterruptRequested)] == [FIX]
        await pilot.press("alt+1")
        await wait_until(pilot, lambda: not app.bench.addressee.mail)
        assert app.addressed == "main"
        app.run_command("model haiku")
        await wait_until(pilot, lambda: len(hub.fronts) > 2)
        assert [front for _, front in hub.fronts] == [FIX, FIX, "main"]


async def test_an_agent_that_does_not_listen_gets_it_as_mail() -> None:
    app = window(record(3), linked=False)
    async with app.run_test(size=(100, 30)) as pilot:
        await app.open(pilot)
        await pilot.press(*"hello", "enter")
        hub = app.hub
        assert hub is not None
        await wait_until(pilot, lambda: any(isinstance(one, SendToAgent) for one in hub.ran))
        assert not hub.intents(PromptSubmitted)


async def test_the_line_below_the_input_says_what_the_agent_of_the_tab_does() -> None:
    app = window(record(3))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.open(pilot)
        app.feed(*turn(), AgentStatusChanged(agent=FIX, status="tool", doing="bash make"))
        status = app.bench.query_one(PromptStatus)
        assert "Working: bash make" in str(status.render())
        await pilot.press("alt+1")
        await wait_until(pilot, lambda: "Working" not in str(status.render()))
        app.feed(AgentStatusChanged(agent=FIX, status="lost"))
        status.turn_to(FIX)
        assert not status.state.busy


async def test_the_line_at_the_top_tells_the_figures_of_the_agent_in_front() -> None:
    app = window(record(3))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.open(pilot)
        app.feed(AgentChanged(agent=FIX, row=row(tokens=9, cost=1.25)))
        await wait_until(pilot, lambda: "$1.25" in str(app.bench.header.render()))
        assert "main:" not in str(app.bench.header.render()), "its frame says whose they are"
        await pilot.press("alt+1")
        await wait_until(pilot, lambda: "$1.25" not in str(app.bench.header.render()))


async def test_the_terminal_is_one_key_away_and_the_footer_names_it() -> None:
    app = window(record(3))
    async with app.run_test(size=(120, 30)) as pilot:
        tab = await app.open(pilot)
        assert "alt+s terminal or chat" in str(app.bench.query_one(PromptStatus).render())
        await pilot.press("alt+s")
        await wait_until(pilot, lambda: app.asked == [FIX])
        await pilot.press("f6")
        await wait_until(pilot, lambda: tab.conversation.transcript.has_focus)
        footer = str(app.bench.query_one(KeyBar).render())
        assert "s terminal" in footer and "x close" in footer
        await pilot.press("x")
        await wait_until(pilot, lambda: not app.screen.query(ConversationTab))
        assert "alt+s" not in str(app.bench.query_one(PromptStatus).render())


async def test_the_end_of_the_process_ends_what_runs() -> None:
    app = window(record(3))
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await app.open(pilot)
        app.feed(*turn(said("half an ans"), began("c", "make")))
        app.feed(AgentEnded(agent=FIX, status="failed", exit_status=137))
        seen = await drawn(pilot, tab)
        assert "half an ans" in seen and "lost" in seen and "ended by signal 9" in seen


async def test_a_new_process_shows_the_record_and_what_it_says_from_then_on() -> None:
    app = window(record(3))
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await app.open(pilot)
        app.feed(*turn(said("never stored")))
        app.feed(AgentEnded(agent=FIX, status="failed", exit_status=137))
        app.feed(SessionOpened(session=SESSION, agent=FIX, messages=3, resumed=True), *turn(said("again")))
        seen = await drawn(pilot, tab)
        assert "never stored" not in seen and "prompt 0" in seen and seen.rstrip().endswith("again")


async def test_an_agent_of_another_window_is_read_from_the_record() -> None:
    app = window(record(3), linked=False)
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await app.open(pilot)
        assert app.hub is not None
        app.hub.stored.append(Row(3, Message("m3", "user", (Text("from another window"),))))
        await wait_until(pilot, lambda: "from another window" in shown(tab))
        assert shown(tab).count("from another window") == 1


async def test_an_agent_gets_its_conversation_later_than_its_tab() -> None:
    app = window(record(3))
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await app.open(pilot, row(session="", status="starting"))
        assert "Type below what fix should do" in shown(tab)
        app.feed(AgentChanged(agent=FIX, row=row()))
        await wait_until(pilot, lambda: "prompt 0" in shown(tab))


@screens(light=True)
async def test_pictures(snap: Snap, size: tuple[int, int], theme: str) -> None:
    stored = [
        Row(1, Message("p1", "user", (Text("Make `add` add, and test it."),))),
        Row(2, Message("m0", "assistant", (Text("I'll read it first."), ToolCall("c0", "read", {"path": "calc.py"})))),
    ]
    app = AgentWindow(stored=list(stored), linked={FIX}, theme=theme)
    async with app.run_test(size=size) as pilot:
        tab = await app.open(pilot)
        app.feed(
            *turn(
                ended("c0", "1│def add(a, b):\n2│    return a - b", "read"),
                said(FOUND),
            ),
            AgentStatusChanged(agent=FIX, status="thinking", at=NOW - 4),
        )
        await drawn(pilot, tab)
        snap(app)

"""Calls in the window: the tab of one with what is said there, the list to choose from, and what is typed."""

import msgspec
from textual.pilot import Pilot

from gshtui.bus.call_data import CallInfo
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.call_events import (
    CallChanged,
    CallMessageAdded,
    CallOpenRequested,
    CallRemoved,
    PresenceReported,
)
from gshtui.calls.call_values import CallListing, JoinCall, ListCalls, NoteRun, PostMessage
from gshtui.ui.agents.agents_pane import AgentsPane
from gshtui.ui.calls.call_tab import CallsScreen, CallTab
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widget_messages import JoinTheCall
from gshtui.ui.prompt.prompt_input import PromptInput
from tests.kit.fake_hub import Answer
from tests.kit.recorded_calls import LONG, TALK, audio, pages, said
from tests.kit.snapshots import Snap, screens, snap
from tests.kit.terminal_agents import wait_until
from tests.kit.transcript_host import wait_until_drawn
from tests.kit.window import NOW, Window

__all__ = ["snap"]


async def opened(app: Window, pilot: Pilot[int]) -> CallTab:
    await wait_until(pilot, lambda: app.hub is not None and app.bench.query(Transcript))
    app.feed(CallOpenRequested(call="audio"))
    await wait_until(pilot, lambda: app.screen.query(CallTab))
    tab = app.screen.query_one(CallTab)
    await drawn(pilot, tab)
    return tab


async def drawn(pilot: Pilot[int], tab: CallTab) -> str:
    await pilot.pause()
    await wait_until_drawn(pilot, tab.transcript)
    return shown(tab)


def shown(tab: CallTab) -> str:
    rows = range(tab.transcript.size.height)
    return "\n".join(tab.transcript.row_strip(y).text.rstrip() for y in rows)


def line(tab: CallTab) -> str:
    return str(tab.query_one(".tab-title").render())


def listed(pane: AgentsPane) -> str:
    body = pane.query_one(".pane-body")
    return "\n".join(body.render_line(y).text.rstrip() for y in range(body.size.height))


async def test_it_opens_at_the_end_of_a_long_call_and_reads_older_messages_on_demand() -> None:
    app = Window(results=pages(LONG))
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await opened(app, pilot)
        await wait_until(pilot, lambda: "message number 449" in shown(tab))
        tab.transcript.focus()
        await pilot.press("ctrl+home")
        await wait_until(pilot, lambda: "message number 0" in shown(tab) or bool(tab.transcript.action_home()))
        assert "message number 0" in shown(tab)


async def test_what_is_said_appears_once_under_its_author_and_in_order() -> None:
    app = Window(results=pages(TALK))
    async with app.run_test(size=(100, 44)) as pilot:
        tab = await opened(app, pilot)
        app.feed(
            CallMessageAdded(call="audio", message=TALK[3]),
            CallMessageAdded(call="audio", message=said(4, "Then \x1b[31mJACK\x1b[0m **it** is.", "bo")),
            CallMessageAdded(call="other", message=said(5, "elsewhere", "bo")),
        )
        await wait_until(pilot, lambda: "it is" in shown(tab))
        seen = shown(tab)
        assert seen.count("I prefer JACK.") == 1 and "elsewhere" not in seen and "\x1b" not in seen
        order = ("amy invited claude.", "@claude how", "claude · 2", "answers 1", "jack_connect", "bo · 3", "bo · 4")
        places = [seen.index(part) for part in order]
        assert places == sorted(places)


async def test_the_line_above_says_who_is_there_and_what_they_do() -> None:
    app = Window(results=pages(TALK))
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await opened(app, pilot)
        assert "audio" in line(tab) and "JACK routing" in line(tab) and "amy, claude, bo" in line(tab)
        app.feed(
            AgentStatusChanged(agent="0001", status="thinking", source="event"),
            PresenceReported(call="audio", member="bo", name="bo", doing="at lunch"),
        )
        await wait_until(pilot, lambda: "claude (thinking), bo (at lunch)" in line(tab))
        app.feed(AgentStatusChanged(agent="0001", status="idle", source="event"))
        await wait_until(pilot, lambda: "claude, bo" in line(tab))
        app.feed(CallRemoved(call="audio"))
        await wait_until(pilot, lambda: "This call and its messages were removed" in shown(tab))


async def test_what_is_typed_is_said_there_and_the_chat_gets_its_own_again() -> None:
    app = Window(results=pages(TALK) | {PostMessage(call="audio", text="@all listen | now; $x"): Answer(shown=True)})
    async with app.run_test(size=(100, 30)) as pilot:
        tab = await opened(app, pilot)
        prompt = app.bench.input
        assert isinstance(prompt, PromptInput) and prompt.has_focus
        assert prompt.addressee.title().plain == "in audio · call"
        prompt.insert("@all listen | now; $x")
        await pilot.press("escape", "enter")
        assert app.hub is not None
        hub = app.hub
        await wait_until(pilot, lambda: PostMessage(call="audio", text="@all listen | now; $x") in hub.ran)
        assert app.show_outcome("/who", "amy and claude are here")
        await wait_until(pilot, lambda: "amy and claude are here" in shown(tab))
        assert prompt.addressee.call == "audio", "what is typed next is said here, too"
        prompt.insert("/ls src")
        await pilot.press("escape", "enter")
        await wait_until(pilot, lambda: NoteRun(call="audio", line="ls src") in hub.ran)
        tab.transcript.focus()
        await pilot.press("x")
        await wait_until(pilot, lambda: not app.screen.query(CallTab))
        assert prompt.addressee.call == ""


async def test_calls_are_listed_below_the_agents_and_chosen_from_a_list() -> None:
    listing = CallListing((CallInfo(name="lobby"), audio(4, seen=1)), "audio")
    app = Window(results=pages(TALK) | {ListCalls(): listing})
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: app.hub is not None and app.bench.query(Transcript))
        app.feed(
            CallChanged(call="lobby", data=CallInfo(name="lobby")), CallChanged(call="audio", data=audio(4, seen=1))
        )
        pane = app.bench.query_one(AgentsPane)
        await wait_until(pilot, lambda: "# audio  2 new" in listed(pane))
        assert listed(pane).index("# lobby") < listed(pane).index("# audio"), "it is always there"
        call = audio(4, seen=1)
        members = [msgspec.structs.replace(one, doing="typing", at=NOW) for one in call.members]
        busy = msgspec.structs.replace(call, members=tuple(members), pinned=("goals.md", "plan.md"))
        app.feed(CallChanged(call="audio", data=busy))
        await wait_until(pilot, lambda: "bo typing" in listed(pane) and "pinned: " in listed(pane))
        await pilot.press("alt+k")
        await wait_until(pilot, lambda: isinstance(app.screen, CallsScreen))
        assert isinstance(app.screen, CallsScreen)
        rows = [str(option.prompt) for option in app.screen.choices.options]
        assert any(all(one.name in row for one in members) for row in rows), "all members are named where they fit"
        await pilot.press("enter")
        assert app.hub is not None
        hub = app.hub
        await wait_until(pilot, lambda: JoinCall(call="audio") in hub.ran)
        app.post_message(JoinTheCall("lobby"))
        await wait_until(pilot, lambda: JoinCall(call="lobby") in hub.ran)


@screens()
async def test_pictures(snap: Snap, size: tuple[int, int], theme: str) -> None:
    app = Window(results=pages(TALK), theme=theme)
    async with app.run_test(size=size) as pilot:
        tab = await opened(app, pilot)
        app.feed(
            CallChanged(call="audio", data=audio(4)),
            AgentStatusChanged(agent="0001", status="thinking", source="event"),
        )
        await drawn(pilot, tab)
        snap(app)

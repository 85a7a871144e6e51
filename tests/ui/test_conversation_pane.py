"""The conversation pane: events in, older messages loaded as the reader goes back, a search line, honest failures."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, Static

from gshtui.bus.context_data import Receipt
from gshtui.bus.events.agent_events import (
    MessageAppended,
    ModelChanged,
    TextDelta,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandPrinted, InputCommandStarted
from gshtui.bus.messages import Message, Text, ToolCall, ToolResult
from gshtui.bus.shell_data import Ran, ShellRecord
from gshtui.ui.conversation.conversation_pane import PAGE, ConversationPane
from gshtui.ui.kit.bridge import EventConsumer
from gshtui.ui.kit.drawing.themes import ThemedApp
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widget_messages import ForContext
from gshtui.ui.kit.widgets.tabs import Deck
from gshtui.ui.window.first_frame import LOADING
from tests.kit.transcript_host import STYLES, screen_rows, wait_until_drawn


@dataclass
class Row:
    """A stored message."""

    seq: int
    message: Message


def record(count: int) -> list[Row]:
    """A conversation of so many messages."""
    made: list[Message] = []
    for n in range(count):
        if n % 3 == 0:
            made.append(Message(f"m{n}", "user", (Text(f"prompt {n}"),)))
        elif n % 3 == 1:
            made.append(
                Message(f"m{n}", "assistant", (Text(f"answer {n}"), ToolCall(f"c{n}", "bash", {"command": f"run {n}"})))
            )
        else:
            made.append(Message(f"m{n}", "tool", (ToolResult(f"c{n - 1}", "bash", f"needle in output {n}"),)))
    return [Row(seq, message) for seq, message in enumerate(made)]


class Host(ThemedApp[None]):
    """A conversation pane on a record."""

    CSS_PATH = [Path(STYLES) / "transcript.tcss"]

    def __init__(self, stored: Sequence[Row] = (), failure: Exception | None = None, ran: Sequence[Ran] = ()) -> None:
        super().__init__()
        self.theme = "gsh-dark"
        self.asked: list[int | None] = []
        self.wanted: list[tuple[str, str, str]] = []
        self._stored = stored
        self._failure = failure
        self._ran = ran
        self.pane = ConversationPane(self._load, self._load_ran)

    async def _load(self, session: str, before: int | None, limit: int) -> Sequence[Any]:
        self.asked.append(before)
        if self._failure is not None:
            raise self._failure
        return [row for row in self._stored if before is None or row.seq < before][-limit:]

    async def _load_ran(self, session: str, after: float, before: float) -> Sequence[Ran]:
        return [one for one in self._ran if after <= one.record.at < before]

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_for_context(self, message: ForContext) -> None:
        self.wanted.append((message.action, message.agent, message.about))

    async def opened(self, pilot: Pilot[None]) -> None:
        """The conversation is open, and its newest page is shown."""
        self.pane.consume([SessionOpened(session="s", agent="main", messages=len(self._stored))])
        await wait_until_drawn(pilot, self.pane.transcript)
        self.pane.transcript.focus()
        await pilot.pause()


async def test_it_is_a_consumer_and_says_what_will_appear() -> None:
    app = Host()
    async with app.run_test(size=(70, 8)) as pilot:
        assert isinstance(app.pane, EventConsumer)
        await app.opened(pilot)
        shown = " ".join(row.strip() for row in screen_rows(app.pane.transcript))
        assert "f8 start an agent · f3 resume a conversation · f2 choose a model" in shown
        assert app.asked == []


@pytest.mark.parametrize("provider", ["anthropic", "offline"])
async def test_a_new_conversation_says_what_this_is_and_one_next_step(provider: str) -> None:
    app = Host()
    async with app.run_test(size=(80, 12)) as pilot:
        await app.opened(pilot)
        app.pane.consume([ModelChanged(agent="main", provider=provider, model="m")])
        app.pane.suggest("Start in a project: cd PROJECT", "~/src/" + "a" * 100 + "/aurora")
        title, place, *rows = [row.strip() for row in screen_rows(app.pane.transcript) if row.strip()]
        assert place.startswith("~/src/aaa") and "a…a" in place and place.endswith("a/aurora")
        assert [title, *rows] == [
            "gsh-tui: one window for your shell and all your AI agents",
            "No model connected: alt+i to connect one." if provider == "offline" else "Start in a project: cd PROJECT",
        ]
        who: dict[str, Any] = {"agent": "main", "session": "s"}
        app.pane.consume([TurnStarted(turn="t", prompt="p", text="hello", **who)])
        await wait_until_drawn(pilot, app.pane.transcript)
        assert [row for row in screen_rows(app.pane.transcript) if row] == ["▌❯ hello"]


async def test_without_a_model_it_says_in_a_few_rows_what_to_do() -> None:
    app = Host()
    async with app.run_test(size=(80, 12)) as pilot:
        await app.opened(pilot)
        app.pane.consume([ModelChanged(agent="main", provider="offline", model="offline")])
        rows = [row.strip() for row in screen_rows(app.pane.transcript) if row.strip()]
        assert "No model connected" in rows[1] and "alt+i" in rows[1]
        assert len(rows) == 2, "one next step"
        app.pane.consume([ModelChanged(agent="0001", provider="offline", model="offline")])
        app.pane.consume([ModelChanged(agent="main", provider="anthropic", model="m")])
        assert "f8  start an agent" in " ".join(screen_rows(app.pane.transcript))


async def test_a_turn_from_the_prompt_to_its_end() -> None:
    app = Host()
    async with app.run_test(size=(60, 12)) as pilot:
        await app.opened(pilot)
        who: dict[str, Any] = {"agent": "main", "session": "s"}
        app.pane.consume([TurnStarted(turn="t", prompt="p", text="hello", **who)])
        app.pane.consume([TextDelta(message="m", text=f"**wor**{n} ", **who) for n in range(5)])
        whole = Message("m", "assistant", (Text("".join(f"**wor**{n} " for n in range(5))),))
        app.pane.consume([MessageAppended(message=whole, **who), TurnFinished(turn="t", stop="end", duration=2, **who)])
        await wait_until_drawn(pilot, app.pane.transcript)
        assert [row for row in screen_rows(app.pane.transcript) if row] == [
            "▌❯ hello",
            "wor0 wor1 wor2 wor3 wor4",
            "· 2.0 s",
        ]


async def test_the_newest_page_is_shown_and_older_ones_come_when_they_are_wanted() -> None:
    app = Host(record(3 * PAGE + 12))
    async with app.run_test(size=(60, 12)) as pilot:
        await app.opened(pilot)
        view = app.pane.transcript
        assert screen_rows(view)[-2].startswith("✓ bash run")
        assert app.asked == [None]
        for _ in range(6):
            await pilot.press("home")
            await wait_until_drawn(pilot, view)
        assert screen_rows(view)[0] == "▌❯ prompt 0"
        assert app.asked == [None, 2 * PAGE + 12, PAGE + 12, 12]
        assert len([sheet for sheet in view.document.sheets if sheet.entry.id.startswith("result/")]) == 0


async def test_a_record_that_cannot_be_read_is_said_and_the_pane_lives() -> None:
    app = Host(record(30), OSError("disk gone [/]"))
    async with app.run_test(size=(60, 12)) as pilot:
        await app.opened(pilot)
        shown = "\n".join(screen_rows(app.pane.transcript))
        assert "✗ Can't load older messages: disk gone [/]" in shown
        app.pane.consume([TurnStarted(agent="main", session="s", turn="t", prompt="p", text="still here")])
        await wait_until_drawn(pilot, app.pane.transcript)
        assert "▌❯ still here" in screen_rows(app.pane.transcript)


async def test_another_conversation_takes_the_place_of_the_first() -> None:
    app = Host(record(30))
    async with app.run_test(size=(60, 12)) as pilot:
        await app.opened(pilot)
        app.pane.consume([SessionOpened(session="other", agent="main")])
        await wait_until_drawn(pilot, app.pane.transcript)
        assert not app.pane.transcript.document.sheets


async def test_searching_goes_from_the_newest_place_back_and_opens_what_is_folded() -> None:
    app = Host(record(60))
    async with app.run_test(size=(60, 14)) as pilot:
        await app.opened(pilot)
        view = app.pane.transcript
        await pilot.press("slash", *"NEEDLE")
        await wait_until_drawn(pilot, view)
        while view.finder.search is None or not view.finder.search.done:
            await pilot.pause()
        await pilot.pause()
        count = app.pane.query_one("#search-count", Static)
        assert str(count.content) == "1 of 20"
        assert any("needle in output 59" in row for row in screen_rows(view))
        lit = [segment.text for y in range(14) for segment in view.row_strip(y) if _lit(segment.style, view)]
        assert set(lit) == {"needle"}
        await pilot.press("enter", "n")
        await pilot.pause()
        assert view.has_focus
        assert str(count.content) == "2 of 20" and any("needle in output 56" in row for row in screen_rows(view))
        await pilot.press("slash", "down")
        await pilot.pause()
        assert str(count.content) == "1 of 20"
        await pilot.press("enter", "n", "N")
        await pilot.pause()
        assert str(count.content) == "1 of 20"
        await pilot.press("escape")
        assert view.has_focus and view.finder.search is None
        assert not app.pane.query_one(Input).display or not app.pane.query_one("SearchLine").display


async def test_the_receipt_of_a_cut_is_one_key_away() -> None:
    app = Host(record(30))
    async with app.run_test(size=(60, 14)) as pilot:
        await app.opened(pilot)
        receipt = Receipt("prune", "main", "s", id="p1", tokens_before=9_000, tokens_after=5_000)
        app.pane.consume([ContextCut(agent="main", session="s", receipt=receipt)])
        await wait_until_drawn(pilot, app.pane.transcript)
        assert screen_rows(app.pane.transcript)[-1].startswith("── Pruned 9k → 5k tokens")
        await pilot.press("end", "enter")
        await pilot.pause()
        assert app.wanted == [("receipt", "main", "p1")]


async def test_a_search_without_a_hit_says_so() -> None:
    app = Host(record(9))
    async with app.run_test(size=(60, 14)) as pilot:
        await app.opened(pilot)
        await pilot.press("slash", *"[/zzz")
        await wait_until_drawn(pilot, app.pane.transcript)
        assert str(app.pane.query_one("#search-count", Static).content) == "nothing found"


def _lit(style: Any, view: Any) -> bool:
    palette = view.document.page.palette
    return style is not None and style.bgcolor in (palette.match.bgcolor, palette.match_here.bgcolor)


async def test_a_command_of_the_person_shows_the_end_of_what_it_prints_and_opens_to_all() -> None:
    app = Host()
    async with app.run_test(size=(60, 40)) as pilot:
        await app.opened(pilot)
        view = app.pane.transcript
        who: dict[str, Any] = {"agent": "main", "session": "s", "run": "r"}
        app.pane.consume([InputCommandStarted(command="seq 40", **who), InputCommandPrinted(text="1\n2\n", **who)])
        await wait_until_drawn(pilot, view)
        running = [row for row in screen_rows(view) if row]
        assert running[0].startswith("◐ ! seq 40") and running[1:] == ["  │ 1", "  │ 2"]
        printed = "\n".join(str(n) for n in range(1, 41))
        app.pane.consume([InputCommandFinished(status="error", text=printed, exit=3, duration=1.2, **who)])
        await wait_until_drawn(pilot, view)
        done = [row for row in screen_rows(view) if row]
        assert done[0].startswith("✗ ! seq 40") and done[0].endswith("40 lines exit 3 1.2 s ▸")
        assert done[1:] == [f"  │ {n}" for n in range(29, 41)]
        await pilot.press("end", "enter")
        await wait_until_drawn(pilot, view)
        await pilot.press("home")
        await wait_until_drawn(pilot, view)
        opened = [row for row in screen_rows(view) if row]
        assert opened[0].endswith("▾") and opened[1:4] == ["  ╷ output", "  │ 1", "  │ 2"]


async def test_stored_commands_come_with_the_page_of_their_time() -> None:
    stored = [Row(row.seq, msgspec.structs.replace(row.message, at=float(row.seq))) for row in record(PAGE + 30)]
    ran = [
        Ran(f"window-s.{n}", ShellRecord(shell="window-s", number=n, command=f"make {n}", at=at, exit=0, state="done"))
        for n, at in enumerate((-5.0, 10.5, 100.5, 1e9), 1)
    ]
    app = Host(stored, ran=ran)
    async with app.run_test(size=(60, 12)) as pilot:
        await app.opened(pilot)
        view = app.pane.transcript
        shown = [sheet.entry.id for sheet in view.document.sheets]
        assert [id for id in shown if id.startswith("run/")] == ["run/window-s.3", "run/window-s.4"]
        assert shown[-1] == "run/window-s.4"
        for _ in range(3):
            await pilot.press("home")
            await wait_until_drawn(pilot, view)
        shown = [sheet.entry.id for sheet in view.document.sheets]
        assert [id for id in shown if id.startswith("run/")] == [f"run/window-s.{n}" for n in (1, 2, 3, 4)]
        assert shown[:2] == ["run/window-s.1", "m0"]


class DeckHost(ThemedApp[None]):
    """Tabs of which the first is not filled yet."""

    CSS_PATH = [STYLES / "workbench.tcss"]

    def __init__(self) -> None:
        super().__init__()
        self.deck = Deck("chat", "Chat", LOADING)

    def compose(self) -> ComposeResult:
        yield self.deck


async def test_the_place_of_a_conversation_says_what_comes_until_it_is_there() -> None:
    app = DeckHost()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert LOADING in app.export_screenshot().replace("&#160;", " ")
        await app.deck.fill(Transcript(empty="the conversation"))
        await pilot.pause()
        shown = app.export_screenshot().replace("&#160;", " ")
        assert "the conversation" in shown and LOADING not in shown


async def test_a_conversation_that_is_being_loaded_does_not_look_empty() -> None:
    app = Host(record(600))
    app.pane = ConversationPane(app._load, coming=LOADING)
    seen: list[str] = []
    load = app.pane._load_older

    async def slowly(session: str, before: int | None, limit: int) -> Sequence[Any]:
        await asyncio.sleep(0)
        seen.append(app.pane.transcript._painter.empty)
        return await load(session, before, limit)

    app.pane._load_older = slowly
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until_drawn(pilot, app.pane.transcript)
        assert screen_rows(app.pane.transcript)[11].strip() == "Loading the conversation…"
        opened = [
            ModelChanged(agent="main", provider="p", model="m", label="M"),
            SessionOpened(agent="main", session="s", title="", cwd="/", messages=600),
        ]
        app.pane.consume(opened)
        await wait_until_drawn(pilot, app.pane.transcript)
        assert seen == ["Loading 600 messages…"]
        assert "needle in output 599" in "".join(screen_rows(app.pane.transcript))
        app.pane.consume([SessionOpened(agent="main", session="t", title="", cwd="/", messages=0)])
        await wait_until_drawn(pilot, app.pane.transcript)
        assert any("start an agent" in row for row in screen_rows(app.pane.transcript))


@pytest.mark.parametrize(("changed", "rows", "whole"), [(1, 9, True), (1, 2, True), (1, 1, False), (30, 50, False)])
async def test_a_call_that_waits_shows_its_change_and_knows_whether_all_of_it_is_in_sight(
    changed: int, rows: int, whole: bool
) -> None:
    diff = f"--- a.py\n+++ a.py\n@@ -1,{changed} +1,{changed} @@\n"
    diff += "".join(f"-old {n}\n" for n in range(changed)) + "".join(f"+new {n}\n" for n in range(changed))
    who: dict[str, Any] = {"agent": "main", "session": "s"}
    app = Host(record(3))
    async with app.run_test(size=(80, rows)) as pilot:
        await app.opened(pilot)
        call = ToolCall("c", "edit", {"path": "a.py"})
        app.pane.consume([MessageAppended(message=Message("m", "assistant", (Text("I edit " * 40), call)), **who)])
        app.pane.consume([ToolStarted(message="m", call="c", tool="edit", arguments=call.arguments, **who)])
        asked = ApprovalRequested(approval="a", call="c", tool="edit", effect="write", subject="a.py", diff=diff, **who)
        app.pane.consume([asked])
        await wait_until_drawn(pilot, app.pane.transcript)
        shown = screen_rows(app.pane.transcript)
        assert any("old 0" in row for row in shown) or rows < 9
        assert app.pane.transcript.shows_change("c", diff) is whole
        assert not app.pane.transcript.shows_change("c", diff + "+more\n")
        assert not app.pane.transcript.shows_change("d", diff)
        if whole:
            app.pane.transcript.scroll_rows(-6)
            await wait_until_drawn(pilot, app.pane.transcript)
            assert not app.pane.transcript.shows_change("c", diff)


@pytest.mark.parametrize("size", [(61, 20), (80, 24), (200, 50)])
async def test_the_keys_that_help_first_stand_in_a_column_in_the_middle(size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        await app.opened(pilot)
        rows = screen_rows(app.pane.transcript)
        named = [(at, row.index(key)) for at, row in enumerate(rows) for key in ("f8  ", "f3  ", "f7  ") if key in row]
        assert len(named) == 3 and len({column for _, column in named}) == 1, rows
        assert named[-1][0] < len(rows) - 2, "not at the input"
        above, below = (next(at for at, row in enumerate(order) if row.strip()) for order in (rows, rows[::-1]))
        assert 0 <= below - above <= 1

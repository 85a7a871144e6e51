"""The change that an agent wants to make, asked about while the conversation shows it: one key allows it if, and only
if, all of it is on the screen.
"""

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from gshtui.bus.events.agent_events import MessageAppended, ToolFinished, ToolStarted
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.messages import Message, Text, ToolCall
from gshtui.ui.approvals.question_view import QuestionView
from gshtui.ui.conversation.conversation_pane import ConversationPane
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.window.main_area import MainArea, PromptArea
from tests.kit.keyboard import Keyboard
from tests.kit.storms import combined
from tests.kit.transcript_host import wait_until_drawn
from tests.kit.window import Window, settled

WHO: dict[str, Any] = {"agent": "main", "session": "s"}
SIZES = [(61, 20), (80, 24), (120, 35)]


class Asking(Window):
    """A window whose person presses keys at times of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        self.keyboard = Keyboard(self, lambda: self.time)

    def make_centre(self) -> MainArea:
        area = PromptArea(self.front, project=self.bridge.opening.cwd, keep_drafts=False, clock=lambda: self.time)
        return MainArea(lambda: ConversationPane(self.bridge.messages, agent=self.front), area)

    @property
    def row(self) -> str:
        return str(self.query_one("#approval-title", Static).content)

    @property
    def answers(self) -> list[str]:
        assert self.hub is not None
        return [
            answer.decision for answer in self.hub.intents(ApprovalAnswered) if isinstance(answer, ApprovalAnswered)
        ]

    def shown(self, *texts: str) -> bool:
        """Whether all of these are on the screen."""
        strips = self.screen._compositor.render_strips()
        screen = "\n".join("".join(segment.text for segment in strip) for strip in strips)
        return all(text in screen for text in texts)

    async def ask(self, pilot: Pilot[int], lines: int, answer: int) -> list[str]:
        """Ask about so many changed lines behind so many paragraphs; returns what the change's rows say."""
        was, now = ([f"{word}{n:02d}." for n in range(lines)] for word in ("was", "now"))
        rows = [*(f"-{line}" for line in was), *(f"+{line}" for line in now)]
        diff = "\n".join(["--- a.py", "+++ a.py", f"@@ -1,{lines} +1,{lines} @@", *rows, ""])
        said = Text("\n\n".join(f"Paragraph {n}." for n in range(answer)) or "I edit it.")
        call = ToolCall("c", "edit", {"path": "a.py"})
        read = ToolCall("c", "read", {"path": "a.py"})  # some models count their calls from the beginning each time
        self.feed(
            SessionOpened(title="", cwd="/", messages=0, **WHO),
            MessageAppended(message=Message("r", "assistant", (read,)), **WHO),
            ToolStarted(message="r", call="c", tool="read", arguments=read.arguments, **WHO),
            ToolFinished(call="c", tool="read", status="ok", content="x", duration=0.1, **WHO),
            MessageAppended(message=Message("m", "assistant", (said, call)), **WHO),
            ToolStarted(message="m", call="c", tool="edit", arguments=call.arguments, **WHO),
            ApprovalRequested(approval="a", call="c", tool="edit", effect="write", subject="a.py", diff=diff, **WHO),
        )
        await self.rest(pilot)
        return [*was, *now]

    async def rest(self, pilot: Pilot[int]) -> None:
        await wait_until_drawn(pilot, self.query_one(Transcript))
        await settled(pilot)

    async def press(self, pilot: Pilot[int], key: str) -> None:
        self.time += 2
        self.keyboard.post(key, 0)
        await self.rest(pilot)


@pytest.mark.parametrize(("lines", "answer", "size"), combined([1, 3, 5, 6, 12], [0, 30], SIZES))
async def test_a_change_is_allowed_by_one_key_if_and_only_if_all_of_it_is_on_the_screen(
    lines: int, answer: int, size: tuple[int, int]
) -> None:
    app = Asking()
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        texts = await app.ask(pilot, lines, answer)
        whole = app.shown(*texts)
        assert whole or lines > 3
        assert ("alt+a allow" in app.row) is whole
        await app.press(pilot, "alt+a")
        assert app.answers == (["once"] if whole else [])


@pytest.mark.parametrize("size", SIZES)
async def test_the_row_follows_the_conversation_as_it_is_scrolled_and_as_tabs_are_turned(size: tuple[int, int]) -> None:
    app = Asking()
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        texts = await app.ask(pilot, 1, 40)
        seen = set[bool]()
        for rows in (-1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1):
            app.query_one(Transcript).scroll_rows(rows)
            await app.rest(pilot)
            whole = app.shown(*texts)
            seen.add(whole)
            assert ("alt+a allow" in app.row) is whole
        assert seen == {True, False}
        assert "alt+a allow" in app.row
        await app.bench.deck.open("other", "Other", Static("another tab"))
        await app.rest(pilot)
        assert "alt+a allow" not in app.row
        app.bench.deck.show(app.bench.deck._first)
        await app.rest(pilot)
        assert "alt+a allow" in app.row


@pytest.mark.parametrize(("size", "lines"), combined([(80, 24), (120, 35), (160, 45), (200, 50)], [2, 40]))
async def test_the_change_of_an_agent_behind_is_below_its_row_where_there_is_room_for_all_of_it(
    size: tuple[int, int], lines: int
) -> None:
    app = Asking()
    diff = "\n".join(["--- a.py", "+++ a.py", f"@@ -0,0 +1,{lines} @@", *(f"+now{n:02d}." for n in range(lines)), ""])
    asked = ApprovalRequested(
        approval="b", call="c", tool="edit", effect="write", subject="a.py", diff=diff, agent="0002", session="t"
    )
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        app.feed(SessionOpened(title="", cwd="/", messages=0, **WHO), asked)
        await app.rest(pilot)
        roomy = lines == 2
        assert app.shown("now00.") == roomy, app.row
        assert not roomy or app.shown("now01.")
        assert ("alt+a" in app.row) == roomy
        assert app.query_one("#approvals").size.height == (3 if roomy else 1)
        said = Message("m", "assistant", (Text("\n\n".join(f"Paragraph {n}." for n in range(40))),))
        app.feed(MessageAppended(message=said, **WHO))
        await app.rest(pilot)
        roomy = roomy and size[1] >= 40
        assert app.shown("now00.") == roomy, "in a low window the conversation goes before it"
        assert app.query_one("#approvals").size.height == (3 if roomy else 1)
        assert ("alt+a" in app.row) == roomy
        await app.bench.deck.open("other", "Other", Static("another tab"))
        for key in ("ctrl+g", "escape"):
            await app.press(pilot, key)
        assert app.query_one("#approvals").size.height == (3 if roomy else 1), "this tab does not tell of empty rows"
        await app.press(pilot, "alt+a")
        assert app.answers == (["once"] if roomy else []), "nothing is allowed unread"


@pytest.mark.parametrize(("size", "lines"), combined(SIZES, [2, 30]))
async def test_a_change_that_its_question_shows_whole_is_one_row_of_the_conversation(
    size: tuple[int, int], lines: int
) -> None:
    app = Asking()

    def seen() -> int:
        strips = app.query_one(Transcript).render_lines(app.query_one(Transcript).size.region)
        return sum("now0" in strip.text for strip in strips)

    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await app.ask(pilot, lines, 0)
        before = seen()
        await app.press(pilot, "ctrl+g")
        panel = app.query_one(QuestionView)
        whole = not (panel.above or panel.hidden)
        assert whole == (lines == 2)
        assert [one.brief for one in app.query_one(Transcript).document.sheets][-1] is whole
        assert not seen() or not whole
        await app.press(pilot, "escape")
        assert seen() == before and ("alt+a allow" in app.row) is (before == lines)
        await app.press(pilot, "ctrl+g")
        await app.bench.deck.open("other", "Other", Static("another tab"))
        await app.press(pilot, "4")
        app.bench.deck.show(app.bench.deck._first)
        await app.rest(pilot)
        assert seen() >= before, "who looks at what became of it sees the change again"


@pytest.mark.parametrize(("to", "opened"), combined([45, 24, 14], [False, True]))
async def test_what_a_lower_window_no_longer_shows_is_not_allowed(to: int, opened: bool) -> None:
    app = Asking()
    lines = [f"now{n:02d}." for n in range(17)]
    diff = "\n".join(["--- a.py", "+++ a.py", f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines), ""])
    asked = ApprovalRequested(
        approval="b", call="c", tool="edit", effect="write", subject="a.py", diff=diff, agent="0002", session="t"
    )
    async with app.run_test(size=(80, 60)) as pilot:
        await settled(pilot)
        app.feed(SessionOpened(title="", cwd="/", messages=0, **WHO), asked)
        await app.rest(pilot)
        if opened:
            await app.press(pilot, "ctrl+g")
        assert app.shown(*lines)
        await pilot.resize_terminal(80, to)
        await app.rest(pilot)
        await app.rest(pilot)
        whole = app.shown(*lines)
        assert opened or ("alt+a allow" in app.row) == whole
        await app.press(pilot, "1" if opened else "alt+a")
        assert app.answers == (["once"] if whole else [])
        pane = app.query_one("#approvals").region
        assert pane.bottom < to


@pytest.mark.parametrize("up", [1, 4, 15])
async def test_who_has_scrolled_away_is_there_again_behind_the_question(up: int) -> None:
    app = Asking()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await app.ask(pilot, 2, 40)
        chat = app.query_one(Transcript)
        chat.scroll_rows(-up)
        await app.rest(pilot)
        before = [strip.text for strip in chat.render_lines(chat.size.region)]
        await app.press(pilot, "ctrl+g")
        await app.press(pilot, "escape")
        assert [strip.text for strip in chat.render_lines(chat.size.region)] == before

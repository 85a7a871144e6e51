"""The window: what people do with it, and what it tells them. Text from elsewhere is never taken for markup."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator

import msgspec
import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from textual import events as textual_events
from textual.pilot import Pilot
from textual.widgets import Input, Static

from gshtui.agents.commands.rewind import EarlierPrompt
from gshtui.agents.commands.rewind_commands import RewindResult
from gshtui.bus.events.agent_events import (
    AgentAdded,
    InterruptRequested,
    ModelChanged,
    PromptSubmitted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.hub_events import Noticed, PartFailed, PartStarted, QuitRequested
from gshtui.bus.events.session_events import SessionChangeRequested, SessionOpened, SessionTitled
from gshtui.bus.events.shell_events import InputCommandStarted
from gshtui.client.pane_names import CHAT
from gshtui.commands import declaration, help_command
from gshtui.commands.completion import Completion
from gshtui.commands.declaration import (
    CommandError,
    Incomplete,
    Invocation,
    Outcome,
    Parameters,
    Question,
    ToastView,
    UsageError,
)
from gshtui.commands.registry import Registry
from gshtui.fleet.core.agent_calls import ListAgents
from gshtui.fleet.keeper.keeper_commands import StopKeeper
from gshtui.providers.model_command import ChangeEffort, ChangeModel, ListedModel, ModelList
from gshtui.ui.conversation.pickers import ModelsScreen, PromptsScreen
from gshtui.ui.conversation.session_picker import SessionsScreen
from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.kit.transcript.text_screen import TextScreen
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widgets.dialogs import ConfirmScreen
from gshtui.ui.kit.widgets.tabs import TabPane
from gshtui.ui.prompt.prompt_status import PromptStatus
from gshtui.ui.window.help import HelpScreen
from gshtui.ui.window.main_area import SessionOffer
from gshtui.ui.window.palette import PaletteScreen, action_entries
from tests.kit.cases import each_case
from tests.kit.conversations import conversation, conversations
from tests.kit.fake_hub import Answer, FakeHub
from tests.kit.keyboard import Keyboard
from tests.kit.recorded_shell import FakeShellLog
from tests.kit.storms import some
from tests.kit.terminal_agents import wait_until
from tests.kit.window import NOW, Window

SIZE = (120, 40)
NASTY = "[/foo] [@click=app.quit]x[/] [bold"
SESSIONS = [
    conversation("s2", f"Second {NASTY}", messages=4, updated=NOW - 7_200, model="m"),
    conversation("s1", "First", messages=9, updated=NOW - 90_000, held_by="the window on /dev/pts/9"),
]
MODELS = ModelList(
    [
        ListedModel("anthropic", "large", "", window=200_000, price_input=3.0, price_output=15.0),
        ListedModel("offline", "offline", "", "offline", in_use=True),
    ],
    [],
)
STARTED = (
    AgentAdded(agent="main", name="main"),
    TurnStarted(agent="main", session="s", turn="t", prompt="p"),
)


async def settled(pilot: Pilot[int]) -> FakeHub:
    """The hub, once the window and its workers rest."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    assert isinstance(pilot.app, Window) and pilot.app.hub is not None
    await pilot.app.bridge.shown()
    return pilot.app.hub


@contextlib.asynccontextmanager
async def at_rest(app: Window, size: tuple[int, int] = (80, 24)) -> AsyncGenerator[tuple[Pilot[int], FakeHub]]:
    """The window in a terminal of this size, with its hub, once both rest."""
    async with app.run_test(size=size) as pilot:
        yield pilot, await settled(pilot)


def notices(app: Window) -> list[str]:
    return [notice.message for notice in app._notifications]


# Turns


async def test_escape_backs_out_and_then_interrupts() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, hub):
        app.feed(*STARTED)
        await pilot.press("alt+2", "escape")
        await settled(pilot)
        assert hub.intents(InterruptRequested) == []
        await pilot.press("escape")
        await settled(pilot)
        assert len(hub.intents(InterruptRequested)) == 1


async def test_escape_without_a_turn_does_nothing_and_never_leaves() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, hub):
        await pilot.press(*["escape"] * 5)
        await settled(pilot)
        assert hub.intents(InterruptRequested) == [] and app.is_running


async def test_escape_stops_the_turn_first_and_then_a_command_of_the_person() -> None:
    stops = iter([True, False])
    asked: list[str] = []

    def stop() -> bool:
        asked.append("stop")
        return next(stops)

    app = Window(shell_log=FakeShellLog(stop))
    async with at_rest(app, SIZE) as (pilot, hub):
        app.feed(*STARTED)
        await pilot.press("escape")
        await settled(pilot)
        assert len(hub.intents(InterruptRequested)) == 1 and asked == []
        app.feed(TurnFinished(agent="main", session="s", turn="t", stop="interrupted"))
        await pilot.press("ctrl+c")
        assert asked == ["stop"] and notices(app) == []
        await pilot.press("ctrl+c")
        await settled(pilot)
        assert "ctrl+q to quit" in notices(app)[-1]


async def test_what_a_command_of_the_person_came_to_is_not_said_twice() -> None:
    gone = CommandError("It cannot run.")
    gone.shown = True
    answers = {
        "bash command='make'": Answer(text="x " * 300, shown=True),
        "bash command='gone'": gone,
        "bash comand='ls'": UsageError("bash has no parameter comand."),
    }
    app = Window(answers=answers)
    async with at_rest(app, SIZE) as (pilot, _):
        for line in answers:
            app.run_command(line)
            await settled(pilot)
        assert app.screen is app.bench
        assert [row.strip() for row in shown_rows(app) if "bash" in row][1:] == ["bash has no parameter comand."]


async def test_ctrl_c_copies_then_clears_then_interrupts_then_says_how_to_leave() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, hub):
        await pilot.press(*"words", "shift+home", "ctrl+c")
        assert app.clipboard == "words"
        assert app.bench.input.text == "words"
        await pilot.press("end")
        app.feed(*STARTED)
        await pilot.press("ctrl+c")
        await settled(pilot)
        assert app.bench.input.text == "" and hub.intents(InterruptRequested) == []
        await pilot.press("ctrl+c")
        await settled(pilot)
        assert len(hub.intents(InterruptRequested)) == 1
        app.feed(TurnFinished(agent="main", session="s", turn="t", stop="interrupted"))
        await pilot.press("ctrl+c")
        await settled(pilot)
        assert "ctrl+q to quit" in notices(app)[-1]
        assert app.is_running


async def test_a_prompt_reaches_the_bus_and_the_history() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        await pilot.press(*"do it", "enter")
        hub = await settled(pilot)
        sent = hub.intents(PromptSubmitted)
        assert [event.text for event in sent if isinstance(event, PromptSubmitted)] == ["do it"]


async def test_a_prompt_without_a_hub_says_so() -> None:
    app = Window(fails=OSError("no hub today"))
    async with at_rest(app, SIZE) as (pilot, _):
        await pilot.press(*"do it", "enter")
        await pilot.pause()
        assert "no hub today" in notices(app)[-1]


# Commands


def shown_rows(app: Window) -> list[str]:
    """The rows of the conversation as they are on the screen."""
    chat = app.bench.query_one(Transcript)
    return ["".join(part.text for part in chat.render_line(y)) for y in range(chat.size.height)]


async def test_what_a_typed_command_answers_is_a_row_of_the_conversation_that_folds() -> None:
    long = "\n\n".join(f"line {n} {NASTY}" for n in range(100))
    app = Window(answers={"who": Answer(text=f"you and {NASTY}"), "help": Answer(text=long)})
    async with at_rest(app, SIZE) as (pilot, _):
        before = len(notices(app))
        await pilot.press(*"/who", "escape", "enter")
        await settled(pilot)
        rows = shown_rows(app)
        assert any("› /who" in row for row in rows) and any("you and [/foo]" in row for row in rows)
        await pilot.press(*"/help", "escape", "enter")
        await settled(pilot)
        rows = shown_rows(app)
        assert "› /help" in rows[0] and "line 0" in "".join(rows) and "line 99" not in "".join(rows), "from its top on"
        assert app.screen is app.bench and app.focused is app.bench.input, "one goes on typing"
        chat = app.bench.query_one(Transcript)
        chat.focus()
        await pilot.press("g", "enter")
        await settled(pilot)
        assert "› /who  you and" in "".join(shown_rows(app)), "folded, it is one line"
        assert len(notices(app)) == before


async def test_what_a_key_answers_is_said_in_short_and_shown_in_the_viewer_if_long() -> None:
    long = "\n".join(f"line {n} {NASTY}" for n in range(100))
    app = Window(
        results={
            ListAgents(windows=False): Answer(text=f"you and {NASTY}"),
            ListAgents(windows=True): Answer(text=long),
        }
    )
    async with at_rest(app, SIZE) as (pilot, _):
        app.perform(ListAgents(windows=False))
        await settled(pilot)
        assert notices(app)[-1] == f"you and {NASTY}"
        app.perform(ListAgents(windows=True))
        await settled(pilot)
        assert isinstance(app.screen, TextScreen)
        await pilot.press("y")
        assert app.clipboard == long
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.bench


async def test_a_command_that_fails_is_said_with_its_hint_as_it_is_typed_here() -> None:
    error = CommandError("There is no x.", hint=f"Try {NASTY}, `help tune`, `make all`.")
    app = Window(answers={"read x": error}, commands=Registry(help_command.commands(Registry([]))))
    async with at_rest(app, SIZE) as (pilot, _):
        app.run_command("read x")
        await settled(pilot)
        assert [row.split()[:2] for row in shown_rows(app) if "/read" in row] == [["✗", "/read"]]
        assert any("There is no x. Try [/foo]" in row for row in shown_rows(app))
        assert "/help tune, make all" in " ".join(" ".join(shown_rows(app)).split())


@pytest.mark.faults
async def test_a_command_that_breaks_does_not_break_the_window() -> None:
    app = Window(answers={"boom": ZeroDivisionError("oh")})
    async with at_rest(app, SIZE) as (pilot, _):
        app.run_command("boom")
        await settled(pilot)
        assert any("boom failed: ZeroDivisionError: oh" in row for row in shown_rows(app))


# Conversations and models


async def test_the_last_conversation_is_offered_and_continued_by_key() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS)})
    async with at_rest(app, SIZE) as (pilot, hub):
        offer = app.bench.query_one(SessionOffer)
        assert offer.display and app.focused is app.bench.input
        assert f"“Second {NASTY}"[:25] in str(offer.visual) and "2 h" in str(offer.visual)
        await pilot.press("alt+c")
        await settled(pilot)
        assert [event.session for event in hub.said if isinstance(event, SessionChangeRequested)] == ["s2"]
        app.feed(SessionOpened(session="s2", agent="main", resumed=True))
        assert not offer.display


@pytest.mark.parametrize("width", some([60, 80, 100, 120, 200], 2))
async def test_the_offer_is_one_row(width: int) -> None:
    long = conversation("s2", "Make the parser take empty lines, and say so in the changelog", messages=14, updated=NOW)
    app = Window(answers={"session ls": conversations(long)})
    async with at_rest(app, (width, 24)):
        offer = app.bench.query_one(SessionOffer)
        assert offer.display and offer.size.height == 1
        shown = str(offer.visual)
        assert cell_len(shown) <= offer.content_size.width
        assert shown.startswith("alt+c to continue “Make the parser") and shown.endswith(" · f3 for all")
        assert ("14 messages" in shown) == (width >= 80)
        assert (offer.region.x, offer.outer_size.width) == (app.bench.input.region.x, app.bench.input.outer_size.width)


async def test_neither_an_agents_conversation_nor_an_open_one_is_offered() -> None:
    """Both are newer than the last one of this window's own."""
    agents = msgspec.structs.replace(conversation("a1", "fix", messages=2, updated=NOW), parent="agent 0001")
    elsewhere = conversation("s9", "elsewhere", messages=2, updated=NOW, held_by="window 7")
    app = Window(answers={"session ls": conversations(agents, elsewhere, *SESSIONS)})
    async with at_rest(app, SIZE):
        assert app.bench.query_one(SessionOffer).session == "s2"


async def test_the_offer_goes_when_a_prompt_is_sent() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS)})
    async with at_rest(app, SIZE):
        app.feed(SessionOpened(session="new", agent="main"), *STARTED)
        assert not app.bench.query_one(SessionOffer).display


async def test_no_offer_comes_behind_a_prompt_that_was_sent_while_the_window_still_opened() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS)})
    async with at_rest(app, SIZE):
        offer = app.bench.query_one(SessionOffer)
        app.feed(PromptSubmitted(prompt="p", agent="0001", text="theirs"))
        assert offer.display
        app.feed(PromptSubmitted(prompt="p", agent="main", text="go"))
        assert not offer.display
        await app.offer_last()
        assert not offer.display and app.offered_session() == ""


class Theirs(TabPane, can_focus=True):
    """The tab of another agent."""

    def __init__(self) -> None:
        super().__init__()
        self.front = self

    @property
    def agent(self) -> str:
        return "0001"


async def test_the_offer_is_beside_the_chat_that_it_is_for() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS)})
    async with at_rest(app, SIZE) as (pilot, _):
        offer = app.bench.offer
        await app.bench.deck.open("theirs", "Theirs", Theirs())
        await settled(pilot)
        assert not offer.display
        app.bench.deck.show(app.bench.deck._first)
        await settled(pilot)
        assert offer.display


async def test_the_offer_stays_while_other_agents_work() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS)})
    async with at_rest(app, SIZE) as (pilot, hub):
        app.feed(
            SessionOpened(session="theirs", agent="0001", resumed=True),
            TurnStarted(agent="0001", session="theirs", turn="t", prompt="p"),
        )
        assert app.bench.query_one(SessionOffer).display
        await pilot.press("alt+c")
        await settled(pilot)
        assert [event.session for event in hub.said if isinstance(event, SessionChangeRequested)] == ["s2"]


async def test_the_key_says_so_where_nothing_is_offered() -> None:
    app = Window(answers={"session ls": conversations()})
    async with at_rest(app, SIZE) as (pilot, hub):
        await pilot.press("alt+c")
        await settled(pilot)
        assert hub.intents(SessionChangeRequested) == []
        assert notices(app) == ["No earlier conversation to continue here. Press f3 to list all conversations."]


@pytest.mark.parametrize(
    "answer", [conversations(), conversations(conversation("empty", messages=0, updated=NOW)), CommandError("no")]
)
async def test_nothing_is_offered_where_there_is_nothing(answer: Answer | Exception) -> None:
    app = Window(answers={"session ls": answer})
    async with at_rest(app, SIZE):
        assert not app.bench.query_one(SessionOffer).display


async def test_nothing_is_offered_to_who_asked_for_a_conversation() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS)}, session="latest")
    async with at_rest(app, SIZE):
        assert not app.bench.query_one(SessionOffer).display


async def test_a_conversation_is_picked_from_the_list() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS)})
    async with at_rest(app, SIZE) as (pilot, hub):
        await app.bench.deck.open("other", "Other", Static("something else"))
        await pilot.press("f3")
        await settled(pilot)
        assert isinstance(app.screen, SessionsScreen)
        await pilot.press(*"first", "enter")
        await settled(pilot)
        assert app.bench.deck.front == CHAT
        assert [event.session for event in hub.said if isinstance(event, SessionChangeRequested)] == ["s1"]
        await pilot.press("f3")
        await settled(pilot)
        await pilot.press("up", "enter")
        await settled(pilot)
        assert [event.session for event in hub.said if isinstance(event, SessionChangeRequested)] == ["s1", "new"]


async def test_a_command_of_the_person_brings_the_chat_to_the_front() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        await app.bench.deck.open("other", "Other", Static("something else"))
        assert app.bench.deck.front == "other"
        app.feed(InputCommandStarted(agent="helper", session="s", run="0", command="ls"))
        await settled(pilot)
        assert app.bench.deck.front == "other"
        app.feed(InputCommandStarted(agent="main", session="s", run="1", command="ls"))
        await settled(pilot)
        assert app.bench.deck.front == CHAT


async def test_what_an_outcome_asks_of_the_window_is_done() -> None:
    line = "session target=s1 action=resume"
    change = SessionChangeRequested(agent="main", session="s1")
    app = Window(answers={line: Answer({"session": "s1"}, "The conversation s1.", intent=change)})
    async with at_rest(app, SIZE) as (pilot, hub):
        app.run_command(line)
        await settled(pilot)
        assert [event.session for event in hub.said if isinstance(event, SessionChangeRequested)] == ["s1"]
        assert notices(app) == []


async def test_resume_alone_lists_the_conversations() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS)})
    async with at_rest(app, SIZE) as (pilot, _):
        app.run_command("/resume")
        await settled(pilot)
        assert isinstance(app.screen, SessionsScreen)


async def test_escape_twice_offers_the_prompts_to_go_back_to() -> None:
    """The chosen one is in the input again, once the conversation and the files are back before it."""
    prompts = (EarlierPrompt(1, 5, "p2", "the second", NOW), EarlierPrompt(2, 1, "p1", "the first", NOW))
    app = Window(answers={"rewind": Answer(RewindResult(prompts))})
    async with at_rest(app, SIZE) as (pilot, hub):
        await pilot.press("x", "escape", "escape")
        await settled(pilot)
        assert not isinstance(app.screen, PromptsScreen)  # something is being written
        await pilot.press("backspace", "escape", "x", "backspace", "escape")
        await settled(pilot)
        assert not isinstance(app.screen, PromptsScreen)  # something was pressed between
        await pilot.press("escape")  # however long after the one before
        await settled(pilot)
        assert isinstance(app.screen, PromptsScreen)
        await pilot.press(*"first", "enter")
        await settled(pilot)
        assert app.input_text == "the first"
        assert hub.ran[-1].message == "p1"
        await pilot.press("ctrl+u")
        hub.answers["rewind 1"] = Answer(view=ToastView("2 files restored.", draft="the second"))
        app.run_command("rewind 1")
        await settled(pilot)
        assert app.input_text == "the second"


async def test_a_model_is_picked_by_key_and_by_line() -> None:
    app = Window(answers={"model list": Answer(MODELS)})
    async with at_rest(app, SIZE) as (pilot, hub):
        await pilot.press("f2")
        await settled(pilot)
        assert isinstance(app.screen, ModelsScreen)
        await pilot.press("up", "enter")
        await settled(pilot)
        app.run_command("model")
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        changes = [call for call in hub.ran if isinstance(call, ChangeModel)]
        assert [(call.provider, call.name) for call in changes] == [("anthropic", "large")]


async def test_the_models_say_what_they_take_and_are_first_in_and_a_key_changes_the_effort() -> None:
    known = [
        ListedModel("anthropic", "large", "Large", window=200, price_input=3, price_output=15, in_use=True, effort=""),
        ListedModel("anthropic", "small", "Small", window=100, price_input=1, price_output=5, about="Half of Large."),
        ListedModel("openai", "other", "Other", window=300, price_input=1, price_output=2, effort=""),
    ]
    app = Window(answers={"model list": Answer(ModelList(known, [], "main"))})

    def rows() -> list[str]:
        assert isinstance(app.screen, ModelsScreen)
        listed = app.screen.choices
        return [" ".join(str(listed.get_option_at_index(at).prompt).split()) for at in range(1, listed.option_count)]

    async with at_rest(app, SIZE) as (pilot, hub):
        await pilot.press("f2")
        await settled(pilot)
        large, small, other = rows()
        assert large.endswith("$3.00 / $15.00 default largest window 200")
        assert small.endswith("$1.00 / $5.00 cheapest 100")
        assert other.endswith("low–high 300"), "what is alone is not compared"
        said = app.screen.query_one("#about", Static)
        assert str(app.screen.query_one(".dialog-title", Static).render()) == "Model for main"
        assert not str(said.render())
        await pilot.press("down")
        await settled(pilot)
        assert str(said.render()) == "Half of Large."
        await pilot.press("up")
        harder = [msgspec.structs.replace(known[0], effort="low"), *known[1:]]
        hub.answers["model list"] = Answer(ModelList(harder, []))
        await pilot.press("down", "alt+t", "up")
        await settled(pilot)
        assert ChangeEffort(level="next") not in hub.ran, "another one is marked"
        await pilot.press("alt+t")
        await settled(pilot)
        assert " low largest" in rows()[0] and ChangeEffort(level="next") in hub.ran


async def test_a_list_that_matches_nothing_says_so_and_gives_nothing() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS)})
    async with at_rest(app, SIZE) as (pilot, hub):
        await pilot.press("f3")
        await settled(pilot)
        await pilot.press(*"zzzz", "enter", "escape")
        await settled(pilot)
        assert app.screen is app.bench
        assert hub.intents(SessionChangeRequested) == []


# What is told


async def test_notices_and_failed_parts() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        app.feed(
            Noticed(level="info", text=f"saved {NASTY}", hint="go on"),
            Noticed(level="warning", text="a row of the chat, which is in front", about="main"),
            Noticed(level="error", text=f"bad {NASTY}\x1b[2J", hint="fix it"),
            PartFailed(part="store", why="disk full", hint="make room"),
            PartFailed(part="fleet", why="it needs the store", needs="store"),
        )
        await pilot.pause()
        assert notices(app)[-1] == f"saved {NASTY} go on"
        said = str(app.bench.banner.visual)
        assert f"bad {NASTY}" in said and "\x1b" not in said and "store is not running: disk full. make room" in said
        assert "fleet" not in said, "the part that it needs has said why"
        app.feed(PartStarted(part="store"))
        assert "store" not in str(app.bench.banner.visual) and app.bench.banner.display
        model = ModelChanged(agent="main", provider="offline", model="offline", window=1, label="offline")
        told = Noticed(level="error", text="No answer from Ollama.", hint="Start it.", about="main")
        for text in ("The prompt was not sent: no room.", "There is no model x.", "No answer from Ollama."):
            app.feed(replace(told, text=text, ends_with_model="model" in text or "Ollama" in text))
        app.feed(model)
        assert "No answer from Ollama" in str(app.bench.banner.visual), "there is no model yet"
        app.feed(replace(model, provider="ollama", model="llama3.2", label="llama3.2"))
        said = str(app.bench.banner.visual)
        assert "No answer" not in said and "no model" not in said, "it is over"
        assert "The prompt was not sent: no room." in said, "it is not about a model"


async def test_the_title_and_where_it_is_held() -> None:
    app = Window()
    async with at_rest(app, SIZE):
        app.feed(SessionOpened(session="s", agent="main", title=NASTY, writable=False, held_by="pts/3"))
        assert app.bench.deck.bar.note == f"{NASTY} · read only, open in pts/3"
        app.feed(SessionTitled(session="s", title="Better"), SessionTitled(session="other", title="Not this"))
        assert app.bench.deck.bar.note == "Better"


async def test_quitting_by_command() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        app.feed(QuitRequested())
        await pilot.pause()
    assert app.hub is not None and app.hub.stopped


async def test_a_turn_that_ends_elsewhere_draws_attention_as_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Window()
    called: list[str] = []
    async with at_rest(app, SIZE) as (pilot, _):
        attention = app._watchers[1]
        monkeypatch.setattr(app, "bell", lambda: called.append("bell"))
        monkeypatch.setattr(attention, "_write", called.append)
        done = TurnFinished(agent="main", session="s", turn="t", stop="end")
        app.feed(done)
        assert called == []
        app.post_message(textual_events.AppBlur())
        await pilot.pause()
        app.feed(done)
        assert called == ["bell", "\x1b]9;gsh-tui: main is done\x07", "\x1b[22;2t\x1b]2;● gsh-tui: main is done\x07"]
        called.clear()
        asked = ApprovalRequested(
            approval="a",
            agent="main",
            session="s",
            call="c",
            tool="bash",
            effect="execute",
            subject="rm \x1b]0;x\x07 y",
        )
        app.feed(asked)
        assert called[0] == "bell" and "\x1b]0;" not in called[1] and "main wants to run: rm" in called[1]
        called.clear()
        app.post_message(textual_events.AppFocus())
        await pilot.pause()
        assert called == ["\x1b[23;2t"]


# Help, palette, themes, keys


async def test_help_shows_the_keys_that_work_here() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        await pilot.press("f1")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        here = app.screen.plain.partition("Elsewhere")
        assert "Open the command palette" in here[0] and "Start a new line" in here[0]
        assert "Hide this pane" not in here[0] and "Hide this pane" in here[2]
        await pilot.press("f1", "escape", "alt+4", "question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        assert "Hide this pane" in app.screen.plain.partition("Elsewhere")[0]


async def test_no_key_of_the_window_opens_anything_behind_a_dialog() -> None:
    keys = {key for id, one in KEYS.items() if one.priority and id != "app.quit" for key in one.keys.split(",")}
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        app.push_screen(TextScreen("A dialog", "its text"))
        await settled(pilot)
        before = (list(app.screen_stack), list(app.deck.panes), app.deck.front, app.bench.focused)
        for key in sorted(keys):
            await pilot.press(key)
            await settled(pilot)
            assert (list(app.screen_stack), list(app.deck.panes), app.deck.front, app.bench.focused) == before, key


async def test_a_question_mark_where_one_types_is_typed() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        await pilot.press(*"why", "question_mark")
        assert app.bench.input.text == "why?"


async def palette_with(pilot: Pilot[int], words: str) -> PaletteScreen:
    await pilot.press("ctrl+p")
    await settled(pilot)
    await pilot.press(*["space" if letter == " " else letter for letter in words])
    await settled(pilot)
    assert isinstance(pilot.app.screen, PaletteScreen)
    return pilot.app.screen


async def test_a_question_mark_in_an_empty_input_shows_a_dozen_keys_until_the_next_key() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        sheet = app.bench.query_one("#quick-keys", Static)

        async def press(*keys: str) -> str:
            await pilot.press(*keys)
            await settled(pilot)
            return str(sheet.render()) if sheet.display else ""

        shown = await press("question_mark")
        assert "ctrl+p" in shown and "Find anything" in shown and app.bench.input.text == ""
        assert await press("a") == "" and app.bench.input.text == "a"
        assert await press("question_mark") == "" and app.bench.input.text == "a?"
        await press("backspace", "backspace")
        assert await press("question_mark") and await press("question_mark") == ""
        assert app.bench.input.text == "?"
        await press("backspace")
        assert await press("question_mark") and await press("escape") == ""
        assert app.bench.input.text == ""


@pytest.mark.parametrize("size", some([(60, 22), (61, 20), (79, 24), (80, 24), (100, 30), (140, 45), (200, 50)], 2))
async def test_no_word_of_the_sheet_of_keys_is_cut(size: tuple[int, int]) -> None:
    app = Window()
    async with at_rest(app, size) as (pilot, _):
        await pilot.press("question_mark")
        await settled(pilot)
        sheet = app.bench.query_one("#quick-keys", Static)
        rows = str(sheet.render()).split("\n")
        assert "…" not in "".join(rows) and max(map(cell_len, rows)) <= sheet.size.width
        for words in ("Type a literal ?", "Open conversation", "Previous prompt", "Answer question", "All keys"):
            assert any(f"{words} " in f"{row} " for row in rows), words


async def test_where_room_is_kept_for_panes_the_text_has_all_the_rest() -> None:
    app = Window()
    async with at_rest(app, (200, 50)):
        text, line = app.bench.query_one(Transcript).region, app.bench.input.region
        assert (text.x, text.right) == (line.x, line.right) and text.width == 124
        assert "all your AI agents" in "\n".join(shown_rows(app)) and text.bottom == line.y
        assert app.bench.deck.size.width == 200, "other tabs have all the columns"


async def test_the_sheet_of_keys_names_them_as_they_were_remapped() -> None:
    app = Window(keybindings={"app.palette": "f10"})
    async with at_rest(app, SIZE) as (pilot, _):
        await pilot.press("question_mark")
        await settled(pilot)
        assert "f10" in str(app.bench.query_one("#quick-keys", Static).render())


async def test_the_palette_finds_actions_themes_and_conversations() -> None:
    app = Window(answers={"session ls": conversations(*SESSIONS), "model list": Answer(MODELS)})
    async with at_rest(app, SIZE) as (pilot, hub):
        for words in ("theme gsh-light", "continue second"):
            await palette_with(pilot, words)
            await pilot.press("enter")
            await settled(pilot)
        assert app.theme == "gsh-light"
        assert [event.session for event in hub.said if isinstance(event, SessionChangeRequested)] == ["s2"]


CALLED = (
    ("zoom", "Zoom pane"),
    ("new agent", "Start agent"),
    ("agent new", "Start agent"),
    ("inspect", "Inspect context"),
    ("f5", "Show changes"),
    ("alt+z", "Zoom pane"),
    ("context.inspect", "Inspect context"),
    ("copy", "Copy block"),
    ("rename", "Rename agent"),
    ("diff", "Show changes"),
)


async def test_the_palette_finds_what_the_footer_calls_things() -> None:
    async with at_rest(Window(), SIZE) as (pilot, _):
        with each_case() as case:
            for words, label in CALLED:
                screen = await palette_with(pilot, words)
                with case(words):
                    assert [entry.label for entry in screen.listed][:1] == [label]
                await pilot.press("escape")
                await settled(pilot)


async def test_the_palette_says_that_nothing_was_found_and_enter_does_nothing() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        screen = await palette_with(pilot, "no such thing")
        await pilot.press("enter")
        await settled(pilot)
        assert app.screen is screen and screen.listed == []
        assert "Nothing found for “no such thing”" in app.export_screenshot().replace("&#160;", " ")


async def test_an_action_of_a_pane_goes_to_the_pane_and_runs_there() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        await palette_with(pilot, "shell.filter")
        await pilot.press("enter")
        await settled(pilot)
        assert app.bench.front_pane() == "shell" and isinstance(app.focused, Input)


async def test_the_palette_lists_actions_then_commands_then_themes_and_before_all_what_was_chosen_lately() -> None:
    async def who(_invocation: Invocation, _parameters: Parameters) -> Outcome:
        return Outcome()

    def kinds(screen: PaletteScreen) -> list[str]:
        return [entry.id.partition(":")[0] for entry in screen.listed]

    app = Window()
    async with at_rest(app, SIZE) as (pilot, hub):
        hub.registry.register(declaration.Command("who", "", Parameters, who))
        screen = await palette_with(pilot, "")
        assert kinds(screen) == sorted(kinds(screen), key=["key", "command", "theme"].index)
        await pilot.press("escape")
        await palette_with(pilot, "theme gsh-light")
        await pilot.press("enter")
        await settled(pilot)
    again = Window()
    async with at_rest(again, SIZE) as (pilot, _):
        screen = await palette_with(pilot, "")
        assert screen.listed[0].id == "theme:gsh-light"


VERBS = {
    "add",
    "answer",
    "archive",
    "ask",
    "attach",
    "change",
    "compact",
    "compare",
    "continue",
    "copy",
    "delete",
    "edit",
    "filter",
    "finish",
    "fork",
    "go",
    "group",
    "inspect",
    "interrupt",
    "kill",
    "list",
    "message",
    "narrow",
    "open",
    "paste",
    "pin",
    "prune",
    "quit",
    "recover",
    "redo",
    "remove",
    "rename",
    "reset",
    "restart",
    "restore",
    "run",
    "search",
    "set",
    "show",
    "start",
    "suspend",
    "toggle",
    "try",
    "unarchive",
    "undo",
    "widen",
    "zoom",
}


async def test_each_action_is_called_by_a_verb_and_a_noun_in_at_most_three_words_and_by_no_other_ones_name() -> None:
    app = Window()
    async with at_rest(app, SIZE):
        names = [entry.label for entry in action_entries(app)]
    assert len(names) > 80
    assert [name for name in names if not 2 <= len(name.split()) <= 3 or name.split()[0].lower() not in VERBS] == []
    assert [name for name, times in Counter(names).items() if times > 1] == []


async def test_work_that_takes_longer_than_a_moment_is_named_below_the_input_until_it_is_done() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        gate = asyncio.Event()

        async def work() -> None:
            await gate.wait()

        status = app.bench.query_one(PromptStatus)
        app.attend(work(), group="commands", words="Running /usage")
        while "Running /usage · " not in str(status.content):
            await pilot.pause()
        gate.set()
        await settled(pilot)
        assert "Running" not in str(status.content) and "enter send" in str(status.content)


async def test_a_notice_that_confirms_a_key_takes_the_place_of_the_one_before() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        app.notify("The agent asks first.", timeout=2.5)
        app.notify("**Compacted** `main`.", timeout=8)
        app.notify("The agent edits unasked.", timeout=2.5)
        app.notify("It broke.", severity="error", timeout=2.5)
        await settled(pilot)
        said = [notice.message for notice in app._notifications]
        assert said == ["Compacted main.", "The agent edits unasked.", "It broke."]


async def test_help_is_searched_by_word_key_and_id() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        await pilot.press("f1")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, HelpScreen)
        assert screen.plain.startswith("Input line")
        for words, row in (("zoom", "panes.zoom"), ("f11", "panes.zoom"), ("queue.focus", "Go to the queued prompts")):
            for letter in words:
                await pilot.press({".": "full_stop"}.get(letter, letter))
            await pilot.pause()
            assert row in screen.plain and "prompt.history" not in screen.plain
            await pilot.press("ctrl+u")
        await pilot.press(*"qqqqq")
        await pilot.pause()
        assert screen.plain == "Nothing found for “qqqqq”."


async def test_a_chosen_theme_is_remembered_until_the_settings_change() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        app.choose_theme("gsh-light")
        await settled(pilot)
    again = Window()
    async with again.run_test(size=SIZE) as pilot:
        assert again.theme == "gsh-light"
        await settled(pilot)
        assert again.theme == "gsh-light"
    changed = Window(theme="nord")
    async with at_rest(changed, SIZE) as (pilot, _):
        assert changed.theme == "nord"


async def test_themes_are_tried_out_and_only_the_chosen_one_stays() -> None:
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        await pilot.press("f4", "down")
        await settled(pilot)
        assert app.theme == "gsh-light"
        await pilot.press("escape")
        await settled(pilot)
        assert app.theme == "gsh-dark" and not app.upkeep.memory.theme.endswith("light")
        await pilot.press("f4", "down", "enter")
        await settled(pilot)
        assert app.theme == app.upkeep.memory.theme == "gsh-light"


async def test_a_theme_that_is_not_there_is_ours() -> None:
    app = Window(theme="no-such-theme")
    async with at_rest(app, SIZE):
        assert app.theme == "gsh-dark"


async def test_keys_are_remapped_and_mistakes_are_said() -> None:
    app = Window(keybindings={"app.help": "f10", "app.hepl": "f8", "invoke_llm": "^G"})
    async with at_rest(app, SIZE) as (pilot, hub):
        await pilot.press("f1")
        await pilot.pause()
        assert app.screen is app.bench
        await pilot.press("f10")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        said = [event.text for event in hub.said if isinstance(event, Noticed)]
        assert len(said) == 1 and "app.hepl" in said[0]


async def test_sleep_is_refused_where_no_shell_could_wake_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gshtui.ui.kit.terminal_handoff.has_job_control", lambda: False)
    app = Window()
    async with at_rest(app, SIZE) as (pilot, _):
        await pilot.press("alt+2", "ctrl+z")
        await pilot.pause()
        assert "Can't suspend" in notices(app)[-1]


async def test_a_few_words_for_a_moment_are_shown_without_marks() -> None:
    app = Window(results={ListAgents(): Answer(text="**agent-2** (0003) runs in `gsh-agent-0003`.")})
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await settled(pilot)
        app.perform(ListAgents())
        await settled(pilot)
        assert notices(app) == ["agent-2 (0003) runs in gsh-agent-0003."]


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("busy", [False, True])
async def test_who_leaves_a_hub_of_their_own_is_asked_what_ends_with_it(alone: bool, busy: bool) -> None:
    asked = Question(StopKeeper(), "Stop the hub?", yes="Stop", losses=("This interrupts 1 turn: “parser”.",))
    app = Window(questions={StopKeeper(): asked} if busy else {})
    app.bridge.opening = replace(app.bridge.opening, alone=alone)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for answer in ("escape", "y"):
            await pilot.press("ctrl+q")
            await settled(pilot)
            if not (alone and busy):
                break
            assert isinstance(app.screen, ConfirmScreen) and app.return_code is None
            await pilot.press("ctrl+q")  # asks once
            await settled(pilot)
            assert len(app.screen_stack) == 2
            assert "This interrupts 1 turn: “parser”." in app.export_screenshot().replace("&#160;", " ")
            Keyboard(app).post(answer)
            await settled(pilot)
        assert app.return_code == 0


async def test_who_goes_elsewhere_while_values_are_looked_up_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, found = asyncio.Event(), asyncio.Event()

    async def complete(line: str, cursor: int) -> list[Completion]:
        asked.set()
        await found.wait()
        return [Completion("fern", cursor, cursor, "value")]

    app = Window(answers={"garden water": Incomplete("`garden water` is incomplete.")})
    async with app.run_test(size=SIZE) as pilot:
        await wait_until(pilot, lambda: app.query(Transcript))
        monkeypatch.setattr(app.bridge, "complete", complete)
        for key, written in (("", "/garden water "), ("alt+2", "")):
            asked.clear()
            found.clear()
            app.run_command("garden water")
            await asked.wait()
            if key:
                await pilot.press(key)
            place = app.focused
            found.set()
            await wait_until(pilot, lambda: not any(worker.group == "values" for worker in app.workers))
            assert (app.bench.input.text, app.focused) == (written, place)
            app.bench.input.text = ""

"""The timeline, receipts and waiting summaries in the window, by key and mouse."""

from textual.widgets import TextArea

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ContextAssembled
from gshtui.bus.events.context_events import ContextCut, SummaryAnswered, SummaryProposed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.ui.agents.agents_pane import AgentsPane
from gshtui.ui.context.context_feature import ContextFeature
from gshtui.ui.context.context_pane import ContextPane
from gshtui.ui.context.receipt_screen import ReceiptScreen
from gshtui.ui.context.summaries import SummariesPane, SummaryScreen
from gshtui.ui.context.timeline_pane import TimelinePane
from tests.kit import recorded
from tests.kit.keyboard import Keyboard
from tests.kit.recorded_contexts import COMPACTED, PRUNED, RecordedContexts
from tests.kit.window import NOW, Window, at_rest, settled
from tests.ui.test_inspector_pane import pressed


def sent(number: int, turn: str = "t1") -> ContextAssembled:
    return ContextAssembled(
        agent="main",
        session=recorded.S,
        turn=turn,
        iteration=number,
        tokens=20_000 * number,
        window=200_000,
        trigger=160_000,
        id=f"it{number}",
        at=NOW - 60 + number,
    )


SENT: tuple[Event, ...] = (
    sent(1),
    sent(2),
    ContextCut(agent="main", session=recorded.S, receipt=PRUNED),
    sent(3),
    ContextCut(agent="main", session=recorded.S, receipt=COMPACTED),
    sent(4),
)


def timeline(app: Window) -> TimelinePane:
    pane = app.bench.panes["timeline"]
    assert isinstance(pane, TimelinePane)
    return pane


async def test_the_cursor_goes_from_mark_to_mark_and_cut_to_cut() -> None:
    app = Window(service=RecordedContexts())
    async with at_rest(app, (140, 50)) as pilot:
        app.feed(*recorded.STARTED, *SENT)
        await pressed(pilot, "alt+5", "left")
        assert timeline(app).mark == timeline(app).state.marks[2]
        await pressed(pilot, "home")
        assert timeline(app).look.cursor == 0
        await pressed(pilot, "n")
        mark = timeline(app).mark
        assert mark is not None and mark.sign == "P"
        await pressed(pilot, "n", "n")
        assert timeline(app).look.cursor == 3, "there is no cut after the last"
        await pressed(pilot, "N")
        assert timeline(app).look.cursor == 2
        await pressed(pilot, "end")
        assert timeline(app).look.cursor == -1
        await pressed(pilot, "minus", "minus", "minus")
        assert timeline(app).look.zoom == -2
        await pressed(pilot, "plus", "plus", "plus")
        assert timeline(app).look.zoom == 1


async def test_the_row_for_the_pane_has_its_scale() -> None:
    app = Window(service=RecordedContexts())
    async with at_rest(app, (140, 50)):
        app.feed(*recorded.STARTED, sent(1), sent(2), sent(4))
        assert "▁▂▃ +40k" in timeline(app).summary(60).plain, "of the window, not of the tallest"


async def test_a_click_on_a_mark_chooses_it_and_a_double_click_opens_it() -> None:
    app = Window(service=RecordedContexts())
    async with at_rest(app, (160, 50)) as pilot:
        app.feed(*recorded.STARTED, *SENT)
        await settled(pilot)
        pane = timeline(app)
        left = pane.scrollable_content_region.x - pane.region.x
        await pilot.click(pane, offset=(left + 4, 4))
        assert pane.look.cursor == 2
        await pilot.click(pane, offset=(left + 4, 4), times=2)
        await settled(pilot)
        assert isinstance(app.screen, ReceiptScreen) and app.screen.receipt.id == "cut1"


async def test_a_mark_opens_its_receipt_and_from_there_it_is_undone() -> None:
    service = RecordedContexts()
    app = Window(service=service)
    async with at_rest(app, (100, 40)) as pilot:
        app.feed(*recorded.STARTED, *SENT)
        await pressed(pilot, "alt+5", "enter")
        screen = app.screen
        assert isinstance(screen, ReceiptScreen) and screen.receipt.id == "cut2"
        await pressed(pilot, "U")
        assert service.done == [("undo", "main", "cut2")] and app.screen is app.bench


async def test_one_item_of_a_receipt_is_read_and_restored() -> None:
    service = RecordedContexts()
    app = Window(service=service)
    async with at_rest(app, (100, 40)) as pilot:
        app.feed(*recorded.STARTED, *SENT)
        await pressed(pilot, "alt+5", "enter")
        screen = app.screen
        assert isinstance(screen, ReceiptScreen)
        screen.view.go("g:summarised")
        await pressed(pilot, "enter", "down", "down", "enter")
        assert any("IndexError: list index out of range" in (entry.text or "") for entry in screen.view.entries)
        await pressed(pilot, "u")
        assert service.done == [("restore", "main", "r2/0")]


async def test_a_summary_is_written_anew() -> None:
    service = RecordedContexts()
    app = Window(service=service)
    async with at_rest(app, (100, 40)) as pilot:
        app.feed(*recorded.STARTED, *SENT)
        await pressed(pilot, "alt+5", "enter", "e")
        assert isinstance(app.screen, SummaryScreen)
        app.screen.query_one(TextArea).text = ""
        await pressed(pilot, "ctrl+s")
        assert isinstance(app.screen, SummaryScreen), "an empty one is not taken"
        app.screen.query_one(TextArea).text = "Only this."
        await pressed(pilot, "ctrl+s")
        assert service.done == [("edit_summary", "main", "cut2", "Only this.")]


async def test_undo_by_key_and_the_request_of_a_mark() -> None:
    service = RecordedContexts()
    app = Window(service=service)
    async with at_rest(app, (100, 40)) as pilot:
        app.feed(*recorded.STARTED, *SENT)
        await pressed(pilot, "alt+5", "u")
        assert service.done == [("undo", "main", "cut2")]
        await pressed(pilot, "home", "u")
        assert len(service.done) == 1, "nothing was cut there"
        await pressed(pilot, "i")
        pane = app.part(ContextFeature).inspectors.find("main")
        assert pane is not None and pane.state.at == "it1"
        await pressed(pilot, "alt+5", "right", "d")
        assert pane.state.at == "it2" and pane.state.mode == "difference"


async def test_a_resumed_conversation_has_its_past() -> None:
    app = Window(service=RecordedContexts())
    async with at_rest(app, (140, 50)) as pilot:
        opened = SessionOpened(session=recorded.S, agent="main", messages=12, resumed=True)
        app.feed(recorded.STARTED[0], recorded.STARTED[1], opened, *recorded.STARTED[3:])
        await settled(pilot)
        assert [mark.sign for mark in timeline(app).state.marks] == ["", "", "P", "C"]
        assert timeline(app).state.turns_left == 9
        context = app.bench.panes["context"]
        assert isinstance(context, ContextPane) and context.state.requests == 4
        agent = app.bench.header.state.agent
        assert agent is not None and agent.row.context == context.state.used and agent.trigger == 160_000
        listed = app.bench.panes["agents"]
        assert isinstance(listed, AgentsPane) and listed.state.agents["main"].row.cost == agent.row.cost
        assert agent.row.cost is not None and agent.row.cost > 0.04


async def test_a_conversation_cut_since_its_last_request_shows_one_size_everywhere() -> None:
    service = RecordedContexts()
    service.made = service.made[:3]  # the compaction is newer
    app = Window(service=service)
    async with at_rest(app, (140, 50)) as pilot:
        opened = SessionOpened(session=recorded.S, agent="main", messages=12, resumed=True)
        app.feed(recorded.STARTED[0], recorded.STARTED[1], opened, *recorded.STARTED[3:])
        await settled(pilot)
        size = (await service.view("main")).tokens
        context, listed = app.bench.panes["context"], app.bench.panes["agents"]
        assert isinstance(context, ContextPane) and isinstance(listed, AgentsPane)
        agent = app.bench.header.state.agent
        assert agent is not None and not agent.exact
        assert context.state.used == agent.row.context == listed.state.agents["main"].row.context == size
        assert context.state.requests == 3, "what was used before still counts"


PROPOSED = SummaryProposed(agent="main", session=recorded.S, receipt=COMPACTED, deadline=NOW + 90)


async def test_a_summary_waits_without_taking_the_focus() -> None:
    app = Window(service=RecordedContexts())
    async with at_rest(app, (100, 40)) as pilot:
        app.feed(*recorded.STARTED)
        await pilot.press(*"so far")
        app.feed(PROPOSED)
        await settled(pilot)
        card = app.query_one(SummariesPane)
        assert card.display and app.focused is app.bench.input
        await pressed(pilot, "1")
        assert app.hub is not None and app.hub.intents(SummaryAnswered) == []
        await pressed(pilot, "ctrl+g")
        assert app.focused is card
        await pressed(pilot, "escape")
        assert app.focused is app.bench.input and card.display
        await pressed(pilot, "ctrl+g", "y", "a")  # letters are no answers
        assert app.hub.intents(SummaryAnswered) == []
        Keyboard(app).post("1")
        await settled(pilot)
        answered = SummaryAnswered(agent="main", cut="cut2", accepted=True)
        assert [(one.cut, one.accepted) for one in app.hub.said if isinstance(one, SummaryAnswered)] == [("cut2", True)]
        app.feed(answered)
        await settled(pilot)
        assert not card.display and app.focused is app.bench.input


async def test_a_summary_is_read_changed_or_rejected() -> None:
    app = Window(service=RecordedContexts())
    async with at_rest(app, (100, 40)) as pilot:
        app.feed(*recorded.STARTED, PROPOSED)
        await settled(pilot)
        await pressed(pilot, "ctrl+g", "enter")
        assert isinstance(app.screen, ReceiptScreen) and app.screen.kind == "proposed"
        await pressed(pilot, "r")
        assert not app.query_one(SummariesPane).display
        app.feed(PROPOSED)
        await settled(pilot)
        await pressed(pilot, "ctrl+g")
        Keyboard(app).post("2")
        await settled(pilot)
        assert isinstance(app.screen, SummaryScreen)
        app.screen.query_one(TextArea).text = "Mine."
        await pressed(pilot, "ctrl+s")
        assert app.hub is not None
        said = [(one.accepted, one.summary) for one in app.hub.said if isinstance(one, SummaryAnswered)]
        assert said == [(False, ""), (True, "Mine.")]


async def test_a_window_that_has_ended_has_no_panes_to_tell() -> None:
    """What it had asked of the record is cancelled then, and says for the last time what is known."""
    app = Window()
    async with at_rest(app):
        (feature,) = [part for part in app.parts if isinstance(part, ContextFeature)]
    assert not app.bench.query(ContextPane)
    feature.mark_known()

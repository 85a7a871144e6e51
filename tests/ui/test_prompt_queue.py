"""Prompts that wait: seen, changed, taken back."""

from gshtui.bus.events.agent_events import (
    PromptEdited,
    PromptEditRequested,
    PromptQueued,
    PromptSubmitted,
    PromptWithdrawn,
    QueueReleaseRequested,
    TurnStarted,
)
from gshtui.bus.events.session_events import SessionOpened
from gshtui.ui.prompt.prompt_status import PromptStatus
from tests.kit.prompt_host import PromptHost


def queued(*names: str) -> list[PromptQueued]:
    return [PromptQueued(prompt=name, agent="main", text=f"do {name}\nand more") for name in names]


def wanted(app: PromptHost) -> list[tuple[str, str]]:
    return [(event.prompt, event.text) for event in app.events if isinstance(event, PromptEditRequested)]


def row(app: PromptHost, y: int) -> str:
    return app.area.queue.render_line(y).text


async def test_they_are_shown_in_order_and_go_when_taken() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        assert not app.area.queue.display
        app.feed(*queued("a", "b"))
        await pilot.pause()
        assert "1 queued  do a⏎and more" in row(app, 0) and "2 queued  do b" in row(app, 1)
        app.feed(TurnStarted(agent="main", session="s", turn="t", prompt="a", at=1.0))
        await pilot.pause()
        assert "1 queued  do b" in row(app, 0)
        app.feed(PromptEdited(prompt="b", agent="main", text="else"))
        assert "else" in row(app, 0)
        app.feed(PromptWithdrawn(prompt="b", agent="main"))
        await pilot.pause()
        assert not app.area.queue.display


async def test_changed_by_key() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        app.feed(*queued("a", "b"))
        await pilot.press(*"half written", "alt+q")
        await pilot.pause()
        assert app.focused is app.area.queue
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.focused is app.area.input
        assert app.area.input.text == "do b\nand more"
        assert "Editing a queued prompt" in str(app.query_one(PromptStatus).content)
        await pilot.press(*" too", "enter")
        await pilot.pause()
        assert wanted(app) == [("b", "do b\nand more too")]
        assert app.area.input.text == "half written"
        assert "Editing" not in str(app.query_one(PromptStatus).content)


async def test_an_interrupt_takes_the_persons_own_back_before_what_is_being_written() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        mail = PromptQueued(prompt="m", agent="main", text="a report", source="agent fix")
        app.feed(*queued("a"), mail, *queued("b"), PromptQueued(prompt="c", agent="other", text="theirs"))
        app.feed(PromptEdited(prompt="b", agent="main", text="do b differently"))
        await pilot.press(*"half")
        back = app.area.take_back("main")
        assert [(one.prompt, one.text) for one in back if isinstance(one, PromptEditRequested)] == [
            ("a", ""),
            ("b", ""),
        ]
        assert app.area.input.value == "do a\nand more\n\ndo b differently\n\nhalf"
        app.feed(*(PromptWithdrawn(prompt=name, agent="main") for name in "ab"))
        assert app.area.take_back("main") == []


async def test_a_change_that_is_left() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        app.feed(*queued("a"))
        await pilot.press(*"mine", "alt+q", "e")
        await pilot.pause()
        await pilot.press(*"xyz", "escape")
        await pilot.pause()
        assert wanted(app) == []
        assert app.area.input.text == "mine"


async def test_nothing_left_of_it_takes_it_back() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        app.feed(PromptQueued(prompt="a", agent="main", text="words"))
        await pilot.press("alt+q", "enter")
        await pilot.pause()
        await pilot.press("ctrl+u", "enter")
        await pilot.pause()
        assert wanted(app) == [("a", "")]


async def test_taken_back_by_key_and_by_mouse() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(*queued("a", "b"))
        await pilot.press("alt+q", "delete")
        await pilot.pause()
        assert wanted(app) == [("a", "")]
        await pilot.click("#queue", offset=(row(app, 1).index("withdraw") + 1, 1))
        await pilot.pause()
        assert wanted(app)[1] == ("b", "")
        await pilot.click("#queue", offset=(row(app, 0).index("edit") + 1, 0))
        await pilot.pause()
        assert app.area.input.editing == "a"


async def test_one_that_is_taken_while_it_is_changed_is_not_lost() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        app.feed(*queued("a"))
        await pilot.press(*"mine", "alt+q", "enter")
        await pilot.pause()
        await pilot.press(*" and this")
        app.feed(TurnStarted(agent="main", session="s", turn="t", prompt="a", at=1.0))
        await pilot.pause()
        assert app.area.input.editing == ""
        assert app.area.input.text == "do a\nand more and this"
        assert app.area.input.past.entries[-1] == "mine"


async def test_words_typed_at_the_queue_go_to_the_input() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        app.feed(*queued("a"))
        await pilot.press("alt+q", *"what now")
        await pilot.pause()
        assert app.area.input.text == "what now"


async def test_many_in_a_small_window() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test(size=(40, 14)) as pilot:
        app.feed(*queued(*"abcdefgh"))
        await pilot.pause()
        assert app.area.queue.region.height == 2
        assert "(+6 more)" in row(app, 1)
        assert app.area.input.region.bottom <= 14


async def test_prompts_that_were_not_taken_come_back_in_their_order_before_what_is_being_written() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        await pilot.press(*"half")
        app.feed(*(PromptSubmitted(prompt=name, agent="main", text=f"do {name}") for name in "abc"))
        for name in "ab":
            app.feed(PromptWithdrawn(prompt=name, agent="main", text=f"do {name}", why="The disk is full."))
            await pilot.pause()
        assert app.area.input.text == "do a\n\ndo b\n\nhalf"
        app.feed(PromptWithdrawn(prompt="c", agent="main", text="do c"))  # the person's own wish
        app.feed(PromptWithdrawn(prompt="x", agent="main", text="do x", why="Full."))  # another window's
        await pilot.pause()
        assert app.area.input.text == "do a\n\ndo b\n\nhalf"


async def test_what_is_held_is_sent_by_its_key_and_not_taken_back_by_an_interrupt() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        app.feed(PromptQueued(prompt="old", agent="main", text="from before", held=True), *queued("a"))
        await pilot.pause()
        assert "1 held  from before" in row(app, 0) and "send  edit  withdraw" in row(app, 0)
        assert "2 queued  do a" in row(app, 1) and "send" not in row(app, 1)
        assert "1 queued · 1 held" in str(app.query_one(PromptStatus).content)
        await pilot.press("alt+q", "s", "down", "s")
        await pilot.pause()
        released = [event.prompt for event in app.events if isinstance(event, QueueReleaseRequested)]
        assert released == ["old"]
        back = app.area.take_back("main")
        assert [one.prompt for one in back if isinstance(one, PromptEditRequested)] == ["a"]
        app.feed(PromptQueued(prompt="old", agent="main", text="from before"))
        await pilot.pause()
        assert "1 queued  from before" in row(app, 0)


async def test_another_conversation_has_a_queue_of_its_own() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        app.feed(*queued("a"), PromptQueued(prompt="c", agent="other", text="theirs"))
        app.feed(SessionOpened(session="s2", agent="main"))
        await pilot.pause()
        assert "theirs" in row(app, 0) and len(app.area.queue.state.waiting) == 1
        assert "queued" not in str(app.query_one(PromptStatus).content)

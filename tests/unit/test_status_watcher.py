"""A program's status follows its screen, also when tmux reports no change; screens are looked at one by one."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import TitleRules
from gshtui.programs.screen.foreground import Foreground
from gshtui.programs.screen.line_styles import without_styles
from gshtui.programs.screen.screen_reading import ScreenReading
from gshtui.programs.session.live_sources import FinishedTurn
from gshtui.programs.session.program_facts import ProgramLook
from gshtui.programs.session.status_watcher import CliStatus, OnKnown, Pacer, uneven
from gshtui.programs.status.evidence import Evidence, LiveSource, Rank
from gshtui.programs.status.status import WORKING, HookEvent, KnownStatus
from gshtui.programs.transcripts.transcript_readers import READERS, TurnText
from gshtui.tmux.panes import PaneInfo, unknown
from gshtui.tmux.watcher import PaneChange
from tests.kit.tmux import eventually

SCREENS = next((Path(__file__).parents[1] / "fixtures" / "screens" / "claude").iterdir())
IDLE, DRAFT, BUSY, QUESTION, TOOL = (
    tuple((SCREENS / f"{name}.txt").read_text("utf-8").rstrip("\n").split("\n"))
    for name in ("03-idle", "04-draft", "06-busy", "08-approval", "11-tool")
)


class Told(LiveSource):
    """A source that says what it was last made to say."""

    def __init__(self, told: Evidence | None = None) -> None:
        self.told = told

    @property
    def evidence(self) -> Evidence | None:
        return self.told

    async def start(self, changed: Callable[[], None]) -> None: ...
    async def stop(self) -> None: ...


class SilentServer:
    """Tells of a pane once; what changes in that second it does not tell, as tmux, whose activity is in seconds."""

    def __init__(self) -> None:
        self.watcher = self
        self.looks = 0
        self.shown = IDLE
        self.cursor = (0, 0)

    def show(self, shown: tuple[str, ...], column: int, row: int) -> None:
        self.shown, self.cursor = shown, (column, row)

    def watch(self, pane: str, callback: Callable[[PaneChange], None]) -> Callable[[], None]:
        callback(PaneChange(pane, frozenset({"first"}), self._info()))
        return lambda: None

    def next_output(self, pane: str, callback: Callable[[], None]) -> Callable[[], None]:
        self.printed = callback

        def end() -> None:
            self.printed = lambda: None

        return end

    def watch_keys(self, pane: str, callback: Callable[[bool], None]) -> Callable[[], None]:
        self.pressed = callback
        return lambda: None

    async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]:
        self.looks += 1
        shown = self.shown
        if self.looks == 2:
            self.shown = QUESTION
        return self._info(), shown

    def _info(self) -> PaneInfo:
        column, row = self.cursor
        now = float(int(time.time()))
        return replace(unknown("%0"), dead=False, activity=now, width=120, height=40, cursor_x=column, cursor_y=row)


def stand_in(server: SilentServer, *, changed: OnKnown = lambda _: None, **options: Any) -> CliStatus:
    """The status of a program like Claude Code that has been there for a minute."""
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=time.time() - 60)
    return CliStatus(server, row, profiles.load(Path("/nonexistent")).get("claude"), changed, **options)


async def test_what_changes_in_the_second_of_the_last_look_is_seen() -> None:
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=1.0)
    asked = asyncio.Event()

    def changed(known: KnownStatus) -> None:
        if (known.status, known.source) == ("waiting", "screen"):
            asked.set()

    server = SilentServer()
    claude = profiles.load(Path("/nonexistent")).get("claude")
    status = CliStatus(server, row, claude, changed)
    await status.start()
    try:
        async with asyncio.timeout(30):
            await asked.wait()
    finally:
        await status.stop()


async def test_a_program_is_looked_at_all_the_time_while_something_goes_on_there_alone() -> None:
    server, pace, clock = SilentServer(), Pacer(), [time.time()]
    status = stand_in(server, pace=pace, clock=lambda: clock[0])
    server.looks = 9
    await status.start()

    async def looked() -> int:
        return server.looks

    async def close() -> int:
        return len(pace.close)

    try:
        await eventually(looked, until=lambda looks: looks > 15)
        assert len(pace.close) == 1
        clock[0] += 60
        await eventually(close, until=lambda count: not count)
    finally:
        await status.stop()
    assert not pace.close


async def test_a_command_that_its_person_gives_the_program_is_no_prompt() -> None:
    """What rests goes on resting, where no source tells of such a command."""
    claude = structs.replace(profiles.load(Path("/nonexistent")).get("claude"), record="")
    row = AgentRow(id="0001", name="it", kind="cli", pane="%0", created=1.0, status="idle", status_source="screen")
    server = SilentServer()
    server.looks = 9
    status = CliStatus(server, structs.replace(row, status_at=time.time() - 60), claude, lambda _: None)
    place = max(at for at, line in enumerate(IDLE) if without_styles(line).startswith("❯")) - 2
    await status.start()
    try:
        for entered, wanted in (("/tools", "idle"), ("!ls", "idle"), ("Good day", "quiet")):
            looks = server.looks
            server.show((*IDLE[:place], f"❯ {entered}", *IDLE[place:]), 0, 0)
            status.check_now()

            async def seen(before: int = looks) -> str:
                return status.known.status if server.looks > before + 2 else ""

            await eventually(seen, until=lambda known: known not in ("", *WORKING))
            assert status.known.status == wanted, entered
    finally:
        await status.stop()


class PrintingServer(SilentServer):
    """Each look at its pane finds other lines; `tell` says, as tmux once a second, that there were some."""

    def watch(self, pane: str, callback: Callable[[PaneChange], None]) -> Callable[[], None]:
        self.tell = lambda *what: callback(PaneChange(pane, frozenset(what or ("activity",)), self._info()))
        return super().watch(pane, callback)

    async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]:
        self.looks += 1
        return self._info(), (f"line {self.looks}",)


async def test_what_prints_and_prints_is_looked_at_now_and_then_and_at_once_when_it_falls_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watcher = "gshtui.programs.session.status_watcher"
    runs = Foreground("make", own=False)
    monkeypatch.setattr(f"{watcher}.front", lambda _: runs)
    for name, seconds in {"_GOES_ON": 0.0, "_NOW_AND_THEN": 3600.0, "_SILENT": 3600.0, "_STIRRED": 3600.0}.items():
        monkeypatch.setattr(f"{watcher}.{name}", seconds)
    row = AgentRow(id="0001", name="sh", kind="cli", pane="%0", created=time.time() - 60)
    server, pace = PrintingServer(), Pacer()
    status = CliStatus(server, row, profiles.load(Path("/nonexistent")).get("shell"), lambda _: None, pace=pace)

    async def steady() -> int:
        return len(pace.steady)

    await status.start()
    try:
        await eventually(steady, until=lambda count: count == 1)
        looks = server.looks
        for _ in range(200):
            server.tell()
            await asyncio.sleep(0)
        assert (server.looks, status.known.status) == (looks, "tool")
        runs = Foreground("bash", prompt=True)
        monkeypatch.setattr(f"{watcher}._SILENT", 0.01)
        server.tell()
        await eventually(lambda: status_of(status), until=lambda status: status == "idle")
        assert not pace.steady
    finally:
        await status.stop()


async def test_what_prints_one_line_again_and_again_prints_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its screen never changes, so that only tmux tells that something goes on there."""

    class SameLine(PrintingServer):
        async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]:
            self.looks += 1
            return self._info(), ()

    watcher = "gshtui.programs.session.status_watcher"
    runs = Foreground("make", own=False)
    monkeypatch.setattr(f"{watcher}.front", lambda _: runs)
    for name, seconds in {"_GOES_ON": 0.0, "_NOW_AND_THEN": 3600.0, "_SILENT": 3600.0, "_STIRRED": 3600.0}.items():
        monkeypatch.setattr(f"{watcher}.{name}", seconds)
    row = AgentRow(id="0001", name="sh", kind="cli", pane="%0", created=1.0)
    server, pace = SameLine(), Pacer()
    status = CliStatus(server, row, profiles.load(Path("/nonexistent")).get("shell"), lambda _: None, pace=pace)

    async def steady() -> int:
        server.tell()
        return len(pace.steady)

    await status.start()
    try:
        await eventually(steady, until=lambda count: count == 1)
        looks = server.looks
        for _ in range(50):
            server.tell()
            await asyncio.sleep(0)
        assert server.looks == looks
    finally:
        await status.stop()


async def test_one_that_rests_is_looked_at_when_it_prints_and_not_before() -> None:
    server, pace, clock = SilentServer(), Pacer(), [time.time()]
    status = stand_in(server, pace=pace, clock=lambda: clock[0])
    server.looks = 9

    async def close() -> int:
        return len(pace.close)

    await status.start()
    try:
        await eventually(lambda: look(server), until=lambda looks: looks > 10)
        clock[0] += 60
        status.check_now()
        await eventually(close, until=lambda count: not count)
        await eventually(lambda: look(server), until=lambda looks: looks > 11)
        server.shown = QUESTION
        server.printed()
        await eventually(lambda: status_of(status), until=lambda status: status == "waiting")
    finally:
        await status.stop()


async def test_what_comes_of_an_enter_is_seen_as_soon_as_its_screen_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """How far apart other looks are plays no part while its input holds a draft, and just after that."""
    monkeypatch.setattr("gshtui.programs.session.status_watcher._LOOKS_APART", 3600.0)
    monkeypatch.setattr("gshtui.programs.session.status_watcher._CLOSELY", 3600.0)
    server = SilentServer()
    status = stand_in(server)
    server.looks = 9
    server.show(DRAFT, 16, 14)
    await status.start()
    try:
        await eventually(lambda: status_of(status), until=lambda status: status == "idle")
        for shown, row_of_cursor, said in ((IDLE, 14, "idle"), (BUSY, 30, "thinking")):
            seen = server.looks
            server.show(shown, 2, row_of_cursor)
            server.printed()
            await eventually(lambda: look(server), until=lambda looks, seen=seen: looks > seen)
            await eventually(lambda: status_of(status), until=lambda status, said=said: status == said)
    finally:
        await status.stop()


async def test_an_enter_is_seen_before_the_program_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hook is a program that has to start first; whoever looks meanwhile is told that it rests."""
    monkeypatch.setattr("gshtui.programs.session.status_watcher._LOOKS_APART", 3600.0)
    monkeypatch.setattr("gshtui.programs.session.status_watcher._CLOSELY", 3600.0)
    server = SilentServer()
    status = stand_in(server)
    server.looks = 9
    server.show(DRAFT, 16, 14)
    await status.start()
    try:
        await eventually(lambda: status_of(status), until=lambda status: status == "idle")
        seen = server.looks
        status._on_hook(HookEvent(time.time(), "Stop", "idle"))  # pyright: ignore[reportPrivateUsage]
        status._on_hook(HookEvent(time.time() - 1, "PermissionRequest", "waiting"))  # pyright: ignore[reportPrivateUsage]
        assert (status.known.status, status.known.source) == ("idle", "hook"), "it was overtaken"
        await eventually(lambda: look(server), until=lambda looks: looks > seen)
        server.show(BUSY, 2, 30)
        server.printed()
        await eventually(lambda: status_of(status), until=lambda status: status == "thinking")
        status._on_hook(HookEvent(time.time(), "UserPromptSubmit", "thinking"))  # pyright: ignore[reportPrivateUsage]
        assert (status.known.status, status.known.source) == ("thinking", "hook")
    finally:
        await status.stop()


@pytest.mark.parametrize("late", [False, True])
async def test_a_turn_that_is_over_before_it_is_looked_at_rests_by_its_report(
    monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Its text was entered, taken up and answered between two looks; the screen of some still shows then that it
    works."""
    if not late:
        monkeypatch.setattr("gshtui.programs.session.status_watcher._LOOKS_APART", 3600.0)
        monkeypatch.setattr("gshtui.programs.session.status_watcher._CLOSELY", 3600.0)
    server, said = SilentServer(), list[tuple[str, str, bool]]()
    status = stand_in(server, changed=lambda known: said.append((known.status, known.source, known.sure)))
    server.looks = 9
    server.show(DRAFT, 16, 14)
    await status.start()
    try:
        await eventually(lambda: status_of(status), until=lambda status: status == "idle")
        for event, reported in (("UserPromptSubmit", "thinking"), ("Stop", "idle")):
            status._on_hook(HookEvent(time.time(), event, reported))  # pyright: ignore[reportPrivateUsage]
        draft = await draft_of(status)
        if late:
            server.show(BUSY, 2, 30)
            server.printed()
            await eventually(lambda: status_of(status), until=lambda status: status == "thinking")
        server.show((f"❯ {draft}", "", "● Hello. I am here.", "", *IDLE), 2, 18)
        server.printed()
        await eventually(lambda: draft_of(status), until=lambda draft: not draft)
        await eventually(lambda: status_of(status), until=lambda status: status == "idle")
        assert status.known.source == "hook"
        # While its text is still to be seen in its input, its rest is not sure: an Enter may come at any moment.
        assert late or said[-3:] == [("thinking", "hook", True), ("idle", "hook", False), ("idle", "hook", True)]
    finally:
        await status.stop()


async def test_one_change_without_a_new_word_is_no_animation(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell's prompt that comes back: what it prints next is still looked at."""
    monkeypatch.setattr("gshtui.programs.session.status_watcher._SETTLED", 3600.0)
    server, clock = SilentServer(), [time.time()]
    status = stand_in(server, clock=lambda: clock[0])
    server.looks, server.shown = 9, BUSY
    await status.start()
    try:
        # After the eleven seconds, nothing is looked at by itself any more.
        for shown, later in ((BUSY, 0.0), (TOOL, 0.0), (BUSY, 11.0), (BUSY, 0.0)):
            clock[0] += later
            server.shown = shown
            status.check_now()
            await eventually(lambda: look(server), until=lambda looks, seen=server.looks: looks > seen)
        server.shown = IDLE
        server.printed()
        await eventually(lambda: status_of(status), until=lambda status: status == "quiet")
    finally:
        await status.stop()


async def test_that_a_question_was_answered_is_seen_as_soon_as_its_screen_shows_it() -> None:
    """No program reports that, and tmux would tell of the output a second later, or not at all."""
    server, clock = SilentServer(), [time.time()]
    status = stand_in(server, clock=lambda: clock[0])
    server.looks, server.shown = 9, QUESTION
    await status.start()
    try:
        await eventually(lambda: status_of(status), until=lambda status: status == "waiting")
        status._on_hook(HookEvent(clock[0], "PermissionRequest", "waiting"))  # pyright: ignore[reportPrivateUsage]
        assert (status.known.status, status.known.source) == ("waiting", "hook")
        clock[0] += 60  # nothing moves any more, so it is not looked at by itself
        for _ in range(2):
            status.check_now()
            await eventually(lambda: look(server), until=lambda looks, seen=server.looks: looks > seen)
        server.shown = TOOL
        server.printed()
        await eventually(lambda: status_of(status), until=lambda status: status in ("thinking", "tool"))
    finally:
        await status.stop()


async def test_an_answer_counts_until_its_program_has_read_it_whatever_moves_beside_the_question() -> None:
    server, clock = SilentServer(), [time.time()]
    status = stand_in(server, clock=lambda: clock[0])
    server.looks, server.shown = 9, QUESTION
    server.watch_keys("%0", status._on_keys)  # pyright: ignore[reportPrivateUsage]
    await status._look()  # pyright: ignore[reportPrivateUsage]
    for beside in ("⠋ Waiting", "⠙ Waiting"):
        clock[0] += 0.01
        status._on_keys(True)  # pyright: ignore[reportPrivateUsage]
        clock[0] += 0.01
        server.shown = (beside, *QUESTION[1:])
        await status._look()  # pyright: ignore[reportPrivateUsage]
        assert (status.known.status, status.known.sure) == ("thinking", False)
    clock[0] += 5
    await status._look()  # pyright: ignore[reportPrivateUsage]
    assert status.known.status == "waiting"


async def test_an_answer_counts_until_the_source_of_the_question_has_noticed_it() -> None:
    """Its screen shows that it is answered; what asked tells of that a moment later. Without an Enter, it is hidden."""
    server, clock = SilentServer(), [time.time()]
    asks = Told(Evidence(Rank.PROTOCOL, "protocol", "waiting", clock[0] - 5))
    status = stand_in(server, clock=lambda: clock[0], sources=(asks,))
    server.looks = 9
    for before, pressed, expected in (
        (QUESTION, False, "waiting"),
        (QUESTION, True, "thinking"),
        (TOOL, True, "thinking"),  # what asks is not read from the screen
    ):
        clock[0] += 5
        server.shown = before
        await status._look()  # pyright: ignore[reportPrivateUsage]
        if pressed:
            status._on_keys(True)  # pyright: ignore[reportPrivateUsage]
        clock[0] += 0.01
        server.shown = IDLE
        await status._look()  # pyright: ignore[reportPrivateUsage]
        assert status.known.status == expected
    clock[0] += 5
    await status._look()  # pyright: ignore[reportPrivateUsage]
    assert status.known.status == "waiting", "it was no answer to that"


@pytest.mark.parametrize("name", READERS)
async def test_the_words_before_a_question_are_no_rest_and_the_last_ones_are(name: str) -> None:
    """Gemini writes a call down only once it has run, so those look like the whole turn. The words of Vibe and aider
    have the time of their prompt."""
    timed = READERS[name].TIMED
    began = time.time() - 100
    clock = [began - 45]
    written = TurnText(
        "m", began - 50, "Good day", ("Hello.",), "Hello.", True, began - 49 if timed else began - 50, timed=timed
    )

    async def last_turn() -> TurnText:
        return written

    source = FinishedTurn(last_turn)
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=began - 60)
    profile = profiles.load(Path("/nonexistent")).get(name)
    status = CliStatus(SilentServer(), row, profile, lambda _: None, clock=lambda: clock[0], sources=(source,))
    rest, asks = (
        ScreenReading("idle", input=True, echo="Make a file"),
        ScreenReading("waiting", asked="May I make a file?"),
    )

    async def rests(after: float, shown: ScreenReading = rest) -> bool:
        clock[0] = began + after
        before = status._written()  # pyright: ignore[reportPrivateUsage]
        await source.refresh(quiet=shown.status == "idle")
        look = ProgramLook(clock[0], clock[0], ("the same",), shown, None, before, 0)
        status._saw(look)  # pyright: ignore[reportPrivateUsage]
        status._judge()  # pyright: ignore[reportPrivateUsage]
        return status.known.rests

    await rests(-40)
    assert await rests(-10)
    status.given_prompt(began)
    assert not await rests(0.5) or profile.rest.input
    if timed:
        written = TurnText("m", began, "Make a file", ("I make it.",), "I make it.", True, began + 2, timed=True)
        await source.refresh(quiet=True)
        clock[0] = began + 2.1
        status._judge()  # pyright: ignore[reportPrivateUsage]
        assert not status.known.rests or profile.rest.input, "the screen was read before they were written"
    assert not await rests(3, asks)
    if timed:
        for after in (10.0, 10.5, 25.0):
            assert not await rests(after) or profile.rest.input, after
    said = ("I make it.", "Done.")
    written = TurnText("m", began, "Make a file", said, "Done.", True, began + 26 if timed else began, timed=timed)
    await rests(27)
    assert await rests(50)
    assert not await rests(60, asks), "a dialog that no rule knows as one"
    assert await rests(61)


@pytest.mark.parametrize("changes", ["below", "above"])
async def test_what_changes_below_the_input_is_no_answer_that_grows(changes: str) -> None:
    """Such as the mode, or a clock: it never works, and once it has ticked a while, its rest is sure all the time."""
    folder = SCREENS.parents[1] / "qwen" / "0.24.4" / "ask-80x24"
    idle = tuple((folder / "01-idle.txt").read_text("utf-8").rstrip("\n").split("\n"))
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=time.time() - 60)
    server, clock, seen = SilentServer(), [time.time()], list[KnownStatus]()
    qwen = profiles.load(Path("/nonexistent")).get("qwen")
    qwen = structs.replace(qwen, titles=TitleRules())  # whose title tells no turn from a rest
    rests = Told(Evidence(Rank.RECORD, "record", "idle", clock[0] - 5))
    sources = (rests,) if changes == "below" else ()
    status = CliStatus(server, row, qwen, seen.append, clock=lambda: clock[0], sources=sources)
    server.looks, server.shown = 9, idle
    server.next_output("%0", status._on_output)  # pyright: ignore[reportPrivateUsage]
    await status._look()  # pyright: ignore[reportPrivateUsage]
    for tick in range(6):
        clock[0] += 0.5
        seen.clear()
        server.shown = (*idle, f"12:00:0{tick}") if changes == "below" else (f"word{tick}", *idle)
        status._on_output()  # pyright: ignore[reportPrivateUsage]
        await status._look()  # pyright: ignore[reportPrivateUsage]
        assert (status.known.status in WORKING) == (changes == "above")
    if changes == "below":
        assert not seen, "nothing to tell of"


async def test_a_question_that_is_reported_is_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """That it was answered can be seen only after it was seen itself."""
    monkeypatch.setattr("gshtui.programs.session.status_watcher._LOOKS_APART", 3600.0)
    monkeypatch.setattr("gshtui.programs.session.status_watcher._CLOSELY", 3600.0)
    server = SilentServer()
    status = stand_in(server)
    server.looks = 9
    await status.start()
    try:
        await eventually(lambda: look(server), until=lambda looks: looks == 10)
        await eventually(lambda: status_of(status), until=lambda status: status == "idle")
        server.shown = QUESTION
        status._on_hook(HookEvent(time.time(), "PermissionRequest", "waiting"))  # pyright: ignore[reportPrivateUsage]
        await eventually(lambda: look(server), until=lambda looks: looks == 11)
    finally:
        await status.stop()


@pytest.mark.parametrize("by", ["hook", "record"])
async def test_the_end_of_a_turn_that_is_told_early_is_seen_as_soon_as_the_screen_shows_it(
    monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Its source tells of it before its screen does; how far apart other looks are plays no part."""
    monkeypatch.setattr("gshtui.programs.session.status_watcher._LOOKS_APART", 3600.0)
    monkeypatch.setattr("gshtui.programs.session.status_watcher._CLOSELY", 3600.0)
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=time.time() - 60)
    server, source = SilentServer(), Told()
    claude = profiles.load(Path("/nonexistent")).get("claude")
    early = structs.replace(claude, hooks=structs.replace(claude.hooks, early=True))
    status = CliStatus(server, row, early, lambda _: None, sources=(source,))
    server.looks, server.shown = 9, TOOL
    await status.start()
    try:
        await eventually(lambda: status_of(status), until=lambda status: status in WORKING)
        if by == "hook":
            status._on_hook(HookEvent(time.time(), "Stop", "idle"))  # pyright: ignore[reportPrivateUsage]
        else:
            source.told = Evidence(Rank.RECORD, "record", "idle", time.time())
            status._on_source()  # pyright: ignore[reportPrivateUsage]
        await eventually(lambda: look(server), until=lambda looks: looks > 12)
        assert status.known.status in WORKING, "its screen shows that it works"
        server.shown = IDLE  # tmux tells nothing of that
        await eventually(lambda: status_of(status), until=lambda status: status == "idle")
    finally:
        await status.stop()


async def test_what_it_asks_at_its_start_belongs_to_no_turn() -> None:
    """Such as whether hooks may run: behind that, its input is rest."""
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=time.time(), status="starting")
    row = structs.replace(row, status_source="spawn")
    server = SilentServer()
    status = CliStatus(server, row, profiles.load(Path("/nonexistent")).get("claude"), lambda _: None)
    server.looks, server.shown = 9, QUESTION
    await status.start()
    try:
        await eventually(lambda: status_of(status), until=lambda status: status == "waiting")
        server.show(IDLE, 2, 14)
        status.check_now()
        await eventually(lambda: status_of(status), until=lambda status: status == "idle")
    finally:
        await status.stop()


@pytest.mark.parametrize(("shown", "said"), [("● Fetched (5s)", "idle"), ("● Fetched (6s)", "thinking")])
async def test_a_time_that_stood_while_it_worked_does_not_pass(shown: str, said: str) -> None:
    """It is the row of something that is over; one that has just come may be a clock."""
    server, source, clock = SilentServer(), Told(), [time.time()]
    status = stand_in(server, sources=(source,), clock=lambda: clock[0])
    server.looks = 9
    server.show(("● Fetched (5s)", *BUSY), 2, 31)
    await status.start()
    try:
        await eventually(lambda: status_of(status), until=lambda status: status == "thinking")
        clock[0] += 10
        source.told = Evidence(Rank.RECORD, "record", "idle", clock[0])
        server.show((shown, *IDLE), 2, 15)
        status._on_source()  # pyright: ignore[reportPrivateUsage]
        await eventually(lambda: reads(status), until=lambda reads: reads == "idle")
        assert status.known.status == said
    finally:
        await status.stop()


async def status_of(status: CliStatus) -> str:
    return status.known.status


async def reads(status: CliStatus) -> str:
    return status._facts.reading.status  # pyright: ignore[reportPrivateUsage]


async def draft_of(status: CliStatus) -> str:
    return status._facts.reading.draft  # pyright: ignore[reportPrivateUsage]


async def test_the_first_goes_on_at_once_and_the_others_one_by_one_in_their_order() -> None:
    pace, went = Pacer(), list[int]()
    loop = asyncio.get_running_loop()

    async def look(number: int) -> float:
        await pace.wait()
        went.append(number)
        return loop.time()

    began = loop.time()
    times = await asyncio.gather(*(look(number) for number in range(10)))
    assert went == list(range(10))
    assert times[9] - began >= 9 * 0.005
    await pace.wait()
    assert loop.time() >= times[9]


@pytest.mark.parametrize("jump", [8 * 3600.0, -8 * 3600.0])
async def test_a_night_of_sleep_and_a_clock_set_back_change_nothing(jump: float) -> None:
    """A program that works by its hook's word: it is neither lifeless after the night, nor at work for eight hours."""
    began = 1_000_000.0
    clock = [began]
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=began - 60)
    claude = profiles.load(Path("/nonexistent")).get("claude")
    server = SilentServer()
    server.looks, server.shown = 9, ("nothing that a rule knows",)
    status = CliStatus(server, row, claude, lambda _: None, clock=lambda: clock[0])
    await status.start()
    try:
        await eventually(lambda: look(server), until=lambda looks: looks > 10)
        status._on_hook(HookEvent(began, "UserPromptSubmit", "thinking"))  # pyright: ignore[reportPrivateUsage]
        assert (status.known.status, status.known.source) == ("thinking", "hook")
        clock[0] += jump
        status.check_now()
        looked = server.looks
        await eventually(lambda: look(server), until=lambda looks: looks > looked + 1)
        assert (status.known.status, status.known.source) == ("thinking", "hook")
        clock[0] += 100  # now it has shown no sign of life for longer than it may
        status.check_now()
        looked = server.looks
        await eventually(lambda: look(server), until=lambda looks: looks > looked + 1)
        assert (status.known.status, status.known.doing) == ("quiet", "no sign of life")
    finally:
        await status.stop()


async def look(server: SilentServer) -> int:
    return server.looks


@pytest.mark.parametrize("wait", [0.2, 0.4])
@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_no_spinner_turns_in_step_with_the_looks_at_it(wait: float, turns: int) -> None:
    at, seen = 0.0, list[int]()
    for number in range(1, 13):
        at += uneven(wait, number)
        seen.append(int(at * turns / wait * 4) % 4)  # a turn has four pictures
    assert all(len(set(seen[start : start + 5])) > 1 for start in range(8))


async def test_one_that_was_restarted_starts_until_its_screen_says_more() -> None:
    now = time.time()
    old = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=now - 3600)
    row = structs.replace(old, status="starting", status_source="spawn", status_at=now)
    server = SilentServer()
    server.looks, server.shown = 9, ("",)
    status = CliStatus(server, row, profiles.load(Path("/nonexistent")).get("opencode"), lambda _: None)
    await status.start()
    try:
        await eventually(lambda: look(server), until=lambda looks: looks > 10)
        assert status.known.status == "starting"
    finally:
        await status.stop()


async def test_what_a_program_in_a_shell_asks_is_read_by_its_own_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system does not tell that it waits for a key, and a list on its screen at rest is no question."""
    loaded = profiles.load(Path("/nonexistent"))
    runs = Foreground("claude", own=False, argv=("claude",))
    monkeypatch.setattr("gshtui.programs.session.status_watcher.front", lambda _: runs)
    row = AgentRow(id="0001", name="sh", kind="cli", pane="%0", created=time.time() - 60)
    server = SilentServer()
    server.looks = 2  # it changes nothing by itself
    status = CliStatus(server, row, loaded.get("shell"), lambda _: None, profiles=loaded.of_process)
    await status.start()
    try:
        for shown, wanted in ((IDLE, "tool"), (QUESTION, "waiting"), (BUSY, "tool")):
            server.shown = shown
            status.check_now()
            known = await eventually(lambda: status_of(status), until=lambda status, wanted=wanted: status == wanted)
            assert known == wanted
            assert bool(status.known.question) == (wanted == "waiting")
    finally:
        await status.stop()


async def test_what_a_program_in_a_shell_asks_is_seen_though_it_has_printed_and_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing else tells of it: a program's spinner is no command's output."""
    watcher, loaded = "gshtui.programs.session.status_watcher", profiles.load(Path("/nonexistent"))
    runs = Foreground("claude", own=False, argv=("claude",))
    monkeypatch.setattr(f"{watcher}.front", lambda _: runs)
    for name, seconds in {"_GOES_ON": 0.0, "_NOW_AND_THEN": 3600.0, "_SILENT": 3600.0, "_STIRRED": 3600.0}.items():
        monkeypatch.setattr(f"{watcher}.{name}", seconds)

    class Asking(PrintingServer):
        async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]:
            info, lines = await super().capture_screen(pane)
            return info, QUESTION if self.looks > 9 else lines

    row = AgentRow(id="0001", name="sh", kind="cli", pane="%0", created=time.time() - 60)
    server = Asking()
    status = CliStatus(server, row, loaded.get("shell"), lambda _: None, profiles=loaded.of_process)
    await status.start()
    try:
        assert await eventually(lambda: status_of(status), until=lambda status: status == "waiting") == "waiting"
    finally:
        await status.stop()


@pytest.mark.parametrize("looks", [1, 0])
async def test_an_enter_counts_though_a_busy_program_draws_its_text_only_later(looks: int) -> None:
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=time.time() - 60)
    server, clock = SilentServer(), [time.time()]
    claude = profiles.load(Path("/nonexistent")).get("claude")
    told = Told(Evidence(Rank.RECORD, "record", "idle", clock[0] - 5))
    status = CliStatus(server, row, claude, lambda _: None, clock=lambda: clock[0], sources=(told,))
    server.looks = 9
    pressed = status._on_keys  # pyright: ignore[reportPrivateUsage]
    for typed, shown, expected in (
        (None, IDLE, "idle"),
        (False, IDLE, "idle"),  # a letter, not drawn yet
        *((True, IDLE, "thinking"),) * looks,
        (None if looks else True, DRAFT, "thinking"),
        (None, DRAFT, "thinking"),
    ):
        clock[0] += 0.2
        if typed is not None:
            pressed(typed)
        server.shown = shown
        await status._look()  # pyright: ignore[reportPrivateUsage]
        assert status.known.status == expected
    clock[0] += 7
    await status._look()  # pyright: ignore[reportPrivateUsage]
    assert (status.known.status, status.known.sure) == ("idle", False), "it did not take the text"


@pytest.mark.parametrize("width", [120, 60])
async def test_a_screen_that_is_drawn_anew_has_no_new_prompt(width: int) -> None:
    """As after its window was made wider or narrower: the rows above its input are away for a moment."""
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane="%0", created=time.time() - 60)
    clock = [time.time()]

    class Resized(SilentServer):
        def _info(self) -> PaneInfo:
            return replace(super()._info(), width=self.width)

        width = 120

    server, answered = Resized(), (SCREENS / "07-interrupted.txt").read_text("utf-8").rstrip("\n").split("\n")
    claude = profiles.load(Path("/nonexistent")).get("claude")
    told = Told(Evidence(Rank.RECORD, "record", "idle", clock[0] - 5))
    status = CliStatus(server, row, claude, lambda _: None, clock=lambda: clock[0], sources=(told,))
    server.looks = 9
    narrow = tuple(line if width == 120 or "do:long" not in without_styles(line) else "❯ do:lo" for line in answered)
    between = IDLE if width == 120 else tuple(answered)
    for shown, columns in ((tuple(answered), 120), (between, 120), (narrow, width)):
        clock[0] += 0.5
        server.shown, server.width = shown, columns
        await status._look()  # pyright: ignore[reportPrivateUsage]
        assert (status.known.status, status.known.sure) == ("idle", True), columns

"""No rest is called sure between what is typed into a program and the first sign of what comes of it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.session.status_watcher import CliStatus
from gshtui.programs.status.evidence import Evidence, Rank
from gshtui.programs.status.status import HookEvent
from tests.kit.storms import examples
from tests.unit.test_status_watcher import DRAFT, IDLE, QUESTION, TOOL, SilentServer, Told

CLAUDE = profiles.load(Path("/nonexistent")).get("claude")
TEXT = "half a thought"
QWEN = tuple(
    (next((Path(__file__).parents[1] / "fixtures/screens/qwen").iterdir()) / "ask-80x24/01-idle.txt")
    .read_text("utf-8")
    .splitlines()
)
Step = Literal["type here", "type there", "clear", "enter here", "enter there", "paint", "look", "begin", "end", "tick"]
STEPS: tuple[Step, ...] = (
    *("type here", "type there", "clear", "enter here", "enter there", "paint", "look", "begin", "end"),
)
RANKS = (Rank.PROTOCOL, Rank.RECORD, Rank.HOOK)


class Desk:
    """A program at rest, what its person does, and what its source says of that, each in its own time.

    "Here" is typed through our own connection to tmux; "there", in another terminal, is seen by what is printed.
    """

    def __init__(self, rank: Rank) -> None:
        self.server, self.source, self.rank = SilentServer(), Told(), rank
        self.server.looks = 9
        self.now = time.time()
        row = AgentRow(id="0001", name="it", kind="cli", pane="%0", created=self.now - 60)
        self.status = CliStatus(
            self.server, row, CLAUDE, lambda _: None, sources=(self.source,), clock=lambda: self.now
        )
        self.status._task = asyncio.current_task()  # pyright: ignore[reportPrivateUsage]  # it is followed
        self.server.watch_keys("%0", self.status._on_keys)  # pyright: ignore[reportPrivateUsage]
        self.typed = self.works = self.begun = False
        self.changed = self.now

    async def settle(self) -> None:
        """It rests, and has been looked at."""
        self.say("idle")
        for _ in range(3):
            await self.status._look()  # pyright: ignore[reportPrivateUsage]
            self.now += 5
        self.status._judge()  # pyright: ignore[reportPrivateUsage]
        known = self.status.known
        assert (known.status, known.sure) == ("idle", True), known

    def say(self, status: str) -> None:
        """Its source says this, of the time at which it became true."""
        if self.rank is Rank.HOOK:
            self.status._on_hook(HookEvent(self.changed, "X", status))  # pyright: ignore[reportPrivateUsage]
        else:
            self.source.told = Evidence(self.rank, self.rank.name.lower(), status, self.changed)
            self.status._on_source()  # pyright: ignore[reportPrivateUsage]

    def show(self, screen: tuple[str, ...], column: int) -> None:
        """Paint this; tmux tells whoever listens."""
        self.server.show(screen, column, 14)
        self.server.printed()

    async def take(self, step: Step) -> None:
        self.now += 0.01
        match step:
            case "type here" | "type there" if not (self.typed or self.works):
                self.typed = True
                if step == "type here":
                    self.server.pressed(False)
                self.show(DRAFT, 16)
            case "clear" if self.typed:
                self.typed = False
                self.show(IDLE, 2)
            case "enter here" | "enter there" if self.typed:
                self.typed, self.works, self.begun, self.changed = False, True, False, self.now
                if step == "enter here":
                    self.server.pressed(True)  # whose screen goes on showing the text until it is painted
                else:
                    self.show(IDLE, 2)
            case "paint" if self.works:
                self.show((f"❯ {TEXT}", "", *IDLE[2:]), 2)
            case "look":
                await self.status._look()  # pyright: ignore[reportPrivateUsage]
            case "begin" if self.works:
                self.begun = True
                self.say("thinking")
            case "end" if self.works and self.begun:
                self.works, self.changed = False, self.now
                self.say("idle")
                self.now += 3  # in which a person reads
            case "tick" if not (self.typed or self.works):
                self.show((f"{len(self.server.shown)}", *IDLE[1:]), 2)
            case _:
                pass


@settings(max_examples=examples(300))
@given(st.sampled_from(RANKS), st.lists(st.sampled_from(STEPS), min_size=2, max_size=25))
def test_no_rest_is_sure_once_a_text_may_have_been_entered(rank: Rank, steps: list[Step]) -> None:
    async def live() -> None:
        desk = Desk(rank)
        await desk.settle()
        for step in steps:
            await desk.take(step)
            known = desk.status.known
            assert not (desk.works and known.status == "idle" and known.sure), (step, known)

    asyncio.run(live())


@settings(max_examples=examples(100))
@given(st.sampled_from(RANKS), st.lists(st.sampled_from(("type here", "type there", "clear", "tick")), max_size=12))
def test_what_was_typed_and_taken_back_leaves_a_rest_as_sure_as_it_was(rank: Rank, steps: list[Step]) -> None:
    async def live() -> None:
        desk = Desk(rank)
        await desk.settle()
        for step in (*steps, "clear"):
            await desk.take(step)
            await desk.status._look()  # pyright: ignore[reportPrivateUsage]
        desk.now += 2
        await desk.status._look()  # pyright: ignore[reportPrivateUsage]
        known = desk.status.known
        assert (known.status, known.sure) == ("idle", True), known

    asyncio.run(live())


@pytest.mark.parametrize("rank", [Rank.PROTOCOL, Rank.RECORD])
def test_what_was_answered_is_asked_no_more_though_its_source_tells_that_later(rank: Rank) -> None:
    async def live() -> None:
        desk = Desk(rank)
        desk.changed = desk.now
        desk.say("waiting")
        desk.server.shown = QUESTION
        await desk.status._look()  # pyright: ignore[reportPrivateUsage]
        assert desk.status.known.status == "waiting"
        desk.now += 5
        desk.server.pressed(True)
        for shown in (QUESTION, TOOL, TOOL):
            desk.now += 0.1
            desk.server.shown = shown
            await desk.status._look()  # pyright: ignore[reportPrivateUsage]
            assert (desk.status.known.status, desk.status.known.sure) == ("thinking", False)
        desk.now += 7
        await desk.status._look()  # pyright: ignore[reportPrivateUsage]
        assert desk.status.known.status == "waiting", "its source knows better"

    asyncio.run(live())


def test_a_text_that_is_entered_before_anybody_has_looked_is_taken_up() -> None:
    async def live() -> None:
        desk = Desk(Rank.PROTOCOL)
        await desk.settle()
        desk.server.pressed(False)
        desk.server.pressed(True)
        desk.server.show(DRAFT, 16, 14)
        await desk.status._look()  # pyright: ignore[reportPrivateUsage]
        assert (desk.status.known.status, desk.status.known.sure) == ("thinking", False)

    asyncio.run(live())


def test_what_rested_rests_at_once_when_its_dialog_is_closed() -> None:
    async def live() -> None:
        desk = Desk(Rank.RECORD)
        desk.status.use(profiles.load(Path("/nonexistent")).get("qwen"))
        dialog = ("Select Model", "", "  fake", "", "(Use Enter to select, Esc to cancel)")
        for shown, wanted in ((QWEN, ""), (QWEN, "idle"), (dialog, "waiting"), (QWEN, "idle")):
            desk.now += 5
            desk.server.show(shown, 2, 0)
            await desk.status._look()  # pyright: ignore[reportPrivateUsage]
            assert desk.status.known.status == wanted or not wanted

    asyncio.run(live())

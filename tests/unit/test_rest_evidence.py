"""A rest is sure only by evidence of this turn, in whatever order its sources speak, lag or fall silent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.screen.screen_reading import ScreenReading
from gshtui.programs.session.status_watcher import CliStatus
from gshtui.programs.status.evidence import Evidence, Rank
from gshtui.programs.status.status import TYPED, HookEvent
from tests.kit.storms import examples
from tests.unit.test_status_watcher import SilentServer, Told

LOADED = profiles.load(Path("/nonexistent"))
NAMES = ("claude", "codex", "opencode", "qwen", "gemini")
RANKS = (Rank.PROTOCOL, Rank.RECORD, Rank.HOOK, Rank.TRANSCRIPT)
Kind = Literal["wait", "type", "prompt", "begin", "end", "notice", "fall silent", "look"]
KINDS: tuple[Kind, ...] = ("wait", "type", "prompt", "begin", "end", "notice", "fall silent", "look")
SECONDS = st.sampled_from((0.01, 0.4, 2.5, 11.0, 70.0))
STEPS = st.sets(st.sampled_from(RANKS), min_size=1).flatmap(
    lambda ranks: st.lists(
        st.tuples(st.sampled_from(KINDS), st.sampled_from(sorted(ranks)), SECONDS), min_size=4, max_size=40
    )
)
"""What happens to a program that has some of the sources."""


@dataclass
class Life:
    """A program's truth, and what of it has been noticed, each source in its own time."""

    name: str
    now: float = 10_000.0
    works: bool = False
    """It has been given a text, and its answer is not over."""
    changed: float = 10_000.0
    """When its truth last changed."""
    began: float = 0.0
    """When its last turn was begun."""
    draft: str = ""
    looked: float = 10_000.0
    reading: ScreenReading = field(default_factory=lambda: ScreenReading("idle", input=True))

    def __post_init__(self) -> None:
        self.sources = {rank: Told() for rank in RANKS if rank is not Rank.HOOK}
        row = AgentRow(id="0001", name="it", kind="cli", pane="%0", created=9_000.0)
        profile = LOADED.get(self.name)
        everything = tuple(self.sources.values())
        self.status = CliStatus(
            SilentServer(), row, profile, lambda _: None, sources=everything, clock=lambda: self.now
        )

    def notice(self, rank: Rank) -> None:
        """A source sees the truth as it is now; its word is dated by when that began."""
        status = "thinking" if self.works else "idle"
        if rank is Rank.HOOK:
            self.status._hook = HookEvent(self.changed, "X", status)  # pyright: ignore[reportPrivateUsage]
        elif rank is not Rank.TRANSCRIPT:
            self.sources[rank].told = Evidence(rank, rank.name.lower(), status, self.changed)
        else:  # it knows of ends alone
            final = self.name == "qwen"
            told = Evidence(rank, "transcript", "idle", self.changed, final=final, began=self.began)
            self.sources[rank].told = None if self.works else told

    def look(self, *, shows_work: bool) -> None:
        """Its screen is read: its input is there all the time; that it works it shows, or not."""
        status = "thinking" if self.works and shows_work else "idle"
        self.read(ScreenReading(status, "", self.draft, True))

    def read(self, reading: ScreenReading) -> None:
        facts = self.status._facts  # pyright: ignore[reportPrivateUsage]
        news = reading != self.reading
        entered = bool(self.reading.draft) and not reading.draft and reading.status == "idle"
        self.reading = reading
        if entered:  # as the watcher notes it: after the look before, at least
            prompted, written = max(facts.prompted, self.looked), self.status._written()  # pyright: ignore[reportPrivateUsage]
            facts = replace(facts, entered=self.now, prompted=prompted, written=written)
        self.looked = self.now
        self.status._facts = replace(  # pyright: ignore[reportPrivateUsage]
            facts,
            reading=reading,
            since=self.now if news else facts.since,
            moved=self.now if news else facts.moved,
            ready=True,
        )

    def judge(self) -> None:
        self.status._judge()  # pyright: ignore[reportPrivateUsage]


@settings(max_examples=examples(400))
@given(st.sampled_from(NAMES), STEPS)
def test_a_rest_is_sure_only_by_evidence_of_this_turn(name: str, steps: list[tuple[Kind, Rank, float]]) -> None:
    life = Life(name)
    for kind, rank, seconds in steps:
        life.now += seconds if kind == "wait" else 0.01
        match kind:
            case "type" if not life.works:
                life.draft = "Good day"
                life.look(shows_work=False)
            case "prompt" if not life.works:  # by us
                life.works, life.changed, life.began, life.draft = True, life.now, life.now, ""
                life.status.given_prompt(life.now)
                life.look(shows_work=False)
            case "begin" if life.draft:  # by an Enter in its terminal, which nobody has seen yet
                life.works, life.changed, life.began, life.draft = True, life.now, life.now, ""
            case "end" if life.works:
                life.works, life.changed = False, life.now
            case "notice":
                life.notice(rank)
            case "fall silent" if rank is not Rank.HOOK:
                life.sources[rank].told = None
            case "look":
                life.look(shows_work=seconds > 1)
            case _:
                pass
        life.judge()
        known = life.status.known
        assert not (life.works and known.status == "idle" and known.sure), (known, kind)


def test_a_text_in_its_input_makes_a_rest_unsure_and_takes_none_of_its_evidence_away() -> None:
    life = Life("claude")
    life.notice(Rank.RECORD)
    life.judge()
    assert (life.status.known.status, life.status.known.sure) == ("idle", True)
    life.draft = "Good day"
    life.look(shows_work=False)
    life.judge()
    known = life.status.known
    assert (known.status, known.sure, known.doing, known.rests) == ("idle", False, TYPED, True)
    life.draft = ""
    life.look(shows_work=False)
    life.judge()
    assert (life.status.known.status, life.status.known.sure) == ("idle", True)


@pytest.mark.parametrize("commands", [1, 2, 5])
def test_what_seems_to_work_until_its_dialog_is_open_rests_once_that_is_closed(commands: int) -> None:
    """Some show for a moment that they work on a command of their own, of which no transcript tells."""
    life = Life("qwen")
    life.status._facts = replace(life.status._facts, fresh=True)  # pyright: ignore[reportPrivateUsage]
    life.now += 60
    life.look(shows_work=False)
    life.judge()
    assert (life.status.known.status, life.status.known.sure) == ("idle", True)
    for _ in range(commands):
        for reading, seconds in (
            (ScreenReading("idle", "", "/settings", True), 3.0),
            (ScreenReading("thinking", "", "", True), 0.2),
            (ScreenReading("waiting", "", "", False, dialog=True), 3.0),
            (ScreenReading("idle", "", "", True), 0.01),
        ):
            life.read(reading)
            life.judge()
            life.now += seconds
        life.now += 60
        life.judge()
        assert (life.status.known.status, life.status.known.sure) == ("idle", True)
    life.works, life.changed = True, life.now
    life.status.given_prompt(life.now)
    life.read(ScreenReading("waiting", "", "", False, dialog=True))
    life.judge()
    life.now += 60
    life.read(ScreenReading("idle", "", "", True))
    life.now += 60
    life.judge()
    assert life.status.known.status == "quiet", "a dialog ends no turn"


@pytest.mark.parametrize("noticed", [True, False], ids=["its end was noticed", "its end is noticed late"])
def test_a_turn_that_nobody_saw_is_none_of_a_prompt_that_was_typed_behind_it(noticed: bool) -> None:
    life = Life("qwen")
    life.look(shows_work=False)
    life.notice(Rank.TRANSCRIPT)
    life.judge()
    assert life.status.known.sure
    life.began, life.changed = life.now + 5, life.now + 15
    life.now += 16
    if noticed:
        life.notice(Rank.TRANSCRIPT)
    life.status.given_prompt(life.now)
    life.notice(Rank.TRANSCRIPT)
    for seconds in (0, 5, 11):
        life.now += seconds
        life.judge()
        assert (life.status.known.status, life.status.known.sure) != ("idle", True)

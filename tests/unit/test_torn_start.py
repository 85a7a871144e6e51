"""A program's start screen comes to the same word, in whatever pieces it is painted and whenever it is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, takewhile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.session.status_watcher import CliStatus
from gshtui.tmux.panes import PaneInfo, unknown
from tests.kit.recorded_screens import SCREENS, shots
from tests.kit.storms import examples
from tests.unit.test_status_watcher import SilentServer

LOADED = profiles.load(Path("/nonexistent"))
BUSY = {"claude": "⠂ Claude Code", "codex": "⠙ project", "gemini": "✦  Working… (project)", "vibe": ">> Vibe"}
"""Titles of programs at work, which some have for a moment while they start."""


@dataclass(frozen=True)
class Screen:
    """What is to be seen at one look."""

    lines: tuple[str, ...]
    title: str
    cursor: tuple[int, int]


@dataclass(frozen=True)
class Start:
    """A recorded start screen."""

    program: str
    name: str
    size: tuple[int, int]
    whole: Screen

    def torn(self, cut: int, shift: int, *, below: bool, busy: bool) -> Screen:
        """The rows above the cut (or below it), the others still blank or as they stood a few rows off."""
        whole = self.whole.lines
        blank = ("",) * len(whole)
        before = (
            (*whole[shift:], *blank[:shift]) if shift > 0 else (*blank[:-shift], *whole[:shift]) if shift else blank
        )
        lines = (*before[:cut], *whole[cut:]) if below else (*whole[:cut], *before[cut:])
        column, row = self.whole.cursor
        title = BUSY.get(self.program, self.whole.title) if busy else self.whole.title
        return Screen(lines, title, (column, row) if cut % 2 else (0, min(cut, len(whole) - 1)))


def starts() -> Iterator[Start]:
    for folder, recorded in groupby(shots(), lambda shot: shot.file.parent):
        before = takewhile(lambda shot: not shot.told["draft"] and shot.told["status"] != "thinking", recorded)
        idle = next((shot for shot in before if shot.told["status"] == "idle"), None)
        if idle is not None:
            lines = tuple("\n".join(idle.lines).rstrip("\n").split("\n"))
            lines = (*lines, *("",) * (idle.height - len(lines)))
            screen = Screen(lines, idle.told["title"], idle.cursor)
            yield Start(idle.program, str(folder.relative_to(SCREENS)), (idle.width, idle.height), screen)


STARTS = list({(start.program, start.size, start.whole.lines): start for start in starts()}.values())


class PaintedServer(SilentServer):
    """Shows what it is given."""

    def __init__(self, start: Start) -> None:
        super().__init__()
        self.start, self.seen, self.now = start, start.whole, 10_000.0

    async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]:
        columns, rows = self.start.size
        column, row = self.seen.cursor
        info = replace(unknown("%0"), dead=False, activity=float(int(self.now)), width=columns, height=rows)
        return replace(info, title=self.seen.title, cursor_x=column, cursor_y=row), self.seen.lines


async def word(start: Start, seen: list[tuple[Screen, float]]) -> tuple[str, bool]:
    """What its status is in the end, and whether that is sure, after looks at these screens, so many seconds apart."""
    server = PaintedServer(start)
    row = AgentRow(id="0001", name="it", kind="cli", pane="%0", created=server.now)
    row = structs.replace(row, status="starting", status_source="spawn", status_at=server.now)
    status = CliStatus(server, row, LOADED.get(start.program), lambda _: None, clock=lambda: server.now)
    for screen, seconds in (*seen, *((start.whole, 30.0),) * 3):
        server.seen = screen
        server.now += seconds
        await status._check_screen()  # pyright: ignore[reportPrivateUsage]
        status._judge()  # pyright: ignore[reportPrivateUsage]
    return status.known.status, status.known.sure


TORN = st.tuples(st.integers(0, 50), st.integers(-3, 3), st.booleans(), st.booleans(), st.sampled_from((0.1, 0.4, 4.0)))
"""Where a screen is cut, by how many rows what is older stands elsewhere, which part is painted, whether the title is
that of one at work, and the seconds until it is looked at."""


OLD_TURN = next(start for start in STARTS if start.name == "gemini/0.61.0/dialogs-80x24")
BUSY_ABOVE = [(0, 0, False, False, 0.1), (0, 1, False, False, 0.1), (0, 1, False, True, 4.0)]
"""Its title is that of one at work, for a moment, while the rows of an earlier turn stand there."""
LATE_ECHO = [(3, -2, True, True, 0.4)]
"""The prompt of that turn is gone, and comes back after a while."""


@settings(max_examples=examples(1200))
@example(OLD_TURN, BUSY_ABOVE, 0)
@example(OLD_TURN, LATE_ECHO, 0)
@given(st.sampled_from(STARTS), st.lists(TORN, min_size=1, max_size=4), st.integers(0, 4))
def test_a_start_screen_that_is_painted_in_pieces_comes_to_the_same_word(
    start: Start, pieces: list[tuple[int, int, bool, bool, float]], whole: int
) -> None:
    looks = [(start.torn(cut, shift, below=below, busy=busy), after) for cut, shift, below, busy, after in pieces]
    looks.insert(min(whole, len(looks)), (start.whole, 0.4))  # as it stood before it was painted once more
    assert asyncio.run(word(start, looks)) == asyncio.run(word(start, [])) == ("idle", True)

"""What shells ran, as a hub once published it: the states that the shell log's snapshots and tests are made from.

Plain data with a pinned clock. `FakeRecord` answers as the record does, from a list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gshtui.bus.event import Event
from gshtui.bus.events.shell_events import FileChange, FilesChanged, ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.bus.shell_data import Ran, ShellNote, ShellRecord
from gshtui.bus.shell_rows import Filter, Row, Span, place
from tests.kit.recorded import NOW

OUTPUT = """\
=================== FAILURES ===================
test_parse_empty: IndexError: list index out of range
1 failed, 213 passed in 6.10s
"""


def shell_record(
    number: int, command: str, ago: float, took: float | None = 0.2, exit: int | None = 0, **more: Any
) -> ShellRecord:
    """A command that began some seconds ago."""
    at = NOW - ago
    state = "running" if took is None else "done"
    fields = {"cwd": "/src/aurora", "tty": "/dev/pts/3", "branch": "main", "shell": "z1"} | more
    return ShellRecord(
        id=int(at * 1e6),
        number=number,
        command=command,
        at=at,
        duration=took,
        exit=exit if took is not None else None,
        state=state,
        **fields,  # pyright: ignore[reportArgumentType]
    )


EARLIER: tuple[Row, ...] = (
    shell_record(1, "git clone https://example.com/aurora.git", 90_000, 41.0, cwd="/src"),
    ShellNote("folder", "/src/aurora", NOW - 89_000, "z1", "/src/aurora", 1),
    shell_record(2, "git switch -c parser-empty-line", 3_600, 0.04),
    shell_record(3, 'grep -rn "IndexError" src | head -20', 3_000, 0.12, pipestatus=(0, 0)),
    ShellNote("note", "the parser breaks on an empty line, since the lexer was rewritten", NOW - 2_900, "z1"),
    shell_record(
        4, "make test", 2_400, 78.4, 2, output="out4", output_lines=3, pipestatus=(2,), branch="parser-empty-line"
    ),
    shell_record(
        5, "docker compose up -d db && sleep 2", 2_000, 12.2, tty="/dev/pts/7", shell="z2", cwd="/home/you/infra"
    ),
    shell_record(6, "for f in src/*.py; do python -m py_compile $f; done", 1_500, 3.1, branch="parser-empty-line"),
    shell_record(7, "ssh build.example.com uptime", 900, 30.0, 255, tty="/dev/pts/7", shell="z2", cwd="/home/you"),
)
SHELLS: tuple[Event, ...] = (
    ShellRecorded(record=shell_record(8, "pytest -q tests/test_parse.py", 60, 6.4, 1, output="out4", branch="fix")),
    FilesChanged(
        changes=(FileChange("src/parse.py", "modified"), FileChange("src/lexer.py", "modified")), more=2, at=NOW - 50
    ),
    ShellRecorded(
        record=shell_record(1, "make test", 44, 6.4, agent="main", shell="agent-main", tty="", source="agent")
    ),
    ShellFolderChanged(shell="z2", old="/home/you", new="/src/aurora/docs", at=NOW - 30),
    ShellNoted(shell="z1", text="ask about the lexer's tests", cwd="/src/aurora", at=NOW - 20),
    ShellRecorded(
        record=shell_record(9, "npm run watch", 12, None, tty="/dev/pts/7", shell="z2", cwd="/src/aurora/docs")
    ),
)


class FakeShells:
    """`store.shells` of a `FakeRecord`."""

    def __init__(self, record: FakeRecord) -> None:
        self._record = record

    async def rows(self, wanted: Filter, start: int, limit: int) -> Span:
        return await self._record.shell_rows(wanted, start, limit)

    async def output(self, key: str) -> str:
        return await self._record.output(key)


class FakePrompts:
    """`store.prompts` of a `FakeRecord`."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    async def add(self, cwd: str, text: str) -> None:
        self.kept.append(text)

    async def find_all(self, cwd: str | None, limit: int = 1_000) -> list[str]:
        return self.kept[:limit]


class FakeRecord:
    """The rows of a record, from a list; `asked` holds what was asked for."""

    def __init__(self, rows: Sequence[Row] = EARLIER, outputs: dict[str, str] | None = None) -> None:
        self.rows = list(rows)
        self.outputs = {"out4": OUTPUT} if outputs is None else outputs
        self.asked: list[tuple[Filter, int, int]] = []
        self.fails: Exception | None = None
        self.shells = FakeShells(self)
        self.prompts = FakePrompts()

    async def shell_rows(self, wanted: Filter, start: int, limit: int) -> Span:
        self.asked.append((wanted, start, limit))
        if self.fails is not None:
            raise self.fails
        fitting = sorted((row for row in self.rows if wanted.admits(row)), key=place)
        if start < 0:
            start = max(0, len(fitting) - limit) // limit * limit
            limit = len(fitting) - start
        return Span(start, len(fitting), tuple(fitting[start : start + limit]))

    async def output(self, key: str) -> str:
        """What `shells.output` answers."""
        return self.outputs[key]


class FakeShellLog:
    """The log of the shells, without shells: `notes` holds text and folder of each note."""

    def __init__(self, stop: Callable[[], bool] = lambda: False) -> None:
        """`stop`: asked to end the newest command of the input line."""
        self.notes: list[tuple[str, str]] = []
        self.stop = stop

    @property
    def by_hand(self) -> FakeShellLog:
        """Where `stop` is."""
        return self

    @property
    def runs(self) -> FakeShellLog:
        """Where `between` is."""
        return self

    async def between(self, session: str, after: float, before: float) -> Sequence[Ran]:
        """No command was run."""
        return ()

    async def add_note(self, text: str, cwd: str = "") -> None:
        self.notes.append((text, cwd))

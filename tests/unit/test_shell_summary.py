"""The ambient summary: the seed's words, once, in a new conversation only."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.context.retrieval.shell_summary import shell_summary
from gshtui.settings.settings_tables import Context
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.command_history import HistoryQuery


class Kept:
    """A history, newest first."""

    def __init__(
        self,
        *records: ShellRecord,
        outputs: dict[str, str] | None = None,
        broken: bool = False,
        noted: tuple[ShellNote, ...] = (),
    ) -> None:
        self.records, self.outputs, self.broken, self.noted = records, outputs or {}, broken, noted
        self.synced = 0

    async def notes(self, *, after: float | None = None, limit: int = 50) -> list[ShellNote]:
        return [note for note in self.noted if after is None or note.at >= after][:limit]

    async def find_all(self, wanted: HistoryQuery, *, limit: int = 50) -> list[ShellRecord]:
        if self.broken:
            raise StoreError("corrupt", "It is damaged.")
        before = wanted.before_id
        fitting = [r for r in self.records if r.agent == wanted.agent and (before is None or r.id < before)]
        return fitting[:limit]

    async def output(self, key: str) -> str:
        if key not in self.outputs:
            raise StoreError("unknown", "It is gone.")
        return self.outputs[key]


def ran(command: str, exit: int | None = 0, **more: Any) -> ShellRecord:
    fields = {"command": command, "cwd": "/project", "exit": exit, "state": "done", **more}
    return ShellRecord(**fields)  # type: ignore[arg-type]


HISTORY = (ran("git diff"), ran("cargo test", 1, output="k"), ran("ls", agent="main"), ran("cargo build"))


async def said(kept: Kept, new: bool = True, **settings: Any) -> list[str]:
    async def sync() -> None:
        kept.synced += 1

    found = await shell_summary(kept, Context.model_validate(settings), sync)(new)
    assert all(along.once and along.source == "shell activity" for along in found.along)
    assert bool(kept.synced) == new
    return [along.text for along in found.along]


async def test_the_last_commands_of_the_person_in_their_order() -> None:
    assert await said(Kept(*HISTORY)) == [
        "# Recent Shell Activity\n\n"
        "$ cargo build (in /project) → exit 0\n"
        "$ cargo test (in /project) → exit 1\n"
        "$ git diff (in /project) → exit 0\n\n"
        "Use the `search_context` tool for more shell history, past sessions, or logs."
    ]


async def test_a_conversation_at_the_prompt_is_told_again() -> None:
    kept = Kept(*HISTORY)

    async def sync() -> None:
        kept.records = (ran("make"), *HISTORY)

    for new in (True, False):  # a conversation is new until it has an answer: its first question may have been killed
        [along] = (await shell_summary(kept, Context(), sync, always=True)(new)).along
        assert not along.once and "$ make (in /project)" in along.text


async def test_as_many_as_the_setting_says() -> None:
    [text] = await said(Kept(*HISTORY), ambient_commands=1)
    assert text.count("\n$ ") == 1 and "git diff" in text
    assert await said(Kept(*HISTORY), ambient_commands=0) == []


async def test_a_conversation_that_goes_on_and_an_empty_history_say_nothing() -> None:
    assert await said(Kept(*HISTORY), new=False) == []
    assert await said(Kept()) == []
    assert await said(Kept(*HISTORY, broken=True)) == []


async def test_a_failed_commands_last_lines_are_told_where_output_is() -> None:
    kept = Kept(*HISTORY, outputs={"k": "\n".join(f"line {n}" for n in range(30)) + "\n\x1b[31mFAILED\x1b[0m\n"})
    [text] = await said(kept)
    assert "→ exit 1\n  line 0\n" in text and "  FAILED\n$ git diff" in text and "\x1b" not in text
    [short] = await said(kept, stdout_max_lines=2)
    assert "  line 29\n  FAILED" in short and "line 28" not in short
    assert "FAILED" not in (await said(kept, include_stdout=False))[0]
    assert "FAILED" not in (await said(kept, stdout_max_lines=0))[0]


async def test_the_window_itself_is_no_command_of_interest() -> None:
    [text] = await said(Kept(ran("gsh-tui", None, state="running"), ran("make serve", None, state="running")))
    assert "gsh-tui" not in text and "$ make serve (in /project) → running" in text


async def test_lines_to_an_agent_take_no_place_but_what_they_run_does() -> None:
    ours = [ran(f"gsh what is {n}") for n in range(30)]
    [text] = await said(Kept(*ours, ran("gsh-tui agent ls"), ran("gsh run -- make", 2), *HISTORY))
    assert "gsh what" not in text and "agent ls" not in text
    assert "$ gsh run -- make (in /project) → exit 2" in text and "$ cargo build" in text


async def test_notes_folders_and_files_are_told_between_the_commands() -> None:
    noted = (
        ShellNote("file", "src/a.py, +b.py", 40.0, cwd="/project"),
        ShellNote("note", "# it broke here", 25.0, cwd="/p"),
        ShellNote("folder", "/project/src", 15.0),
        ShellNote("note", "# long ago", 5.0, cwd="/p"),
    )
    kept = Kept(ran("make", 2, at=30.0), ran("git pull", at=10.0), noted=noted)
    [text] = await said(kept)
    assert text.split("\n")[2:-2] == [
        "$ git pull (in /project) → exit 0",
        "→ now in /project/src",
        "# it broke here (in /p)",
        "$ make (in /project) → exit 2",
        "~ changed: src/a.py, +b.py (in /project)",
    ]
    [few] = await said(kept, max_events=2)
    assert few.split("\n")[2:-2] == ["$ make (in /project) → exit 2", "~ changed: src/a.py, +b.py (in /project)"]
    assert await said(kept, max_events=0) == []
    [alone] = await said(Kept(noted=noted[1:2]))
    assert "# it broke here (in /p)" in alone


async def test_it_stays_within_its_tokens_and_one_line_a_command() -> None:
    kept = Kept(*(ran("echo " + "x" * 390 + "\nrm") for _ in range(50)))
    [text] = await said(kept, ambient_commands=50, max_tokens=500)
    assert len(text) < 2_300 and text.count("\n$ ") == len(text.split("\n")) - 4


async def test_lines_of_output_that_are_asked_for_are_the_newest_also_of_what_succeeded() -> None:
    outputs = {"new": "n1\nn2\x1b[31m\nn3", "old": "o1\no2\no3\no4", "older": "x1"}
    kept = Kept(
        ran("make", output="new"), ran("cargo test", 1, output="old"), ran("ls", output="older"), outputs=outputs
    )

    async def sync() -> None:
        """Nothing is left to store."""

    async def told(lines: int) -> str:
        [along] = (await shell_summary(kept, Context(max_tokens=40), sync, output_lines=lines)(True)).along
        return along.text

    assert "n3" not in await told(0)
    text = await told(5)
    for wanted in ("  n2\n  n3\n", "  o2\n  o3\n  o4\n"):
        assert wanted in text
    assert "o1" not in text and "x1" not in text and "\x1b" not in text
    assert "x1" in await told(50)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30)), min_size=1, max_size=5),
    st.integers(1, 60),
)
async def test_the_last_failure_has_its_share_of_the_output(commands: list[tuple[int, int]], most: int) -> None:
    """Newest first: its exit and how many lines it printed."""
    texts = {str(at): "".join(f"{at}:{line}\n" for line in range(count)) for at, (_, count) in enumerate(commands)}
    kept = Kept(*(ran("x", exit, output=str(at), id=at + 1) for at, (exit, _) in enumerate(commands)), outputs=texts)

    async def sync() -> None:
        pass

    context = Context.model_validate({"ambient_commands": 5})
    found = await shell_summary(kept, context, sync, always=True, output_lines=most)(True)
    lines = [line.strip() for along in found.along for line in along.text.split("\n") if line.startswith("  ")]
    printed = sum(count for _, count in commands)
    assert len(lines) == min(most, printed)
    for at, (_, count) in enumerate(commands):
        own = [line for line in lines if line.startswith(f"{at}:")]
        assert own == [f"{at}:{line}" for line in range(count)][count - len(own) :], "it is not the end"
    failed = next((at for at, (exit, count) in enumerate(commands) if exit and count), None)
    if failed is not None:
        share = sum(line.startswith(f"{failed}:") for line in lines)
        assert share >= min(commands[failed][1], (most + 1) // 2)

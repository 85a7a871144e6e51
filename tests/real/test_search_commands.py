"""`search_context` on a real record: the seed's words for agents, filters, and queries that are nothing but text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.agents.commands import record_commands
from gshtui.bus.bus import Bus
from gshtui.bus.messages import user_message
from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.commands.declaration import Caller, Invocation, Outcome, UsageError
from gshtui.commands.language import validate
from gshtui.commands.schema import lowered
from gshtui.context.retrieval import result_text, search_commands
from gshtui.context.retrieval.search_commands import SearchPast, commands
from gshtui.guard.secrets.redaction import Redactor
from gshtui.shell.log.note_command import AddNote
from gshtui.shell.log.note_command import commands as note_commands
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.log.log_writer import LogFile
from gshtui.store.record.store import Store
from tests.kit.record import no_sync

NOW = time.time()
HOSTILE = [
    "(",
    "a.*b",
    "[x]",
    '"',
    "''",
    "\\d+",
    "NEAR(a b)",
    "a AND",
    "*",
    "-x",
    "%",
    "col:val",
    "a\0b",
    "{",
    "漢",
    "^",
]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "logs"


async def search(
    store: Store, logs: Path, *, person: bool = False, session: str = "", project: str = "/", **given: Any
) -> Outcome:
    command = commands(store, logs, no_sync)[0]
    caller = Caller() if person else Caller("main", is_agent=True)
    invocation = Invocation(caller, Path("/work"), Path(project), session=session, agent="main")
    return await command.handler(invocation, validate(command, given))


def ran(number: int, command: str, exit: int = 0, cwd: str = "/frontend", agent: str = "") -> ShellRecord:
    return ShellRecord(
        shell="z",
        number=number,
        command=command,
        cwd=cwd,
        at=NOW - 1_000 + number,
        exit=exit,
        state="done",
        agent=agent,
    )


async def history(store: Store) -> None:
    await store.shells.add_all(
        [
            ran(1, "make deploy", 2, "/infra"),
            ran(2, "cargo build", 101, "/backend"),
            ran(3, "npm test", 1),
            ran(4, "Docker ps", 0, "/frontend/app"),
            ran(5, "ls", 0, "/frontend2", agent="main"),
        ]
    )


async def test_shell_history_as_an_agent_reads_it(store: Store, logs: Path) -> None:
    await history(store)
    found = await search(store, logs, source="shell_history", exit_code=-1, last_n=10)
    stamp = time.strftime("%Y-%m-%d %H:%M", time.localtime(NOW - 997))
    lines = found.text.splitlines()
    assert lines[:3] == ["# Shell History (3 results)", "", f"$ npm test (in /frontend) → exit 1 ({stamp})"]
    assert [row["command"] for row in found.data] == ["npm test", "cargo build", "make deploy"]


async def test_a_note_is_kept_without_secrets_and_found(store: Store, logs: Path) -> None:
    bus = Bus()
    redactor, unused = Redactor({"DB_PASSWORD": "hunter2-hunter2"}), AsyncMock()
    (command,) = note_commands(store, bus, lambda: redactor, unused, unused)
    here = Invocation(Caller(), Path("/infra"), Path("/infra"))
    added = await command.handler(here, AddNote(text="the key is\n hunter2-hunter2"))
    assert added.text == "Noted: the key is [redacted]"
    found = (await search(store, logs, source="shell_history", query="the KEY", cwd="/infra")).text
    assert "# the key is [redacted] (in /infra)" in found
    with pytest.raises(UsageError, match="Write the remark"):
        await command.handler(here, AddNote(text=" "))
    await bus.close()


async def test_a_command_is_found_by_what_it_printed(store: Store, logs: Path) -> None:
    await history(store)
    printed = "building\nERROR[E0308]: mismatched \x1b]0;owned\x07 types\n" + "more\n" * 2_000
    await store.shells.put_output("z", 2, printed)
    await store.shells.put_output("z", 3, "types that are fine\n")
    found = await search(store, logs, source="shell_history", query="types MISMATCHED")
    lines = found.text.splitlines()[2:]
    assert lines[0].startswith("$ cargo build (in /backend)")
    assert lines[1].startswith("  printed: ERROR[E0308]: mismatched") and "\x1b" not in lines[1]
    assert len(lines) == 2
    assert found.data[0]["printed"].startswith("ERROR[E0308]")
    both = (await search(store, logs, source="shell_history", query="cargo")).text
    assert "printed:" not in both, "found by its own words"
    people = (await search(store, logs, person=True, source="shell_history", query="mismatched")).text
    assert "  printed: ERROR[E0308]" in people
    narrowed: list[dict[str, Any]] = [{"cwd": "/frontend"}, {"agent": "main"}, {"exit_code": 0}]
    for filters in narrowed:
        assert not (await search(store, logs, source="shell_history", query="mismatched", **filters)).data


async def test_notes_and_changes_stand_between_the_commands(store: Store, logs: Path) -> None:
    await history(store)
    note = ShellNote("note", "# the deploy key is old", NOW - 997.5, cwd="/infra")
    change = ShellNote("file", "src/a.py, +b.py", NOW - 996.5, cwd="/frontend")
    await store.shells.add_all((), [(note, 0), (change, 0)])
    found = await search(store, logs, source="shell_history")
    rows = [line.split(" (")[0] for line in found.text.splitlines()[2:]]
    assert rows == [
        "$ ls",
        "$ Docker ps",
        "~ changed: src/a.py, +b.py",
        "$ npm test",
        "# the deploy key is old",
        "$ cargo build",
        "$ make deploy",
    ]
    assert "deploy key" in (await search(store, logs, source="shell_history", query="KEY is")).text
    assert "a.py" not in (await search(store, logs, source="shell_history", cwd="/infra")).text
    assert "deploy key" not in (await search(store, logs, source="shell_history", exit_code=-1)).text
    assert "deploy key" not in (await search(store, logs, source="shell_history", agent="main")).text


@pytest.mark.parametrize(
    ("given", "commands_"),
    [
        ({"query": "DOCKER"}, ["Docker ps"]),
        ({"query": "arg"}, ["cargo build"]),
        ({"cwd": "/frontend"}, ["Docker ps", "npm test"]),
        ({"exit_code": 101}, ["cargo build"]),
        ({"exit_code": 0, "last_n": 1}, ["ls"]),
        ({"agent": "main"}, ["ls"]),
        ({"since": f"{NOW - 997.5:.3f}"}, ["ls", "Docker ps", "npm test"]),
        ({"until": f"{NOW - 997.5:.3f}"}, ["cargo build", "make deploy"]),
        ({"query": "nothing like it"}, []),
    ],
)
async def test_filters_of_the_history(store: Store, logs: Path, given: dict[str, Any], commands_: list[str]) -> None:
    await history(store)
    found = await search(store, logs, source="shell_history", **given)
    assert [row["command"] for row in found.data] == commands_


@pytest.mark.parametrize("query", HOSTILE)
@pytest.mark.parametrize("source", ["shell_history", "sessions", "logs"])
async def test_a_query_is_text_and_nothing_else(store: Store, logs: Path, source: str, query: str) -> None:
    said = query.replace("\0", " ")
    await store.shells.add_all([ran(1, f"echo <{said}> end"), ran(2, "plain words")])
    session = await store.sessions.create(cwd="/work", agent="main")
    await store.messages.append(session.id, user_message(f"what is <{said}> here", id="m1"))
    file = LogFile(logs, str)
    file.add({"at": NOW, "type": "error", "message": f"no <{said}> there"})
    assert file.write()
    found = await search(store, logs, source=source, query=query)
    assert len(found.data) == 1 and "\0" not in found.text
    assert (await search(store, logs, source=source, query=f"{query}zzz")).data == []


async def test_sessions_by_title_and_by_what_was_said(store: Store, logs: Path) -> None:
    first = await store.sessions.create(cwd="/project", agent="main", title="Refactor auth module")
    await store.messages.append(first.id, user_message("switch from JWT to session-based authentication", id="1"))
    second = await store.sessions.create(cwd="/other", agent="main", title="authentication of users")
    await store.messages.append(second.id, user_message("how do they log in?", id="2"))
    found = await search(store, logs, source="sessions", query="authentication")
    assert [row["session"] for row in found.data] == [first.id, second.id]
    lines = found.text.splitlines()
    assert lines[0] == '# Session Search: "authentication" (2 results)'
    assert lines[2].startswith("## Refactor auth module (20")
    assert lines[3] == f"Session: {first.id} | 1 messages | cwd: /project"
    assert lines[4] == "  > switch from JWT to session-based authentication"
    here = await search(store, logs, source="sessions", query="authentication", cwd="/project")
    assert [row["session"] for row in here.data] == [first.id]
    others = await search(store, logs, source="sessions", query="authentication", session=first.id)
    assert [row["session"] for row in others.data] == [second.id], "the one that asks holds the question itself"


async def test_logs_as_an_agent_reads_them(store: Store, logs: Path) -> None:
    file = LogFile(logs, str)
    shown = {"command": "npm test", "exit_code": 1, "duration_ms": 4523, "output": "FAIL src/auth.test.ts\n ● login()"}
    file.add({"at": NOW, "type": "bash_exec", "agent": "main", **shown})
    file.add({"at": NOW + 1, "type": "error", "agent": "main", "message": "\x1b[31mnpm broke"})
    assert file.write()
    found = await search(store, logs, source="logs", event_type="bash_exec", query="test", last_n=5)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(NOW))
    assert found.text.splitlines() == [
        "# Log Search (1 result)",
        "",
        f"[{stamp}] main bash: `npm test` -> exit 1 (4523ms)",
        "  output: FAIL src/auth.test.ts ● login()",
    ]
    assert "\x1b" not in (await search(store, logs, source="logs", query="npm")).text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"source": "sessions", "exit_code": 1}, "exit_code is not a filter for sessions"),
        ({"source": "shell_history", "event_type": "error"}, "event_type is not a filter for shell_history"),
        ({"source": "shell_history", "exit_code": 999}, "999 is not an exit code"),
        ({"source": "logs", "since": "whenever"}, "is not a time"),
        ({"source": "nowhere"}, "source"),
        ({"source": "logs", "last_n": 0}, "last_n"),
    ],
)
async def test_what_cannot_be_is_said(store: Store, logs: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        await search(store, logs, **given)


async def test_people_get_columns_as_they_are(store: Store, logs: Path) -> None:
    await history(store)
    found = await search(store, logs, person=True, source="shell_history", query="npm")
    assert found.text.startswith("```\n") and "exit 1" in found.text


async def test_a_record_that_fails_is_told_in_one_sentence(store: Store, logs: Path) -> None:
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await search(store, logs, source="sessions", query="x")


PROJECT = "/work/mine"


async def everywhere(store: Store, logs: Path) -> None:
    """The same words in this project and in another."""
    file = LogFile(logs, str)
    for number, cwd in enumerate(("/work/mine", "/work/mine/below", "/work/mine-not", "/other")):
        await store.shells.add_all([ran(number, f"needle at {cwd}", cwd=cwd)])
        session = await store.sessions.create(cwd=cwd, agent="main", title=cwd)
        await store.messages.append(session.id, user_message(f"needle at {cwd}", id=f"m{number}"))
        file.add({"at": NOW, "type": "error", "session": session.id, "message": f"needle at {cwd}"})
    file.add({"at": NOW, "type": "error", "message": "needle at nowhere"})
    assert file.write()


@pytest.mark.parametrize("source", ["shell_history", "sessions", "logs"])
async def test_an_agent_finds_what_was_in_its_project_alone(store: Store, logs: Path, source: str) -> None:
    await everywhere(store, logs)
    mine = await search(store, logs, project=PROJECT, source=source, query="needle")
    assert len(mine.data) == 2 and "mine-not" not in mine.text and "/other" not in mine.text
    person = await search(store, logs, project=PROJECT, person=True, source=source, query="needle")
    assert len(person.data) >= 4
    other = await search(store, logs, project=PROJECT, source=source, query="needle", cwd="/other")
    assert len(other.data) == 1 and "/other" in other.text


@pytest.mark.parametrize("source", ["shell_history", "sessions", "logs"])
@pytest.mark.parametrize(
    ("cwd", "inside"),
    [
        ("", True),
        ("/work/mine", True),
        ("below", True),
        ("/work/mine/below", True),
        ("/other", False),
        ("/", False),
        ("..", False),
        ("/work/mine/../mine-not", False),
        ("/work/mine-not", False),
        ("~", False),
    ],
)
async def test_another_project_is_asked_about(store: Store, logs: Path, source: str, cwd: str, inside: bool) -> None:
    command = commands(store, logs, no_sync)[0]
    assert command.assess is not None
    invocation = Invocation(Caller("main", is_agent=True), Path(PROJECT), Path(PROJECT), agent="main")
    found = await command.assess(invocation, validate(command, {"source": source, "query": "x", "cwd": cwd}))
    assert found.inside is inside
    assert inside or "rule project" in found.why


async def test_an_output_of_another_project_is_asked_about(store: Store) -> None:
    command = record_commands.output_command(store.outputs.get, store.outputs.folders, 0)
    assert command.assess is not None
    invocation = Invocation(Caller("main", is_agent=True), Path(PROJECT), Path(PROJECT), agent="main")
    asked_for = lambda key: record_commands.OutputParameters.model_validate({"key": key})  # noqa: E731
    keys: dict[str, str] = {}
    for cwd in (PROJECT, "/other"):
        session = await store.sessions.create(cwd=cwd, agent="main")
        keys[cwd] = await store.outputs.put(session.id, "c1", f"text of {cwd}")
    for cwd, key in keys.items():
        found = await command.assess(invocation, asked_for(key))
        assert found.inside is (cwd == PROJECT)
    assert (await command.assess(invocation, asked_for("nosuch"))).inside


@given(st.integers(0, 4_000), st.integers(0, 4_000), st.sampled_from(["FINALFAIL: 1 failed", "final fail", ""]))
def test_an_output_shows_its_end_and_what_fitted(before: int, behind: int, query: str) -> None:
    """In a shortened one; a single record is shown whole."""
    output = "ok " * before + "FINALFAIL: 1 failed. final, then fail " + "ok " * behind + "THE END"
    record = {"at": 1.0, "type": "tool_call", "tool": "bash", "output": output}
    two = result_text.logs([record, record], query, "last_n")
    assert "THE END" in two
    assert not query or query.split()[-1] in two
    assert len(two) < 2_500
    assert len(output) < 700 or "last_n=1" in two
    assert " ".join(result_text.logs([record], query, "last_n").split()).endswith(" ".join(output.split()))


async def test_a_number_above_its_maximum_is_lowered_and_said(store: Store, logs: Path) -> None:
    async def sync() -> None:
        """Nothing is left to store."""

    (command,) = search_commands.commands(store, logs, sync)
    values, said = lowered(command, {"source": "logs", "last_n": 60})
    assert validate(command, values) == SearchPast(source="logs", last_n=50)
    assert "last_n: 50" in said
    assert lowered(command, {"source": "logs", "last_n": 50}) == ({"source": "logs", "last_n": 50}, "")

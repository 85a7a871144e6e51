"""A process is killed while it types a message: what it left in the input is told from what a person typed there."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.letter import Letter
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.pane.typing_record import TypedText, TypingRecord, text_key
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.session.cli_session import CliSession
from gshtui.tmux.server import TmuxServer
from tests.kit.home import Home
from tests.kit.killed_hub import ID
from tests.kit.mail_harness import MailHarness, open_mail
from tests.kit.record import ROOT
from tests.kit.storms import combined
from tests.kit.tmux import DEADLINE, eventually, screen_text, tmux, wait_for_text
from tests.kit.warm_program import WarmProcess, shared

__all__ = ["tmux"]
pytestmark = pytest.mark.tmux

KILLED = "tests.kit.killed_hub"
SCREENS = next((ROOT / "tests" / "fixtures" / "screens" / "claude").iterdir())


@asynccontextmanager
async def killed(
    path: Path, tmux: TmuxServer, moment: str, text: str, *options: str
) -> AsyncGenerator[tuple[AgentRow, Letter, Path, MailHarness]]:
    """The agent, the message that a killed hub was typing, what the agent hears, and the next hub's mail."""
    heard = path.parent / "heard"
    argv = [sys.executable, "-m", "tests.kit.fake_agent", "--screens", str(SCREENS), "--heard", str(heard), *options]
    words = (str(path), str(tmux.socket_path), moment, text, json.dumps(argv))
    child = WarmProcess(shared(KILLED, rooms=()).start(*words, call=f"{KILLED}:main", cwd=ROOT))
    said: list[str] = []
    try:
        async with asyncio.timeout(DEADLINE):
            while "reached" not in said or len(said) < 3:
                line = (await asyncio.to_thread(child.stdout.readline)).decode().strip()
                assert line, "the hub ended by itself"
                said.append(line)
    finally:
        child.close()
    id, letter = (line for line in said if line != "reached")
    row = await wait_for_row(path, id)
    if moment == "pasted":
        await wait_for_text(tmux, row.pane, text[:12].strip())
    async with open_mail(path, server=tmux, start=False) as m:
        yield row, await m.store.mail.find(letter), heard, m


async def wait_for_row(path: Path, id: str) -> AgentRow:
    """The agent's row, once it is on record."""
    async with open_mail(path, start=False) as m:
        return await m.store.agents.find(id)


def lines(heard: Path) -> list[str]:
    """What the program accepted."""
    return heard.read_text().splitlines() if heard.exists() else []


@pytest.mark.parametrize(("moment", "text"), combined(["pasted", "shown"], ["leaf", "two lines of bark,\nthen moss"]))
async def test_what_was_typed_and_not_entered_is_taken_out_and_sent_again_once(
    path: Path, tmux: TmuxServer, moment: str, text: str
) -> None:
    async with killed(path, tmux, moment, text) as (row, letter, heard, m):
        await m.service.start()
        await m.wait_for_state(letter.id, "submitted", "acted")
        later = await m.send(row.id, "fern", sender="person")
        await m.wait_for_state(later.id, "submitted", "acted")
        assert await eventually(lambda: done(heard), until=lambda said: len(said) == 2) == [
            text.rpartition("\n")[2],
            "fern",
        ]


async def done(heard: Path) -> list[str]:
    return lines(heard)


async def test_what_was_accepted_is_not_sent_again(path: Path, tmux: TmuxServer) -> None:
    async with killed(path, tmux, "accepted", "leaf") as (row, letter, heard, m):
        await m.service.start()
        assert (await m.store.mail.find(letter.id)).state == "submitted"
        later = await m.send(row.id, "fern", sender="person")
        await m.wait_for_state(later.id, "submitted", "acted")
        assert await eventually(lambda: done(heard), until=lambda said: len(said) == 2) == ["leaf", "fern"]


@pytest.mark.parametrize("on_record", [True, False])
async def test_what_became_of_an_enter_is_known_from_the_transcript_or_not_at_all(
    path: Path, tmux: TmuxServer, home: Home, on_record: bool
) -> None:
    transcript = home.path / ".claude" / "projects" / "-p" / f"{ID}.jsonl"
    transcript.parent.mkdir(parents=True)
    options = ("--mute", *(("--transcript", str(transcript)) if on_record else ()))
    async with killed(path, tmux, "entered", "leaf", *options) as (row, letter, heard, m):
        await eventually(lambda: done(heard))
        await m.service.start()
        state = "submitted" if on_record else "held"
        await m.wait_for_state(letter.id, state)
        later = await m.send(row.id, "fern", sender="person")
        await m.wait_for_state(later.id, "acted" if on_record else "submitted")
        assert (await m.store.mail.find(letter.id)).state == state
        assert await eventually(lambda: done(heard), until=lambda said: len(said) == 2) == ["leaf", "fern"]


async def test_what_a_person_added_to_it_stays_and_the_message_is_held(path: Path, tmux: TmuxServer) -> None:
    async with killed(path, tmux, "shown", "leaf") as (row, letter, heard, m):
        await tmux.type_bytes(row.pane, b", and this of mine")
        await wait_for_text(tmux, row.pane, "this of mine")
        await m.service.start()
        assert (await m.wait_for_state(letter.id, "held")).why
        later = await m.send(row.id, "fern", sender="person")

        async def trouble() -> SessionError | None:
            return m.service.delivery.trouble(row.id)

        assert (await eventually(trouble)).kind == "draft"  # pyright: ignore[reportOptionalMemberAccess]
        assert "leaf, and this of mine" in await screen_text(tmux, row.pane)
        assert (await m.store.mail.find(later.id)).state == "queued"
        assert lines(heard) == []


async def test_what_a_person_typed_in_its_place_stays(path: Path, tmux: TmuxServer) -> None:
    async with killed(path, tmux, "shown", "leaf") as (row, letter, _heard, m):
        await tmux.send_keys(row.pane, "C-u")
        await tmux.type_bytes(row.pane, b"leaf")
        await tmux.type_bytes(row.pane, b"s")
        await wait_for_text(tmux, row.pane, "leafs")
        await m.service.start()
        await m.wait_for_state(letter.id, "held")
        assert "leafs" in await screen_text(tmux, row.pane)


async def test_a_hub_that_runs_already_takes_care_of_it_with_the_next_message(path: Path, tmux: TmuxServer) -> None:
    async with open_mail(path, server=tmux) as other, killed(path, tmux, "shown", "leaf") as (row, _letter, heard, m):
        later = await other.send(row.id, "fern", sender="person")
        await m.wait_for_state(later.id, "submitted", "acted")
        assert await eventually(lambda: done(heard), until=lambda said: len(said) == 2) == ["leaf", "fern"]


@pytest.mark.parametrize(
    ("draft", "step", "is_ours"),
    [
        ("green moss", "typing", True),
        ("green\nmoss", "typing", True),
        ("green mo", "typing", False),
        ("green moss!", "typing", False),
        ("[Pasted text #1 +9 lines]", "typing", True),
        ("", "typing", False),
        ("green moss", "entering", True),
        ("green moss", "accepted", False),
    ],
)
def test_which_draft_is_ours(draft: str, step: str, is_ours: bool) -> None:
    text = TypedText("k", step, "green moss", "[Pasted text #1 +9 lines]")  # pyright: ignore[reportArgumentType]
    assert text.is_draft(draft) is is_ours


SLOW = """
import sys
with open(sys.argv[1]) as gate:
    while True:
        print("repl> ", end="", flush=True)
        gate.readline()
        print("answer to " + sys.stdin.readline().strip(), flush=True)
"""
"""An interactive program that reads a line of its input for each line that comes through a pipe."""


async def test_what_a_slow_program_has_not_read_yet_is_nobodys_draft(tmp_path: Path, tmux: TmuxServer) -> None:
    pipe = tmp_path / "gate"
    os.mkfifo(pipe)
    info = await tmux.spawn("gsh-agent-0001", [sys.executable, "-c", SLOW, str(pipe)], cwd=tmp_path, env={})
    row = AgentRow(id="0001", name="slow", kind="cli", pane=info.pane, pid=info.pid)
    ann, bob = (CliSession(tmux, row, profiles.load(tmp_path).get("repl")) for _ in range(2))
    with await asyncio.to_thread(pipe.open, "w") as gate:
        await wait_for_text(tmux, row.pane, "repl>")
        await ann.send("ann says this")
        assert (obstacle := await bob.obstacle()) is not None
        assert obstacle.kind == "busy"
        with pytest.raises(SessionError, match="has not read the text that was sent to it before") as refused:
            await bob.send("bob says that")
        assert refused.value.kind == "busy"
        gate.write("\n")
        gate.flush()
        await wait_for_text(tmux, row.pane, "answer to ann says this")
        assert await bob.obstacle() is None
        await tmux.type_bytes(row.pane, b"by hand")
        await wait_for_text(tmux, row.pane, "by hand")
        with pytest.raises(SessionError, match="Somebody has typed") as typed:
            await bob.send("bob says that")
        assert typed.value.kind == "draft"


def test_of_a_long_text_its_end_is_enough_and_its_middle_is_not() -> None:
    words = " ".join(f"word{number}" for number in range(200))
    text = TypedText("k", "typing", words)
    assert text.is_draft(words[-300:])
    assert not text.is_draft(words[-30:])
    assert not text.is_draft(words[100:400])


def test_the_record_keeps_no_text_once_it_was_accepted(tmp_path: Path) -> None:
    file = tmp_path / "typing.json"
    record = TypingRecord(file)
    record.accepted()
    assert record.read() is None
    record.begin("secret leaf", "secret leaf")
    record.seen("secret leaf")
    assert TypingRecord(file).read() == TypedText(text_key("secret leaf"), "typing", "secret leaf", "secret leaf")
    record.accepted()
    assert "leaf" not in file.read_text()
    accepted = record.read()
    assert accepted is not None
    assert accepted.is_unread("secret\n leaf")
    assert not accepted.is_unread("another")
    assert not accepted.is_unread("")
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("{")
    assert record.read() is None
    record.drop()
    assert not file.exists()
    with pytest.raises(OSError):
        TypingRecord(tmp_path / "none" / "typing.json").begin("a", "a")


def test_a_tab_that_a_program_makes_blanks_is_still_the_text() -> None:
    """Claude Code makes it four: what stands in its input is what was typed, and nothing else is."""
    text = TypedText(text_key("one\ttwo"), "typing", "one\ttwo")
    assert text.is_draft("one    two")
    assert not text.is_draft("one    two and more")

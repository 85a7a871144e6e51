"""Whether a program that goes on with a conversation has read it: Gemini CLI by what it notes in the conversation's
file, OpenCode by its screen.
"""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.transcripts import gemini_transcript
from gshtui.programs.transcripts.conversation_loading import ConversationLoading
from gshtui.programs.transcripts.program_transcript import TranscriptQuery

FOLDER = "/home/person/project"
SCREENS = next((Path(__file__).parents[1] / "fixtures" / "screens" / "opencode").iterdir())
ID = str(uuid.UUID(int=7))
STAYS = "import sys; sys.stdin.read()"
SAID = {"id": "1", "type": "user", "content": [{"text": "The word is raspberry"}]}
LOADED = {"$set": {"sessionId": ID}}


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """Where Gemini keeps the conversations of the folder."""
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "projects.json").write_text(json.dumps({"projects": {FOLDER: "project"}}))
    folder = tmp_path / ".gemini" / "tmp" / "project" / "chats"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def gemini(request: pytest.FixtureRequest) -> Iterator[int]:
    """A process with the command line of a Gemini that goes on with a conversation."""
    with subprocess.Popen([sys.executable, "-c", STAYS, *request.param], stdin=subprocess.PIPE) as process:
        yield process.pid


def loading(pid: int, home: Path, late: float = 0.0) -> ConversationLoading:
    profile = profiles.load(Path("/nonexistent")).get("gemini")
    return ConversationLoading(profile, pid, FOLDER, {"HOME": str(home)}, lambda: time.time() + late)


def write(path: Path, *records: dict[str, Any], ago: float = 0.0) -> None:
    path.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records), "utf-8")
    os.utime(path, (time.time() - ago, time.time() - ago))


RESUMED = pytest.mark.parametrize("gemini", [("--resume", ID)], indirect=True)


@RESUMED
def test_it_loads_until_it_has_noted_that_it_has(gemini: int, chats: Path, tmp_path: Path) -> None:
    before = ({"sessionId": ID, "startTime": "1"}, SAID, LOADED, {"$set": {"lastUpdated": "2"}})  # resumed once before
    write(chats / "session-1-00000000.jsonl", *before, ago=100)
    one = loading(gemini, tmp_path)
    assert one.is_loading()
    write(chats / "session-2-00000000.jsonl", {"sessionId": ID, "startTime": "3"})  # what it begins before it reads
    assert one.is_loading()
    write(chats / "session-1-00000000.jsonl", *before, LOADED)
    assert not one.is_loading()
    assert not one.possible


@pytest.mark.parametrize("gemini", [("--session-file", "/somewhere/session-1.jsonl")], indirect=True)
def test_a_copy_has_another_id(gemini: int, chats: Path, tmp_path: Path) -> None:
    one = loading(gemini, tmp_path)
    copied = ({"sessionId": ID}, SAID)
    write(chats / "session-9-00000000.jsonl", *copied)
    assert one.is_loading()
    write(chats / "session-9-00000000.jsonl", *copied, LOADED)
    assert not one.is_loading()


@RESUMED
def test_what_somebody_says_is_no_note(gemini: int, chats: Path, tmp_path: Path) -> None:
    text = "\n" + json.dumps(LOADED, separators=(",", ":"))
    write(chats / "session-1-00000000.jsonl", {"sessionId": ID}, SAID | {"content": [{"text": text}]})
    assert loading(gemini, tmp_path).is_loading()


@RESUMED
def test_it_is_not_waited_for_for_ever(gemini: int, chats: Path, tmp_path: Path) -> None:
    assert not loading(gemini, tmp_path, late=3600).is_loading()


@pytest.mark.parametrize("gemini", [(), ("--session-id", ID)], indirect=True)
def test_one_that_begins_a_conversation_loads_none(gemini: int, chats: Path, tmp_path: Path) -> None:
    assert not loading(gemini, tmp_path).is_loading()


def test_what_one_left_that_was_ended_before_it_had_read_it_is_not_the_conversation(
    chats: Path, tmp_path: Path
) -> None:
    write(chats / "session-1-00000000.jsonl", {"sessionId": ID}, SAID, ago=100)
    write(chats / "session-2-00000000.jsonl", {"sessionId": ID})
    found = gemini_transcript.find(TranscriptQuery("gemini", ID, FOLDER, 0.0), {}, tmp_path)
    assert found == chats / "session-1-00000000.jsonl"


@pytest.mark.parametrize(
    ("gemini", "goes_on"),
    [(("--session", ID), True), (("--session", ID, "--fork"), True), ((), False)],
    indirect=["gemini"],
)
def test_opencode_goes_on_once_it_has_left_its_first_screen(gemini: int, goes_on: bool, tmp_path: Path) -> None:
    profile = profiles.load(Path("/nonexistent")).get("opencode")
    one = ConversationLoading(profile, gemini, FOLDER, {"HOME": str(tmp_path)})
    home, resumed = ((SCREENS / name).read_text("utf-8").split("\n") for name in ("01-idle.txt", "14-resumed.txt"))
    assert one.is_loading(home) is goes_on
    assert not one.is_loading(resumed)
    assert not one.is_loading(home), "a person may go back there"

"""Claude's hook waits for a person's answer: one word allows, everything else leaves the question to its box."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.agent_data import OpenQuestion, QuestionChoice
from gshtui.programs import report_hook
from gshtui.programs.hooks import hook_answers
from gshtui.programs.hooks.hook_reports import open_spool
from gshtui.programs.profiles import profile_files as profiles
from tests.kit.tmux import eventually

CLAUDE = profiles.load(Path("/nonexistent")).get("claude")
CHOICES = (QuestionChoice("1", "Yes"), QuestionChoice("2", "Yes, and always"), QuestionChoice("3", "No"))
QUESTION = OpenQuestion("q", "Do you want to proceed?", "Bash command\n\n  touch made.txt\n  Run it", CHOICES)
REQUEST = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "touch made.txt"}}


@contextlib.contextmanager
def hook(spool: Path, data: dict[str, Any], program: str = "claude") -> Generator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-I", "-S", report_hook.__file__, program]
    environ = {**os.environ, "GSH_HOOK_SPOOL": str(spool)}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as ran:
        assert ran.stdin is not None
        ran.stdin.write(json.dumps(data).encode())
        ran.stdin.close()
        try:
            yield ran
        finally:
            ran.kill()


async def waiting(data: Path, question: OpenQuestion = QUESTION) -> Path:
    """The pipe of the request, once the hook waits."""

    async def look() -> Path | None:
        return hook_answers.waiting_request(data, "0001", question)

    found = await eventually(look)
    assert found is not None
    return found


def said(ran: subprocess.Popen[bytes]) -> bytes:
    assert ran.stdout is not None
    return ran.stdout.read()


@pytest.mark.parametrize("behavior", ["allow", "deny"])
async def test_an_answer_is_given_to_exactly_the_request_that_waits(tmp_path: Path, behavior: Any) -> None:
    spool = open_spool(tmp_path, "0001")
    with hook(spool, REQUEST) as ran:
        pipe = await waiting(tmp_path)
        other = OpenQuestion("r", "Do you want to proceed?", "touch other.txt", CHOICES)
        assert hook_answers.waiting_request(tmp_path, "0001", other) is None
        assert hook_answers.give_answer(pipe, behavior)
        decided = json.loads(said(ran))["hookSpecificOutput"]["decision"]
        assert decided["behavior"] == behavior
        assert not pipe.exists()
        assert not hook_answers.give_answer(pipe, behavior)
    assert json.loads(spool.read_text())["subject"] == "touch made.txt"


@pytest.mark.parametrize("answer", [b"allow\n", b'{"behavior": "yes"}\n', b'["allow"]\n', b"\xff\n", b'{"beh'])
async def test_what_is_no_answer_allows_nothing(tmp_path: Path, answer: bytes) -> None:
    with hook(open_spool(tmp_path, "0001"), REQUEST) as ran:
        pipe = await waiting(tmp_path)
        file = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        os.write(file, answer)
        os.close(file)
        assert said(ran) == b""
        assert ran.wait(10) == 0
    assert hook_answers.waiting_request(tmp_path, "0001", QUESTION) is None


async def test_it_ends_when_nobody_wants_to_know_any_more(tmp_path: Path) -> None:
    with hook(open_spool(tmp_path, "0001"), REQUEST) as ran:
        pipe = await waiting(tmp_path)
        assert ran.stdout is not None
        ran.stdout.close()
        assert ran.wait(10) == 0
        assert not pipe.exists()


async def test_two_requests_about_the_same_are_answered_by_keys(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, "0001")
    with hook(spool, REQUEST):
        await waiting(tmp_path)
        with hook(spool, REQUEST) as second:

            async def look() -> bool:
                return hook_answers.waiting_request(tmp_path, "0001", QUESTION) is None

            await eventually(look)
            second.kill()
            second.wait(10)
            await waiting(tmp_path)


@pytest.mark.parametrize(
    ("program", "more"), [("codex", {}), ("claude", {"agent_id": "a1"}), ("claude", {"hook_event_name": "PreToolUse"})]
)
def test_where_no_box_is_open_meanwhile_nothing_waits(tmp_path: Path, program: str, more: dict[str, str]) -> None:
    with hook(open_spool(tmp_path, "0001"), REQUEST | more, program) as ran:
        assert said(ran) == b""
        assert ran.wait(10) == 0


def test_only_plain_answers_are_the_hooks() -> None:
    given = [hook_answers.behavior_of(CLAUDE, QUESTION, key) for key in ("1", "2", "3", "4")]
    assert given == ["allow", None, "deny", None]

"""`gsh-tui mcp serve` beside a resident hub: the same answers from a small process, and from the next hub."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from tests.kit.command import DEADLINE, environment
from tests.kit.resident import resident
from tests.kit.warm_program import WarmProcess, run_gsh, start_gsh
from tests.real.test_mcp_face import initialize

COVERS = ("gshtui.headless.servers.asked_programs", "gshtui.headless.servers.program_relay")
__all__ = ["resident"]
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Program:
    """A program that speaks MCP with a process of ours."""

    def __init__(self, process: WarmProcess) -> None:
        self.process = process
        assert process.stdin is not None and process.stdout is not None
        self._says: IO[bytes] = process.stdin
        self._hears: IO[bytes] = process.stdout

    def say(self, *messages: object) -> None:
        self._says.write("".join(f"{json.dumps(message)}\n" for message in messages).encode())
        self._says.flush()

    def hear(self) -> dict[str, Any]:
        """The next message; empty: there is none any more."""
        line = self._hears.readline()
        return json.loads(line) if line else {}

    def leave(self) -> list[dict[str, Any]]:
        """Say no more; what was still heard."""
        self._says.close()
        rest = [json.loads(line) for line in self._hears]
        assert self.process.wait(DEADLINE) == 0
        return rest

    def fall_silent(self) -> None:
        """Neither say nor hear anything any more, as one that was killed: its process ends, too."""
        self._says.close()
        self._hears.close()
        assert self.process.wait(DEADLINE) == 0


@contextmanager
def program(folder: Path, *options: str) -> Iterator[Program]:
    with start_gsh("mcp", "serve", *options, cwd=folder, stdin=subprocess.PIPE) as process:
        spoken = Program(process)
        spoken.say(initialize("2025-06-18"))
        assert spoken.hear()["result"]["serverInfo"]["name"] == "gsh-tui"
        spoken.say(INITIALIZED)
        yield spoken


def call(number: int, name: str, **arguments: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def cancelled(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


def hub_pid() -> int:
    return int(run_gsh("hub", "status", "--json").json["pid"])


def answers(folder: Path) -> list[dict[str, Any]]:
    asked = ({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, call(3, "session_ls"), call(4, "bash", command="ls"))
    with program(folder) as spoken:
        spoken.say(*asked)
        said = sorted((spoken.hear() for _ in asked), key=lambda message: message["id"])
        assert spoken.leave() == []
    del said[1]["result"]["content"]  # has an age
    return said


def test_the_answers_are_those_of_a_process_of_its_own(resident: None, tmp_path: Path) -> None:
    assert run_gsh("prompt", "--provider", "offline", "hello", cwd=tmp_path).code == 0
    beside = answers(tmp_path)
    assert [message["id"] for message in beside] == [2, 3, 4]
    assert run_gsh("hub", "stop").code == 0
    assert beside == answers(tmp_path)


def test_its_process_loads_no_hub_no_record_and_no_sdk(resident: None, tmp_path: Path) -> None:
    heavy = {"pydantic", "sqlite3", "dataclasses", "mcp", "anyio", "gshtui.hub.hub", "gshtui.settings.loader"}
    code = "import atexit, sys; from gshtui.cli.entry import main; sys.argv[1:] = ['mcp', 'serve']\n"
    code += f"atexit.register(lambda: print(*({heavy!r} & sys.modules.keys()), file=sys.stderr)); sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(initialize("2025-06-18")) + "\n",
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout)["id"] == 1
    assert ran.stderr.split() == []


def test_the_next_hub_goes_on_and_nothing_is_called_twice(
    resident: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    agent = run_gsh("agent", "spawn", "--cli", "cat", cwd=tmp_path).out.strip()
    with program(tmp_path) as spoken:
        spoken.say(
            call(2, "agent_ls"),
            {"jsonrpc": "2.0", "id": [], "result": {}},
            "no object",
            {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]},
        )
        said = {message["id"]: message for message in (spoken.hear(), spoken.hear(), spoken.hear())}
        assert said[7]["error"]["code"] == -32600
        assert said[2]["result"]["structuredContent"]["result"][0]["id"] == agent
        assert said[None]["error"]["code"] == -32700
        spoken.say(call(3, "agent_wait", agent=agent, statuses=["failed"], timeout=600), call(4, "agent_ls"))
        assert spoken.hear()["id"] == 4
        ended = hub_pid()
        os.kill(ended, signal.SIGKILL)
        lost = spoken.hear()
        assert (lost["id"], "not known whether this was done" in lost["error"]["message"]) == (3, True)
        spoken.say(call(5, "agent_ls"))
        assert spoken.hear()["result"]["structuredContent"]["result"][0]["id"] == agent
        assert hub_pid() != ended, "it has started the next one"
        spoken.say(call(6, "agent_wait", agent=agent, statuses=["failed"], timeout=600), cancelled(6))
        assert spoken.leave() == [], "what is cancelled is not answered, and not waited for"
    with program(tmp_path) as killed:
        killed.say(call(2, "agent_wait", agent=agent, statuses=["failed"], timeout=600))
        killed.fall_silent()
    assert run_gsh("agent", "kill", "--yes", agent, cwd=tmp_path).code == 0
    assert run_gsh("hub", "stop", "--yes").code == 0

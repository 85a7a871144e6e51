"""Turns that a resident hub takes for `gsh`: as its own process would, with its variables, whoever of the two dies."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.settings import paths
from gshtui.settings.paths import data_dir
from tests.kit.command import DEADLINE, CommandResult, command, environment
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.pty_child import WarmPtyChild
from tests.kit.resident import events_until, keeper_pid, resident
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh, start_gsh

__all__ = ["resident"]
pytestmark = pytest.mark.usefixtures("resident")

MAPPED = [] if os.geteuid() == 0 else ["--map-root-user"]


async def prompted(project: Path, *words: str, env: dict[str, str] | None = None) -> CommandResult:
    return await asyncio.to_thread(run_gsh, "prompt", "--json", *words, cwd=project, env=env)


async def test_each_face_brings_its_own_key_and_variables_and_none_is_kept(project: Path) -> None:
    calls = [[Call("bash", {"command": "which moss"})], [Say("done")]]
    for name in ("a", "b"):
        (project / name).mkdir()
        (project / name / "moss").write_text("#!/bin/sh\n")
        (project / name / "moss").chmod(0o755)
    async with loopback("anthropic", calls) as first, loopback("anthropic", calls) as second:
        ways = {"a": first, "b": second}
        asked = [
            prompted(
                project,
                *("--mode", "yolo", "--provider", "anthropic", "go"),
                env=variables("anthropic", server.url)
                | {"ANTHROPIC_API_KEY": f"key-{name}", "PATH": f"{project / name}:{os.environ['PATH']}"},
            )
            for name, server in ways.items()
        ]
        for name, ran in zip(ways, await asyncio.gather(*asked), strict=True):
            assert ran.code == 0, ran.err
            result = next(event["content"] for event in ran.lines if event["type"] == "ToolFinished")
            assert result.split() == [str(project / name / "moss")]
            assert {request.headers["x-api-key"] for request in ways[name].requests} == {f"key-{name}"}
    environ = Path(f"/proc/{keeper_pid()}/environ").read_text(errors="replace")
    assert "key-a" not in environ and "key-b" not in environ


LIMITS = ("umask 027", "ulimit -Sn 512", "ulimit -n 512; umask 002", "ulimit -c 0; ulimit -St 4096; umask 077")
"""What a person's startup files may say, and their hub was not started with."""
SEEN = "umask; ulimit -n; ulimit -St; ulimit -c; touch made; mkdir made.d; stat -c %a made made.d"


def under(limits: str, line: list[str], cwd: Path) -> str:
    """What a command prints in a shell that has said this."""
    given = ["sh", "-c", f'{limits}; exec "$@"', "sh", *line]
    ran = subprocess.run(given, cwd=cwd, env=environment(), timeout=DEADLINE, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.decode()


async def test_commands_and_files_have_the_umask_and_the_limits_of_the_face_that_asked(project: Path) -> None:
    """What the hub starts and makes for several at once is as each of their shells would have it."""

    async def made_for(place: Path, limits: str) -> tuple[str, str, list[int]]:
        place.mkdir()
        calls = [
            [Call("bash", {"command": SEEN})],
            [Call("write", {"path": "new/file", "content": "x"})],
            [Say("done")],
        ]
        async with loopback("anthropic", calls) as server:
            words = ["--json", "--mode", "yolo", "--provider", "anthropic", "go"]
            brought = " ".join(f"export {name}={value};" for name, value in variables("anthropic", server.url).items())
            line = command(["prompt", *words])
            printed = await asyncio.to_thread(under, f"{brought} {limits}", line, place)
        told = next(json.loads(row) for row in printed.splitlines() if '"ToolFinished"' in row)
        modes = [(place / name).stat().st_mode & 0o777 for name in ("new", "new/file")]
        (there := place / "by-hand").mkdir()
        expected = await asyncio.to_thread(under, limits, ["sh", "-c", f"{SEEN}; mkdir new; touch new/file"], there)
        assert modes == [(there / name).stat().st_mode & 0o777 for name in ("new", "new/file")]
        return told["content"].strip(), expected.strip(), modes

    ends = [made_for(project / str(number), limits) for number, limits in enumerate(LIMITS)]
    for printed, expected, _ in await asyncio.gather(*ends):
        assert printed == expected
    assert running_keeper(data_dir()) is not None


async def test_a_face_in_a_container_is_served_by_no_hub_outside(project: Path) -> None:
    """Its files are other ones, whatever they are called."""
    hidden = 'mount -t tmpfs none "$PWD/inner" && cd "$PWD/inner" && touch only-here && exec "$@"'
    (project / "inner").mkdir()
    for words in (["prompt", "--mode", "yolo", "run ls"], ["session", "ls"]):
        line = ["unshare", "--mount", *MAPPED, "sh", "-c", hidden, "sh", *command(words)]
        ran = await asyncio.to_thread(
            subprocess.run, line, cwd=project, env=environment(), timeout=DEADLINE, capture_output=True, check=False
        )
        assert (ran.returncode, ran.stdout, ran.stderr.count(b"outside of this container")) == (1, b"", 1)


def roles(project: Path, session: str) -> list[str]:
    shown = run_gsh("session", "show", session, "--json", cwd=project).json
    return [entry["message"]["role"] for entry in shown["messages"]]


def running(words: str) -> list[int]:
    """The processes with exactly these arguments."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if line.rstrip(b"\0").split(b"\0") == words.encode().split():
            found.append(int(folder.name))
    return found


async def eventually_running(words: str, until: Callable[[list[int]], object]) -> list[int]:
    async def look() -> list[int]:
        return running(words)

    return await eventually(look, until=until)


async def gone(words: str) -> None:
    await eventually_running(words, lambda found: not found)


async def test_a_face_that_is_killed_interrupts_its_turn(project: Path) -> None:
    with start_gsh("prompt", "--json", "--yes", "run sleep 30071", cwd=project) as process:
        session = (await asyncio.to_thread(events_until, process, "ToolStarted"))["session"]
        found = await eventually_running("sleep 30071", bool)
        assert keeper_pid() in {above.pid for above in psutil.Process(found[0]).parents()}
        process.kill()
        await asyncio.to_thread(process.wait, DEADLINE)
        await gone("sleep 30071")

    async def holder() -> str:
        listed = await asyncio.to_thread(run_gsh, "session", "ls", "--json", cwd=project)
        return listed.json[0]["held_by"]

    await eventually(holder, until=lambda held_by: not held_by)
    assert roles(project, session) == ["user", "assistant", "tool"], "the call is closed, and nothing else began"
    assert running_keeper(data_dir()) is not None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_hub_that_ends_in_mid_turn_is_told_of_and_runs_nothing_twice(
    project: Path, number: signal.Signals
) -> None:
    with start_gsh("prompt", "--json", "--yes", "run sleep 30072", cwd=project) as process:
        session = (await asyncio.to_thread(events_until, process, "ToolStarted"))["session"]
        os.kill(keeper_pid(), number)
        _, err = await asyncio.to_thread(process.communicate, timeout=DEADLINE)
    assert process.returncode in (1, 130), err
    assert b"Traceback" not in err
    await gone("sleep 30072")
    again = await prompted(project, "--session", session, "run echo on")
    assert again.code in (0, 4), again.err
    assert roles(project, session)[:3] == ["user", "assistant", "tool"]
    assert not running("sleep 30072")


async def test_a_hub_that_is_stopped_is_told_of_and_nothing_is_done_beside_it(project: Path) -> None:
    pid = keeper_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        ran = await prompted(project, "read nothing.txt")
        assert (ran.code, f"(pid {pid}) does not answer" in ran.err) == (1, True)
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(("key", "code", "made"), [(b"1", 0, True), (b"4", 4, False)])
def test_a_question_is_answered_at_the_terminal_that_asked(project: Path, key: bytes, code: int, made: bool) -> None:
    with contextlib.closing(WarmPtyChild(["gsh", "run touch x"], project)) as child:
        child.go()
        child.read_until(lambda: b" deny with reason\r\n" in child.output and child.output.endswith(b"\r\nAnswer: "))
        child.write(key)
        assert child.wait() == code
        assert (project / "x").exists() == made


async def test_nobody_else_answers_and_no_stranger_is_taken(project: Path) -> None:
    """A second connection, or an answer before a turn, reaches no question."""
    answer = {"type": "ApprovalAnswered", "approval": "x", "decision": "once"}
    for first in ({"answer": answer}, {"turn": {"respondent": "nobody"}}, {"interrupt": True}):
        reader, writer = await asyncio.open_unix_connection(paths.keeper_sockets()[0])
        writer.write(json.dumps({"hello": "turn", "pid": os.getpid()}).encode() + b"\n")
        assert b"welcome" in await reader.readline()
        writer.write(json.dumps(first).encode() + b"\n")
        async with asyncio.timeout(DEADLINE):
            assert b"error" in await reader.readline()
        writer.close()


async def test_turns_at_once_do_not_mix(project: Path) -> None:
    asked = [prompted(project, f"run echo {number}", "--yes") for number in range(6)]
    for number, ran in enumerate(await asyncio.gather(*asked)):
        assert ran.code == 0, ran.err
        last = ran.lines[-1]
        assert f"\n{number}\n" in last["text"]
        sessions = {event["session"] for event in ran.lines if event.get("session")}
        assert sessions == {last["session"]}


async def test_agents_that_a_turn_starts_go_on_in_the_hub_and_those_there_are_left_alone(project: Path) -> None:
    first = run_gsh("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "cat", cwd=project)
    assert first.code == 0, first.err
    steps = [
        [Call("spawn_agent", {"cli": "sh -c 'exec cat'", "name": "fern", "prompt": "leaf", "background": True})],
        [Say("done")],
    ]

    async def row(name: str, until: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        async def look() -> dict[str, Any]:
            listed = (await asyncio.to_thread(run_gsh, "agent", "ls", "--json", cwd=project)).json
            return next((one for one in listed if one["name"] == name), {})

        return await eventually(look, until=until)

    before = await row("cat", lambda one: one.get("owner") == keeper_pid() and one["status"] == "idle")
    async with loopback("anthropic", steps) as server:
        words = ("--mode", "yolo", "--provider", "anthropic", "go")
        ran = await prompted(project, *words, env=variables("anthropic", server.url))
    assert ran.code == 0, ran.err
    assert [event["status"] for event in ran.lines if event["type"] == "ToolFinished"] == ["ok"], ran.out
    assert not [event for event in ran.lines if event["type"] == "AgentEnded"]
    await row("fern", lambda one: one.get("owner") == keeper_pid() and one["status"] == "idle")
    after = await row("cat", bool)
    assert (after["pane"], after["owner"], after["status"]) == (before["pane"], keeper_pid(), "idle")
    sent = run_gsh("agent", "send", "fern", "moss", cwd=project)
    assert sent.code == 0, sent.err

    async def shown() -> str:
        return (await asyncio.to_thread(run_gsh, "agent", "show", "fern", cwd=project)).out

    assert (await eventually(shown, until=lambda text: "moss" in text)).count("moss") == 2, "typed once, and echoed"
    for name in ("cat", "fern"):
        assert run_gsh("agent", "kill", name, "--yes", cwd=project).code == 0


async def test_who_stops_the_hub_is_told_which_turns_that_ends(project: Path) -> None:
    with start_gsh("prompt", "--json", "--yes", "run sleep 30073", cwd=project) as process:
        await asyncio.to_thread(events_until, process, "ToolStarted")
        with contextlib.closing(WarmPtyChild(["hub", "stop"], project)) as child:
            child.go()
            await asyncio.to_thread(child.read_until, lambda: b"[y/N]" in child.output)
            assert "This interrupts 1 turn: “run sleep 30073”." in child.output.decode()
            child.write(b"n\n")
            assert await asyncio.to_thread(child.wait) == 4
            assert process.poll() is None and running_keeper(data_dir()) is not None
        unseen = await asyncio.to_thread(run_gsh, "hub", "stop", cwd=project)
        assert unseen.code == 4 and "nobody is there to ask. `--yes` does it anyway." in unseen.err
        assert "This interrupts 1 turn: “run sleep 30073”." in unseen.err
        assert process.poll() is None and running_keeper(data_dir()) is not None
        agreed = await asyncio.to_thread(run_gsh, "uninstall", "--yes", cwd=project)
        assert agreed.code == 0, agreed.err
        assert await asyncio.to_thread(process.wait, DEADLINE) == 130

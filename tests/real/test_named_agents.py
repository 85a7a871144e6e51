"""Agents that the settings name, as people meet them: invited by name, each with a context of its own in each call."""

import asyncio
import contextlib
import json
import os
import re
import signal
from typing import Any

import pytest

from gshtui.bus.event import Event
from gshtui.settings import paths
from tests.kit.command import CommandResult
from tests.kit.door import door_for, visit
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.pty_child import PtyChild, WarmPtyChild
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh
from tests.real.test_call_contexts import window
from tests.real.test_keeper import Place, place

pytestmark = [pytest.mark.tmux, pytest.mark.timeout(180)]
__all__ = ["place"]
_SETTINGS = """\
[agents.claude]
model = "haiku"
persona = "explore"

[agents.reader]
provider = "anthropic"
allowed_paths = ["src", "/calls"]
"""


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "alone")
    folder = paths.config_dir(create=True)
    with (folder / "config.toml").open("a", encoding="utf-8") as file:
        file.write(_SETTINGS)


async def gsh(place: Place, env: dict[str, str], line: str, *, code: int = 0) -> CommandResult:
    ran = await asyncio.to_thread(run_gsh, "run", "--json", line, cwd=place.project, env=env)
    assert ran.code == code, (line, ran.err)
    return ran


def ageless(text: str) -> str:
    """It without ages, which go on between two looks."""
    return re.sub(r"\b(?:now|\d+ s)\b", "…", text)


async def test_an_agent_starts_when_it_is_invited_and_has_a_context_in_each_call(place: Place) -> None:
    async with loopback("anthropic", [[Say("Understood.")]], repeat=True) as server:
        env = variables("anthropic", server.url)
        for line in ("create alpha", "create beta", "join alpha", "invite claude"):
            await gsh(place, env, line)
        row = await place.row(lambda row: bool(row.pane), id="0001")
        assert (row.name, row.persona, row.provider) == ("claude", "explore", "anthropic")
        await gsh(place, env, "talk to=claude message='the word of alpha is oboe' timeout_s=60")
        for line in ("join beta", "invite claude", "talk to=claude message='the word of beta is viola' timeout_s=60"):
            await gsh(place, env, line)
        in_beta = str(server.requests[-1].body)
        assert "viola" in in_beta and "oboe" not in in_beta and "call beta" in in_beta
        shown = (await gsh(place, env, "cat path=/context/claude/history.ctx")).out
        assert "viola" in shown and "oboe" not in shown, "the one that it is in, also where no hub listens"

        with contextlib.suppress(ProcessLookupError):
            os.kill(row.pid, signal.SIGKILL)
        await eventually(lambda: statuses(place, env), until=lambda found: found[0] in ("lost", "failed"), within=60)
        await asyncio.to_thread(run_gsh, "agent", "restart", "0001", cwd=place.project, env=env)
        await gsh(place, env, "join alpha")
        await gsh(place, env, "talk to=claude message='which word?' timeout_s=60")
        again = str(server.requests[-1].body)
        assert "oboe" in again and "viola" not in again

        async with window(place.project) as hub:
            while not hub.connected("0001"):
                await hub.bus.wait_for(Event, timeout=60)
            said = await hub.run("talk to=claude message='@nobody a window asks' timeout_s=30")
            assert "Understood." in said.text and "no @nobody" in said.text
    assert server.refused == []


async def statuses(place: Place, env: dict[str, str]) -> list[str]:
    ran = await asyncio.to_thread(run_gsh, "agent", "ls", "--json", cwd=place.project, env=env)
    found: list[dict[str, Any]] = json.loads(ran.out)
    return [one["status"] for one in found]


async def test_a_person_talks_line_by_line_at_a_terminal(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback("anthropic", [[Say("Use JACK.")]], repeat=True) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        with contextlib.closing(WarmPtyChild(["run", "talk to=claude"], place.project)) as child:
            child.go()
            await asyncio.to_thread(child.read_until, lambda: b"you>" in child.output, 60)
            child.write(b"how?\n")
            await asyncio.to_thread(child.read_until, lambda: b"claude> Use JACK." in child.output, 60)
            await asyncio.to_thread(child.read_until, lambda: child.output.endswith(b"you> "), 60)
            assert b"Working" not in child.output.partition(b"you>")[2], "no progress line over what is typed"
            child.write(b"\n")
            assert await asyncio.to_thread(child.wait) == 0
        ran = await gsh(place, {}, "talk to=claude")
        assert json.loads(ran.out)["name"] == "claude"


async def test_only_a_person_starts_one_and_only_with_a_key(place: Place) -> None:
    async with loopback("anthropic", [[Say("Understood.")]], repeat=True) as server:
        env = variables("anthropic", server.url)
        await gsh(place, env, "create alpha")
        await gsh(place, env, "join alpha")
        assert "needs an API key" in (await gsh(place, env, "invite gpt", code=1)).err
        ran = await asyncio.to_thread(
            run_gsh, "run", "--as", "main", "talk to=claude message=hello", cwd=place.project, env=env
        )
        assert ran.code == 1 and "There is no agent 'claude'" in ran.err
        assert await statuses(place, env) == []


async def test_an_agent_with_allowed_paths_reaches_nothing_else(place: Place) -> None:
    async with loopback("anthropic", [[Say("Understood.")]], repeat=True) as server:
        env = variables("anthropic", server.url)
        await gsh(place, env, "talk to=reader message=hello timeout_s=60")
        tools = {tool["name"] for tool in server.requests[-1].body["tools"]}
    assert "read" in tools and "say" in tools
    assert not tools & {"bash", "python", "spawn_agent", "git_worktree", "tmux", "terminal"}


async def test_people_over_ssh_talk_to_an_agent_that_runs(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """By OpenSSH's own client: line by line in a terminal, and as a command of a line without one."""
    async with loopback("anthropic", [[Say("Use JACK, amy.")]], repeat=True) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        for line in ("create audio", "join audio", "invite claude"):
            await gsh(place, {}, line)
        async with door_for(place.project, amy="talk") as door, visit(door, "amy") as plain:
            await plain.run("join audio")
            said = await plain.run("talk to=claude message='which server?'")
            assert said.count("Use JACK, amy.") == 1, said
            with contextlib.closing(door.terminal("amy")) as terminal:
                await asyncio.to_thread(_talk, terminal)
            assert "no agent" in (await plain.run("talk to=reader message=hello")).lower(), "a guest starts none"
        found = json.loads((await gsh(place, {}, "history call=audio n=20")).out)
        told = [(one["agent"], one["text"]) for one in found if one["role"] != "system"]
        assert told == [
            ("amy", "which server?"),
            ("claude", "Use JACK, amy."),
            ("amy", "how?"),
            ("claude", "Use JACK, amy."),
        ]
        guests = str(server.requests[-1].body)
        assert "amy says to you, as a guest" in guests
    assert server.refused == []


async def test_who_may_do_anything_over_ssh_has_the_whole_product(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seed's own session: a room whose agent the invitation starts, and what that agent is sent."""
    async with loopback("anthropic", [[Say("We use winnow.")]], repeat=True) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with door_for(place.project, bo="all") as door, visit(door, "bo") as bo:
            await bo.run("create call=hr")
            await bo.run("join call=hr")
            assert "claude is in the call hr" in await bo.run("invite agent=claude")
            await place.row(lambda row: bool(row.pane), id="0001")
            await bo.run("remember agent=claude key=parser value=winnow")
            assert "We use winnow." in await bo.run("talk to=claude message='which parser?' timeout_s=60")
            assert "context/" in (await bo.run("ls path=/")).split("\n")
            assert "claude" in await bo.run("ls /context") and "full.ctx" in await bo.run("ls /context/claude")
            assert "winnow" in await bo.run("cat /context/claude/memory.ctx")
            assert "parser.mem" in await bo.run("context agent=claude section=memory")
            await bo.run("remember agent=claude key=lexer value=logos")
            assert "logos" not in str(server.requests[-1].body)
            memory = await bo.run("cat /context/claude/memory.ctx")
            for line in ("cat /context/claude/memory.ctx", "cat /context/claude/tools.ctx", "context agent=claude"):
                told = " ".join((await bo.run(line)).split())
                assert "System, call and tools are those of its last request; memory, history and input" in told, told
            assert "system, call and tools are those of its last" in " ".join(
                (await bo.run("cat /context/_assembly.md")).split()
            )
            assert "logos" in memory and "lexer.mem" in await bo.run("context agent=claude section=memory")
            await bo.run("talk to=claude message='and the lexer?' timeout_s=60")
            sent = json.dumps(server.requests[-1].body["system"], ensure_ascii=False)
            notes = [line for line in memory.splitlines() if "winnow" in line or "logos" in line]
            assert len(notes) == 2 and all(line in sent for line in notes), (notes, sent)
            await bo.run("forget agent=claude key=lexer")
            assert "logos" not in await bo.run("cat /context/claude/memory.ctx")
            both = "diff <(cat /context/claude/memory.ctx) <(echo none)"
            assert "winnow" in await bo.run(both)
            for line in (
                "context agent=claude",
                "timeline agent=claude",
                "whatif agent=claude",
                "carry agent=claude",
                "model",
                "effort",
                "mode",
                "pin 1",
                "unpin 1",
                "restore 1",
                "tune",
                "compact agent=nobody",
                "model nosuch",
                "session ls",
                "mail ls",
                "logs",
                "rewind",
            ):
                said = await bo.run(line)
                here = await asyncio.to_thread(run_gsh, "run", line, cwd=place.project)
                words = (here.out or here.err).removeprefix("gsh-tui: ").split("\n")[0].split("`")[0].strip()
                assert ageless(words) in ageless(said) and "no command" not in said.lower(), (line, said, words)
            assert "create-git-commit  Create git commit" in await bo.run("workflow ls"), "as people read it"
            assert "Requested by you" in await bo.run("clear_context agent=claude")
            assert "clear" in await bo.run("undo agent=claude")
            out, err, code = await door.sftp("bo", "ls /context", "get /context/claude/full.ctx")
            assert code == 0 and "/context/claude" in out, err
            assert "winnow" in (place.project / "full.ctx").read_text()
    assert server.refused == []


async def test_a_room_keeps_the_tools_that_were_used_for_an_answer(place: Place) -> None:
    (place.project / "note.txt").write_text("parser: winnow\n")
    script = [[Say("I look."), Call("read", {"path": "note.txt"})], [Say("We use winnow.")]]
    async with loopback("anthropic", script, repeat=True) as server:
        env = variables("anthropic", server.url)
        for line in ("create hr", "join hr", "invite claude", "talk to=claude message='which parser?' timeout_s=60"):
            await gsh(place, env, line)
        found = (await gsh(place, env, "history call=hr")).json
        question, result, answer = found[-3:]
        assert question["text"] == "which parser?" and "tool_calls" not in question
        assert answer["role"] == "assistant" and answer["seq"] == question["seq"] + 1
        (call,) = answer["tool_calls"]
        assert (call["name"], call["arguments"]) == ("read", {"path": "note.txt"})
        assert (result["role"], result["tool_call_id"], result["agent"]) == ("tool_result", call["id"], "claude")
        assert "winnow" in result["text"]
        number = f"{answer['seq']:03}"
        files = (await gsh(place, env, "ls /calls/hr/conversation")).json["entries"]
        assert [one["name"] for one in files][-2:] == [f"{number}.01.msg", f"{number}.msg"]
        written = (await gsh(place, env, f"cat /calls/hr/conversation/{number}.msg")).json["files"][0]["text"]
        assert f'tool_calls: [{{"id": "{call["id"]}", "name": "read"' in written
        kept = (await gsh(place, env, f"cat /calls/hr/conversation/{number}.01.msg")).json["files"][0]["text"]
        assert "role: tool_result\nagent: claude\n" in kept and "tool_call_id: " in kept and "winnow" in kept
        for wrong in (f"{number}.02.msg", f"{number}.1.msg", f"{number}..msg", "000.01.msg"):
            await gsh(place, env, f"cat /calls/hr/conversation/{wrong}", code=1)
        assert "used read" in (await asyncio.to_thread(run_gsh, "run", "history call=hr", cwd=place.project)).out


def _talk(terminal: PtyChild) -> None:
    terminal.read_until(lambda: b":audio" in terminal.output)
    terminal.write(b"talk to=claude\r")
    terminal.read_until(lambda: b"you> " in terminal.output)
    terminal.write(b"how?\r")
    terminal.read_until(lambda: terminal.output.count(b"Use JACK, amy.") == 1, 60)
    terminal.read_until(lambda: terminal.output.rstrip().endswith(b"you>"))
    terminal.write(b"\r")
    terminal.read_until(lambda: terminal.output.rstrip().endswith(b":audio>"))
    assert terminal.output.count(b"Use JACK, amy.") == 1
    terminal.write(b"exit\r")
    assert terminal.wait() == 0

"""Windows whose hub is in the resident process: as with a hub of their own, whichever of the two dies."""

import asyncio
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.events.agent_events import PromptSubmitted, ToolFinished, TurnFinished
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentEnded
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.client.window_link import WindowLink
from gshtui.client.window_protocol import OpenRequest
from gshtui.hub.faces.window_hub import WindowHub
from gshtui.settings.paths import data_dir
from gshtui.ui.approvals.approvals_pane import ApprovalsPane
from gshtui.ui.window.app import Workbench
from tests.kit.command import environment
from tests.kit.configuration import made_project
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Fault, Say
from tests.kit.loopback.server import Loopback
from tests.kit.resident import keeper_pid, resident
from tests.kit.tmux import DEADLINE, eventually
from tests.kit.warm_program import run_gsh

__all__ = ["resident"]
pytestmark = pytest.mark.usefixtures("resident")
SIZE = (120, 35)


@asynccontextmanager
async def window(project: Path, *, session: str = "", mode: GuardMode | None = None) -> AsyncGenerator[Workbench]:
    app = Workbench(OpenRequest(project, session, mode=mode))
    async with app.run_test(size=SIZE):
        await app.bridge.running()
        yield app


def link_of(app: Workbench) -> WindowLink:
    assert isinstance(app.bridge.hub, WindowLink)
    return app.bridge.hub


def hang_up(app: Workbench) -> None:
    """End the connection as if the window was killed, so that it does not look for another hub."""
    reading = link_of(app)._reading
    assert reading is not None and reading.cancel()
    link_of(app)._writer.transport.abort()


def held_in(session: str) -> int:
    """The process that has the conversation open; 0: none."""
    with closing(sqlite3.connect(data_dir() / "gsh.db")) as record:
        row = record.execute("SELECT pid FROM holds WHERE session = ?", (session,)).fetchone()
    return 0 if row is None else int(row[0])


def place_of(session: str) -> str:
    """Where the conversation is open, as others are told."""
    with closing(sqlite3.connect(data_dir() / "gsh.db")) as record:
        return str(record.execute("SELECT place FROM holds WHERE session = ?", (session,)).fetchone()[0])


def keyed(monkeypatch: pytest.MonkeyPatch, server: Loopback, key: str = "key") -> None:
    for name, value in (variables("anthropic", server.url) | {"ANTHROPIC_API_KEY": key}).items():
        monkeypatch.setenv(name, value)


async def screen(app: Workbench) -> str:
    await app.bridge.shown()
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


async def say(app: Workbench, text: str) -> None:
    """Send a prompt, and wait for the end of its turn."""
    finished = (await app.bridge.running()).bus.wait_for(TurnFinished, timeout=DEADLINE)
    app.publish(PromptSubmitted(prompt=text, agent="main", text=text))
    await finished


async def test_two_windows_have_their_own_folders_and_keys_and_their_own_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [[Call("bash", {"command": "pwd"})], [Say("done")]]
    async with loopback("anthropic", answers) as first, loopback("anthropic", answers) as second:
        keyed(monkeypatch, first, "key-a")
        async with window(made_project(tmp_path / "a"), mode="yolo") as a:
            keyed(monkeypatch, second, "key-b")
            async with window(made_project(tmp_path / "b"), mode="yolo") as b:
                heard: dict[str, list[Any]] = {"a": [], "b": []}
                for name, app in (("a", a), ("b", b)):
                    link_of(app).bus.subscribe(heard[name].extend, ToolFinished, name="test")
                await asyncio.gather(say(a, "go"), say(b, "go"))
                for name, events in heard.items():
                    assert [event.content.strip() for event in events] == [str(tmp_path / name)]
    assert {request.headers["x-api-key"] for request in first.requests} == {"key-a"}
    assert {request.headers["x-api-key"] for request in second.requests} == {"key-b"}


async def test_two_windows_have_the_same_conversation_and_one_answer_is_enough(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [[Call("bash", {"command": "touch made"})], [Say("all made")], [Say("once more")]]
    async with loopback("anthropic", answers) as server:
        keyed(monkeypatch, server)
        async with window(project, mode="ask") as first:
            first.publish(PromptSubmitted(prompt="p", agent="main", text="the first question"))
            await eventually(lambda: screen(first), until=lambda text: "touch made" in text)
            async with window(project, session=first.bridge.conversation[:8]) as second:
                await eventually(lambda: screen(second), until=lambda text: "❯ the first question" in text)
                assert second.bridge.conversation == first.bridge.conversation
                (question,) = (end for end in second.bridge._open_ends.values() if isinstance(end, ApprovalSettled))
                second.publish(ApprovalAnswered(approval=question.approval, decision="once"))
                for app in (first, second):
                    text = await eventually(
                        lambda app=app: screen(app), until=lambda text: "all made" in text and "wants to" not in text
                    )
                    assert text.count("❯ the first question") == 1
                await say(second, "and again?")
                text = await eventually(lambda: screen(first), until=lambda text: "once more" in text)
                assert "❯ and again?" in text
                second.run_command("quit")
                await eventually(lambda: asyncio.to_thread(getattr, second, "_exit"))
            assert first.is_running
            assert held_in(first.bridge.conversation) == keeper_pid()


async def test_a_window_goes_to_a_conversation_that_another_has_open(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loopback("anthropic", [[Say("well said")]], repeat=True) as server:
        keyed(monkeypatch, server)
        async with window(project) as first, window(project) as second:
            await say(first, "the first question")
            session = first.bridge.conversation
            assert second.bridge.conversation != session
            second.publish(SessionChangeRequested(agent="main", session=session))
            text = await eventually(lambda: screen(second), until=lambda text: "well said" in text)
            assert "❯ the first question" in text and "The hub has ended" not in text
            await say(second, "the second question")
            assert second.bridge.conversation == session
            await eventually(lambda: screen(first), until=lambda text: "❯ the second question" in text)


async def test_a_window_that_does_not_read_holds_up_nobody(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback("anthropic", [[Say("well said")]], repeat=True) as server:
        keyed(monkeypatch, server)
        async with window(project) as stopped:
            reading: Any = link_of(stopped)._writer.transport
            reading.pause_reading()
            stopped.publish(PromptSubmitted(prompt="p", agent="main", text="into the dark"))
            await server.asked.wait()
            async with window(project) as other:
                await say(other, "and here?")
                await eventually(lambda: screen(other), until=lambda text: "well said" in text)
            reading.resume_reading()
            await eventually(lambda: screen(stopped), until=lambda text: "well said" in text)


async def test_a_window_that_hangs_up_gives_its_conversation_free(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loopback("anthropic", [[Say("well said")]], repeat=True) as server:
        keyed(monkeypatch, server)
        async with window(project) as app:
            await say(app, "hello")
            session = app.bridge.conversation
            assert held_in(session) == keeper_pid()
            hang_up(app)
            await eventually(lambda: asyncio.to_thread(held_in, session), until=lambda pid: pid != keeper_pid())


async def test_a_window_whose_connection_breaks_at_rest_may_write_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loopback("anthropic", [[Say("well said")]], repeat=True) as server:
        keyed(monkeypatch, server)
        async with window(project) as app:
            await say(app, "hello")
            session = app.bridge.conversation
            for number in range(3):
                before = link_of(app)
                before._writer.transport.abort()
                await eventually(
                    lambda: asyncio.to_thread(getattr, app.bridge, "hub"),
                    until=lambda hub, before=before: hub is not before,
                )
                await say(app, f"and {number}?")
                assert app.bridge.conversation == session
        assert len(server.requests) == 4


NO_WORDS: tuple[dict[str, Any], ...] = (
    {"event": {"v": 2, "type": "AgentModeChanged", "agent": "main", "mode": "yolo"}},
    {"id": 1_000_001, "do": "_hub", "with": {}},
    {"id": 1_000_002, "do": "stop", "with": 3},
    {"id": 1_000_003, "do": "call", "with": {"parameters": {"%": "os:system", "of": {"command": "true"}}}},
    {"id": 1_000_004, "do": "run"},
    {"nothing": True},
)


async def test_what_is_no_word_of_a_window_is_refused_and_the_rest_goes_on(project: Path) -> None:
    async with window(project) as app:
        before = link_of(app)
        for line in NO_WORDS:
            before._send(**line)
            assert await before.split_line("help; agent ls") == ["help", "agent ls"], line
        assert link_of(app) is before, "it did not hang up"


ASKS = """
import os
from pathlib import Path
from gshtui.client.hub_dial import dial, window_opening
from gshtui.client.hub_greeting import HubDeclined
from gshtui.client.window_protocol import OpenRequest
opening = window_opening(OpenRequest(Path.cwd()), os.environ)
try:
    print(dial(opening) is not None)
except HubDeclined:
    print(False)
"""


@pytest.mark.parametrize(
    ("before", "asks"),
    [
        ((), True),
        (("env", "GSH_AGENT=0001"), False),
        (("env", "GSH_CALL=c"), False),
        (("env", "GSH_AGENT=0001", "sh", "-c", 'unset GSH_AGENT; "$@"', "sh"), False),
    ],
)
async def test_a_process_of_an_agent_gets_no_window(before: tuple[str, ...], asks: bool, tmp_path: Path) -> None:
    words = (*before, sys.executable, "-c", ASKS)
    ran = await asyncio.to_thread(
        subprocess.run, words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == (f"{asks}\n", "")


async def test_a_command_of_an_agent_gets_no_window_even_without_its_variables(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_SANDBOX__ENABLED", "false")
    (project / "asks.py").write_text(ASKS)
    ours = [f"{name}={value}" for name, value in environment().items() if name not in ("GSH_AGENT", "GSH_CALL")]
    command = shlex.join(["env", "-i", *ours, sys.executable, "asks.py"])
    call = Call("bash", {"command": command})
    async with loopback("anthropic", [[call], [Say("done")]]) as server:
        keyed(monkeypatch, server)
        async with window(project, mode="yolo") as app:
            ended: list[Any] = []
            link_of(app).bus.subscribe(ended.extend, ToolFinished, name="test")
            await say(app, "go")
            assert [event.content.split() for event in ended] == [["False"]]


async def test_a_message_reaches_an_agent_that_listens_to_a_window(project: Path) -> None:
    """It is linked to the hub of the window alone, in the process whose mail service reaches all other agents."""
    async with window(project) as app:
        await link_of(app).run("spawn name=bud model=offline/offline")
        await eventually(lambda: link_of(app).connected("0001"))
        turn = link_of(app).bus.wait_for(TurnFinished, lambda event: event.agent == "0001", timeout=DEADLINE)
        await link_of(app).run("agent send 0001 'what failed?'")
        assert (await turn).stop == "end"
        await link_of(app).run("agent kill 0001", ask=_yes)


@pytest.mark.parametrize("later", [False, True], ids=["before the question", "after it"])
async def test_each_window_of_a_folder_has_an_agents_question_and_one_answer_settles_it(
    project: Path, later: bool
) -> None:
    """The agent is linked to the hub of the window that started it alone."""
    async with AsyncExitStack() as windows:
        first = await windows.enter_async_context(window(project))
        second = None if later else await windows.enter_async_context(window(project))
        await link_of(first).run("spawn name=bud model=offline/offline prompt='run command echo over-there'")
        asks = "bud wants to run: command echo over-there"
        await eventually(lambda: screen(first), until=lambda text: asks in text)
        if second is None:
            second = await windows.enter_async_context(window(project))
        await eventually(lambda: screen(second), until=lambda text: asks in text)
        (question,) = second.query_one(ApprovalsPane).state.waiting
        second.publish(ApprovalAnswered(approval=question.approval, decision="once"))
        for app in (first, second):
            await eventually(lambda app=app: screen(app), until=lambda text: asks not in text)
        await link_of(first).run("agent kill 0001", ask=_yes)


ANSWERS = """
import json, os, sys
from gshtui.client.hub_greeting import greeted, surroundings

turn = {"text": "run command touch mine", "provider": "offline", "respondent": "person"}
answer = {"v": 2, "type": "ApprovalAnswered", "approval": sys.argv[1], "decision": "once"}
(hub,) = greeted("turn", 60)
lines = hub.makefile("rwb")
said = [{"turn": turn, **surroundings(os.getcwd())}, {"answer": answer}, {"interrupt": True}]
for line in said:
    lines.write(json.dumps(line).encode() + b"\\n")
    lines.flush()
    while line is said[0] and b"ApprovalRequested" not in lines.readline():
        pass
while (line := lines.readline()) and b'"end"' not in line:
    sys.stdout.buffer.write(line)
"""
"""What asks for a turn, answers a question that is not one of that turn, and interrupts its own."""


async def test_a_process_with_a_turn_answers_no_question_of_another_agent(project: Path) -> None:
    (elsewhere := project.parent / "elsewhere").mkdir()
    async with window(project) as app:
        await link_of(app).run("spawn name=bud model=offline/offline prompt='run command touch made'")
        await eventually(lambda: screen(app), until=lambda text: "bud wants to run: command touch made" in text)
        (question,) = app.query_one(ApprovalsPane).state.waiting
        line = [sys.executable, "-c", ANSWERS, question.approval]
        ran = await asyncio.create_subprocess_exec(
            *line, env=environment({"GSH_AGENT": "0001"}), cwd=elsewhere, stdout=asyncio.subprocess.PIPE
        )
        said = (await ran.communicate())[0].decode()
        assert ran.returncode == 0 and "during a turn, a face answers" in said
        settled = link_of(app).bus.wait_for(ApprovalSettled, lambda event: event.agent == "0001", timeout=DEADLINE)
        app.publish(ApprovalAnswered(approval=question.approval, decision="deny"))
        assert (await settled).decision == "deny" and not (project / "made").exists()
        await link_of(app).run("agent kill 0001", ask=_yes)


async def _yes(_: object) -> bool:
    return True


TURN = [
    [Call("bash", {"command": "touch begun; until test -e go; do sleep 0.05; done; echo went on"})],
    [Say("and done")],
]


@pytest.mark.parametrize("way", ["quit", "killed"])
async def test_a_turn_outlives_its_window_and_the_next_window_comes_to_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    async with loopback("anthropic", TURN) as server:
        keyed(monkeypatch, server)
        async with window(project, mode="yolo") as app:
            session = app.bridge.conversation
            app.publish(PromptSubmitted(prompt="p", agent="main", text="the first question"))
            await eventually(lambda: asyncio.to_thread((project / "begun").exists))
            app.publish(PromptSubmitted(prompt="q", agent="main", text="a queued one"))
            await eventually(lambda: screen(app), until=lambda text: "1 queued" in text)
            if way == "killed":
                hang_up(app)
        assert held_in(session) == keeper_pid()
        await eventually(lambda: asyncio.to_thread(place_of, session), until=lambda place: "background" in place)
        async with window(project, mode="plan") as other:
            await other.bridge.running()
            assert other.bridge.conversation != session, "who asks for something else gets that"
        async with window(project, mode="yolo" if way == "killed" else None) as again:
            words = ("the first question", "1 held", "touch begun", "Working")
            await eventually(lambda: screen(again), until=lambda text: all(word in text for word in words))
            assert again.bridge.conversation == session
            await eventually(lambda: asyncio.to_thread(place_of, session), until=lambda place: "window" in place)
            (project / "go").touch()
            text = await eventually(lambda: screen(again), until=lambda text: "and done" in text)
            assert text.count("❯ the first question") == text.count("bash touch begun") == 1
            assert len(server.requests) == 2, "what was queued waits for a person"


async def test_a_turn_that_ends_without_a_window_gives_its_conversation_free(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loopback("anthropic", TURN) as server:
        keyed(monkeypatch, server)
        async with window(project, mode="yolo") as app:
            session = app.bridge.conversation
            app.publish(PromptSubmitted(prompt="p", agent="main", text="the first question"))
            await eventually(lambda: asyncio.to_thread((project / "begun").exists))
            app.publish(PromptSubmitted(prompt="q", agent="main", text="a queued one"))
            await eventually(lambda: screen(app), until=lambda text: "1 queued" in text)
        (project / "go").touch()
        await eventually(lambda: asyncio.to_thread(held_in, session), until=lambda pid: not pid)
        assert len(server.requests) == 2
        async with window(project) as again:
            await eventually(lambda: screen(again), until=lambda text: "Continue" in text or "alt+c" in text)
            assert again.bridge.conversation != session
        assert len(server.requests) == 2


async def test_a_setting_ends_a_turn_with_its_window(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSH_HUB__CLOSING", "stop")
    async with loopback("anthropic", TURN) as server:
        keyed(monkeypatch, server)
        async with window(project, mode="yolo") as app:
            session = app.bridge.conversation
            app.publish(PromptSubmitted(prompt="p", agent="main", text="the first question"))
            await eventually(lambda: asyncio.to_thread((project / "begun").exists))
        assert not held_in(session)
        (project / "go").touch()
        async with window(project) as again:
            assert again.bridge.conversation != session
        assert len(server.requests) == 1


async def test_a_window_whose_connection_breaks_comes_back_to_its_turn(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loopback("anthropic", TURN) as server:
        keyed(monkeypatch, server)
        async with window(project, mode="yolo") as app:
            app.publish(PromptSubmitted(prompt="p", agent="main", text="the first question"))
            await eventually(lambda: asyncio.to_thread((project / "begun").exists))
            link_of(app)._writer.transport.abort()
            (project / "go").touch()
            text = await eventually(lambda: screen(app), until=lambda text: "and done" in text)
            assert text.count("❯ the first question") == text.count("bash touch begun") == 1
        assert len(server.requests) == 2


async def test_a_hub_killed_in_mid_turn_is_followed_by_another_in_the_same_conversation(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [Say("half an answer, and then nothing more"), Fault.hang_after(4)]
    async with loopback("anthropic", [broken, [Say("all of it")]]) as server:
        keyed(monkeypatch, server)
        async with window(project) as app:
            assert link_of(app)
            app.publish(PromptSubmitted(prompt="p", agent="main", text="the first question"))
            await eventually(lambda: screen(app), until=lambda text: "half" in text)
            os.kill(keeper_pid(), signal.SIGKILL)
            await eventually(lambda: screen(app), until=lambda text: "The hub stopped" in text)
            assert isinstance(await app.bridge.running(), WindowHub)
            assert "esc to interrupt" not in await screen(app)
            await say(app, "the second question")
            text = await eventually(lambda: screen(app), until=lambda text: "all of it" in text)
            assert "the first question" in text
        assert len(server.requests) == 2


async def test_why_a_turn_failed_and_what_commands_answered_outlive_their_hub(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = Fault.status(400, message="the model is out of stock")
    async with loopback("anthropic", [[refused]]) as server:
        keyed(monkeypatch, server)
        async with window(project) as app:
            await say(app, "the first question")
            app.show_outcome("/context", "nothing was cut")
            shown = ("nothing was cut", "out of stock")
            await eventually(lambda: screen(app), until=lambda text: all(one in text for one in shown))
            os.kill(keeper_pid(), signal.SIGKILL)
            await eventually(lambda: screen(app), until=lambda text: "The hub stopped" in text)
            words = ["❯ the first question", "out of stock", "nothing was cut"]
            await eventually(lambda: screen(app), until=lambda text: [text.count(one) for one in words] == [1, 1, 1])
            session = app.bridge.conversation
        async with window(project, session=session) as app:
            await eventually(lambda: screen(app), until=lambda text: [text.count(one) for one in words] == [1, 1, 0])


async def test_an_agent_that_another_process_starts_and_that_fails_at_once_is_announced(project: Path) -> None:
    async with window(project) as app:
        failed = link_of(app).bus.wait_for(AgentEnded, timeout=DEADLINE)
        words = ("agent", "spawn", "--cli", "sh -c 'exit 3'", "--name", "short")
        spawned = await asyncio.to_thread(run_gsh, *words, cwd=project)
        assert spawned.code == 0, spawned.err
        await failed
        await eventually(lambda: asyncio.to_thread(lambda: [one.message for one in app._notifications]), until=bool)
        await app.bridge.shown()
        assert [one.message for one in app._notifications] == ["short has failed"]

"""The link to Codex's app-server: status, questions, answers, prompts, a server that goes and comes back."""

import asyncio
import json
import os
import shlex
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from gshtui.bus.agent_data import AgentRow, GuardMode, ProgramMode
from gshtui.fleet.core.agent_programs import Programs
from gshtui.programs.codex import codex_link
from gshtui.programs.codex.app_server_connection import ServerMessage
from gshtui.programs.codex.codex_link import CodexLink
from gshtui.programs.codex.codex_questions import INPUT, request_of
from gshtui.programs.codex.codex_threads import CodexThreads
from gshtui.programs.codex.thread_modes import is_wider, mode_of, permissions_in, permissions_told
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.status.evidence import Rank
from gshtui.settings import paths
from gshtui.tmux.server import TmuxServer
from tests.kit.app_server import IDLE, THREAD, TURN, AppServer, active, command_question, thread
from tests.kit.home import Home
from tests.kit.tmux import short_folder

ROW = AgentRow(id="0001", name="it", kind="cli", profile="codex", pid=7)
CODEX = profiles.load(Path("/nonexistent")).get("codex")
COMMAND, CHANGE = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"


class Watched:
    """A link, and what it tells."""

    def __init__(self, link: CodexLink) -> None:
        self.link = link
        self._stirred = asyncio.Event()

    async def until(self, good: Callable[[CodexLink], object]) -> CodexLink:
        while not good(self.link):
            self._stirred.clear()
            await self._stirred.wait()
        return self.link

    async def status(self, wanted: str) -> CodexLink:
        return await self.until(lambda link: link.evidence is not None and link.evidence.status == wanted)

    def changed(self) -> None:
        self._stirred.set()


@pytest.fixture
async def server() -> AsyncIterator[AppServer]:
    with short_folder() as folder:
        async with AppServer(folder / "s") as made:
            long_ago = time.time() - 100
            os.utime(made.path, (long_ago, long_ago))
            yield made


@pytest.fixture
async def watched(server: AppServer) -> AsyncIterator[Watched]:
    made = Watched(CodexLink(server.path, ROW, CODEX))
    await made.link.start(made.changed)
    yield made
    await made.link.stop()


async def test_status_follows_the_turn(server: AppServer, watched: Watched) -> None:
    link = await watched.status("idle")
    assert (link.conversation, link.version) == (THREAD, "0.171.0")
    evidence = link.evidence
    assert evidence is not None and (evidence.rank, evidence.source) == (Rank.PROTOCOL, "protocol")
    await server.say("thread/status/changed", threadId=THREAD, status=active())
    await watched.status("thinking")
    item: dict[str, Any] = {"type": "commandExecution", "id": "call_1", "command": "/bin/bash -lc 'sleep 4'"}
    await server.say("item/started", threadId=THREAD, turnId=TURN, item=item)
    link = await watched.status("tool")
    assert link.evidence is not None and link.evidence.doing == "sleep 4"
    await server.say("item/completed", threadId=THREAD, turnId=TURN, item=item)
    await watched.status("thinking")
    assert not link.answer_text
    said = {"type": "agentMessage", "id": "msg_0", "text": "All \x1b[31mdone.", "phase": "final_answer"}
    await server.say("item/completed", threadId=THREAD, turnId=TURN, item=said)
    await server.say("thread/status/changed", threadId=THREAD, status=IDLE)
    await watched.status("idle")
    assert link.answer_text == "All done."


async def test_a_question_has_all_of_it_and_is_answered_by_meaning(server: AppServer, watched: Watched) -> None:
    answered: list[tuple[int | str, dict[str, Any]]] = []
    server.on_answer = lambda id, result: answered.append((id, result))
    await watched.status("idle")
    for id, (choice, result) in enumerate(
        {
            "1": {"decision": "accept"},
            "3": {"decision": command_question()["availableDecisions"][1]},
            "4": {"decision": "decline"},
            "5": {"decision": "cancel"},
        }.items()
    ):
        await server.say("thread/status/changed", threadId=THREAD, status=active("waitingOnApproval"))
        await server.ask(id, COMMAND, **command_question(itemId=f"call_{id}"))
        link = await watched.until(lambda link: link.evidence is not None and link.evidence.question)
        evidence = link.evidence
        assert evidence is not None and evidence.status == "waiting"
        question = evidence.question
        assert question is not None and link.asks(question.id)
        assert (
            question.detail.split("\n") == ["touch made.txt", "in /srv/project"]
            and question.beside == "because: May I run it?"
        )
        assert [one.key for one in question.choices] == ["1", "3", "4", "5"]
        assert await link.question() == question
        assert await link.answer(question.id, choice) is None
        assert answered[-1] == (id, result)
        with pytest.raises(SessionError, match="no longer asks that"):
            await link.answer(question.id, choice)
        await server.say("thread/status/changed", threadId=THREAD, status=active())


async def test_a_refusal_is_followed_by_its_reason(server: AppServer, watched: Watched) -> None:
    await watched.status("idle")
    await server.say("thread/status/changed", threadId=THREAD, status=active("waitingOnApproval"))
    await server.ask(0, COMMAND, **command_question())
    link = await watched.until(lambda link: link.evidence is not None and link.evidence.question)
    question = await link.question()
    assert question is not None
    with pytest.raises(SessionError, match="takes no reason with that answer"):
        await link.answer(question.id, "1", "since I say so")
    await link.answer(question.id, "4", "use git mv")
    assert (await server.until("turn/start"))["params"]["input"] == [{"type": "text", "text": "use git mv"}]


async def test_what_its_person_answers_closes_the_question(server: AppServer, watched: Watched) -> None:
    await watched.status("idle")
    await server.say("thread/status/changed", threadId=THREAD, status=active("waitingOnApproval"))
    await server.ask(7, COMMAND, **command_question())
    await server.ask(8, COMMAND, **command_question("touch other.txt", itemId="call_2"))
    link = await watched.until(lambda link: link.evidence is not None and link.evidence.question)
    first = await link.question()
    await server.resolve(7)
    await watched.until(lambda link: link.evidence is not None and link.evidence.question != first)
    second = await link.question()
    assert second is not None and "other.txt" in second.detail, "the next one of the two is open"
    await server.resolve(8)
    await server.say("thread/status/changed", threadId=THREAD, status=active())
    await watched.status("thinking")
    assert first is not None
    with pytest.raises(SessionError, match="no longer asks that"):
        await link.answer(first.id, "1")
    assert not [one for one in server.asked if "method" not in one], "nothing was answered"


async def test_a_change_of_files_is_shown_whole(server: AppServer, watched: Watched) -> None:
    await watched.status("idle")
    await server.say("thread/status/changed", threadId=THREAD, status=active("waitingOnApproval"))
    changes = [
        {"path": "/srv/new.txt", "kind": {"type": "add"}, "diff": "hello\nthe\u202ere\n"},
        {"path": "/srv/a.txt", "kind": {"type": "update", "move_path": None}, "diff": "@@ -1 +1 @@\n-one\n+two\n"},
        {"path": "/srv/old.txt", "kind": {"type": "delete"}, "diff": "gone\n"},
    ]
    about: dict[str, Any] = {"threadId": THREAD, "turnId": TURN, "itemId": "call_1", "startedAtMs": 1}
    await server.ask(0, CHANGE, **about, reason=None, grantRoot=None)
    link = await watched.until(lambda link: link.evidence is not None and link.evidence.question)
    before = await link.question()
    assert before is not None and "its terminal shows which" in before.subject and not before.choices
    item = {"type": "fileChange", "id": "call_1", "changes": changes, "status": "inProgress"}
    await server.say("item/started", threadId=THREAD, turnId=TURN, item=item)
    await watched.until(
        lambda link: link.evidence is not None and link.evidence.question is not None and link.evidence.question.diff
    )
    question = await link.question()
    assert question is not None and question.id != before.id, "an answer to the one without its change counts no more"
    assert question.detail.split("\n") == ["file: /srv/new.txt", "file: /srv/a.txt", "file: /srv/old.txt"]
    assert question.diff.split("\n") == [
        "--- /dev/null",
        "+++ b/srv/new.txt",
        "@@ -0,0 +1,2 @@",
        "+hello",
        "+the⟨U+202E⟩re",
        "--- a/srv/a.txt",
        "+++ b/srv/a.txt",
        "@@ -1 +1 @@",
        "-one",
        "+two",
        "--- a/srv/old.txt",
        "+++ /dev/null",
        "@@ -1,1 +0,0 @@",
        "-gone",
    ]
    assert [one.key for one in question.choices] == ["1", "2", "4", "5"]


async def test_a_prompt_is_given_once(server: AppServer, watched: Watched) -> None:
    link = await watched.status("idle")
    assert await link.connected()
    assert await link.prompt("first\nsecond")
    assert link.evidence is not None and link.evidence.status == "thinking", "at once, before the server says so"
    asked = await server.until("turn/start")
    assert asked["params"]["input"] == [{"type": "text", "text": "first\nsecond"}]
    server.refuses.add("turn/start")
    assert not await link.prompt("refused: it may be typed")
    server.refuses.clear()
    server.silent.add("turn/start")
    prompting = asyncio.ensure_future(link.prompt("nobody knows"))
    await server.until("turn/start", 3)
    await server.drop()
    with pytest.raises(SessionError) as told:
        await prompting
    assert told.value.kind == "unsure"
    assert len([one for one in server.asked if one.get("method") == "turn/start"]) == 3


async def test_it_interrupts_the_turn_under_way(server: AppServer, watched: Watched) -> None:
    link = await watched.status("idle")
    assert not await link.interrupt()
    server.turns[THREAD] = {"id": TURN, "status": "inProgress", "items": []}
    await server.say("thread/status/changed", threadId=THREAD, status=active())
    await watched.status("thinking")
    assert await link.interrupt()
    assert (await server.until("turn/interrupt"))["params"] == {"threadId": THREAD, "turnId": TURN}


async def test_a_thread_is_joined_once_it_is_written_down(server: AppServer, watched: Watched) -> None:
    server.written.clear()
    await watched.status("idle")
    await server.say("thread/status/changed", threadId=THREAD, status=active())
    await server.until("thread/resume", 3)
    await server.ask(0, COMMAND, **command_question())
    server.written.add(THREAD)
    await watched.until(lambda link: link.evidence is not None and link.evidence.question)


async def test_while_the_server_is_away_it_says_nothing_and_comes_back(server: AppServer, watched: Watched) -> None:
    link = await watched.status("idle")
    await server.say("thread/status/changed", threadId=THREAD, status=active("waitingOnApproval"))
    await server.ask(0, COMMAND, **command_question())
    await watched.until(lambda link: link.evidence is not None and link.evidence.question)
    server.threads[THREAD] = thread(status=active("waitingOnApproval"))
    await server.drop()
    await watched.until(lambda link: link.evidence is None)
    assert await link.connected()
    question = await link.question()
    assert question is not None and "made.txt" in question.detail, "it is asked again"


async def test_what_a_server_was_at_work_on_is_over_when_another_one_comes_back(
    server: AppServer, watched: Watched
) -> None:
    await watched.status("idle")
    await server.say("thread/status/changed", threadId=THREAD, status=active())
    await watched.status("thinking")
    begun = time.time() - 10
    server.threads[THREAD] = thread(updatedAt=int(begun) - 50)
    os.utime(server.path, (begun, begun))
    await server.drop()
    link = await watched.status("idle")
    assert link.evidence is not None and abs(link.evidence.at - begun) < 0.1


async def test_the_screen_decides_which_conversation_counts(server: AppServer, watched: Watched) -> None:
    await watched.status("idle")
    title = thread("title", active(), ephemeral=True, threadSource="thread_title")
    await server.say("thread/started", thread=title)
    await server.say("thread/started", thread=thread("new"))
    await watched.until(lambda link: link.conversation == "new")
    await server.say("thread/started", thread=thread("helper", active(), parentThreadId="new"))
    await watched.status("thinking")
    await server.say("thread/status/changed", threadId="helper", status=IDLE)
    await watched.status("idle")
    server.threads["older"] = thread("older")
    await server.say("thread/status/changed", threadId="older", status=IDLE)
    await watched.until(lambda link: link.conversation == "older")
    await server.say("thread/closed", threadId="older")
    await watched.until(lambda link: link.conversation == "new")


@pytest.mark.parametrize("described", [{}, thread("another"), {"id": 3}])
async def test_a_thread_that_its_server_does_not_describe_is_not_asked_about_for_ever(
    described: dict[str, Any], server: AppServer, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codex_link, "_JOIN_AGAIN", 0.0)
    await watched.status("idle")
    server.threads["odd"] = described
    await server.say("thread/status/changed", threadId="odd", status=IDLE)
    await server.until("thread/read", 1 + codex_link._MOST_JOINS)
    server.threads["next"] = thread("next")
    await server.say("thread/status/changed", threadId="next", status=IDLE)
    await watched.until(lambda link: link.conversation == "next")
    read = [one["params"]["threadId"] for one in server.asked if one.get("method") == "thread/read"]
    assert read == [THREAD, *["odd"] * codex_link._MOST_JOINS, "next"]


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        "1",
        '"method"',
        "{}",
        '{"method": 1}',
        '{"method": "turn/started"}',
        b"\xff\xfe",
        '{"method": "serverRequest/resolved", "params": {"requestId": [1]}}',
        '{"method": "thread/status/changed", "params": {"threadId": ["x"], "status": 3}}',
        '{"method": "thread/started", "params": {"thread": {"id": 3}}}',
        '{"method": "thread/status/changed", "params": []}',
        "[" * 20000,
        '{"id": 99, "result": {}}',
        '{"id": true, "error": 5}',
        '{"id": {}, "method": "x"}',
        json.dumps({"id": 5, "method": COMMAND, "params": {"threadId": THREAD, "command": 7, "cwd": []}}),
        json.dumps({"method": "item/started", "params": {"threadId": THREAD, "item": {"type": "fileChange"}}}),
        json.dumps({"method": "turn/completed", "params": {"threadId": THREAD, "turn": {"items": [None, 3, {}]}}}),
        json.dumps({"method": "error", "params": {"threadId": THREAD, "error": "x", "willRetry": "no"}}),
    ],
)
async def test_a_message_that_is_none_costs_that_message(
    text: str | bytes, server: AppServer, watched: Watched
) -> None:
    await watched.status("idle")
    await server.raw(text)
    await server.say("thread/started", thread=thread("after"))
    await watched.until(lambda link: link.conversation == "after")


@pytest.mark.parametrize(
    ("arguments", "told", "shown", "like"),
    [
        ("-s read-only -a never", ("never", "readOnly", "user"), "read only, never asks", "plan"),
        ("-s read-only -a on-request", ("on-request", "readOnly", "user"), "read only", "ask"),
        ("-s workspace-write -a on-request", ("on-request", "workspaceWrite", "user"), "ask for approval", "auto"),
        ("--dangerously-bypass-approvals-and-sandbox", ("never", "dangerFullAccess", "user"), "full access", "yolo"),
        ("", ("untrusted", "workspaceWrite", "user"), "workspace-write, asks untrusted", "ask"),
        ("", ("on-request", "readOnly", "auto_review"), "read-only, reviews itself", "auto"),
        (
            "",
            ({"granular": {"rules": True}}, "dangerFullAccess", "user"),
            "danger-full-access, asks on-request",
            "yolo",
        ),
        ("", ("on-request", "externalSandbox", "user"), "externalSandbox, asks on-request", "yolo"),
    ],
)
def test_permissions_are_a_mode(arguments: str, told: tuple[Any, str, str], shown: str, like: str) -> None:
    approval, sandbox, reviewer = told
    found = permissions_told(
        {"approvalPolicy": approval, "sandboxPolicy": {"type": sandbox}, "approvalsReviewer": reviewer}
    )
    assert found is not None and mode_of(CODEX, found) == ProgramMode(shown, cast("GuardMode", like))
    assert permissions_in(shlex.split(arguments)) == (found if arguments else None)
    assert not is_wider(found, found)


@pytest.mark.parametrize("told", [{}, {"approvalPolicy": 3}, {"sandboxPolicy": []}, {"approvalPolicy": "never"}])
def test_permissions_that_are_not_told_are_unknown(told: dict[str, Any]) -> None:
    assert permissions_told(told) is None


async def test_a_mode_is_read_and_changed(server: AppServer, watched: Watched) -> None:
    server.joined |= {"approvalPolicy": "on-request", "sandbox": {"type": "readOnly"}, "approvalsReviewer": "user"}
    link = await watched.status("idle")
    await watched.until(lambda link: link.mode == ProgramMode("read only", "ask"))
    assert await link.change_mode("yolo")
    asked = (await server.until("thread/settings/update"))["params"]
    assert (asked["approvalPolicy"], asked["sandboxPolicy"]) == ("never", {"type": "dangerFullAccess"})
    assert link.mode == ProgramMode("full access", "yolo")
    assert not await link.change_mode("edit"), "none is like that one"
    settings = {"approvalPolicy": "never", "sandboxPolicy": {"type": "readOnly"}, "approvalsReviewer": "user"}
    await server.say("thread/settings/updated", threadId=THREAD, threadSettings=settings)
    await watched.until(lambda link: link.mode == ProgramMode("read only, never asks", "plan"))
    server.refuses.add("thread/settings/update")
    assert not await link.change_mode("yolo")


@pytest.mark.parametrize("held", ["plan", "ask", "auto", "yolo", ""])
@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_conversation_that_goes_on_is_held_to_its_mode(server: AppServer, held: Any, goes_on: bool) -> None:
    server.joined |= {"approvalPolicy": "on-request", "sandbox": {"type": "workspaceWrite"}}
    argv = ("codex", "resume", THREAD) if goes_on else ("codex",)
    row = msgspec.structs.replace(ROW, argv=argv, held_to=held, status="starting", status_source="spawn")
    link = CodexLink(server.path, row, CODEX)
    await link.start(lambda: None)
    assert await link.connected()
    asked = [one["params"]["approvalPolicy"] for one in server.asked if one["method"] == "thread/settings/update"]
    wanted = {"plan": ["never"], "ask": ["on-request"]}.get(held, []) if goes_on else []
    assert asked == wanted
    await link.stop()


async def test_one_look_leaves_the_connection_of_others_alone(home: Home) -> None:
    folder = paths.runtime_dir() / "codex"
    folder.mkdir()
    async with AppServer(folder / "s") as server:
        os.utime(server.path, (1, 1))
        row = msgspec.structs.replace(ROW, argv=("codex", "--remote", f"unix://{server.path}"))
        programs, tmux = Programs(), TmuxServer("gsh")
        link = await programs.link(tmux, row)
        assert link is not None and await link.connected()
        looking = await programs.live_sources(tmux, row, lambda: row, glance=True)
        for source in looking:
            await source.start(lambda: None)
        for source in looking:
            await source.stop()
        assert link.is_connected
        followed = await programs.live_sources(tmux, row, lambda: row)
        assert link in followed and link not in looking
        await programs.stop()


@pytest.mark.parametrize("screen_asks", [False, True])
async def test_one_look_keeps_what_the_screen_asks_but_no_question_that_is_answered(
    screen_asks: bool, home: Home
) -> None:
    """While a helper waits, whose question the link does not tell."""
    folder = paths.runtime_dir() / "codex"
    folder.mkdir()
    async with AppServer(folder / "s") as server:
        os.utime(server.path, (1, 1))
        waits = active("waitingOnApproval")
        server.threads = {THREAD: thread(status=active()), "h": thread("h", waits, parentThreadId=THREAD)}
        request = request_of(ServerMessage(COMMAND, command_question(), 7))
        assert request is not None
        asked = request.question
        if screen_asks:
            asked = msgspec.structs.replace(asked, id="screen-1")
        argv = ("codex", "--remote", f"unix://{server.path}")
        row = msgspec.structs.replace(ROW, argv=argv, status="waiting", needs_you=True, question=asked)
        programs = Programs()
        found = await programs.glance(TmuxServer("gsh"), row)
        assert ("question" in found, found.get("needs_you", True)) == (not screen_asks, True)
        assert found.get("question") is None
        await programs.stop()


async def test_a_socket_of_nobody_is_no_link(tmp_path: Path) -> None:
    link = CodexLink(tmp_path / "none", ROW, CODEX)
    await link.start(lambda: None)
    assert link.evidence is None
    assert not await link.prompt("words")
    assert not await link.interrupt()
    assert await link.question() is None
    await link.stop()


@pytest.mark.parametrize("told", [["active"], ["idle", "active"], ["active", "idle"], []])
def test_what_is_told_of_a_helper_while_it_is_being_described_counts(told: list[str]) -> None:
    threads = CodexThreads()
    threads.open({"id": "main", "status": {"type": "idle"}}, 1.0)
    for kind in told:
        threads.add_message(ServerMessage("thread/status/changed", {"threadId": "h", "status": {"type": kind}}), 2.0)
    threads.open({"id": "h", "parentThreadId": "main", "status": {"type": "idle"}}, 3.0)
    assert threads.activity == ("thinking" if told[-1:] == ["active"] else "idle")
    threads.add_message(ServerMessage("thread/status/changed", {"threadId": "h", "status": {"type": "idle"}}), 4.0)
    threads.open({"id": "h", "parentThreadId": "main", "status": {"type": "idle"}}, 5.0)
    assert threads.activity == "idle"


@pytest.mark.parametrize("before", ["", "idle", "active"])
def test_a_helper_is_at_work_from_its_start_on_and_not_once_it_is_described(before: str) -> None:
    """The turn that has started it may be over by then."""
    threads = CodexThreads()
    threads.open({"id": "main", "status": {"type": "active"}}, 1.0)

    def told(method: str, thread: str, **more: object) -> None:
        threads.add_message(ServerMessage(method, {"threadId": thread, **more}), 2.0)

    if before:
        told("thread/status/changed", "h", status={"type": before})
    made = {"type": "collabAgentToolCall", "id": "c", "tool": "spawnAgent", "receiverThreadIds": ["h"]}
    told("item/completed", "main", item=made)
    if before != "active":
        told("thread/status/changed", "h", status={"type": "active"})
    told("thread/status/changed", "main", status={"type": "idle"})
    assert (threads.activity, threads.unknown, threads.main) == ("thinking", {}, "main")
    told("thread/status/changed", "h", status={"type": "idle"})
    assert threads.activity == "idle"


@pytest.mark.parametrize("describes", ["before", "later", "late", "refuses"])
def test_a_helper_works_until_it_is_told_to_rest_however_late_it_is_described(describes: str) -> None:
    """A description has the status of the moment at which it was asked for, and some are refused."""
    threads = CodexThreads()
    threads.open({"id": "main", "status": {"type": "active"}}, 1.0)

    def told(method: str, thread: str, **more: object) -> None:
        threads.add_message(ServerMessage(method, {"threadId": thread, **more}), 2.0)

    made = {"type": "collabAgentToolCall", "id": "c", "tool": "spawnAgent", "receiverThreadIds": ["h"]}
    described = {"id": "h", "parentThreadId": "main", "status": {"type": "idle"}}
    if describes == "before":
        threads.add(described, 1.5)
    elif describes != "later":
        told("thread/status/changed", "h", status={"type": "active"})
        threads.strangers |= {"h"} if describes == "refuses" else set()
    told("item/completed", "main", item=made)
    told("thread/status/changed", "main", status={"type": "idle"})
    if describes != "refuses":
        threads.add(described, 3.0)
    assert (threads.activity, threads.unknown, threads.strangers) == ("thinking", {}, set())
    told("thread/status/changed", "h", status={"type": "idle"})
    assert threads.activity == "idle"


@pytest.mark.parametrize(("about", "partial"), [("x" * 250 + " and deletes all backups", False), ("x" * 400, True)])
def test_what_is_said_of_a_choice_is_whole_or_the_question_is_not(about: str, partial: bool) -> None:
    options = [{"label": "Yes", "description": said} for said in (about, "only looks")]
    told = {"id": "q", "question": "Clean up?", "options": options}
    request = request_of(ServerMessage("item/tool/requestUserInput", {"questions": [told]}, 7))
    assert request is not None and request.question.partial == partial
    first, second = request.question.choices
    assert second.about == "only looks", "they have one label"
    assert (first.about == about) != partial


@pytest.mark.parametrize(("words", "keys"), [("make", "1345"), ("make " * 100, "145")])
def test_a_rule_that_has_no_room_is_not_offered(words: str, keys: str) -> None:
    rule = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": words.split()}}
    asked = {"command": "make", "availableDecisions": ["accept", rule]}
    request = request_of(ServerMessage(COMMAND, asked, 7))
    assert request is not None and not request.question.partial
    assert "".join(one.key for one in request.question.choices) == "".join(request.answers) == keys


@pytest.mark.parametrize("count", [9, 10])
def test_a_question_with_more_choices_than_digits_says_so(count: int) -> None:
    options = [{"label": f"Colour {n}", "description": "b"} for n in range(count)]
    asked = request_of(ServerMessage(INPUT, {"questions": [{"id": "c", "question": "Which?", "options": options}]}, 1))
    assert asked is not None and len(asked.question.choices) == 9 and asked.question.overflows == (count > 9)

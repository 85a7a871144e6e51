"""OpenCode by its server: how it is started, what is read of it, and what it is told."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.agent_data import OpenQuestion
from gshtui.fleet.core.agent_programs import Programs
from gshtui.programs.opencode import opencode_link, server_client
from gshtui.programs.opencode.opencode_link import OpenCodeLink, chosen_on_screen, new_message_id
from gshtui.programs.opencode.server_client import ServerEventReader, ServerState
from gshtui.programs.opencode.server_launch import (
    CONFIGURATION,
    PASSWORD,
    ServerAddress,
    find_server,
    has_safe_server,
    port_of,
    with_server,
)
from gshtui.programs.opencode.server_questions import permission_request, question_request
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.profiles.profile_files import load
from gshtui.programs.screen.same_question import is_ticked_elsewhere
from gshtui.programs.session.live_sources import link_to
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from tests.kit.fake_terminal import agent_row, info
from tests.kit.opencode_server import PASSWORD as SECRET
from tests.kit.opencode_server import SESSION, USER, OpenCodeServer

SCREEN = ["  ┃  ", "  ┃  Build · fake Loop", "  ╹▀▀▀▀▀▀▀▀▀▀▀", "   ~/project   ctrl+p commands"]
WITHIN = 20.0


# -- how it is started ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "served"),
    [
        ((), True),
        (("--model", "x/y"), True),
        (("--session", "run"), True),
        (("--session=ses_1", "--fork"), True),
        (("./elsewhere",), True),
        (("--agent", "plan", "--auto"), True),
        (("run", "hello"), False),
        (("serve",), False),
        (("attach", "http://localhost:4096"), False),
        (("acp",), False),
        (("whatever-comes",), False),
        (("--port", "4096"), False),
        (("--port=4096",), False),
        (("--hostname", "0.0.0.0"), False),
        (("--mdns",), False),
        (("--mini",), False),
        (("--pure",), False),
        (("--help",), False),
        (("-v",), False),
    ],
)
def test_only_a_screen_is_started_with_a_server(arguments: tuple[str, ...], served: bool) -> None:
    argv = ("opencode", *arguments)
    made = with_server(argv, 0, {}, "1.18.33")
    assert (made is not None) is served
    if made is not None:
        line, env = made
        assert line[: len(argv)] == argv
        assert 20_000 <= port_of(line) < 32_000
        assert "127.0.0.1" in line and "--no-mdns" in line
        assert len(env[PASSWORD]) >= 32
        assert env[PASSWORD] not in " ".join(line)


@pytest.mark.parametrize(
    ("version", "safe"),
    [("1.18.33", True), ("1.2.0", True), ("1.1.9", False), ("0.15.8", False), ("2.0.5", False), ("", False)],
)
def test_a_version_whose_server_lets_everybody_in_has_none(version: str, safe: bool) -> None:
    assert has_safe_server(version) is safe
    assert (with_server(("opencode",), 0, {}, version) is not None) is safe


@pytest.mark.parametrize(
    ("given_configuration", "plugins"),
    [("", []), ('{"plugin": ["mine"], "share": "auto"}', ["mine"]), ("{", None), ("[]", None), ('{"plugin": 1}', None)],
)
def test_what_it_runs_does_not_inherit_the_secret(given_configuration: str, plugins: list[str] | None) -> None:
    """By a plugin of ours beside those of the person; where there is no way to add it, there is no server."""
    made = with_server(("opencode",), 0, {CONFIGURATION: given_configuration}, "1.18.33")
    assert (made is None) is (plugins is None)
    if made is not None and plugins is not None:
        configuration = json.loads(made[1][CONFIGURATION])
        ours, *others = configuration["plugin"]
        assert others == plugins
        assert f"delete process.env.{PASSWORD}" in Path(ours.removeprefix("file://")).read_text("utf-8")
        assert configuration.get("share") == json.loads(given_configuration or "{}").get("share")
    assert with_server(("opencode",), 0, {"OPENCODE_PURE": "1"}, "1.18.33") is None


LISTENS = (
    "import socket, sys, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen();"
    "print(s.getsockname()[1], flush=True); sys.stdin.read()"
)


def test_the_secret_is_told_to_the_program_itself_alone() -> None:
    """The port of another process, or of another program, is not its server, whatever the command line says."""
    with subprocess.Popen(
        [sys.executable, "-c", LISTENS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={PASSWORD: "s", "A": "1"}
    ) as mine:
        assert mine.stdout is not None and mine.stdin is not None
        port = int(mine.stdout.readline())
        found = find_server(mine.pid, port)
        assert found == ServerAddress("127.0.0.1", port, "opencode", "s")
        assert "'s'" not in repr(found)
        with subprocess.Popen(
            [sys.executable, "-c", LISTENS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"A": "1"}
        ) as other:
            assert other.stdout is not None and other.stdin is not None
            others = int(other.stdout.readline())
            assert find_server(mine.pid, others) is None
            assert find_server(other.pid, others) is None, "it has no secret"
            other.stdin.close()
        mine.stdin.close()
    assert find_server(mine.pid, port) is None


async def test_its_screen_alone_where_the_settings_say_so() -> None:
    """By the command line of a running agent; one that was started without a server has no link either."""
    served = agent_row(profile="opencode", pid=1, argv=["opencode", "--port", "21000"])
    for screen_only, linked in ((), True), (("opencode",), False), (("*",), False), (("codex",), True):
        programs = Programs(screen_only)
        server = TmuxServer("gsh")
        assert (await programs.link(server, served) is not None) is linked
        assert await programs.link(server, msgspec.structs.replace(served, id="0002", argv=["opencode"])) is None
        assert await programs.link(server, msgspec.structs.replace(served, id="0003", profile="aider")) is None
    assert link_to(load().get("opencode"), TmuxServer("gsh"), served) is not None


# -- what is read -----------------------------------------------------------------------------------------------------

EVENTS = [
    b'data: {"type":"session.status","properties":{"sessionID":"ses_one"}}\n\n',
    b"data: {broken\n\n",
    b': a comment\ndata: {"type":"a",\ndata: "b":1}\n\n',
    b'data: {"id":"evt_1","type":"message.part.delta","properties":{}}\n\n',
    b"data: [1]\n\nevent: x\n\n",
    b'data: {"type":"session.idle"}\r\n\r\n',
]


@given(st.lists(st.integers(1, 40), max_size=40))
def test_events_are_the_same_however_they_come(cuts: list[int]) -> None:
    data, reader, found = b"".join(EVENTS), ServerEventReader(), list[dict[str, Any]]()
    for cut in cuts:
        piece, data = data[:cut], data[cut:]
        found += reader.feed(piece)
    found += reader.feed(data)
    assert [event["type"] for event in found] == ["session.status", "a", "session.idle"]


def test_an_event_that_is_too_large_costs_that_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_client, "LARGEST", 1000)
    reader, found = ServerEventReader(), list[dict[str, Any]]()
    for piece in (b'data: {"type":"big","x":"', *[b"y" * 600] * 5, b'"}\n\n', b'data: {"type":"next"}\n\n'):
        found += reader.feed(piece)
    assert [event["type"] for event in found] == ["next"]


def status(kind: str, session: str = SESSION, **more: Any) -> dict[str, Any]:
    return {"type": "session.status", "properties": {"sessionID": session, "status": {"type": kind, **more}}}


def tool(state: str, id: str = "prt_1") -> dict[str, Any]:
    part = {
        "id": id,
        "sessionID": SESSION,
        "type": "tool",
        "tool": "bash",
        "state": {"status": state, "input": {"command": "make test"}},
    }
    return {"type": "message.part.updated", "properties": {"part": part}}


CREATED = {"type": "session.created", "properties": {"info": {"id": "ses_child", "parentID": SESSION}}}
DIFF = "Index: /p/a.txt\n=====\n--- /p/a.txt\n+++ /p/a.txt\n@@ -1 +1 @@\n-a\n+b\n"
ASKED = {
    "id": "per_1",
    "sessionID": "ses_child",
    "permission": "edit",
    "patterns": ["a.txt"],
    "always": ["*"],
    "metadata": {"filepath": "/p/a.txt", "diff": DIFF},
}
NOW = 1_795_858_000.0
PROMPT = {
    "type": "message.updated",
    "properties": {"sessionID": SESSION, "info": {"role": "user", "id": "msg_1", "time": {"created": NOW * 1000}}},
}
SUMMARY = {
    "type": "message.updated",
    "properties": {
        "sessionID": SESSION,
        "info": {"role": "user", "id": "msg_1", "time": {"created": NOW * 1000}, "summary": {"diffs": []}},
    },
}


@pytest.mark.parametrize(
    ("events", "activity", "doing"),
    [
        ([], "idle", ""),
        ([PROMPT], "thinking", ""),
        ([status("busy")], "thinking", ""),
        ([status("busy"), tool("running")], "tool", "bash make test"),
        ([status("busy"), tool("running"), tool("completed")], "thinking", ""),
        ([status("retry", message="rate limit")], "thinking", "tries again: rate limit"),
        ([PROMPT, status("busy"), status("idle"), SUMMARY], "idle", ""),
        ([status("busy"), tool("running"), {"type": "session.idle", "properties": {"sessionID": SESSION}}], "idle", ""),
        ([CREATED, status("busy", "ses_child")], "thinking", ""),
        ([CREATED, status("busy"), {"type": "permission.asked", "properties": ASKED}], "waiting", "Change: a.txt"),
        ([{"type": "what.ever"}, {"type": 5}, {"type": "session.status", "properties": None}], "idle", ""),
        ([{"type": "permission.asked", "properties": {"id": 7}}, {"type": "question.asked"}], "idle", ""),
    ],
)
def test_what_it_does(events: list[dict[str, Any]], activity: str, doing: str) -> None:
    state = ServerState()
    state.begin({}, [], [], NOW)
    for event in events:
        state.handle_event(event, NOW)
    assert (state.activity(NOW), state.doing) == (activity, doing)
    assert state.activity(NOW + 60) == ("idle" if events == [PROMPT] else activity), "a prompt that leads to nothing"


def test_a_helper_is_no_conversation_of_its_own() -> None:
    state = ServerState()
    for event in (CREATED, status("busy"), status("busy", "ses_child")):
        state.handle_event(event, 1.0)
    assert state.conversation == SESSION
    assert list(state.working()) == [SESSION, "ses_child"]


def test_a_permission_is_asked_with_everything_that_decides() -> None:
    asked = permission_request(ASKED, "one of its helpers", 1.0)
    assert asked is not None
    assert [(one.key, one.means) for one in asked.question.choices] == [("1", "once"), ("2", "more"), ("4", "deny")]
    assert asked.question.diff.split("\n")[-3:] == ["-a", "+b", ""]
    assert asked.question.diff.startswith("--- ")
    assert "one of its helpers" in asked.question.detail
    assert asked.answers["4"] == ("/permission/per_1/reply", {"reply": "reject"})
    command = {"permission": "bash", "id": "per_2", "metadata": {"command": "a\x1b[2J; b"}, "patterns": ["a", "b"]}
    other = permission_request(command, "", 1.0)
    assert other is not None and [one.key for one in other.question.choices] == ["1", "4"]
    assert "\x1b" not in other.question.detail and "part: b" in other.question.detail


def question(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"id": "que_1", "sessionID": SESSION, "questions": list(questions)}


COLOUR = {
    "question": "Which colour?",
    "header": "C",
    "options": [{"label": "Red"}, {"label": "Blue", "description": "b"}],
}


def test_a_question_of_the_models_keeps_its_order() -> None:
    one = question_request(question(COLOUR), 1.0)
    assert one is not None
    assert [(each.key, each.label) for each in one.question.choices] == [
        ("1", "Red"),
        ("2", "Blue"),
        ("3", "Dismiss the question"),
    ]
    assert [each.about for each in one.question.choices] == ["", "b", ""] and not one.question.detail
    assert one.answers["2"] == ("/question/que_1/reply", {"answers": [["Blue"]]})
    shown = question_request(question(COLOUR, {**COLOUR, "options": []}), 1.0)
    assert shown is not None and shown.question.choices == () and "Blue: b" in shown.question.detail


@pytest.mark.parametrize(("about", "partial"), [("x" * 250 + " and deletes all backups", False), ("x" * 400, True)])
def test_what_is_said_of_a_choice_is_whole_or_the_question_is_not(about: str, partial: bool) -> None:
    asked = question_request(question({**COLOUR, "options": [{"label": "Red", "description": about}]}), 1.0)
    assert asked is not None and asked.question.partial == partial
    assert (asked.question.choices[0].about == about) != partial


@pytest.mark.parametrize("count", [8, 9, 12])
def test_a_question_with_more_choices_than_digits_says_so(count: int) -> None:
    options = [{"label": f"Colour {n}", "description": "b"} for n in range(count)]
    asked = question_request(question({**COLOUR, "options": options}), 1.0)
    assert asked is not None and asked.question.overflows == (count > 8) != bool(asked.question.choices)


@pytest.mark.parametrize(("rules", "keys"), [(["make *"], "124"), (["make " * 100], "14")])
def test_a_rule_that_has_no_room_is_not_offered(rules: list[str], keys: str) -> None:
    told = {"id": "per_1", "permission": "bash", "metadata": {"command": "make"}, "always": rules}
    asked = permission_request(told, "", 1.0)
    assert asked is not None and not asked.question.partial
    assert "".join(one.key for one in asked.question.choices) == "".join(sorted(asked.answers)) == keys


def test_a_command_that_has_no_room_is_not_shown_whole() -> None:
    told = {"id": "per_1", "permission": "bash", "metadata": {"command": "echo; " * 2_000 + "rm -rf ~/work"}}
    asked = permission_request(told, "", 1.0)
    assert asked is not None and asked.question.partial


def test_several_answers_to_one_question_are_chosen_one_by_one() -> None:
    """Each choice gives it another id, so that no digit counts for what was not seen, and changes nothing but a box."""
    state = ServerState()
    told = question({**COLOUR, "multiple": True}, COLOUR)
    state.handle_event({"type": "question.asked", "properties": told}, NOW)
    seen: list[OpenQuestion] = []

    def press(digit: str) -> tuple[str, Any]:
        (request,) = state.requests.values()
        assert all(one.id != request.question.id and is_ticked_elsewhere(one, request.question) for one in seen[-1:])
        seen.append(request.question)
        path, body = request.answers[digit]
        if not path:
            state.answered_in_part(request, body["answers"], body.get("chosen", ()))
        return path, body

    def labels() -> list[str]:
        (request,) = state.requests.values()
        return [one.label for one in request.question.choices]

    assert labels() == ["[ ] Red", "[ ] Blue", "These", "Dismiss all of them"], "nothing is chosen yet"
    for digit in "2112":  # Blue, Red, not Red, not Blue
        assert press(digit)[0] == ""
    assert labels() == ["[ ] Red", "[ ] Blue", "These", "Dismiss all of them"]
    for digit in "21":
        press(digit)
    assert labels() == ["[x] Red", "[x] Blue", "These", "Dismiss all of them"]
    assert press("3")[0] == "", "the next question has no answer yet"
    seen.clear()
    assert press("1") == ("/question/que_1/reply", {"answers": [["Red", "Blue"], ["Red"]]})


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        (SCREEN, ("Build", "fake Loop", "")),
        (
            ["  ┃  Plan · Ling 3.0 Free OpenCode Zen · high          column", "  ╹▀▀▀"],
            ("Plan", "Ling 3.0 Free OpenCode Zen", "high"),
        ),
        (["  ┃  Build · fake Loop", "  ┃", "  ╹▀▀▀"], ("", "", "")),
        (["  ┃   Allow once   Allow always   Reject", ""], ("", "", "")),
    ],
)
def test_what_is_chosen_on_its_screen(rows: list[str], chosen: tuple[str, str, str]) -> None:
    assert chosen_on_screen(rows) == chosen


def test_ids_of_messages_sort_by_time() -> None:
    ids = [new_message_id(now) for now in (1_795_858_000.0, 1_795_858_000.002, 1_795_958_000.0)]
    assert ids == sorted(ids)
    assert all(id.startswith("msg_") and len(id) == 30 for id in ids)


# -- the link ---------------------------------------------------------------------------------------------------------


@pytest.fixture
async def server() -> AsyncIterator[OpenCodeServer]:
    async with OpenCodeServer() as made:
        yield made


class Linked:
    """A link to it, and what its screen shows."""

    def __init__(self, server: OpenCodeServer) -> None:
        self.rows, self.title = SCREEN, "OC | Small talk"
        row = agent_row(pane="%1", pid=1, external_id=SESSION)
        self.link = OpenCodeLink(self, row, server.port)
        self._stirred = asyncio.Event()

    async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]:
        assert pane == "%1"
        return info(title=self.title), tuple(self.rows)

    def changed(self) -> None:
        self._stirred.set()

    async def until(self, right: Callable[[], object]) -> None:
        async with asyncio.timeout(WITHIN):
            while not right():
                self._stirred.clear()
                await self._stirred.wait()

    async def status(self, wanted: str) -> None:
        await self.until(lambda: wanted == "" or self.link.evidence is not None or self.link.version)
        await self.link.refresh(quiet=True)

        def right() -> bool:
            evidence = self.link.evidence
            return (evidence.status if evidence is not None else "") == wanted

        await self.until(right)


@pytest.fixture
async def linked(server: OpenCodeServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Linked]:
    def found(pid: int, port: int) -> ServerAddress:
        return ServerAddress("127.0.0.1", port, USER, SECRET)

    monkeypatch.setattr(opencode_link, "find_server", found)
    monkeypatch.setattr(opencode_link, "_PAUSE", 0.01)
    made = Linked(server)
    await made.link.start(made.changed)
    yield made
    await made.link.stop()


async def test_it_tells_what_it_does_and_asks(server: OpenCodeServer, linked: Linked) -> None:
    await linked.status("idle")
    assert linked.link.version == "1.18.33"
    await server.works()
    await linked.status("thinking")
    await server.asks("per_1")
    await linked.status("waiting")
    asked = await linked.link.question()
    assert asked is not None and linked.link.asks(asked.id) and asked.subject == "Run: touch made.txt"
    await server.settled("per_1")  # at its screen
    await linked.status("thinking")
    with pytest.raises(SessionError, match="no longer asks"):
        await linked.link.answer(asked.id, "1")
    await server.rests()
    await linked.status("idle")


async def test_what_it_asked_before_is_known(server: OpenCodeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new window finds the open question."""
    await server.works()
    await server.asks("per_1")
    made = Linked(server)
    monkeypatch.setattr(opencode_link, "find_server", lambda pid, port: ServerAddress("127.0.0.1", port, USER, SECRET))
    assert await made.link.connected()
    asked = await made.link.question()
    assert asked is not None
    assert await made.link.answer(asked.id, "2") is None
    assert server.posts == [("/permission/per_1/reply", {"reply": "always"})]
    await made.link.stop()


async def test_an_answer_is_given_once_and_never_a_wrong_one(server: OpenCodeServer, linked: Linked) -> None:
    await linked.status("idle")
    await server.asks("per_1")
    await server.asks("per_2")
    await linked.status("waiting")
    first = await linked.link.question()
    assert first is not None
    with pytest.raises(SessionError, match="does not offer that"):
        await linked.link.answer(first.id, "3")
    following = await linked.link.answer(first.id, "4")
    assert following is not None and following.id != first.id
    assert server.posts == [("/permission/per_1/reply", {"reply": "reject"})]
    server.permissions.clear()  # answered at its screen, of which we have yet to hear
    with pytest.raises(SessionError, match="no longer asks"):
        await linked.link.answer(following.id, "1")
    assert await linked.link.question() is None


async def test_a_refusal_says_why(server: OpenCodeServer, linked: Linked) -> None:
    await linked.status("idle")
    await server.asks("per_1")
    await linked.status("waiting")
    asked = await linked.link.question()
    assert asked is not None
    with pytest.raises(SessionError, match="takes no reason with that answer"):
        await linked.link.answer(asked.id, "1", "since I say so")
    assert server.posts == []
    assert await linked.link.answer(asked.id, "4", "use git mv") is None
    assert server.posts == [("/permission/per_1/reply", {"reply": "reject", "message": "use git mv"})]


async def test_of_several_questions_each_is_asked_for_itself(server: OpenCodeServer, linked: Linked) -> None:
    await linked.status("idle")
    size = {"question": "Which size?", "options": [{"label": "S"}, {"label": "L"}]}
    server.questions.append(question(COLOUR, size))
    await server.say("question.asked", **server.questions[0])
    await linked.status("waiting")
    first = await linked.link.question()
    assert first is not None and first.subject == "Which colour? (1 of 2)"
    second = await linked.link.answer(first.id, "2")
    assert second is not None and second.id != first.id and second.subject == "Which size? (2 of 2)"
    assert server.posts == [], "nothing is sent before all are answered"
    with pytest.raises(SessionError, match="changed: Which size"):
        await linked.link.answer(first.id, "1")
    assert await linked.link.answer(second.id, "1") is None
    assert server.posts == [("/question/que_1/reply", {"answers": [["Blue"], ["S"]]})]


async def test_a_prompt_goes_as_its_screen_has_it(server: OpenCodeServer, linked: Linked) -> None:
    await linked.status("idle")
    assert await linked.link.prompt("Hello\nyou")
    path, body = server.posts[-1]
    assert path == f"/session/{SESSION}/prompt_async"
    assert body["agent"] == "build" and body["model"] == {"providerID": "loop", "modelID": "fake"}
    assert body["parts"] == [{"type": "text", "text": "Hello\nyou"}]
    await linked.status("thinking")


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        (["  ┃  Build · another Loop", "  ╹▀▀"], "OC | Small talk"),
        (["  ┃  Unknown · fake Loop", "  ╹▀▀"], "OC | Small talk"),
        ([""], "OC | Small talk"),
        (SCREEN, "OC | Something else"),
        (SCREEN, "my machine"),
    ],
)
async def test_a_prompt_is_typed_where_its_screen_does_not_tell(
    server: OpenCodeServer, linked: Linked, rows: list[str], title: str
) -> None:
    await linked.status("idle")
    linked.rows, linked.title = rows, title
    assert not await linked.link.prompt("Hello")
    assert not await linked.link.prompt("/compact")
    assert server.posts == []


async def test_the_first_prompt_opens_a_conversation(server: OpenCodeServer, linked: Linked) -> None:
    await linked.status("idle")
    linked.rows, linked.title = ["    █▀▀█ █▀▀█ █▀▀█ █▀▀▄", *SCREEN], "OpenCode"
    assert await linked.link.prompt("Hello")
    assert [path for path, _ in server.posts] == ["/session", "/tui/select-session", "/session/ses_new/prompt_async"]
    assert linked.link.conversation == "ses_new"


async def test_a_prompt_whose_answer_was_lost_is_not_sent_twice(server: OpenCodeServer, linked: Linked) -> None:
    await linked.status("idle")
    server.lost.add(f"/session/{SESSION}/prompt_async")
    assert await linked.link.prompt("Hello")
    assert len(server.posts) == 1


async def test_an_interrupt_leaves_no_question_behind(server: OpenCodeServer, linked: Linked) -> None:
    await linked.status("idle")
    assert not await linked.link.interrupt()
    await server.works()
    await server.asks("per_1")
    await linked.status("waiting")
    assert await linked.link.interrupt()
    assert [path for path, _ in server.posts] == [f"/session/{SESSION}/abort", "/permission/per_1/reply"]
    await linked.status("idle")


async def test_it_connects_again(server: OpenCodeServer, linked: Linked) -> None:
    """While it is away it says nothing, and what changed meanwhile is known at once."""
    await linked.status("idle")
    await server.leave()
    await linked.status("")
    assert not await linked.link.prompt("Hello")
    server.statuses[SESSION] = {"type": "busy"}
    await server.listen()
    await linked.status("thinking")
    await server.say_raw(b"data: {nonsense\n\ndata: 5\n\n")
    await server.rests()
    await linked.status("idle")


async def test_a_server_that_lets_everybody_in_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with OpenCodeServer(open_to_all=True) as server:
        await _not_used(server, monkeypatch)


async def test_another_version_without_this_api_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with OpenCodeServer() as server:
        server.pages.add("/permission")
        await _not_used(server, monkeypatch)


async def _not_used(server: OpenCodeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencode_link, "find_server", lambda pid, port: ServerAddress("127.0.0.1", port, USER, SECRET))
    made = Linked(server)
    assert not await made.link.connected()
    assert made.link.evidence is None
    assert not await made.link.prompt("Hello")
    await made.link.stop()

"""What hooks say, with real processes, a real sandbox where there is one, and a real server on loopback."""

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gshtui.agents.hooks.agent_hooks import AgentHooks
from gshtui.agents.hooks.hook_set import Hook, HookEvent, HookFiles, HookSet, approve, withdraw
from gshtui.agents.hooks.hook_transcript import claude_name
from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.settings.loader import load
from gshtui.system.expected_error import ExpectedError
from tests.kit.configuration import made_project, user_file
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.tool_harness import processes_mentioning
from tests.kit.warm_program import run_gsh


class Asked:
    """Hooks of one folder, and what was noticed."""

    def __init__(self, folder: Path, *hooks: Hook, sandboxes: Sandboxes | None = None) -> None:
        self.bus = Bus()
        self.noticed: list[str] = []
        self.bus.subscribe(
            lambda batch: self.noticed.extend(one.text for one in batch if isinstance(one, Noticed)), Noticed, name="t"
        )
        self.hooks = AgentHooks(self.bus, folder, os.environ, lambda: HookSet(list(hooks)), sandboxes)

    async def before(self, tool: str = "bash", **arguments: Any) -> Any:
        verdict = await self.hooks.before_tool("main", "s", "c", tool, arguments)
        await self.bus.drained()
        return verdict


def hook(command: str, event: HookEvent = "PreToolUse", **more: Any) -> Hook:
    return Hook(event, command, **more)


def printing(data: Any) -> str:
    return f"cat > /dev/null; printf '%s' '{json.dumps(data)}'"


def specific(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


async def test_json_comes_in_as_claude_code_writes_it(tmp_path: Path) -> None:
    asked = Asked(tmp_path, hook("cat > seen.json", matcher="Edit"))
    await asked.before("edit", path="a.py", old_text="x", new_text="y")
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["hook_event_name"] == "PreToolUse"
    assert (seen["tool_name"], seen["tool_use_id"], seen["session_id"], seen["cwd"]) == (
        "Edit",
        "c",
        "s",
        str(tmp_path),
    )
    assert seen["tool_input"] == {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    assert claude_name("files__read_it") == "mcp__files__read_it"
    (tmp_path / "seen.json").unlink()
    await asked.before("bash", command="ls")
    assert not (tmp_path / "seen.json").exists(), "its matcher is for another tool"


async def test_decisions(tmp_path: Path) -> None:
    denied = await Asked(tmp_path, hook("echo not that >&2; exit 2")).before(command="x")
    assert denied.denied == "not that"
    for data in (
        specific(permissionDecision="deny", permissionDecisionReason="no"),
        {"decision": "block", "reason": "no"},
    ):
        assert (await Asked(tmp_path, hook(printing(data))).before(command="x")).denied == "no"
    asks = await Asked(
        tmp_path, hook(printing(specific(permissionDecision="ask", permissionDecisionReason="sure?")))
    ).before()
    assert (asks.denied, asks.asks) == ("", "sure?")
    allow = specific(permissionDecision="allow", updatedInput={"file_path": "b.py"}, additionalContext="look")
    changed = await Asked(tmp_path, hook(printing(allow))).before("write", path="a.py", content="x")
    assert (changed.denied, changed.asks, changed.changed, changed.text) == ("", "", {"path": "b.py"}, "look")
    both = await Asked(tmp_path, hook(printing(allow)), hook("exit 2")).before()
    assert both.denied, "a denial counts, whatever another hook says"


@pytest.mark.parametrize(
    ("command", "said"),
    [("exit 1", "exit code 1"), ("nosuchprogram", "exit code 127"), ("echo '{broken'", "JSON that cannot be read")],
)
async def test_a_failing_hook_is_shown_and_blocks_nothing(tmp_path: Path, command: str, said: str) -> None:
    asked = Asked(tmp_path, hook(command))
    assert (await asked.before(command="x")).denied == ""
    assert said in asked.noticed[0]


@pytest.mark.parametrize("end", ["true", "exit 2", "exit 1"])
async def test_what_the_sandbox_refused_a_hook_is_said_whatever_its_exit_code(tmp_path: Path, end: str) -> None:
    project = made_project(tmp_path / "project")
    line = f"cat > /dev/null; echo x > .git/mine; {end}"
    (tmp_path / "state").mkdir()
    sandboxes = Sandboxes(load(project).settings.sandbox, (tmp_path / "state",))
    asked = Asked(project, hook(line, sandbox=True), sandboxes=sandboxes)
    verdict = await asked.before(command="x")
    assert "The sandbox refused the hook" in asked.noticed[0] and ".git/mine" in asked.noticed[0]
    assert ".git/mine" in verdict.text
    assert bool(verdict.denied) == (end == "exit 2")


async def test_a_hook_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = f"slow-hook-{os.getpid()}"
    asked = Asked(tmp_path, hook(f"(exec -a {mark} sleep 600) & exec -a {mark} sleep 600", seconds=0.4))
    assert (await asked.before(command="x")).denied == ""
    assert "took longer than 0.4 s" in asked.noticed[0]
    assert processes_mentioning(mark) == []


async def test_a_hook_ends_with_the_turn_that_waits_for_it(tmp_path: Path) -> None:
    mark = f"cancelled-hook-{os.getpid()}"
    os.mkfifo(tmp_path / "begun")
    asked = Asked(tmp_path, hook(f"echo > begun; exec -a {mark} sleep 600"))
    waiting = asyncio.create_task(asked.before(command="x"))
    await asyncio.to_thread((tmp_path / "begun").read_text)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    assert processes_mentioning(mark) == []


@contextlib.contextmanager
def server(status: int, body: str) -> Iterator[tuple[str, list[Any]]]:
    """A server on loopback that answers each POST so; its address, and what it was sent."""
    got: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    made = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}/hook", got
    finally:
        made.shutdown()
        thread.join()
        made.server_close()


async def test_an_address_of_this_machine_is_asked(tmp_path: Path) -> None:
    with server(200, json.dumps(specific(permissionDecision="deny", permissionDecisionReason="no"))) as (url, got):
        verdict = await Asked(tmp_path, Hook("PreToolUse", url=url)).before(command="x")
    assert (verdict.denied, got[0]["tool_name"]) == ("no", "Bash")
    with server(302, "") as (url, _):
        asked = Asked(tmp_path, Hook("PreToolUse", url=url))
        assert (await asked.before(command="x")).denied == ""
    assert "status 302" in asked.noticed[0]


def table(event: str, command: str, matcher: str = "") -> str:
    return f"[[hooks.{event}]]\nmatcher = '{matcher}'\nsandbox = false\ncommand = '''{command}'''\n"


def test_a_denied_call_does_not_run_and_an_allowed_one_is_not_widened(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    user_file(home, table("PreToolUse", "echo not here >&2; exit 2", "Bash"))
    ran = run_gsh("prompt", "--mode", "yolo", "run touch made.txt", cwd=project)
    assert "not here" in ran.out
    assert not (project / "made.txt").exists()
    user_file(home, table("PreToolUse", printing(specific(permissionDecision="allow")), "Bash"))
    ran = run_gsh("prompt", "run touch made.txt", cwd=project)
    assert (ran.code, (project / "made.txt").exists()) == (4, False)
    changed = specific(updatedInput={"command": "touch other.txt"})
    user_file(home, table("PreToolUse", printing(changed), "Bash"))
    assert run_gsh("prompt", "--mode", "yolo", "run touch made.txt", cwd=project).code == 0
    assert (project / "other.txt").exists()
    assert not (project / "made.txt").exists()


async def test_a_turn_passes_all_its_hooks(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    (project / "a.txt").write_text("content\n")
    stop = "grep -q '\"stop_hook_active\": true' || { echo also say bye >&2; exit 2; }"
    user_file(
        home,
        table("SessionStart", "echo it began")
        + table("UserPromptSubmit", "echo it is Tuesday")
        + table("PostToolUse", printing({"decision": "block", "reason": "format it"}), "Read")
        + table("Stop", stop)
        + table("SessionEnd", "cat > ended.json"),
    )
    script = [[Call("read", {"path": "a.txt"})], [Say("hello")], [Say("bye")]]
    async with loopback("anthropic", script) as model:
        env = variables("anthropic", model.url)
        ran = await asyncio.to_thread(run_gsh, "prompt", "go on", cwd=project, env=env)
        assert ran.code == 0, ran.err
        sent = [json.dumps(one.body) for one in model.requests if one.kind == "chat"]
    assert ran.out.endswith("bye\n")
    assert "it began" in sent[0]
    assert "it is Tuesday" in sent[0]
    assert "format it" in sent[1]
    assert "also say bye" in sent[2]
    assert json.loads((project / "ended.json").read_text())["hook_event_name"] == "SessionEnd"


async def test_a_hook_reads_the_conversation_so_far_and_nothing_of_it_is_left(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    (project / "a.txt").write_text("content\n")
    copied = "import json, shutil, sys; shutil.copy(json.load(sys.stdin)['transcript_path'], 'seen.jsonl')"
    (project / "copied.py").write_text(copied)
    user_file(home, table("Stop", "python3 copied.py"))
    async with loopback("anthropic", [[Call("read", {"path": "a.txt"})], [Say("hello")]]) as model:
        env = variables("anthropic", model.url)
        ran = await asyncio.to_thread(run_gsh, "prompt", "look at it", cwd=project, env=env)
    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in (project / "seen.jsonl").read_text().splitlines()]
    asked, called, found, said = (line["message"]["content"][-1] for line in lines)
    assert [line["type"] for line in lines] == ["user", "assistant", "user", "assistant"]
    assert "look at it" in asked["text"]
    assert (called["name"], called["input"]) == ("Read", {"file_path": "a.txt"})
    assert (found["tool_use_id"], "content" in found["content"]) == (called["id"], True)
    assert said["text"] == "hello"
    assert [line["parentUuid"] for line in lines[1:]] == [line["uuid"] for line in lines[:-1]]
    assert list(home.state.rglob("transcripts/*")) == []


async def test_what_is_approved_counts_at_once(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    file = project / ".claude" / "settings.json"
    file.parent.mkdir()
    bus = Bus()
    told: list[Hook] = []
    user_file(home, "")
    files = HookFiles(lambda: load(project).settings.hooks, project, os.environ, told.extend)
    hooks = AgentHooks(bus, project, os.environ, files.read, None)

    async def verdict() -> str:
        return (await hooks.before_tool("main", "s", "c", "bash", {"command": "ls"})).denied

    assert await verdict() == ""
    line = {"type": "command", "command": "echo not today >&2; exit 2"}
    file.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [line]}]}}))
    assert await verdict() == ""
    (waiting,) = files.read().waiting
    approve({waiting.id: True})
    assert await verdict() == "not today"
    withdraw([waiting.id])
    assert await verdict() == ""
    assert files.read() is files.read(), "it is read again though nothing has changed"
    file.unlink()
    own = table("PreToolUse", "echo never >&2; exit 2")
    user_file(home, own.replace("sandbox = false", ""))
    assert await verdict() == "", "an agent may have written it"
    (waiting,) = files.read().waiting
    assert [hook.command for hook in told] == [line["command"], waiting.command]
    approve({waiting.id: False})
    assert await verdict() == "never"
    user_file(home, own)
    assert await verdict() == "", "it was approved inside the sandbox"
    begun = HookFiles(lambda: load(project).settings.hooks, project, os.environ, told.extend)
    assert [hook.approved for hook in begun.read().hooks] == [True], "the next start takes what there is"
    user_file(home, "")
    assert begun.read().hooks == []


def test_a_prompt_is_stopped(tmp_path: Path, home: Home) -> None:
    user_file(home, table("UserPromptSubmit", "grep -q secret && { echo no secrets >&2; exit 2; } || true"))
    ran = run_gsh("prompt", "tell a secret", cwd=tmp_path)
    assert ran.code != 0
    assert "A hook stopped the prompt: no secrets" in ran.err
    assert run_gsh("prompt", "what can you do?", cwd=tmp_path).code == 0


def test_they_are_listed_and_approved(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    file = project / ".claude" / "settings.json"
    file.parent.mkdir()
    line = "touch ran.txt"
    file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": line}]}]}}))
    assert "not approved" in run_gsh("hook", "ls", cwd=project).out
    run_gsh("prompt", "what can you do?", cwd=project)
    assert not (project / "ran.txt").exists()
    refused = run_gsh("hook", "accept", "all", cwd=project)
    assert (refused.code, "--yes" in refused.err) == (4, True)
    assert run_gsh("hook", "accept", "all", "--yes", cwd=project).code == 0
    run_gsh("prompt", "what can you do?", cwd=project)
    assert (project / "ran.txt").exists()
    listed = run_gsh("hook", "ls", "--json", cwd=project).json["hooks"]
    assert [(one["command"], one["approved"]) for one in listed] == [(line, True)]
    assert run_gsh("hook", "refuse", listed[0]["id"][:6], cwd=project).code == 0
    assert not run_gsh("hook", "ls", "--json", cwd=project).json["hooks"][0]["approved"]


async def test_a_hook_that_cannot_be_started_fails_and_blocks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> None:
        raise ExpectedError("There is no sandbox.")

    monkeypatch.setattr(Sandboxes, "sandbox", refused)
    sandboxes = Sandboxes(load(tmp_path).settings.sandbox, (tmp_path,))
    asked = Asked(tmp_path, hook("true", sandbox=True), sandboxes=sandboxes)
    assert (await asked.before(command="x")).denied == ""
    assert "There is no sandbox" in asked.noticed[0]

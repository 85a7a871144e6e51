"""Other people's MCP servers in turns of an agent: those of the protocol's makers, as `mcp add` has them.

In the sandbox where that holds, as a person has them who has changed nothing; none of them needs a network.
"""

import asyncio
import subprocess
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gshtui.bus.events.agent_events import ToolOutput
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from tests.kit.configuration import made_project
from tests.kit.loopback.script import Answer, Call, Say
from tests.kit.mcp_turns import agent_with, allow, ask, configure, finished
from tests.kit.real_programs import installed_servers, server_path

THERE = installed_servers()
SLOW = "[mcp]\nstart_seconds = 90\n"
"""Programs of this kind need ten seconds to start where two of them and a compiler share a core."""


def only(name: str) -> Callable[..., Any]:
    """Run the test where this server is installed; the end of the run says where it is not."""
    return pytest.mark.parametrize("server", [one for one in THERE if one == name])


def added(server: str, *arguments: str, more: str = "") -> None:
    """Have the server in the person's configuration, under the name `it`, with all its tools allowed."""
    table = f"[mcp.servers.it]\ncommand = {str(server_path(server))!r}\nargs = {list(arguments)!r}\n{more}"
    configure(SLOW, table)
    allow("it__*")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = made_project(tmp_path / "project")
    (folder / "note.txt").write_text("the needle\n", "utf-8")
    return folder


async def results(project: Path, monkeypatch: pytest.MonkeyPatch, *calls: Call) -> list[tuple[str, str]]:
    """(status, text) of each call of one turn."""
    script: list[Answer] = [[call] for call in calls]
    async with agent_with(project, monkeypatch, [*script, [Say("done")]]) as (hub, _, recorder):
        await hub.mcp_servers().started("it", "main")
        await ask(hub, within=100)
        return [(one.status, one.content) for one in finished(recorder)]


@only("mcp-server-everything")
async def test_everything_that_a_server_can_do(
    server: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(server)
    calls: list[Answer] = [
        [Call("it__get-sum", {"a": 2, "b": 40})],
        [Call("it__get-tiny-image")],
        [Call("it__get-structured-content", {"location": "Chicago"})],
        [Call("it__get-roots-list")],
        [Call("it__trigger-long-running-operation", {"duration": 1, "steps": 4})],
        [Call("it__get-resource-reference", {"resourceType": "Text", "resourceId": 1})],
        [Call("it__trigger-sampling-request", {"prompt": "What is six times seven?", "maxTokens": 50})],
        [Say("Forty-two.")],
        [Call("it__trigger-elicitation-request")],
        [Say("done")],
    ]
    async with agent_with(project, monkeypatch, calls) as (hub, provider, recorder):
        await hub.mcp_servers().started("it", "main")  # a turn waits ten seconds for it, and then begins without it
        turn = asyncio.create_task(ask(hub, within=100))
        sample = await hub.bus.wait_for(ApprovalRequested, timeout=100)
        assert "at most 50 tokens" in sample.subject and "six times seven" in sample.detail
        form = hub.bus.wait_for(ApprovalRequested, timeout=60)
        hub.bus.publish(ApprovalAnswered(approval=sample.approval, decision="once"))
        asked = await form
        assert "Please provide inputs" in asked.subject
        await hub.run("mcp answer it 'name=Ada check=yes integer=7'")
        await turn
        told = [one.content for one in finished(recorder)]
        assert [one.status for one in finished(recorder)] == ["ok"] * 8, told
        total, picture, structured, roots, long, resource, sampled, elicited = told
        assert "42" in total
        assert "[picture image/png, " in picture
        assert '"temperature"' in structured
        assert str(project) in roots
        assert "4" in long
        steps = [one.text for one in recorder.events if isinstance(one, ToolOutput)]
        assert any("[2/4]" in text for text in steps), steps
        assert "demo://resource" in resource
        assert "Forty-two." in sampled
        assert "Ada" in elicited and "7" in elicited
        assert [request.body["max_tokens"] for request in provider.requests if "tools" not in request.body] == [50]


@only("mcp-server-filesystem")
async def test_files_of_the_roots_alone(
    server: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.txt").write_text("hidden", "utf-8")
    added(server, str(project))
    allowed, read, outside, wrote = await results(
        project,
        monkeypatch,
        Call("it__list_allowed_directories"),
        Call("it__read_text_file", {"path": str(project / "note.txt")}),
        Call("it__read_text_file", {"path": str(elsewhere / "secret.txt")}),
        Call("it__write_file", {"path": str(project / "made.txt"), "content": "x"}),
    )
    assert str(project) in allowed[1]
    assert read == ("ok", "the needle\n") or "the needle" in read[1]
    assert outside[0] == "error" and "hidden" not in outside[1]
    assert wrote[0] == "error" and not (project / "made.txt").exists(), "its folder is read-only in the sandbox"


@only("mcp-server-git")
async def test_a_repositorys_history(server: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=A", "-c", "user.email=a@b.example", "commit", "-qm", "The needle"],
    ):
        await asyncio.to_thread(subprocess.run, ["git", "-C", str(project), *words], check=True)
    added(server, "--repository", str(project))
    place = {"repo_path": str(project)}
    log, status, commit = await results(
        project,
        monkeypatch,
        Call("it__git_log", {**place, "max_count": 1}),
        Call("it__git_status", place),
        Call("it__git_create_branch", {**place, "branch_name": "made"}),
    )
    assert log[0] == "ok" and "The needle" in log[1]
    assert status[0] == "ok" and "clean" in status[1]
    assert commit[0] == "error", "`.git` is read-only in the sandbox"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html><body><h1>The needle</h1><p>is in the haystack</p></body></html>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@only("mcp-server-fetch")
async def test_a_page_is_fetched_only_outside_the_sandbox(
    server: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = HTTPServer(("127.0.0.1", 0), _Page)
    thread = Thread(target=site.serve_forever, daemon=True)
    thread.start()
    try:
        call = Call("it__fetch", {"url": f"http://127.0.0.1:{site.server_port}/page"})
        added(server, "--ignore-robots-txt", "--allow-private-ips")
        ((inside, _),) = await results(project, monkeypatch, call)
        added(server, "--ignore-robots-txt", "--allow-private-ips", more="sandbox = false\n")
        ((outside, text),) = await results(project, monkeypatch, call)
    finally:
        await asyncio.to_thread(site.shutdown)
        site.server_close()
    assert (inside, outside) == ("error", "ok"), text
    assert "The needle" in text

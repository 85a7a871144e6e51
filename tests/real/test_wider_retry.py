"""What the sandbox refused a command runs once more, wider, by one answer: the whole hub, in auto mode."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gshtui.bus.agent_data import Respondent
from gshtui.bus.events.agent_events import PromptSubmitted, ToolFinished
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, Decision
from gshtui.bus.events.shell_events import ShellRecorded
from gshtui.guard.commands import DecisionQuery, read_decisions
from gshtui.hub.hub import Hub
from gshtui.settings.loader import load
from gshtui.system.ids import new_id
from tests.kit.configuration import made_project, user_file
from tests.kit.home import Home
from tests.kit.native_agents import EventLog
from tests.kit.running_hub import running_hub


@contextlib.asynccontextmanager
async def auto_hub(project: Path, respondent: Respondent = "person") -> AsyncGenerator[tuple[Hub, EventLog]]:
    async with running_hub(project, respondent=respondent, mode="auto") as hub:
        yield hub, EventLog(hub.bus)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = made_project(tmp_path / "project")
    (made / "AGENTS.md").write_text("be brief\n")  # other programs obey it, so no command changes it
    (made / "change.sh").write_text("touch made && echo more >> AGENTS.md\n")
    return made


def changed(project: Path) -> bool:
    return "more" in (project / "AGENTS.md").read_text()


def asks(hub: Hub, command: str) -> None:
    hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=f"run {command}"))


async def ended(log: EventLog, number: int = 1) -> ToolFinished:
    return await log.wait_for(ToolFinished, tool="bash", number=number)


async def test_a_yes_runs_it_outside_and_a_no_leaves_what_it_was(project: Path) -> None:
    async with auto_hub(project) as (hub, log):
        asks(hub, "sh change.sh")
        question = await log.wait_for(ApprovalRequested)
        assert (project / "made").exists() and not changed(project)
        assert "the sandbox refused it something: cannot write" in question.beside
        assert "runs once more, outside the sandbox" in question.warnings[0]
        hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="deny", reason="not there"))
        done = await ended(log)
        assert done.sandboxed and done.status == "error"
        assert "Read-only file system" in done.content and "They say: not there" in done.content
        assert not changed(project)
        record = await log.wait_for(ShellRecorded)
        assert record.record.command == "sh change.sh", "it ran, whatever was answered afterwards"

        asks(hub, "sh change.sh")
        question = await log.wait_for(ApprovalRequested, number=2)
        hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="session"))
        done = await ended(log, 2)
        assert (done.sandboxed, done.status) == (False, "ok") and changed(project)

        (project / "AGENTS.md").write_text("be brief\n")
        asks(hub, "sh change.sh")
        assert (await ended(log, 3)).status == "ok" and changed(project)
        assert len(log.of(ApprovalRequested)) == 2, "this exact call was answered for the session"
    found = read_decisions(load(project).settings.general.log_dir, DecisionQuery(), 10)
    first = [(one.verdict, one.by, one.ran, one.sandboxed) for one in found][:2]
    assert sorted(first) == [("allow", "sandbox", True, True), ("deny", "person", False, False)]


@pytest.mark.parametrize("decision", ["once", "deny"])
async def test_a_host_is_granted_and_the_command_stays_in_the_sandbox(
    home: Home, project: Path, decision: Decision
) -> None:
    user_file(home, '[sandbox]\nhosts = ["127.0.0.9"]\n')
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    (project / "ask.py").write_text(
        f"import urllib.request as r\nprint(r.urlopen('http://127.0.0.1:{port}/', timeout=20).read())\n"
    )
    async with server, auto_hub(project) as (hub, log):
        asks(hub, "python3 ask.py")
        question = await log.wait_for(ApprovalRequested)
        assert not seen and f"with 127.0.0.1:{port} for this conversation" in question.warnings[0]
        assert not question.pattern
        hub.bus.publish(ApprovalAnswered(approval=question.approval, decision=decision))
        assert (await ended(log)).sandboxed
        asks(hub, "python3 ask.py")  # granted for the conversation, or asked about again
        if decision == "once":
            assert (await ended(log, 2)).status == "ok" and len(log.of(ApprovalRequested)) == 1
        else:
            await log.wait_for(ApprovalRequested, number=2)
    assert len(seen) == (2 if decision == "once" else 0)


async def test_nobody_is_asked_where_nobody_is(project: Path) -> None:
    async with auto_hub(project, "nobody") as (hub, log):
        asks(hub, "sh change.sh")
        done = await ended(log)
        assert done.sandboxed and done.status == "error" and not changed(project)
        assert log.of(ApprovalRequested) == []

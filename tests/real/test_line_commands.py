"""The commands of the language itself, as a person types them in the program, and as an agent's tool."""

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gshtui.agents.toolbox import Toolbox, WorkDirs
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.messages import ToolCall, ToolResult
from gshtui.commands.declaration import Caller, CommandError, Invocation, ProgramView
from gshtui.commands.evaluation import run_line
from gshtui.commands.line_commands import commands as line_commands
from gshtui.commands.registry import Registry
from gshtui.guard.approval.gate import Gate
from gshtui.system.ids import new_id
from gshtui.tools.commands import commands
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.configuration import made_project
from tests.kit.warm_program import run_gsh


class LineAgent:
    """An agent with the real tools and a person who answers its questions."""

    def __init__(self, folder: Path) -> None:
        self.bus = Bus()
        self.asked: list[str] = []
        self.agrees = True
        self.gate = Gate(self.bus, respondent="person", auto_approve=frozenset({"read", "glob"}))
        self.bus.subscribe(self._answer, ApprovalRequested, name="person")
        registry = Registry(commands(ToolConfig(os.environ)))
        for command in line_commands(registry):
            registry.register(command)
        self.toolbox = Toolbox(self.bus, registry, self.gate, "main", WorkDirs(folder, folder), self._keep, 30_000)

    async def _answer(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, ApprovalRequested):
                self.asked.append(event.tool)
                decision = "once" if self.agrees else "deny"
                self.bus.publish(ApprovalAnswered(approval=event.approval, decision=decision))

    async def _keep(self, _session: str, _call: str, _text: str) -> str:
        return new_id()

    async def call(self, tool: str, **arguments: Any) -> ToolResult:
        (result,), _ = await self.toolbox.run([ToolCall(new_id(), tool, arguments)], "s1", "m1")
        return result


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[LineAgent]:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("one\n2\n")
    here = LineAgent(tmp_path)
    yield here
    await here.gate.close()
    await here.bus.close()


async def test_each_command_of_an_agents_line_is_judged_as_if_called_alone(agent: LineAgent, tmp_path: Path) -> None:
    result = await agent.call("pipe", line="glob *.txt | write path=list.txt; echo $(read list.txt)")
    assert (result.status, agent.asked) == ("ok", ["write"])
    assert sorted((tmp_path / "list.txt").read_text().split()) == ["a.txt", "b.txt"]
    agent.agrees = False
    result = await agent.call("pipe", line="echo x | write path=no.txt; bash touch there")
    assert (result.status, agent.asked) == ("error", ["write", "write"])
    assert not (tmp_path / "no.txt").exists() and not (tmp_path / "there").exists()
    result = await agent.call("pipe", line="echo $(bash touch there)")
    assert result.status == "error" and agent.asked[-1] == "bash"
    assert not (tmp_path / "there").exists()


async def test_an_agents_line_keeps_variables_and_gives_data_on_request(agent: LineAgent) -> None:
    await agent.call("pipe", line="env name=files value=$(glob *.txt)")
    assert (await agent.call("pipe", line="echo ${files.count}")).content == "2"
    assert '"count": 2' in (await agent.call("pipe", line="glob *.txt", data=True)).content


@pytest.mark.parametrize("line", ["exec ls", "echo $(exec ls)", "echo a | vim", "pipe echo", "echo | pipe x", "agents"])
async def test_an_agents_line_has_only_what_the_agent_has(agent: LineAgent, line: str) -> None:
    result = await agent.call("pipe", line=line)
    assert result.status == "error" and agent.asked == []


async def test_echo_is_no_tool_by_itself(agent: LineAgent) -> None:
    assert "not one of your tools" in (await agent.call("echo", message="x")).content


async def test_an_agent_compares_files_and_results(agent: LineAgent) -> None:
    assert "-two\n+2" in (await agent.call("diff", a="a.txt", b="b.txt")).content
    assert (await agent.call("diff", a="a.txt", b="a.txt")).content == "Both are the same."
    assert "-x\n+y" in (await agent.call("pipe", line="diff <(echo x) <(echo y)")).content
    await agent.call("diff", a="a.txt", b="/etc/hostname")
    assert agent.asked == ["cat"]


@pytest.fixture
def here(tmp_path: Path) -> tuple[Registry, Invocation]:
    registry = Registry(commands(ToolConfig(os.environ)))
    for command in line_commands(registry):
        registry.register(command)
    return registry, Invocation(Caller(), tmp_path, tmp_path)


async def test_files_are_searched_and_shortened_in_pipes(here: tuple[Registry, Invocation], tmp_path: Path) -> None:
    registry, invocation = here
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    found = await run_line(registry, "cat a.txt | grep t context_lines=0", invocation)
    assert found.data["count"] == 2 and "two" in found.text and "one" not in found.text
    assert (await run_line(registry, "cat a.txt | head n=1", invocation)).data["text"] == "one\n"
    assert (await run_line(registry, "cat a.txt | tail n=1 | grep three", invocation)).data["count"] == 1
    for line in ("cat a.txt | grep t a.txt", "head", "tail n=3"):
        with pytest.raises(CommandError):
            await run_line(registry, line, invocation)


async def test_variables(here: tuple[Registry, Invocation]) -> None:
    registry, invocation = here
    assert (await run_line(registry, "env", invocation)).text.startswith("No variables yet.")
    await run_line(registry, "env name=who value='a b'; echo x | env name=piped", invocation)
    listed = await run_line(registry, "env", invocation)
    assert "$who = a b\n$piped = x" in listed.text
    assert (await run_line(registry, 'echo "hi $who"', invocation)).text == "hi a b"
    await run_line(registry, "env who remove=true", invocation)
    for line in ("env who", "echo $who", "env name=last value=1", "env name='a b' value=1", "env x remove=true"):
        with pytest.raises(CommandError):
            await run_line(registry, line, invocation)


async def test_what_needs_a_terminal_names_its_line(here: tuple[Registry, Invocation], tmp_path: Path) -> None:
    registry, invocation = here
    (tmp_path / "sub dir").mkdir()
    assert (await run_line(registry, "exec make test | tee x; date", invocation)).view == ProgramView(
        "make test | tee x; date"
    )
    outcome = await run_line(registry, 'exec cmd=make dir="sub dir"', invocation)
    assert outcome.view == ProgramView(f"(cd '{tmp_path}/sub dir' || exit; make)")
    for line in ("exec cmd=x dir=nosuch", "vim path='sub dir'", "vim nosuch/a", "vim a; echo x", "echo $(exec ls)"):
        with pytest.raises(CommandError):
            await run_line(registry, line, invocation)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = made_project(tmp_path / "project")
    (folder / "a.txt").write_text("one\n")
    return folder


def test_lines_from_standard_input_share_variables_and_stop_at_the_first_error(project: Path) -> None:
    ran = run_gsh("run", cwd=project, stdin=b"env name=g value=hello\n\necho $g there\nnosuch\necho no\n")
    assert (ran.code, ran.out) == (2, "hello\nhello there\n")
    assert "There is no command 'nosuch'." in ran.err
    assert "line 1, column 1:" in ran.err and "^^^^^^" in ran.err
    ran = run_gsh("run", "--json", cwd=project, stdin=b"echo a\nglob *.txt\n")
    assert ran.code == 0 and ran.lines[1]["files"] == ["a.txt"]
    assert run_gsh("run", cwd=project, stdin=b"\n").code == 2


def test_a_program_runs_on_the_callers_terminal(project: Path) -> None:
    ran = run_gsh("run", "exec cmd='pwd; exit 3'", cwd=project)
    assert (ran.code, ran.out.strip()) == (3, str(project))
    ran = run_gsh("run", "vim path=a.txt", cwd=project)
    assert (ran.code != 0 and "terminal" in ran.err) or "no vim" in ran.err
    ran = run_gsh("run", "--as", "main", "exec ls", cwd=project)
    assert ran.code == 2 and "for people only" in ran.err


def test_an_agents_rights_hold_in_pipes_and_substitutions(project: Path) -> None:
    for line in (
        "read a.txt | write path=b.txt",
        "echo $(write path=b.txt content=x)",
        "pipe line='echo x | write b.txt'",
    ):
        ran = run_gsh("run", "--as", "main", line, cwd=project)
        assert ran.code == 4, ran.err
        assert not (project / "b.txt").exists()
    assert run_gsh("run", "--as", "main", "--yes", "read a.txt | write path=b.txt", cwd=project).code == 0
    assert (project / "b.txt").exists()

"""Modes: what each lets run unasked, that none widens what is refused, who may change one, and what children get."""

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

from gshtui.bus.agent_data import AgentRow, GuardMode, ProgramMode, Respondent, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    ContextAssembled,
    ModelChanged,
    SectionSize,
    UsageReported,
)
from gshtui.bus.events.approval_events import (
    AgentModeChanged,
    ApprovalRequested,
    ApprovalSettled,
    ModeChangeRequested,
)
from gshtui.bus.events.fleet_events import AgentChanged
from gshtui.bus.messages import Usage
from gshtui.commands.declaration import (
    Assessment,
    Caller,
    CommandError,
    Effect,
    Invocation,
    JudgedPart,
    Unconfirmed,
    UsageError,
)
from gshtui.commands.evaluation import run_line
from gshtui.commands.known_tools import DOES
from gshtui.commands.registry import Registry, may_run
from gshtui.context.assembly.system_section import mode_section, system_sections
from gshtui.fleet.core.ports import LaunchTerms
from gshtui.fleet.native.relay import held_to_rights
from gshtui.fleet.native.spec import Spec, make_spec, read_spec, spec_path, with_mode, write_spec
from gshtui.guard.approval.gate import Call, Gate, Verdict
from gshtui.guard.mode_commands import ChangeMode, ModePort, commands
from gshtui.guard.modes import ABOUT, MODES, AgentModes, inherited, next_mode, strictest
from gshtui.shell.event_table import AGENT, KINDS, TO_AGENT
from gshtui.ui.agents.agents_list import spending
from gshtui.ui.agents.agents_state import AgentView
from gshtui.ui.context import context_pane
from gshtui.ui.window.header import HeaderState, draw_header, reduce
from tests.kit.native_agents import EventLog

READ = Assessment(Effect.READ, "README.md")
OUTSIDE = Assessment(Effect.READ, "/etc/hosts", inside=False)
READS_BY_SHELL = Assessment(Effect.EXECUTE, "git status", reads=True, sandbox=True)
EDIT = Assessment(Effect.WRITE, "src/app.py")
EDIT_OUTSIDE = Assessment(Effect.WRITE, "/tmp/x", inside=False)
BUILD = Assessment(Effect.EXECUTE, "make", sandbox=True)
PUSH = Assessment(Effect.NETWORK, "git push", inside=False)
CALLS = {
    "read": READ,
    "outside": OUTSIDE,
    "reads": READS_BY_SHELL,
    "edit": EDIT,
    "away": EDIT_OUTSIDE,
    "build": BUILD,
    "push": PUSH,
}
TOOLS = {"read": "read", "outside": "read", "reads": "bash", "edit": "edit", "away": "write"}
EXPECTED: dict[GuardMode, dict[str, str]] = {
    "plan": {"read": "run", "outside": "ask", "reads": "run"},
    "ask": {"read": "run", "outside": "ask", "reads": "run", "edit": "ask", "away": "ask", "build": "ask"},
    "edit": {"read": "run", "outside": "ask", "reads": "run", "edit": "run", "away": "ask", "build": "ask"},
    "auto": {"read": "run", "outside": "ask", "reads": "run", "edit": "run", "away": "ask", "build": "sandbox"},
    "yolo": dict.fromkeys(CALLS, "run"),
}


def gate_in(bus: Bus, mode: GuardMode, respondent: Respondent = "nobody", auto: str = "read glob grep") -> Gate:
    modes = AgentModes(bus, "main", mode)
    return Gate(bus, respondent=respondent, auto_approve=frozenset(auto.split()), modes=modes)


def call(tool: str = "bash", command: str = "x", agent: str = "main") -> Call:
    return Call(agent, "s", "c", tool, {"command": command})


def what(verdict: Verdict) -> str:
    if verdict.allowed:
        return "sandbox" if verdict.sandboxed else "run"
    return "ask" if "nobody is there" in verdict.reason else "refuse"


@pytest.mark.parametrize("mode", MODES)
async def test_what_runs_unasked(mode: GuardMode) -> None:
    bus = Bus()
    gate = gate_in(bus, mode)
    usual = "refuse" if mode == "plan" else "ask"
    for name, assessment in CALLS.items():
        verdict = await gate.review(call(TOOLS.get(name, "bash")), assessment)
        assert what(verdict) == EXPECTED[mode].get(name, usual), (mode, name, verdict)
    await gate.close()
    await bus.close()


@pytest.mark.parametrize("mode", MODES)
async def test_no_mode_runs_a_catastrophe_or_answers_for_a_person(mode: GuardMode) -> None:
    bus = Bus()
    gate = gate_in(bus, mode)
    verdict = await gate.review(call(command="rm -rf /"), Assessment(Effect.EXECUTE, "rm -rf /", sandbox=True))
    assert not verdict.allowed and "Always refused" in verdict.reason
    budget = Assessment(Effect.EXECUTE, "continue beyond its budget", inside=False, only_person=True)
    assert what(await gate.review(call("budget"), budget)) == "ask"
    await gate.close()
    await bus.close()


async def test_the_reason_of_a_refusal_in_plan_mode_is_for_the_model() -> None:
    bus = Bus()
    heard = EventLog(bus)
    gate = gate_in(bus, "plan", "person")
    verdict = await gate.review(call("edit"), EDIT)
    assert not verdict.allowed and "plan mode" in verdict.reason and "edit was refused" in verdict.reason
    settled = await heard.wait_for(ApprovalSettled)
    assert (settled.decision, settled.by) == ("deny", "plan mode") and heard.of(ApprovalRequested) == []
    await gate.close()
    await bus.close()


@pytest.mark.parametrize("first", ["allow", "ask"])
async def test_a_question_names_the_parts_that_need_approval_where_some_do_not(first: Literal["allow", "ask"]) -> None:
    bus = Bus()
    heard = EventLog(bus)
    parts = (JudgedPart("ls", first, "reader"), JudgedPart(f"make {'x' * 90}", "ask", "build"))
    asked = Assessment(Effect.EXECUTE, "ls; make", parts=parts)
    review = asyncio.create_task(gate_in(bus, "ask", "person").review(call(), asked))
    question = await heard.wait_for(ApprovalRequested)
    named = [f"needs approval: make {'x' * 44}…", "allowed: ls"]
    assert sorted(question.beside.split("\n"), reverse=True) == (named if first == "allow" else [""])
    review.cancel()
    await bus.close()


async def test_in_plan_mode_what_was_always_allowed_is_refused_too() -> None:
    bus = Bus()
    gate = Gate(bus, respondent="person", auto_approve=frozenset({"bash"}), modes=AgentModes(bus, "main", "plan"))
    made = Assessment(Effect.EXECUTE, "make x", inside=True, pattern="make …")
    assert what(await gate.review(call(), made)) == "refuse"
    gate.modes.change("main", "ask")
    assert what(await gate.review(call(), made)) == "run"
    await gate.close()
    await bus.close()


@pytest.mark.parametrize(
    ("auto", "runs"),
    [
        ("", set[str]()),
        ("read", {"read", "cat", "head", "tail", "ls", "bash"}),
        ("cat", {"cat"}),
        ("grep", {"grep"}),
    ],
)
async def test_without_auto_approve_reads_ask(auto: str, runs: set[str]) -> None:
    bus = Bus()
    gate = gate_in(bus, "ask", auto=auto)
    readers = [tool for tool, does in DOES.items() if does in ("read", "list", "search")]
    assert runs <= {*readers, "bash"}
    for tool in (*readers, "bash"):
        verdict = await gate.review(call(tool), READS_BY_SHELL if tool == "bash" else READ)
        assert (what(verdict) == "run") is (tool in runs), tool
    await gate.close()
    await bus.close()


def test_their_order_is_their_strictness() -> None:
    assert set(ABOUT) == set(MODES) and strictest("yolo", "edit", "auto") == "edit"
    assert [next_mode(mode) for mode in MODES] == ["ask", "edit", "auto", "plan", "ask"]
    assert [inherited(mode) for mode in MODES] == ["plan", "ask", "edit", "auto", "auto"]


async def test_each_agent_has_its_own_and_only_an_intent_of_this_process_changes_it() -> None:
    bus = Bus()
    heard = EventLog(bus)
    modes = AgentModes(bus, "main")
    modes.note("0001", "auto")
    assert (modes.mode_of("main"), modes.mode_of("0001"), modes.mode_of("0002")) == ("ask", "auto", "ask")
    bus.publish(ModeChangeRequested(agent="0001", mode="plan"))
    bus.publish(ModeChangeRequested(agent="main", mode="edit"))
    await heard.wait_for(AgentModeChanged, mode="edit")
    assert [(change.agent, change.mode) for change in heard.of(AgentModeChanged)] == [("main", "ask"), ("main", "edit")]
    modes.note("0001", "auto")  # it connects again, and says nothing new
    assert (modes.mode_of("main"), modes.mode_of("0001")) == ("edit", "plan")
    modes.close()
    await bus.close()


def test_no_connection_may_ask_for_a_mode() -> None:
    event = ModeChangeRequested(agent="main", mode="yolo")
    assert [kind.name for kind in KINDS.values() if kind.may_publish(event)] == []
    assert isinstance(event, TO_AGENT) and KINDS[AGENT].may_publish(AgentModeChanged(agent="0001", mode="plan"))


# What is started


def spec_of(folder: Path, id: str, start: GuardMode = "ask", **request: Any) -> Spec:
    row = AgentRow(id=id, name=id, cwd=str(folder), home=str(folder))
    spec = make_spec(row, SpawnRequest(**request), None, LaunchTerms(mode_of=lambda _: start), data=folder)
    write_spec(spec)
    return spec


def test_a_child_gets_at_most_its_parents_mode(tmp_path: Path) -> None:
    assert spec_of(tmp_path, "0001").mode == "ask"
    assert spec_of(tmp_path, "0002", "yolo").mode == "auto", "yolo is given by a person, to one agent"
    assert spec_of(tmp_path, "0003", mode="yolo").mode == "yolo"
    assert spec_of(tmp_path, "0004", "edit", parent="main", mode="yolo").mode == "edit"
    spec_of(tmp_path, "0005", mode="plan")
    assert spec_of(tmp_path, "0006", "auto", parent="0005").mode == "plan"
    assert spec_of(tmp_path, "0007", "auto", fork="0005", mode="auto").mode == "plan"
    assert spec_of(tmp_path, "0008", "auto", parent="0003").mode == "auto"
    asked = SpawnRequest(prompt="x", mode="yolo")
    assert held_to_rights(spec_of(tmp_path, "0009"), asked).mode == ""


def test_yolo_is_not_remembered(tmp_path: Path) -> None:
    spec_of(tmp_path, "0001", mode="yolo")
    changes: list[tuple[GuardMode, GuardMode]] = [("edit", "edit"), ("yolo", "ask"), ("plan", "plan")]
    for mode, kept in changes:
        with_mode(tmp_path, "0001", mode)
        assert read_spec(spec_path(tmp_path, "0001")).mode == kept


# The command


class Around:
    """The command, on two agents of ours and another program."""

    def __init__(self, why: str = "") -> None:
        self.bus, self.sent, self.why = Bus(), list[tuple[str, str]](), why
        self.modes = AgentModes(self.bus, "main")
        self.rows = [
            AgentRow(id="main", name="main", runtime="local"),
            AgentRow(id="0001", name="fix", cwd="/p"),
            AgentRow(id="0002", name="claude", kind="cli"),
        ]
        (self.command,) = commands(ModePort(self.modes, self.agents, self.unproven, self.send, self.program))
        self.registry = Registry([self.command])

    async def unproven(self, _folder: Path) -> str:
        return self.why

    async def send(self, agent: str, mode: GuardMode) -> None:
        self.sent.append((agent, mode))

    async def agents(self) -> list[AgentRow]:
        return self.rows

    async def program(self, agent: str, mode: str) -> AgentRow:
        if mode == "edit":
            raise CommandError("It has no mode like edit.")
        shown = ProgramMode("plan mode", "plan")
        return AgentRow(id=agent, name="claude", kind="cli", held_to="plan", program_mode=shown)

    async def run(self, line: str, caller: Caller | None = None) -> Any:
        here = Invocation(caller or Caller(), Path("/p"), Path("/p"), agent="main")
        return (await run_line(self.registry, line, here)).data


async def test_the_command_changes_one_agent() -> None:
    here = Around()
    assert (await here.run("mode edit"))["mode"] == "edit"
    assert (await here.run("mode next"))["mode"] == "auto"
    assert (await here.run("mode plan fix"))["agent"] == "fix"
    assert here.sent == [("0001", "plan")] and here.modes.mode_of("main") == "auto"
    assert (await here.run("mode"))["modes"] == {"main": "auto", "fix": "ask"}
    with pytest.raises(CommandError, match="no mode like edit"):
        await here.run("mode edit claude")
    assert (await here.run("mode plan claude")) == {"agent": "claude", "mode": "plan", "passed": ""}
    assert here.sent == [("0001", "plan")], "another vendor's program is not one of ours"
    with pytest.raises(CommandError, match="no agent 'nobody'"):
        await here.run("mode edit nobody")
    await here.bus.close()


async def test_auto_is_refused_where_the_sandbox_does_not_hold_and_passed_by_in_the_cycle() -> None:
    here = Around(why="bubblewrap is not installed")
    with pytest.raises(CommandError, match="auto needs the sandbox, which cannot be relied on here: bubblewrap"):
        await here.run("mode auto")
    assert here.modes.mode_of("main") == "ask"
    found = [(await here.run("mode next"))["mode"] for _ in range(3)]
    assert found == ["edit", "plan", "ask"]
    await here.bus.close()


async def test_yolo_asks_and_no_agent_may_run_the_command() -> None:
    here = Around()
    with pytest.raises(Unconfirmed, match="runs everything unasked"):
        await here.run("mode yolo")
    assert here.modes.mode_of("main") == "ask"
    action = next(one for one in here.command.actions if one.parameters is ChangeMode)
    assert action.asks is not None
    here_now = Invocation(Caller(), Path("/p"), Path("/p"), agent="main")
    question = await action.asks(here_now, ChangeMode(mode="yolo"))
    assert question is not None and question.agreed == ChangeMode(mode="yolo", agent="main", agreed=True)
    agent = Caller("main", is_agent=True)
    assert not may_run(here.command, agent)
    with pytest.raises(UsageError, match="for people only"):
        await here.run("mode plan", agent)
    await here.bus.close()


async def test_presses_that_come_fast_go_on_from_each_other() -> None:
    here = Around()
    await asyncio.gather(*(here.run("mode next") for _ in range(3)))
    assert here.modes.mode_of("main") == "plan"
    await here.bus.close()


# What is shown and told


@pytest.mark.parametrize("mode", MODES)
def test_the_header_names_it_at_80_columns(mode: GuardMode) -> None:
    state = HeaderState("a-project-with-a-long-name", "feature/a-long-branch-name")
    state = reduce(state, AgentModeChanged(agent="main", mode=mode))
    usual = mode == "ask"  # the frame of the input says it
    assert (f" {mode} " in draw_header(state, 80, model=True).plain) is not usual
    assert isinstance(state.agent, AgentView) and state.agent.mode == mode
    assert (f" {mode} " in draw_header(state, 50, model=True).plain) is not usual


def test_the_header_says_cost_and_effort_shorter_before_it_leaves_the_model_out() -> None:
    state = reduce(HeaderState("proj", "master", hub="ready"), AgentModeChanged(agent="main", mode="ask"))
    state = reduce(state, AgentStatusChanged(agent="main", status="idle"))
    change = ModelChanged(
        agent="main", provider="p", model="m", window=1_000_000, label="Claude Sonnet 5.5", effort="low"
    )
    state = reduce(state, change)
    usage = UsageReported(
        agent="main", session="s", turn="t", iteration=1, provider="p", model="m", usage=Usage(input=10), cost=0.0057
    )
    state = reduce(state, usage)
    wide = draw_header(state, 120, model=True).plain
    assert "Claude Sonnet 5.5 low" in wide and "$0.0057" in wide
    framed = draw_header(state, 120, model=False).plain
    assert "Claude" not in framed and "$0.0057" in framed, "the input's frame names it"
    other = draw_header(state, 120, model=False, named=True).plain
    assert "main:" in other and "main:" not in framed, "the input's frame names another agent"
    narrow = draw_header(state, 64, model=True).plain
    assert len(narrow) == 64 and "Claude Sonnet 5.5 " in narrow and " low" not in narrow and "<$0.01" in narrow


def test_the_header_counts_agents_where_no_list_of_them_is_shown() -> None:
    def named(id: str, unread: int = 0) -> AgentChanged:
        row = AgentRow(id=id, name=id, kind="native", status="idle", unread=unread)
        return AgentChanged(agent=id, row=row)

    state = reduce(HeaderState("proj", hub="ready"), named("main"))
    assert "agent" not in draw_header(state, 61, model=False, counts=True).plain, "there is but one"
    state = reduce(state, named("0001"))
    assert "2 agents " in draw_header(state, 61, model=False, counts=True).plain
    state = reduce(state, named("0002", unread=1))
    assert "3 agents · 1 done " in draw_header(state, 61, model=False, counts=True).plain
    assert "agents" not in draw_header(state, 120, model=False).plain


def test_without_a_model_no_figure_of_one_is_shown() -> None:
    change = ModelChanged(agent="main", provider="offline", model="offline", window=100_000, label="offline (no model)")
    sections = (SectionSize(name="system", tokens=2_300),)
    usage = UsageReported(
        agent="main", session="s", turn="t", iteration=1, provider="p", model="m", usage=Usage(input=4_500), cost=0.0
    )
    sent = ContextAssembled(
        agent="main",
        session="s",
        turn="t",
        iteration=1,
        tokens=2_300,
        sections=sections,
        window=100_000,
        trigger=85_000,
    )
    state, context = HeaderState("proj", "master", hub="ready"), context_pane.ContextState("main")
    for event in (AgentStatusChanged(agent="main", status="idle"), change, sent, usage):
        state, context = reduce(state, event), context_pane.reduce(context, event)
    for model in (True, False):
        assert draw_header(state, 80, model=model).plain.split() == ["gsh", "proj", "(master)", "no", "model"]
    assert state.agent is not None and spending(state.agent) == ""
    assert [line.split()[0] for line in context_pane.draw(context, 60).plain.splitlines()] == ["system", "estimated"]


def test_the_model_is_told_of_plan_mode_alone() -> None:
    from datetime import date

    assert [mode for mode in MODES if mode_section(mode)] == ["plan"]
    told = system_sections("main", Path("/p"), "", date(2026, 1, 1), mode=mode_section("plan"))
    assert any("Plan mode" in text for text in told)

"""What a program reports over ACP becomes plain data of ours, sanitised and bounded, whatever is in it. Pure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gshtui.bus.agent_data import GuardMode, OpenQuestion, Respondent
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged, ToolStarted
from gshtui.bus.events.approval_events import ApprovalSettled
from gshtui.bus.messages import Usage
from gshtui.features.acp.session_updates import updates_of
from gshtui.fleet.acp.acp_files import program_invocation
from gshtui.fleet.acp.acp_questions import CANCELLED, AcpQuestions, Option, options_of, outcome, question_of
from gshtui.fleet.acp.acp_turn import merged
from gshtui.guard.approval.gate import Gate
from gshtui.guard.modes import AgentModes
from gshtui.guard.rules.rule_book import parse_rules
from gshtui.programs.acp.acp_commands import KNOWN, command_for, program_name
from gshtui.programs.acp.acp_updates import (
    CallReport,
    OptionsReport,
    PlanReport,
    TokenReport,
    WindowReport,
    Words,
    call_report,
    report_of,
    usage_of,
)
from gshtui.programs.acp.acp_updates import options_of as session_options

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(
    [
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "usage_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "something_new",
    ]
)
FIELDS = st.sampled_from(
    [
        "toolCallId",
        "content",
        "title",
        "kind",
        "status",
        "rawInput",
        "rawOutput",
        "locations",
        "entries",
        "used",
        "cost",
        "configOptions",
        "currentModeId",
    ]
)


@given(KINDS, st.dictionaries(FIELDS, JSON, max_size=6))
def test_no_update_raises_and_what_it_says_is_data(kind: str, fields: dict[str, Any]) -> None:
    report_of({"sessionUpdate": kind, **fields})
    session_options(fields)
    usage_of(fields)
    options_of({"options": fields.get("content")})


def test_words_are_sanitised() -> None:
    told = report_of({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a\x1b]52;c;x\x07b"}})
    assert isinstance(told, Words) and told.kind == "answer" and "\x1b" not in told.text
    call = call_report({"toolCallId": "1", "title": "rm\x1b[2J\r\n -rf", "rawInput": {"command": "a\x1b[31mb"}})
    assert call is not None and call.title is not None and call.arguments is not None
    assert call.title.isprintable() and "\x1b" not in call.arguments["command"]


def test_a_call_tells_only_what_is_new() -> None:
    call = call_report({"toolCallId": "1", "status": "completed"})
    assert call == CallReport("1", status="completed")
    assert call_report({"status": "completed"}) is None


def test_a_diff_is_one_of_ours() -> None:
    call = call_report(
        {"toolCallId": "1", "content": [{"type": "diff", "path": "a.txt", "oldText": "x\n", "newText": "y\n"}]}
    )
    assert call is not None and call.diff is not None
    assert "-x" in call.diff and "+y" in call.diff
    huge = call_report(
        {"toolCallId": "1", "content": [{"type": "diff", "path": "a", "oldText": "x" * 3_000_000, "newText": "y"}]}
    )
    assert huge is not None and huge.diff is not None and "3,000,000 characters before" in huge.diff


def test_a_plan_and_a_window_are_read() -> None:
    plan = report_of({"sessionUpdate": "plan", "entries": [{"content": "A", "status": "in_progress"}, {"content": ""}]})
    assert plan == PlanReport((("A", "active"),))
    cost = {"amount": 0.5, "currency": "USD"}
    assert report_of({"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": cost}) == WindowReport(
        10, 100, 0.5
    )
    euros = {"amount": 0.5, "currency": "EUR"}
    assert report_of({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": euros}) == WindowReport(1, 2)
    assert report_of({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}) == OptionsReport(mode="plan")


def test_modes_and_models_become_options() -> None:
    answer = {
        "modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]},
        "models": {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}]},
    }
    assert [(one.id, one.way, one.value) for one in session_options(answer)] == [
        ("mode", "mode", "a"),
        ("model", "model", "m"),
    ]
    select = {"id": "model", "name": "Model", "type": "select", "category": "model", "currentValue": "x"}
    both = {**answer, "configOptions": [{**select, "options": [{"group": "g", "options": [{"value": "x"}]}]}]}
    found = session_options(both)
    assert [(one.id, one.way) for one in found] == [("model", "select"), ("mode", "mode")]
    assert found[0].values[0].value == "x"


def test_tokens_are_read_where_each_program_counts_them() -> None:
    assert usage_of({"usage": {"inputTokens": 3, "outputTokens": 2, "cachedReadTokens": 1}}).context == 6
    gemini = {"_meta": {"quota": {"token_count": {"input_tokens": 20, "output_tokens": 10}}}}
    assert usage_of(json.loads(json.dumps(gemini))).context == 30
    assert usage_of({}).context == 0
    qwen = {"usage": {"inputTokens": 9, "outputTokens": 2, "totalTokens": 11, "cachedReadTokens": 4}, "durationMs": 7}
    told = report_of({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": qwen})
    assert told == TokenReport(Usage(input=5, output=2, cache_read=4))


CHOICES = {"options": [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]}
RULES = """
[[rule]]
do = "allow"
program = "git status"
[[rule]]
do = "deny"
paths = ["secret/*"]
[[rule]]
do = "allow"
tool = ["write"]
paths = ["docs/*"]
[[rule]]
do = "deny"
program = "curl"
"""


async def _answered(
    folder: Path, call: dict[str, Any], mode: GuardMode, respondent: Respondent, rules: str = "", options: Any = CHOICES
) -> tuple[str, list[ApprovalSettled]]:
    """What is answered without a person, or `ask`; and the decisions that are recorded."""
    bus = Bus()
    settled: list[ApprovalSettled] = []
    asked = asyncio.Event()

    def hear(batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, ApprovalSettled):
                settled.append(event)
            elif isinstance(event, AgentStatusChanged) and event.status == "waiting":
                asked.set()

    bus.subscribe(hear, name="test")
    book = replace(parse_rules(folder / "rules.toml", rules), project=folder)
    gate = Gate(
        bus,
        respondent=respondent,
        auto_approve=frozenset({"read"}),
        modes=AgentModes(bus, "", mode),
        rules=lambda: book,
    )
    questions = AcpQuestions(bus, "0001", gate, program_invocation("0001", "s", folder, folder))
    report = call_report({"toolCallId": "c", **call})
    assert report is not None
    answering = asyncio.ensure_future(questions.ask(report, options))
    waiting = asyncio.ensure_future(asked.wait())
    await asyncio.wait((answering, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not answering.done():
        questions.withdraw()
        await answering
        return "ask", settled
    await bus.drained()
    answer, meaning = answering.result()
    assert (meaning == "allowed") == (answer == outcome([Option("y", "", "allow_once")], True))
    return meaning, settled


def _edit(*paths: str) -> dict[str, Any]:
    return {"kind": "edit", "locations": [{"path": path} for path in paths]}


def _run(command: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "execute", "rawInput": {"command": command, **more}}


@pytest.mark.parametrize(
    ("mode", "respondent", "call", "expected"),
    [
        ("ask", "person", _edit("a.txt"), "ask"),
        ("edit", "person", _edit("a.txt"), "allowed"),
        ("edit", "person", _edit("../a.txt"), "ask"),
        ("edit", "person", _edit("a.txt", "../b.txt"), "ask"),
        ("edit", "person", {**_edit("a.txt"), "content": [{"type": "diff", "path": "/b", "newText": ""}]}, "ask"),
        ("edit", "person", {"kind": "edit"}, "ask"),
        ("edit", "person", _edit(".git/hooks/pre-commit"), "ask"),
        ("auto", "person", {"kind": "execute"}, "ask"),
        ("auto", "person", _run("ls"), "ask"),
        ("plan", "person", _edit("a.txt"), "denied"),
        ("plan", "person", {"kind": "switch_mode"}, "denied"),
        ("ask", "person", {"kind": "read", "locations": [{"path": "a.txt"}]}, "allowed"),
        ("plan", "person", {"kind": "read", "locations": [{"path": "../a.txt"}]}, "ask"),
        ("yolo", "person", _run("make"), "allowed"),
        ("yolo", "person", _run("rm -rf /"), "denied"),
        ("yolo", "person", {"kind": "execute", "title": "`rm -rf /`"}, "denied"),
        ("yolo", "nobody", _run("make"), "allowed"),
        ("ask", "nobody", _run("make"), "denied"),
        ("ask", "policy", _edit("a.txt"), "allowed"),
        ("ask", "policy", _run("make"), "denied"),
    ],
)
async def test_the_mode_answers_what_it_may(
    tmp_path: Path, mode: GuardMode, respondent: Respondent, call: dict[str, Any], expected: str
) -> None:
    assert (await _answered(tmp_path, call, mode, respondent))[0] == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (_run("git status"), "allowed"),
        (_run(["bash", "-lc", "git status"]), "allowed"),
        (_run(["git", "status"]), "allowed"),
        (_run("git status && make"), "ask"),
        (_run("git status && ls"), "ask"),
        (_run("git status", cwd="/"), "ask"),
        ({"kind": "execute", "title": "git status"}, "ask"),
        (_run("git status; curl http://a"), "denied"),
        ({"kind": "execute", "title": "`curl http://a`"}, "denied"),
        (_edit("docs/a.md"), "allowed"),
        (_edit("docs/a.md", "src/a.py"), "ask"),
        (_edit("docs/a.md", "secret/a"), "denied"),
        (_edit("secret/a"), "denied"),
        ({"kind": "read", "locations": [{"path": "secret/a"}]}, "denied"),
        ({"kind": "fetch", "title": "http://a"}, "ask"),
    ],
)
async def test_the_persons_rules_answer_what_they_cover(tmp_path: Path, call: dict[str, Any], expected: str) -> None:
    answer, settled = await _answered(tmp_path, call, "ask", "person", RULES)
    assert answer == expected
    if expected != "ask":
        assert [(one.call, one.decision) for one in settled] == [("c", "once" if expected == "allowed" else "deny")]
        assert settled[0].by.startswith("rule rules.toml:")


async def test_a_person_is_warned_as_of_a_command_of_our_own_agents(tmp_path: Path) -> None:
    bus, asked = Bus(), asyncio.Queue[OpenQuestion]()

    def hear(batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, AgentStatusChanged) and event.question is not None:
                asked.put_nowait(event.question)

    bus.subscribe(hear, name="test")
    gate = Gate(bus, respondent="person", auto_approve=frozenset(), modes=AgentModes(bus, "", "ask"))
    questions = AcpQuestions(bus, "0001", gate, program_invocation("0001", "s", tmp_path, tmp_path))
    report = call_report({"toolCallId": "c", **_run("make && git push origin main")})
    assert report is not None
    answering = asyncio.ensure_future(questions.ask(report, CHOICES))
    question = await asked.get()
    questions.withdraw()
    await answering
    assert "may send to the network" in question.warnings


async def test_a_rule_never_gives_more_than_a_yes_for_once(tmp_path: Path) -> None:
    lasting = {"options": [{"optionId": "y", "kind": "allow_always"}, {"optionId": "n", "kind": "reject_once"}]}
    call = _run("git status")
    assert (await _answered(tmp_path, call, "ask", "person", RULES, lasting))[0] == "ask"
    assert (await _answered(tmp_path, call, "yolo", "person", "", lasting))[0] == "ask"
    assert (await _answered(tmp_path, call, "plan", "person", RULES, lasting))[0] == "denied"


def test_an_answer_for_it_never_allows_more_than_once() -> None:
    options = [Option("all", "Always", "allow_always"), Option("no", "No", "reject_once")]
    assert outcome(options, True) is CANCELLED
    assert outcome(options, False)["outcome"]["optionId"] == "no"
    assert outcome([], False) is CANCELLED


def test_a_question_has_the_programs_own_words() -> None:
    report = CallReport("1", title="touch x", kind="execute", arguments={"command": "touch x"}, text="in /tmp")
    asked = question_of(report, [Option("a", "Go on", "allow_once")])
    assert (asked.subject, asked.detail) == ("execute touch x", "in /tmp")
    assert [(choice.key, choice.label) for choice in asked.choices] == [("1", "Go on")]


def test_further_arguments_are_a_row_each_and_none_looks_like_another() -> None:
    arguments = {"timeout": 60, "force": True, "note": "fine\nin /tmp", "env": {"A": "ü"}, "empty": "", "pad": " x"}
    report = CallReport("1", title="deploy", kind="other", arguments=arguments)
    rows = question_of(report, [Option("a", "Go on", "allow_once")]).detail.split("\n")
    assert rows == [
        "timeout: 60",
        "force: true",
        "note: fine",
        "  in /tmp",
        'env: {"A": "ü"}',
        'empty: ""',
        'pad: " x"',
    ]


def _change(before: str | None, after: str) -> dict[str, Any]:
    change = {"type": "diff", "path": "a", "oldText": before, "newText": after}
    return {"kind": "edit", "title": "a", "content": [change]}


@pytest.mark.parametrize(
    ("call", "partial"),
    [
        ({"kind": "execute", "title": "true", "rawInput": {"command": f"echo {'long ' * 90}; rm -rf ~"}}, False),
        ({"kind": "execute", "title": f"`{'true; ' * 60}rm -rf ~`", "rawInput": {}}, False),
        ({"kind": "execute", "title": f"`{'true; ' * 900}rm -rf ~`", "rawInput": {}}, True),
        ({"kind": "execute", "title": f"{'true; ' * 40}rm -rf ~"}, False),
        (_run(f"{'true; ' * 40}rm -rf ~") | {"title": f"{'true; ' * 40}rm -rf ~"}, False),
        (_run(f"true{' ' * 5_000}; rm -rf ~"), False),
        (_run(f"true{' :' * 5_000}; rm -rf ~"), True),
        (_run(f"true{' ' * 50_000}; rm -rf ~"), True),
        (_run("rm -rf ~ #\rtrue"), False),
        ({"kind": "execute", "title": "rm -rf ~ #\rtrue"}, False),
        ({"kind": "other", "title": "deploy", "rawInput": {"force": "rm -rf ~"}}, False),
        ({"kind": "other", "title": f"{'deploy ' * 60}rm -rf ~"}, False),
        ({"kind": "other", "title": f"{'deploy ' * 900}rm -rf ~…"}, True),
        ({"kind": "other", "title": "a", "rawInput": {"b": "rm -rf ~"}, "locations": [{"path": "a"}]}, False),
        ({"kind": "other", "title": "a", "rawInput": {"b": ["x"] * 100 + ["rm -rf ~"]}}, True),
        ({"kind": "other", "title": "a", "rawInput": {f"k{n}": n for n in range(51)}}, True),
        ({"kind": "other", "title": "a", "rawInput": {"b": [[[[[["rm -rf ~"]]]]]]}}, True),
        ({"kind": "other", "title": "a", "rawInput": {"b": f"{' ' * 20_000}rm -rf ~"}}, True),
        ({"kind": "other", "title": "a", "rawInput": {f"{'b' * 80}rm -rf ~": 1}}, True),
        (_run("true", env={"A": "rm -rf ~"}), False),
        (_run("true", cmd="rm -rf ~"), False),
        (_change("x\n", "y\n") | {"rawInput": {"new_string": "y", "force": "rm -rf ~"}}, False),
        (_change(None, "x\n" * 900_000), True),
        (_change("x" * 3_000_000, "y"), True),
        (_change("-- rm -rf ~\nselect 1;\n", "select 1;\n"), False),
        (_change(None, "") | {"title": "rm -rf ~"}, False),
    ],
)
def test_what_is_asked_is_shown_whole_or_allows_nothing(call: dict[str, Any], partial: bool) -> None:
    report = call_report({"toolCallId": "1", **call})
    assert report is not None
    asked = question_of(report, [Option("a", "Go on", "allow_once"), Option("n", "No", "reject_once")])
    assert asked.partial == partial and asked.uncounted == ({"1"} if partial else frozenset())
    assert partial or "rm -rf ~" in f"{asked.subject}\n{asked.detail}\n{asked.diff}"


def test_what_was_cut_of_a_call_stays_cut_once_more_is_told_of_it() -> None:
    first = call_report({"toolCallId": "1", "title": "deploy " * 900, "rawInput": {"a": "b"}})
    then = call_report({"toolCallId": "1", "status": "pending"})
    assert first is not None and then is not None
    assert merged(first, then).cut and not merged(then, then).cut


async def test_what_is_cut_off_a_line_is_allowed_by_no_rule(tmp_path: Path) -> None:
    for line in (f"git status{' ' * 30_000}; rm -rf ~", "rm -rf ~ #\rgit status"):
        assert (await _answered(tmp_path, _run(line), "ask", "person", RULES))[0] != "allowed"
    for more in ("cmd", "args", "stdin"):
        assert (await _answered(tmp_path, _run("git status", **{more: "rm -rf ~"}), "ask", "person", RULES))[0] == "ask"
    many = _run("") | {"rawInput": {"command": ["git", "status", *(["-s"] * 100), "x"]}}
    assert (await _answered(tmp_path, many, "ask", "person", RULES))[0] == "ask"


def test_a_known_program_gets_what_it_needs_and_another_line_stays_as_it_is() -> None:
    assert command_for(["gemini"]) == ("gemini", "--acp")
    there = {"claude-code-acp"}
    assert command_for(["claude"], lambda name: name if name in there else None) == ("claude-code-acp",)
    assert command_for(["gemini", "--acp", "-m", "x"]) == ("gemini", "--acp", "-m", "x")
    assert command_for(["/opt/it", "serve"]) == ("/opt/it", "serve")
    for name, ways in KNOWN.items():
        assert all(program_name(way) == name for way in ways)
    assert program_name(("/opt/it", "serve")) == "it"


@pytest.mark.parametrize(
    ("tool", "kind"),
    [("cat", "read"), ("output", "read"), ("search_context", "search"), ("bash", "execute"), ("of_a_plugin", "other")],
)
def test_what_our_own_tools_do_has_a_kind(tool: str, kind: str) -> None:
    started = ToolStarted(agent="main", session="s", message="m", call="c", tool=tool)
    assert [one.kind for one in updates_of(started, Path("/src"))] == [kind]

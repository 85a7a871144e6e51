"""What a program reports over ACP becomes plain data of ours, sanitised and bounded, whatever is in it. Pure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.agent_data import GuardMode
from gshtui.fleet.acp.acp_questions import CANCELLED, Option, decide, options_of, outcome, question_of
from gshtui.guard.approval import Respondent
from gshtui.programs.acp.acp_commands import KNOWN, command_for, program_name
from gshtui.programs.acp.acp_updates import (
    CallReport,
    OptionsReport,
    PlanReport,
    WindowReport,
    Words,
    call_report,
    report_of,
    usage_of,
)
from gshtui.programs.acp.acp_updates import options_of as session_options

COVERS = ("gshtui.fleet.acp.acp_questions", "gshtui.programs.acp.acp_commands")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ["agent_message_chunk", "tool_call", "tool_call_update", "plan", "usage_update", "config_option_update",
     "current_mode_update", "session_info_update", "something_new"]
)  # fmt: skip
FIELDS = st.sampled_from(
    ["toolCallId", "content", "title", "kind", "status", "rawInput", "rawOutput", "locations", "entries", "used",
     "cost", "configOptions", "currentModeId"]
)  # fmt: skip


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
        ("mode", "mode", "a"), ("model", "model", "m"),
    ]  # fmt: skip
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


@pytest.mark.parametrize(
    ("mode", "respondent", "kind", "paths", "expected"),
    [
        ("ask", "person", "edit", ("a.txt",), "ask"),
        ("edit", "person", "edit", ("a.txt",), "allow"),
        ("edit", "person", "edit", ("../a.txt",), "ask"),
        ("edit", "person", "edit", (), "ask"),
        ("edit", "person", "edit", (".git/hooks/pre-commit",), "ask"),
        ("auto", "person", "execute", (), "ask"),
        ("plan", "person", "edit", ("a.txt",), "deny"),
        ("plan", "person", "read", ("a.txt",), "ask"),
        ("yolo", "person", "execute", (), "allow"),
        ("yolo", "nobody", "execute", (), "deny"),
        ("ask", "policy", "edit", ("a.txt",), "allow"),
        ("ask", "policy", "execute", (), "deny"),
    ],
)
def test_the_mode_answers_what_it_may(
    tmp_path: Path, mode: GuardMode, respondent: Respondent, kind: str, paths: tuple[str, ...], expected: str
) -> None:
    assert decide(mode, respondent, kind, paths, tmp_path) == expected


def test_what_is_always_refused_is_refused_in_every_mode(tmp_path: Path) -> None:
    assert decide("yolo", "person", "execute", (), tmp_path, "rm -rf /") == "deny"


def test_an_answer_for_it_never_allows_more_than_once() -> None:
    options = [Option("all", "Always", "allow_always"), Option("no", "No", "reject_once")]
    assert outcome(options, True) is CANCELLED
    assert outcome(options, False)["outcome"]["optionId"] == "no"
    assert outcome([], False) is CANCELLED


def test_a_question_has_the_programs_own_words() -> None:
    report = CallReport("1", title="touch x", kind="execute", arguments={"command": "touch x"}, text="in /tmp")
    asked = question_of(report, [Option("a", "Go on", "allow_once")], "touch x")
    assert (asked.subject, asked.detail) == ("execute touch x", "in /tmp")
    assert [(choice.key, choice.label) for choice in asked.choices] == [("1", "Go on")]


def test_a_known_program_gets_what_it_needs_and_another_line_stays_as_it_is() -> None:
    assert command_for(["gemini"]) == ("gemini", "--experimental-acp")
    there = {"claude-code-acp"}
    assert command_for(["claude"], lambda name: name if name in there else None) == ("claude-code-acp",)
    assert command_for(["gemini", "--acp", "-m", "x"]) == ("gemini", "--acp", "-m", "x")
    assert command_for(["/opt/it", "serve"]) == ("/opt/it", "serve")
    for name, ways in KNOWN.items():
        assert all(program_name(way) == name for way in ways)
    assert program_name(("/opt/it", "serve")) == "it"

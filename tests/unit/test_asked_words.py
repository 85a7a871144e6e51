"""What a person is asked to approve is the same in every face, character by character, whatever its characters are."""

import random
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui.agents.commands.approval_commands import ApprovalList, _render_list
from gshtui.bus.agent_data import AgentRow, OpenQuestion, QuestionChoice
from gshtui.bus.context_data import Task
from gshtui.bus.events.fleet_events import AgentEnded
from gshtui.commands.declaration import Caller, Invocation, Outcome, Question
from gshtui.commands.printed_outcome import line_printed
from gshtui.context.tasks.plan_command import Plan, _render
from gshtui.fleet.commands.agent_outcomes import answered_question, sent_message
from gshtui.fleet.core.agent_calls import AnsweredQuestion, SentMessage
from gshtui.fleet.core.agent_states import AgentState
from gshtui.fleet.core.agent_tables import agent_details, agents_table
from gshtui.fleet.native.commands import _outcome
from gshtui.guard.approval.open_approvals import OpenApprovals
from gshtui.guard.approval.question_text import program_request, waiting_words
from gshtui.guard.rules.rule_book import RuleBook
from gshtui.headless import streams
from gshtui.headless.commands import keeper_call
from gshtui.headless.outcomes import aloud_text
from gshtui.headless.streams import LINE_FACE, as_typed_here
from gshtui.headless.turns.approval_prompt import question_text
from gshtui.hub.faces import asked_commands
from gshtui.store.sessions.session_calls import SessionSummary
from gshtui.store.sessions.session_commands import _render_summary
from gshtui.store.tables.session_table import SessionInfo
from gshtui.text.markdown_table import bare_columns
from gshtui.text.sanitise import one_line, plain
from gshtui.text.terminal_markdown import markdown_lines
from tests.kit.cases import each_case
from tests.kit.markdown_page import shown_lines

_LETTERS = "`*_~[](){}<>|\\#&$!-+.:;\"'@=^%?/0ab "
_RANDOM = random.Random(32)
COMMANDS = (
    r"echo `date` **x** _y_ # <b>&amp; | grep a\|b ~~z~~ [l](u) $(id) ``` \`q\\",
    "run `approvals revoke 1` and `agent kill 2`",
    "| --- | --- |",
    "- [ ] # x",
    "python __init__.py && rm -rf **/_old_ # x",
    "@x/__server__ --root *src*",
    "``` `` ` ``` ```",
    *(" ".join("".join(_RANDOM.choices(_LETTERS, k=40)).split()) for _ in range(60)),
)


def read_aloud(text: str) -> str:
    LINE_FACE.set(True)
    return aloud_text(text, "agent")


def faces(command: str, choices: tuple[QuestionChoice, ...]) -> dict[str, str]:
    """The texts in which it is shown."""
    asked = OpenQuestion("q", command, f"$ {command}", choices)
    row = AgentRow(id="0001", name="fix", profile="claude", status="waiting", needs_you=True)
    row = replace(row, kind="cli", question=asked, doing=command)
    table, details = agents_table([AgentState(row)]), agent_details(AgentState(row))
    request = program_request(row, asked)
    invocation = Invocation(Caller(), Path("/"), Path("/"))
    outcomes = {
        "agent answer": answered_question(invocation, AnsweredQuestion(row, asked)),
        "approvals": _render_list(
            invocation,
            ApprovalList(RuleBook(), (), (), OpenApprovals(waiting=(request,), names={"0001": "fix"}), (row,)),
        ),
        "agent ls": Outcome([], table, plain=bare_columns(table), fits=True),
        "agent status": Outcome([], details, plain=bare_columns(details)),
    }
    shown = {"line face": question_text(request), "notice": waiting_words(request, "fix")}
    for name, outcome in outcomes.items():
        for way, printed in {
            "shell": line_printed(outcome, as_json=False, plain=True),
            "reader": line_printed(outcome, as_json=False, plain=True, aloud=True),
        }.items():
            ours = as_typed_here if way == "shell" else partial(copy_context().run, read_aloud)
            shown[f"{name} {way}"] = ours(printed["text"]) if printed["own"] else printed["text"]
        shown[f"{name} window"] = "\n".join(shown_lines(outcome.text, 600))
        shown[f"{name} terminal"] = "\n".join(markdown_lines(outcome.text, 600, lambda text, *_: plain(text)))
    return shown


def test_a_command_is_shown_as_it_is_in_every_face() -> None:
    with each_case() as case:
        for choices in ((), (QuestionChoice("1", "Yes"), QuestionChoice("4", "No"))):
            for command in COMMANDS:
                with case(command, choices):
                    is_shown_in_every_face(command, choices)


def is_shown_in_every_face(command: str, choices: tuple[QuestionChoice, ...]) -> None:
    shown = faces(command, choices)
    start = command[:55].rstrip()  # a status names its start
    assert {face: text for face, text in shown.items() if start not in text} == {}
    whole = {face: text for face, text in shown.items() if face.split()[:2] != ["agent", "status"]}
    assert {face: text for face, text in whole.items() if command not in text} == {}


def heard(question: Question, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a face at a terminal asks for a command that the hub does."""
    asked: list[str] = []
    monkeypatch.setattr(streams, "ask_yes_no", asked.append)
    monkeypatch.setattr(keeper_call, "_somebody_is_here", lambda: True)
    keeper_call._agreed(asked_commands.question_text(question))
    (text,) = asked
    return text


def test_what_a_command_asks_for_is_read_aloud_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with each_case() as case:
        for command in COMMANDS:
            with case(command):
                is_read_aloud(command, monkeypatch)


def is_read_aloud(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quoted = f"# x\n---\n| a | b |\n| --- | --- |\n```\n  {command}   {command}\n___"
    agreed: Any = None
    said = heard(Question(agreed, f"Trust {command}?", command, losses=(command,), quoted=quoted), monkeypatch)
    assert said == f"{quoted}\n{command} {command} Trust {command}?"


@pytest.mark.parametrize("answer", ["", " \n"])
def test_an_answer_that_is_not_known_is_not_called_none(answer: str) -> None:
    sent = SentMessage(AgentRow(id="0001", name="fix", kind="cli"), "a", waits=False, answer=answer, source="screen")
    outcome = sent_message(Invocation(Caller(), Path("/"), Path("/")), sent)
    assert (outcome.text, outcome.aside) == ("No answer of fix (0001) is known.",) * 2
    assert outcome.data == {"agent": "0001", "message": "a", "answer": answer, "source": "screen"}


@pytest.mark.parametrize(("after", "says"), [("Which size?", "It asks next"), ("Which toppings?", "It still asks")])
def test_a_question_whose_boxes_are_ticked_is_not_called_the_next(after: str, says: str) -> None:
    ticked = QuestionChoice("1", "[ ] Cheese")
    asked = OpenQuestion("q", "Which toppings?", "", (ticked,))
    found = AnsweredQuestion(AgentRow(id="0001", name="fix", kind="cli"), asked, ticked, OpenQuestion("r", after))
    assert f"{says}: {after}" in answered_question(Invocation(Caller(), Path("/"), Path("/")), found).text


def test_what_others_wrote_is_told_as_it_is() -> None:
    """A plan of an agent, a summary of a model: no command that it names is ours to write in another way."""
    with each_case() as case:
        for command in COMMANDS:
            with case(command):
                is_told(command)


def is_told(command: str) -> None:
    invocation = Invocation(Caller(), Path("/"), Path("/"))
    text = one_line(f"run `agent kill 2`, {command}", 200)
    plan = _render(invocation, Plan("main", (Task("1", text),)))
    ended = AgentEnded(agent="0001", status="done", report=text)
    info = SessionInfo("s1", "t", "/", "main", "", "", 0.0, 0.0, 1)
    summary = _render_summary(invocation, SessionSummary(info, text))
    for outcome in (plan, summary, _outcome(ended, "fix")):
        assert not outcome.is_ours and text in outcome.text
        for aloud in (False, True):
            said = line_printed(outcome, as_json=False, plain=True, aloud=aloud)
            assert not said["own"] and text in said["text"]
    empty = _render(invocation, Plan("main", ()))
    assert empty.is_ours and line_printed(empty, as_json=False, plain=True)["text"] == empty.text

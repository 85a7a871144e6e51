"""What an OpenCode server asks, as questions to a person, and their answers in terms of its API.

Pure. Our digits mean the same for each permission: 1 allows it once, 2 all of this kind until the program ends, 4
refuses it. A question of the model's keeps its own order; of several in one, each is asked for itself. One that takes
more than one choice keeps to the program's own screen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gshtui.bus.agent_data import LONGEST_CHOICE, OpenQuestion, QuestionChoice
from gshtui.system.json_types import obj, objects, seq, string
from gshtui.text.sanitise import one_line, visible

_PREFIX = "opencode-"
_DETAIL, _DIFF, _SUBJECT = 8_000, 400_000, 300
_MOST_CHOICES, _MOST_LINES = 8, 60
_DOES = {
    "bash": "Run",
    "edit": "Change",
    "webfetch": "Fetch",
    "websearch": "Search the web for",
    "task": "Start a helper",
    "external_directory": "Reach outside of its folder",
    "doom_loop": "Go on with what it does again and again",
    "read": "Read",
    "glob": "Look for files",
    "grep": "Search",
    "list": "List",
    "todowrite": "Change its list of tasks",
    "skill": "Use a skill",
    "lsp": "Ask a language server",
}


class ServerRequest(msgspec.Struct, frozen=True):
    """One open request. `answers`: digit → the path below the API, and the body; no path: nothing is sent yet."""

    id: str
    session: str
    question: OpenQuestion
    at: float
    answers: Mapping[str, tuple[str, Mapping[str, Any]]] = msgspec.field(
        default_factory=dict[str, tuple[str, Mapping[str, Any]]]
    )
    refusal: tuple[str, Mapping[str, Any]] = ("", {})
    """What gives it up."""
    told: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """The questions of the model as the server told them."""


def is_server_question(id: str) -> bool:
    return id.startswith(_PREFIX)


def permission_request(asked: Mapping[str, Any], whose: str, at: float) -> ServerRequest | None:
    """A call that needs permission; `None` where it has no id. `whose`: who asks, if that is not the agent itself."""
    id, kind = string(asked.get("id")), string(asked.get("permission"))
    if not id:
        return None
    facts = obj(asked.get("metadata"))
    patterns = [each for each in seq(asked.get("patterns")) if isinstance(each, str)]
    always = [each for each in seq(asked.get("always")) if isinstance(each, str)]
    about = _about(kind, facts, patterns)
    subject = f"{_DOES.get(kind, kind)}: {about}" if about else _DOES.get(kind, kind) or "Allow this?"
    diff = _diff(facts)
    parts = [visible(about)] if about and not diff else []  # a change has its file's whole path itself
    parts += [f"asked by {whose}"] if whose else []
    parts += _more(kind, facts, patterns)
    path = f"/permission/{id}/reply"
    choices = [QuestionChoice("1", "Allow once", "once")]
    answers: dict[str, tuple[str, Mapping[str, Any]]] = {
        "1": (path, {"reply": "once"}),
        "4": (path, {"reply": "reject"}),
    }
    if always:
        lasting = ", ".join(always[:6]) + (f" and {len(always) - 6} more" if len(always) > 6 else "")
        kept = "everything of this kind" if always == ["*"] else lasting
        words = one_line(f"Allow until it ends: {kept}", len(kept) + LONGEST_CHOICE)
        if len(words) <= LONGEST_CHOICE:  # what nobody can read here, nobody allows here
            choices.append(QuestionChoice("2", words, "more"))
            answers["2"] = path, {"reply": "always"}
    choices.append(QuestionChoice("4", "Reject, which ends its turn", "deny"))
    detail, shown = "\n".join(parts), visible(diff, counted=False)
    question = OpenQuestion(
        _PREFIX + id,
        one_line(subject, _SUBJECT),
        detail[:_DETAIL],
        tuple(choices),
        partial=len(detail) > _DETAIL or len(shown) > _DIFF,
        diff=shown[:_DIFF],
        command=string(facts.get("command")),
    )
    return ServerRequest(id, string(asked.get("sessionID")), question, at, answers, (path, {"reply": "reject"}))


def _about(kind: str, facts: Mapping[str, Any], patterns: list[str]) -> str:
    for name in ("command", "filepath", "filePath", "url", "query", "pattern", "path", "description"):
        if text := string(facts.get(name)):
            short = patterns[0] if kind == "edit" and len(patterns) == 1 else text  # below the project's folder
            return short if text.endswith(f"/{short}") and text != f"/{short}" else text
    return ", ".join(patterns[:6]) if patterns != ["*"] else ""


def _more(kind: str, facts: Mapping[str, Any], patterns: list[str]) -> list[str]:
    """Lines on what is not in the subject: parts of a command that are judged, and facts of an unknown kind."""
    known = {"command", "filepath", "filePath", "diff", "url", "files"}
    lines = [f"part: {visible(each)}" for each in patterns] if kind == "bash" and len(patterns) > 1 else []
    for name, value in facts.items():
        if name not in known:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            lines.append(f"{visible(name)}: {visible(text)}")
    return lines[:_MOST_LINES]


def _diff(facts: Mapping[str, Any]) -> str:
    """What would be changed, without the two lines that some diffs have above it."""
    lines = string(facts.get("diff")).split("\n")
    return "\n".join(line for line in lines if not line.startswith(("Index: ", "=====")))


def with_reason(answer: tuple[str, Mapping[str, Any]], reason: str) -> tuple[str, Mapping[str, Any]] | None:
    """A refusal that says why, with which its turn goes on; `None`: this answer takes no words."""
    path, body = answer
    return (path, {**body, "message": reason}) if body.get("reply") == "reject" else None


def question_request(
    asked: Mapping[str, Any], at: float, given: Sequence[Sequence[str]] = (), chosen: Sequence[str] = ()
) -> ServerRequest | None:
    """A question that the model asks; `None` where it has no id.

    Args:
        given: the answers to the first ones of several.
        chosen: what has been chosen so far, where several answers can be.
    """
    id = string(asked.get("id"))
    questions = objects(asked.get("questions"))
    if not id or len(questions) <= len(given):
        return None
    path, place = f"/question/{id}/reply", len(given)
    refusal: tuple[str, Mapping[str, Any]] = f"/question/{id}/reject", {}
    now = questions[place]
    labels = [string(obj(each).get("label")) for each in seq(now.get("options"))]
    choices: list[QuestionChoice] = []
    answers: dict[str, tuple[str, Mapping[str, Any]]] = {}
    several, partial = now.get("multiple") is True, False
    if all(_has_digits(each) for each in questions):
        abouts = [string(obj(each).get("description")) for each in seq(now.get("options"))]
        partial = any(len(each) > LONGEST_CHOICE for each in (*labels, *abouts))
        for at_key, (label, about) in enumerate(zip(labels, abouts, strict=True), 1):
            sign = ("[x] " if label in chosen else "[ ] ") if several else ""
            name, said = (one_line(words, LONGEST_CHOICE) for words in (label, about))
            choices.append(QuestionChoice(str(at_key), sign + name, about=said))
            if several:
                picked = [each for each in labels if (each in chosen) != (each == label)]
                answers[str(at_key)] = "", {"answers": list(given), "chosen": picked}
            else:
                answers[str(at_key)] = _answered(path, [*given, [label]], questions)
        if several:  # with none chosen, too: else it would be another question after the first
            choices.append(QuestionChoice(str(len(choices) + 1), "These"))
            answers[str(len(choices))] = _answered(path, [*given, list(chosen)], questions)
        dismiss = str(len(choices) + 1)
        choices.append(
            QuestionChoice(dismiss, "Dismiss the question" if len(questions) == 1 else "Dismiss all of them")
        )
        answers[dismiss] = refusal
    words = string(now.get("question"))
    lines = [line for each in questions for line in _lines(each)]
    if choices:  # which say all else
        lines = [visible(words)] if one_line(words, _SUBJECT) != words else []
    subject = string(now.get("question")) or string(now.get("header")) or "It asks something"
    if len(questions) > 1:
        subject = f"{subject} ({place + 1} of {len(questions)})"
    key = f"{_PREFIX}{id}" + (f"-{place + 1}" if place else "")
    key += "".join(f"+{at_key}" for at_key, label in enumerate(labels, 1) if label in chosen)
    detail = "\n".join(lines)
    partial = partial or len(detail) > _DETAIL
    overflows = not choices and max(len(seq(each.get("options"))) for each in questions) > _MOST_CHOICES
    question = OpenQuestion(
        key, one_line(subject, _SUBJECT), detail[:_DETAIL], tuple(choices), partial, overflows=overflows
    )
    return ServerRequest(id, string(asked.get("sessionID")), question, at, answers, refusal, asked)


def _answered(path: str, every: Sequence[Sequence[str]], questions: Sequence[object]) -> tuple[str, Mapping[str, Any]]:
    """What sends these answers, once there is one to each question."""
    return (path if len(every) == len(questions) else ""), {"answers": [list(each) for each in every]}


def _has_digits(question: Mapping[str, Any]) -> bool:
    """Whether it is answered by its labels, and there is a digit for each and for what ends the question."""
    labels = [string(obj(each).get("label")) for each in seq(question.get("options"))]
    most = _MOST_CHOICES - (question.get("multiple") is True)
    return 0 < len(labels) <= most and all(labels) and len(set(labels)) == len(labels)


def _lines(question: Mapping[str, Any]) -> list[str]:
    lines: list[str] = [visible(string(question.get("question")))]
    if question.get("multiple") is True:
        lines.append("several can be chosen")
    for each in seq(question.get("options")):
        label, about = string(obj(each).get("label")), string(obj(each).get("description"))
        lines.append(visible(f"- {label}: {about}" if about else f"- {label}"))
    return lines

"""What Codex's app-server asks, as questions to a person, and their answers in terms of its protocol.

Pure. Our digits mean the same for every question: 1 allows it once, 2 for the session, 3 for good, 4 refuses it, 5 also
stops the turn. A request that has other answers than choices keeps to Codex's own screen.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus.agent_data import LONGEST_CHOICE, OpenQuestion, QuestionChoice
from gshtui.programs.codex.app_server_connection import RequestId, ServerMessage
from gshtui.system.json_types import obj, objects, string, strings
from gshtui.system.processes.process_tree import SHELLS
from gshtui.text.sanitise import literal, one_line, visible

COMMAND, CHANGE = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
PERMISSIONS, INPUT = "item/permissions/requestApproval", "item/tool/requestUserInput"
ELICITATION = "mcpServer/elicitation/request"
ASKS = frozenset((COMMAND, CHANGE, PERMISSIONS, INPUT, ELICITATION))
"""The requests that a person answers. The server's others are for the program that shows its screen."""
_ONCE, _SESSION, _ALWAYS, _NO, _STOP = "1", "2", "3", "4", "5"
_MOST = 9
"""Choices that have a digit."""
_LINES, _DETAIL, _DIFF = 40, 16_000, 400_000
"""Files that are named, and characters that are shown of what it is about and of a change."""
_PREFIX = "codex-"
_TYPING = "writeStdin"
"""What is asked about is text for a command that runs, not a command."""


class CodexRequest(msgspec.Struct, frozen=True):
    """One open question. `answers`: digit → the result that it is answered with."""

    id: RequestId
    thread: str
    turn: str
    question: OpenQuestion
    answers: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict[str, Mapping[str, Any]])


def is_codex_question(id: str) -> bool:
    return id.startswith(_PREFIX)


def request_of(message: ServerMessage, changes: Sequence[Mapping[str, Any]] = ()) -> CodexRequest | None:
    """The question in a request of the server's; `None` where it is none to a person. `changes`: of the item that it is
    about, where that changes files.
    """
    if message.id is None or message.method not in ASKS:
        return None
    params = message.params
    make = {
        COMMAND: _command,
        PERMISSIONS: _permissions,
        INPUT: _input,
        ELICITATION: _elicitation,
    }.get(message.method)
    subject, detail, diff, offered = make(params) if make is not None else _change(params, changes)
    overflows, offered = len(offered) > _MOST, offered[:_MOST]
    abouts = _abouts(params) if message.method == INPUT else {}
    cut = any(len(words) > LONGEST_CHOICE for key, label, _ in offered for words in (label, abouts.get(key, "")))
    question = OpenQuestion(
        _question_id(message, diff),
        one_line(subject, 300),
        detail[:_DETAIL],
        tuple(_choice(key, label, message.method, abouts.get(key, "")) for key, label, _ in offered),
        partial=cut or len(detail) > _DETAIL or len(diff) > _DIFF,
        overflows=overflows,
        diff=diff[:_DIFF],
        beside=f"because: {visible(reason)}"[:_DETAIL] if (reason := string(params.get("reason"))) else "",
        command="" if params.get("kind") == _TYPING else command_line(string(params.get("command"))),
    )
    answers = {key: result for key, _, result in offered}
    return CodexRequest(message.id, string(params.get("threadId")), string(params.get("turnId")), question, answers)


def _choice(key: str, label: str, method: str, about: str) -> QuestionChoice:
    words = one_line(label, LONGEST_CHOICE)
    if method == INPUT:
        return QuestionChoice(key, words, about=one_line(about, LONGEST_CHOICE))
    return QuestionChoice(key, words, "deny" if label.startswith("No") else "once" if key == _ONCE else "more")


def _question_id(message: ServerMessage, diff: str) -> str:
    """The same for the same request about the same change, in every process that is connected."""
    told = json.dumps([message.id, message.method, message.params, diff], sort_keys=True, default=str)
    return _PREFIX + hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:20]


_Offer = tuple[str, str, Mapping[str, Any]]
_Asked = tuple[str, str, str, list[_Offer]]
"""Subject, detail, diff and the offers: digit, label, result."""


def _command(params: Mapping[str, Any]) -> _Asked:
    line = command_line(string(params.get("command")))
    folder = string(params.get("cwd"))
    network = obj(params.get("networkApprovalContext"))
    host = string(network.get("host"))
    parts = [visible(line)] if line else []
    parts += [f"connects to {visible(host)} ({visible(string(network.get('protocol')))})"] if host else []
    parts += [f"in {visible(folder)}"] if folder else []
    doing = "Send this to the running command" if params.get("kind") == _TYPING else "Run"
    subject = f"{doing}: {line}" if line else f"Connect to {host}?" if host else "Run a command?"
    return subject, "\n".join(parts), "", _decisions(params)


def command_line(command: str) -> str:
    """The line that a command runs, without the shell around it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    wrapped = len(words) == 3 and Path(words[0]).name in SHELLS and words[1] in ("-c", "-lc")
    return words[2] if wrapped else command


def _change(params: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]) -> _Asked:
    paths = [string(change.get("path")) for change in changes]
    root = string(params.get("grantRoot"))
    parts = [f"file: {visible(path)}" for path in paths[:_LINES]]
    parts += [f"and {len(paths) - _LINES} more files"] if len(paths) > _LINES else []
    parts += [f"and writes below {visible(root)} for the session"] if root else []
    if not paths:  # what nobody can read here, nobody allows here
        return "Change files: its terminal shows which", "\n".join(parts), "", []
    diff = "\n".join(unified(change) for change in changes)
    return f"Change {', '.join(paths)}", "\n".join(parts), diff, _decisions(params)


def unified(change: Mapping[str, Any]) -> str:
    """One file's change as a unified diff."""
    path, text = string(change.get("path")), literal(string(change.get("diff")))
    kind = obj(change.get("kind"))
    what = string(kind.get("type"))
    name = one_line(literal(path), 1000).lstrip("/")
    after = one_line(literal(string(kind.get("move_path"))), 1000).lstrip("/") or name
    if what in ("add", "delete"):
        lines = text.removesuffix("\n").split("\n") if text else []
        sign, hunk = ("+", f"@@ -0,0 +1,{len(lines)} @@") if what == "add" else ("-", f"@@ -1,{len(lines)} +0,0 @@")
        text = literal("\n".join([hunk, *(f"{sign}{line}" for line in lines)]) if lines else "")
    old, new = ("/dev/null" if what == "add" else f"a/{name}"), ("/dev/null" if what == "delete" else f"b/{after}")
    return f"--- {old}\n+++ {new}\n{text}".rstrip("\n")


def _decisions(params: Mapping[str, Any]) -> list[_Offer]:
    """The answers to a command or a change: those that the server offers, and always a refusal."""
    given = isinstance(params.get("availableDecisions"), list)
    human = string(params.get("kind")) == "humanCommand"
    usual = ["accept"] if human else ["accept", "acceptForSession"]
    offered = strings(params.get("availableDecisions")) if given else usual
    found: list[_Offer] = []
    if "accept" in offered:
        found.append((_ONCE, "Yes, this once", {"decision": "accept"}))
    if "acceptForSession" in offered:
        found.append((_SESSION, "Yes, for this session", {"decision": "acceptForSession"}))
    lasting = objects(params.get("availableDecisions"))
    for key, decision in zip((_ALWAYS, "7", "8", "9"), lasting, strict=False):
        if (label := _lasting(decision)) and len(label) <= LONGEST_CHOICE:
            found.append((key, label, {"decision": decision}))
    found.append((_NO, "No, go on without it", {"decision": "decline"}))
    found.append((_STOP, "No, and stop its turn", {"decision": "cancel"}))
    return sorted(found, key=lambda offer: offer[0])


def _lasting(decision: Mapping[str, Any]) -> str:
    if rule := strings(obj(decision.get("acceptWithExecpolicyAmendment")).get("execpolicy_amendment")):
        return f"Yes, always what begins with: {shlex.join(rule)}"
    network = obj(obj(decision.get("applyNetworkPolicyAmendment")).get("network_policy_amendment"))
    if host := string(network.get("host")):
        return f"{'No, never' if string(network.get('action')) == 'deny' else 'Yes, always'} connect to {host}"
    return ""


def _permissions(params: Mapping[str, Any]) -> _Asked:
    wanted = obj(params.get("permissions"))
    parts = [visible(json.dumps(wanted, indent=1, ensure_ascii=False))]
    parts += [f"in {visible(string(params.get('cwd')))}"] if params.get("cwd") else []
    offers: list[_Offer] = [
        (_ONCE, "Yes, for this turn", {"permissions": wanted, "scope": "turn"}),
        (_SESSION, "Yes, for this session", {"permissions": wanted, "scope": "session"}),
        (_NO, "No", {"permissions": {}, "scope": "turn"}),
    ]
    return "More permissions?", "\n".join(parts), "", offers


def _input(params: Mapping[str, Any]) -> _Asked:
    questions = objects(params.get("questions"))
    if len(questions) != 1:
        lines = [visible(string(one.get("question"))) for one in questions]
        return f"{len(questions)} questions", "\n".join(lines), "", []
    one = questions[0]
    options, id = objects(one.get("options")), string(one.get("id"))
    labels = [string(option.get("label")) for option in options]
    detail = visible(string(one.get("question")))
    # Where it takes words of one's own, or a secret, its terminal has the field for them.
    offers: list[_Offer] = [
        (str(at), label, {"answers": {id: {"answers": [label]}}}) for at, label in enumerate(labels, 1) if label
    ]
    return (
        string(one.get("question")) or string(one.get("header")),
        detail,
        "",
        offers if not one.get("isSecret") else [],
    )


def _abouts(params: Mapping[str, Any]) -> dict[str, str]:
    """What is said of each choice, by its digit: two may have one label."""
    options = [option for one in objects(params.get("questions")) for option in objects(one.get("options"))]
    return {str(at): string(option.get("description")) for at, option in enumerate(options, 1)}


def _elicitation(params: Mapping[str, Any]) -> _Asked:
    name, message = string(params.get("serverName")), string(params.get("message"))
    subject = f"{name} asks: {message}" if name else message
    fields = obj(obj(params.get("requestedSchema")).get("properties"))
    if fields or string(params.get("mode")) == "url":
        return subject, visible(message), "", []
    offers: list[_Offer] = [
        (_ONCE, "Yes, this once", {"action": "accept", "content": {}}),
        (_NO, "No", {"action": "decline"}),
        (_STOP, "No, and stop it", {"action": "cancel"}),
    ]
    return subject, visible(message), "", offers

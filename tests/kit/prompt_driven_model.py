"""A model that does what the last prompt's words ask for, so that a real program can be led through its screens.

`do:touch` calls a tool that writes, `do:sleep` one that takes a while, `do:list` answers with a numbered list,
`do:long` at length, `do:propose` with a plan as Codex marks one, `do:fail` with an error; anything else is answered in
a sentence. A program's own tools are called by further wishes (`calls`). Knows no API but by its words for things.
"""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.kit.loopback.script import Answer, Call, Fault, Say, Think
from tests.kit.loopback.server import Asked

_RESULTS = ('"tool_result"', '"function_call_output"', '"functionResponse"', '"role": "tool"')
_WISH = re.compile(r"do:(\w+)")
LIST = "There are two ways:\n\n1. Yes, rewrite the parser\n2. No, keep it and add a test\n\nTell me which one you want."
PROPOSED = "# Tidy the notes\n\n1. Read them.\n2. Write them anew.\n"
END = "That was all of it."
LONG = "This sentence says nothing, at some length, about esc to interrupt. "


def _messages(body: dict[str, Any]) -> list[Any]:
    for name in ("messages", "input", "contents"):
        if isinstance(body.get(name), list):
            return body[name]
    return []


def _unanswered(messages: list[Any]) -> list[Any]:
    """What came since the model spoke last; some programs put words of their own behind a person's."""
    spoken = [at for at, each in enumerate(messages) if isinstance(each, dict) and _is_models(each)]
    return messages[spoken[-1] + 1 :] if spoken else messages


def _is_models(message: dict[str, Any]) -> bool:
    return message.get("role") in ("assistant", "model") or message.get("type") in ("function_call", "reasoning")


Calls = Mapping[str, Sequence[tuple[str, dict[str, Any]]]]
"""Wishes → calls of a program's own tools (`GROUP/NAME` where they are in groups), each made once the one before has
its result. An argument `PLAN_FILE` is the file that the program told its model to write a plan into."""
PLAN_FILE = "{plan}"
_PLAN_FILE = re.compile(r"/[\w./-]+/plans/[\w-]+\.md")


def follow_prompts(shell: str, argument: str, calls: Calls | None = None, **more: Any) -> Any:
    """`Loopback.choose` for a program whose tool for commands is `shell`, the command being its `argument`.

    A program without a tool for commands (`shell` empty) has none at all, so every request is a turn.
    """

    numbers = itertools.count(1)
    coming: list[tuple[str, dict[str, Any]]] = []

    def run(command: str) -> Call:
        return Call(shell, {argument: command, **more}, id=f"call_{next(numbers):08}")

    def own(body: dict[str, Any]) -> Call:
        name, arguments = coming.pop(0)
        plan = _PLAN_FILE.search(json.dumps(body))
        arguments = {
            key: plan.group() if plan is not None and value == PLAN_FILE else value for key, value in arguments.items()
        }
        group, _, name = name.rpartition("/")
        return Call(name, arguments, id=f"call_{next(numbers):08}", namespace=group)

    def choose(asked: Asked) -> Answer:
        body = asked.body if isinstance(asked.body, dict) else {}
        if shell and not body.get("tools"):  # the program asks for a title, or whether the model is there
            return [Say("Small talk")]
        last = json.dumps(_unanswered(_messages(body)))
        wishes = list(_WISH.finditer(last))
        result = max(last.rfind(mark) for mark in _RESULTS)
        wish = wishes[-1].group(1) if wishes else ""
        if result > (wishes[-1].start() if wishes else -1):
            return [own(body)] if coming else [Say("Done; the command has run.")]
        coming[:] = (calls or {}).get(wish, ())
        if coming:
            return [Say("I do that."), own(body)]
        match wish:
            case "touch":
                return [Say("I make the file."), run("touch made.txt")]
            case "sleep":
                return [run("touch slept.txt; sleep 4; echo slept")]
            case "list":
                return [Say(LIST)]
            case "long":
                return [Think("How long is long?"), Say(LONG * 60 + END)]
            case "propose":
                return [Say(f"<proposed_plan>\n{PROPOSED}</proposed_plan>")]
            case "fail":
                return [Fault.status(400, message="the model is not in the mood")]
            case _:
                return [Say("Hello. I am here.")]

    return choose

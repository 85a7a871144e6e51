"""A model that does what the last prompt's words ask for, so that a real program can be led through its screens.

`do:touch` calls the tool that runs commands, `do:long` answers at length; further wishes call a program's own tools.
Anything else is answered in a sentence. Knows no API but by its words for things.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gshtui.programs.check.check_setup import OwnCall, ShellTool
from gshtui.programs.check.model_server import ModelRequest
from gshtui.programs.check.model_wire import ModelAnswer, Reasoning, ToolUse, Utterance
from gshtui.system.json_types import is_object, obj, seq

MADE = "made.txt"
"""What `do:touch` makes."""
SAYS = "says nothing about esc to interrupt"
"""What is in each sentence of `do:long`."""
END = "That was all of it."
_THINGS = ("river", "lamp", "garden", "letter", "stone", "window", "cloud", "table", "engine", "road", "violin")
_RESULTS = ('"tool_result"', '"function_call_output"', '"functionResponse"', '"role": "tool"')
_WISH = re.compile(r"do:(\w+)")
_PLAN, _PLAN_FILE = "<plan>", re.compile(r"(?:(?<![\w./-])|(?<=\\n))/[\w./-]+/plans/[\w-]++\.md")


def follow_prompts(
    tool: ShellTool, wishes: Mapping[str, Sequence[OwnCall]]
) -> Callable[[ModelRequest], ModelAnswer | None]:
    """`ModelServer.choose` for a program. One without a tool for commands has none at all, so each request is a turn.
    `wishes`: → calls, each made once the one before has its result.
    """
    numbers = itertools.count(1)
    coming: list[OwnCall] = []

    def own(body: object) -> ToolUse:
        call = coming.pop(0)
        plan = _PLAN_FILE.search("\n".join(strings(body)))
        arguments = {
            name: plan.group() if plan is not None and value == _PLAN else value
            for name, value in call.arguments.items()
        }
        return ToolUse(call.name, arguments, id=f"call_{next(numbers):08}")

    def choose(asked: ModelRequest) -> ModelAnswer:
        body = obj(asked.body)
        if tool.name and not body.get("tools"):  # the program asks for a title, or whether the model is there
            return [Utterance("Small talk")]
        last = json.dumps(_unanswered(_messages(body)))
        found = list(_WISH.finditer(last))
        wish = found[-1].group(1) if found else ""
        if max(last.rfind(mark) for mark in _RESULTS) > (found[-1].start() if found else -1):
            return [own(body)] if coming else [Utterance("Done; the command has run.")]
        coming[:] = wishes.get(wish, ())
        if coming:
            return [Utterance("I do that."), own(body)]
        if wish == "touch":
            arguments = {tool.argument: f"touch {MADE}", **tool.more}
            return [Utterance("I make the file."), ToolUse(tool.name, arguments, id=f"call_{next(numbers):08}")]
        if wish == "long":
            return [Reasoning("How long is long?"), Utterance(_long())]
        return [Utterance("Hello. I am here.")]

    return choose


def _long() -> str:
    """Many sentences, each different: some programs end an answer that repeats itself."""
    things = itertools.cycle(_THINGS)
    pairs = [(next(things), next(itertools.islice(things, number % 7, None))) for number in range(70)]
    return "".join(f"{n}. The {one} by the {other} {SAYS}. " for n, (one, other) in enumerate(pairs, 1)) + END


def strings(value: object) -> list[str]:
    """Every piece of text in plain data."""
    if isinstance(value, str):
        return [value]
    return [text for each in (*obj(value).values(), *seq(value)) for text in strings(each)]


def _messages(body: Mapping[str, Any]) -> list[Any]:
    return next((found for name in ("messages", "input", "contents") if (found := seq(body.get(name)))), list[Any]())


def _unanswered(messages: list[Any]) -> list[Any]:
    """What came since the model spoke last; some programs put words of their own behind a person's."""
    spoken = [at for at, each in enumerate(messages) if is_object(each) and _is_models(each)]
    return messages[spoken[-1] + 1 :] if spoken else messages


def _is_models(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("assistant", "model") or message.get("type") in ("function_call", "reasoning")

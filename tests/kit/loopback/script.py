"""What a loopback server answers, in words that know no API: steps, answers, faults.

An answer is a list of steps; a script is a list of answers, one for each request. `parse` reads the same from JSON. All
but the faults is also what the product's own model says.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gshtui.programs.check.model_wire import AnswerEnd as Ends
from gshtui.programs.check.model_wire import AnswerStep as Step
from gshtui.programs.check.model_wire import ModelAnswer as Answer
from gshtui.programs.check.model_wire import Reasoning as Think
from gshtui.programs.check.model_wire import TokenUse as Spent
from gshtui.programs.check.model_wire import ToolUse as Call
from gshtui.programs.check.model_wire import Utterance as Say
from gshtui.programs.check.model_wire import end, pieces, spent

__all__ = ["Answer", "Call", "Ends", "Fault", "Say", "Spent", "Step", "Strange", "Think"]
__all__ += ["end", "fault", "parse", "parse_step", "pieces", "spent"]


class Strange(Step, frozen=True):
    """Events and blocks that no client knows yet."""


class Fault(Step, frozen=True):
    """Something that goes wrong. `after` counts deltas that are still sent before it."""

    kind: str
    after: int = 0
    status_code: int = 0
    retry_after: float | None = None
    message: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """More headers of the refusal."""

    @classmethod
    def status(cls, status: int, *, retry_after: float | None = None, message: str = "") -> Fault:
        """An HTTP status with the API's own error body."""
        return cls("status", status_code=status, retry_after=retry_after, message=message)

    @classmethod
    def quota(cls) -> Fault:
        """The account's quota is used up, as the API says it."""
        return cls("quota")

    @classmethod
    def context(cls) -> Fault:
        """The conversation is too long, as the API says it."""
        return cls("context")

    @classmethod
    def unsigned(cls) -> Fault:
        """The API no longer accepts what it signed."""
        return cls("unsigned")

    @classmethod
    def cut_after(cls, deltas: int) -> Fault:
        """The connection breaks."""
        return cls("cut", after=deltas)

    @classmethod
    def half_after(cls, deltas: int) -> Fault:
        """The answer stops, politely, without its end."""
        return cls("half", after=deltas)

    @classmethod
    def error_after(cls, deltas: int) -> Fault:
        """The API says within the answer that it is overloaded."""
        return cls("error", after=deltas)

    @classmethod
    def garbage_after(cls, deltas: int) -> Fault:
        """Bytes that mean nothing."""
        return cls("noise", after=deltas)

    @classmethod
    def hang(cls) -> Fault:
        """No answer, and the connection stays open."""
        return cls("hang", after=-1)

    @classmethod
    def hang_after(cls, deltas: int) -> Fault:
        """Nothing more, and the connection stays open."""
        return cls("hang", after=deltas)

    @classmethod
    def garbage(cls) -> Fault:
        """A web page with status 200."""
        return cls("garbage")

    @classmethod
    def empty(cls) -> Fault:
        """A whole answer with nothing in it."""
        return cls("empty")

    @staticmethod
    def broken_json(name: str = "read", raw: str = '{"path": "a.py", ') -> Call:
        """A tool call whose arguments are no JSON."""
        return Call(name, raw=raw)


def fault(answer: Answer) -> Fault | None:
    """What goes wrong with the answer."""
    return next((step for step in answer if isinstance(step, Fault)), None)


_FAULTS = {
    "quota": lambda _: Fault.quota(),
    "context": lambda _: Fault.context(),
    "unsigned": lambda _: Fault.unsigned(),
    "garbage": lambda _: Fault.garbage(),
    "empty": lambda _: Fault.empty(),
    "cut": lambda step: Fault.cut_after(step.get("after", 0)),
    "half": lambda step: Fault.half_after(step.get("after", 0)),
    "error": lambda step: Fault.error_after(step.get("after", 0)),
    "noise": lambda step: Fault.garbage_after(step.get("after", 0)),
    "hang": lambda step: Fault.hang_after(step.get("after", -1)),
    "broken_json": lambda step: Fault.broken_json(step.get("name", "read")),
    "status": lambda step: Fault.status(
        step["status"], retry_after=step.get("retry_after"), message=step.get("message", "")
    ),
}


def parse_step(step: dict[str, Any]) -> Step:
    """One step: `{"say": "…"}`, `{"think": "…"}`, `{"call": "read", "arguments": {…}}`, `{"usage": {…}}`,
    `{"ends": "max_tokens"}`, `{"strange": true}`, `{"fault": "status", "status": 429, "retry_after": 1}`.
    """
    if "say" in step:
        return Say(step["say"] * int(step.get("times", 1)))
    if "think" in step:
        return Think(step["think"])
    if "call" in step:
        return Call(step["call"], step.get("arguments", {}), step.get("id", ""), step.get("raw"))
    if "usage" in step:
        return Spent(**step["usage"])
    if "ends" in step:
        return Ends(step["ends"])
    if "strange" in step:
        return Strange()
    if "fault" in step:
        return _FAULTS[step["fault"]](step)
    raise ValueError(f"not a step: {step}")


def parse(data: Any) -> list[Answer]:
    """A script: a list of answers, each a list of steps or a single step."""
    answers = [answer if isinstance(answer, list) else [answer] for answer in data]
    return [[parse_step(step) for step in answer] for answer in answers]

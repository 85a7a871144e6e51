"""What a window and its hub in another process say to each other. A line is one JSON object.

The window opens (`WindowOpening`), and is told `begins` or why it is `declined`. From then on it sends events
(`event`), calls (`id`, `do`, `with`), the end of one that nobody waits for (`cancel`), and answers (`answer`, `yes`);
it is sent events, results (`id` with `value`, `failed` or `fault`), questions of a running call (`ask`, `question`),
the commands that there are (`commands`), and for which conversation it is to open anew (`move`). Values are as in
`plain_values`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.event import Event
from gshtui.bus.events import agent_events, approval_events, hub_events
from gshtui.system.expected_error import ExpectedError
from gshtui.system.plain_values import from_plain, to_plain

_INTENTS = ("Requested", "Submitted", "Answered")
_ALSO: tuple[type[Event], ...] = (
    agent_events.PromptBegun,
    agent_events.PromptWithdrawn,
    hub_events.FaultReported,
    hub_events.Noticed,
    hub_events.SubscriberFailed,
)


class NotReady(ExpectedError):
    """There is no hub to ask now; the text says why and what to do."""


class HubLost(NotReady):
    """The hub in the other process has ended, or the connection to it."""

    def __init__(self) -> None:
        super().__init__("The hub has ended. What was said until then is in the conversation.")


class OpenRequest(msgspec.Struct, frozen=True):
    """What the command line asked to open."""

    cwd: Path
    session: str = ""
    """An id, a prefix of one, or `latest`; empty: a new conversation, with the last one offered."""
    agent: str = "main"
    provider: str = ""
    model: str = ""
    mode: GuardMode | None = None
    """The mode in which the agents begin; `None`: as the settings say."""
    pane: str = ""
    """The pane to show and go to; empty: the input."""
    alone: bool = False
    """The hub is one of this process."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a face passes on to what is done for it, see `hub_greeting.surroundings`."""

    cwd: str
    environ: dict[str, str]
    """All of its variables; kept in memory only, while the face is there."""
    umask: int
    limits: list[tuple[int, int]]
    """Its limits on resources, soft and hard, in the order of `process_limits`."""


class WindowOpening(Surroundings, frozen=True, kw_only=True):
    """What a window shows, and where it is."""

    session: str
    """`new`, `latest` (of this folder), an id or a unique prefix of one."""
    agent: str
    provider: str
    model: str
    mode: GuardMode | None
    where: str
    """For another window that wants the same conversation."""


def may_publish(event: Event) -> bool:
    """Whether a window may say this: what a person wants, and what went wrong in the window itself."""
    is_intent = type(event).__name__.endswith(_INTENTS) and not isinstance(event, approval_events.ApprovalRequested)
    return is_intent or isinstance(event, _ALSO)


def plain_error(error: ExpectedError) -> dict[str, Any]:
    """A failure as JSON data."""
    kind = type(error)
    return {"kind": f"{kind.__module__}:{kind.__qualname__}", "args": to_plain(list(error.args)), "of": _state(error)}


def _state(error: ExpectedError) -> Any:
    return {name: to_plain(value) for name, value in vars(error).items() if not name.startswith("_")}


def error_of(plain: dict[str, Any]) -> ExpectedError:
    """The failure of `plain_error`."""
    module, _, name = str(plain["kind"]).partition(":")
    kind: object = getattr(import_module(module), name, None) if module.startswith("gshtui.") else None
    if not (isinstance(kind, type) and issubclass(kind, ExpectedError)):
        kind = ExpectedError
    error = kind.__new__(kind)
    error.args = tuple(from_plain(plain["args"]))
    vars(error).update({name: from_plain(value) for name, value in plain["of"].items()})
    return error

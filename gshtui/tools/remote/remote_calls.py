"""What an agent's process here and its tools on another machine say to each other: one JSON object a line.

A call keeps its id when the line breaks: it is sent again over the next one, and the other side, which still has it or
its result, does not run it twice. What comes from the other machine is text and data; it is sanitised here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import (
    Assessment,
    Caller,
    CommandError,
    Drawing,
    Invocation,
    Outcome,
    SandboxUse,
)
from gshtui.system.struct_types import learned
from gshtui.text.png_picture import PictureError, read_png
from gshtui.text.sanitise import literal
from gshtui.text.truncation import Gap

PROTOCOL = 1
MOST_LINE = 160_000_000
"""Bytes of one line: a command's whole output, and the same text shortened."""


class Hello(msgspec.Struct, frozen=True, tag="hello", omit_defaults=True):
    """The agent's process begins a line. What it does not want any more is ended there."""

    protocol: int
    version: str
    client: str
    """Another one for each process."""
    folder: str
    """Where the agent works."""
    wanted: tuple[str, ...] = ()
    """The calls that it still waits for."""
    paths: tuple[tuple[str, ...], ...] = ()
    """Lists of the only paths that its file tools reach, each of which must allow a path."""
    trusted: tuple[str, ...] = ()
    """Folders there whose instructions for agents apply."""


class CallPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a command is told of the call that it runs for."""

    caller: str
    is_agent: bool
    session: str = ""
    agent: str = ""
    call: str = ""
    sandboxed: bool = False
    hosts: tuple[str, ...] = ()
    output_bytes: int | None = None


class Order(msgspec.Struct, frozen=True, tag="order", omit_defaults=True):
    """Judge or run a command, or say how it looks there."""

    id: str
    what: Literal["assess", "run", "look"]
    command: str = ""
    arguments: dict[str, Any] = {}
    place: CallPlace = CallPlace("", False)
    given_to: str = ""
    """The process there that first got this order: another one does not know whether it was carried out."""


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """End this call."""

    id: str


class Taken(msgspec.Struct, frozen=True, tag="taken"):
    """The answer to this call has arrived, and may be forgotten."""

    id: str


class Bye(msgspec.Struct, frozen=True, tag="bye"):
    """The agent has ended: end everything."""


class Instruction(msgspec.Struct, frozen=True):
    """A file with instructions for agents, as they are told it."""

    source: str
    text: str
    path: str


class Facts(msgspec.Struct, frozen=True, omit_defaults=True):
    """How it looks where the agent works."""

    folder: str
    project: str
    system: str
    """Its system and kind of processor."""
    branch: str = ""
    skills: str = ""
    rules: str = ""
    """The project's own rules about calls."""
    instructions: tuple[Instruction, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    """Sentences for people about them, each with its hint; each once."""


class Welcome(msgspec.Struct, frozen=True, tag="welcome"):
    """The tools are there."""

    version: str
    instance: str
    """Another one for each process there."""
    facts: Facts


class ToolsRefused(msgspec.Struct, frozen=True, tag="refused"):
    """They cannot be used."""

    why: str
    hint: str = ""


class CallOutput(msgspec.Struct, frozen=True, tag="printed"):
    """A running call has printed this."""

    id: str
    text: str


class Judged(msgspec.Struct, frozen=True, tag="judged"):
    """What a call would do."""

    id: str
    assessment: Assessment


class Looked(msgspec.Struct, frozen=True, tag="looked"):
    """How it looks now."""

    id: str
    facts: Facts


class CallDone(msgspec.Struct, frozen=True, tag="done", omit_defaults=True):
    """The outcome of a call, as far as it concerns another machine."""

    id: str
    data: Any = None
    text: str = ""
    is_error: bool = False
    full: str = ""
    notes: str = ""
    gap: Gap | None = None
    cut: bool = False
    diff: str = ""
    bytes: int = 0
    timed_out: bool = False
    sandbox: SandboxUse | None = None
    drawings: tuple[Drawing, ...] = ()
    branch: str = ""
    """Of the repository there, afterwards."""


class Failed(msgspec.Struct, frozen=True, tag="failed", omit_defaults=True):
    """It could not be done."""

    id: str
    why: str
    hint: str = ""
    data: Any = None


ToTools = Hello | Order | Cancel | Taken | Bye
FromTools = Welcome | ToolsRefused | CallOutput | Judged | Looked | CallDone | Failed
Answer = Judged | Looked | CallDone | Failed
_OF_OUTCOME = tuple(name for name in CallDone.__struct_fields__ if name not in ("id", "branch"))
_encoder = msgspec.json.Encoder(enc_hook=str)


@cache
def _decoder(side: Literal["tools", "agent"]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(learned(ToTools if side == "tools" else FromTools))


def to_line(message: ToTools | FromTools) -> bytes:
    return _encoder.encode(message) + b"\n"


def read_order(line: bytes) -> ToTools:
    """What the agent's process said. Raises `msgspec.DecodeError`."""
    return _decoder("tools").decode(line)


def read_answer(line: bytes) -> FromTools:
    """What the other machine said, sanitised. Raises `msgspec.DecodeError`."""
    said: FromTools = _decoder("agent").decode(line)
    match said:
        case Judged(assessment=assessment):
            return msgspec.structs.replace(said, assessment=_safe(assessment))
        case CallDone():
            shown = {name: literal(getattr(said, name)) for name in ("text", "full", "notes", "diff")}
            drawings = tuple(one for one in said.drawings if _is_picture(one.png))
            return msgspec.structs.replace(said, drawings=drawings, **shown)
        case CallOutput():
            return CallOutput(said.id, literal(said.text))
        case Failed():
            return msgspec.structs.replace(said, why=literal(said.why), hint=literal(said.hint))
        case ToolsRefused():
            return ToolsRefused(literal(said.why), literal(said.hint))
        case _:
            return said


def _is_picture(data: bytes) -> bool:
    """Whether it is one that can be shown and kept."""
    try:
        read_png(data)
    except PictureError:
        return False
    return True


def _safe(found: Assessment) -> Assessment:
    """Its texts without what a terminal obeys: they are the question to a person."""
    return replace(
        found,
        subject=literal(found.subject),
        detail=literal(found.detail),
        diff=literal(found.diff),
        pattern=literal(found.pattern),
        why=literal(found.why),
        reach=literal(found.reach),
        warnings=tuple(map(literal, found.warnings)),
        parts=tuple(replace(part, text=literal(part.text), why=literal(part.why)) for part in found.parts),
        every=tuple(map(_safe, found.every)),
    )


def place_of(invocation: Invocation) -> CallPlace:
    """What the other machine is told of a call."""
    return CallPlace(
        invocation.caller.name,
        invocation.caller.is_agent,
        invocation.session,
        invocation.agent,
        invocation.call,
        invocation.sandboxed,
        invocation.hosts,
        invocation.output_bytes,
    )


def invocation_of(place: CallPlace, folder: Path, project: Path) -> Invocation:
    """The call as the commands there see it."""
    return Invocation(
        Caller(place.caller, is_agent=place.is_agent),
        folder,
        project,
        session=place.session,
        agent=place.agent,
        call=place.call,
        sandboxed=place.sandboxed,
        hosts=place.hosts,
        output_bytes=place.output_bytes,
    )


def done(id: str, outcome: Outcome, branch: str) -> CallDone:
    return CallDone(id, **{name: getattr(outcome, name) for name in _OF_OUTCOME}, branch=branch)


def outcome_of(answer: Answer) -> Outcome:
    """The outcome that arrived. Raises `CommandError`."""
    if isinstance(answer, Failed):
        raise CommandError(answer.why, hint=answer.hint, data=answer.data)
    assert isinstance(answer, CallDone)
    return Outcome(**{name: getattr(answer, name) for name in _OF_OUTCOME})

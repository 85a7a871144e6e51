"""The spec file of a native agent in a terminal: its task, who started it, and its limits.

Owns the file (0600, in the record's folder, written atomically) and the inheritance of limits: an agent never gets more
than the agent that starts it. Called by the fleet, the hub's relay and `agent run`.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from gshtui.agents.personas import Persona
from gshtui.bus.agent_data import AgentRow, GuardMode, Respondent, SpawnRequest
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.files.private_files import open_reader
from gshtui.system.ids import new_id
from gshtui.system.installation import own_command
from gshtui.system.struct_types import learned

if TYPE_CHECKING:
    from gshtui.fleet.core.ports import LaunchTerms

Number = TypeVar("Number", int, float)
MAX_BYTES = 4 * 1024 * 1024
"""Longest spec file, prompt and persona included."""
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_VERSION = 1
_STRICTEST_FIRST: tuple[Respondent, ...] = ("nobody", "person", "policy")


MAX_DEPTH = 3
"""Most levels of agents below the person."""
SPAWN_AGENT = "spawn_agent"
"""The tool by which an agent starts another."""
TERMINAL = "GSH_AGENT_TERMINAL"
"""Environment variable of an agent's program: the name of its terminal's session, as people know it."""


class SpecError(ExpectedError):
    """A spec cannot be made, written or read; `message` is one clear sentence, `hint` says what to do."""


class ToolLimit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One restriction of the tools; all limits of an agent apply together."""

    tools: tuple[str, ...] = ()
    """The only allowed tools; empty: no such limit."""
    read_only: bool = False
    paths: tuple[str, ...] = ()
    """The only paths that its tools reach, and then only tools that can be held to them; empty: no such limit."""
    without: tuple[str, ...] = ()
    """Tools that are not allowed."""

    def allows(self, tool: str, *, reads: bool) -> bool:
        """Whether this tool may be used; `reads`: it only reads."""
        listed = (not self.tools or tool in self.tools) and tool not in self.without
        return listed and (reads or not self.read_only)


class Spec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that `agent run` needs to be this agent."""

    version: int = _VERSION
    agent: str
    """The row's id; what every event calls it."""
    name: str = ""
    request: SpawnRequest = SpawnRequest()
    persona: Persona | None = None
    limits: tuple[ToolLimit, ...] = ()
    """The limits of every agent above it, and its own."""
    session: str = ""
    """Conversation to continue; empty: a new one."""
    external: str = ""
    """The session of its program over ACP that it continues; empty: a new one."""
    prompt: str = ""
    """Id of the first prompt, so that continuing never sends it twice."""
    token: str = ""
    """The secret that agent and hub prove to each other that they know. Never sent."""
    hub: str = ""
    """Socket of the hub that started it; empty: look for a hub of the folder."""
    runtime: str = ""
    """Folder of the hubs' sockets."""
    home: str = ""
    """Folder of the window that it belongs to; the next window of it takes over."""
    cwd: str = ""
    place: str = ""
    """`HOST:FOLDER` where its tools act, if that is another machine; then `cwd` is its window's folder."""
    data: str = ""
    """Folder of the record."""
    tmux_socket: str = ""
    respondent: Respondent = "person"
    mode: GuardMode = "ask"
    """The mode in which it starts. `yolo` holds for one start."""
    auto_approve: tuple[str, ...] | None = None
    """Tools outside the starter's list need approval, whatever the configuration says. `None`: that decides."""
    max_steps: int = 0
    depth: int = 0
    notice: str = ""
    """File for a message to the shell that started it, once it has ended; empty: no shell waits for one."""


def make_spec(
    row: AgentRow, request: SpawnRequest, persona: Persona | None, terms: LaunchTerms, *, data: Path, hub: str = ""
) -> Spec:
    """The spec of a new agent, within the limits of the agent that asks for it.

    Args:
        row: its place in the roster.
        request: the request to start it.
        persona: the persona that the request names.
        terms: those of the hub that starts it.
        data: folder of the record; the specs of the parent and of a fork's original are looked for below it.
        hub: socket of the hub that starts it.

    Raises `SpecError`: it would be nested too deep.
    """
    parent, original = _parent(data, request.parent), _parent(data, request.fork)
    asked = _within_limits(request, persona, parent)
    limits = _tool_limits(request, persona, parent)
    respondent, auto_approve, max_steps = _agreed(terms, parent)
    if original is not None:  # a copy may do no more than what it is a copy of
        limits = tuple(dict.fromkeys((*original.limits, *limits)))
        so_far = replace(terms, respondent=respondent, auto_approve=auto_approve, max_steps=max_steps)
        respondent, auto_approve, max_steps = _agreed(so_far, original)
    return Spec(
        agent=row.id,
        name=row.name,
        request=asked,
        persona=persona,
        limits=limits,
        session=row.session,
        prompt=new_id(),
        token=secrets.token_hex(32),
        hub=hub,
        runtime=str(terms.runtime),
        home=row.home,
        cwd=row.worktree or row.cwd or row.home,
        place=row.place,
        data=str(data),
        tmux_socket=row.socket,
        respondent=respondent,
        mode=_mode(request, terms, parent, original),
        auto_approve=auto_approve,
        max_steps=max_steps,
        depth=asked.depth,
        notice=terms.notice,
    )


def spec_path(data: Path, agent: str) -> Path:
    """The path of an agent's spec. Raises `SpecError` for an invalid id."""
    if not _ID.fullmatch(agent):
        raise SpecError(f"{agent[:80]!r} is not an agent's id.")
    return data / "agents" / f"{agent}.json"


def write_spec(spec: Spec) -> Path:
    """Write the spec to its place, 0600; returns the file. Blocks for a moment. Raises `SpecError`."""
    target = spec_path(Path(spec.data), spec.agent)
    raw = msgspec.json.format(msgspec.json.encode(spec), indent=1)
    if len(raw) > MAX_BYTES:
        raise SpecError(f"The prompt is {len(raw):,} bytes long; the limit is {MAX_BYTES:,}.")
    try:
        private_files.make_folder(target.parent)
        private_files.write_whole(target, raw)
    except OSError as error:
        raise SpecError(f"Cannot write {target}: {error.strerror or error}.") from error
    return target


def read_spec(path: Path) -> Spec:
    """The spec in this file. Blocks for a moment. Raises `SpecError`: there is none, others can access it, or it is
    damaged.
    """
    try:
        descriptor = private_files.open_existing(path)
    except OSError as error:
        raise SpecError(f"Cannot read the spec {path}: {error.strerror or error}.") from error
    with open_reader(descriptor) as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o022:
            raise SpecError(
                f"The spec {path} is not a file that only you can access.",
                hint=f"If it is yours, run `chmod 600 {path}`.",
            )
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise SpecError(f"The spec {path} is longer than {MAX_BYTES:,} bytes.")
    try:
        spec = msgspec.json.decode(raw, type=learned(Spec))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(f"The spec {path} is not valid: {error}.") from error
    if spec.version != _VERSION:
        raise SpecError(f"The spec {path} has version {spec.version}, but this gsh-tui reads version {_VERSION}.")
    if not _ID.fullmatch(spec.agent) or not spec.cwd or not spec.data:
        raise SpecError(f"The spec {path} lacks an agent, a folder or a record.")
    return spec


def native_argv(row: AgentRow, spec_file: Path) -> list[str]:
    """The command that starts the agent in its terminal."""
    del row  # everything is in the file; the row's id is part of its name
    return own_command("agent", "run", "--spec", str(spec_file))


def _parent(data: Path, id: str) -> Spec | None:
    """The spec of the asking agent if it is in a terminal; `None` for a window's own agent."""
    if not id:
        return None
    path = spec_path(data, id)
    return read_spec(path) if path.exists() else None


def _depth(request: SpawnRequest, parent: Spec | None) -> int:
    """The number of agents above it. Raises `SpecError` if there are too many."""
    depth = parent.depth + 1 if parent is not None else (1 if request.parent else 0)
    if depth > MAX_DEPTH:
        raise SpecError(
            f"Agents can be nested {MAX_DEPTH} deep; this one would be at depth {depth}.",
            hint="Do the work yourself, or say in your report that it remains to be done.",
        )
    return depth


def _within_limits(request: SpawnRequest, persona: Persona | None, parent: Spec | None) -> SpawnRequest:
    """The request with its depth, its persona's model, and the smallest of all iterations and budgets."""
    persona = persona or Persona(name="")
    above = parent.request if parent is not None else SpawnRequest()
    return msgspec.structs.replace(
        request,
        depth=_depth(request, parent),
        provider=request.provider or persona.provider,
        model=request.model or persona.model,
        max_iterations=_least(request.max_iterations, persona.max_iterations, above.max_iterations),
        budget_usd=_least(request.budget_usd, persona.budget_usd, above.budget_usd),
    )


def _tool_limits(request: SpawnRequest, persona: Persona | None, parent: Spec | None) -> tuple[ToolLimit, ...]:
    """The parent's limits, then the persona's and the request's own; each once."""
    limits = parent.limits if parent is not None else ()
    if persona is not None and (persona.tools or persona.read_only or persona.without):
        limits += (ToolLimit(persona.tools, persona.read_only, without=persona.without),)
    if request.tools:
        limits += (ToolLimit(request.tools),)
    if request.paths:
        limits += (ToolLimit(paths=request.paths),)
    return tuple(dict.fromkeys(limits))


def _agreed(terms: LaunchTerms, parent: Spec | None) -> tuple[Respondent, tuple[str, ...] | None, int]:
    """Who answers, tools that need none, and tool calls per turn: the stricter of hub and parent."""
    if parent is None:
        return terms.respondent, terms.auto_approve, terms.max_steps
    both: tuple[Respondent, ...] = (parent.respondent, terms.respondent)
    respondent = min(both, key=_STRICTEST_FIRST.index)
    return respondent, _fewer(terms.auto_approve, parent.auto_approve), _least(terms.max_steps, parent.max_steps)


def _mode(request: SpawnRequest, terms: LaunchTerms, *above: Spec | None) -> GuardMode:
    """The requested mode, but at most that of the agent that asks, and of the one that it is a copy of."""
    from gshtui.guard.modes import inherited, strictest

    if not request.parent and not request.fork:
        return inherited(terms.mode_of("")) if request.mode == "" else request.mode
    widest: GuardMode = "auto"
    for agent in filter(None, (request.parent, request.fork)):
        widest = strictest(widest, inherited(terms.mode_of(agent)))
    for spec in filter(None, above):
        widest = strictest(widest, inherited(spec.mode))
    return widest if request.mode == "" else strictest(request.mode, widest)


def with_mode(data: Path, agent: str, mode: GuardMode) -> None:
    """Record the mode of an agent for its next start and for what it starts. Blocks for a moment. Raises `SpecError`.

    `yolo` is not recorded: it ends with the process.
    """
    spec = read_spec(spec_path(data, agent))
    write_spec(msgspec.structs.replace(spec, mode="ask" if mode == "yolo" else mode))


def with_external(data: Path, agent: str, external: str) -> None:
    """Record the session of an agent's program for its next start. Blocks for a moment. Raises `SpecError`."""
    write_spec(msgspec.structs.replace(read_spec(spec_path(data, agent)), external=external))


def _fewer(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if one is None or other is None:
        return one if other is None else other
    return tuple(item for item in one if item in other)


def _least(first: Number, *others: Number) -> Number:
    """The smallest value; 0 means not set."""
    return min((value for value in (first, *others) if value), default=first)

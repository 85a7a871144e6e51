"""Runs commands for the processes of this user that ask for it: `gsh-tui agent ls` beside a running keeper.

The other side sends one request, is told that it will be done, says go, answers the questions that it is then asked,
and prints the outcome, or one piece of it after another. Taken are commands whose shell form does not leave them to
their own process (`ShellForm.alone`), with the terminals, the record and the version of this hub: all else is declined
before anything is done. What only a person may do is declined to an agent. What
is about agents in terminals this hub does itself; what is about a folder is done in that folder's workspace. A process
that disconnects has interrupted its command. Its user could do the same without asking, so nothing is allowed here that
is not allowed there.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import FaultReported
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.bus.loop_faults import in_words
from gshtui.client.window_protocol import Surroundings
from gshtui.commands import execution
from gshtui.commands.declaration import (
    AttachView,
    Caller,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    ProgramView,
    Question,
    Returns,
    UsageError,
)
from gshtui.commands.language import read_line
from gshtui.commands.printed_outcome import failed, line_printed, printed
from gshtui.commands.registry import Registry
from gshtui.commands.shell_form import ShellForm
from gshtui.fleet.core.agent_calls import AttachAgent
from gshtui.hub.faces.command_watch import CommandWatch
from gshtui.hub.faces.face_host import HIGHER_LIMITS, FaceHost, other_place, other_settings
from gshtui.hub.faces.local_commands import LocalCommands
from gshtui.hub.faces.workspaces import WorkspaceError, Workspaces
from gshtui.hub.hub import Hub
from gshtui.settings.loader import Loaded, load
from gshtui.shell.hub_listener import HubConnection
from gshtui.store.sessions.session_calls import ResumeSession
from gshtui.system.caller_environment import working_for
from gshtui.system.processes import process_limits
from gshtui.system.tasks import start_job

ALIVE_EVERY = 0.5
"""Seconds after which the other side is told that its command still runs."""
_ENDS_WITHIN = 20.0
"""Seconds for a command that its process has left."""


class CommandRequest(Surroundings, frozen=True, kw_only=True):
    """What a process asks for."""

    run: str
    """The words that call it, such as `agent ls`."""
    declared: str = ""
    """The class of its parameters, `module:name`; empty: it is a line of the command language."""
    values: dict[str, Any] = {}
    """Values by field name; omitted fields are left out."""
    line: str = ""
    plain: bool = False
    """The line's outcome as people read it; else as agents do."""
    json: bool = False
    yes: bool = False
    asks: bool = False
    """Ask before it acts; somebody is there."""
    terminal: bool = False
    """It has a terminal of its own."""
    flags: dict[str, str] = {}
    """Settings for this run only."""


class Declined(Exception):
    """Nothing was done; the text says why."""


class LeftToFace(Exception):
    """Nothing was done, and the other side does it by itself."""


class _Run(msgspec.Struct):
    """A command of one connection, and the answers to its questions."""

    task: asyncio.Task[None]
    acts: bool = False
    """It does more than read."""
    answers: asyncio.Queue[bool] = msgspec.field(default_factory=asyncio.Queue[bool])


class AskedCommands(FaceHost):
    """Handles connections of the kind `command`."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self.last_at = time.monotonic()
        """When the last one began or ended."""
        self._runs: dict[HubConnection, _Run] = {}
        self._leaving = set[asyncio.Task[None]]()
        """Those of processes that have left, which end."""
        self._workspaces = Workspaces(hub)

    @property
    def busy(self) -> bool:
        """Whether a command is in progress."""
        return any(not run.task.done() for run in self._runs.values())

    @property
    def works(self) -> bool:
        """Whether a command acts."""
        return any(run.acts and not run.task.done() for run in self._runs.values())

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """Take the request, or the answer to a question."""
        run = self._runs.get(connection)
        if run is not None:
            run.answers.put_nowait(fields.get("go", fields.get("answer")) is True)
            return
        request = self.opening(CommandRequest, fields)
        self._runs[connection] = _Run(start_job(self._serve(connection, request), f"the command {request.run[:40]}"))

    def disconnected(self, connection: HubConnection) -> None:
        """Stop what it asked for, if that still runs."""
        run = self._runs.pop(connection, None)
        if run is not None and not run.task.done():
            run.task.cancel()
            self._leaving.add(run.task)
            run.task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """End the workspaces, once nothing is done in them any more."""
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=_ENDS_WITHIN)
        await self._workspaces.close()

    async def finish_acting(self) -> None:
        """Wait until no command acts; one that only reads, the other side begins again by itself."""
        while acting := {run.task for run in self._runs.values() if run.acts and not run.task.done()}:
            await asyncio.wait(acting)

    async def _serve(self, connection: HubConnection, request: CommandRequest) -> None:
        alive = start_job(_tell_alive(connection), "the signs of life")
        try:
            answer = await self._answer(connection, request)
        except LeftToFace:
            answer = {"alone": True}
        except Declined as declined:
            answer = {"declined": str(declined)}
        finally:
            alive.cancel()
        _send(connection, answer)

    async def _answer(self, connection: HubConnection, request: CommandRequest) -> dict[str, Any]:
        declared = await asyncio.to_thread(_declared, request.declared) if request.declared else _LINE
        agents = "only a person agrees or answers" if declared.form.for_person else ""
        if why := await self.stranger(connection, agents):
            raise Declined(why)
        if declared.form.needs_terminal and not (request.json or request.terminal):
            return failed(UsageError(declared.form.needs_terminal))
        if declared.form.own_hub and process_limits.unable_to_give(request.limits):
            raise Declined(HIGHER_LIMITS)
        loaded = await asyncio.to_thread(self._settings_there, request)
        inherited = self.inherited(request) if declared.form.own_hub else None
        with working_for(loaded.environ, connection.peer.pid, inherited):
            try:
                run = self._run if request.declared else self._run_line
                ended = await run(connection, request, declared, loaded)
            except CommandError as error:
                ended = failed(error)
        self.last_at = time.monotonic()
        problems = () if declared.form.quiet else loaded.problems
        return {"problems": [[problem.level, str(problem)] for problem in problems]} | ended

    async def _run(
        self, connection: HubConnection, request: CommandRequest, declared: _Declared, loaded: Loaded
    ) -> dict[str, Any]:
        async with self._place(connection, request, declared, loaded) as (registry, invocation):
            value = declared.value(registry, request)
            await self._begin(connection, reads=_effect(registry, value) is Effect.READ)
            invocation = replace(invocation, leaves=True)

            async def ask(question: Question) -> bool:
                _send(connection, {"question": question_text(question)})
                return await self._said(connection)

            if (pieces := execution.stream(registry, value, invocation)) is not None:
                async for piece in pieces:
                    _send(connection, {"piece": declared.printed(piece, request)})
                    await connection.sent()
                return {"over": True}
            if request.asks or (declared.form.needs_answer and not request.yes):
                outcome = await execution.run_asked(registry, value, invocation, ask)
            else:
                outcome = await execution.run_value(registry, value, invocation)
            if outcome is not None and isinstance(outcome.view, AttachView) and not request.json:
                attachment = await execution.call(registry, AttachAgent(agent=outcome.view.agent), invocation)
                return {"attach": list(attachment.argv)}
            if outcome is not None and isinstance(outcome.intent, SessionChangeRequested) and not request.json:
                wanted = ResumeSession(session=outcome.intent.session)
                session = await execution.call(registry, wanted, invocation)
                return {"resume": [session.id, session.cwd]}
        return {"refused": True} if outcome is None else declared.printed(outcome, request)

    async def _begin(self, connection: HubConnection, *, reads: bool) -> None:
        """Say what it does, and wait to be told to go on. Raises `Declined`: it was not."""
        self._runs[connection].acts = not reads
        _send(connection, {"reads": reads})
        self.last_at = time.monotonic()
        if not await self._said(connection):
            raise Declined("it was not told to go on")

    async def _run_line(
        self, connection: HubConnection, request: CommandRequest, declared: _Declared, loaded: Loaded
    ) -> dict[str, Any]:
        async with self._once(connection, request, declared, loaded) as hub:
            if _is_kept_alone(hub.registry, request):
                raise LeftToFace
            await self._begin(connection, reads=False)
            outcome = await hub.run(request.line)
            if isinstance(outcome.view, ProgramView) and not request.json:
                before = [line_printed(part, as_json=False, plain=request.plain) for part in outcome.parts[:-1]]
                return {"program": [outcome.view.command, outcome.view.needs_screen], "before": before}
            return line_printed(outcome, as_json=request.json, plain=request.plain)

    @asynccontextmanager
    async def _once(
        self, connection: HubConnection, request: CommandRequest, declared: _Declared, loaded: Loaded
    ) -> AsyncGenerator[Hub]:
        """A hub for this command, whose faults and agents its process is told of. Raises `Declined`."""

        def watch(hub: Hub) -> None:
            face = _Face(connection)
            CommandWatch(hub, face, shows_agents=declared.form.prints_agents and not request.json)
            hub.bus.subscribe(face.say_faults, FaultReported, name="faults")

        try:
            async with self._workspaces.use_once(loaded, declared.form.parts, watch) as hub:
                yield hub
                await hub.bus.drained()
        except WorkspaceError as error:
            raise Declined(error.message) from error

    @asynccontextmanager
    async def _place(
        self, connection: HubConnection, request: CommandRequest, declared: _Declared, loaded: Loaded
    ) -> AsyncGenerator[tuple[Registry, Invocation]]:
        """Whose commands do this, and for whom: this hub's, the folder's workspace's, or those of the settings alone.
        Raises `Declined`: its folder does not open.
        """
        parts = declared.form.parts
        if declared.form.own_hub:
            async with self._once(connection, request, declared, loaded) as hub:
                yield hub.registry, hub.invocation(Caller())
        elif "fleet" in parts or declared.module == "gshtui.fleet.keeper.keeper_commands":
            yield self.host.registry, Invocation(Caller(), loaded.cwd, loaded.project)
        elif not parts:
            local = LocalCommands(loaded)
            yield local.registry, local.invocation(Caller())
        else:
            try:
                async with self._workspaces.use(loaded) as hub:
                    yield hub.registry, hub.invocation(Caller())
            except WorkspaceError as error:
                raise Declined(error.message) from error

    async def _said(self, connection: HubConnection) -> bool:
        """Whether the other side's next word is yes."""
        return await self._runs[connection].answers.get()

    def _settings_there(self, request: CommandRequest) -> Loaded:
        """The settings as the other side would load them. Raises `Declined` if they mean another record than ours."""
        if why := other_place(request.cwd, request.environ):
            raise Declined(why)
        loaded = load(Path(request.cwd), flags=request.flags, environ=request.environ)
        if why := other_settings(self.host, loaded):
            raise Declined(why)
        return loaded


class _Declared(msgspec.Struct, frozen=True):
    """A command as it is called in the shell."""

    parameters: type[Parameters]
    form: ShellForm

    @property
    def module(self) -> str:
        """Where it is declared."""
        return self.parameters.__module__

    def printed(self, outcome: Outcome, request: CommandRequest) -> dict[str, Any]:
        """What the other side prints, and how it ends."""
        payload = printed(outcome, as_json=request.json, lines=self.form.json_lines)
        if self.form.prints_agents and not request.json:
            payload |= {"text": "", "aside": "", "own": False}
        return payload

    def value(self, registry: Registry, request: CommandRequest) -> Returns[Any]:
        """What is called. Raises `UsageError`."""
        given = execution.from_shell(self.parameters, request.values, as_json=request.json, yes=request.yes)
        if isinstance(given, Returns):
            return given
        return execution.bound_parameters(registry.get(self.form.name or request.run), given)


_LINE = _Declared(Parameters, ShellForm(own_hub=True, rights=True))
"""A line of the command language may name any command."""


def _is_kept_alone(registry: Registry, request: CommandRequest) -> bool:
    """Whether a line is not for the hub. Raises `UsageError`."""
    for stage in (stage for pipeline in read_line(registry, request.line).pipelines for stage in pipeline.stages):
        form = registry.get(stage.name).parameters.SHELL if stage.name in registry else None
        if isinstance(form, ShellForm) and form.alone:
            return True
        if stage.name == "talk" and request.asks:
            return True  # a person goes on talking in their terminal
    return False


def _effect(registry: Registry, value: Returns[Any]) -> Effect:
    """What the action of these parameters does. Raises `UsageError`."""
    actions = registry.get(value.COMMAND).actions
    return next(action.effect for action in actions if action.parameters is type(value))


def _declared(name: str) -> _Declared:
    """The command whose parameters are `module:name`. Raises `Declined`."""
    module, _, of_class = name.partition(":")
    if module.startswith("gshtui."):
        with suppress(ImportError):
            found: object = getattr(import_module(module), of_class, None)
            if isinstance(found, type) and issubclass(found, Parameters):
                form = found.SHELL
                if isinstance(form, ShellForm) and not form.alone:
                    return _Declared(found, form)
    raise Declined(f"{name} is not for the hub")


class _Face:
    """See `CommandFace`."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    def complain(self, text: str, hint: str) -> None:
        _send(self._connection, {"complain": [text, hint]})

    def say_faults(self, batch: Sequence[Event]) -> None:
        """Have isolated faults printed; the command continues."""
        for event in batch:
            if isinstance(event, FaultReported) and not event.shown:
                self.complain(*in_words(event))

    def wait_for(self, words: str) -> None:
        _send(self._connection, {"wait_for": [words]})

    def started(self, agent: str) -> None:
        _send(self._connection, {"started": [agent]})

    def queued(self, message: str, to: str) -> None:
        _send(self._connection, {"queued": [message, to]})


async def _tell_alive(connection: HubConnection) -> None:
    while True:
        await asyncio.sleep(ALIVE_EVERY)
        _send(connection, {"works": True})


def _send(connection: HubConnection, fields: Mapping[str, Any]) -> None:
    """Send whatever a command's data holds, as a terminal is shown it: pure ASCII."""
    connection.send(json.dumps(fields, default=str).encode() + b"\n")


def question_text(question: Question) -> str:
    """The question as a terminal shows it: the losses first, then the text and the note."""
    said = [*question.losses, question.text, question.note, question.title or "Do it?"]
    text = " ".join(filter(None, said))
    return f"{question.quoted}\n{text}" if question.quoted else text

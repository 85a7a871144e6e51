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
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.hub_events import FaultReported
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.bus.loop_faults import in_words
from gshtui.bus.wire import to_plain
from gshtui.client.hub_greeting import FOR_PEOPLE
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
    TalkView,
    UsageError,
)
from gshtui.commands.printed_outcome import failed, line_printed, printed
from gshtui.commands.registry import Registry
from gshtui.commands.shell_form import ShellForm
from gshtui.fleet.core.agent_calls import AttachAgent, WaitForAgent
from gshtui.hub.faces.asked_lines import TOLD, CallRefused, LinesRequest, is_prompt, run_lines, told_by
from gshtui.hub.faces.command_watch import CommandWatch
from gshtui.hub.faces.face_host import HIGHER_LIMITS, FaceHost, other_place, other_settings
from gshtui.hub.faces.local_commands import LocalCommands
from gshtui.hub.faces.workspaces import WorkspaceError, Workspaces
from gshtui.hub.hub import Hub
from gshtui.settings.loader import Loaded, load
from gshtui.shell.hub_listener import HubConnection
from gshtui.store.sessions.session_calls import ResumeSession
from gshtui.system.caller_environment import working_for
from gshtui.system.json_types import obj
from gshtui.system.processes import process_limits
from gshtui.system.tasks import start_job
from gshtui.text.sanitise import one_line

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
    lines: LinesRequest | None = None
    """What is run then."""
    plain: bool = False
    """The outcomes of lines as people read them; else as agents do."""
    json: bool = False
    typed: bool = False
    """Answer with the result, not with what is printed of it."""
    yes: bool = False
    asks: bool = False
    """Ask before it acts; somebody is there."""
    terminal: bool = False
    """It has a terminal of its own."""
    flags: dict[str, str] = {}
    """Settings for this run only."""


class Declined(Exception):
    """Nothing was done; the text says why."""


class _Ending(Exception):
    """This process is about to end; the other side asks the next one."""


class _Run(msgspec.Struct):
    """A command of one connection, and the answers to its questions."""

    task: asyncio.Task[None]
    acts: bool = False
    """It does more than read."""
    answers: asyncio.Queue[object] = msgspec.field(default_factory=asyncio.Queue[object])


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
        self._is_ending = False

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
            run.answers.put_nowait(next((fields[name] for name in ("go", "answer", "said") if name in fields), None))
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
        """Begin none any more, and wait until no command acts; one that only reads, the other side begins again."""
        self._is_ending = True
        while acting := {run.task for run in self._runs.values() if run.acts and not run.task.done()}:
            await asyncio.wait(acting)

    async def _serve(self, connection: HubConnection, request: CommandRequest) -> None:
        alive = start_job(_tell_alive(connection), "the signs of life")
        try:
            answer = await self._answer(connection, request)
        except _Ending:
            connection.close()
            return
        except Declined as declined:
            answer = {"declined": str(declined)}
        finally:
            alive.cancel()
        _send(connection, answer)

    async def _answer(self, connection: HubConnection, request: CommandRequest) -> dict[str, Any]:
        declared = await asyncio.to_thread(_declared, request.declared) if request.declared else _LINE
        agents = FOR_PEOPLE if declared.form.for_person else ""
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
                run = self._run if request.declared else self._run_lines
                ended = await run(connection, request, declared, loaded)
            except CommandError as error:
                ended = failed(error)
        self.last_at = time.monotonic()
        problems = () if declared.form.quiet else loaded.problems
        return {"problems": [[problem.level, str(problem)] for problem in problems]} | ended

    async def _run(
        self, connection: HubConnection, request: CommandRequest, declared: _Declared, loaded: Loaded
    ) -> dict[str, Any]:
        async with AsyncExitStack() as stack:
            place = self._place(connection, request, declared, loaded)
            registry, invocation = await stack.enter_async_context(place)
            value = declared.value(registry, request)
            await self._begin(connection, reads=_effect(registry, value) is Effect.READ)
            invocation = replace(invocation, leaves=True)
            if isinstance(value, WaitForAgent):
                stack.enter_context(self._saying_how_it_is(connection, value.agent))
            if request.typed:
                return {"value": msgspec.to_builtins(await execution.call(registry, value, invocation))}

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

    @contextmanager
    def _saying_how_it_is(self, connection: HubConnection, named: str) -> Generator[None]:
        """Have the face say how an agent is that it waits for."""
        fleet = self.host.fleet
        rows = [] if fleet is None else [row for row in fleet.rows() if named in (row.name, row.id, row.id.lstrip("0"))]

        def tell(_: Sequence[Event] = ()) -> None:
            if fleet is not None and len(rows) == 1 and (row := fleet.get(rows[0].id)) is not None:
                doing = f": {one_line(row.doing, 60)}" if row.doing else ""
                _send(connection, {"wait_for": [f"Waiting for {row.name} ({row.id}), which is {row.status}{doing}"]})

        tell()
        following = self.host.bus.subscribe(tell, AgentStatusChanged, name="a wait")
        try:
            yield
        finally:
            following.unsubscribe()

    async def _begin(self, connection: HubConnection, *, reads: bool) -> None:
        """Say what it does, and wait to be told to go on. Raises `Declined`: it was not; `_Ending`."""
        if self._is_ending:
            raise _Ending
        self._runs[connection].acts = not reads
        _send(connection, {"reads": reads})
        self.last_at = time.monotonic()
        if not await self._said(connection):
            raise Declined("it was not told to go on")

    async def _run_lines(
        self, connection: HubConnection, request: CommandRequest, declared: _Declared, loaded: Loaded
    ) -> dict[str, Any]:
        wanted = request.lines
        if wanted is None or not wanted.lines:
            raise Declined("it asks for nothing")
        aloud = wanted.conversation is not None

        def said(outcome: Outcome) -> dict[str, Any]:
            return line_printed(outcome, as_json=request.json, plain=request.plain, aloud=aloud)

        def tell(batch: Sequence[Event]) -> None:
            for event in batch:
                _send(connection, {"told": to_plain(event)})

        async def ask(question: Question) -> bool:
            _send(connection, {"question": question_text(question)})
            return await self._said(connection)

        async with self._once(connection, request, declared, loaded) as hub:
            await self._begin(connection, reads=False)
            if aloud and await is_prompt(hub, wanted.lines[0]):
                return {"prompt": True}
            if aloud:
                hub.bus.subscribe(tell, *TOLD, name="person")
            last: Outcome | None = None
            try:
                async for outcome in run_lines(hub, wanted, ask):
                    if last is not None:
                        _send(connection, {"piece": said(last)})
                    last = outcome
            except (CommandError, CallRefused) as error:
                if last is not None:
                    _send(connection, {"piece": said(last)})
                if isinstance(error, CallRefused):
                    return {"refused": str(error)}
                raise
            assert last is not None
            if aloud:
                tell(told_by(last))
            if isinstance(last.view, TalkView) and request.asks and not request.json:
                return await self._talk(connection, hub, last.view)
            if isinstance(last.view, ProgramView) and not request.json:
                before = [said(part) for part in last.parts[:-1]]
                return {"program": [last.view.command, last.view.needs_screen], "before": before}
            return said(last)

    async def _talk(self, connection: HubConnection, hub: Hub, view: TalkView) -> dict[str, Any]:
        """Let the person ask an agent line after line, until they leave one empty."""
        from gshtui.fleet.mail.commands import TalkParameters

        name = one_line(view.name or view.agent, 40)
        _send(connection, {"talk": name})
        while isinstance(asked := await self._runs[connection].answers.get(), str) and asked:
            given = TalkParameters(to=view.agent, message=asked)
            try:
                outcome = await execution.run_parsed(hub.registry.get("talk"), given, hub.invocation(Caller()))
            except CommandError as error:
                _send(connection, {"answered": failed(error)})
                continue
            text = obj(outcome.data).get("answer") or outcome.text
            _send(connection, {"answered": {"text": f"{name}> {text}"}})
        return {"over": True}

    @asynccontextmanager
    async def _once(
        self, connection: HubConnection, request: CommandRequest, declared: _Declared, loaded: Loaded
    ) -> AsyncGenerator[Hub]:
        """A hub for this command, whose faults and agents its process is told of. Raises `Declined`."""

        def watch(hub: Hub) -> None:
            face = _Face(connection)
            CommandWatch(hub, face, shows_agents=declared.form.prints_agents and not (request.json or request.typed))
            hub.bus.subscribe(face.say_faults, FaultReported, name="faults")

        more, given = (request.lines.parts, request.lines.options) if request.lines is not None else ((), {})
        try:
            async with self._workspaces.use_once(loaded, declared.form.parts.union(more), watch, **given) as hub:
                yield hub
                await hub.bus.drained()
        except WorkspaceError as error:
            raise CommandError(error.message, hint=error.hint) from error

    @asynccontextmanager
    async def _place(
        self, connection: HubConnection, request: CommandRequest, declared: _Declared, loaded: Loaded
    ) -> AsyncGenerator[tuple[Registry, Invocation]]:
        """Whose commands do this, and for whom: this hub's, the folder's workspace's, or those of the settings alone.
        Raises `CommandError`: its folder does not open.
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
                raise CommandError(error.message, hint=error.hint) from error

    async def _said(self, connection: HubConnection) -> bool:
        """Whether the other side's next word is yes."""
        return await self._runs[connection].answers.get() is True

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
                form = found.SHELL or found.BY_FACE
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

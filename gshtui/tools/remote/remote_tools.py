"""The tools of a native agent that act on another machine: each call is carried out by a process of ours there.

The agent itself, its record, its model and the guard stay here: no key and no conversation leaves this machine. While
the connection is away, calls wait, and what runs there goes on; afterwards each gets its result, or an error that says
that it is not known whether it was carried out. Called by the hub of such an agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui import __version__
from gshtui.commands.declaration import Assessment, CommandError, Invocation, Outcome
from gshtui.commands.registry import AnyCommand
from gshtui.guard.rules.rule_book import GuardRule, RuleBook, parse_rules
from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLink, PreparedCommand
from gshtui.hosts.host_package import MISSING, call_script, not_installed
from gshtui.system.ids import new_id
from gshtui.system.processes.processes import kill_child, start_child
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on, start_job
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.remote import remote_calls
from gshtui.tools.remote.remote_calls import (
    MOST_LINE,
    PROTOCOL,
    Answer,
    Bye,
    CallDone,
    CallOutput,
    Cancel,
    Facts,
    Failed,
    FromTools,
    Hello,
    Judged,
    Looked,
    Order,
    Taken,
    ToolsRefused,
    ToTools,
    Welcome,
)
from gshtui.vfs import SHARED, FileSystem

LEFT_OUT = frozenset({"tmux", "echo"})
"""First names of the families that an agent on another machine does not have: they act on this one."""
PASSING = frozenset({"unreachable", "timeout"})
"""Kinds of failures that pass by themselves."""
_FIRST, _LONGEST = 0.3, 10.0
"""Seconds from a failure to the next attempt."""
_WELCOME_WITHIN = 45.0
"""Seconds within which the process there must have started."""
_LOOK_WITHIN = 3.0
"""Seconds that a turn waits for how it looks there; then the last look counts."""
_IDLE = 110.0
"""Seconds without a call after which the connection is given back."""
_BYE_WITHIN = 2.0
"""Seconds within which a connection must end after goodbye."""
_END_WITHIN = 5.0
"""Seconds that ending the process there without a connection may take; what stays ends by itself."""


class _Open(msgspec.Struct, eq=False):
    """A call without an answer yet."""

    order: Order
    answer: asyncio.Future[Answer]
    output: Callable[[str], None]


class _Line:
    """A connection to the tools. `instance`: the process there, once it has said welcome."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.instance = ""
        self.errors = start_job(_last(process.stderr), "what ssh says")

    async def end(self) -> None:
        await cancel_and_wait(self.errors)
        await kill_child(self.process)


class RemoteTools:
    """The tools of one agent there. Made inside a running loop; `connect` before its first use."""

    def __init__(
        self,
        link: HostLink,
        folder: str,
        secret: str,
        paths: tuple[tuple[str, ...], ...] = (),
        *,
        tell: Callable[[str], None],
        note: Callable[[str, str], None],
    ) -> None:
        """
        Args:
            folder: where the agent works there.
            secret: the agent's; the process there is found by a name that is made of it.
            paths: lists of the only paths that its file tools reach.
            tell: called with why calls wait, and with an empty text once they go on.
            note: called with a sentence for people, and a hint.
        """
        self.link = link
        self.facts = Facts(folder, folder, "")
        """How it looked there last."""
        self._ruled: tuple[str, tuple[GuardRule, ...]] = "", ()
        self._tell = tell
        self._note = note
        self._name = hashlib.sha256(f"tools {secret}".encode()).hexdigest()[:20]
        self._hello = Hello(PROTOCOL, __version__, new_id(), folder, paths=paths, trusted=tuple(link.settings.trusted))
        self._open: dict[str, _Open] = {}
        self._line: _Line | None = None
        self._wanted = asyncio.Event()
        self._unsettled = False
        """Something was given up while there was no connection: it must still be ended there."""
        self._resting: asyncio.TimerHandle | None = None
        self._was_there = False
        self._closing = False
        self._away = False
        self._task: asyncio.Task[None] | None = None
        self._fresh: _Line | None = None
        """A connection that nobody attends to yet."""

    @property
    def waiting(self) -> str:
        return next((one.order.command for one in self._open.values()), "")

    async def connect(self) -> None:
        """Connect for the first time. Raises `HostError`."""
        self.link.retry_now()
        self._fresh = await self._opened()
        self._task = keep_on(self._keep, "the tools on another machine")

    async def close(self) -> None:
        """End what runs there, if it can be reached now; else say that it ends by itself later. Raises nothing."""
        self._closing, ended = True, False
        left = self._unsettled or bool(self._open)
        if self._resting is not None:
            self._resting.cancel()
        if (line := self._line or self._fresh) is not None:
            self._write(line, Bye())
            with contextlib.suppress(TimeoutError):
                async with time_limit(_BYE_WITHIN):
                    await line.process.wait()
                    ended = True
        await cancel_and_wait(self._task)
        if self._fresh is not None:
            await self._fresh.end()
        if self._was_there and not ended and not self._away:
            with contextlib.suppress(HostError):
                await self.link.run(call_script(self.link), "end", self._name, deadline=_END_WITHIN)
                ended = True
        if left and not ended:
            self._note(
                "the machine cannot be reached, so what the agent ran there goes on. It ends by itself within a day.",
                f"`gsh-tui host uninstall {self.link.name}` ends it once the machine can be reached.",
            )

    async def read_facts(self) -> Facts:
        """How it looks there now, or did the last time that it could be seen."""
        if not self._away:
            with contextlib.suppress(TimeoutError, CommandError):
                async with time_limit(_LOOK_WITHIN):
                    answer = await self._call(Order(new_id(), "look"))
                    if isinstance(answer, Looked):
                        self._see(answer.facts)
        return self.facts

    def acting(self, command: AnyCommand, files: FileSystem) -> AnyCommand:
        """The same command, carried out there, if it is one that acts; virtual paths stay here."""
        if not command.acts:
            return command

        async def assess(invocation: Invocation, parameters: Any) -> Assessment:
            if command.assess is not None and _is_virtual(files, parameters):
                return await command.assess(invocation, parameters)
            answer = await self._call(_order("assess", command, invocation, parameters))
            if isinstance(answer, Failed):
                raise CommandError(answer.why, hint=answer.hint)
            assert isinstance(answer, Judged)
            return self._named(answer.assessment)

        async def run(invocation: Invocation, parameters: Any) -> Outcome:
            if _is_virtual(files, parameters):
                return await command.handler(invocation, parameters)
            order = _order("run", command, invocation, parameters)
            answer = await self._call(order, invocation.output)
            if isinstance(answer, CallDone):
                self.facts = msgspec.structs.replace(self.facts, branch=answer.branch)
            return remote_calls.outcome_of(answer)

        words = {word: self.acting(one, files) for word, one in command.words.items()}
        return replace(command, handler=run, assess=assess, complete=None, actions=(), words=words)

    def _named(self, found: Assessment) -> Assessment:
        """With the machine, for the person who is asked."""
        return replace(found, machine=self.link.name, root=self.facts.project)

    def rules(self, book: RuleBook) -> RuleBook:
        """The rules with those of the project there, which only ask and deny, and count only there."""
        if self._ruled[0] != self.facts.rules:
            place = Path(f"{self.link.name}:{self.facts.project}/.gsh/rules.toml")
            theirs = parse_rules(place, self.facts.rules, tighten=True)
            self._ruled = self.facts.rules, tuple(replace(rule, machine=self.link.name) for rule in theirs.rules)
        return replace(book, rules=(*book.rules, *self._ruled[1]))

    # -- calls -----------------------------------------------------------------------------------------------------

    async def _call(self, order: Order, output: Callable[[str], None] = lambda _: None) -> Answer:
        """Its answer, however long that takes. Raises `CommandError` where waiting does not help."""
        call = _Open(order, asyncio.get_running_loop().create_future(), output)
        self._open[order.id] = call
        if self._resting is not None:
            self._resting.cancel()
        self._wanted.set()
        if self._line is not None:
            self._send(self._line, call)
        elif self._away:
            self._tell_away()
        try:
            return await call.answer
        except asyncio.CancelledError:
            if self._line is not None:
                self._write(self._line, Cancel(order.id))
            else:
                self._unsettled = True
            raise
        finally:
            self._open.pop(order.id, None)
            if not self._open:
                self._rest()

    def _rest(self) -> None:
        """Give the connection back, unless another call comes."""
        if self._line is None and not self._unsettled:
            self._wanted.clear()
            return

        def hang_up() -> None:
            if not self._open and self._line is not None and self._line.process.stdin is not None:
                self._wanted.clear()
                self._line.process.stdin.close()

        self._resting = asyncio.get_running_loop().call_later(_IDLE, hang_up)

    def _send(self, line: _Line, call: _Open) -> None:
        if not call.order.given_to and call.order.what == "run":
            call.order = msgspec.structs.replace(call.order, given_to=line.instance)
        self._write(line, call.order)

    @staticmethod
    def _write(line: _Line, message: ToTools) -> None:
        assert line.process.stdin is not None
        with contextlib.suppress(OSError):  # it has broken, which its reader finds out
            line.process.stdin.write(remote_calls.to_line(message))

    # -- the connection --------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Stay connected as long as there is something to do."""
        pause = _FIRST
        while not self._closing:
            try:
                line, self._fresh = self._fresh, None
                if line is None:
                    await self._wanted.wait()
                    line = await self._opened()
                pause = _FIRST
                await self._attend(line)
            except HostError as error:
                if error.kind not in PASSING:
                    self._give_up(error)
                elif self._wanted.is_set():
                    self._away = True
                    self._tell_away(error)
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST)

    async def _attend(self, line: _Line) -> None:
        """Pass on what is said, until the connection ends. Raises `HostError` if it broke."""
        self._line, away, self._away = line, self._away, False
        if away:
            self._tell("")
        try:
            for call in list(self._open.values()):
                self._send(line, call)
            if not self._open:
                self._rest()
            assert line.process.stdout is not None
            with contextlib.suppress(OSError, ValueError, msgspec.DecodeError):
                while said := await line.process.stdout.readline():
                    self._hear(line, remote_calls.read_answer(said))
        finally:
            if self._line is line:
                self._line = None
                await asyncio.shield(line.end())
        if self._wanted.is_set():
            raise HostError("unreachable", f"The connection to {self.link.name} broke.")

    def _hear(self, line: _Line, said: FromTools) -> None:
        match said:
            case CallOutput():
                if (call := self._open.get(said.id)) is not None:
                    call.output(said.text)
            case CallDone() | Judged() | Looked() | Failed():
                self._write(line, Taken(said.id))
                if (call := self._open.get(said.id)) is not None and not call.answer.done():
                    call.answer.set_result(said)
            case _:
                pass

    def _tell_away(self, error: HostError | None = None) -> None:
        error = error or self.link.failure
        if self._open:
            why = error.message if error is not None else f"{self.link.name} cannot be reached."
            self._tell(one_line(f"waiting for {self.link.name}: {why}", 200))

    def _give_up(self, error: HostError) -> None:
        """No call can be carried out until a person does something."""
        self._unsettled = False
        for call in list(self._open.values()):
            if call.answer.done():
                continue
            doubt = " Whether this was done is not known." if call.order.given_to else ""
            call.answer.set_result(Failed(call.order.id, f"{error.message}{doubt}", error.hint))
        self._wanted.clear()

    async def _opened(self) -> _Line:
        """A connection to the process there, which is started if it does not run. Raises `HostError`."""
        command = await self.link.prepare(call_script(self.link), "join", self._name)
        pipe = asyncio.subprocess.PIPE
        try:
            process = await start_child(
                *command.argv,
                env=command.environment,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
                limit=MOST_LINE,
            )
        except OSError as error:
            raise HostError("failed", f"Cannot start ssh: {error}.") from error
        line = _Line(process)
        try:
            async with time_limit(_WELCOME_WITHIN):
                await self._greet(line, command)
        except TimeoutError as error:
            text = f"The tools on {self.link.name} did not start within {_WELCOME_WITHIN:g} s."
            raise HostError("unreachable", text) from error
        finally:
            if not line.instance:
                await asyncio.shield(line.end())
        self._was_there, self._unsettled = True, False
        return line

    async def _greet(self, line: _Line, command: PreparedCommand) -> None:
        """Say hello, and hear welcome. Raises `HostError`."""
        name, output = self.link.name, line.process.stdout
        assert output is not None
        self._write(line, msgspec.structs.replace(self._hello, wanted=tuple(self._open)))
        try:
            while not command.output.begun and not command.output.flooded and (noise := await output.readline()):
                command.output.feed(noise)
            said = await output.readline()
            heard = remote_calls.read_answer(said) if said else None
        except (OSError, ValueError, msgspec.DecodeError):
            heard = ToolsRefused("They said something else than welcome.")
        match heard:
            case Welcome():
                line.instance = heard.instance
                self._see(heard.facts)
            case ToolsRefused():
                hint = f"`gsh-tui host install {name}` brings the same version there."
                raise HostError("failed", f"The tools on {name} cannot be used: {heard.why}", heard.hint or hint)
            case _:
                status, errors = await line.process.wait(), command.errors.feed(await line.errors or b"")
                if not command.output.begun or status == 255:
                    raise command.explain(command.errors.end() or errors)
                if status == MISSING:
                    raise not_installed(self.link)
                if not status:  # the next attempt starts another
                    raise HostError("unreachable", f"The tools on {name} were just ending.")
                last = errors.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"status {status}"]
                raise HostError("failed", f"The tools on {name} did not start: {one_line(literal(last[0]), 300)}.")

    def _see(self, facts: Facts) -> None:
        self.facts = facts
        for text, hint in facts.notes:
            self._note(text, hint)


def _order(what: Literal["assess", "run"], command: AnyCommand, invocation: Invocation, parameters: Any) -> Order:
    given: dict[str, Any] = parameters.model_dump(mode="json", exclude_unset=True)
    return Order(new_id(), what, command.name, given, remote_calls.place_of(invocation))


def _is_virtual(files: FileSystem, parameters: Any) -> bool:
    """Whether a path that it names is one of the virtual files, which are here."""
    given: Any = getattr(parameters, "path", None)
    asked: list[Any] = [*given] if isinstance(given, list | tuple) else [given]
    paths = [files.path(one) for one in asked if isinstance(one, str)]
    return any(path is not None and path.mount != SHARED for path in paths)


async def _last(pipe: asyncio.StreamReader | None) -> bytes:
    """The end of what comes out of it."""
    kept = b""
    while pipe is not None and (data := await pipe.read(1 << 14)):
        kept = (kept + data)[-20_000:]
    return kept

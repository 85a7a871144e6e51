"""The shell of one person who came in over SSH: lines of the command language, and what is said in their call.

Asyncssh edits the line; this runs it on the hub with the person's own rights, variables and place. `ctrl+c` stops what
runs, `ctrl+d` or `exit` leaves. `talk to=NAME` alone talks until an empty line.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, LiteralString, cast

import asyncssh

from gshtui.bus.call_data import CallMessage
from gshtui.bus.event import Event
from gshtui.bus.events.call_events import CallMessageAdded
from gshtui.calls.call_service import CallService, Principal
from gshtui.commands.declaration import Caller, CommandError, Invocation, Outcome, Question, UsageError
from gshtui.commands.evaluation import asking, run_line
from gshtui.commands.execution import run_parsed
from gshtui.commands.language import read_line
from gshtui.commands.line_values import Variables
from gshtui.guard.people import AuthorizedPerson
from gshtui.hub.hub import Hub
from gshtui.system.deadline import DeadlinePassed, deadline
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.sanitise import CleanText, clean_text, coloured, one_line, plain
from gshtui.text.terminal_markdown import markdown_lines
from gshtui.text.verbatim import bare

if TYPE_CHECKING:
    from asyncssh.editor import SSHLineEditorChannel

GUEST_COMMANDS = frozenset(
    {"calls", "echo", "env", "help", "history", "join", "leave", "pwd", "say", "status", "talk", "topic", "wall", "who"}
)
"""What somebody with the right to talk may run."""
MOST_LINES = 60
"""Lines of a guest within a minute."""
_LEAVING = ("exit", "quit", "logout")
_YES = ("y", "yes")
_WIDEST = 120
_LAID_OUT_WITHIN = 0.5
"""Seconds of the processor; what takes longer, such as a table of a thousand columns, is shown as it is."""


class PersonShell:
    """Serves one connection; `run` returns when the person leaves."""

    def __init__(self, hub: Hub, calls: CallService, process: asyncssh.SSHServerProcess[str], person: AuthorizedPerson):
        self._hub = hub
        self._calls = calls
        self._process = process
        self._who = Principal(person.name, person.name, mode="ask" if person.rights == "talk" else None)
        self._caller = Caller(person.name, commands=GUEST_COMMANDS if person.rights == "talk" else None)
        self._times: deque[float] = deque(maxlen=MOST_LINES)
        self._variables = Variables()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._running: asyncio.Task[Any] | None = None
        self._call = ""
        self._prompt = clean_text()
        """What stands before the cursor while a line is waited for."""
        self._names: list[str] = []
        """Calls and agents, for completion."""

    async def run(self) -> None:
        """Until they leave or the connection ends."""
        self._call = (await self._calls.find("", self._who)).name
        self._names = [*await self._calls.names(), *await self._calls.agent_names()]
        heard = self._hub.bus.subscribe(self._hear, CallMessageAdded, name=f"ssh {self._who.name}")
        reader = start_job(self._read(), f"ssh input of {self._who.name}")
        try:
            if self._has_terminal:
                editor = cast("SSHLineEditorChannel", self._process.channel)
                editor.register_key("\t", self._complete)
            self._write("Welcome, ", one_line(self._who.name), ". `help` lists what you can do; `exit` leaves.\n")
            while True:
                line = await self._prompted(clean_text("gsh:", one_line(self._call), "> "))
                if line is None or line.strip().lower() in _LEAVING:
                    return
                if line.strip():
                    await self._guarded(self._run_line(line.strip()))
        finally:
            heard.unsubscribe()
            await cancel_and_wait(reader, self._running)

    async def _read(self) -> None:
        """Put lines into the queue; a break stops what runs."""
        while True:
            try:
                line = await self._process.stdin.readline()
            except asyncssh.BreakReceived:
                if self._running is not None:
                    self._running.cancel()
                else:
                    self._lines.put_nowait("")
                continue
            except asyncssh.TerminalSizeChanged:
                continue
            except (asyncssh.Error, OSError):
                line = ""
            if not line:
                self._lines.put_nowait(None)
                return
            self._lines.put_nowait(line.rstrip("\r\n"))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work; a break or an error ends it, never the connection."""
        running = self._running = start_job(self._reported(work), f"ssh line of {self._who.name}")
        try:
            await asyncio.wait({running})
        finally:
            self._running = None
            await cancel_and_wait(running)
        if running.cancelled():
            self._write("\n(stopped)\n")

    async def _reported(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except CommandError as error:
            position = f"\n{error.position.picture}" if error.position is not None else ""
            self._write(plain(f"{error}{position}"), "\n")

    async def _run_line(self, line: str) -> None:
        self._times.append(time.monotonic())
        if self._caller.is_guest and len(self._times) == MOST_LINES and self._times[-1] - self._times[0] < 60.0:
            raise CommandError(
                f"That was {MOST_LINES} lines within a minute, which is the most.", hint="Wait a moment."
            )
        if partner := self._partner(line):
            await self._talk(partner)
            return
        outcome = await run_line(self._hub.registry, line, self._invocation())
        self._call = (await self._calls.find("", self._who)).name
        self._show(outcome)

    def _invocation(self) -> Invocation:
        invocation = self._hub.invocation(self._caller)
        return replace(
            invocation,
            variables=self._variables,
            run_stage=asking(self._hub.registry, self._ask, run_parsed),
        )

    def _partner(self, line: str) -> str:
        """The agent that `talk to=NAME` alone names; empty: it is another line."""
        with contextlib.suppress(UsageError):
            stage = read_line(self._hub.registry, line).only_stage
            if stage is not None and stage.name == "talk" and len(stage.arguments) == 1:
                words = line.split(maxsplit=1)[1].split()
                if len(words) == 1:
                    return words[0].removeprefix("to=").strip("'\"")
        return ""

    async def _talk(self, partner: str) -> None:
        """Say one line after another to an agent, until an empty one."""
        self._write("An empty line ends it.\n")
        while True:
            line = await self._prompted(clean_text("you> "))
            if line is None:
                self._lines.put_nowait(None)
                return
            if not line.strip():
                return
            command = self._hub.registry.get("talk")
            parameters = command.parameters.model_validate({"to": partner, "message": line})
            self._show(await run_parsed(command, parameters, self._invocation()))

    async def _ask(self, question: Question) -> bool:
        for text in (question.title, question.text, *question.losses, question.note):
            if text:
                self._write(plain(text), "\n")
        answer = await self._prompted(clean_text(one_line(question.yes), "? [y/N] "))
        if answer is None:
            self._lines.put_nowait(None)
        return (answer or "").strip().lower() in _YES

    def _hear(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, CallMessageAdded) and event.call == self._call:
                message = event.message
                if message.author != self._who.id or message.role == "system":
                    self._interject(self._said(message))

    def _said(self, message: CallMessage) -> CleanText:
        if message.role == "system":
            return clean_text("* ", plain(message.text), "\n")
        name = one_line(message.author_name or message.author, 40)
        shown = coloured(name, "36" if message.role == "assistant" else "32") if self._has_terminal else name
        return clean_text(shown, "> ", self._rendered(message.text), "\n")

    def _show(self, outcome: Outcome) -> None:
        text = bare(outcome.text) if not self._has_terminal else outcome.text
        if outcome.aside:
            self._write(plain(outcome.aside), "\n")
        if text.strip() and not outcome.shown:
            self._write(self._rendered(text), "\n")

    async def _prompted(self, prompt: CleanText) -> str | None:
        """The next line, asked for with a prompt; `None`: there are no more."""
        self._prompt = prompt
        self._write(prompt)
        try:
            return await self._lines.get()
        finally:
            self._prompt = clean_text()

    def _interject(self, text: CleanText) -> None:
        """Write above the prompt and what is being typed, which the editor then draws anew."""
        if self._prompt and self._has_terminal:
            self._write("\r\x1b[K", text, self._prompt)
        else:
            self._write(text)

    @property
    def _has_terminal(self) -> bool:
        return bool(self._process.term_type)

    def _rendered(self, text: str) -> CleanText:
        """Markdown for a terminal; as it is without one."""
        if not self._has_terminal:
            return plain(text)
        width = max(20, min(_WIDEST, self._process.term_size[0] or 80))
        try:
            with deadline(_LAID_OUT_WITHIN):
                first, *more = markdown_lines(plain(text), width, coloured) or [clean_text()]
        except DeadlinePassed:  # everybody else is waiting
            return plain(text)
        return clean_text(first, *(clean_text("\n", line) for line in more))

    def _write(self, *parts: LiteralString | CleanText) -> None:
        """Write to their terminal: what is sanitised, and sequences of our own."""
        with contextlib.suppress(asyncssh.Error, OSError, BrokenPipeError):
            self._process.stdout.write(clean_text(*parts))

    def _complete(self, line: str, place: int) -> tuple[str, int] | bool:
        """Complete the word before the cursor: a command, or the name of a call or an agent."""
        before, after = line[:place], line[place:]
        start = max(before.rfind(" "), before.rfind("="), before.rfind("@"), before.rfind("|"), before.rfind("(")) + 1
        word = before[start:]
        first = not before[:start].strip() or before[:start].rstrip().endswith(("|", ";", "("))
        known = sorted(self._commands()) if first else self._names
        fits = [one for one in known if one.startswith(word)]
        if not fits:
            return False
        common = fits[0]
        while not all(one.startswith(common) for one in fits):
            common = common[:-1]
        done = before[:start] + common + (" " if len(fits) == 1 else "")
        return done + after, len(done)

    def _commands(self) -> list[str]:
        allowed = self._caller.commands
        return [name for name in self._hub.registry.offered_names if allowed is None or name in allowed]

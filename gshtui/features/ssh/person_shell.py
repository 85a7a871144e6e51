"""The shell of one person who came in over SSH: lines of the command language, and what is said in their call.

It runs lines on the hub with the person's own rights, variables and place. `ctrl+c` stops what runs, `ctrl+d` or `exit`
leaves. `talk to=NAME` alone talks until an empty line. Without a terminal it is for a script: results alone go to its
standard output, nothing is asked, and it ends as its last line did. Programs (`vim`, `exec`) and the `workbench` get
the person's screen; they can do anything, so they are for people who may do anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections import deque
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, LiteralString

import asyncssh
import msgspec
from msgspec.structs import replace

from gshtui.bus.call_data import CallMessage, Principal
from gshtui.bus.event import Event
from gshtui.bus.events.call_events import CallMessageAdded, PresenceReported
from gshtui.calls.answer_drafts import DraftPiece, DraftReader
from gshtui.calls.call_service import CallService
from gshtui.commands.completion import complete
from gshtui.commands.declaration import (
    Caller,
    CommandError,
    Invocation,
    NotAllowed,
    Outcome,
    ProgramView,
    Question,
    UsageError,
)
from gshtui.commands.evaluation import asking, run_line
from gshtui.commands.execution import command_error, run_parsed
from gshtui.commands.language import read_line
from gshtui.commands.line_values import Variables
from gshtui.commands.registry import may_run
from gshtui.features.ssh.person_terminal import LineRefused, PersonTerminal
from gshtui.guard.people import AuthorizedPerson
from gshtui.hub.hub import Hub
from gshtui.system.caller_environment import without_terminal
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.system.json_types import is_object
from gshtui.system.processes.deadline import DeadlinePassed, deadline
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.markdown_table import bare
from gshtui.text.sanitise import CleanText, Sanitiser, clean_text, coloured, one_line, plain
from gshtui.text.terminal_markdown import markdown_lines

MOST_LINES = 60
"""Lines of a guest within a minute."""
WORKBENCH = "workbench"
"""Opens the whole window in the person's terminal."""
_LEAVING = ("exit", "quit", "logout")
_YES = ("y", "yes")
_WIDEST = 120
_LAID_OUT_WITHIN = 0.3
"""Seconds of the processor; what takes longer, such as a table of a thousand columns, is shown as it is."""
_COMPLETIONS = 40
_MARKUP = re.compile(r"[&*_`#|\[\]<>~\\]|^[ \t]*(?:[-+]|\d+[.)])\s", re.MULTILINE)
"""What may be Markdown: a line of words alone costs nothing to show."""
_TYPING_EVERY, _TYPING_FOR = 3.0, 6.0
"""Seconds between two notes that somebody types, and for which each holds."""


LineEnd = Outcome | CommandError | KeyboardInterrupt | int | None
"""How a line ended: its outcome, why it could not run, that it was stopped, or the status of the program it started."""


def _nothing() -> None:
    """There is nothing to end."""


def caller_of(person: AuthorizedPerson) -> Caller:
    """On whose behalf a person's commands run, and which these may be."""
    return Caller(person.name, is_guest=person.rights == "talk")


class Visit(msgspec.Struct, frozen=True):
    """Who came, and what the house has for them."""

    hub: Hub
    calls: CallService
    person: AuthorizedPerson
    drafts: DraftReader
    workbench: Sequence[str]
    """The words of the program that is the window."""


class PersonShell:
    """Serves one connection; `run` returns when the person leaves."""

    def __init__(self, visit: Visit, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self._hub = visit.hub
        self._calls = visit.calls
        self._workbench = visit.workbench
        self._drafts = visit.drafts
        self._terminal = PersonTerminal(process)
        self._answers = StreamedAnswers(self._terminal)
        self._shown: deque[str] = deque(maxlen=100)
        """Answers that were shown: what `talk` waits for is also said in the call."""
        person = visit.person
        self._who = Principal(person.name, person.name, mode="ask" if person.rights == "talk" else None)
        self._caller = caller_of(person)
        self._times: deque[float] = deque(maxlen=MOST_LINES)
        self._variables = Variables()
        self.running: asyncio.Task[Any] | None = None
        """The line that runs."""
        self._call = ""
        self._asking = clean_text()
        """The prompt of a question or a talk; empty: the shell's own."""
        self._typing: dict[str, tuple[CleanText, float]] = {}
        """Who types in this call: name, and until when that is shown."""
        self._typed = 0.0
        self._unsaid: list[CallMessage] = []
        """Said in the call while a line of a script runs, whose answer may be among it."""
        self._ended: LineEnd = None

    async def run(self, command: str | None = None) -> LineEnd:
        """Until they leave or the connection ends. `command`: what they asked for instead of the shell.

        Returns how the command, or the last line of a script, ended.
        """
        self._terminal.on_break = self._stop_running
        self._terminal.on_typing = self._note_typing
        self._terminal.complete = self._complete
        self._terminal.open()
        heard = self._hub.bus.subscribe(self._hear, CallMessageAdded, PresenceReported, name=f"ssh {self._who.name}")
        unfollow = self._drafts.follow(self._add_draft) if self._terminal.has_screen else _nothing
        watch = start_job(self._forget_typing(), "who types in a call")
        try:
            self._call = (await self._calls.find("", self._who)).name
            if command is not None:
                await self._guarded(self._run_line(command))
                return self._ended
            if self._terminal.has_screen:
                self._terminal.show(
                    "Welcome, ", one_line(self._who.name), ". `help` lists what you can do; `exit` leaves.\n"
                )
            while (line := await self._read_line()) is not None:
                if line.strip().lower() in _LEAVING:
                    break
                if line.strip():
                    await self._guarded(self._run_line(line.strip()))
        except ExpectedError as error:
            self._terminal.note(plain(str(error)), "\n")
            return command_error(error)
        finally:
            heard.unsubscribe()
            unfollow()
            await cancel_and_wait(watch, self.running)
            await self._terminal.close()
        return None if self._terminal.has_screen else self._ended

    async def _read_line(self, asking: CleanText | None = None) -> str | None:
        """The next line that can be used; `asking`: another prompt than the shell's."""
        self._asking = asking or clean_text()
        while True:
            try:
                return await self._terminal.read_line(self._prompt())
            except LineRefused as why:
                self._ended = UsageError(f"{why} It was not run.")
                self._terminal.note(plain(str(self._ended)), "\n")

    def _prompt(self) -> CleanText:
        if self._asking:
            return self._asking
        typing = [name for name, _ in self._typing.values()]
        note = clean_text(" (", typing[0], " types)") if len(typing) == 1 else clean_text()
        note = clean_text(" (", len(typing), " type)") if len(typing) > 1 else note
        return clean_text(self._coloured(one_line(self._who.name), "32"), ":", one_line(self._call), note, "> ")

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work; a break or an error ends it, never the connection."""
        running = self.running = start_job(self._reported(work), f"ssh line of {self._who.name}")
        try:
            await asyncio.wait({running})
        finally:
            self.running = None
            await cancel_and_wait(running)
        if running.cancelled():
            self._ended = KeyboardInterrupt()
            self._terminal.note("\n(stopped)\n")
        self._tell(self._unsaid)
        self._unsaid.clear()

    def _stop_running(self) -> None:
        if self.running is not None:
            self.running.cancel()

    async def _reported(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ExpectedError as failure:
            error = self._ended = command_error(failure)
            position = f"\n{error.position.picture}" if error.position is not None else ""
            self._terminal.note(plain(f"{error}{position}"), "\n")

    async def _run_line(self, line: str) -> None:
        self._ended = None
        self._times.append(time.monotonic())
        if self._caller.is_guest and len(self._times) == MOST_LINES and self._times[-1] - self._times[0] < 60.0:
            raise CommandError(
                f"That was {MOST_LINES} lines within a minute, which is the most.", hint="Wait a moment."
            )
        if line == WORKBENCH:
            await self._open_workbench()
        elif partner := self._partner(line):
            await self._talk(partner)
        else:
            outcome = await self._run_command(line)
            self._enter((await self._calls.find("", self._who)).name)
            self._ended = outcome
            for part in outcome.parts or (outcome,):
                await self._show(part)

    async def _run_command(self, line: str) -> Outcome:
        """Run a line, and tell the call in which it was typed. Raises `CommandError`."""
        try:
            outcome = await run_line(self._hub.registry, line, self._invocation())
        except UsageError:
            raise  # nothing was run
        except CommandError:
            await self._note_run(line, failed=True)
            raise
        await self._note_run(line, failed=outcome.is_error)
        return outcome

    async def _note_run(self, line: str, *, failed: bool) -> None:
        id = new_id()
        self._shown.append(id)  # who typed it sees what came of it
        with contextlib.suppress(ExpectedError):  # the call is gone, or the record is busy
            await self._calls.note_run(self._call, line, self._who, failed=failed, id=id)

    def _enter(self, call: str) -> None:
        if call != self._call:
            self._call = call
            self._typing.clear()
            self._answers.clear()

    def _invocation(self) -> Invocation:
        """How lines run here; without a terminal nobody is asked, and what loses something refuses."""
        ask = asking(self._hub.registry, self._ask, run_parsed) if self._terminal.has_screen else None
        return replace(self._hub.invocation(self._caller), variables=self._variables, run_stage=ask)

    async def _open_workbench(self) -> None:
        """The window, for somebody who may start any program anyway."""
        if self._caller.is_guest:
            raise NotAllowed("You may not open the workbench here.", hint="`help` lists what you can do.")
        if not self._terminal.has_colours:
            raise UsageError("The workbench needs a terminal.", hint="Connect with `ssh -t`.")
        await self._run_program(self._workbench)

    async def _run_program(self, words: Sequence[str]) -> None:
        cwd = self._hub.options.cwd
        try:
            status = await self._terminal.run_program(words, cwd=cwd, env=without_terminal(self._hub.environ))
        except OSError as error:
            raise CommandError(f"Cannot start {Path(words[0]).name}: {error.strerror or error}.") from error
        self._ended = status
        if status:
            self._terminal.note("It ended with ", status, ".\n")

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
        if self._terminal.has_screen:
            self._terminal.show("An empty line ends it.\n")
        command = self._hub.registry.get("talk")
        while line := (await self._read_line(clean_text("you> ")) or "").strip():
            parameters = command.parameters.model_validate({"to": partner, "message": line})
            self._ended = await run_parsed(command, parameters, self._invocation())
            await self._show(self._ended)

    async def _ask(self, question: Question) -> bool:
        for text in (question.title, question.text, *question.losses, question.note):
            if text:
                self._terminal.show(plain(text), "\n")
        answer = await self._read_line(clean_text(one_line(question.yes), "? [y/N] "))
        return (answer or "").strip().lower() in _YES

    def _add_draft(self, piece: DraftPiece) -> None:
        if piece.head.call == self._call:
            self._answers.add(piece)

    def _hear(self, batch: Sequence[Event]) -> None:
        said: list[CallMessage] = []
        for event in batch:
            match event:
                case CallMessageAdded(call=self._call, message=message):
                    self._typing.pop(message.author, None)
                    said.append(message)
                case PresenceReported(call=self._call) if event.member != self._who.id:
                    if event.doing == "typing":
                        self._typing[event.member] = (one_line(event.name, 40), time.monotonic() + _TYPING_FOR)
                    else:
                        self._typing.pop(event.member, None)
                case _:
                    continue
        if self.running is not None and not self._terminal.has_screen:
            self._unsaid += said
        else:
            self._tell(said)

    def _tell(self, messages: Sequence[CallMessage]) -> None:
        """Show what was said, unless it was shown while it was said, or as the answer of a line."""
        said: list[CleanText] = []
        for message in messages:
            if self._answers.end(message.id, message.text):
                self._shown.append(message.id)
            elif message.id not in self._shown and (message.author != self._who.id or message.role == "system"):
                self._shown.append(message.id)
                said.append(self._said(message))
        if said:
            self._answers.end_line()
        self._terminal.interject(clean_text(*said), self._prompt())

    def _note_typing(self) -> None:
        """Tell the others that this person types, now and then."""
        now = time.monotonic()
        if not self._asking and now - self._typed > _TYPING_EVERY:
            self._typed = now
            start_job(self._say_typing(), "who types in a call")

    async def _say_typing(self) -> None:
        with contextlib.suppress(ExpectedError):  # the record is busy: it is said with a later key
            await self._calls.note_typing(self._who)

    async def _forget_typing(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            if any(until < now for _, until in self._typing.values()):
                self._typing = {who: one for who, one in self._typing.items() if one[1] >= now}
                self._terminal.interject(clean_text(), self._prompt())

    def _said(self, message: CallMessage) -> CleanText:
        if message.role == "system":
            return clean_text("* ", plain(message.text), "\n")
        name = one_line(message.author_name or message.author, 40)
        shown = self._coloured(name, "36" if message.role == "assistant" else "33")
        return clean_text(shown, "> ", self._rendered(message.text), "\n")

    async def _show(self, outcome: Outcome) -> None:
        if isinstance(outcome.view, ProgramView):
            if outcome.view.needs_screen and not self._terminal.has_screen:
                raise CommandError("This needs a terminal.", hint="Connect with `ssh -t`.")
            await self._run_program(("/bin/sh", "-c", outcome.view.command))
            return
        if self._is_shown(outcome):
            return
        self._answers.end_line()
        text = outcome.drawn if self._terminal.has_colours else outcome.plain or bare(outcome.drawn)
        if outcome.aside:
            self._terminal.note(plain(outcome.aside), "\n")
        if text.strip() and not outcome.shown:
            await self._terminal.show_result(self._rendered(text.removesuffix("\n")))

    def _is_shown(self, outcome: Outcome) -> bool:
        """Whether it is an answer in the call that was shown there already; if not, it will not be shown again."""
        given: object = outcome.data
        if not is_object(given):
            return False
        data = given
        letter, answer = str(data.get("message", "")), str(data.get("answer", ""))
        if not letter or not answer:
            return False
        shown = letter in self._shown or self._answers.end(letter, answer)
        self._shown.append(letter)
        return shown

    def _coloured(self, name: CleanText, colour: LiteralString) -> CleanText:
        return coloured(name, colour) if self._terminal.has_colours else name

    def _rendered(self, text: str) -> CleanText:
        """Markdown for a terminal; as it is without one."""
        if not self._terminal.has_colours or not _MARKUP.search(text):
            return plain(text)
        width = max(20, min(_WIDEST, self._terminal.size[0]))
        try:
            with deadline(_LAID_OUT_WITHIN):
                first, *more = markdown_lines(plain(text), width, coloured) or [clean_text()]
        except DeadlinePassed:  # everybody else is waiting
            return plain(text)
        return clean_text(first, *(clean_text("\n", line) for line in more))

    async def _complete(self, line: str, place: int) -> tuple[str, int] | None:
        """Complete what stands before the cursor as far as all that fits begins alike; else show what fits."""
        found = await complete(self._hub.registry, self._invocation(), line, place)
        registry = self._hub.registry
        found = [
            one for one in found if one.kind != "command" or may_run(registry.get(one.value.strip()), self._caller)
        ]
        if not found:
            return None
        start, end = found[0].start, found[0].end
        values = [one.value for one in found if one.start == start]
        common = os.path.commonprefix(values)  # noqa: RUF071 - these are texts, not paths
        if len(values) > 1 and len(common) <= end - start:
            self._terminal.interject(clean_text(one_line("  ".join(values[:_COMPLETIONS]), 1_000), "\n"))
            return None
        more = " " if len(values) == 1 and not common.endswith(("=", "/", " ")) else ""
        done = line[:start] + common + more
        return done + line[end:], len(done)


_LONGEST = 200_000
"""Characters of an answer that are compared with what is said in the end."""


class _Answer(msgspec.Struct):
    name: str
    said: str = ""
    """The text of its newest message."""
    sanitiser: Sanitiser = msgspec.field(default_factory=Sanitiser)
    began: bool = False
    """Its name is before it."""


class StreamedAnswers:
    """The answers that grow, in one terminal."""

    def __init__(self, terminal: PersonTerminal) -> None:
        self._terminal = terminal
        self._answers: dict[str, _Answer] = {}
        self._unfinished = ""
        """The letter whose line is not complete on the screen."""

    def add(self, piece: DraftPiece) -> None:
        answer = self._answers.setdefault(piece.head.letter, _Answer(piece.head.name))
        if piece.anew:
            self._show(piece.head.letter, answer, answer.sanitiser.finish())
            self.end_line()
            answer.said, answer.sanitiser, answer.began = "", Sanitiser(), False
        answer.said = (answer.said + piece.text)[:_LONGEST]
        lines = answer.sanitiser.feed(piece.text)
        if not self._terminal.waits:
            lines = clean_text(lines, answer.sanitiser.flush())
        self._show(piece.head.letter, answer, lines)

    def end(self, letter: str, text: str) -> bool:
        """It is said; show what of it was not shown yet, and return whether all of it is now."""
        answer = self._answers.pop(letter, None)
        if answer is None or not answer.began:
            return False
        text, said = text.strip(), answer.said.lstrip()
        begins_so = text.startswith(said) or text == said.rstrip()
        rest = answer.sanitiser.feed(text[len(said) :]) if begins_so else clean_text()
        self._show(letter, answer, clean_text(rest, answer.sanitiser.finish()))
        self.end_line()
        return begins_so

    def end_line(self) -> None:
        """Something else is printed next."""
        if self._unfinished:
            self._unfinished = ""
            self._terminal.interject(clean_text("\n"))

    def clear(self) -> None:
        """Show nothing more of those so far: the person is in another call."""
        self.end_line()
        self._answers.clear()

    def _show(self, letter: str, answer: _Answer, text: CleanText) -> None:
        if not text.strip() and not answer.began:
            return
        if not text:
            return
        if self._unfinished not in ("", letter):
            self.end_line()
        if not answer.began:
            answer.began = True
            name = one_line(answer.name, 40)
            text = clean_text(coloured(name, "36") if self._terminal.has_colours else name, "> ", text)
        ends = text.endswith("\n")
        if self._terminal.waits and not ends:
            text, ends = clean_text(text, "\n"), True
        self._unfinished = "" if ends else letter
        self._terminal.interject(text)

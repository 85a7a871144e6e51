"""The output of commands in shells inside tmux: reads the pane after each command and cuts the output from its lines.

Searches for the command's line and the next prompt; keeps nothing if it cannot tell them apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import stat
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.shell_data import ShellRecord
from gshtui.shell.pairing import ShellInfo
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

if TYPE_CHECKING:
    from gshtui.tmux.client_process import OneShotTransport

_STYLE = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)|[\x0e\x0f]")
_NO_NEWLINE = re.compile(r"(?:\x1b\[[0-9;:]*m){0,8}\x1b\[(?:[0-9;:]*;)?7m[%#](?:\x1b\[[0-9;:]*m)+\s*\Z")
"""What zsh prints after a last line without a newline."""
_MARK = "[redacted]"
_RIGHT = re.compile(r"\s*\Z|\s{2,}\S")
"""What may follow a typed command on its line: nothing, or a right prompt."""
_HEAD_MOST = 4


class PromptHabit(msgspec.Struct, frozen=True):
    """What the prompt of a shell looks like, as far as it was seen."""

    prompt: str = ""
    """Its last line."""
    head: int | None = None
    """Lines above that: as many as were the same above each prompt that was seen."""


class PrintedText(msgspec.Struct, frozen=True):
    """The output found in a pane."""

    lines: tuple[str, ...]
    habit: PromptHabit
    above: bool = False
    """Whether there was more above it, which is lost."""


def printed(screen: Sequence[str], command: str, habit: PromptHabit, *, scrolled: bool) -> PrintedText | None:
    """The output of the newest command on these lines; `None` if it cannot be determined.

    Args:
        screen: the terminal's last lines down to the prompt, styled, wrapped lines joined.
        command: as typed, without secrets.
        habit: what is known about the prompt.
        scrolled: there is more above these lines.
    """
    plain = [_STYLE.sub("", _NO_NEWLINE.sub("", line)).rstrip() for line in screen]
    while plain and not plain[-1]:
        plain.pop()
    if not plain:
        return None
    typed = [line.rstrip() for line in command.rstrip().split("\n")]
    found = _echo(plain[:-1], typed, habit.prompt)
    if found is None:
        if not scrolled or not habit.prompt or not _is_prompt(plain[-1], habit.prompt):
            return None
        return PrintedText(_without_head(plain[:-1], habit.head or 0), habit, above=True)
    at, prompt = found
    if not prompt or not _is_prompt(plain[-1], prompt):
        return None  # the prompt is not there yet, or something stands in its place
    body = plain[at + 1 : -1]
    seen = _repeated(plain[: at - len(typed) + 1], body)
    head = seen if habit.head is None else min(seen, habit.head)
    return PrintedText(_without_head(body, 0 if habit.head is None else head), PromptHabit(plain[-1], head))


def printed_before(screen: Sequence[str], typed: Sequence[str], *, scrolled: bool) -> list[PrintedText | None]:
    """The outputs of a shell's last commands while the newest still runs; `None` where it cannot be determined.

    Args:
        screen: the terminal's last lines, as for `printed`.
        typed: the commands, oldest first, with nothing typed between them; the last one is the one that runs.
        scrolled: there is more above these lines.
    """
    plain = [_STYLE.sub("", _NO_NEWLINE.sub("", line)).rstrip() for line in screen]
    ends: list[tuple[int, str]] = []
    end, prompt = len(plain), ""
    for command in reversed(typed):
        lines = [line.rstrip() for line in command.rstrip().split("\n")]
        found = _echo(plain[:end], lines, prompt)
        if found is None or not found[1].strip():
            break
        end, prompt = found[0] - len(lines) + 1, found[1]
        ends.append((end, prompt))
    outputs: list[PrintedText | None] = [None] * (len(typed) - 1)
    habit = PromptHabit(ends[0][1].rstrip()) if ends else PromptHabit()
    for back in reversed(range(min(len(ends), len(outputs)))):
        end, prompt = ends[back]
        seen = printed([*screen[:end], prompt], typed[-2 - back], habit, scrolled=scrolled)
        if seen is not None:
            habit = seen.habit
            outputs[-1 - back] = PrintedText(_without_prompts(seen.lines, prompt.rstrip()), habit, seen.above)
    return outputs


def _without_prompts(lines: Sequence[str], prompt: str) -> tuple[str, ...]:
    """Without the prompts at its end at which only enter was pressed."""
    kept = list(lines)
    while kept and kept[-1] in ("", prompt):
        kept.pop()
    return tuple(kept)


def _repeated(above: Sequence[str], body: Sequence[str]) -> int:
    """How many lines above the last prompt are also above the one before: those of the prompt, most likely."""
    count = 0
    for before, now in zip(reversed(above[-_HEAD_MOST:]), reversed(body[-_HEAD_MOST:]), strict=False):
        if before != now:
            break
        count += 1
    return count


def _echo(plain: Sequence[str], typed: Sequence[str], prompt: str) -> tuple[int, str] | None:
    """The line on which the command was typed to its end, and the prompt before it: the last such place."""
    for known in (prompt, ""):
        for at in range(len(plain) - len(typed), -1, -1):
            before = _typed_at(plain[at], typed[0], known)
            if before is None:
                continue
            rest = zip(plain[at + 1 : at + len(typed)], typed[1:], strict=True)
            if all(_typed_at(line, wanted, "") is not None for line, wanted in rest):
                return at + len(typed) - 1, before
        if not prompt:
            break
    return None


def _typed_at(line: str, typed: str, prompt: str) -> str | None:
    """The text before the typed text on a line that ends with it; `None` if the line does not."""
    if prompt and not line.startswith(prompt.rstrip()):
        return None
    first, *others = typed.split(_MARK)
    start = len(prompt.rstrip()) if prompt else 0
    at = line.find(first, start)
    if at < 0:
        return None
    end = at + len(first)
    for other in others:
        end = line.find(other, end)
        if end < 0:
            return None
        end += len(other)
    if (not others or others[-1]) and not _RIGHT.match(line, end):
        return None
    return line[:at]


def _is_prompt(line: str, prompt: str) -> bool:
    """Whether a line begins as the prompt does; its folder and time may be others."""
    line, prompt = line.strip(), prompt.strip()
    return bool(line) and (line.startswith(prompt) or line[-1:] == prompt[-1:] or prompt in line)


def _without_head(body: Sequence[str], head: int) -> tuple[str, ...]:
    kept = list(body[: len(body) - head] if head else body)
    while kept and not kept[-1]:
        kept.pop()
    return tuple(kept)


SETTLES = (0.08, 0.25, 0.7)
"""Seconds after a command's end at which the prompt may be there."""
AT_ONCE = 2
_PANES = 200
_ROOM = 60
"""Lines read in addition to the output: the command itself and the prompt."""
_PAST = 6
"""Commands whose output is read when they have scrolled up."""
_PAST_LINES = 2_000
"""Lines of the pane that are read for it."""
_SETTLED_WITHIN = 0.4
_STILL = 0.05
"""Seconds that a command runs before it is worth reading what was printed before it."""
_LONGEST = 4_000
"""Most characters kept of a line."""

Found = Callable[[ShellRecord, str], Awaitable[None]]


class PaneOutputs:
    """`record_stored` for each stored record; what its command printed is handed to `found`."""

    def __init__(self, lines: int, found: Found, redact: Callable[[str], str]) -> None:
        """`lines`: most lines of each command's output; 0: do not read output."""
        self._lines = lines
        self._found = found
        self._redact = redact
        self._newest: dict[str, int] = {}
        self._habits: dict[str, PromptHabit] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._past: dict[str, list[ShellRecord]] = {}
        """The last commands of each shell whose output nobody has read yet, oldest first."""
        self._few = asyncio.Semaphore(AT_ONCE)

    def record_stored(self, record: ShellRecord, info: ShellInfo) -> None:
        """A command began or ended. Never blocks."""
        if not self._lines or record.source != "shell" or not info.socket or not record.pane:
            return
        key = record.shell
        for kept in (self._newest, self._past):
            while len(kept) > _PANES:
                kept.pop(next(iter(kept)))
        past = [one for one in self._past.get(key, []) if one.number != record.number]
        if record.output or not record.command:
            self._past[key] = past
            return
        self._newest[key] = max(record.number, self._newest.get(key, 0))
        if record.state == "done":
            self._past[key] = [*past, record][-_PAST:]
        if record.number != self._newest[key]:
            return
        if record.state == "done":
            work = self._read_output(record, info)
        elif record.state == "running" and past and past[-1].number == record.number - 1:
            work = self._read_past(record, info)
        else:
            return
        if (task := self._tasks.pop(key, None)) is not None:
            task.cancel()  # its command has scrolled up by now
        self._tasks[key] = start_job(work, "the output of a shell")
        self._tasks[key].add_done_callback(lambda task: self._done(key, task))

    async def settle(self) -> None:
        """Wait until what was printed before the commands that run now is stored, for a moment at most."""
        with contextlib.suppress(TimeoutError):
            async with time_limit(_SETTLED_WITHIN):
                if self._tasks:
                    await asyncio.wait(self._tasks.values())

    async def stop(self) -> None:
        await cancel_and_wait(*self._tasks.values())

    def _done(self, key: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]

    async def _read_output(self, record: ShellRecord, info: ShellInfo) -> None:
        from gshtui.tmux.tmux_errors import TmuxError

        tmux = await asyncio.to_thread(_client, info.socket)
        if tmux is None:
            return
        waited = 0.0
        for moment in SETTLES:
            await asyncio.sleep(moment - waited)
            waited = moment
            try:
                async with self._few:
                    seen = await self._read(tmux, record)
            except TmuxError:
                return
            if self._newest.get(record.shell) != record.number:
                return  # the next command has begun meanwhile; what is on the screen is not only this one's
            if seen is not None:
                await self._store_output(record, seen)
                self._forget(record)
                return

    def _forget(self, record: ShellRecord) -> None:
        self._past[record.shell] = [one for one in self._past.get(record.shell, []) if one.number > record.number]

    async def _read_past(self, running: ShellRecord, info: ShellInfo) -> None:
        """Read what the commands before this one printed. A number left out is a command that nobody may know."""
        from gshtui.tmux.tmux_errors import TmuxError

        await asyncio.sleep(_STILL)
        past = self._past.get(running.shell, [])
        while past and past[-1].number - past[0].number != len(past) - 1:
            past = past[1:]
        tmux = await asyncio.to_thread(_client, info.socket)
        if tmux is None or not past:
            return
        try:
            async with self._few:
                lines, scrolled = await self._captured(tmux, running.pane, _PAST_LINES)
        except TmuxError:
            return
        if self._newest.get(running.shell) != running.number or not lines:
            return
        self._forget(past[-1])
        seen = printed_before(lines, [*(one.command for one in past), running.command], scrolled=scrolled)
        for record, text in zip(past, seen, strict=True):
            if text is not None:
                await self._store_output(record, text)

    async def _read(self, tmux: OneShotTransport, record: ShellRecord) -> PrintedText | None:
        lines, scrolled = await self._captured(tmux, record.pane, self._lines + _ROOM)
        habit = self._habits.get(record.shell, PromptHabit())
        return printed(lines, record.command, habit, scrolled=scrolled) if lines else None

    async def _captured(self, tmux: OneShotTransport, pane: str, most: int) -> tuple[tuple[str, ...], bool]:
        """The pane's last lines, and whether there is more above; none while a full-screen program is there.

        Raises `TmuxError`.
        """
        from gshtui.tmux.client_process import TmuxQuestion
        from gshtui.tmux.quoting import command

        line = command("capture-pane", "-p", "-e", "-J", "-t", pane, "-S", str(-most))
        asked = TmuxQuestion(line, pane, "#{alternate_on}|#{history_size}|#{pane_height}")
        (reply,) = await tmux.ask([asked])
        alternate, _, rest = reply.about.partition("|")
        history = rest.partition("|")[0]
        if alternate != "0" or not history.isdigit():
            return (), False
        return tuple(reply.text()), int(history) > most

    async def _store_output(self, record: ShellRecord, seen: PrintedText) -> None:
        while len(self._habits) > _PANES:
            self._habits.pop(next(iter(self._habits)))
        self._habits[record.shell] = seen.habit
        lines = [line[:_LONGEST] for line in seen.lines[-self._lines :]]
        if not any(lines):
            return
        left = len(seen.lines) - len(lines)
        if seen.above:
            lines.insert(0, "[more above this was not kept]")
        elif left:
            lines.insert(0, f"[{left} lines above this were not kept]")
        with contextlib.suppress(StoreError):
            await self._found(record, self._redact("\n".join(lines) + "\n"))


def _client(socket: str) -> OneShotTransport | None:
    """A client for the tmux server behind this socket; `None` if there is none."""
    from gshtui.tmux.client_process import OneShotTransport

    try:
        info = Path(socket).stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISSOCK(info.st_mode) or info.st_uid != os.getuid():
        return None
    return OneShotTransport(("-S", socket))

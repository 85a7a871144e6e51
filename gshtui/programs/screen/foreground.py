"""A pane's foreground: which program has the terminal, whether it is waiting for input, and what is typed there.

The kernel knows the terminal's foreground group, its mode, and what the group's processes are waiting for; the
program's name decides only where the kernel does not. It never assumes that a shell is free: if something cannot be
known, a command counts as running, or a line as typed by somebody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import re
import signal
import sys
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.system.processes.process_tree import SHELLS
from gshtui.tmux.panes import PaneInfo

_EDITS = frozenset(("zsh", "bash", "fish"))
"""Shells that take the terminal out of line mode while they wait at the prompt."""
_EDITORS = """
vi vim vim.tiny vim.basic vim.nox vim.gtk3 nvim view vimdiff ex ed nano rnano pico emacs emacsclient hx helix kak micro
joe jed ne mg mcedit
"""
EDITORS = frozenset(_EDITORS.split())
PAGERS = frozenset(["less", "more", "most", "pg", "lv", "man", "info"])
_ENDS = "$#%>"
"""ASCII characters that prompts end in. Any sign beyond ASCII that is no letter or digit does as well."""
_MOST = 200
"""Most processes of a terminal that are examined."""

# Numbers of system calls, by machine: reading; waiting for one of several things; waiting for time or a child alone.
_READING = {"x86_64": {"0"}, "aarch64": {"63"}}
_ASLEEP = {"x86_64": {"34", "35", "61", "130", "230", "247"}, "aarch64": {"95", "101", "115", "133", "260"}}


class Foreground(msgspec.Struct, frozen=True):
    """The program that has the terminal.

    `program` is its name and `argv` its command line, if known. `own`: it is the program that the pane was started with
    (or is in that program's group). `prompt`: it is a shell that waits for a line. `reads`: it waits for a line from
    this terminal; `None` if unknown. `asks`: what it reads there is a line, as `read` and most questions do,
    or a line that is not shown.
    """

    program: str
    prompt: bool = False
    own: bool = True
    kind: Literal["program", "editor", "pager"] = "program"
    argv: tuple[str, ...] = ()
    reads: bool | None = None
    asks: Literal["", "line", "secret"] = ""


def is_shell(program: str) -> bool:
    """Whether a program of this name is a shell; a login shell's name begins with `-`."""
    return program.removeprefix("-") in SHELLS


def front(info: PaneInfo) -> Foreground:
    """The pane's current foreground program. Blocks for a moment (it reads `/proc`)."""
    program = info.command.removeprefix("-")
    if info.dead:
        return Foreground(program)
    if info.remote:  # tmux there tells the program in front, and nothing tells more
        return Foreground(program, prompt=is_shell(program), kind=_kind((program,)))
    group = _foreground_group(info.pid)
    if group is None:
        return Foreground(program, prompt=_at_prompt(program, info.pid, None), kind=_kind((program,)))
    own = group == _own_group(info.pid)
    members = list(_members(info.pid, group))
    leader = group if group in members else info.pid if own else 0
    argv = _argv(leader)
    names = [name for pid in members if pid == leader or _draws(pid) for name in _names(pid)]
    prompt, reads = own and _at_prompt(program, info.pid, own), _reads(members)
    return Foreground(
        program,
        prompt=prompt,
        own=own,
        kind=_kind(names or [program]),
        argv=argv,
        reads=reads,
        asks=_asks(info.pid, reads) if not prompt else "",
    )


def wake(info: PaneInfo) -> None:
    """Continue a program that has given its terminal back to suspend itself, as by `ctrl+z`, where there is no shell
    that would: one that the pane was started with. To one that is not suspended this is nothing. Blocks for a moment.
    """
    if info.dead or info.remote or _foreground_group(info.pid) != info.pid or not _in_line_mode(info.pid):
        return
    with contextlib.suppress(OSError):  # it is gone, or another user's
        os.killpg(info.pid, signal.SIGCONT)


def input_taken(pid: int) -> Literal["", "works", "rests"]:
    """Whether a pane's program has read all that was typed, and sleeps now. Empty: not, or the system does not tell.

    Blocks for a moment.
    """
    if _unread(pid) != 0 or (group := _foreground_group(pid)) is None:
        return ""
    members = list(_members(pid, group))
    return "rests" if members and all(_stat(member)[:1] == ["S"] for member in members) else "works"


def _unread(pid: int) -> int | None:
    """Bytes typed into a process's terminal that nobody has read yet; `None`: unknown."""
    try:
        terminal = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return int.from_bytes(fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)), sys.byteorder)
    except OSError:
        return None
    finally:
        os.close(terminal)


def _at_prompt(program: str, pid: int, grouped: bool | None) -> bool:
    if not is_shell(program):
        return False
    if program not in _EDITS:
        return grouped is True
    mode = _in_line_mode(pid)
    return not mode if mode is not None else grouped is True


def _kind(names: Sequence[str]) -> Literal["program", "editor", "pager"]:
    if any(name in EDITORS for name in names):
        return "editor"
    return "pager" if any(name in PAGERS for name in names) else "program"


def _stat(pid: int) -> list[str]:
    """A process's fields after its name; empty if the system does not provide them."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _own_group(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[2]) if fields else 0


def _foreground_group(pid: int) -> int | None:
    """The foreground group of the process's terminal; `None` if unknown."""
    fields = _stat(pid)
    return int(fields[5]) if fields and int(fields[5]) > 0 else None


def _members(pid: int, group: int) -> Iterator[int]:
    """The process and all below it that are in this group."""
    waiting, seen = [pid], 0
    while waiting and seen < _MOST:
        one = waiting.pop()
        seen += 1
        if _own_group(one) == group:
            yield one
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting.extend(int(child) for child in (task / "children").read_text().split())
        except OSError:
            continue  # it has ended, or the system does not tell whose children there are


def _argv(pid: int) -> tuple[str, ...]:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ()
    return tuple(word.decode("utf-8", "replace") for word in words if word)


def _names(pid: int) -> Iterator[str]:
    """What a process is called: by the kernel, by its command line, and by its file: `editor` is a link to one."""
    try:
        yield Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return
    if argv := _argv(pid):
        yield Path(argv[0]).name.removeprefix("-")
    with contextlib.suppress(OSError):
        yield Path(f"/proc/{pid}/exe").readlink().name


def _draws(pid: int) -> bool:
    """Whether a process writes to a terminal; what an agent runs for its own use writes into a pipe."""
    try:
        return str(Path(f"/proc/{pid}/fd/1").readlink()).startswith(("/dev/pts/", "/dev/tty"))
    except OSError:
        return False


def _reads(pids: Sequence[int]) -> bool | None:
    """Whether one of these waits for a line from its terminal; `False` only where all wait for something else."""
    found = [_reads_terminal(pid) for pid in pids]
    if True in found:
        return True
    return None if None in found or not found else False


def _reads_terminal(pid: int) -> bool | None:
    """Whether a process waits for its terminal; `None`: unknown."""
    machine = platform.machine()
    reading, asleep = _READING.get(machine), _ASLEEP.get(machine)
    try:
        if reading is None or asleep is None:
            return True if _sleeps_in_terminal(pid) else None
        words = _system_call(pid)
        if words[0] in reading:
            source = Path(f"/proc/{pid}/fd/{int(words[1], 16)}").readlink()
            return True if source.is_relative_to("/dev") else None
    except PermissionError:  # as on Ubuntu, where a process tells this only to what has started it
        return True if _sleeps_in_terminal(pid) else None
    except (OSError, ValueError, IndexError):
        return None
    return False if words[0] in asleep else None


def _system_call(pid: int) -> list[str]:
    """The number and the arguments of the system call that a process is in. Raises `OSError`."""
    return Path(f"/proc/{pid}/syscall").read_text().split()


def _sleeps_in_terminal(pid: int) -> bool:
    """Whether a process sleeps where the kernel waits for a terminal or a socket, and has no socket."""
    try:
        if Path(f"/proc/{pid}/wchan").read_text() != "wait_woken":
            return False
        return not any(str(opened.readlink()).startswith("socket:") for opened in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def _asks(pid: int, reads: bool | None) -> Literal["", "line", "secret"]:
    """What is read from the process's terminal: nothing that ends with `enter`, a line, or a line that is not shown.

    Only what is to be typed unseen turns off both, so that it is known of another user's process, such as `sudo`, too.
    """
    modes = _modes(pid) or 0
    if not modes & termios.ICANON:
        return ""
    if not modes & termios.ECHO:
        return "" if reads is False else "secret"
    return "line" if reads else ""


def _in_line_mode(pid: int) -> bool | None:
    """Whether the process's terminal is in line mode, as it is while commands run; `None`: unknown."""
    modes = _modes(pid)
    return None if modes is None else bool(modes & termios.ICANON)


def _modes(pid: int) -> int | None:
    """The local modes of the process's terminal (`termios`); `None`: unknown."""
    try:
        terminal = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return termios.tcgetattr(terminal)[3]
    except termios.error:
        return None
    finally:
        os.close(terminal)


def typed_at_prompt(info: PaneInfo, rows: Sequence[str]) -> str:
    """The text that seems to be typed at a shell's prompt but not submitted; empty only if there is none.

    Args:
        info: the pane, with its shell at the prompt.
        rows: the rows of its screen, without styles.
    """
    row = rows[info.cursor_y] if info.cursor_y < len(rows) else ""
    before = row[: info.cursor_x].ljust(info.cursor_x) if row.isascii() else row[: info.cursor_x]
    behind = row[len(before) :].strip()
    text = before.rstrip()
    end = text[-1:]
    # One prompt's end, with a blank behind it and nothing that could be the end of a command: `$ echo $` is typed.
    ends = end in _ENDS or (not end.isascii() and not end.isalnum())
    if end and ends and text.count(end) == 1 and before != text and (not behind or _is_at_right(row, before)):
        return ""
    return (text + (f" {behind}" if behind else "")) or behind


def _is_at_right(row: str, before: str) -> bool:
    """Whether the text after the cursor is a right prompt, well apart from the cursor."""
    return re.match(r"\s{4,}", row[len(before) :]) is not None

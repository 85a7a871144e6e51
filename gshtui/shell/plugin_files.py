"""The files that the shell plugins read: the settings they need, and notices for one shell before its next prompt.

Starts nothing, and writes nothing that a shell could take for code.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.settings import paths
from gshtui.shell.hub_registry import shells_socket_path
from gshtui.system.files import private_files

if TYPE_CHECKING:
    from gshtui.settings.model import Settings

_SPECIAL = frozenset("<(|)>^#~[]*?=-!\\")
"""Special characters in zsh patterns; before any other character, a backslash would be literal."""
KEYS = ("invoke_llm", "attach_agent", "list_agents", "cancel_agent")
"""The `[keybindings]` of the prompt."""


def options_folder(*, create: bool = False) -> Path:
    """Where the plugins look. Raises `FolderError`."""
    found = paths.state_dir(create=create) / "shell"
    if create:
        private_files.make_folder(found)
    return found


def option_lines(settings: Settings) -> list[str]:
    """The file's lines, `name=value`."""
    found = [f"{name}={settings.keybindings.get(name, '')}" for name in KEYS]
    socket = shells_socket_path(settings.general.socket_path)
    if socket != paths.runtime_dir(create=False) / "gsh.sock":  # its default may be another one in another session
        found.append(f"socket={socket}")
    if not settings.shell.notices:
        found.append("notices=no")
    if not settings.shell.suggestions:
        found.append("suggestions=no")
    found += [f"ignore={zsh_pattern(pattern)}" for pattern in settings.shell.ignore if pattern]
    found += [f"ignore_plain={pattern}" for pattern in settings.shell.ignore if pattern]
    return [line for line in found if "\n" not in line and "\0" not in line]


def write_options(settings: Settings) -> Path:
    """Have the plugins know these settings; nothing is written when they do already. Raises `OSError`."""
    file = options_folder(create=True) / "options"
    text = "".join(f"{line}\n" for line in option_lines(settings)).encode("utf-8", "surrogateescape")
    with contextlib.suppress(OSError):
        if file.read_bytes() == text:
            return file
    private_files.write_whole(file, text)
    return file


def is_paused() -> bool:
    """Whether nothing is recorded for now."""
    return (options_folder() / "paused").exists()


def pause_recording() -> None:
    """Record nothing from now on, in any shell. Raises `OSError`."""
    os.close(private_files.open_file(options_folder(create=True) / "paused", os.O_WRONLY))


def resume_recording() -> None:
    """Record again. Raises `OSError`."""
    (options_folder() / "paused").unlink(missing_ok=True)


def zsh_pattern(pattern: str) -> str:
    """A pattern from the settings as a zsh extended glob: everything but `*`, `?` and `[…]` is literal."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        end = pattern.find("]", at + 2) if letter == "[" else -1
        if end > 0:
            inside = pattern[at + 1 : end]
            sign, rest = ("^", inside[1:]) if inside[0] == "!" else ("", inside)
            escaped = "".join(f"\\{c}" if c in _SPECIAL and c != "-" else c for c in rest)
            out.append(f"[{sign}{escaped}]")
            at = end
        elif letter in _SPECIAL and letter not in "*?":
            out.append(f"\\{letter}")
        else:
            out.append(letter)
        at += 1
    return "".join(out)


_SHELL_ID = re.compile(r"[0-9A-Za-z-]{1,100}")
_MOST = 8_192
"""Bytes of a file that nobody reads."""
_TRIES = 5
_ABANDONED = 7 * 86_400.0
"""Seconds after which a file is removed, because its shell is gone."""


def notice_file(shell: str) -> Path | None:
    """The file where a shell looks for notices; creates its folder. `None` for an invalid id. Raises `OSError`."""
    if not _SHELL_ID.fullmatch(shell):
        return None
    folder = options_folder(create=True)
    with contextlib.suppress(OSError):
        for old in folder.glob("notice-*"):
            if old.lstat().st_mtime < time.time() - _ABANDONED:
                old.unlink()
    return folder / f"notice-{shell}"


def leave_notice(file: Path, text: str) -> None:
    """Add a line to the file. Nothing happens when it is full, or cannot be written: it is only a courtesy.

    A shell may take the file away or empty it at any moment. So a new file appears with its line in it, and a line that
    was added to a file which the shell took meanwhile is left again: shown twice is better than never.
    """
    line = "".join(letter if letter.isprintable() else " " for letter in text)[:500].encode() + b"\n"
    with contextlib.suppress(OSError):
        for _ in range(_TRIES):
            if _left_new(file, line) or _left_more(file, line):
                return


def _left_new(file: Path, line: bytes) -> bool:
    """Create the file with this line; false if there is one. Raises `OSError`."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    private_files.write_whole(draft, line)
    try:
        os.link(draft, file)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def _left_more(file: Path, line: bytes) -> bool:
    """Add this line to the file that is there; false if the shell took it meanwhile. Raises `OSError`."""
    try:
        descriptor = private_files.open_existing(file, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    try:
        if os.fstat(descriptor).st_size >= _MOST:
            return True
        os.write(descriptor, line)
        now = os.fstat(descriptor)
        return now.st_size > 0 and os.path.samestat(now, file.lstat())
    except FileNotFoundError:
        return False
    finally:
        os.close(descriptor)


def announce_end(name: str, id: str, done: bool) -> str:
    """The notice that an agent has ended. `name`: its terminal's session."""
    return f"[gsh] Agent {name} {'completed' if done else 'failed'}: gsh show {id.lstrip('0') or id}"

"""What the shells' plugins have to know of the settings: a small file that they read without starting anything.

Owns the file, and the one whose existence means that nothing is recorded for now. Refuses a value that does not fit on
a line. Written by the hub, by `config` and by `gsh-tui shell`; read by the plugins.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from gshtui.settings import paths
from gshtui.settings.model import Settings
from gshtui.shell.place import shells_socket
from gshtui.system import private_files

_SPECIAL = frozenset("<(|)>^#~[]*?=-!\\")
"""What means something in zsh's patterns; before anything else a backslash would stand for itself."""
KEYS = ("invoke_llm", "attach_agent", "list_agents", "cancel_agent")
"""The `[keybindings]` of the prompt."""


def folder(*, create: bool = False) -> Path:
    """Where the plugins look. Raises `FolderError`."""
    found = paths.state_dir(create=create) / "shell"
    if create:
        private_files.make_folder(found)
    return found


def lines(settings: Settings) -> list[str]:
    """The file's lines, `name=value`."""
    found = [f"{name}={settings.keybindings.get(name, '')}" for name in KEYS]
    socket = shells_socket(settings.general.socket_path)
    if socket != paths.runtime_dir(create=False) / "gsh.sock":  # its default may be another one in another session
        found.append(f"socket={socket}")
    if not settings.shell.notices:
        found.append("notices=no")
    found += [f"ignore={zsh_pattern(pattern)}" for pattern in settings.shell.ignore if pattern]
    found += [f"ignore_plain={pattern}" for pattern in settings.shell.ignore if pattern]
    return [line for line in found if "\n" not in line and "\0" not in line]


def write(settings: Settings) -> Path:
    """Have the plugins know these settings; nothing is written when they do already. Raises `OSError`."""
    file = folder(create=True) / "options"
    text = "".join(f"{line}\n" for line in lines(settings)).encode("utf-8", "surrogateescape")
    with contextlib.suppress(OSError):
        if file.read_bytes() == text:
            return file
    private_files.write_whole(file, text)
    return file


def paused() -> bool:
    """Whether nothing is recorded for now."""
    return (folder() / "paused").exists()


def pause() -> None:
    """Record nothing from now on, in any shell. Raises `OSError`."""
    os.close(private_files.open_file(folder(create=True) / "paused", os.O_WRONLY))


def resume() -> None:
    """Record again. Raises `OSError`."""
    (folder() / "paused").unlink(missing_ok=True)


def zsh_pattern(pattern: str) -> str:
    """A pattern of the settings as zsh's extended globs say it: all but `*`, `?` and `[…]` stands for itself."""
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

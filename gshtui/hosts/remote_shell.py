"""Command lines for another machine, and the answer's beginning.

`sshd` gives what we send to the person's login shell, whichever that is (bash, zsh, fish, tcsh), and that shell may
print when it starts. So a command is written in characters that every shell takes literally, and it first prints a
mark: nothing before the mark is its output.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Sequence

_LITERAL = frozenset('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _@%+=:,./#{}|[]()<>&;?*$"~^`-')
"""What stands for itself inside single quotes, in sh, fish and csh alike."""
LONGEST = 100_000
"""Most characters of a command line; the kernel's limit for one argument is 128 KB."""
MOST_BEFORE = 1_000_000
"""Bytes that a login shell may print before our command; a machine that prints more is given up."""


def new_mark() -> bytes:
    """A mark that no start-up file prints."""
    return b"gsh-" + secrets.token_hex(12).encode()


def remote_line(script: str, arguments: Sequence[str], mark: bytes, *, shows_mark: bool = True) -> str:
    """The one argument for `ssh` that runs a POSIX script with these arguments (`$1` …) behind the mark. `shows_mark`:
    print the mark; not in a person's own terminal. Raises `ValueError`: it is too long, or has a NUL character.
    """
    if any("\0" in text for text in (script, *arguments)):
        raise ValueError("A command for another machine contains a NUL character.")
    shown = mark.decode()
    marks = f"printf '\\n%s\\n' {shown}\nprintf '\\n%s\\n' {shown} >&2\n" if shows_mark else ""
    whole = f"set -- {shlex.join(arguments)}\n{marks}{script}"
    encoded = "".join(chr(byte) if chr(byte) in _LITERAL else f"\\0{byte:03o}" for byte in whole.encode())
    # In fish, `\\` inside single quotes is one backslash; `\0` is two characters everywhere.
    line = f"exec /bin/sh -c 'eval \"$(printf %b \"$1\")\"' sh '{encoded}'"
    if len(line) > LONGEST:
        raise ValueError("A command for another machine is too long.")
    return line


def path_line(folders: Sequence[str]) -> str:
    """A script's beginning that makes the usual places of programs known, since `sshd` gives a short PATH. `folders`:
    places that come before these.
    """
    first = "".join(f"{shlex.quote(folder)}:" for folder in folders)
    return f'PATH={first}"$PATH:$HOME/.local/bin:/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin"; export PATH\n'


LOGIN_PATH = r"""
login=$("${SHELL:-/bin/sh}" -l -c env </dev/null 2>/dev/null | sed -n 's/^PATH=//p' | tail -n 1)
case "$login" in /*) PATH="$login:$PATH" ;; esac
"""
"""Lines of a script that put the login shell's PATH first: it is the one that a person's programs are found by."""


class MarkedOutput:
    """What a command prints, without what the login shell printed before it.

    Attributes:
        begun: the mark was seen, so the command itself runs.
        before: the first of what came before the mark.
        flooded: more came before it than is read.
    """

    def __init__(self, mark: bytes) -> None:
        self._line = b"\n" + mark + b"\n"
        self._held = b""
        self._size = 0
        self.begun = False
        self.flooded = False
        self.before = b""

    def feed(self, data: bytes) -> bytes:
        """The part of this piece that the command printed."""
        if self.begun:
            return data
        self._held += data
        self._size += len(data)
        at = self._held.find(self._line)
        if at >= 0:
            self.begun = True
            self._note(self._held[:at])
            rest, self._held = self._held[at + len(self._line) :], b""
            return rest
        keep = len(self._line) - 1
        if len(self._held) > keep:
            self._note(self._held[:-keep])
            self._held = self._held[-keep:]
        self.flooded = self._size > MOST_BEFORE
        return b""

    def end(self) -> bytes:
        """What came before a mark that never came."""
        if not self.begun:
            self._note(self._held)
            self._held = b""
        return self.before

    def _note(self, data: bytes) -> None:
        self.before = (self.before + data)[:4_000]

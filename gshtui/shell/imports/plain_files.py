"""The history files of zsh (plain and extended, metafied) and bash (with and without times), as records.

Pure: bytes in, records out; a line that is no entry costs that line. Called by the import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gshtui.bus.shell import ShellRecord
from gshtui.shell.imports.identity import Numbers

_EXTENDED = re.compile(rb": *(\d{1,12}):(\d{1,9});")
_BASH_TIME = re.compile(rb"#(\d{9,12})\s*\Z")
_META = 0x83


def zsh(raw: bytes) -> Iterator[ShellRecord]:
    """The commands of a zsh history file, in its order."""
    numbers = Numbers()
    for entry in _entries(unmetafied(raw)):
        found = _EXTENDED.match(entry)
        at, took = (int(found[1]), int(found[2])) if found else (0, 0)
        command = _text(entry[found.end() :] if found else entry)
        if not found and command.startswith("\\:"):
            command = command[1:]  # so that it is not taken for a time
        if command.endswith("\\ "):
            command = command[:-1]  # zsh puts a space behind a last backslash
        if command.strip():
            yield ShellRecord(
                shell="import zsh",
                number=numbers.of(at, command),
                command=command,
                at=float(at),
                duration=float(took) if found else None,
                state="done",
                source="import zsh",
            )


def bash(raw: bytes) -> Iterator[ShellRecord]:
    """The commands of a bash history file, in its order. With times, a command may have several lines."""
    numbers = Numbers()
    timed = any(_BASH_TIME.match(line) for line in raw.split(b"\n"))
    at, lines = 0, list[bytes]()

    def command() -> Iterator[ShellRecord]:
        text = _text(b"\n".join(lines)).rstrip("\n")
        if text.strip():
            yield ShellRecord(
                shell="import bash",
                number=numbers.of(at, text),
                command=text,
                at=float(at),
                program="bash",
                state="done",
                source="import bash",
            )

    for line in raw.split(b"\n"):
        if found := _BASH_TIME.match(line):
            yield from command()
            at, lines = int(found[1]), []
        elif timed and at:
            lines.append(line)
        else:
            lines = [line]
            yield from command()
            lines = []
    yield from command()


def unmetafied(raw: bytes) -> bytes:
    """What zsh meant: it writes some bytes as 0x83 and the byte with its sixth bit turned."""
    if _META not in raw:
        return raw
    plain = bytearray()
    turned = False
    for byte in raw:
        if turned:
            plain.append(byte ^ 32)
            turned = False
        elif byte == _META:
            turned = True
        else:
            plain.append(byte)
    return bytes(plain)


def _entries(raw: bytes) -> Iterator[bytes]:
    """Entries of a zsh file: a newline inside a command has a backslash before it."""
    whole: list[bytes] = []
    for line in raw.split(b"\n"):
        if line.endswith(b"\\"):
            whole.append(line[:-1])
            continue
        whole.append(line)
        if entry := b"\n".join(whole):
            yield entry
        whole = []
    if any(whole):
        yield b"\n".join(whole)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")

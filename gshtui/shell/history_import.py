"""Reads histories as records: zsh and bash files, JSON lines (ours and the old daemon's), Atuin's database.

Numbers each command so that importing it again finds the same one; never changes any of these files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import msgspec

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.system.json_types import is_object
from gshtui.system.struct_types import learned


class Numbers:
    """Gives each command of one source the same number in every import."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, ...]] = Counter()

    def number_of(self, *parts: object) -> int:
        """The number; the same parts get another one each time."""
        key = tuple(map(str, parts))
        self._seen[key] += 1
        return number(*key, self._seen[key])


def number(*parts: object) -> int:
    """62 bits of the parts' hash."""
    text = "\0".join(map(str, parts)).encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 2 or 1


_EXTENDED = re.compile(rb": *(\d{1,12}):(\d{1,9});")
_BASH_TIME = re.compile(rb"#(\d{9,12})\s*\Z")
_META = 0x83


def read_zsh(raw: bytes) -> Iterator[ShellRecord]:
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
                number=numbers.number_of(at, command),
                command=command,
                at=float(at),
                duration=float(took) if found else None,
                state="done",
                source="import zsh",
            )


def read_bash(raw: bytes) -> Iterator[ShellRecord]:
    """The commands of a bash history file, in its order. With times, a command may have several lines."""
    numbers = Numbers()
    timed = any(_BASH_TIME.match(line) for line in raw.split(b"\n"))
    at, lines = 0, list[bytes]()

    def command() -> Iterator[ShellRecord]:
        text = _text(b"\n".join(lines)).rstrip("\n")
        if text.strip():
            yield ShellRecord(
                shell="import bash",
                number=numbers.number_of(at, text),
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


_SHELL = "import gsh"
_MILLISECONDS = 1e11
"""A larger time is not in seconds."""
_NOTES = {
    "dirchange": ("folder", ("to", "new", "pwd")),
    "directorychange": ("folder", ("to", "new", "pwd")),
    "usernote": ("note", ("content", "text")),
    "note": ("note", ("content", "text")),
}
_decoder = msgspec.json.Decoder(learned(ShellRecord), strict=False)


def export_line(record: ShellRecord) -> bytes:
    """A record as a line, without values that mean something only on this machine."""
    return msgspec.json.encode(msgspec.structs.replace(record, id=0, output="", output_lines=0)) + b"\n"


def read_json_lines(lines: Iterable[bytes]) -> Iterator[ShellRecord | tuple[ShellNote, int] | None]:
    """Each line's record, or note with its number; `None` for a line that is neither."""
    numbers = Numbers()
    for line in lines:
        if line.strip():
            yield _ours(line) or _daemons(line, numbers)


def _ours(line: bytes) -> ShellRecord | None:
    try:
        record = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not (record.shell and record.number > 0 and record.command):
        return None
    state = "lost" if record.state == "running" else record.state
    return msgspec.structs.replace(record, id=0, output="", output_lines=0, state=state)


def _daemons(line: bytes, numbers: Numbers) -> ShellRecord | tuple[ShellNote, int] | None:
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not is_object(said):
        return None
    kind = str(said.get("type", said.get("kind", "")))
    if len(said) == 1 and isinstance(inner := next(iter(said.values())), dict):
        kind, said = next(iter(said)), cast("dict[str, Any]", inner)
    kind = kind.lower().replace("_", "")
    at = _seconds(said.get("timestamp", said.get("at")))
    if kind in _NOTES:
        what, names = _NOTES[kind]
        text = next((str(said[name]) for name in names if name in said), "")
        note = ShellNote("folder" if what == "folder" else "note", text, at, _SHELL, text if what == "folder" else "")
        return (note, number(kind, at, text)) if text else None
    command = said.get("command")
    if kind not in ("", "command") or not isinstance(command, str) or not command.strip():
        return None
    exit, took = said.get("exit_code"), said.get("duration_ms")
    return ShellRecord(
        shell=_SHELL,
        number=numbers.number_of(at, command),
        command=command,
        cwd=str(said.get("pwd", said.get("cwd", ""))),
        at=at,
        exit=exit if isinstance(exit, int) else None,
        duration=took / 1000 if isinstance(took, int | float) else None,
        state="done",
        source=_SHELL,
    )


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return value / 1000 if value > _MILLISECONDS else float(value)


_NANOSECONDS = 1e9


class NotAtuin(Exception):
    """The file is not an Atuin history; the text says why."""


def read_atuin(file: Path) -> Iterator[ShellRecord]:
    """The commands, oldest first, without those that were deleted. Raises `NotAtuin`."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(os.fsencode(file))}?mode=ro", uri=True)) as connection:
            columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(history)")}
            if not {"id", "timestamp", "command"} <= columns:
                raise NotAtuin("it does not have Atuin's table `history`")
            names = ("id", "timestamp", "duration", "exit", "command", "cwd", "hostname")
            chosen = ", ".join(name if name in columns else f"NULL AS {name}" for name in names)
            where = "WHERE deleted_at IS NULL" if "deleted_at" in columns else ""
            for row in connection.execute(f"SELECT {chosen} FROM history {where} ORDER BY timestamp, id"):
                if record := _atuin_record(*row):
                    yield record
    except sqlite3.Error as error:
        raise NotAtuin(str(error)) from error


def _atuin_record(id: Any, at: Any, took: Any, exit: Any, command: Any, cwd: Any, host: Any) -> ShellRecord | None:
    if not isinstance(command, str) or not command.strip():
        return None
    known = isinstance(took, int) and took >= 0
    return ShellRecord(
        shell="import atuin",
        number=number(id),
        command=command,
        cwd=cwd if isinstance(cwd, str) and cwd != "unknown" else "",
        host=str(host or "").partition(":")[0],
        at=at / _NANOSECONDS if isinstance(at, int) else 0.0,
        duration=took / _NANOSECONDS if known else None,
        exit=exit if isinstance(exit, int) and known else None,
        state="done",
        source="import atuin",
    )

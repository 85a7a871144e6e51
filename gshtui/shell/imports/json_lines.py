"""Histories as JSON lines: our own export, and `shell-history.jsonl` of the gsh daemon that came before.

Pure: lines in, records and notes out; a line that is neither costs that line. Called by the import; the export writes
what is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from gshtui.bus.shell import ShellNote, ShellRecord
from gshtui.shell.imports.identity import Numbers, number

_SHELL = "import gsh"
_MILLISECONDS = 1e11
"""A time above this is none in seconds."""
_NOTES = {
    "dirchange": ("folder", ("to", "new", "pwd")),
    "directorychange": ("folder", ("to", "new", "pwd")),
    "usernote": ("note", ("content", "text")),
    "note": ("note", ("content", "text")),
}
_decoder = msgspec.json.Decoder(ShellRecord, strict=False)


def line_of(record: ShellRecord) -> bytes:
    """A record as a line, without what means something on this machine alone."""
    return msgspec.json.encode(msgspec.structs.replace(record, id=0, output="", output_lines=0)) + b"\n"


def read(lines: Iterable[bytes]) -> Iterator[ShellRecord | tuple[ShellNote, int] | None]:
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
    if not isinstance(said, dict):
        return None
    fields = cast("dict[str, Any]", said)
    kind = str(fields.get("type", fields.get("kind", "")))
    if len(fields) == 1 and isinstance(inner := next(iter(fields.values())), dict):
        kind, fields = next(iter(fields)), cast("dict[str, Any]", inner)
    kind = kind.lower().replace("_", "")
    at = _seconds(fields.get("timestamp", fields.get("at")))
    if kind in _NOTES:
        what, names = _NOTES[kind]
        text = next((str(fields[name]) for name in names if name in fields), "")
        note = ShellNote("folder" if what == "folder" else "note", text, at, _SHELL, text if what == "folder" else "")
        return (note, number(kind, at, text)) if text else None
    command = fields.get("command")
    if kind not in ("", "command") or not isinstance(command, str) or not command.strip():
        return None
    exit, took = fields.get("exit_code"), fields.get("duration_ms")
    return ShellRecord(
        shell=_SHELL,
        number=numbers.of(at, command),
        command=command,
        cwd=str(fields.get("pwd", fields.get("cwd", ""))),
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

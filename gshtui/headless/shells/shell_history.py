"""`gsh-tui shell log|import|export`: the commands run in shells, from the record."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.client.hub_greeting import HubUnavailable
from gshtui.commands.declaration import UsageError
from gshtui.commands.timespec import parse_time
from gshtui.headless import exits, streams
from gshtui.headless.called_here import load_settings
from gshtui.headless.commands.command_hub import hub_while
from gshtui.headless.commands.keeper_call import value_from_hub
from gshtui.settings import paths
from gshtui.shell.log.history_commands import AddHistory, FindHistory, FoundHistory, GrownHistory
from gshtui.system.files import private_files

if TYPE_CHECKING:
    from gshtui.bus.shell_data import ShellNote, ShellRecord
    from gshtui.settings.model import Settings


class LogOptions(msgspec.Struct, frozen=True):
    """The options of the call."""

    query: str = ""
    failed: bool = False
    exit: int | None = None
    cwd: str = ""
    shell: str = ""
    agent: str | None = None
    since: str = ""
    until: str = ""
    limit: int = 50
    output: bool = False
    json: bool = False


def log(options: LogOptions) -> int:
    """Print the commands; returns the exit code."""
    now = time.time()
    try:
        after, before = parse_time(options.since, now), parse_time(options.until, now)
    except UsageError as error:
        streams.complain(str(error), error.hint)
        return exits.USAGE
    shell = os.environ.get("GSH_SHELL_ID", "") if options.shell == "." else options.shell
    if options.shell == "." and not shell:
        streams.complain("this shell does not report its commands.", "See `gsh-tui shell status`.")
        return exits.ERROR
    query = {
        "query": options.query,
        "cwd": str(Path(options.cwd).expanduser().resolve()) if options.cwd else "",
        "exit": options.exit,
        "failed": options.failed,
        "after": after,
        "before": before,
        "shell": shell,
        "agent": options.agent,
    }
    found = value_from_hub(FindHistory(query=query, limit=options.limit, output=options.output), FoundHistory)
    if isinstance(found, int):
        return found
    records, printed = found.records[::-1], found.outputs
    if options.json:
        streams.result_json([_plain(record, printed) for record in records])
    elif records:
        streams.result("\n".join(_line(record, printed.get(str(record.id), "")) for record in records))
    else:
        streams.complain(
            "no matching commands were recorded.", "`gsh-tui shell status` says whether your shells report."
        )
    return exits.DONE


def _plain(record: ShellRecord, printed: dict[str, str]) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = {field.name: getattr(record, field.name) for field in msgspec.structs.fields(type(record))}
    plain["output"] = printed.get(str(record.id), "")
    return plain


def _line(record: ShellRecord, printed: str) -> str:
    began = datetime.datetime.fromtimestamp(record.at).strftime("%m-%d %H:%M:%S") if record.at > 0 else "?"
    end = {"running": "…", "lost": "lost"}.get(record.state) or str(record.exit if record.exit is not None else "?")
    took = "" if record.duration is None else f"{record.duration:.1f}s"
    cut = f" … ({record.cut:,} bytes more)" if record.cut else ""
    command = record.command.replace("\n", "\n" + " " * 31)
    line = f"{began}  {end:>4} {took:>8}  {command}{cut}   [{_short(record.cwd)}]"
    return line if not printed else f"{line}\n" + "\n".join(f"    {row}" for row in printed.rstrip("\n").split("\n"))


def _short(folder: str) -> str:
    home = os.environ.get("HOME", "")
    return "~" + folder[len(home) :] if home and (folder + "/").startswith(home + "/") else folder


BATCH = 2_000
"""Commands per transaction."""
PAGE = 2_000


class _Found(msgspec.Struct):
    """What a file contains."""

    records: list[ShellRecord] = msgspec.field(default_factory=list["ShellRecord"])
    notes: list[tuple[ShellNote, int]] = msgspec.field(default_factory=list[tuple["ShellNote", int]])
    unread: int = 0
    """Lines that are not commands."""


def import_(source: str, file: str, *, as_json: bool) -> int:
    """Import a history; returns the exit code. `source`: zsh, bash, atuin or jsonl; `file`: empty for the usual one."""
    return _import(source, Path(file) if file else default_history_file(source), as_json)


def export(file: str) -> int:
    """Write the whole history as JSON lines, oldest first, to a new file or (`-`) to standard output."""
    return _export(file)


def default_history_file(source: str) -> Path:
    """Where this history usually is."""
    home = paths.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    if source == "zsh":
        return Path(os.environ.get("HISTFILE") or home / ".zsh_history")
    return {
        "bash": home / ".bash_history",
        "atuin": Path(os.environ.get("ATUIN_DB_PATH") or data / "atuin" / "history.db"),
        "jsonl": data / "gsh" / "shell-history.jsonl",
    }[source]


def _import(source: str, file: Path, as_json: bool) -> int:
    from gshtui.shell.history_import import NotAtuin

    try:
        found = _read(source, file)
    except (OSError, NotAtuin) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        streams.complain(f"cannot read {file}: {why}.", f"Name the file: gsh-tui shell import {source} FILE.")
        return exits.ERROR
    loaded = load_settings(quiet=True)
    records, ignored = _fit(loaded.settings, found.records)
    added, notes, now = 0, 0, 0
    with hub_while(loaded):
        for start in range(0, len(records) or 1, BATCH):
            last = start + BATCH >= len(records)
            batch = msgspec.to_builtins(records[start : start + BATCH])
            asked = AddHistory(records=batch, notes=msgspec.to_builtins(found.notes) if last else [])
            grown = value_from_hub(asked, GrownHistory, "Importing")
            if isinstance(grown, int):
                if added:
                    stay = f"{added} of {len(found.records)} commands were imported, and stay."
                    streams.complain(stay, "Import the file again: no command is taken twice.")
                return grown
            added, notes, now = added + grown.added, grown.notes, grown.now
    told = {
        "source": source,
        "file": str(file),
        "found": len(found.records),
        "added": added,
        "known": len(records) - added,
        "ignored": ignored,
        "notes": notes,
        "unread": found.unread,
    }
    if as_json:
        streams.result_json(told)
    else:
        streams.result(_said(told, now, loaded.settings.context.max_history_lines))
    return exits.DONE


def _said(told: dict[str, str | int], now: int, most: int) -> str:
    left = [f"{told['known']} were already there"]
    left += [f"{told['ignored']} were ignored"] if told["ignored"] else []
    left += [f"{told['unread']} lines were not commands"] if told["unread"] else []
    text = f"{told['added']} of {told['found']} commands imported from {told['file']}; {', '.join(left)}."
    if most and now > most:
        text += (
            f"\nThe history now has {now} commands but keeps {most}; raise [context] max_history_lines to keep more."
        )
    return text


def _read(source: str, file: Path) -> _Found:
    from gshtui.shell import history_import

    found = _Found()
    if source == "atuin":
        file.stat()
        found.records = list(history_import.read_atuin(file))
    elif source == "jsonl":
        with file.open("rb") as opened:
            _sort_out(found, history_import.read_json_lines(opened))
    else:
        found.records = list(
            (history_import.read_zsh if source == "zsh" else history_import.read_bash)(file.read_bytes())
        )
    return found


def _sort_out(found: _Found, lines: Iterable[ShellRecord | tuple[ShellNote, int] | None]) -> None:
    for line in lines:
        if line is None:
            found.unread += 1
        elif isinstance(line, tuple):
            found.notes.append(line)
        else:
            found.records.append(line)


def _fit(settings: Settings, records: list[ShellRecord]) -> tuple[list[ShellRecord], int]:
    """The records to keep, without secrets, and the number of ignored ones."""
    from gshtui.agents.telemetry import redactor
    from gshtui.shell.pairing import ignore_filter

    ignored = ignore_filter(settings.shell.ignore)
    redact: Callable[[str], str] = redactor(settings, os.environ).redact
    kept = [record for record in records if not ignored(record.command)]
    fit = [msgspec.structs.replace(r, command=redact(r.command), expanded=redact(r.expanded)) for r in kept]
    return fit, len(records) - len(fit)


class _NotRead(Exception):
    """The record cannot be read, which was said; with the exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _export(file: str) -> int:
    from gshtui.shell.history_import import export_line

    made = False
    try:
        with hub_while(load_settings(quiet=True)):
            descriptor = 1 if file == "-" else private_files.make_file(file)
            made = descriptor != 1
            with os.fdopen(descriptor, "wb", closefd=made) as out:
                count = 0
                for record in _all():
                    out.write(export_line(record))
                    count += 1
        made = False
    except FileExistsError:
        streams.complain(f"{file} already exists and was left alone.", "Name another file.")
        return exits.ERROR
    except BrokenPipeError:
        return exits.ERROR
    except HubUnavailable:
        raise
    except OSError as error:
        streams.complain(f"cannot export the history to {file}: {error.strerror or error}.")
        return exits.ERROR
    except _NotRead as error:
        return error.code
    finally:
        if made:
            Path(file).unlink(missing_ok=True)
    if file != "-":
        streams.complain(f"{count} commands exported to {file}.")
    return exits.DONE


def _all() -> Iterator[ShellRecord]:
    """Raises `_NotRead`."""
    after = -1
    while True:
        page = value_from_hub(FindHistory(query={"after_id": after}, limit=PAGE, oldest=True), FoundHistory)
        if isinstance(page, int):
            raise _NotRead(page)
        if not page.records:
            return
        yield from page.records
        after = page.records[-1].id

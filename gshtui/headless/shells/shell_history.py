"""`gsh-tui shell log|import|export`: the commands run in shells, from the record."""

from __future__ import annotations

import asyncio
import datetime
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.commands.declaration import UsageError
from gshtui.commands.timespec import parse_time
from gshtui.headless import exits, streams
from gshtui.headless.commands.command_hub import STORE_ONLY, load_settings, visiting_hub, working_folder
from gshtui.headless.runner import run_command, until_stopped
from gshtui.settings import paths
from gshtui.system.files import private_files

if TYPE_CHECKING:
    from gshtui.bus.shell_data import ShellNote, ShellRecord
    from gshtui.hub.hub import Hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.store.record.store import Store


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
    return run_command(lambda stop: until_stopped(_log(options, after, before, shell), stop))


async def _log(options: LogOptions, after: float | None, before: float | None, shell: str) -> int:
    from gshtui.store.engine.store_errors import StoreError
    from gshtui.store.tables.command_history import HistoryQuery

    async with visiting_hub(_options()) as hub:
        await hub.start()
        if hub.store is None:
            for failed in hub.failed.values():
                streams.complain(failed.why, failed.hint)
            return exits.ERROR
        await hub.sync_shells()
        try:
            records = await hub.store.shells.find_all(
                HistoryQuery(
                    query=options.query,
                    cwd=str(Path(options.cwd).expanduser().resolve()) if options.cwd else "",
                    exit=options.exit,
                    failed=options.failed,
                    after=after,
                    before=before,
                    shell=shell,
                    agent=options.agent,
                ),
                limit=options.limit,
            )
            records.reverse()
            printed = await _printed(hub.store, records) if options.output else {}
        except StoreError as error:
            streams.complain(str(error))
            return exits.ERROR
    if options.json:
        streams.result_json([_plain(record, printed) for record in records])
    elif records:
        streams.result("\n".join(_line(record, printed.get(record.id, "")) for record in records))
    else:
        streams.complain(
            "no matching commands were recorded.", "`gsh-tui shell status` says whether your shells report."
        )
    return exits.DONE


async def _printed(store: Store, records: list[ShellRecord]) -> dict[int, str]:
    return {record.id: await store.shells.output(record.output) for record in records if record.output}


def _plain(record: ShellRecord, printed: dict[int, str]) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = {field.name: getattr(record, field.name) for field in msgspec.structs.fields(type(record))}
    plain["output"] = printed.get(record.id, "") if record.id in printed else ""
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
    return run_command(
        lambda stop: until_stopped(_import(source, Path(file) if file else default_history_file(source), as_json), stop)
    )


def export(file: str) -> int:
    """Write the whole history as JSON lines, oldest first, to a new file or (`-`) to standard output."""
    return run_command(lambda stop: until_stopped(_export(file), stop))


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


async def _import(source: str, file: Path, as_json: bool) -> int:
    from gshtui.shell.history_import import NotAtuin
    from gshtui.store.engine.store_errors import StoreError

    try:
        found = await asyncio.to_thread(_read, source, file)
    except (OSError, NotAtuin) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        streams.complain(f"cannot read {file}: {why}.", f"Name the file: gsh-tui shell import {source} FILE.")
        return exits.ERROR
    async with visiting_hub(_options()) as hub:
        await hub.start()
        if hub.store is None:
            return _no_record(hub)
        added = 0
        try:
            before = await hub.store.shells.count()
            records, ignored = await asyncio.to_thread(_fit, hub, found.records)
            for start in range(0, len(records), BATCH):
                await hub.store.shells.import_records(records[start : start + BATCH])
                added = await hub.store.shells.count() - before
            _, kept = await hub.store.shells.add_all((), found.notes)
        except StoreError as error:
            stay = f" {added} of {len(found.records)} commands were imported, and stay." if added else ""
            streams.complain(f"{error}{stay}", "Import the file again: no command is taken twice." if added else "")
            return exits.ERROR
        most = hub.settings.context.max_history_lines
    told = {
        "source": source,
        "file": str(file),
        "found": len(found.records),
        "added": added,
        "known": len(records) - added,
        "ignored": ignored,
        "notes": sum(note is not None for note in kept),
        "unread": found.unread,
    }
    if as_json:
        streams.result_json(told)
    else:
        streams.result(_said(told, before + added, most))
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


def _fit(hub: Hub, records: list[ShellRecord]) -> tuple[list[ShellRecord], int]:
    """The records to keep, without secrets, and the number of ignored ones."""
    import msgspec

    from gshtui.agents.telemetry import redactor
    from gshtui.shell.pairing import ignore_filter

    ignored = ignore_filter(hub.settings.shell.ignore)
    redact: Callable[[str], str] = redactor(hub.settings, os.environ).redact
    kept = [record for record in records if not ignored(record.command)]
    fit = [msgspec.structs.replace(r, command=redact(r.command), expanded=redact(r.expanded)) for r in kept]
    return fit, len(records) - len(fit)


async def _export(file: str) -> int:
    from gshtui.shell.history_import import export_line
    from gshtui.store.engine.store_errors import StoreError

    async with visiting_hub(_options()) as hub:
        await hub.start()
        if hub.store is None:
            return _no_record(hub)
        await hub.sync_shells()
        made = False
        try:
            descriptor = 1 if file == "-" else private_files.make_file(file)
            made = descriptor != 1
            with os.fdopen(descriptor, "wb", closefd=made) as out:
                count = 0
                async for record in _all(hub.store):
                    out.write(export_line(record))
                    count += 1
            made = False
        except FileExistsError:
            streams.complain(f"{file} already exists and was left alone.", "Name another file.")
            return exits.ERROR
        except BrokenPipeError:
            return exits.ERROR
        except (StoreError, OSError) as error:
            why = (error.strerror or error) if isinstance(error, OSError) else str(error).rstrip(".")
            streams.complain(f"cannot export the history to {file}: {why}.")
            return exits.ERROR
        finally:
            if made:
                Path(file).unlink(missing_ok=True)
    if file != "-":
        streams.complain(f"{count} commands exported to {file}.")
    return exits.DONE


async def _all(store: Store) -> AsyncGenerator[ShellRecord]:
    from gshtui.store.tables.command_history import HistoryQuery

    after = -1
    while page := await store.shells.find_all(HistoryQuery(after_id=after), limit=PAGE, oldest=True):
        for record in page:
            yield record
        after = page[-1].id


def _options() -> HubOptions:
    from gshtui.hub.hub_options import HubOptions

    loaded = load_settings()
    return HubOptions(cwd=working_folder(), loaded=loaded, parts=STORE_ONLY, visiting=True, where="gsh-tui shell")


def _no_record(hub: Hub) -> int:
    for failed in hub.failed.values():
        streams.complain(failed.why, failed.hint)
    return exits.ERROR

"""`gsh-tui shell import` and `export`: histories of other programs into the record, and the record as JSON lines.

Owns the choice of the file and what is said of it; importing twice imports nothing twice. Secrets are taken out, and
what `[shell] ignore` names is left out, as of what runs here. Called by the command line.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.headless import exits, streams
from gshtui.headless.line import STORE_ONLY
from gshtui.headless.running import run, until_asked
from gshtui.headless.surroundings import here, loaded_here, running
from gshtui.settings import paths
from gshtui.system import private_files

if TYPE_CHECKING:
    from gshtui.bus.shell import ShellNote, ShellRecord
    from gshtui.hub.hub import Hub
    from gshtui.hub.options import HubOptions
    from gshtui.store.store import Store

BATCH = 2_000
"""Commands that are kept in one transaction."""
PAGE = 2_000


@dataclass(slots=True)
class _Found:
    """What a file held."""

    records: list[ShellRecord] = field(default_factory=list["ShellRecord"])
    notes: list[tuple[ShellNote, int]] = field(default_factory=list[tuple["ShellNote", int]])
    unread: int = 0
    """Lines that were none."""


def import_(source: str, file: str, *, as_json: bool) -> int:
    """Import a history; gives the exit code. `source`: zsh, bash, atuin or jsonl; `file`: empty for the usual one."""
    return run(lambda stop: until_asked(_import(source, Path(file) if file else usual(source), as_json), stop))


def export(file: str) -> int:
    """Write the whole history as JSON lines, oldest first, to a new file or (`-`) to standard output."""
    return run(lambda stop: until_asked(_export(file), stop))


def usual(source: str) -> Path:
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
    from gshtui.shell.imports.atuin import NotAtuin
    from gshtui.store.errors import StoreError

    try:
        found = await asyncio.to_thread(_read, source, file)
    except (OSError, NotAtuin) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        streams.complain(f"{file} cannot be read: {why}.", f"Name the file: gsh-tui shell import {source} FILE.")
        return exits.ERROR
    async with running(_options()) as hub:
        await hub.start()
        if hub.store is None:
            return _no_record(hub)
        try:
            before = await hub.store.history_count()
            records, ignored = await asyncio.to_thread(_fit, hub, found.records)
            for start in range(0, len(records), BATCH):
                await hub.store.import_records(records[start : start + BATCH])
            _, kept = await hub.store.keep_records((), found.notes)
            added = await hub.store.history_count() - before
        except StoreError as error:
            streams.complain(str(error))
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
    left = [f"{told['known']} were there already"]
    left += [f"{told['ignored']} are to be ignored"] if told["ignored"] else []
    left += [f"{told['unread']} lines were none"] if told["unread"] else []
    text = f"{told['added']} of {told['found']} commands imported from {told['file']}; {', '.join(left)}."
    if most and now > most:
        text += (
            f"\nThe history holds {now} commands now and keeps {most}: set [context] max_history_lines to keep more."
        )
    return text


def _read(source: str, file: Path) -> _Found:
    from gshtui.shell.imports import atuin, json_lines, plain_files

    found = _Found()
    if source == "atuin":
        file.stat()
        found.records = list(atuin.read(file))
    elif source == "jsonl":
        with file.open("rb") as opened:
            _sort_out(found, json_lines.read(opened))
    else:
        found.records = list((plain_files.zsh if source == "zsh" else plain_files.bash)(file.read_bytes()))
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
    """The records that may be kept, without secrets, and how many may not."""
    import msgspec

    from gshtui.agents.observing import redactor
    from gshtui.shell.ignoring import ignoring

    ignored = ignoring(hub.settings.shell.ignore)
    redact: Callable[[str], str] = redactor(hub.settings, os.environ).redact
    kept = [record for record in records if not ignored(record.command)]
    fit = [msgspec.structs.replace(r, command=redact(r.command), expanded=redact(r.expanded)) for r in kept]
    return fit, len(records) - len(fit)


async def _export(file: str) -> int:
    from gshtui.shell.imports.json_lines import line_of
    from gshtui.store.errors import StoreError

    async with running(_options()) as hub:
        await hub.start()
        if hub.store is None:
            return _no_record(hub)
        try:
            descriptor = 1 if file == "-" else private_files.make_file(file)
            with os.fdopen(descriptor, "wb", closefd=descriptor != 1) as out:
                count = 0
                async for record in _all(hub.store):
                    out.write(line_of(record))
                    count += 1
        except FileExistsError:
            streams.complain(f"{file} is there already and was left alone.", "Name another file.")
            return exits.ERROR
        except BrokenPipeError:
            return exits.ERROR
        except (StoreError, OSError) as error:
            streams.complain(f"the history could not be exported: {error}.")
            return exits.ERROR
    if file != "-":
        streams.complain(f"{count} commands exported to {file}.")
    return exits.DONE


async def _all(store: Store) -> AsyncGenerator[ShellRecord]:
    from gshtui.store.history_query import Wanted

    after = -1
    while page := await store.history_where(Wanted(after_id=after), limit=PAGE, oldest=True):
        for record in page:
            yield record
        after = page[-1].id


def _options() -> HubOptions:
    from gshtui.hub.options import HubOptions

    return HubOptions(cwd=here(), loaded=loaded_here(), parts=STORE_ONLY, where="gsh-tui shell")


def _no_record(hub: Hub) -> int:
    for failed in hub.failed.values():
        streams.complain(failed.why, failed.hint)
    return exits.ERROR

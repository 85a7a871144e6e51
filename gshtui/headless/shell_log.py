"""`gsh-tui shell log`: what ran in the shells, as the record has it.

Owns the filters' words and the lines for people; the newest command is the last line. Called by `cli`.
"""

from __future__ import annotations

import datetime
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.line import STORE_ONLY
from gshtui.headless.running import run, until_asked
from gshtui.headless.surroundings import here, loaded_here, running

if TYPE_CHECKING:
    from gshtui.bus.shell import ShellRecord
    from gshtui.store.store import Store

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What the command line said."""

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
    """Print it; gives the exit code."""
    try:
        after, before = moment(options.since), moment(options.until)
    except ValueError as error:
        streams.complain(str(error))
        return exits.USAGE
    shell = os.environ.get("GSH_SHELL_ID", "") if options.shell == "." else options.shell
    if options.shell == "." and not shell:
        streams.complain("this shell does not report.", "See `gsh-tui shell status`.")
        return exits.ERROR
    return run(lambda stop: until_asked(_log(options, after, before, shell), stop))


async def _log(options: LogOptions, after: float | None, before: float | None, shell: str) -> int:
    from gshtui.hub.options import HubOptions
    from gshtui.store.errors import StoreError

    hub_options = HubOptions(cwd=here(), loaded=loaded_here(), parts=STORE_ONLY, where="gsh-tui shell log")
    async with running(hub_options) as hub:
        await hub.start()
        if hub.store is None:
            for failed in hub.failed.values():
                streams.complain(failed.why, failed.hint)
            return exits.ERROR
        try:
            records = await hub.store.history(
                query=options.query,
                cwd=str(Path(options.cwd).expanduser().resolve()) if options.cwd else "",
                exit=options.exit,
                failed=options.failed,
                after=after,
                before=before,
                shell=shell,
                agent=options.agent,
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
        streams.complain("nothing like that was recorded.", "`gsh-tui shell status` says whether your shells report.")
    return exits.DONE


async def _printed(store: Store, records: list[ShellRecord]) -> dict[int, str]:
    return {record.id: await store.output(record.output) for record in records if record.output}


def moment(text: str) -> float | None:
    """A time that a person wrote, as seconds since the epoch; `None` for none.

    Raises:
        ValueError: it is no time; the words say how to write one.
    """
    if not text:
        return None
    if found := re.fullmatch(r"(\d{1,9})([smhdw])", text):
        return time.time() - int(found[1]) * _UNITS[found[2]]
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text!r} is no time; write 30m, 2h, 3d, 2026-11-20 or 2026-11-20T14:30.") from None


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

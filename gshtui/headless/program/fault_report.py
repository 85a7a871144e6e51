"""The report of a fault: version, findings, the newest crash report and a conversation, all without secrets.

Shown whole before a word of it is written; never overwrites a file.
"""

from __future__ import annotations

import asyncio
import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gshtui import __version__
from gshtui.headless import exits, streams
from gshtui.headless.called_here import working_folder
from gshtui.settings import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from gshtui.settings.loader import Loaded

_LARGEST = 64 * 1024
"""Bytes of a crash report."""
_PARTED = 100
"""Most lines about sources of a status that parted."""


class ReportOptions(msgspec.Struct, frozen=True):
    """What the person typed. `session`: whose messages are in it; empty: none's."""

    session: str
    out: Path | None
    yes: bool
    as_json: bool


def make_report(options: ReportOptions) -> int:
    """Show the report, and write it if that is wanted; returns the exit code."""
    from gshtui.system.expected_error import ExpectedError

    here = os.isatty(0) and os.isatty(2)
    if options.out is not None and not (options.yes or here):
        streams.complain("Nobody is here to read the report before it is written.", "Add --yes to write it anyway.")
        return exits.DENIED
    try:
        text = asyncio.run(_composed(options.session))
    except ExpectedError as error:
        streams.complain(error.message, error.hint)
        return exits.ERROR
    if options.as_json:
        streams.result_json({"report": text, "file": str(options.out) if options.out else None})
    else:
        streams.result(text)
    if options.out is None:
        return exits.DONE
    if not options.yes and not streams.ask_yes_no(f"Write this report to {options.out}?"):
        streams.complain("Nothing was written.")
        return exits.DENIED
    try:
        # For its writer alone until they hand it on: it may tell more than the redaction knows to leave out.
        made = os.open(options.out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w", encoding="utf-8", errors="replace") as file:
            file.write(text + "\n")
    except FileExistsError:
        streams.complain(f"{options.out} already exists.", "Choose another file.")
        return exits.ERROR
    except OSError as error:
        streams.complain(f"Cannot write {options.out}: {error.strerror or error}.")
        return exits.ERROR
    return exits.DONE


async def _composed(session: str) -> str:
    from gshtui.agents.telemetry import redactor
    from gshtui.headless.program.diagnosis import examine
    from gshtui.headless.program.doctor_programs import as_text, package_manager
    from gshtui.settings.loader import load

    loaded = await asyncio.to_thread(load, working_folder())
    redact = redactor(loaded.settings, os.environ).redact
    parts = [
        "# Report of a fault in gsh-tui",
        f"gsh-tui {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"## What doctor finds\n\n```\n{as_text(await examine(package_manager()), '')}\n```",
    ]
    if crash := await asyncio.to_thread(_newest_crash, paths.logs_dir(create=False)):
        parts.append(f"## The newest crash report\n\n```\n{crash}\n```")
    if parted := await asyncio.to_thread(_disagreements, paths.logs_dir(create=False)):
        parts.append(f"## Where sources of a program's status parted\n\n```\n{parted}\n```")
    if session:
        parts.append(f"## The conversation\n\n{await _conversation(loaded, session, redact)}")
    home = str(Path.home())
    text = redact("\n\n".join(parts)).rstrip()
    return text.replace(home, "~") if len(home) > 1 else text


def _newest_crash(folder: Path) -> str:
    """The text of the newest crash report; empty: there is none that can be read."""
    try:
        newest = max(folder.glob("crash-*.log"), key=lambda file: file.stat().st_mtime, default=None)
        if newest is None:
            return ""
        with newest.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _disagreements(folder: Path) -> str:
    """The newest lines of the log about sources of a status that parted, oldest first; empty: there are none."""
    from gshtui.store.log.log_reader import LogQuery, find_records
    from gshtui.store.log.log_records import DISAGREEMENT

    found = find_records(folder, LogQuery(query=DISAGREEMENT, type="warning"), _PARTED)
    kept = [record for record in found if record.get("kind") == DISAGREEMENT]
    times = [time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record["at"])) for record in kept]
    lines = [
        f"{at}  {record.get('agent', '')}  {record.get('message', '')}" for at, record in zip(times, kept, strict=True)
    ]
    return "\n".join(reversed(lines))


async def _conversation(loaded: Loaded, session: str, redact: Callable[[str], str]) -> str:
    """A conversation as Markdown. Raises `ExpectedError`."""
    from gshtui.commands.declaration import CommandError
    from gshtui.hub.composition import build_hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.store.sessions.session_export import lines

    hub = build_hub(HubOptions(cwd=working_folder(), loaded=loaded, parts=frozenset({"store"}), visiting=True))
    await hub.start()
    try:
        if hub.store is None:
            raise CommandError("The record cannot be read.", hint="`gsh-tui doctor` says why.")
        found = await hub.store.sessions.find(session, str(working_folder()))
        return "".join([line async for line in lines(hub.store, found.id, "markdown", redact)])
    finally:
        await hub.stop()

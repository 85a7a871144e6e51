"""`gsh-tui replay`: finds the conversation that it names, and plays it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.headless import exits, streams
from gshtui.headless.called_here import working_folder

if TYPE_CHECKING:
    from gshtui.features.replay.replay_player import Recording
    from gshtui.store.tables.session_table import SessionInfo


_TOUR = "tour"


def replay(session: str, speed: float, as_json: bool) -> int:
    """Play it, or print what would be played; returns the exit code."""
    if as_json:
        return describe_recording(session)
    from gshtui.cli.window import current_folder
    from gshtui.system.face_mark import mark_face

    found = find_recorded(session)
    if isinstance(found, int):
        return found
    from gshtui.features.replay.window.replay_window import play

    mark_face()
    if found is None:
        return play(Path(current_folder()), session, "main", speed)
    folder = Path(found.cwd)
    return play(folder if folder.is_dir() else Path(current_folder()), found.id, found.agent, speed)


def find_recorded(session: str) -> SessionInfo | int | None:
    """The conversation, or the exit code if it can't be played, after saying why; `None`: it is the tour."""
    if not (os.isatty(0) and os.isatty(1)):
        streams.complain("`replay` plays on a terminal; with --json it only prints what would be played.")
        return exits.USAGE
    if session == _TOUR:
        return None
    found = _read(session, whole=False)
    return found if isinstance(found, int) else found.info


def describe_recording(session: str) -> int:
    """Print what would be played; returns the exit code."""
    found = _read(session, whole=True)
    if isinstance(found, int):
        return found
    info = found.info
    data = {"session": info.id, "title": info.title, "agent": info.agent, "cwd": info.cwd}
    streams.result_json({**data, "events": len(found.events), "seconds": round(found.length, 2)})
    return exits.DONE


def _read(session: str, *, whole: bool) -> Recording | int:
    from gshtui.system.expected_error import ExpectedError

    try:
        return asyncio.run(_find(session, whole))
    except ExpectedError as error:
        streams.complain(f"{error.message} {error.hint}".strip())
        return exits.ERROR


async def _find(name: str, whole: bool) -> Recording:
    """The conversation, with all its events if it is wanted whole."""
    from gshtui.commands.declaration import CommandError
    from gshtui.features.replay.replay_player import Recording, read_recording
    from gshtui.hub.composition import build_hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.settings.loader import load

    cwd = working_folder()
    hub = build_hub(HubOptions(cwd=cwd, loaded=load(cwd), parts=frozenset({"store"}), visiting=True))
    await hub.start()
    try:
        if hub.store is None:
            raise CommandError("The record cannot be read.", hint="`gsh-tui doctor` says why.")
        found = await hub.store.sessions.find(name, str(cwd))
        return await read_recording(hub.store, found.id) if whole else Recording(found, (), ())
    finally:
        await hub.stop()

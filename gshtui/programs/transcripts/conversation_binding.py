"""Which conversation a running program is in, exactly: by what its processes hold open, or by its own record of them.

Claude and Qwen note the conversation of each of their processes; Codex, Copilot and Vibe hold a lock of the one that
they write; Cline and OpenCode show the title of the one that is open, and OpenCode's log tells those of the same title
apart; Gemini's log says when it was cleared; until then its own, an older Qwen's and aider's are the only ones of
their folder since they started. Where nothing is exact nothing is said: never a guess, and never a conversation that
belongs to another agent. Reads other programs' files, writes none. Called by the fleet.
"""

from __future__ import annotations

import itertools
import math
import re
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gshtui.programs.transcripts import (
    aider_transcript,
    claude_transcript,
    cline_transcript,
    codex_transcript,
    gemini_transcript,
    opencode_transcript,
    qwen_transcript,
    vibe_transcript,
)
from gshtui.programs.transcripts.program_transcript import (
    read_whole_file,
    safe_name,
    seconds,
)
from gshtui.system.json_types import string

if TYPE_CHECKING:
    import psutil

_LOCK = re.compile(r"/thread-writer-locks/([0-9a-f-]{36})\.lock\Z")
_ROLLOUT = re.compile(r"/rollout-[^/]*?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl\Z")
_VIBE_LOCK = re.compile(r"/session/active/([0-9a-f-]{36})\.lock\Z")
_COPILOT_HOLD = re.compile(r"/session-state/([0-9a-f-]{36})/inuse\.\d+\.hold\Z")
_OPENCODE = "opencode"
_LOGS_WITHIN = 60.0
"""Seconds after its start within which OpenCode has written to its log."""
_EARLIER = 2.0
"""Seconds by which a process may seem younger than what it has written."""


class BindingQuery(msgspec.Struct, frozen=True):
    """A running program, and what else is known of it.

    Args:
        program: its kind, as its profile's hooks or name say.
        pid: the process in its terminal, which others may be below.
        title: its terminal's title; empty: unknown.
        taken: conversations of other agents.
        alone: no other agent of this program in this folder is without a conversation.
        known: the conversation that it was started in, if we chose that.
    """

    program: str
    pid: int
    cwd: str
    title: str = ""
    taken: Collection[str] = ()
    alone: bool = False
    known: str = ""


def bound_conversation(wanted: BindingQuery, environ: Mapping[str, str], home: Path) -> str:
    """The id of the conversation that the program is in; empty where that cannot be told. Blocks for milliseconds.

    Args:
        environ, home: of the program, which say where its files are.
    """
    finder = _FINDERS.get(wanted.program)
    if finder is None or wanted.pid <= 0:
        return ""
    import psutil  # not needed for the first screen

    try:
        processes = [found := psutil.Process(wanted.pid), *found.children(recursive=True)]
        id = finder(wanted, processes, environ, home)
    except (psutil.Error, OSError, sqlite3.Error, ValueError):
        return ""
    return id if safe_name(id) and id not in wanted.taken else ""


def finds_conversation(program: str) -> bool:
    """Whether anything is known by which the conversation of this kind of program can be told."""
    return program in _FINDERS


def _of_claude(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    return _recorded(claude_transcript.root(environ, home), processes)


def _of_qwen(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    """By its record, which older versions do not have: one that was begun by `/clear` has no transcript yet."""
    return _recorded(qwen_transcript.root(environ, home), processes) or _only_one(wanted, processes, environ, home)


def _of_gemini(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    """One that it began by `/clear`, else the only one."""
    since = min(process.create_time() for process in processes)
    words = [word for process in processes for word in process.cmdline()]
    names = [id for name, id in itertools.pairwise(words) if name in ("--session-id", "--resume", "-r")]
    for started in dict.fromkeys(names):
        if id := gemini_transcript.cleared_into(wanted.cwd, started, since, environ, home):
            return id
    return _only_one(wanted, processes, environ, home)


def _recorded(root: Path, processes: list[psutil.Process]) -> str:
    folder = root / "sessions"
    for process in processes:
        with suppress(OSError):
            noted = read_whole_file(folder / f"{process.pid}.json") or {}
            # A file of an earlier process of this number may have been left.
            if seconds(noted.get("startedAt")) >= process.create_time() - _EARLIER:
                return string(noted.get("sessionId"))
    return ""


def _of_cline(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    """The only one begun since it was started, or named to it, whose title its terminal shows."""
    since = min(process.create_time() for process in processes) - _EARLIER
    named = {id for process in processes for name, id in itertools.pairwise(process.cmdline()) if name == "--id"}
    shown = cline_transcript.title_shown(wanted.title)
    found = [
        each.id
        for each in cline_transcript.sessions_since(wanted.cwd, 0.0 if named else since, environ, home)
        if each.id not in wanted.taken
        and (each.began >= since or each.id in named)
        and opencode_transcript.is_shown_as(each.title, shown)
        and not _runs_in_another(each, {process.pid for process in processes})
    ]
    return found[0] if len(found) == 1 else ""


def _runs_in_another(session: cline_transcript.ClineSession, own: Collection[int]) -> bool:
    """Whether it is the conversation of another terminal's process, by its record."""
    import psutil

    if not session.pid or session.pid in own:
        return False
    with suppress(psutil.Error, ValueError):
        process = psutil.Process(session.pid)
        return process.create_time() <= session.began + _EARLIER and cline_transcript.SERVES not in process.cmdline()
    return False


def _of_codex(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    files = list(_open_files(processes))
    ids = _named(files, _LOCK) or _named(files, _ROLLOUT)
    rollouts = {found.group(1): Path(path) for path in files if (found := _ROLLOUT.search(path))}
    # Its helpers write conversations of their own, in the same process.
    roots = [id for id in ids if id not in rollouts or not codex_transcript.is_helpers(rollouts[id])]
    return _last_written(roots, rollouts)


def _of_vibe(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    files = list(_open_files(processes))
    folders = {
        found.group(1): Path(path).parent.parent / vibe_transcript.KEPT / found.group(1)
        for path in files
        if (found := _VIBE_LOCK.search(path))
    }
    roots = [id for id in folders if not vibe_transcript.is_helpers(folders[id])]
    return _last_written(roots, {id: folder / "CURRENT" for id, folder in folders.items()})


def _of_copilot(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    files = {
        found.group(1): Path(path).parent / "events.jsonl"
        for path in _open_files(processes)
        if (found := _COPILOT_HOLD.search(path))
    }
    return _last_written(list(files), files)


def _of_opencode(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    since = min(process.create_time() for process in processes) - _EARLIER
    found = opencode_transcript.sessions_since(wanted.cwd, since, environ, home)
    free = {id: title for id, title in found.items() if id not in wanted.taken}
    if shown := opencode_transcript.title_shown(wanted.title):
        free = {id: title for id, title in free.items() if opencode_transcript.is_shown_as(title, shown)}
    if len(free) == 1 and (shown or wanted.alone):
        return next(iter(free))
    logged = [id for id in free if id in _logged(processes, environ, home)] if free else []
    return logged[0] if len(logged) == 1 else ""


def _logged(processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> set[str]:
    """The conversations that OpenCode's log says this process worked on; none where that may be another process.

    A line of the log names a run, not a process. A run whose first line comes after the start of this process and
    before the start of the next one is this one's, if the process before had begun to write by then.
    """
    import psutil

    this = next((process for process in processes if _OPENCODE in process.name()), None)
    if this is None:
        return set()
    began, others = this.create_time(), list[float]()
    for each in psutil.process_iter(["name", "create_time"]):
        if each.pid != this.pid and _OPENCODE in (each.info["name"] or ""):
            others.append(each.info["create_time"])
    try:
        runs = sorted(opencode_transcript.logged_sessions(environ, home).values(), key=lambda run: run[0])
    except OSError:
        return set()
    before = max((start for start in others if began - _LOGS_WITHIN < start <= began), default=None)
    if before is not None and not any(before <= at < began for at, _ in runs):
        return set()
    after = min((start for start in others if start > began), default=math.inf)
    at, ids = next((run for run in runs if run[0] >= began), (math.inf, set[str]()))
    return ids if at < after else set()


def _only_one(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    if wanted.known or not wanted.alone:
        return ""
    since = min(process.create_time() for process in processes)
    sessions_since = {"gemini": gemini_transcript, "qwen": qwen_transcript}[wanted.program].sessions_since
    found = sessions_since(wanted.cwd, since, environ, home) - set(wanted.taken)
    return found.pop() if len(found) == 1 else ""


def _of_aider(wanted: BindingQuery, processes: list[psutil.Process], environ: Mapping[str, str], home: Path) -> str:
    del home
    found = aider_transcript.chats_since(wanted.cwd, min(process.create_time() for process in processes), environ)
    if len(found) != 1 or _writes_too(found[0].path, {process.pid for process in processes}):
        return ""
    return found[0].id


def _writes_too(history: Path, own: Collection[int]) -> bool:
    """Whether another aider runs that writes into this file, below the same heading."""
    import psutil

    for each in psutil.process_iter(["cmdline"]):
        words: list[str] = each.info["cmdline"] or []
        if each.pid not in own and "aider" in (Path(word).name for word in words[:3]):
            with suppress(psutil.Error, OSError):
                if history in aider_transcript.history_files(each.cwd(), {}):
                    return True
    return False


def _open_files(processes: list[psutil.Process]) -> Iterator[str]:
    import psutil

    for process in processes:
        with suppress(psutil.Error, OSError):
            yield from (file.path for file in process.open_files())


def _named(files: list[str], pattern: re.Pattern[str]) -> list[str]:
    return list(dict.fromkeys(found.group(1) for path in files if (found := pattern.search(path))))


def _last_written(ids: list[str], files: Mapping[str, Path]) -> str:
    """The conversation that was written last; one that nobody has written yet only where there is no other."""
    written: list[tuple[float, str]] = []
    for id in ids:
        at = 0.0
        with suppress(OSError, KeyError):
            at = files[id].stat().st_mtime
        written.append((at, id))
    return max(written, default=(0.0, ""))[1]


_Finder = Callable[[BindingQuery, "list[psutil.Process]", Mapping[str, str], Path], str]
_FINDERS: Mapping[str, _Finder] = {
    "aider": _of_aider,
    "claude": _of_claude,
    "cline": _of_cline,
    "codex": _of_codex,
    "copilot": _of_copilot,
    "gemini": _of_gemini,
    "opencode": _of_opencode,
    "qwen": _of_qwen,
    "vibe": _of_vibe,
}

"""The `glob` tool: files by path pattern, newest first, without what `.gitignore` names."""

from __future__ import annotations

import asyncio
import heapq
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Invocation, Outcome
from gshtui.commands.schema import PLAIN, ToolParameters
from gshtui.shell.git_rules import IgnoreRules, ignored, rules_above, rules_in
from gshtui.text.glob_pattern import PatternError, compile_glob, fixed_part, is_glob
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.files import path_location
from gshtui.tools.files.read import reading
from gshtui.tools.files.workspace import Workspace


class Walk(msgspec.Struct):
    """One walk of a folder, and its outcome."""

    root: str
    """Real path of the folder."""
    deadline: float = float("inf")
    """A time of `time.monotonic`, in seconds."""
    stopped: Callable[[], bool] = lambda: False
    cut: bool = False
    """The deadline or the stop flag ended the walk; it is incomplete."""

    def files(self) -> Iterator[os.DirEntry[str]]:
        """Yield every file, depth first, in no particular order. Each entry's path begins with the root."""
        yield from self._folder(self.root, rules_above(self.root))

    def _folder(self, path: str, rules: tuple[IgnoreRules, ...]) -> Iterator[os.DirEntry[str]]:
        if time.monotonic() > self.deadline or self.stopped():
            self.cut = True
            return
        try:
            with os.scandir(path) as scan:
                entries = list(scan)
        except OSError:
            return
        rules = (*rules, *rules_in(path, entries))
        below: list[str] = []
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if (is_folder and entry.name == ".git") or ignored(entry.path, is_folder, rules):
                continue
            if is_folder:
                below.append(entry.name)
            else:
                yield entry
        for name in below:
            if self.cut:
                return
            yield from self._folder(os.path.join(path, name), rules)  # noqa: PTH118 - hot


DESCRIPTION = """\
Find files by path pattern, newest first: `src/**/*.ts`, `*.{md,rst}`. `*` stays within one folder, `**/` goes through \
all below. Skips what .gitignore names."""
DETAILS = """\
It shows at most 200 paths, and how many there are. `*.py` finds only those at the top; .git is skipped."""
_SHOWN = 200


class GlobParameters(ToolParameters):
    """Pattern, and the folder to start from."""

    pattern: str = Field(description="Path pattern, relative to the folder, such as **/*.py", json_schema_extra=PLAIN)
    path: str = Field(default="", description="Folder; empty: the working folder", json_schema_extra=PLAIN)


class _Found(msgspec.Struct):
    matches: list[tuple[int, str]]
    """Newest first: modification time (ns) and path."""
    count: int
    deeper: int
    """Files deeper down whose name alone would match."""
    cut: bool


async def assess(workspace: Workspace, invocation: Invocation, parameters: GlobParameters) -> Assessment:
    """Judge it as a read of the names below a folder."""
    place, rest = await asyncio.to_thread(_base, invocation, parameters)
    workspace.record_assessed(invocation, place.asked, place.real)
    shown = reading(place, "glob")
    subject = rest if place.shown == "." else f"{rest} in {place.shown}"
    return Assessment(
        effect=shown.effect,
        subject=one_line(literal(subject)),
        inside=shown.inside,
        detail=shown.detail,
        key=f"{place.real}\0{rest}",
        pattern=shown.pattern,
        warnings=shown.warnings,
        below=parameters.pattern or "**",
    )


async def run(workspace: Workspace, invocation: Invocation, parameters: GlobParameters) -> Outcome:
    stop = threading.Event()
    try:
        return await asyncio.to_thread(_glob, workspace, invocation, parameters, stop)
    finally:
        stop.set()


def _glob(workspace: Workspace, invocation: Invocation, parameters: GlobParameters, stop: threading.Event) -> Outcome:
    place, rest = _base(invocation, parameters)
    path_location.confirm_unchanged(workspace, invocation, place)
    if not place.real.is_dir():
        if place.real.exists():
            raise CommandError(f"{place.shown} is a file, not a folder.", hint="Use read for a file.")
        raise path_location.missing(place)
    found = _search(place.real, rest, workspace.config.search_timeout_s, stop)
    project = Path(os.path.realpath(invocation.project))
    shown = [path_location.shown(Path(path), project) for _, path in found.matches]
    lines = list(shown)
    if not found.count:
        lines.append(f"No file matches {one_line(literal(parameters.pattern))} in {place.where}.")
        if found.deeper:
            lines.append(f"{found.deeper:,} files in deeper folders match: use **/{one_line(literal(rest))}")
    if found.count > len(shown):
        lines.append(f"[the newest {len(shown)} of {found.count:,}; narrow the pattern to see others]")
    if found.cut:
        lines.append("[the search was stopped before it had seen everything; use a narrower path]")
    data = {"files": shown, "count": found.count, "complete": not found.cut}
    return Outcome(data=data, text="\n".join(lines))


def _base(invocation: Invocation, parameters: GlobParameters) -> tuple[path_location.Location, str]:
    """Split off the fixed folders of the pattern: return the folder to start from and the rest of the pattern."""
    if not parameters.pattern.strip():
        raise CommandError("The pattern is empty.", hint="Use one such as **/*.py.")
    head, rest = fixed_part(parameters.pattern)
    base = parameters.path or "."
    if head:
        base = head if head.startswith(("/", "~")) else f"{base.rstrip('/')}/{head}"
    if not rest or rest.endswith("/"):
        rest += "**" if is_glob(rest) or not rest else ""
    return path_location.locate(invocation, base), rest.rstrip("/") or "*"


def _search(root: Path, pattern: str, seconds: float, stop: threading.Event) -> _Found:
    try:
        wanted = compile_glob(pattern)
        by_name = None if "/" in pattern else compile_glob(pattern, anywhere=True)
    except PatternError as error:
        raise CommandError(f"{error}.", hint="A pattern looks like src/**/*.py.") from error
    walk = Walk(str(root), deadline=time.monotonic() + seconds, stopped=stop.is_set)
    start = len(str(root).rstrip("/")) + 1
    found = _Found([], 0, 0, False)
    for entry in walk.files():
        relative = entry.path[start:]
        if not wanted.match(relative):
            found.deeper += by_name is not None and by_name.match(relative) is not None
            continue
        found.count += 1
        item = (_modified(entry), entry.path)
        if len(found.matches) < _SHOWN:
            heapq.heappush(found.matches, item)
        else:
            heapq.heappushpop(found.matches, item)
    found.matches.sort(reverse=True)
    found.cut = walk.cut
    return found


def _modified(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0

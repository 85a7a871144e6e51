"""The tools `read grep write` on virtual files, and which of their calls are for those.

`glob` and `edit` work on real files alone, and say what to use instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeVar

from gshtui.commands.declaration import Assessment, CommandError, Invocation, Outcome
from gshtui.text.sanitise import literal
from gshtui.tools.files import grep
from gshtui.tools.files.file_changes import FileChanges
from gshtui.tools.files.file_paths import FilePaths
from gshtui.tools.files.file_views import CatParameters, FileViews, LsParameters, assess_virtual
from gshtui.tools.files.grep import GrepParameters
from gshtui.tools.files.read import ReadParameters
from gshtui.tools.files.workspace import ToolConfig
from gshtui.tools.files.write import WriteParameters
from gshtui.vfs import SHARED, VirtualPath

T = TypeVar("T")
_MOST_SEARCHED = 500
"""Files of one search."""
_MOST_DEPTH = 8


def routed(
    paths: FilePaths,
    real: Callable[[Invocation, Any], Awaitable[T]],
    virtual: Callable[[Invocation, VirtualPath, Any], Awaitable[T]],
) -> Callable[[Invocation, Any], Awaitable[T]]:
    """A handler of parameters with a `path`: for real ones, and for virtual ones."""

    async def handle(invocation: Invocation, parameters: Any) -> T:
        asked: str = parameters.path or "."
        found = paths.resolve(invocation, asked)
        if isinstance(found, VirtualPath):
            return await virtual(invocation, found, parameters)
        if found.asked != asked:
            parameters = parameters.model_copy(update={"path": found.asked})
        return await real(found.invocation, parameters)

    return handle


class VirtualTools:
    """The handlers for virtual files."""

    def __init__(self, config: ToolConfig, paths: FilePaths, views: FileViews, changes: FileChanges) -> None:
        self._config = config
        self._paths = paths
        self._views = views
        self._changes = changes

    async def read(self, invocation: Invocation, path: VirtualPath, parameters: ReadParameters) -> Outcome:
        """A file's numbered lines, or a folder's entries. Raises `ExpectedError`."""
        if await self._is_folder(invocation, path):
            return await self._views.ls(invocation, LsParameters.model_validate({"path": str(path), "all": True}))
        outcome = await self._views.cat(invocation, CatParameters.model_validate({"path": str(path)}))
        lines = str(outcome.data["files"][0]["text"]).splitlines()
        start = parameters.start_line
        first = max(1, len(lines) + 1 + start) if start < 0 else max(1, start)
        some = lines[first - 1 : parameters.end_line or None]
        text = "\n".join(f"{first + n:>6}│{literal(line)}" for n, line in enumerate(some))
        data = {"path": str(path), "first": first, "lines": len(some), "total": len(lines), "text": "\n".join(some)}
        return Outcome(data, text or "(the file is empty)" if not lines else text or f"[it has {len(lines)} lines]")

    async def assess_read(self, invocation: Invocation, path: VirtualPath, parameters: object) -> Assessment:
        """Judge reading it. Raises `ExpectedError`."""
        return await assess_virtual(self._paths, invocation, path, "read")

    async def grep(self, invocation: Invocation, path: VirtualPath, parameters: GrepParameters) -> Outcome:
        """Search the files below it that the caller may read without a question. Raises `ExpectedError`."""
        texts = await self._texts(invocation, path)
        return await grep.search_texts(self._config, invocation, parameters, texts)

    async def write(self, invocation: Invocation, path: VirtualPath, parameters: WriteParameters) -> Outcome:
        """Write it. Raises `ExpectedError`."""
        return await self._changes.write_virtual(invocation, path, parameters.content, append=False)

    async def assess_write(self, invocation: Invocation, path: VirtualPath, parameters: WriteParameters) -> Assessment:
        """Judge writing it. Raises `ExpectedError`."""
        return await self._changes.assess_virtual(invocation, path, "write", parameters.content, append=False)

    async def refuse(self, invocation: Invocation, path: VirtualPath, parameters: object) -> NoReturn:
        """Say what to use instead. Raises `ExpectedError`."""
        hint = "`ls` and `grep` find virtual files, and `write` and `append` change them."
        raise CommandError(f"{path} is a virtual path; this works on real files.", hint=hint)

    async def _is_folder(self, invocation: Invocation, path: VirtualPath) -> bool:
        if path.steps == (SHARED,):
            return True
        return (await self._paths.files.stat(invocation.caller, path)).kind == "folder"

    async def _texts(self, invocation: Invocation, path: VirtualPath) -> list[tuple[str, str]]:
        """The files below a path with their texts, without those behind links and those that would be asked about."""
        files, caller = self._paths.files, invocation.caller
        found: list[tuple[str, str]] = []
        judged = list(await files.matching(caller, path)) if path.steps else [path]
        waiting = list(judged)
        while waiting and len(found) < _MOST_SEARCHED:
            here = waiting.pop(0)
            if here.steps == (SHARED,):
                continue  # its folders are real, and are searched by their own paths
            if here not in judged and await files.right(caller, here) != "free":
                continue
            if not here.steps or (await files.stat(caller, here)).kind == "folder":
                if len(here.steps) < _MOST_DEPTH:
                    nodes = await files.list(caller, here)
                    waiting += [here.below(node.name) for node in nodes if node.kind != "link"]
                continue
            found.append((str(here), await files.read(caller, here)))
        return found

"""Completion sources: commands with their parameters, agents, and the project's files.

The file index is built in a thread, bounded, and without what `.gitignore` excludes; it follows no links, never leaves
the project, and answers even when incomplete. Registry and roster are passed in as functions.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gshtui.bus.agent_data import ProgramCommand
from gshtui.system.tasks import start_job
from gshtui.ui.prompt.fuzzy import best_matches, fuzzy_match
from gshtui.ui.prompt.prompt_completion import CompletionItem, CompletionSource

if TYPE_CHECKING:
    from gshtui.shell.git_rules import IgnoreRules

LIMIT = 50
_USED = 5
"""Commands that the person used last, before those that most people need."""


class LineCompletion(Protocol):
    """A completion of the command language, such as `gshtui.commands.completion.Completion`."""

    @property
    def value(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def detail(self) -> str: ...


class WindowView(NamedTuple):
    """A view of the window: the id of the key that opens it, and what it does."""

    key: str
    does: str


class _ViewWord(NamedTuple):
    """A word that opens one, as a completion."""

    value: str
    start: int
    kind: str
    detail: str


CompleteLine = Callable[[str, int], Awaitable[Sequence[LineCompletion]]]
"""(line, cursor) → completions at the cursor."""


_KEYS = {
    "model": "app.models",
    "spawn": "agents.spawn",
    "resume": "app.sessions",
    "mode": "mode.next",
    "help": "app.help",
    "calls": "app.calls",
    "mcp": "app.servers",
    "workflow": "app.workflows",
    "context": "context.inspect",
    "config": "app.settings",
    "quit": "app.quit",
}
"""Commands whose bare name does what a key does."""


def _none_used() -> Sequence[str]:
    return ()


class CommandSource:
    """`/name parameter=value`, on the first line; names also behind a `|`, a `;` and in a `$(`, and `$variables`.

    Args:
        used: names of commands that the person used, the latest first; they come first, then what most people want,
            then the others by subject.
        runs: whether a command needs no parameters.
        usage: how a command is written.
        views: words that open a view of the window, with what they say → its key.
    """

    def __init__(
        self,
        complete: CompleteLine,
        used: Callable[[], Sequence[str]] = _none_used,
        runs: Callable[[str], bool] = lambda _: False,
        usage: Callable[[str], str] = lambda _: "",
        views: Mapping[str, WindowView] | None = None,
    ) -> None:
        self._complete = complete
        self._views = views or {}
        self._used = used
        self._runs = runs
        self._usage = usage

    def start(self, before: str, row: int) -> int | None:
        if row != 0 or not before.startswith("/") or before.startswith("//") or before.endswith("'"):
            return None
        name, space, _ = before[1:].partition(" ")
        return None if "/" in name and not space else len(before) - len(before.split(" ")[-1])

    async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
        found: list[CompletionItem] = []
        items: list[LineCompletion] = list(await self._complete(before, len(before)))
        views: Mapping[str, WindowView] = self._views if " " not in before else {}
        known = {item.value for item in items}
        items += [
            _ViewWord(word, 1, "command", view.does)
            for word, view in views.items()
            if word.startswith(before[1:]) and word not in known
        ]
        titles: dict[str, str] = {}
        if any(item.kind == "command" for item in items):
            typed = before[start:].removeprefix("/")
            groups = self._grouped([item.value for item in items])
            order = {name: at for at, name in enumerate(name for _, names in groups for name in names)}
            items.sort(key=lambda item: (item.value != typed, order.get(item.value, -1)))
            if not typed and before == "/":
                titles = {name: title for title, names in groups for name in names}
        for item in items if titles else items[:LIMIT]:
            first = item.kind == "command" and before[: item.start].strip() in ("", "/")
            typed = before[item.start :]
            fit = fuzzy_match(typed, item.value)
            view = views.get(item.value)
            alone = first and not before[: item.start].strip(" /")
            runs = alone and (view is not None or self._runs(item.value))
            found.append(
                CompletionItem(
                    insert=item.value,
                    start=item.start,
                    label=f"/{item.value}" if first else item.value,
                    detail=item.detail,
                    kind=item.kind,
                    marked=tuple(at + first for at in fit.positions) if fit else (),
                    ends_word=item.kind != "variable" and not item.value.endswith("="),
                    group=titles.get(item.value, ""),
                    key=_KEYS.get(item.value) or (views[item.value].key if item.value in views else "")
                    if first
                    else "",
                    runs=runs,
                    usage=self._usage(item.value) if alone and not runs else "",
                )
            )
        return found

    def _grouped(self, names: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
        """The commands by subject, after those that this person uses, or most people."""
        from gshtui.commands.word_groups import FIRST, SLASH_GROUPS, grouped

        [(_, often), *_] = SLASH_GROUPS
        ahead = [name for name in dict.fromkeys((*self._used()[:_USED], *often)) if name in names]
        rest = grouped([name for name in names if name not in ahead], SLASH_GROUPS)
        return [(FIRST, ahead), *rest]


class ProgramCommandSource:
    """`/name` of a command that the agent's program offers; `//name` where we have one of that name.

    Args:
        offered: the commands of the agent that is typed to.
        ours: the names of our own commands.
    """

    def __init__(self, offered: Callable[[], Sequence[ProgramCommand]], ours: Callable[[], Container[str]]) -> None:
        self._offered = offered
        self._ours = ours

    def start(self, before: str, row: int) -> int | None:
        typed = before.startswith("/") and "/" not in before[2:] and "\n" not in before
        return 0 if row == 0 and typed and self._offered() else None

    async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
        typed, ours = before.lstrip("/"), self._ours()
        found: list[CompletionItem] = []
        for one in self._offered():
            mark = "//" if one.name.partition(" ")[0] in ours else "/"
            if len(before) - len(typed) <= len(mark) and (fit := fuzzy_match(typed, one.name)) is not None:
                text, about = f"{mark}{one.name}", " · ".join(filter(None, (one.hint, one.about)))
                marked = tuple(at + len(mark) for at in fit.positions)
                found.append(CompletionItem(text, start, text, about, "command", marked))
        return found[:LIMIT]


def mention_start(before: str) -> int | None:
    """Column of the `@` being typed, or `None`."""
    quote = before.rfind('"')
    if quote > 0 and before[quote - 1] == "@" and _begins(before, quote - 1) and "\n" not in before[quote:]:
        return quote - 1
    words = before[quote + 1 :].split()
    if not words or before[-1].isspace():
        return None
    at = before.find("@", len(before) - len(words[-1]))
    while at >= 0 and not _begins(before, at):
        at = before.find("@", at + 1)
    return at if at >= 0 else None


def _begins(before: str, at: int) -> bool:
    """Whether a word can begin here."""
    return at == 0 or before[at - 1].isspace() or before[at - 1] in "([{,;:"


MOST_FILES = 100_000
FRESH_FOR = 20.0
"""Seconds after which a new mention rebuilds the index."""
FIRST_ANSWER = 0.25
"""Seconds that the first search waits for an unfinished index before it answers from what exists."""
_LOOKS = 1.0
"""Seconds between two looks at an index that is still being built."""
_NEVER = frozenset({".git", ".hg", ".svn", ".jj"})


class FileIndex:
    """Paths of a project's files and folders (these end in `/`), relative to it."""

    def __init__(self, root: Path, most: int = MOST_FILES) -> None:
        self.root = root
        self.paths: list[str] = []
        self.complete = False
        """Whether the last walk finished within the bound."""
        self.known = 0
        """How many paths the first walk has found so far."""
        self._most = most
        self._built = 0.0
        self._stop = threading.Event()
        self._task: asyncio.Task[None] | None = None

    def refresh(self) -> asyncio.Task[None]:
        """Make sure the index is fresh; the task ends when it is."""
        stale = time.monotonic() - self._built > FRESH_FOR
        if self._task is None or (self._task.done() and stale):
            self._stop = threading.Event()
            self._task = start_job(asyncio.to_thread(self._build, self._stop), "the list of files")
        return self._task

    @property
    def built(self) -> bool:
        """Whether a walk has ended."""
        return bool(self._built)

    def close(self) -> None:
        """Stop a running walk."""
        self._stop.set()

    def _build(self, stop: threading.Event) -> None:
        paths: list[str] = []
        first, begun = not self.paths, time.monotonic()
        for path in walk_project(self.root, stop):
            paths.append(path)
            if first:
                self.known = len(paths)
            if len(paths) >= self._most:
                break
            if first and (len(paths) == 1_000 or time.monotonic() - begun > FIRST_ANSWER):
                self.paths = paths  # the same list keeps growing: searches copy what they read
        else:
            self.complete = not stop.is_set()
        if not stop.is_set():
            self.paths = paths
            self._built = time.monotonic()


def walk_project(root: Path, stop: threading.Event) -> Iterator[str]:
    """Relative paths below the root, nearest first; skips unreadable folders and links to folders."""
    from gshtui.shell.git_rules import ignored, rules_above, rules_in  # the patterns' library takes time to load

    level = [("", rules_above(str(root)))]
    while level:
        below: list[tuple[str, tuple[IgnoreRules, ...]]] = []
        for folder, rules in level:
            if stop.is_set():
                return
            entries = _folder_entries(root / folder)
            rules = (*rules, *rules_in(str(root / folder), entries))
            for entry in entries:
                is_folder = _is_folder(entry)
                if entry.name in _NEVER or ignored(entry.path, is_folder, rules):
                    continue
                path = f"{folder}{entry.name}/" if is_folder else f"{folder}{entry.name}"
                yield path
                if is_folder:
                    below.append((path, rules))
        level = below


def _folder_entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


class FileSource:
    """`@path` of a file or folder of the project.

    Args:
        news: called while the index is still being built for the first time, and once it is, after an answer that had
            not all; with what is to be said of that.
    """

    def __init__(self, index: FileIndex, news: Callable[[CompletionSource, str], object] | None = None) -> None:
        self._index = index
        self._news = news
        self._following: asyncio.Task[None] | None = None

    def start(self, before: str, row: int) -> int | None:
        return mention_start(before)

    async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
        built = self._index.refresh()
        if not self._index.paths:
            await asyncio.wait({built}, timeout=FIRST_ANSWER)
        if self._news and not built.done() and (self._following is None or self._following.done()):
            self._following = start_job(self._follow(built, self._news), "the list of files")
        query = before[start + 1 :].lstrip('"')
        stop = threading.Event()
        try:
            found = await asyncio.to_thread(best_matches, query, self._index.paths[:], LIMIT, stopped=stop.is_set)
        finally:
            stop.set()
        return [
            CompletionItem(
                _file_mention(fit.text), start, fit.text, "", "file", fit.positions, not fit.text.endswith("/")
            )
            for fit in found
        ]

    async def _follow(self, built: asyncio.Task[None], news: Callable[[CompletionSource, str], object]) -> None:
        first = not self._index.built
        while not built.done():
            await asyncio.wait({built}, timeout=_LOOKS)
            if first and not built.done():
                news(self, f"Reading this folder: {self._index.known:,} files and folders so far")
        few = f"Only the nearest {self._index.known:,} files and folders are listed"
        news(self, "" if self._index.complete else few)


class NamedThing(Protocol):
    """A resource of a server, such as `gshtui.mcp_client.mcp_calls.NamedResource`."""

    @property
    def server(self) -> str: ...
    @property
    def uri(self) -> str: ...
    @property
    def about(self) -> str: ...


ListResources = Callable[[str], Awaitable[Sequence[NamedThing]]]
"""(server, or none) → its resources, or the servers that have some."""
_FRESH = 30.0
"""Seconds for which a server's resources are not asked for again."""


class ResourceSource:
    """`@server:uri` of a resource of an MCP server; the server is started when its name stands there."""

    def __init__(self, listed: ListResources) -> None:
        self._listed = listed
        self._known: dict[str, tuple[float, Sequence[NamedThing]]] = {}

    def start(self, before: str, row: int) -> int | None:
        at = mention_start(before)
        return None if at is None or before[at + 1 : at + 2] == '"' else at

    async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
        typed = before[start + 1 :]
        server, colon, _ = typed.partition(":")
        asked = server if colon else ""
        when, found = self._known.get(asked, (0.0, ()))
        if time.monotonic() - when > _FRESH or not when:
            found = await self._listed(asked)
            self._known[asked] = (time.monotonic(), found)
        items: list[CompletionItem] = []
        for one in found:
            text = f"{one.server}:{one.uri}"
            fit = fuzzy_match(typed, text)
            if fit is not None:
                whole = bool(one.uri) and not one.about.startswith("…")
                items.append(CompletionItem(f"@{text}", start, text, one.about, "resource", fit.positions, whole))
        return items[:LIMIT]


def _file_mention(path: str) -> str:
    """The path as written in a prompt; quoted if it contains a space, or cannot be told by sight."""
    from gshtui.media.mentions import TRAILING  # not before the first letter
    from gshtui.text.file_name import written_name

    if (name := written_name(path)) != path:
        return f"@{name}"
    if not any(char.isspace() or char == '"' for char in path) and path[-1] not in TRAILING:
        return f"@{path}"
    return f'@"{path}' if path.endswith("/") else f'@"{path}"'

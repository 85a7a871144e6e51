"""One session with a language server, from its start to its end: the files that it was shown, and their problems.

A file is shown as it is on disk; the server applies nothing. What cannot be read, is too large or is no text is not
shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from gshtui import __version__
from gshtui.features.code.language_table import LanguageServerEntry
from gshtui.features.code.lsp_client import LanguageServerError, LspClient, RequestRefused, ServerRequests
from gshtui.features.code.lsp_types import (
    Diagnostic,
    DiagnosticReport,
    Encoding,
    InitializeResult,
    PublishedDiagnostics,
    ServerCapabilities,
    path_of,
    uri_of,
)
from gshtui.features.code.problems import CodeProblem, problems_of
from gshtui.guard.sandbox.sandbox import ProjectSandbox
from gshtui.guard.sandbox.stdio_server import ServerProcess, start_server_process
from gshtui.system.files.private_files import open_reader
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.struct_types import learned
from gshtui.system.tasks import start_job

LARGEST = 2 << 20
"""Bytes of a file that servers are shown; larger ones are not."""
_MOST_OPEN = 64
"""Files that a server has open at a time."""
_MOST_FILES = 2_000
_MOST_PROBLEMS = 200
"""Problems of one file that are kept, of so many files."""
_SETTLED = 0.25
"""Seconds without news after which problems of no version are taken for those of the newest text."""
_CLEAN_FOR = 0.05
"""Seconds after which no problems means that there are none: some servers first send none and then go to work."""
_AGAIN = 0.1
_READS_FOR = 10.0
"""Seconds after its start for which a server may not know all files yet."""
_CANCELLED_BY_SERVER = (-32802, -32801)
_CLOSES_WITHIN = 0.5
_SHUTDOWN_WITHIN = 1.0


class OpenFile(msgspec.Struct):
    """A file that a server was shown.

    Attributes:
        version: counted from 1, of the newest text.
        published: version that the newest sent problems are of; 0: none were sent for this text yet; -1: of no version.
        settled: version of which all problems were sent.
        at: when they came, in seconds of the monotonic clock.
    """

    text: str
    version: int = 1
    published: int = 0
    settled: int = 0
    at: float = 0.0
    lines: list[str] = msgspec.field(default_factory=list[str])


class ServerLaunch(msgspec.Struct, frozen=True):
    """How a server is started.

    Attributes:
        root: the real folder that it is for.
        argv: its program and arguments.
        sandbox: where it runs, or why there is none, as the end of a sentence.
    """

    entry: LanguageServerEntry
    root: Path
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    sandbox: ProjectSandbox | str


@asynccontextmanager
async def open_session(launch: ServerLaunch, seconds: float) -> AsyncGenerator[LanguageSession]:
    """Start a server and agree with it on what both can do. Raises `LanguageServerError`: it cannot be started, or did
    not answer in time.
    """
    name = launch.entry.name
    try:
        process = await start_server_process(
            launch.argv, launch.root, launch.environ, launch.sandbox, f"the language server {name}"
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise LanguageServerError(f"The language server {name} cannot be started: {launch.argv[0]}: {why}.") from error
    session = LanguageSession(launch, process)
    try:
        try:
            await session.initialise(seconds)
        except LanguageServerError as error:
            if not session.client.lost.is_set():
                raise
            raise LanguageServerError(f"The language server {name} is gone: {await session.why_lost()}.") from error
        yield session
        with contextlib.suppress(LanguageServerError):
            await session.client.request("shutdown", None, _SHUTDOWN_WITHIN)
            session.client.notify("exit", None)
    finally:
        await session.client.close()
        await process.close(_CLOSES_WITHIN)


class LanguageSession:
    """See the module's text."""

    def __init__(self, launch: ServerLaunch, process: ServerProcess) -> None:
        self.process = process
        self.capabilities = ServerCapabilities()
        self.encoding: Encoding = "utf-16"
        self.used = self._begun = time.monotonic()
        """When it was last asked, in seconds of the monotonic clock."""
        self.problems: OrderedDict[Path, tuple[CodeProblem, ...]] = OrderedDict()
        """The problems that it sent unasked, by real file."""
        self._asked: dict[Path, tuple[CodeProblem, ...]] = {}
        """Those that it answered with."""
        self._launch = launch
        self._name = launch.entry.name
        self._open: OrderedDict[Path, OpenFile] = OrderedDict()
        self._busy = False
        """It says that it is working through files; only pyright and its kin do."""
        self._news = asyncio.Condition()
        self._telling: asyncio.Task[None] | None = None
        folder = {"uri": uri_of(launch.root), "name": launch.root.name}
        requests = ServerRequests(launch.entry.settings, folder, self._take, self._wake)
        stdout, stdin = process.process.stdout, process.process.stdin
        assert stdout is not None and stdin is not None
        self.client = LspClient(self._name, stdout, stdin, requests)

    async def initialise(self, seconds: float) -> None:
        """The handshake. Raises `LanguageServerError`."""
        root = uri_of(self._launch.root)
        result = await self.client.request(
            "initialize",
            {
                "processId": None,  # in a sandbox it sees no process of ours, and ends with its input
                "clientInfo": {"name": "gsh-tui", "version": __version__},
                "rootPath": str(self._launch.root),
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": self._launch.root.name}],
                "capabilities": _CAPABILITIES,
                "initializationOptions": dict(self._launch.entry.options),
            },
            seconds,
        )
        initialised: InitializeResult = self.converted(result, InitializeResult)
        self.capabilities = initialised.capabilities
        offered = self.capabilities.position_encoding
        self.encoding = offered if offered in ("utf-8", "utf-16", "utf-32") else "utf-16"
        self.client.notify("initialized", {})
        if self._launch.entry.settings:
            self.client.notify("workspace/didChangeConfiguration", {"settings": dict(self._launch.entry.settings)})

    async def why_lost(self) -> str:
        """How it ended, as the end of a sentence, with what it last said and was refused."""
        if self.client.fault:
            return self.client.fault
        with contextlib.suppress(TimeoutError):
            async with time_limit(1.0):
                await self.process.process.wait()
        return self.process.end

    async def ask(self, method: str, params: object, kind: Any, seconds: float) -> Any:
        """Ask the server something; its answer as a value of this type. Raises `LanguageServerError`."""
        self.used = time.monotonic()
        return self.converted(await self.client.request(method, params, seconds), kind)

    async def ask_settled(self, method: str, params: object, kind: Any, seconds: float) -> Any:
        """As `ask`, about all files: while the server may still be reading them, the first answer that it repeats."""
        answer = await self.ask(method, params, kind, seconds)
        until = min(self._begun + _READS_FOR, time.monotonic() + seconds)
        while time.monotonic() < until:
            await asyncio.sleep(_AGAIN)
            before, answer = answer, await self.ask(method, params, kind, seconds)
            if answer == before:
                break
        return answer

    def converted(self, raw: Raw, kind: Any) -> Any:
        """A result of this type. Raises `LanguageServerError`."""
        try:
            return msgspec.json.decode(raw, type=learned(kind))
        except (ValueError, RecursionError):
            raise LanguageServerError(f"The language server {self._name} answered what it must not.") from None

    def is_open(self, path: Path) -> bool:
        return path in self._open

    def lines_of(self, path: Path) -> Sequence[str]:
        """The lines of a file that is open; else none."""
        found = self._open.get(path)
        return found.lines if found is not None else ()

    def show(self, path: Path, text: str) -> None:
        """Show the server a file with this text, unless it has seen exactly that. Raises `LanguageServerError`."""
        self.used = time.monotonic()
        found = self._open.get(path)
        if found is not None and found.text == text:
            self._open.move_to_end(path)
            return
        uri = uri_of(path)
        if found is None:
            self._open[path] = OpenFile(text, lines=text.split("\n"))
            language = self._launch.entry.language_of(path.name)
            document = {"uri": uri, "languageId": language, "version": 1, "text": text}
            self.client.notify("textDocument/didOpen", {"textDocument": document})
            while len(self._open) > _MOST_OPEN:
                self.hide(next(iter(self._open)))
            return
        found.text, found.version, found.published = text, found.version + 1, 0
        found.lines = text.split("\n")
        self._asked.clear()  # those of other files may depend on this one
        self._open.move_to_end(path)
        document = {"uri": uri, "version": found.version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def hide(self, path: Path) -> None:
        """The server need not look at this file any more. Raises `LanguageServerError`."""
        if self._open.pop(path, None) is not None:
            self._asked.pop(path, None)
            self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(path)}})

    def announce(self, path: Path) -> None:
        """Say that a file was made. Raises `LanguageServerError`."""
        self.client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri_of(path), "type": 1}]})

    async def refresh(self) -> list[Path]:
        """Show the server anew what has changed on disk of the files that it has open, and return which those are.
        Raises `LanguageServerError`: the server is lost.
        """
        changed: list[Path] = []
        for path in list(self._open):
            text = await asyncio.to_thread(read_source, path)
            if text is None:
                self.hide(path)
            elif path in self._open and self._open[path].text != text:
                self.show(path, text)
                changed.append(path)
        return changed

    def known(self, path: Path) -> tuple[CodeProblem, ...]:
        """The problems of a file, as far as they are known."""
        return tuple(dict.fromkeys((*self._asked.get(path, ()), *self.problems.get(path, ()))))

    def is_current(self, path: Path) -> bool:
        """Whether the problems of the newest text of an open file are known."""
        found = self._open.get(path)
        return found is not None and (path in self._asked or found.settled == found.version)

    async def current(self, path: Path, seconds: float) -> tuple[CodeProblem, ...] | None:
        """The problems of the newest text of an open file; `None`: they were not there in time.
        Raises `LanguageServerError`: the server is lost.
        """
        self.used = time.monotonic()
        until = self.used + seconds
        if self.is_open(path) and not self.is_current(path):
            if self.capabilities.diagnostic_provider:
                await self._pull(path, until)
            else:
                await self._published(path, until)
        return self.known(path) if self.is_current(path) else None

    async def _pull(self, path: Path, until: float) -> None:
        params = {"textDocument": {"uri": uri_of(path)}}
        while (left := until - time.monotonic()) > 0:
            found = self._open.get(path)
            version = found.version if found is not None else 0
            try:
                report: DiagnosticReport = await self.ask("textDocument/diagnostic", params, DiagnosticReport, left)
            except RequestRefused as error:
                if error.code not in _CANCELLED_BY_SERVER:
                    raise
                await asyncio.sleep(min(_AGAIN, left))
                continue
            except LanguageServerError:
                if self.client.lost.is_set():
                    raise
                return
            if found is self._open.get(path) and found is not None and found.version == version:
                self._asked[path] = self._converted(path, report.items)
                return

    async def _published(self, path: Path, until: float) -> None:
        """Wait for problems of the newest text, and where they may not be the last ones, for some time without news."""
        with contextlib.suppress(TimeoutError):
            async with time_limit(until - time.monotonic()), self._news:
                await self._news.wait_for(lambda: self.client.lost.is_set() or self._has_news(path))
                while (pause := self._unsettled(path)) > 0:
                    with contextlib.suppress(TimeoutError):
                        async with time_limit(pause):
                            await self._news.wait()
                if (found := self._open.get(path)) is not None and found.published:
                    found.settled = found.version
        if self.client.lost.is_set():
            raise LanguageServerError(f"The language server {self._name} is gone.")

    def _has_news(self, path: Path) -> bool:
        found = self._open.get(path)
        return found is None or found.published != 0

    def _unsettled(self, path: Path) -> float:
        """Seconds without news after which the problems that were sent are the last ones; 0 or less: they are."""
        found = self._open.get(path)
        if found is None or self.client.lost.is_set():
            return 0.0
        if self._busy:
            return _SETTLED
        if found.published > 0 and path in self.problems:
            return 0.0
        quiet = _CLEAN_FOR if found.published > 0 else _SETTLED
        return found.at + quiet - time.monotonic()

    def _take(self, method: str, params: Raw) -> None:
        if method == "textDocument/publishDiagnostics":
            try:
                published = msgspec.json.decode(params, type=learned(PublishedDiagnostics))
            except (ValueError, RecursionError):
                return
            self._keep(published)
        elif method == "workspace/diagnostic/refresh":
            self._asked.clear()
        elif method in ("pyright/beginProgress", "pyright/endProgress"):
            self._busy = method == "pyright/beginProgress"
            self._wake()

    def _keep(self, published: PublishedDiagnostics) -> None:
        path = path_of(published.uri)
        if path is None:
            return
        found = self._open.get(path)
        if found is not None and published.version is not None and published.version < found.version:
            return  # of a text that is gone
        if published.diagnostics:
            self.problems[path] = self._converted(path, published.diagnostics)
            self.problems.move_to_end(path)
            while len(self.problems) > _MOST_FILES:
                self.problems.popitem(last=False)
        else:
            self.problems.pop(path, None)
        if found is not None:
            found.at = time.monotonic()
            found.published = found.version if published.version is not None else -1
        self._wake()

    def _wake(self) -> None:
        if self._telling is None or self._telling.done():
            self._telling = start_job(self._tell(), f"news of the language server {self._name}")

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    def _converted(self, path: Path, found: Sequence[Diagnostic]) -> tuple[CodeProblem, ...]:
        return problems_of(path, self._name, found[:_MOST_PROBLEMS], self.lines_of(path), self.encoding)


def read_source(path: Path) -> str | None:
    """The text of a file that servers may be shown; `None`: it is none. Blocks for a moment."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        with open_reader(descriptor) as file:
            raw = file.read(LARGEST + 1)
    except OSError:
        return None
    if len(raw) > LARGEST or b"\0" in raw:
        return None
    try:
        return raw.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        return None


_CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "applyEdit": False,
        "didChangeConfiguration": {"dynamicRegistration": False},
        "diagnostics": {"refreshSupport": True},
        "symbol": {},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True, "relatedInformation": False},
        "diagnostic": {"dynamicRegistration": False},
        "definition": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    },
    "window": {"workDoneProgress": False},
}

"""The language servers of a hub: one for each program and folder, started when a file of its language is first changed
or asked about, in trusted folders only.

A server runs in the sandbox, where it can read the project and write a folder of its own, without network. Where there
is none, only a server runs that runs nothing of the project, or whose settings say so.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gshtui.context.assembly.instruction_files import trust_state, trusted_base
from gshtui.features.code.language_server import LanguageServer, ServerState
from gshtui.features.code.language_session import LARGEST, LanguageSession, ServerLaunch, read_source
from gshtui.features.code.language_table import LanguageServerEntry, find_program, is_inside, language_servers
from gshtui.features.code.lsp_client import LanguageServerError
from gshtui.features.code.problems import MOST_TOLD, CodeProblem, counted, listed, new_problems
from gshtui.guard.sandbox.overlapping_runs import OverlappingRuns
from gshtui.guard.sandbox.sandbox import ProjectSandbox
from gshtui.guard.sandbox.stdio_server import FindSandbox
from gshtui.guard.secrets.child_environment import agent_environment
from gshtui.settings import paths
from gshtui.settings.model import Settings
from gshtui.system.files import private_files
from gshtui.system.tasks import attempt
from gshtui.text.host_rules import HostRules

_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build", "vendor", "site-packages"})
_MOST_FILES = 20_000
_MOST_BYTES = 64 << 20


def source_files(project: Path, is_source: Callable[[str], object]) -> Iterator[Path]:
    """Files of a real folder whose names are those of sources; a bounded number. Blocks for a moment."""
    left = _MOST_FILES
    for folder, folders, names in os.walk(project):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            if is_source(name):
                yield Path(folder, name)
                left -= 1
                if not left:
                    return


def files_with(word: str, project: Path, is_source: Callable[[str], object], most: int) -> list[Path]:
    """Sources that have a word, so many at most. Blocks for a moment."""
    pattern = re.compile(rb"(?<!\w)%b(?!\w)" % re.escape(word.encode("utf-8", "replace")))
    found: list[Path] = []
    read = 0
    for path in source_files(project, is_source):
        try:
            if path.stat().st_size > LARGEST:
                continue
            raw = path.read_bytes()
        except OSError:
            continue
        read += len(raw)
        if pattern.search(raw):
            found.append(path)
        if len(found) >= most or read > _MOST_BYTES:
            break
    return found


_MOST_SERVERS = 8
"""Servers of one process; the one that was not used for longest makes room."""
_MOST_MENTIONS = 50
"""Sources with a word that a server is shown before it is asked about that word."""
_BASELINE = 0.5
"""Of the time that an edit may wait, the share that the problems before it get."""


class LanguageServerRow(msgspec.Struct, frozen=True):
    """A language server that is installed, as people see it.

    Attributes:
        root: the folder that it is for; empty: it was not started.
        why: why it is not ready, as a sentence; empty: it is, or was not needed.
        outside: why it runs outside the sandbox, as the end of a sentence; empty: it does not.
    """

    name: str
    program: str
    state: ServerState
    root: str = ""
    why: str = ""
    outside: str = ""
    memory_mb: int = 0


class ChangeWatch(msgspec.Struct):
    """A change of a file while it is made: what was known before it.

    Attributes:
        existed: the file was there.
        left: seconds that the change may still wait.
        until: when it waits no longer, in seconds of the monotonic clock.
        before: the known problems of all files before it, by server; none of a server that was not ready.
    """

    path: Path
    project: Path
    existed: bool
    left: float
    until: float = 0.0
    before: dict[LanguageServer, dict[Path, tuple[CodeProblem, ...]]] = msgspec.field(
        default_factory=dict[LanguageServer, dict[Path, tuple[CodeProblem, ...]]]
    )


class _Report(msgspec.Struct):
    """What servers said of a change."""

    new: list[CodeProblem] = msgspec.field(default_factory=list[CodeProblem])
    left: int = 0
    """Problems that were there before."""
    unknown: list[CodeProblem] = msgspec.field(default_factory=list[CodeProblem])
    """Those of which nobody knows whether they are new."""
    asked: list[str] = msgspec.field(default_factory=list[str])
    late: list[str] = msgspec.field(default_factory=list[str])
    lost: list[str] = msgspec.field(default_factory=list[str])
    """Sentences about servers that cannot be used."""


class LanguageServers:
    """See the module's text. `close` ends all of them."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], find_sandbox: FindSandbox | None) -> None:
        """`find_sandbox`: `None`: there are no sandboxes."""
        self.settings = settings.code
        self.entries = language_servers(settings)
        self._environ = environ
        self._find_sandbox = find_sandbox
        self._servers: dict[tuple[str, Path], LanguageServer] = {}
        self._programs: dict[str, Path | None] = {}
        self._projects: dict[Path, Path] = {}
        """The project of each root."""

    async def before_change(self, path: Path, project: Path) -> ChangeWatch | None:
        """Note what is known of a real file that is about to be changed, and start what will look at the change.

        Returns:
            `None`: nobody will look at it.
        """
        if not self.settings.enabled or not self._may_look(path, project):
            return None
        servers = await asyncio.to_thread(self._servers_for, path, project)
        if not servers or not await asyncio.to_thread(is_trusted, project):
            return None
        seconds = self.settings.wait_seconds
        began = time.monotonic()
        watch = ChangeWatch(path, project, path.exists(), seconds)
        text = await asyncio.to_thread(read_source, path)
        await asyncio.gather(
            *(
                attempt("what a language server knew before a change", self._note_before(watch, server, text, seconds))
                for server in servers
            )
        )
        watch.left = max(seconds * (1 - _BASELINE), seconds - (time.monotonic() - began))
        return watch

    async def after_change(self, watch: ChangeWatch, shown: Callable[[Path], str]) -> str:
        """What the servers say of the change, as lines to add to its result; empty: nothing. `shown`: a file's name for
        who made the change.
        """
        text = await asyncio.to_thread(read_source, watch.path)
        if text is None:
            return ""
        report = _Report()
        watch.until = time.monotonic() + watch.left
        await asyncio.gather(
            *(
                attempt("what a language server says of a change", self._note_after(watch, server, text, report))
                for server in await asyncio.to_thread(self._servers_for, watch.path, watch.project)
            )
        )
        return self._told(report, shown, watch.path)

    async def after_command(self, project: Path, shown: Callable[[Path], str]) -> str:
        """What the servers say of what a command changed of the files that they have open; empty: nothing new.

        A file that no server was shown is not looked for: only who changed it knows of it.
        """
        watch = ChangeWatch(project, project, True, 0.0, time.monotonic() + self.settings.wait_seconds)
        report = _Report()
        await asyncio.gather(
            *(
                attempt("what a language server says of a command", self._note_command(watch, server, report))
                for server in list(self._servers.values())
                if server.session is not None and self._projects.get(server.root) == project
            )
        )
        return self._told(report, shown, None) if report.new or report.unknown else ""

    async def problems(self, path: Path, project: Path) -> tuple[list[CodeProblem], list[str]]:
        """The problems of a real file, and sentences about servers that could not say. Raises `LanguageServerError`: no
        server looks at it.
        """
        found: list[CodeProblem] = []
        failed: list[str] = []

        async def ask(server: LanguageServer) -> None:
            try:
                session = await self._shown_to(server, path)
                now = await session.current(path, self.settings.start_seconds)
            except LanguageServerError as error:
                failed.append(str(error))
                return
            if now is None:
                failed.append(f"{server.entry.name} has no answer yet.")
            else:
                server.told[path] = now
                found.extend(now)

        await asyncio.gather(*map(ask, await self.servers_of(path, project)))
        return found, failed

    def known_problems(self, project: Path) -> list[CodeProblem]:
        """All problems of a project's files that running servers know."""
        found: dict[CodeProblem, None] = {}
        for server in self._servers.values():
            if (session := server.session) is not None:
                for path in {*session.problems, *server.told}:
                    if path.is_relative_to(project):
                        found |= dict.fromkeys(session.known(path) or server.told.get(path, ()))
        return list(found)

    async def session_with(self, path: Path, project: Path, ability: str) -> tuple[LanguageServer, LanguageSession]:
        """A session with a server for a real file that it was shown and that has this ability. `ability`: a field of
        `ServerCapabilities`. Raises `LanguageServerError`: there is none.
        """
        why: LanguageServerError | None = None
        for server in await self.servers_of(path, project):
            try:
                session = await self._shown_to(server, path)
            except LanguageServerError as error:
                why = why or error
                continue
            if getattr(session.capabilities, ability):
                return server, session
        raise why or LanguageServerError(f"No language server that is installed for {path.name} can do that.")

    async def for_project(self, project: Path, ability: str) -> list[tuple[LanguageServer, LanguageSession]]:
        """Sessions with this ability for a project as a whole: of the servers that run for it, or else of those for
        which there is a mark at its top or a source in it, which are started. Raises `LanguageServerError`: there is
        none; the message says why.
        """
        running = [
            server
            for server in self._servers.values()
            if server.session is not None and self._projects.get(server.root) == project
        ]
        if not running:
            await self._check_allowed(project)
            running = await asyncio.to_thread(self._wanted, project)
        found: list[tuple[LanguageServer, LanguageSession]] = []
        why: LanguageServerError | None = None
        for server in running:
            try:
                session = await server.ready(self.settings.start_seconds)
            except LanguageServerError as error:
                why = why or error
                continue
            await session.refresh()
            if getattr(session.capabilities, ability):
                found.append((server, session))
        if not found:
            hint = "Name a file that the symbol is in."
            raise why or LanguageServerError("No installed language server knows this project as a whole.", hint)
        return found

    def _wanted(self, project: Path) -> list[LanguageServer]:
        """The servers for which there is a mark at the top of a project, or a source in it. Blocks for a moment."""
        return [
            self._server(entry, project, project)
            for entry, _ in self._installed()
            if any((project / mark).exists() for mark in entry.roots)
            or next(source_files(project, entry.language_of), None) is not None
        ]

    async def show_mentions(self, server: LanguageServer, session: LanguageSession, word: str, project: Path) -> None:
        """Show a server the sources that have a word. Raises `LanguageServerError`: the server is lost."""
        root = server.root if server.root.is_relative_to(project) else project
        for path in await asyncio.to_thread(files_with, word, root, server.entry.language_of, _MOST_MENTIONS):
            text = await asyncio.to_thread(read_source, path)
            if text is not None and not session.is_open(path):
                session.show(path, text)

    async def refusal(self, project: Path) -> str:
        """Why no server may be started for this project, and what to do about it; empty: they may."""
        try:
            await self._check_allowed(project)
        except LanguageServerError as error:
            return f"{error.message} {error.hint}".strip()
        return ""

    async def _check_allowed(self, project: Path) -> None:
        """Raises `LanguageServerError`: no server may be started for this project."""
        if not self.settings.enabled:
            raise LanguageServerError("Language servers are switched off by `code.enabled`.")
        if not await asyncio.to_thread(is_trusted, project):
            raise LanguageServerError(
                "This folder is not trusted, and a language server obeys its files, so none is started.",
                "`gsh-tui config trust` shows what it brings, and asks.",
            )

    async def servers_of(self, path: Path, project: Path) -> list[LanguageServer]:
        """The servers for a real file. Raises `LanguageServerError`: there is none; the message says why."""
        if not self._may_look(path, project):
            raise LanguageServerError(f"{path} is outside the project, where no language server looks.")
        servers = await asyncio.to_thread(self._servers_for, path, project)
        if not servers:
            names = [entry.name for entry in self.entries if entry.language_of(path.name)]
            known = f" Known are: {', '.join(names)}." if names else ""
            raise LanguageServerError(f"No language server for {path.name} is installed.{known}")
        await self._check_allowed(project)
        return servers

    async def rows(self) -> list[LanguageServerRow]:
        """The servers that are installed, and those that were started."""
        installed = await asyncio.to_thread(self._installed)
        rows: list[LanguageServerRow] = []
        for entry, program in installed:
            started = [server for server in self._servers.values() if server.entry.name == entry.name]
            rows += [
                LanguageServerRow(
                    entry.name, str(program), each.state, str(each.root), each.why, each.outside, each.memory_mb
                )
                for each in started
            ] or [LanguageServerRow(entry.name, str(program), "off")]
        return rows

    async def restart(self, name: str) -> int:
        """End servers, and forget their failures. Returns how many there were. `name`: empty: all of them."""
        chosen = [server for server in self._servers.values() if name in ("", server.entry.name)]
        self._programs.clear()
        await asyncio.gather(*(server.restart() for server in chosen))
        return len(chosen)

    async def close(self) -> None:
        servers = list(self._servers.values())
        self._servers.clear()
        await asyncio.gather(*(server.close() for server in servers))

    @staticmethod
    def _may_look(path: Path, project: Path) -> bool:
        return path.is_relative_to(project) and ".git" not in path.relative_to(project).parts

    def _installed(self, file: str = "") -> list[tuple[LanguageServerEntry, Path]]:
        """Those that are installed and not switched off; of several for the same job, the first. Blocks for a moment.
        `file`: the name of a file that they are for; empty: any.
        """
        found: list[tuple[LanguageServerEntry, Path]] = []
        jobs: set[str] = set()
        for entry in self.entries:
            if not entry.enabled or not entry.command or entry.job in jobs or (file and not entry.language_of(file)):
                continue
            word = entry.command[0]
            if self._programs.get(word) is None:
                self._programs[word] = find_program(word, self._environ)
            if (program := self._programs[word]) is not None:
                found.append((entry, program))
                jobs |= {entry.job} - {""}
        return found

    def _servers_for(self, path: Path, project: Path) -> list[LanguageServer]:
        """The servers for a file, made where they are not there yet. Blocks for a moment."""
        return [self._server(entry, entry.root_of(path, project), project) for entry, _ in self._installed(path.name)]

    def _server(self, entry: LanguageServerEntry, root: Path, project: Path) -> LanguageServer:
        self._projects[root] = project
        server = self._servers.get((entry.name, root))
        if server is None:
            idle = self.settings.idle_minutes * 60
            server = LanguageServer(entry, root, self._launch, self.settings.start_seconds, idle)
            self._servers[entry.name, root] = server
        return server

    async def _launch(self, entry: LanguageServerEntry, root: Path) -> ServerLaunch:
        """How to start it. Raises `LanguageServerError`: it may not be started."""
        project = self._projects[root]
        await self._make_room(root)
        program = self._programs.get(entry.command[0])
        if program is None:
            raise LanguageServerError(f"The language server {entry.name} is not installed any more.")
        sandbox = await self._sandbox(entry, project)
        scratch = scratch_folder(entry.name)
        if isinstance(sandbox, ProjectSandbox):
            sandbox = await asyncio.to_thread(_narrowed, sandbox, scratch, entry.memory_mb)
        elif await asyncio.to_thread(is_inside, program, project):
            raise LanguageServerError(
                f"The language server {entry.name} is not started: {program} is a file of the project, so it may only"
                f" run in the sandbox, and {sandbox}."
            )
        elif entry.sandbox and not entry.runs_nothing:
            raise LanguageServerError(
                f"The language server {entry.name} is not started: it may run programs of the project, and {sandbox}.",
                f"`gsh-tui config set language_servers.{entry.name}.sandbox false` lets it run all the same.",
            )
        more = {name: value.replace("{scratch}", str(scratch)) for name, value in entry.env.items()}
        environ = {**agent_environment(self._environ), **more}
        return ServerLaunch(entry, root, (str(program), *entry.command[1:]), environ, sandbox)

    async def _sandbox(self, entry: LanguageServerEntry, project: Path) -> ProjectSandbox | str:
        if not entry.sandbox:
            return "its settings say so"
        return "there is no sandbox here" if self._find_sandbox is None else await self._find_sandbox(project, "")

    async def _make_room(self, root: Path) -> None:
        running = [one for one in self._servers.values() if one.session is not None and one.root != root]
        running.sort(key=lambda one: one.session.used if one.session is not None else 0.0)
        for server in running[: max(0, len(running) - _MOST_SERVERS + 1)]:
            await server.close()

    async def _shown_to(self, server: LanguageServer, path: Path) -> LanguageSession:
        """A session that has seen the file as it is. Raises `LanguageServerError`."""
        text = await asyncio.to_thread(read_source, path)
        if text is None:
            raise LanguageServerError(f"{path.name} cannot be shown to a language server: it is no text up to 2 MB.")
        session = await server.ready(self.settings.start_seconds)
        await session.refresh()
        session.show(path, text)
        return session

    async def _note_before(self, watch: ChangeWatch, server: LanguageServer, text: str | None, seconds: float) -> None:
        session = server.session
        if session is None:
            server.start()
            return
        try:
            if watch.path not in (*server.told, *server.owed) and text is not None:
                session.show(watch.path, text)
                now = await session.current(watch.path, seconds * _BASELINE)
                if now is not None:
                    server.told[watch.path] = now
            elif not watch.existed:
                server.told[watch.path] = ()
        except LanguageServerError:
            return  # which is said after the change
        watch.before[server] = dict(session.problems)

    async def _note_after(self, watch: ChangeWatch, server: LanguageServer, text: str, report: _Report) -> None:
        name = server.entry.name
        try:
            session = await server.ready(max(0.0, watch.until - time.monotonic()))
            session.show(watch.path, text)
            if not watch.existed:
                session.announce(watch.path)
            now = await session.current(watch.path, max(0.0, watch.until - time.monotonic()))
        except LanguageServerError as error:
            server.owed.add(watch.path)
            await server.ended(max(0.0, watch.until - time.monotonic()))
            if server.state == "starting" or server.session is not None:
                report.late.append(name)
            elif not server.said_why:
                server.said_why = True
                report.lost.append(server.why or str(error))
            return
        if now is None:
            server.owed.add(watch.path)
            report.late.append(name)
            return
        report.asked.append(name)
        server.owed.discard(watch.path)
        await self._note_owed(watch, server, session, report)
        before = server.told.get(watch.path, None if watch.existed else ())
        server.told[watch.path] = now
        if before is None:
            report.unknown += now
            return
        new = new_problems(before, now)
        report.new += new
        report.left += len(now) - len(new)
        if (known := watch.before.get(server)) is not None:
            self._note_others(watch, server, session, known, report)

    async def _note_command(self, watch: ChangeWatch, server: LanguageServer, report: _Report) -> None:
        session = server.session
        if session is None:
            return
        known = dict(session.problems)
        try:
            changed = await session.refresh()
            if not changed:
                return
            server.owed |= set(changed)
            report.asked.append(server.entry.name)
            await self._note_owed(watch, server, session, report)
        except LanguageServerError:
            return  # which is said after the next edit
        self._note_others(watch, server, session, known, report)

    async def _note_owed(
        self, watch: ChangeWatch, server: LanguageServer, session: LanguageSession, report: _Report
    ) -> None:
        """Take up what is known by now of files whose earlier changes nobody could say anything of."""
        for path in list(server.owed):
            now = await session.current(path, max(0.0, watch.until - time.monotonic()))
            if now is not None or not session.is_open(path):
                server.owed.discard(path)
                before = server.told.get(path)
                server.told[path] = now or ()
                if before is None:
                    report.unknown += now or ()
                else:
                    report.new += new_problems(before, now or ())

    def _note_others(
        self,
        watch: ChangeWatch,
        server: LanguageServer,
        session: LanguageSession,
        known: Mapping[Path, tuple[CodeProblem, ...]],
        report: _Report,
    ) -> None:
        """Take up what the change brought to other files of the project."""
        for path, now in list(session.problems.items()):
            if path == watch.path or not path.is_relative_to(watch.project):
                continue
            before = server.told.get(path, known.get(path, ()))
            report.new += new_problems(before, now)
            server.told[path] = now

    def _told(self, report: _Report, shown: Callable[[Path], str], path: Path | None) -> str:
        lines: list[str] = []
        who = " and ".join(sorted(report.asked))
        old = f"; {counted(report.left)} that {'was' if report.left == 1 else 'were'} there before" * bool(report.left)
        if report.new:
            lines.append(f"{counted(len(report.new), 'new problem')}, quoted from {who}{old}:")
            lines += listed(report.new, shown, MOST_TOLD)
        if report.unknown:
            here = {problem.path for problem in report.unknown} == {path}
            where = shown(path) if here and path is not None else "files that you changed"
            lines.append(f"{counted(len(report.unknown))} in {where}, perhaps from before, quoted from {who}:")
            lines += listed(report.unknown, shown, MOST_TOLD)
        elif report.asked and not report.new:
            lines.append(f"No new problems ({who}{old}).")
        if report.late:
            late = " and ".join(sorted(report.late))
            lines.append(
                f"{late} had no answer within {self.settings.wait_seconds:g} s; `code diagnostics` asks again."
            )
        return "\n".join((*lines, *report.lost))


def scratch_folder(name: str) -> Path:
    """The folder of a language server's own, which it may write to in the sandbox."""
    return paths.cache_dir() / "language-servers" / name


def _narrowed(sandbox: ProjectSandbox, scratch: Path, memory_mb: int) -> ProjectSandbox:
    private_files.make_folder(scratch)
    return replace(
        sandbox,
        writable=(Path(os.path.realpath(scratch)),),
        read_only=True,
        nested=(),
        network=False,
        hosts=HostRules(),
        limits=replace(sandbox.limits, memory=min(sandbox.limits.memory, memory_mb)),
        runs=OverlappingRuns(),  # it runs for hours, in which a person makes files of their own
    )


def is_trusted(project: Path) -> bool:
    """Whether a person trusts this folder, or the main repository of this worktree. Blocks for a moment."""
    return trust_state(trusted_base(project)) != "untrusted"

"""The sandboxes of one hub: made for a project once it is proven on this machine that they hold.

Remembers that the sandbox held here, so that it is not tried again at each start: a file with one line.

What it depends on is part of the line: with another bubblewrap, kernel, user, start of the machine or profile, it is
tried anew. That it does not hold is never remembered.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gshtui.guard.policy.obeyed_files import HOOKS
from gshtui.guard.sandbox.nested_files import NestedFiles
from gshtui.guard.sandbox.open_run import clean_cut_off_runs
from gshtui.guard.sandbox.overlapping_runs import OverlappingRuns
from gshtui.guard.sandbox.reading_view import reading_view
from gshtui.guard.sandbox.sandbox import PYTHON, ProjectSandbox, find_bubblewrap, is_suitable_to_read, unsuitable
from gshtui.guard.sandbox.sandbox_watch import SandboxLimits
from gshtui.guard.sandbox.self_test import try_escapes
from gshtui.settings.git_programs import configured_files
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.system.caller_environment import caller_environ
from gshtui.system.files import private_files
from gshtui.system.tasks import start_job
from gshtui.text.host_rules import HostRules

_LARGEST = 65_536
"""Bytes of a file that are read."""
_LOADS = re.compile(
    r"(?m)^[ \t]*+(dotenv|dotenv_if_exists|source_env|source_env_if_exists|source|\.)"
    r"(?:[ \t]++([^\s;&|#]{1,300}))?[ \t]*+$"
)
"""Of direnv's standard library, and of a shell."""
_NAMED_BY_MISE = re.compile(r"(?m)^[ \t]*+(?:_|mise|env\._)\.(?:file|source)[ \t]*+=[ \t]*+([^\n]{1,1000})")
_QUOTED = re.compile(r"[\"']([^\"'\n]{1,300})[\"']")
_MISE = (
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    "mise/config.toml",
    ".mise/config.toml",
    ".config/mise/config.toml",
    ".config/mise.toml",
)
_AT_START = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".bash_aliases", ".inputrc", ".envrc"),
    *(
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".tmux.conf",
        ".gitconfig",
        ".vimrc",
        ".emacs",
        ".npmrc",
    ),
    *(".config/git/config", ".config/fish/config.fish", ".config/tmux/tmux.conf", ".config/nvim/init.lua"),
    *(".config/nvim/init.vim", ".config/starship.toml", ".emacs.d/init.el", ".ssh/config", ".ssh/rc"),
)
"""Of a home: what a shell, git or an editor runs."""
_OF_ZSH = (".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout")


class NamedFiles:
    """Of one project."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._by_git: tuple[Path, ...] = ()
        self._read: tuple[tuple[Path, int], ...] = ()
        """The files that said so, with their change times; empty: git has not been asked."""

    def paths(self) -> tuple[Path, ...]:
        """Files and folders of the project, there or not. Blocks for a moment where git is to be asked."""
        if not self._read or any(_changed(path) != at for path, at in self._read):
            found = configured_files(self._project)
            own = self._project / ".git"
            watched = (own / "config", own / "config.worktree", Path.home() / ".gitconfig", *found.files)
            self._read = tuple((path, _changed(path)) for path in dict.fromkeys(watched))
            hooks = self._hooks(found.hooks) if found.hooks is not None else []
            self._by_git = (*self._inside(found.files), *hooks, *self._inside(found.programs))
        return tuple(dict.fromkeys((*self._by_git, *self._loaded(), *self._linked())))

    def _inside(self, files: list[Path]) -> list[Path]:
        own = self._project / ".git"
        return [path for path in files if path.is_relative_to(self._project) and not path.is_relative_to(own)]

    def _hooks(self, folder: Path) -> list[Path]:
        """The folder; of one that has the whole project in it, the hooks."""
        if self._project.is_relative_to(folder):
            return [folder / name for name in HOOKS] if folder == self._project else []
        return [folder] if folder.is_relative_to(self._project) else []

    def _loaded(self) -> Iterator[Path]:
        """The files that what is loaded on entering the folder loads in turn."""
        for line in _LOADS.finditer(_text(self._project / ".envrc")):
            if named := line[2] or (".env" if line[1].startswith("dotenv") else ""):
                yield from self._named(named.strip("\"'"))
        for name in _MISE:
            for line in _NAMED_BY_MISE.finditer(_text(self._project / name)):
                for named in _QUOTED.findall(line[1]):
                    yield from self._named(named)

    def _named(self, name: str) -> Iterator[Path]:
        path = Path(os.path.normpath(self._project / name))
        if "$" not in name and path != self._project and path.is_relative_to(self._project):
            yield path

    def _linked(self) -> Iterator[Path]:
        """Where the person's own start-up files are, if links lead into the project."""
        home, zsh = os.path.expanduser("~"), caller_environ().get("ZDOTDIR", "")  # noqa: PTH111 - done before each command
        names = [f"{home}/{name}" for name in _AT_START]
        names += [f"{zsh}/{name}" for name in _OF_ZSH] if zsh.startswith("/") else []
        for name in names:
            real = os.path.realpath(name)
            if real.startswith(f"{self._project}/"):
                yield Path(real)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _changed(path: Path) -> int:
    """Its change time, in nanoseconds since the epoch; 0: there is none."""
    try:
        return path.stat().st_ctime_ns
    except OSError:
        return 0


_PROFILE = ("escapes.py", "sandbox.py", "sandbox_watch.py", "self_test.py", "system_call_filter.py")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class SelfTestRecord(msgspec.Struct, frozen=True):
    """What is known of one bubblewrap. Blocks for a moment; a file that cannot be read or written is as good as none.

    Args:
        file: where it is kept, out of every sandbox's reach.
        program: bubblewrap's absolute path.
    """

    file: Path
    program: str

    def holds(self) -> bool:
        """Whether it was tried as it is now, and held."""
        try:
            descriptor = private_files.open_existing(self.file)
            with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
                found = os.fstat(descriptor)
                return found.st_uid == os.geteuid() and file.read(200) == self._line()
        except OSError:
            return False

    def keep(self) -> None:
        """It has just been tried, and held."""
        with contextlib.suppress(OSError):
            private_files.make_folder(self.file.parent)
            private_files.write_whole(self.file, self._line())

    def _line(self) -> bytes:
        """Raises `OSError`: something that it depends on cannot be read."""
        digest = hashlib.sha256()
        for program in (self.program, PYTHON):
            found = Path(program).stat()
            digest.update(f"{program} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_mode}\n".encode())
        boot = _BOOT.read_text("ascii") if _BOOT.exists() else ""
        system = platform.uname()
        digest.update(f"{system.release} {system.version} {system.machine} {os.geteuid()} {boot}\n".encode())
        for name in _PROFILE:
            digest.update(hashlib.sha256(Path(__file__).with_name(name).read_bytes()).digest())
        return b"held " + digest.hexdigest().encode() + b"\n"


@dataclass(slots=True)
class Sandboxes:
    """Gives sandboxes, or says why there is none.

    Args:
        settings: the `[sandbox]` table.
        own: our own folders, which no command sees; the first one keeps what is taken out of projects.
        notice: gets a sentence for a person where a run that was cut off has left something.
    """

    settings: SandboxSettings
    own: tuple[Path, ...]
    notice: Callable[[str], None] = field(default=lambda _text: None, repr=False)
    _granted: dict[str, HostRules] = field(default_factory=dict[str, HostRules], repr=False)
    _named: dict[Path, NamedFiles] = field(default_factory=dict[Path, NamedFiles], repr=False)
    _nested: dict[Path, NestedFiles] = field(default_factory=dict[Path, NestedFiles], repr=False)
    _runs: dict[Path, OverlappingRuns] = field(default_factory=dict[Path, OverlappingRuns], repr=False)
    _tried: asyncio.Task[str | None] | None = field(default=None, repr=False)
    _proven: bool = field(default=False, repr=False)
    _unstarted: set[Path] = field(default_factory=set[Path], repr=False)

    def grant_host(self, session: str, host: str) -> None:
        """Let the commands of a conversation reach a host, as `[sandbox] hosts` would, until this process ends.
        Raises `ValueError`: it is no host; the message says why.
        """
        self._granted[session] = self._granted.get(session, HostRules()) | HostRules.parse([host])

    async def sandbox(self, project: Path, session: str = "") -> ProjectSandbox | str:
        """The sandbox of a project; or why there is none, as the end of a sentence.

        Args:
            project: its real folder.
            session: the conversation, for which hosts may have been granted.
        """
        if not self.settings.enabled:
            return "the sandbox is switched off"
        program = await asyncio.to_thread(find_bubblewrap)
        if not program:
            return "bubblewrap is not installed"
        if why := await asyncio.to_thread(unsuitable, project):
            return why
        if await asyncio.to_thread(_has_home, project, self.settings.writable_paths):
            return "writable_paths name a folder that contains the home folder, so everything there would be writable"
        if why := await self._not_holding(program):
            return why
        await self.clean_cut_off_runs()
        return await asyncio.to_thread(self._made, program, project, session)

    async def clean_cut_off_runs(self) -> None:
        """Take out of projects what commands have left whose process was killed, of whatever process."""
        for sentence in await asyncio.to_thread(clean_cut_off_runs, self.own[0]):
            self.notice(sentence)

    async def reading_sandbox(
        self, project: Path, folders: Sequence[Path], programs: Sequence[str]
    ) -> ProjectSandbox | None:
        """The sandbox of a line that only reads, where sandboxes hold; the first one of a process waits until they are
        tried, or known to have held.

        There is none for a project of another user, whose files look like nobody's in it, none but bubblewrap's, and
        none for a project where it failed to start. `folders`: real ones, that the line may be in.
        """
        if not self.settings.enabled or sys.platform != "linux" or project in self._unstarted:
            return None
        program = await asyncio.to_thread(find_bubblewrap)
        if not program or not await asyncio.to_thread(is_suitable_to_read, project) or await self._not_holding(program):
            return None
        return await asyncio.to_thread(self._reading, program, project, folders, programs)

    async def _not_holding(self, program: str) -> str:
        """Why sandboxes do not hold here, or empty. Tried once a process: what holds now holds until a change."""
        if self._tried is None:
            self._tried = start_job(self._try(program), "the sandbox")
        why = await asyncio.shield(self._tried)
        return "it could not be tried" if why is None else why

    async def is_proven(self) -> bool:
        """Whether it is known that sandboxes hold here; nothing is tried to find out."""
        if not self.settings.enabled:
            return False
        if self._tried is not None and self._tried.done():
            return not self._tried.cancelled() and self._tried.result() == ""
        return self._proven or await asyncio.to_thread(self._is_recorded)

    def _is_recorded(self) -> bool:
        program = find_bubblewrap()
        self._proven = bool(program) and self._record(program).holds()
        return self._proven

    def reading_failed(self, project: Path) -> None:
        """The sandbox of a line that only reads did not start: no more of them in this project, by this process."""
        self._unstarted.add(project)

    def has_failed_to_read(self, project: Path) -> bool:
        """Whether it did not start there, so that its lines need a question."""
        return project in self._unstarted

    def _reading(self, program: str, project: Path, folders: Sequence[Path], programs: Sequence[str]) -> ProjectSandbox:
        settings = self.settings
        return ProjectSandbox(
            program,
            project,
            self.own[0] / "taken-out",
            hidden=self.own,
            read_only=True,
            limits=SandboxLimits(settings.max_processes, settings.max_memory_mb, settings.max_file_mb),
            view=reading_view(project, folders, programs),
        )

    def _record(self, program: str) -> SelfTestRecord:
        return SelfTestRecord(self.own[0] / "sandbox-tried", program)

    async def _try(self, program: str) -> str:
        record = self._record(program)
        if await asyncio.to_thread(record.holds):
            return ""
        why = await try_escapes(program, self.own[0])
        if not why:
            await asyncio.to_thread(record.keep)
        return why

    def _made(self, program: str, project: Path, session: str) -> ProjectSandbox:
        settings = self.settings
        writable = _writable(project, settings.writable_paths)
        return ProjectSandbox(
            program,
            project,
            self.own[0] / "taken-out",
            tuple(path for path in writable if path != project),
            settings.allow_network,
            self.own,
            read_only=project not in writable,
            limits=SandboxLimits(settings.max_processes, settings.max_memory_mb, settings.max_file_mb),
            nested=tuple(self._nested.setdefault(folder, NestedFiles(folder)) for folder in writable),
            read=tuple(
                self._nested.setdefault(folder, NestedFiles(folder)) for folder in dict.fromkeys((project, *writable))
            ),
            visible=tuple(settings.visible),
            runs=self._runs.setdefault(project, OverlappingRuns()),
            hosts=HostRules.parse(settings.hosts) | self._granted.get(session, HostRules()),
            named=self._named.setdefault(project, NamedFiles(project)).paths(),
        )


def _has_home(project: Path, wanted: list[str]) -> bool:
    """Whether one of the folders that the settings name contains the home. Blocks for a moment."""
    home = Path(os.path.realpath(Path.home()))
    return any(home.is_relative_to(os.path.realpath(project / Path(word).expanduser())) for word in wanted)


def _writable(project: Path, wanted: list[str]) -> list[Path]:
    """The real folders that the settings name; below a project that is named itself, none. Blocks for a moment.

    A link in the project leads nowhere: whoever wrote the project, or a command before, could name any folder by it.
    """
    found: dict[Path, None] = {}
    for word in wanted:
        named = Path(os.path.normpath(project / Path(word).expanduser()))
        real = Path(os.path.realpath(named))
        if named.is_relative_to(project) and real != named:
            continue
        found[real] = None
    if project in found:
        return [path for path in found if path == project or (not path.is_relative_to(project) and path.is_dir())]
    for path in found:
        if path.is_relative_to(project):
            with contextlib.suppress(OSError):  # it is left out where it cannot be made
                path.mkdir(parents=True, exist_ok=True)
    return [path for path in found if path.is_dir()]

"""Where an agent's command runs so that it can change nothing but the project, and reach neither secrets nor others.

Bubblewrap with the profile that holds as root, too: everything read-only but the project and the folders named in
`[sandbox]`, git's own files read-only, secrets and our own files hidden, `/tmp` and `/run` its own, no network unless
allowed, no capabilities, no further namespaces, a filter of system calls, and a process tree that ends with it. What
only appears in the project or below (`.envrc`, `.mcp.json`, …) and would be obeyed by other programs is taken out as it
comes, and at the end: to forbid it beforehand, an empty file of that name would have to stand there, for all programs
to see (`git status`, an editor), and stay there after a crash. What only root may read is hidden from root, too:
without its capabilities it still owns those files.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gshtui.guard.policy import sensitive_paths
from gshtui.guard.policy.obeyed_files import ANYWHERE, AT_TOP
from gshtui.guard.sandbox import seatbelt
from gshtui.guard.sandbox.nested_files import NestedFiles
from gshtui.guard.sandbox.open_run import Around, Note, OpenRun, RunNote, exchanged, folders_around, move_out
from gshtui.guard.sandbox.overlapping_runs import OverlappingRuns
from gshtui.guard.sandbox.reading_view import EMPTY, ReadingView, homes
from gshtui.guard.sandbox.sandbox_watch import SandboxLimits, floor_of, free_space
from gshtui.guard.sandbox.system_call_filter import system_call_filter
from gshtui.system.files import private_files
from gshtui.text.host_rules import HostRules

_PLACES = (("/etc", 8), ("/var", 2), ("/var/spool", 3), ("/var/backups", 2))
"""Folders, and how many levels of each are looked through."""
_KERNEL = ("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/pstore", "/sys/fs/bpf")
_KEPT_FOR = 60.0
"""Seconds for which the answer is believed: these files change seldom, and each command asks."""
_MOST = 400


def root_files(user: int) -> tuple[Path, ...]:
    """Files and folders that only root may read, where this user is root; of a folder, what is in it is not named.
    `user`: an effective user id.
    """
    return _files_of_root(int(time.monotonic() / _KEPT_FOR)) if user == 0 else ()


@lru_cache(maxsize=1)
def _files_of_root(_minute: int) -> tuple[Path, ...]:
    found: dict[str, None] = {}
    for place, levels in _PLACES:
        found.update(dict.fromkeys(_private(place, levels)))
    found.update((place, None) for place in _KERNEL if Path(place).is_dir())
    return tuple(map(Path, list(found)[:_MOST]))


def _private(place: str, levels: int) -> Iterator[str]:
    """What others may not read below a folder; a folder that others may not enter stands for what is in it."""
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    if mode & 0o005 != 0o005:
                        yield entry.path
                    elif levels > 1:
                        yield from _private(entry.path, levels - 1)
                elif stat.S_ISREG(mode) and not mode & 0o004:
                    yield entry.path
    except OSError:
        return


_SECRETS = (
    *sensitive_paths.HOME_SECRETS,
    *(".docker", ".terraform.d", ".local/share/atuin"),
    *(".claude", ".claude.json", ".codex", ".gemini", ".local/share/opencode"),
)
"""What no command sees of its homes, if it is there; more is asked about by `guard/policy/sensitive_paths.py`."""
_MOVED = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""Variables by which people keep such a folder elsewhere, beside those of `sensitive_paths.MOVED`."""
PYTHON = getattr(sys, "_base_executable", "") or sys.executable
"""For our scripts in it. Not that of an environment, which may be in a folder of which the sandbox has its own."""
_TEMPORARY = (Path("/tmp"), Path("/var/tmp"))
"""Folders of which a command has empty ones of its own, and in which people also keep programs."""
_MOST_SECRETS = 1_000
_LIMITS, _NO_HOSTS = SandboxLimits(), HostRules()


class SandboxedCommand(msgspec.Struct, frozen=True):
    """What to start. Close the descriptors after it has been started.

    Attributes:
        argv: the program and its arguments.
        descriptors: must be passed on to it (`pass_fds`); no other child inherits them.
    """

    argv: tuple[str, ...]
    descriptors: tuple[int, ...]


class ObeyedFiles(msgspec.Struct, frozen=True):
    """What of the files that other programs obey could still be put into a project before a command ran there.

    Attributes:
        absent: what was not there.
        links: links, which cannot be made read-only, and where they lead.
        around: of what was there, the folders around it, which cannot be made so either.
        began: when that was, in nanoseconds since the epoch.
        run: the command's number among those of its project.
        opened: its note on disk, and what is taken out while it runs.
    """

    absent: frozenset[Path] = frozenset()
    links: tuple[tuple[Path, str], ...] = ()
    around: Around = msgspec.field(default_factory=dict[str, dict[str, tuple[int, int]]])
    began: int = 0
    run: int = 0
    opened: OpenRun | None = None


class ProjectSandbox(msgspec.Struct, frozen=True):
    """What commands of one project may reach.

    Args:
        program: bubblewrap's absolute path.
        project: the project's real folder; writable unless `read_only`.
        writable: other real folders that are.
        kept: a folder outside the project for what is taken out of it.
        network: whether the network is the host's.
        hidden: files and folders besides a home's usual secrets that are not to be seen, such as our own.
        read_only: whether the project itself can only be read, but for the `writable` folders in it.
        limits: what one command may use.
        hosts: what it may reach without the network, through the proxy of a `SandboxRun`.
        shown: real folders that can be read even where what they are in is hidden.
        view: for a line that only reads: what it sees of the machine; by default, all that is not hidden.
        nested: what is known of the subfolders of the project and of the other writable folders; in those that are not
            here, nothing is looked after.
        runs: the commands of the project that run at the same time.
        read: what is known of the folders in which files that may hold keys or passwords are not to be read.
        visible: patterns of such files that may be read all the same, by their paths from the folder, or their names.
        named: files and folders of the project that are obeyed because a configuration names them.
    """

    program: str
    project: Path
    kept: Path
    writable: tuple[Path, ...] = ()
    network: bool = False
    hidden: tuple[Path, ...] = ()
    read_only: bool = False
    limits: SandboxLimits = _LIMITS
    hosts: HostRules = _NO_HOSTS
    shown: tuple[Path, ...] = ()
    view: ReadingView | None = None
    nested: tuple[NestedFiles, ...] = ()
    runs: OverlappingRuns = msgspec.field(default_factory=OverlappingRuns)
    read: tuple[NestedFiles, ...] = ()
    visible: tuple[str, ...] = ()
    named: tuple[Path, ...] = ()

    @property
    def reach(self) -> str:
        """What a command can reach, in a few words."""
        if self.view is not None:
            return "to read only: no network, keys hidden, and of other folders than the project's only the system's"
        places = [
            *([] if self.read_only else ["the project"]),
            *(["the folders of the settings"] * bool(self.writable)),
        ]
        written = " and ".join((", ".join(places), "/tmp")) if places else "/tmp"
        reached = "with network" if self.network else "network to the named hosts only" if self.hosts else "no network"
        return f"{reached}; writes only to {written}, not to .git"

    def with_programs(self, argv: Sequence[str]) -> ProjectSandbox:
        """One that also sees what this command line of a person's names below `/tmp`, with the folder that it is in.

        Blocks for a moment.
        """
        named = [os.path.expanduser(word) for word in argv]  # noqa: PTH111 - words are no paths yet
        named[:1] = filter(None, (shutil.which(word) for word in named[:1]))
        ends = {Path(os.path.normpath(word)) for word in named if word.startswith("/") and os.path.lexists(word)}
        ends |= {Path(os.path.realpath(path)) for path in ends}
        ends = {path for path in ends if any(place in path.parents for place in _TEMPORARY)}
        found = {self._seen_with(path) for path in ends if not sensitive_paths.secret(path)}
        return replace(self, shown=tuple(sorted({*self.shown, *found}))) if found else self

    def _seen_with(self, path: Path) -> Path:
        """The largest folder around a path below a temporary folder in which nothing is hidden, or the path alone."""
        place = next(place for place in _TEMPORARY if place in path.parents)
        folders = [folder for folder in reversed(path.parents) if place in folder.parents]
        kept = (*self.hidden, *(Path(home) / name for home in homes() for name in _SECRETS))
        for folder in folders:
            hides = any(each.is_relative_to(folder) or folder.is_relative_to(each) for each in kept)
            if not hides and not folder.is_symlink():
                return folder
        return path

    def command(
        self,
        argv: Sequence[str],
        folder: Path,
        environ: Mapping[str, str],
        *,
        status: int = -1,
        begins: tuple[int, int] | None = None,
    ) -> SandboxedCommand:
        """The command line that runs `argv` in here. Start it with an empty environment, for bubblewrap keeps its own.

        Whatever other descriptors the child inherits, the command has, by the same numbers.

        Args:
            folder: where it starts.
            environ: what the command gets of variables.
            status: a descriptor to which bubblewrap writes what becomes of it, as JSON; not needed, if negative.
            begins: one to which it writes the id of the first process, and one that this process waits to be told on.

        Raises `OSError`: too many descriptors are open.
        """
        free = free_space(self.project)
        limits = f'{self.limits.shell_words(free[0] - floor_of(free)[0])}; exec "$@"'
        shell = ("/bin/sh", "-c", limits, "sh")
        if self.program == seatbelt.PROGRAM:
            return self._seatbelt_command((*shell, *argv), environ)
        shared = os.geteuid() != 0 and self.project.stat().st_mode & stat.S_ISGID
        code = system_call_filter(platform.machine(), group_files=bool(shared)) or b""
        descriptors = [_memory(code)]
        options = [*self.options(), "--seccomp", str(descriptors[0]), "--chdir", str(folder)]
        if status >= 0:
            options += ["--json-status-fd", str(status)]
        if begins is not None:
            options += ["--info-fd", str(begins[0]), "--block-fd", str(begins[1])]
        for name, value in {**in_english(environ), "TMPDIR": "/tmp", "XDG_CACHE_HOME": "/tmp/.cache"}.items():
            options += ["--setenv", name, value]
        try:
            descriptors.append(_memory(b"".join(os.fsencode(option) + b"\0" for option in options)))
        except BaseException:
            os.close(descriptors[0])
            raise
        return SandboxedCommand((self.program, "--args", str(descriptors[1]), "--", *shell, *argv), tuple(descriptors))

    def _seatbelt_command(self, argv: Sequence[str], environ: Mapping[str, str]) -> SandboxedCommand:
        temporary = Path(os.path.realpath(tempfile.mkdtemp(prefix="gsh-")))
        profile = seatbelt.seatbelt_profile(
            writable=(*([] if self.read_only else [self.project]), *self.writable),
            kept=self._obeyed(),
            hidden=[*self._hidden(), *self.secrets()],
            temporary=temporary,
            network=self.network,
        )
        own = {**environ, "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(temporary / "cache")}
        return SandboxedCommand(seatbelt.seatbelt_command(profile, argv, own), ())

    def options(self) -> list[str]:
        apart = [path for path in self.view.apart if not _is_own(path)] if self.view else []
        options = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
        options += ["--as-pid-1", "--cap-drop", "ALL", "--clearenv"]
        if self.network:
            options.append("--share-net")
        size = ("--size", str(self.limits.temporary), "--tmpfs")
        options += ["--ro-bind", "/", "/", "--dev", "/dev", *size, "/dev/shm", "--remount-ro", "/dev"]
        options += ["--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys"]
        for place in EMPTY:
            if Path(place).is_dir() and not Path(place).is_symlink():
                options += [*size, place]
        for path in apart:
            options += ["--tmpfs", str(path)]
        if self.network and Path("/etc/resolv.conf").exists():
            real = os.path.realpath("/etc/resolv.conf")  # often a link into /run
            options += ["--ro-bind", real, real]
        options += ["--ro-bind" if self.read_only else "--bind", str(self.project), str(self.project)]
        for path in self.writable:
            if path.is_dir():
                options += ["--bind", str(path), str(path)]
        for path in self._kept():
            options += ["--ro-bind", str(path), str(path)]
        for path in self.view.shown if self.view else ():
            options += ["--ro-bind-try", str(path), str(path)]
        for path in self._hidden():
            options += ["--tmpfs", str(path)] if path.is_dir() else ["--ro-bind", "/dev/null", str(path)]
        for path in self.secrets():
            # Not empty: whoever reads it is to know that it was not there to be read.
            options += ["--perms", "0000", "--tmpfs", str(path)] if path.is_dir() else self._unreadable(path)
        for path in self.shown:
            if not any(path.is_relative_to(place) for place in (self.project, *self.writable)):
                options += ["--ro-bind-try", str(path), str(path)]
        for path in apart:
            options += ["--remount-ro", str(path)]
        return options

    def _unreadable(self, path: Path) -> list[str]:
        blank = self.kept.parent / "unreadable"
        if not blank.exists():
            private_files.make_folder(blank.parent)
            os.close(private_files.open_file(blank, os.O_WRONLY, 0))
        return ["--ro-bind", str(blank), str(path)]

    def secrets(self) -> list[Path]:
        """Files and folders of the project that may hold keys or passwords, and are not read. Blocks for a moment.
        Raises `OSError`: there are too many.
        """
        found: dict[Path, None] = {}
        for nested in self.read:
            for path in nested.secrets():
                named = str(path.relative_to(nested.root))
                if not any(fnmatchcase(named if "/" in each else path.name, each) for each in self.visible):
                    found[Path(os.path.realpath(path))] = None
        bound = (self.project, *self.writable)
        kept = [path for path in found if path.exists() and not sensitive_paths.holds_no_secret(path)]
        kept = list(dict.fromkeys((*kept, *(path for nested in self.read for path in nested.linked_to(kept)))))
        inside = [path for path in kept if any(path != place and path.is_relative_to(place) for place in bound)]
        kept = [*inside, *(path for path in kept if path not in inside and path not in bound and not _is_own(path))]
        outer = [path for path in kept if found.keys().isdisjoint(path.parents)]
        if len(outer) > _MOST_SECRETS:
            raise OSError(f"the project has more than {_MOST_SECRETS} files that may hold keys or passwords")
        return outer

    def _hidden(self) -> list[Path]:
        # Texts, not paths: this is done before each command, and of what a home might have it has little.
        wanted = [f"{home}/{name}" for home in homes() for name in _SECRETS]
        moved = sensitive_paths.moved((*sensitive_paths.MOVED, *_MOVED), str(self.project))
        # No device: people name /dev/null where they want no such file.
        wanted += [place for place in moved if not _is_device(place)]
        found = [Path(name) for name in wanted if os.path.lexists(name)]
        if self.view is not None:  # what it may read in its project is the policy's to say
            found = [path for path in found if not path.is_relative_to(self.project) or sensitive_paths.secret(path)]
        bound = tuple(f"{place}/" for place in (self.project, *self.writable))
        roots = [path for path in root_files(os.geteuid()) if not f"{path}/".startswith(bound)]
        real = {os.path.realpath(path) for path in (*found, *roots, *self.hidden)}
        seen = {path for name in real if os.path.exists(name) and self._is_seen(path := Path(name))}  # noqa: PTH110
        return sorted(path for path in seen if seen.isdisjoint(path.parents))

    def _is_seen(self, path: Path) -> bool:
        """Whether the command could see this path, and would see its project without it."""
        view = self.view or ReadingView()
        if self.project.is_relative_to(path):
            return False
        empty = self.program != seatbelt.PROGRAM and (
            _is_own(path) or any(path.is_relative_to(place) for place in view.apart)
        )
        return not empty or any(path.is_relative_to(place) for place in (self.project, *self.writable, *view.shown))

    def _kept(self) -> list[Path]:
        """What is in the project and must stay as it is: git's own files, and what other programs obey.

        Of a link, what it leads to; the link itself is put back afterwards.
        """
        if self.view is not None:
            return []  # nothing can be written
        bound = (self.project, *self.writable)
        real = dict.fromkeys(Path(os.path.realpath(path)) for path in self._obeyed() if os.path.exists(path))  # noqa: PTH110
        real |= dict.fromkeys(path for nested in self.nested for path in nested.kept() if path.exists())
        return [path for path in real if any(path != place and path.is_relative_to(place) for place in bound)]

    def _obeyed(self) -> list[Path]:
        """What other programs obey at the top of the project and of the other folders looked after, there or not."""
        tops = dict.fromkeys((self.project, *(nested.root for nested in self.nested)))
        return [*(top / name for top in tops for name in AT_TOP), *self.named]

    def is_read_only(self, named: str, folder: Path) -> bool:
        """Whether a command that started in this folder cannot write what it named so. Blocks for a moment.

        Where it had gone from there is not known: a relative name counts that leads to what is protected anywhere.
        """
        path = Path(named)
        if not ANYWHERE.isdisjoint(path.parts) and not path.is_absolute():
            return True
        real = Path(os.path.realpath(folder / path))
        written = (*(() if self.read_only else (self.project,)), *self.writable)
        place = next((place for place in written if real.is_relative_to(place)), None)
        if place is None:
            return (path.is_absolute() or ".." in path.parts) and not _is_own(real)
        inner = real.relative_to(place)
        return not ANYWHERE.isdisjoint(inner.parts) or any(
            kept.exists() and real.is_relative_to(kept) for kept in self._obeyed()
        )

    def absent(self) -> ObeyedFiles:
        """What other programs would obey and could be put there. Close it by `take_out`. Blocks for a moment.
        Raises `OSError`: it cannot be noted on disk.
        """
        paths = self._obeyed()
        since = 0 if self.runs.is_alone else self.runs.earliest(time.time_ns())
        for nested in dict.fromkeys((*self.nested, *self.read)):
            nested.learn(since)
        there = [path for path in paths if os.path.lexists(path)]
        absent = [*set(paths).difference(there), *(end for end in self._ends(there) if not os.path.lexists(end))]
        links = tuple((path, str(path.readlink())) for path in there if path.is_symlink())
        around = folders_around((self._root_of(path), path) for path in there)
        began = time.time_ns()
        before = ObeyedFiles(frozenset(absent), links, around, began, self.runs.begin(began))
        try:
            return replace(before, opened=OpenRun(self.kept.parent, self._note(before), partial(self._sweep, before)))
        except BaseException:
            self.runs.end(before.run, ())
            raise

    def _note(self, before: ObeyedFiles) -> RunNote:
        absent, links = map(str, before.absent), ((str(path), to) for path, to in before.links)
        nested = {str(each.root): each.remembered() for each in self.nested}
        return RunNote(str(self.project), before.began, tuple(absent), tuple(links), nested, before.around)

    def _ends(self, paths: Sequence[Path]) -> list[Path]:
        """Where links among these lead to within the project."""
        real = [Path(os.path.realpath(path)) for path in paths if path.is_symlink()]
        return [path for path in real if path.is_relative_to(self.project)]

    def _sweep(self, before: ObeyedFiles, lying: frozenset[Path], note: Note) -> tuple[list[Path], frozenset[Path]]:
        """Take out, while the command runs, what was there at the last look, too: not what is only made and removed."""
        if not self.runs.is_newest(before.run):
            return [], frozenset()
        found = self._come(before)
        for nested in self.nested:
            nested.suspect(path for root, path in found if root == nested.root)
        moved = move_out(self.kept, self.project, [each for each in found if each[1] in lying], runs=note)
        self._forget([path for path, _ in moved])
        gone = {path for path, _ in moved}
        return [to for _, to in moved], frozenset(path for _, path in found if path not in gone)

    def take_out(self, before: ObeyedFiles) -> list[Path]:
        """Move what appeared of it out of the project; returns where each is now. Blocks for a moment. `before`: how it
        was before the command. Raises `OSError`: it could not be moved.
        """
        done = False
        swept: list[Path] = []
        moved: list[tuple[Path, Path]] = []
        try:
            if before.opened is not None:
                before.opened.stop()
                swept = before.opened.swept
            changed = [(path, to) for path, to in before.links if not path.is_symlink() or str(path.readlink()) != to]
            found = self._come(before)
            known = {path for _, path in found}
            found += [(self.project, path) for path, _ in changed if os.path.lexists(path) and path not in known]
            moved = move_out(self.kept, self.project, found)
            for path, to in changed:
                path.symlink_to(to)
            done = True
        finally:
            self._forget([path for path, _ in moved])
            self.runs.end(before.run, [path for path, _ in moved])
            if before.opened is not None:
                before.opened.close(done=done)
        return [*swept, *(to for _, to in moved)]

    def _come(self, before: ObeyedFiles) -> list[tuple[Path, Path]]:
        """What came since then that must not stay: (the folder that it is below, itself)."""
        since = self.runs.earliest(before.began)
        absent = before.absent | self.runs.taken_since(before.run)
        tops = sorted({*(path for path in absent if os.path.lexists(path)), *exchanged(before.around)})
        found = dict.fromkeys((self._root_of(path), path) for path in tops)
        top = set(tops)
        found |= dict.fromkeys(
            (each.root, path) for each in self.nested for path in each.left_since(since) if path not in top
        )
        return list(found)

    def _root_of(self, path: Path) -> Path:
        roots = (self.project, *(each.root for each in self.nested))
        return next((root for root in roots if path.is_relative_to(root)), self.project)

    def _forget(self, paths: Sequence[Path]) -> None:
        for nested in self.nested:
            nested.forget(path for path in paths if path.is_relative_to(nested.root))
        self.runs.took(paths)


def in_english(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables with messages in English, by which refusals are known; all else of the language stays."""
    found = {name: value for name, value in environ.items() if name != "LANGUAGE"}
    if everything := found.get("LC_ALL"):
        found = {name: value for name, value in found.items() if not name.startswith("LC_")}
        found["LANG"] = everything
    return {**found, "LC_MESSAGES": "C"}


def _is_device(place: str) -> bool:
    return os.path.exists(place) and not os.path.isfile(place) and not os.path.isdir(place)  # noqa: PTH110, PTH112, PTH113


def _is_own(path: Path) -> bool:
    """Whether every command has an empty folder of its own there."""
    return any(path.is_relative_to(place) for place in EMPTY)


def find_bubblewrap(search: str | None = None) -> str:
    """Bubblewrap's absolute path, or that of macOS's own program; empty where there is none."""
    if sys.platform == "darwin":
        return seatbelt.PROGRAM if Path(seatbelt.PROGRAM).exists() else ""
    found = shutil.which("bwrap", path=search) if sys.platform == "linux" else None
    return found if found is not None and Path(found).is_absolute() else ""


def unsuitable(project: Path) -> str:
    """Why a folder cannot be the writable part of a sandbox, as the end of a sentence; empty: it can."""
    home = Path(os.path.realpath(Path.home()))
    if home.is_relative_to(project):
        return "the project contains the home folder, so everything there would be writable"
    if sys.platform == "darwin":
        return ""
    return "" if system_call_filter(platform.machine()) else f"system calls of {platform.machine()} are not known here"


def is_suitable_to_read(project: Path) -> bool:
    """Whether lines that only read a folder can do so in a sandbox: all of it is seen, as its owner sees it."""
    try:
        found = project.stat()
    except OSError:
        return False
    return (
        found.st_uid == os.geteuid()
        and not any(Path(place).is_relative_to(project) for place in EMPTY)
        and system_call_filter(platform.machine()) is not None
    )


def _memory(data: bytes) -> int:
    """A descriptor of a file in memory that contains this, at its beginning."""
    descriptor = os.memfd_create("gsh-sandbox")
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor

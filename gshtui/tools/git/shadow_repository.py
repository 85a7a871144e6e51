"""A folder's files at moments, in a git repository of ours outside the folder: its shadow.

It has its own index and configuration, and knows the folder's ignore rules. The person's own repository is never
touched. Left out are ignored files, large ones, and repositories within the folder; a restore leaves all these alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import stat
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.commands.declaration import CommandError
from gshtui.guard.secrets.child_environment import command_environment
from gshtui.settings import paths
from gshtui.system.caller_environment import caller_environ
from gshtui.system.expected_error import ExpectedError, ProgramMissing
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import LockHeld, file_lock
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import one_line
from gshtui.tools.git import shadow_seed
from gshtui.tools.git.git import git

FOLDER = "checkpoints"
MOST_BYTES = 5_000_000
"""Of a file; larger ones are left out."""
MOST_NEW = 1_000_000_000
"""Bytes that are new in one checkpoint."""
MOST_FILES = 200_000
_WITHIN = 120.0
"""Seconds for one call of git."""
_LOCKED = 10.0
_TICK = 1.0
"""Seconds that a file's time may be behind the clock."""
_PART = 4_000
"""New files that are taken in at once."""
_UNBORN = "ref: refs/heads/none"
_UNREAD = "not read"
"""Is in no HEAD, not even in an empty one."""
_STATUS = ("status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--ignore-submodules=all")
"""One look at the folder: git asks the kernel about known files in several threads, and reads no directory again that
is as it was."""
_CONFIGURATION = """\
[core]
	repositoryformatversion = 0
	bare = false
	logAllRefUpdates = false
	fsync = none
	looseCompression = 1
	preloadIndex = true
	untrackedCache = true
	splitIndex = true
	symlinks = true
	autocrlf = false
	fsmonitor = false
	hooksPath = /dev/null
[index]
	version = 4
[splitIndex]
	sharedIndexExpire = 1.hour.ago
[status]
	showUntrackedFiles = all
[gc]
	auto = 0
"""
_ATTRIBUTES = "* -text -filter -ident -eol -working-tree-encoding -diff -merge\n"
"""Bytes as they are, whatever the folder's own attributes say."""
_WRITE_TREE = ("write-tree", "--missing-ok")
"""Without a look for each file of each folder that changed: its contents were written when it came into the index."""
_READ_TREE = ("-c", "core.splitIndex=false", "read-tree")
"""Into an index of its own, whole."""
_COMMIT = "tree {}\nauthor gsh <gsh> 0 +0000\ncommitter gsh <gsh> 0 +0000\n\n"
_ALWAYS_LEFT_OUT = "/.gsh/worktrees/\n.git\n"


class KeptFile(msgspec.Struct, frozen=True):
    """A file as it was. `mode`: as git has it."""

    mode: int
    data: bytes


class ShadowError(ExpectedError):
    """The files cannot be looked at or restored; the text is one sentence."""


class FileRestore(msgspec.Struct, frozen=True):
    """What a restore would do to a file: `path` is relative to the folder."""

    path: str
    kind: Literal["write", "delete"]


class ShadowRepository:
    """The shadow of one folder. Its calls take turns, also with those of other processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = paths.data_dir(create=False) / FOLDER / f"{_name(folder)}.git"
        self._lock = asyncio.Lock()
        self._options: tuple[str, ...] | None = None
        self._head = (_UNREAD, "")
        """The commit that HEAD names, and its tree: what the index was when it was last recorded."""
        self._looked = 0.0

    async def record_files(self, heard: Callable[[int, int], None] = lambda done, total: None) -> str:
        """The tree of the files as they are now. Many new ones are taken in by parts, which stay if this is cancelled.

        `heard`: called with how many of how many new files are there by then. Raises `ShadowError`: git is missing, too
        much is new, or the folder cannot be read.
        """
        async with self._turn():
            gone, there, staged = await self._look()
            if len(there) <= _PART:
                return await self._take_in(gone, there, staged=staged)
            await self._add_to_index(gone, ())
        for start in range(0, len(there), _PART):
            heard(start, len(there))
            async with self._turn():  # others may look in between
                await self._add_to_index((), there[start : start + _PART])
        async with self._turn():
            return await self._take_in(*(await self._look())[:2], staged=True)

    async def _look(self) -> tuple[list[str], list[str], bool]:
        """(what is no longer kept, what is new or changed, whether the index differs from HEAD already)"""
        if not await self._head_tree() and not self._path.joinpath("index").exists():
            await self._seed()
        changed, staged = await self._changed()
        gone, there = await asyncio.to_thread(self._sorted, changed) if changed else ([], [])
        return gone, there, staged

    async def _seed(self) -> None:
        """Begin with what the person's own repository has, where that can be had."""
        try:
            if await shadow_seed.seed(self._path, self.folder, self._git, MOST_BYTES):
                return
        except (ExpectedError, OSError, ValueError):
            pass  # every file is read instead
        for path in (self._path / "index", self._path / "index.lock"):
            await asyncio.to_thread(path.unlink, missing_ok=True)

    async def _add_to_index(self, gone: Sequence[str], there: Sequence[str]) -> None:
        # What has gone makes room first: a folder may be where a file was, and the other way round.
        if gone:
            await self._git("update-index", "-z", "--force-remove", "--stdin", given=_joined(gone))
        if there:
            await self._git("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=_joined(there))
        await asyncio.to_thread(self._date_index)

    def _date_index(self) -> None:
        """Date the index back to the last look. git compares whole seconds: of what has changed since the index was
        written it looks at the contents again, and files change while it looks."""
        with contextlib.suppress(FileNotFoundError):
            os.utime(self._path / "index", (self._looked, self._looked))

    async def _take_in(self, gone: Sequence[str], there: Sequence[str], *, staged: bool) -> str:
        """The tree of the index, with these changes."""
        await self._add_to_index(gone, there)
        head = self._head[1]
        tree = head if head and not (staged or gone or there) else await self._record_index()
        await self._keep_tree(tree)
        return tree

    async def _keep_tree(self, tree: str) -> None:
        ref = self._path / "refs" / "gsh" / tree
        if not ref.exists():
            await asyncio.to_thread(_write_ref, ref, tree)

    async def with_files(self, tree: str, files: Mapping[str, KeptFile | None]) -> str:
        """A tree in which these files are so; `None`: they are not there. What is ignored stays out of it."""
        index = self._path / f"patch-{os.getpid()}"
        env = {"GIT_INDEX_FILE": str(index)}
        async with self._turn():
            known = await self._names(tree)
            ignored = await self._ignored([name for name in files if name not in known])
            lines: list[bytes] = []
            for name, kept in files.items():
                if name in ignored or (kept is None and name not in known):
                    continue
                mode, id = 0, "0" * 40
                if kept is not None:
                    mode = kept.mode
                    id = await asyncio.to_thread(_write_object, self._path / "objects", "blob", kept.data)
                lines.append(b"%o %s\t%s\0" % (mode, id.encode(), name.encode("utf-8", "surrogateescape")))
            if not lines:
                return tree
            try:
                await self._git(*_READ_TREE, tree, env=env)
                words = ("-c", "core.splitIndex=false", "update-index", "--replace", "-z", "--index-info")
                await self._git(*words, given=b"".join(lines), env=env)
                made = (await self._git(*_WRITE_TREE, env=env)).decode().strip()
            finally:
                index.unlink(missing_ok=True)
            await self._keep_tree(made)
            return made

    async def _ignored(self, names: Sequence[str]) -> set[str]:
        """Those of these that are ignored."""
        if not names:
            return set()
        answer = await self._git("check-ignore", "-z", "--stdin", given=_joined(names), passes=1)
        return set(answer.decode("utf-8", "surrogateescape").split("\0"))

    def covers(self, path: Path) -> bool:
        """Whether a checkpoint may have this file: it is in the folder, and in no repository within it."""
        if not path.is_relative_to(self.folder) or not _is_reachable(self.folder, path):
            return False
        within = path.relative_to(self.folder).parents
        return ".git" not in path.parts and not any((self.folder / one / ".git").exists() for one in list(within)[:-1])

    async def _record_index(self) -> str:
        """Write the index as a tree, and have HEAD name it, so that the next look tells what differs from it."""
        tree = (await self._git(*_WRITE_TREE)).decode().strip()
        await asyncio.to_thread(self._date_index)
        commit = await asyncio.to_thread(_write_commit, self._path / "objects", tree)
        await asyncio.to_thread(private_files.write_whole, self._path / "HEAD", f"{commit}\n".encode())
        self._head = (commit, tree)
        return tree

    async def _head_tree(self) -> str:
        """The tree that HEAD names; empty: none that can be read."""
        commit = (await asyncio.to_thread((self._path / "HEAD").read_text, "utf-8", "replace")).strip()
        if commit != self._head[0]:
            tree = ""
            with contextlib.suppress(ShadowError):
                tree = (await self._git("rev-parse", "-q", "--verify", "HEAD^{tree}")).decode().strip()
            if not tree and commit != _UNBORN:
                await asyncio.to_thread(private_files.write_whole, self._path / "HEAD", f"{_UNBORN}\n".encode())
            self._head = (commit if tree else _UNBORN, tree)
        return self._head[1]

    async def changes(self, now: str, then: str) -> list[FileRestore]:
        """What would make the files of the tree `now` those of the tree `then`. Raises `ShadowError`."""
        if now == then:
            return []
        said = await self._git("diff-tree", "-r", "-z", "--no-renames", "--name-status", now, then)
        parts = said.decode("utf-8", "surrogateescape").split("\0")
        pairs = zip(parts[0::2], parts[1::2], strict=False)
        return [FileRestore(path, "delete" if status == "D" else "write") for status, path in pairs if path]

    async def restore(self, tree: str, now: str, changes: Sequence[FileRestore]) -> list[str]:
        """Make these files as they are in the tree. Returns a sentence for each that was left alone.

        `now`: the tree of the files as they are; what is there but not in it, nothing could bring back.
        Raises `ShadowError`: some were not written; others may have been.
        """
        left: list[str] = []
        async with self._turn():
            known = await self._names(now)
            writes: list[str] = []
            for change in changes:
                at = self.folder / change.path
                shown = one_line(change.path, 120)
                if not _is_reachable(self.folder, at):
                    left.append(f"{shown} was left alone: a link leads out of the folder on its way.")
                elif change.kind == "delete":
                    left += await asyncio.to_thread(_delete, self.folder, at, shown)
                elif os.path.lexists(at) and change.path not in known and not _holds_known(at, change.path, known):
                    left.append(f"{shown} was left alone: the file there is ignored or too large to be kept.")
                else:
                    writes.append(change.path)
            await self._write(tree, writes)
        return left

    async def _write(self, tree: str, names: Sequence[str]) -> None:
        """Write files of a tree through an index of its own."""
        if not names:
            return
        index = self._path / f"restore-{os.getpid()}"
        env = {"GIT_INDEX_FILE": str(index)}
        try:
            await self._git(*_READ_TREE, tree, env=env)
            await self._git("checkout-index", "-f", "-q", "-z", "--stdin", given=_joined(names), env=env)
        finally:
            for path in (index, index.with_name(index.name + ".lock")):
                path.unlink(missing_ok=True)

    async def export(self, tree: str, target: Path) -> None:
        """Make another folder's files those of the tree; what is ignored there stays. Raises `ShadowError`."""
        index = self._path / f"export-{os.getpid()}"
        env = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(target)}
        async with self._turn():
            try:
                await self._git(*_READ_TREE, tree, env=env)
                there = await self._git("ls-files", "-o", "-z", "--exclude-standard", env=env, folder=target)
                for name in there.decode("utf-8", "surrogateescape").split("\0"):
                    if name and not name.endswith("/"):
                        await asyncio.to_thread(_delete, target, target / name, name)
                await self._git("checkout-index", "-a", "-f", "-q", env=env, folder=target)
            finally:
                index.unlink(missing_ok=True)

    async def tidy(self, used: Iterable[str]) -> None:
        """Forget all trees but these, and what only they hold. Raises `ShadowError`."""
        async with self._turn():
            kept = set(used)
            refs = self._path / "refs" / "gsh"

            def drop() -> bool:
                gone = [path for path in refs.iterdir() if path.name not in kept] if refs.is_dir() else []
                for path in gone:
                    path.unlink(missing_ok=True)
                return bool(gone)

            if await asyncio.to_thread(drop):
                await self._git("prune", "--expire=now")
            if await asyncio.to_thread(self._holds_dropped_packs):
                await self._git("repack", "-a", "-d", "-q")
                (self._path / shadow_seed.LINKED).unlink(missing_ok=True)

    def _holds_dropped_packs(self) -> bool:
        """Whether the person's own repository has dropped a pack that takes up room here now."""
        try:
            names = (self._path / shadow_seed.LINKED).read_text("utf-8").split()
            return any((self._path / "objects" / "pack" / name).stat().st_nlink == 1 for name in names)
        except OSError:
            return False

    async def _names(self, tree: str) -> set[str]:
        said = await self._git("ls-tree", "-r", "-z", "--name-only", tree)
        return set(said.decode("utf-8", "surrogateescape").split("\0"))

    async def _changed(self) -> tuple[dict[str, bool], bool]:
        """Paths that differ from the index, each with whether it is in it; whether the index differs from HEAD."""
        self._looked = time.time() - _TICK
        try:
            said = await self._git(*_STATUS)
        except ShadowError as error:
            if "index" not in error.message:
                raise
            # Nothing is flushed to disk, so a power cut may leave half of it. All files are new to an empty one.
            await asyncio.to_thread(self._path.joinpath("index").unlink, missing_ok=True)
            said = await self._git(*_STATUS)
        await asyncio.to_thread(self._date_index)
        entries = said.decode("utf-8", "surrogateescape").split("\0")
        found = {one[3:]: one[:2] != "??" for one in entries if one[1:2].strip() and not one.endswith("/")}
        if len(found) > MOST_FILES:
            raise ShadowError(
                f"{len(found):,} files are new or changed, which are too many for a checkpoint.",
                "Add what is built to .gitignore.",
            )
        return found, any(one[:1] not in (" ", "?") for one in entries if one)

    def _sorted(self, names: Mapping[str, bool]) -> tuple[list[str], list[str]]:
        """(what is in the index and no longer kept: it is no file or link any more, or too large; what is kept)"""
        gone: list[str] = []
        there: list[str] = []
        folders: dict[str, bool] = {}
        new = 0
        for name, known in names.items():
            place = os.path.join(self.folder, name)  # noqa: PTH118 - thousands of them
            above = os.path.dirname(place)  # noqa: PTH120
            if above not in folders:
                folders[above] = _is_reachable(self.folder, Path(place))
            try:
                found = os.lstat(place)
            except OSError:
                gone += [name] if known else []
                continue
            kept = stat.S_ISLNK(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES)
            kept = kept and folders[above]
            if kept or known:
                (there if kept else gone).append(name)
            new += found.st_size if kept else 0
        if new > MOST_NEW:
            raise ShadowError(
                f"{new / 1e9:.1f} GB are new or changed, which is too much for a checkpoint.",
                "Add what is built to .gitignore.",
            )
        return gone, there

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncGenerator[None]:
        """Alone with the repository, which is there then."""
        async with self._lock:
            try:
                await asyncio.to_thread(self._prepare)
                if self._options is None:
                    self._options = await self._ignored_everywhere()
                async with file_lock(self._path / "gsh.lock", within=_LOCKED, note="a checkpoint"):
                    await asyncio.to_thread(self._clear)
                    try:
                        yield
                    except ShadowError:
                        await asyncio.to_thread(self._clear, "objects/*/tmp_obj_*")
                        raise
            except LockHeld as error:
                raise ShadowError("Another process is keeping the files of this folder for too long.") from error
            except OSError as error:
                raise ShadowError(f"The files cannot be kept: {error.strerror or error}.") from error

    def _prepare(self) -> None:
        """Create the repository; bring its configuration and the rules of the person's own up to date."""
        if not self._path.joinpath("HEAD").exists():
            for part in ("objects/info", "objects/pack", "refs/heads", "refs/gsh", "info"):
                private_files.make_folder(self._path / part)
            (self._path / "description").write_text(f"{self.folder}\n", "utf-8", "surrogateescape")
            (self._path / "HEAD").write_text(f"{_UNBORN}\n", "utf-8")
        try:
            own = (self.folder / ".git" / "info" / "exclude").read_text("utf-8", "surrogateescape")
        except OSError:
            own = ""
        rules = f"{own.rstrip()}\n{_ALWAYS_LEFT_OUT}"
        for name, text in {"config": _CONFIGURATION, "info/attributes": _ATTRIBUTES, "info/exclude": rules}.items():
            path = self._path / name
            if not path.exists() or path.read_text("utf-8", "surrogateescape") != text:
                private_files.write_whole(path, text.encode("utf-8", "surrogateescape"))

    def _clear(self, *more: str) -> None:
        """Remove what a call that was killed left, or could not write whole: whoever holds our lock is alone."""
        for pattern in ("index.lock", "restore-*", "export-*", "patch-*", *more):
            for path in self._path.glob(pattern):
                path.unlink(missing_ok=True)

    async def _ignored_everywhere(self) -> tuple[str, ...]:
        """The option for the person's own rules for all folders."""
        try:
            answer = await git(self.folder, "config", "--type=path", "core.excludesFile")
        except CommandError as error:
            raise ShadowError(error.message, error.hint) from error
        config = caller_environ().get("XDG_CONFIG_HOME") or str(paths.home() / ".config")
        rules = answer.out.strip() if not answer.code else str(Path(config, "git", "ignore"))
        return ("-c", f"core.excludesFile={rules}")

    async def _git(
        self,
        *arguments: str,
        given: bytes = b"",
        env: dict[str, str] | None = None,
        folder: Path | None = None,
        passes: int = 0,
    ) -> bytes:
        """`passes`: a further exit code that is none of a failure."""
        environ = command_environment(caller_environ()) | {"LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
        environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_DIR": str(self._path), "GIT_WORK_TREE": str(self.folder)}
        environ |= {"GIT_OPTIONAL_LOCKS": "1", "GIT_ALLOW_PROTOCOL": "none", **(env or {})}
        try:
            process = await processes.start_child(
                "git",
                *(self._options or ()),
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=folder or self.folder,
                env=environ,
                start_new_session=True,
            )
        except ProgramMissing as error:
            raise ShadowError(error.message, error.hint) from error
        except FileNotFoundError as error:
            raise ShadowError(f"The files cannot be kept: the folder {self.folder} is gone.") from error
        except OSError as error:
            raise ShadowError(f"git cannot be started: {error.strerror or error}.") from error
        try:
            async with time_limit(_WITHIN):
                out, failure = await process.communicate(given)
        except TimeoutError as error:
            raise ShadowError(f"The files cannot be kept: git did not answer within {_WITHIN:g} s.") from error
        finally:
            await processes.kill_child(process)
        if process.returncode not in (0, passes):
            why = one_line(failure.decode("utf-8", "replace").strip() or f"git {arguments[0]} failed", 200)
            raise ShadowError(f"The files cannot be kept or restored: {why}.")
        return out


def _name(folder: Path) -> str:
    return hashlib.blake2b(os.fsencode(folder), digest_size=12).hexdigest()


def _write_ref(path: Path, tree: str) -> None:
    private_files.make_folder(path.parent)
    private_files.write_whole(path, f"{tree}\n".encode())


def read_kept(path: Path) -> KeptFile | None:
    """A file as it is; `None`: there is none. Raises `OSError`: it is none that is kept."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            return KeptFile(0o120000, os.fsencode(path.readlink()))
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            raise OSError(errno.EINVAL, "is not kept", str(path))
        return KeptFile(0o100755 if found.st_mode & stat.S_IXUSR else 0o100644, path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write_commit(objects: Path, tree: str) -> str:
    """Write the commit that names a tree and nothing else, as git would. Returns its id."""
    return _write_object(objects, "commit", _COMMIT.format(tree).encode())


def _write_object(objects: Path, kind: str, data: bytes) -> str:
    """Write an object as git would. Returns its id."""
    whole = b"%s %d\0%s" % (kind.encode(), len(data), data)
    id = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    place = objects / id[:2]
    private_files.make_folder(place)
    if not (place / id[2:]).exists():
        private_files.write_whole(place / id[2:], zlib.compress(whole, 1))
    return id


def _joined(names: Iterable[str]) -> bytes:
    return b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)


def _is_reachable(folder: Path, path: Path) -> bool:
    """Whether no part of the way to a file is a link."""
    at = path.parent
    while at != folder:
        if at == at.parent or at.is_symlink():
            return False
        at = at.parent
    return True


def _holds_known(at: Path, name: str, known: set[str]) -> bool:
    """Whether a folder is in the place of a file, and all that is in it could be brought back."""
    if not at.is_dir() or at.is_symlink():
        return False
    for place, _, files in os.walk(at):
        below = os.path.relpath(place, at)
        for file in files:
            inner = os.path.normpath(os.path.join(name, below, file))  # noqa: PTH118
            if inner not in known:
                return False
    return True


def _delete(folder: Path, path: Path, shown: str) -> list[str]:
    """Delete a file, and its folders that are empty then."""
    try:
        if path.is_dir() and not path.is_symlink():
            return []  # a folder has taken its place, whose files are restored one by one
        path.unlink(missing_ok=True)
        at = path.parent
        while at != folder:
            at.rmdir()
            at = at.parent
    except OSError as error:
        if os.path.lexists(path):
            return [f"{shown} could not be deleted: {error.strerror or error}."]
    return []

"""Which version of a program is installed or runs, by the package that its file belongs to, else by asking it; and
whether that is in a range.

A program is asked only where its profile names the argument for that, with nothing to read and a time limit; what it
answered is kept by its file, until that changes. Refuses everything that does not look like a version.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.parser
import os
import re
import shlex
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from gshtui.programs.profiles.profile import Profile
from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.system.json_types import is_object, obj, parse_foreign_json
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.struct_types import learned
from gshtui.text.version_order import Order, order, version_in

_WITHIN = 15.0
"""Seconds that a program has to print its version: some load for five on a busy machine."""
_ANSWER, _LINES = 4096, 12
"""Bytes and lines of an answer that are read."""
_KEPT = 200
_LARGEST = 256 * 1024
"""Bytes of a file that is read."""
_WORDS = 4
"""Most words before the version in a line of an answer."""
_CELLARS = ("Cellar", "Caskroom")
"""Homebrew's folders: a package's name follows, then its version."""


class _Kept(msgspec.Struct, omit_defaults=True):
    """What is kept between processes."""

    files: dict[str, tuple[int, int, str]] = {}
    """Path of a program → when it was changed (ns), its size, and the version that it printed."""
    noted: list[str] = []
    """The programs with their versions of which a person has been told."""


def executables(profile: Profile, argv: Sequence[str], environ: Mapping[str, str], pid: int = 0) -> list[Path]:
    """The files that the profile's program may be: of its process, as far as that is known, then of its command line.

    Blocks for a moment.
    """
    found = [Path(path) for path in _images(pid)] if pid else []
    for word in argv:
        if Path(word).name in profile.programs:
            path = shutil.which(word, path=environ.get("PATH"))
            return [*found, Path(path).absolute()] if path else found
    return found


def _images(pid: int) -> list[str]:
    """The file that a process runs, and the script that an interpreter was given."""
    found: list[str] = []
    with contextlib.suppress(OSError):
        found.append(os.readlink(f"/proc/{pid}/exe"))  # noqa: PTH115
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3]
        found += [os.fsdecode(word) for word in words if word.startswith(b"/")][:1]
    return [path for path in found if os.path.isfile(path)]  # noqa: PTH113  # an exchanged file has another name


def installed(profile: Profile, environ: Mapping[str, str]) -> str | None:
    """The file of the profile's program on this PATH. Blocks for a moment."""
    return next(filter(None, (shutil.which(name, path=environ.get("PATH")) for name in profile.programs)), None)


class Package(NamedTuple):
    """The package that a program belongs to."""

    version: str
    runs_on: str = ""
    """What runs it: `node` or `python`."""
    wanted: str = ""
    """The versions of that which it runs on, as the package writes them; empty if it does not say."""


def package_of(file: Path, names: Sequence[str]) -> Package | None:
    """The package that a file belongs to, if that has a program of one of these names and tells its version.

    Packages of npm, Python and Homebrew, and files that are called by their version. Blocks for a moment.
    """
    try:
        real = file.resolve()
        above = [part for part, name in zip(real.parts[2:], real.parts, strict=False) if name in _CELLARS]
        if file.name in names and (version := version_in(above[0] if above else real.name)):
            return Package(version)
        for folder in real.parents:
            above = folder.parent
            if above.name == "node_modules" or (above.name[:1] == "@" and above.parent.name == "node_modules"):
                return _npm_package(folder, names)
        if "python" in Path(_interpreter(real)).name and (found := _python_package(real, names)):
            return found
        told = version_in((real.parent / ".version").read_text("utf-8")[:200]) if real.stem in names else ""
        return Package(told) if told else None
    except (OSError, ValueError):
        return None


def _interpreter(script: Path) -> str:
    """The program that a script is run by, as its first line names it; empty for what is no script."""
    with script.open("rb") as opened:
        first, _, second = opened.read(512).partition(b"\n")
    if first == b"#!/bin/sh" and second.startswith(b"'''exec' "):  # pip's way around the longest first line
        first = b"#!" + second.removeprefix(b"'''exec' ").replace(b' "$0" "$@"', b"")
    if not first.startswith(b"#!"):
        return ""
    words = shlex.split(first.removeprefix(b"#!").decode("utf-8", "replace"))
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else ""


def _npm_package(folder: Path, names: Sequence[str]) -> Package | None:
    with (folder / "package.json").open("rb") as file:
        package = obj(parse_foreign_json(file.read(_LARGEST)))
    programs = package.get("bin")
    if not is_object(programs):
        programs = (str(package.get("name")).rpartition("/")[2],)
    version = version_in(str(package.get("version"))) if any(name in programs for name in names) else ""
    return Package(version, "node", str(obj(package.get("engines")).get("node", ""))) if version else None


def _python_package(script: Path, names: Sequence[str]) -> Package | None:
    """The package that has installed this script into an environment."""
    if script.name not in names:
        return None
    for points in (script.parent.parent / "lib").glob("python3*/*-packages/*.dist-info/entry_points.txt"):
        _, _, scripts = points.read_text("utf-8", "replace")[:_LARGEST].partition("[console_scripts]\n")
        lines = scripts.partition("\n[")[0].split("\n")
        if not any(line.partition("=")[0].strip() == script.name for line in lines):
            continue
        version = version_in(points.parent.name.removesuffix(".dist-info").rpartition("-")[2])
        with contextlib.suppress(OSError):
            told = (points.parent / "METADATA").read_text("utf-8", "replace")[:_LARGEST]
            wanted = email.parser.HeaderParser().parsestr(told).get("Requires-Python", "")
            return Package(version, "python", wanted) if version else None
        return Package(version) if version else None
    return None


class UnmetNeed(NamedTuple):
    """What runs a program, and is not as its package wants it."""

    runs_on: str
    wanted: str
    found: str
    """Its version; empty if it is not there."""


async def unmet_need(program: Path, names: Sequence[str], environ: Mapping[str, str]) -> UnmetNeed | None:
    """What a program's package wants of the interpreter that would run it, where that is not so."""
    package = await asyncio.to_thread(package_of, program, names)
    if package is None or not package.runs_on:
        return None
    try:
        word = await asyncio.to_thread(_interpreter, program.resolve())
    except (OSError, ValueError):
        return None
    if not Path(word).name.startswith(package.runs_on):
        return None  # it needs none, or another one
    path = await asyncio.to_thread(shutil.which, word, path=environ.get("PATH"))
    if path is None:
        return UnmetNeed(package.runs_on, package.wanted, "")
    version = await printed_version(Path(path), "--version", environ) if package.wanted else ""
    return None if not version or is_in_range(version, package.wanted) else UnmetNeed(*package[1:], version)


async def printed_version(program: Path, flag: str, environ: Mapping[str, str]) -> str:
    """The version that a program prints; empty if it prints none in time."""
    try:
        process = await processes.start_child(
            str(program),
            flag,
            env={**environ, "NO_COLOR": "1"},
            cwd="/",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return ""
    answer = b""
    try:
        assert process.stdout is not None
        async with time_limit(_WITHIN):
            while len(answer) < _ANSWER and (piece := await process.stdout.read(_ANSWER)):
                answer += piece
    except TimeoutError:
        return ""
    finally:
        await processes.kill_child(process, is_leader=True)
    lines = answer.decode("utf-8", "replace").splitlines()[:_LINES]
    return next((version for line in lines if (version := _answered(line))), "")


def _answered(line: str) -> str:
    """The version in a line such as `2.1.332 (Claude Code)` or `codex-cli 0.171.0`; empty in any other."""
    line = line.strip()
    if line.endswith(")"):
        line = line.partition("(")[0]
    *words, last = line.split() or [""]
    names = len(words) <= _WORDS and all(word[0].isalpha() or word[0] == "@" for word in words)
    return version_in(last.rstrip(".,")) if names else ""


def kept_versions() -> ProgramVersions:
    """With what was found for this person before."""
    return ProgramVersions(paths.cache_dir() / "program-versions.json")


class ProgramVersions:
    """The versions that were found, and those that a person was told of.

    Args:
        file: keeps what programs have printed; it may be removed at any time.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._kept: _Kept | None = None
        self._turns = defaultdict[str, asyncio.Lock](asyncio.Lock)

    def quick(self, profile: Profile, argv: Sequence[str], environ: Mapping[str, str], pid: int = 0) -> str:
        """The version without running anything; empty if it takes that. Blocks for a moment."""
        files = executables(profile, argv, environ, pid)
        found = next(filter(None, (package_of(file, profile.programs) for file in files)), None)
        if found is not None:
            return found.version
        return self._printed(asked) if (asked := _asked(profile, files)) is not None else ""

    async def find(self, profile: Profile, argv: Sequence[str], environ: Mapping[str, str], pid: int = 0) -> str:
        """The version of the program that a command line starts, or that runs; empty if nothing tells it."""
        async with self._turns[profile.name]:  # of several starts at once, one asks
            if version := await asyncio.to_thread(self.quick, profile, argv, environ, pid):
                return version
            asked = _asked(profile, await asyncio.to_thread(executables, profile, argv, environ, pid))
            if asked is None or not profile.version_flag:
                return ""
            before = await asyncio.to_thread(_mark, asked)
            version = await printed_version(asked, profile.version_flag, environ)
            if version and before is not None:
                await asyncio.to_thread(self._keep, asked, (*before, version))
            return version

    def note(self, name: str, version: str) -> bool:
        """Note that a person is told of this version now; whether nobody was before. Blocks for a moment."""
        kept, word = self._load(), f"{name} {version}"
        if word in kept.noted:
            return False
        kept.noted = [*kept.noted, word][-_KEPT:]
        self._save(kept)
        return True

    def _printed(self, program: Path) -> str:
        mark = _mark(program)
        entry = self._load().files.get(str(program.resolve()))
        return entry[2] if entry is not None and mark == entry[:2] else ""

    def _keep(self, program: Path, entry: tuple[int, int, str]) -> None:
        kept = self._load()
        others = [(path, one) for path, one in kept.files.items() if path != str(program.resolve())]
        kept.files = dict([*others[1 - _KEPT :], (str(program.resolve()), entry)])
        self._save(kept)

    def _load(self) -> _Kept:
        """As it is in the file: other processes write there as well."""
        try:
            self._kept = msgspec.json.decode(self._file.read_bytes(), type=learned(_Kept))
        except (OSError, msgspec.DecodeError):
            self._kept = self._kept or _Kept()  # it may not be writable: then what this process knows counts
        return self._kept

    def _save(self, kept: _Kept) -> None:
        with contextlib.suppress(OSError):
            private_files.make_folder(self._file.parent)
            private_files.write_whole(self._file, msgspec.json.encode(kept))


def _asked(profile: Profile, files: Sequence[Path]) -> Path | None:
    """The file to ask for its version: only what has the program's own name."""
    return next((file for file in files if file.name in profile.programs), None)


def _mark(program: Path) -> tuple[int, int] | None:
    """What a file that was exchanged differs by."""
    try:
        found = os.stat(program)  # noqa: PTH116
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


_TERM = re.compile(r"([=<>~!^]{0,3}+)\s{0,3}+v?(\d[0-9A-Za-z.+*-]{0,60}+)")
_LONGEST = 200


def is_in_range(version: str, wanted: str) -> bool:
    """Whether a version is one of those; also where that cannot be told."""
    mine = order(version)
    if mine is None or len(wanted) > _LONGEST:
        return True
    return any(_fits_all(mine, part) for part in wanted.split("||"))


def _fits_all(mine: Order, part: str) -> bool:
    first, is_span, last = part.strip().partition(" - ")
    terms = _TERM.finditer(f">={first} <={last}" if is_span else part)
    return all(_fits(mine, term[1], term[2]) for term in terms)


def _fits(mine: Order, sign: str, written: str) -> bool:
    bound = written.rstrip(".xX*")
    numbers = [int(number) for number in re.findall(r"\d{1,15}", re.split(r"[-+a-zA-Z]", bound, maxsplit=1)[0])]
    low = order(bound)
    if low is None:
        return True
    if sign in (">", ">=", "<"):
        return {">": mine > low, ">=": mine >= low, "<": mine < low}[sign]
    if sign == "!=":
        return not low <= mine < _above(numbers) if bound != written else mine != low
    if sign == "<=":
        return mine < _above(numbers)
    major = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1) + 1
    kept = {"^": numbers[:major], "~": numbers[:2], "~=": numbers[:-1] or numbers}
    return low <= mine < _above(kept.get(sign, numbers))


def _above(numbers: list[int]) -> Order:
    """The first version that does not begin with these numbers."""
    return (*numbers[:-1], numbers[-1] + 1), -1, ()

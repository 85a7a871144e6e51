"""The registry of agents that speak the Agent Client Protocol: found by words, and installed at exactly a version.

What the registry says is only shown and checked: a package's exact name and version, or an archive at an https address
for this kind of machine, else nothing is made of it. Nothing of an agent runs before a person starts it.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import platform
import re
import shutil
import stat
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec

from gshtui.programs.acp.acp_commands import FOLDER, KNOWN, KeptAgent, keep_agent
from gshtui.settings import paths
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.json_types import is_array, is_object, obj, parse_foreign_json
from gshtui.system.network.downloads import DownloadError, download
from gshtui.text.sanitise import one_line, plain

_WITHIN = 30.0
_ARCHIVE_WITHIN = 600.0
_LARGEST = 16_000_000
_LARGEST_ARCHIVE = 600_000_000
_NAME = re.compile(r"[a-z][a-z0-9-]{0,60}")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+_-]{0,60}")
_NPM = re.compile(r"((?:@[a-z0-9-~][a-z0-9-._~]{0,100}/)?[a-z0-9-~][a-z0-9-._~]{0,200})(?:@(.+))?")
_PYPI = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9])?(?:\[[A-Za-z0-9,._-]{1,100}\])?)(?:(?:==|@)(.+))?"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")
Way = Literal["npx", "uvx", "binary"]
Table = dict[str, Any]


class RegistryError(ExpectedError):
    """The registry cannot be asked, or an agent of it cannot be installed."""


class RegistryAgent(msgspec.Struct, frozen=True):
    """An agent as the registry describes it."""

    name: str
    title: str
    version: str
    about: str
    ways: tuple[str, ...] = ()
    source: str = ""
    licence: str = ""
    distribution: Table = {}


class AgentPlan(msgspec.Struct, frozen=True):
    """How an agent would be installed."""

    name: str
    title: str
    version: str
    argv: tuple[str, ...] = ()
    """What starts it; of an archive, its command within that."""
    env: tuple[tuple[str, str], ...] = ()
    archive: str = ""
    """The address of its program, where it is no package."""
    sha256: str = ""
    source: str = ""
    licence: str = ""

    @property
    def lines(self) -> list[str]:
        """What a person is shown."""
        shown = [f"{self.title} {self.version}" + (f", {self.licence}" if self.licence else "")]
        shown += [self.source] if self.source else []
        if self.archive:
            sums = f"sha256 {self.sha256}" if self.sha256 else "the registry names no checksum of it"
            shown.append(f"downloads {self.archive} ({sums})")
        shown.append(f"starts {' '.join([*(f'{name}={value}' for name, value in self.env), *self.argv])}")
        return [one_line(plain(line), 300) for line in shown]


async def search(registry: str, word: str) -> list[RegistryAgent]:
    """The agents whose name, title or description has the word; all for none. Raises `RegistryError`."""
    wanted = word.lower().split()
    return [
        one
        for one in await _agents(registry)
        if all(w in f"{one.name} {one.title} {one.about}".lower() for w in wanted)
    ]


async def plan(registry: str, name: str) -> AgentPlan:
    """How an agent is installed here. Raises `RegistryError`."""
    found = next((one for one in await _agents(registry) if one.name == name), None)
    shown = one_line(plain(name), 60)
    if found is None:
        raise RegistryError(f"The registry has no agent {shown!r}.", "`agent search WORD` finds some.")
    if name in KNOWN:
        raise RegistryError(f"gsh-tui knows {name} itself.", f"`agent spawn --acp {name}` starts it.")
    if not _VERSION.fullmatch(found.version):
        raise RegistryError(f"The registry names no version of {shown}.", "Nothing was installed.")
    problems: list[str] = []
    ways: list[Way] = ["npx", "uvx", "binary"]
    missing = await asyncio.to_thread(lambda: [way for way in ways if way != "binary" and shutil.which(way) is None])
    ways.sort(key=lambda way: way in missing)  # what can run here comes first
    for way in ways:
        about = obj(found.distribution.get(way))
        if about:
            made = _of_archive(found, about) if way == "binary" else _of_package(found, way, about)
            if isinstance(made, AgentPlan):
                return made
            problems.append(made)
    why = "; ".join(problems) or "it comes in no way that is known here"
    raise RegistryError(
        f"{found.title} cannot be installed: {why}.", "`agent spawn --acp 'COMMAND …'` starts it by hand."
    )


async def install(planned: AgentPlan) -> KeptAgent:
    """Fetch what is to be fetched, and keep how it is started. Raises `RegistryError`, `OSError`, `FolderError`."""
    argv = planned.argv
    if planned.archive:
        shown = one_line(plain(planned.archive), 200)
        try:
            data = await download(planned.archive, largest=_LARGEST_ARCHIVE, within=_ARCHIVE_WITHIN, shown=shown)
        except DownloadError as error:
            raise RegistryError(error.message, "Nothing was installed.") from error
        if planned.sha256 and hashlib.sha256(data).hexdigest() != planned.sha256:
            raise RegistryError(
                f"{shown} is not what the registry describes: its checksum differs.", "Nothing was installed."
            )
        argv = (await asyncio.to_thread(_unpacked, planned, data), *argv[1:])
    settings = ("env", *(f"{name}={value}" for name, value in planned.env)) if planned.env else ()
    kept = KeptAgent(planned.version, (*settings, *argv))
    keep_agent(planned.name, kept)
    return kept


def remove(name: str) -> None:
    """Forget an agent, and remove its program. Raises `OSError`, `FolderError`."""
    keep_agent(name, None)
    shutil.rmtree(paths.data_dir() / FOLDER / name, ignore_errors=True)


def this_machine() -> str:
    """The registry's name for this kind of machine."""
    kind = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{'darwin' if sys.platform == 'darwin' else 'linux'}-{kind}"


async def _agents(registry: str) -> list[RegistryAgent]:
    shown = one_line(plain(registry), 200)
    try:
        data = await download(registry, largest=_LARGEST, within=_WITHIN, shown=shown)
        listed = obj(parse_foreign_json(data)).get("agents")
    except DownloadError as error:
        raise RegistryError(f"The registry cannot be asked: {error.message}") from error
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"{shown} is no registry: {one_line(plain(str(error)), 160)}.") from error
    if not is_array(listed):
        raise RegistryError(f"{shown} is no registry: it lists no agents.")
    found: list[RegistryAgent] = []
    for each in map(obj, listed):
        name = str(each.get("id") or "")
        distribution = obj(each.get("distribution"))
        if _NAME.fullmatch(name):
            found.append(
                RegistryAgent(
                    name,
                    _line(each.get("name") or name, 60),
                    _line(each.get("version"), 60),
                    _line(each.get("description"), 200),
                    tuple(way for way in ("npx", "uvx", "binary") if way in distribution),
                    _line(each.get("repository") or each.get("website"), 200),
                    _line(each.get("license"), 60),
                    distribution,
                )
            )
    return found


def _of_package(found: RegistryAgent, way: Way, about: Table) -> AgentPlan | str:
    """A package as a command that runs exactly its version, or why it cannot be one."""
    match = (_NPM if way == "npx" else _PYPI).fullmatch(str(about.get("package") or ""))
    if match is None or not _VERSION.fullmatch(version := match.group(2) or found.version):
        return f"its package for {way} has no exact name and version"
    if (more := _more(about)) is None:
        return f"what starts it by {way} is no command line"
    words, env = more
    command = about.get("cmd")
    if command is not None and not _WORD.fullmatch(str(command)):
        return f"what starts it by {way} is no command line"
    package = f"{match.group(1)}@{version}"
    if way == "npx":
        head = ("npx", "-y", "--package", package, str(command)) if command else ("npx", "-y", package)
    else:
        head = ("uvx", "--from", package, str(command)) if command else ("uvx", package)
    return _planned(found, version, (*head, *words), env)


def _of_archive(found: RegistryAgent, about: Table) -> AgentPlan | str:
    """A program of an archive for this machine, or why it cannot be one."""
    mine = obj(about.get(this_machine()))
    if not mine:
        return f"it has no program for {this_machine()}"
    address, command = str(mine.get("archive") or ""), PurePosixPath(str(mine.get("cmd") or ""))
    if not re.fullmatch(r"https://[!-~]{1,500}", address):
        return "its program is at no address that can be trusted"
    if command.is_absolute() or ".." in command.parts or not command.parts or not str(command).isprintable():
        return "what starts it is not in its archive"
    sums = str(mine.get("sha256") or "").lower()
    if sums and not re.fullmatch(r"[0-9a-f]{64}", sums):
        return "its checksum is none"
    if (more := _more(mine)) is None:
        return "what starts it is no command line"
    words, env = more
    return _planned(found, found.version, (str(command), *words), env, address, sums)


def _planned(
    found: RegistryAgent,
    version: str,
    argv: tuple[str, ...],
    env: tuple[tuple[str, str], ...],
    archive: str = "",
    sums: str = "",
) -> AgentPlan:
    return AgentPlan(found.name, found.title, version, argv, env, archive, sums, found.source, found.licence)


def _more(about: Table) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]] | None:
    """The arguments and variables; `None`: one of them is nothing that can be put on a command line."""
    words: object = about.get("args") or []
    env: object = about.get("env") or {}
    if not is_array(words) or not is_object(env):
        return None
    texts = [*words, *env.values()]
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        return None
    if not all(isinstance(name, str) and _VARIABLE.fullmatch(name) for name in env):
        return None
    return tuple(words), tuple((str(name), str(value)) for name, value in env.items())


def _unpacked(planned: AgentPlan, data: bytes) -> str:
    """Unpack the archive into a folder of its own; returns the path of the program. Raises `RegistryError`."""
    folder = paths.data_dir() / FOLDER / planned.name
    shutil.rmtree(folder, ignore_errors=True)
    place = folder / planned.version
    private_files.make_folder(place)
    try:
        _unpack(planned, data, place)
        program = place / planned.argv[0]
        if not program.is_file():
            raise RegistryError(f"The archive of {planned.title} has no {planned.argv[0]}.", "Nothing was installed.")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    except RegistryError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except (tarfile.TarError, zipfile.BadZipFile, OSError, ValueError, EOFError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        why = one_line(plain(str(error)), 160)
        raise RegistryError(
            f"The archive of {planned.title} cannot be unpacked: {why}.", "Nothing was installed."
        ) from error
    return str(program)


def _unpack(planned: AgentPlan, data: bytes, place: Path) -> None:
    name = planned.archive.partition("?")[0].lower()
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(one.file_size for one in archive.infolist()) > 4 * _LARGEST_ARCHIVE:
                raise ValueError("it is too large")
            archive.extractall(place)  # which leaves out what would lead out of the folder
            for one in archive.infolist():
                mode = one.external_attr >> 16 & 0o777
                if mode & 0o100 and (place / one.filename).is_file():
                    os.chmod(place / one.filename, 0o700)  # noqa: PTH101 - as the line above
    elif name.endswith((".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            if sum(one.size for one in archive.getmembers()) > 4 * _LARGEST_ARCHIVE:
                raise ValueError("it is too large")
            for one in archive.getmembers():
                _unpack_member(archive, one, place)
    else:
        program = place / planned.argv[0]
        private_files.make_folder(program.parent)
        program.write_bytes(data)


def _unpack_member(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    """A folder or a plain file within the place; nothing else is made. Raises `ValueError`.

    `tarfile`'s own filter for this came with Python 3.11.4.
    """
    target = place / member.name
    if Path(member.name).is_absolute() or ".." in Path(member.name).parts:
        raise ValueError(f"{member.name} leads out of its folder")
    if member.isdir():
        private_files.make_folder(target)
        return
    content = archive.extractfile(member) if member.isreg() else None
    if content is None:
        raise ValueError(f"{member.name} is neither a file nor a folder")
    private_files.make_folder(target.parent)
    with content, target.open("wb") as made:
        shutil.copyfileobj(content, made)
    target.chmod(0o700 if member.mode & 0o100 else 0o600)


def _line(value: object, most: int) -> str:
    return one_line(plain(str(value or "")), most)

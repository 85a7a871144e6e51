"""What of this machine is seen by a line that only reads a project: the system, the project, and what git needs.

Of homes and of the folders beside the project nothing else is there, so that a link that was changed after the policy
looked, or a word that it misread, leads nowhere. Looks at files; changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import msgspec

from gshtui.guard.policy import sensitive_paths
from gshtui.system.caller_environment import caller_environ

_HOMES = ("/home", "/root", "/mnt", "/media", "/srv")
EMPTY = ("/tmp", "/run", "/var/tmp")
"""Folders of which every command has an empty one of its own."""
_SYSTEM = frozenset(
    (
        *("bin", "boot", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "run", "sbin"),
        *("snap", "sys", "tmp", "usr", "var"),
    )
)
"""Folders of the root that are no place of projects only; a project's own is empty beside it."""
_DOTFILES = (".gitconfig", ".config/git", ".gitignore", ".gitignore_global", ".jq", ".magic", ".mailmap")
_NAMED = re.compile(r"(?im)^[ \t]*(?:path|excludesfile|attributesfile|file)[ \t]*=[ \t]*\"?([^\n\"#;]{1,1000}+)")
_FILES, _LARGEST = 12, 65_536
"""Files of git's configuration that are read, and how much of each."""


class ReadingView(msgspec.Struct, frozen=True):
    """What is left out, and what is seen in it all the same.

    Attributes:
        apart: real folders that are empty, but for the project and what is shown.
        shown: files and folders that are seen wherever they are, but for the secrets in them.
    """

    apart: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()


def reading_view(project: Path, folders: Sequence[Path], programs: Sequence[str]) -> ReadingView:
    """The view of a line. Blocks for a moment.

    Args:
        project: its real folder.
        folders: real folders that the line may be in.
        programs: the programs that it runs.
    """
    persons = homes()
    found = [path for program in programs for path in _places(program)]
    places = [*persons, *map(Path, _HOMES)]
    if len(project.parts) > 1 and project.parts[1] not in _SYSTEM:
        places.append(Path("/", project.parts[1]))
    apart = {Path(os.path.realpath(place)) for place in places if place.is_dir()}
    # Where a program is, there is also what it needs, wherever that may be.
    empty = [each for each in apart if each != Path("/") and not any(path.is_relative_to(each) for path in found)]
    shown = [path.parent for path in found]
    if "git" in programs:
        shown += chain(_configuration(persons), *(_repository(folder) for folder in folders))
    else:
        shown += (home / name for home in persons for name in _DOTFILES)
    hidden = (*empty, *map(Path, EMPTY))
    shown = [path for path in shown if any(path.is_relative_to(each) for each in hidden)]
    outer = [path for path in empty if not any(path != each and path.is_relative_to(each) for each in empty)]
    return ReadingView(
        tuple(sorted(path for path in outer if not path.is_relative_to(project))),
        tuple(dict.fromkeys(path for path in shown if path.exists() and not path.is_relative_to(project))),
    )


def homes() -> list[Path]:
    """The home that this process was told of, and that of its user, which differ where one became the other."""
    found = [Path.home()]
    with contextlib.suppress(KeyError):  # this user has no entry
        found.append(Path(pwd.getpwuid(os.geteuid()).pw_dir))
    return list(dict.fromkeys(found))


def _places(program: str) -> list[Path]:
    """Where a program is, by all its names."""
    named = shutil.which(program)
    return [] if named is None else [Path(named), Path(os.path.realpath(named))]


def _repository(folder: Path) -> Iterator[Path]:
    """The working tree that a folder is in, and where its repository's own files are."""
    for here in (folder, *folder.parents):
        git = here / ".git"
        if git.exists():
            yield here
            if git.is_file():
                git = _named_in(git, "gitdir:") or git
                if not (git / "HEAD").is_file():
                    return  # it is no repository's, whatever the file says
                yield git
                git = _named_in(git / "commondir") or git
                if not (git / "objects").is_dir():
                    return
                yield git
            yield from _alternates(git / "objects")
            return


def _alternates(objects: Path) -> Iterator[Path]:
    """Other repositories' objects that this one uses."""
    for line in _text(objects / "info" / "alternates").splitlines()[:_FILES]:
        place = Path(os.path.normpath(objects / line)) if line and "\0" not in line else objects
        if place.name == "objects" and (place / "pack").is_dir():
            yield place


def _named_in(file: Path, before: str = "") -> Path | None:
    named = _text(file).removeprefix(before).strip()
    return Path(os.path.realpath(file.parent / named)) if named and "\0" not in named else None


def _configuration(homes: Sequence[Path]) -> Iterator[Path]:
    """The person's own configuration of git, and the files that it names."""
    base = caller_environ().get("XDG_CONFIG_HOME", "")
    files = [home / name for home in homes for name in _DOTFILES]
    files += [Path(base, "git")] if base.startswith("/") else []
    yield from files
    waiting = [path for path in files if path.name == ".gitconfig"]
    waiting += [path / "config" for path in files if path.name == "git"]
    for count, file in enumerate(waiting):
        if count >= _FILES:
            return
        for named in _NAMED.findall(_text(file)):
            path = Path(os.path.normpath(file.parent / Path(named.strip()).expanduser()))
            if path.is_file() and path not in waiting and not sensitive_paths.secret(Path(os.path.realpath(path))):
                yield path
                waiting.append(path)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""

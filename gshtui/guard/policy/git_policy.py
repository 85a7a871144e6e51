"""What git may do unasked: run programs that a repository's configuration names, or overwrite what others have fetched.

The configuration is found as git itself finds it: names in `.git` and `commondir` are bytes of which only line ends are
cut off, `..` in them is led by the system, and the search goes up to the repository's top, wherever the project begins.
What is too long or is no file or repository as git makes it counts as running programs. Only reads; blocks for a
moment.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from gshtui.system.files.private_files import open_reader

_VALUED = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"))
"""Options of git whose value is the next word."""
_TAKEN = frozenset(("-o", "--push-option", "--receive-pack", "--exec", "--repo"))
"""The same of `git push`."""
_OPTIONS = 80
_FLAGS = ("--force", "--delete", "--mirror", "--prune")
_SHORT = re.compile(r"-[a-zA-Z]+")


def with_flags(words: Sequence[str]) -> list[str]:
    """The words, and behind them the flags that a push's refspecs stand for: `+x` is `--force`, `:x` is `--delete`."""
    more: list[str] = []
    for word in _pushed(words):
        if word.startswith("+"):
            more.append("--force")
        elif word.startswith(":") and len(word) > 1:
            more.append("--delete")
    return [*words, *dict.fromkeys(more)]


def overwrites(words: Sequence[str]) -> bool:
    """Whether the command is a push that overwrites or deletes what others may have fetched."""
    at = _push(words)
    if at < 0:
        return False
    configured = any(re.search(r"(?i)^remote\..*\.(?:push=\+|mirror)", word) for word in words[:at])
    said = with_flags(words)[at:]
    # A long flag may be shortened as long as only one begins so: --forc, --mir.
    long = any(len(w) > 4 and any(f.startswith(w.partition("=")[0]) for f in _FLAGS) for w in said if w[:2] == "--")
    lease = any(word.startswith("--force") for word in said)
    return configured or long or lease or any(_SHORT.fullmatch(word) and set(word) & set("fd") for word in said)


def _push(words: Sequence[str]) -> int:
    """The place behind the word `push` of a command of git, behind whatever wrapper; -1: there is none."""
    for start, word in enumerate(words):
        if word.rpartition("/")[2] != "git":
            continue
        at = start + 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _VALUED else 1
            if at - start > _OPTIONS:
                return at  # nobody writes so many: what comes behind them is not worth a long search
        if at < len(words) and words[at] == "push":
            return at + 1
    return -1


def _pushed(words: Sequence[str]) -> list[str]:
    """The refspecs of a push; the first of them may be the repository's name."""
    at = _push(words)
    found: list[str] = []
    while 0 <= at < len(words):
        word = words[at]
        if word.startswith("-") and word != "--":
            at += 2 if word in _TAKEN else 1
            continue
        found.append(word)
        at += 1
    return found


_RUNS = re.compile(
    # Anywhere in a line: a section's heading and its keys may stand behind one another.
    rb"(?i)\[[^\S\n]*+(?:diff|filter|merge|include|includeif|alias|pager|gpg|credential|hook)\b"
    rb"|\b(?:fsmonitor|hookspath|external|textconv|pager|sshcommand|worktree|attributesfile|uploadpack|receivepack|vcs"
    rb"|gitproxy|askpass|alternaterefscommand)[^\S\n]*+=|\b(?:promisor|partialclone)\b"
)
_LONGEST = 1 << 20
"""Largest file, in bytes, of those that git reads on the way to its configuration, and of that itself."""
_LARGEST_INDEX = 1 << 26
"""Largest index, in bytes, in which submodules are looked for; in one that is larger, there may be some."""
_LOOKED = 20_000
"""Files and folders among which nested repositories are looked for."""
_GITLINK = (0o160000).to_bytes(4, "big")
"""How the index of a repository marks a submodule."""
_HEAD = re.compile(rb"ref:[ \t\r\n]{0,200}+refs/|[0-9a-fA-F]{40}")
_KEPT = ("objects", "refs")
"""Folders without which git sees no repository."""
_RUNS_PROGRAMS = "git's configuration here runs programs"


class _StrangeError(Exception):
    """Something is not as git makes it; the message says what, as the end of a sentence."""


def programs_run(folder: Path) -> str:
    """Why git would run a program of the repository's in this real folder, or empty."""
    for here in (folder, *folder.parents):
        git = here / ".git"
        if os.path.lexists(git) and not _is_passed_by(git):
            return _configured(git) or _submodules_configured(here)
        if _looks_bare(here):
            return f"{here.name} is a bare repository with its own configuration"
    return ""


def files_below(place: Path, *, installed: bool = True) -> Iterator[Path]:
    """Files below a folder, those of git left out. `installed`: packages, too, which every project leaves out."""
    waiting = [place]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    yield Path(entry.path)
                    left_out = entry.name == ".git" or (not installed and entry.name == "node_modules")
                    if not left_out and entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
        except OSError:
            continue


def _is_passed_by(git: Path) -> bool:
    """Whether git surely looks further up, as this `.git` is a folder, but no repository's."""
    return git.is_dir() and not os.path.lexists(git / "HEAD")


def _looks_bare(folder: Path) -> bool:
    """Whether git might take a folder without `.git` for a repository's own files."""
    others = ("config", "objects", "commondir")
    return os.path.lexists(folder / "HEAD") and any(os.path.lexists(folder / name) for name in others)


def _configured(git: Path) -> str:
    """Why the configuration of the repository whose `.git` this is runs programs, or empty."""
    try:
        own, common = _folders(git)
        for place in dict.fromkeys((own, common)):
            for name in ("config", "config.worktree"):
                if os.path.lexists(place / name) and _RUNS.search(_read(place / name)):
                    return _RUNS_PROGRAMS
    except _StrangeError as error:
        return str(error)
    except OSError as error:
        return f"cannot read git's configuration: {error.strerror or error}"
    return ""


def _submodules_configured(top: Path) -> str:
    """Why git would run programs that a submodule's configuration names, or empty.

    Git looks into each repository at a place that the index calls a submodule, whoever made it. Which those are is in
    a format of several versions, so that all nested repositories count as soon as there is one such place.
    """
    try:
        own, _ = _folders(top / ".git")
        if not _may_have_submodules(own):
            return ""
    except _StrangeError as error:
        return str(error)
    except OSError as error:
        return f"cannot read git's index: {error.strerror or error}"
    for count, path in enumerate(files_below(top)):
        if count >= _LOOKED:
            return "it has submodules, and too many files to find them"
        if path.name.casefold() == ".git" and (why := _configured(path)):
            return f"{why}, in {path.parent.name}"
    return ""


def _may_have_submodules(own: Path) -> bool:
    """Whether a file of the index marks one: it may be in two parts, and either may be too large to be read."""
    for index in (own / "index", *own.glob("sharedindex.*")):
        try:
            if os.path.lexists(index) and _GITLINK in _read(index, _LARGEST_INDEX):
                return True
        except _StrangeError:
            return True
    return False


def _folders(git: Path) -> tuple[Path, Path]:
    """Where the files are of the repository whose `.git` this is, and those that it shares with others.
    Raises `OSError`: something cannot be read; `_StrangeError`: git did not make it so.
    """
    own = git
    if not stat.S_ISDIR(git.stat().st_mode):
        line = _read(git)
        if not line.startswith(b"gitdir: "):
            raise _StrangeError(f"{git.parent.name}/.git does not name a repository")
        own = _named(git.parent, line.removeprefix(b"gitdir: "))
    common = own
    if os.path.lexists(own / "commondir"):
        common = _named(own, _read(own / "commondir"))
    head = own / "HEAD"
    found = not head.is_symlink() and _HEAD.match(_read(head))
    if not found or not all((common / name).is_dir() and os.access(common / name, os.X_OK) for name in _KEPT):
        # Git may pass it by, and take the next repository above.
        raise _StrangeError(f"{git.parent.name}/.git is not a repository as git makes it")
    return own, common


def _named(base: Path, line: bytes) -> Path:
    """The path that a file of git's names. It is not made shorter: the system leads `..` back behind a link."""
    name = line.rstrip(b"\r\n")
    if not name or b"\0" in name:
        raise _StrangeError("a file of git's names no path")
    return base / os.fsdecode(name)


def _read(file: Path, most: int = _LONGEST) -> bytes:
    """All of a file. Raises `OSError`, and `_StrangeError` if it is larger than `most` bytes or no regular file."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # does not wait for a pipe's other end
    with open_reader(descriptor) as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _StrangeError(f"{file.name} of git's is no regular file")
        content = opened.read(most + 1)
    if len(content) > most:
        raise _StrangeError(f"{file.name} of git's is too long to be checked")
    return content

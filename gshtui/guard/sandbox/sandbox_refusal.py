"""What a sandbox refused to a command, and what would allow it: for the result and for a question.

Pure, but for `hidden_in`, which looks whether a file is there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.text.host_rules import host_rule
from gshtui.text.sanitise import literal, one_line

NETWORK = "the network"
_MOST, _LINES = 5, 2000
_MISSING = (": No such file or directory", ": Permission denied", ": Not a directory")
_READ_ONLY = re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE)
_DENIED = re.compile(r"permission denied|\bEACCES\b", re.IGNORECASE)
_QUOTED = re.compile(r"['\"‘“`]([^'\"‘“`’”\n]{1,1024}+)['\"’”`]")
_PATH = re.compile(r"(?<![^\s:=(])((?:~|\.{0,2})/[^\s:'\"]{1,1024})")
_UNKNOWN_HOST = re.compile(
    r"(?:could not resolve (?:host|hostname|proxy):? |EAI_AGAIN |lookup |host=|failed to resolve |getaddrinfo for )"
    r"['\"]?([A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){1,10})",
    re.IGNORECASE,
)


class SandboxRefusal(msgspec.Struct, frozen=True):
    """One thing that was refused.

    Attributes:
        kind: path: it can only be read. hidden: it is there, but not to be seen. host: it is not to be reached.
            limit: more than a command may use.
        subject: the path, the host with its port where that is known, or the setting's key.
        allow: what would allow it, as a sentence.
    """

    kind: Literal["path", "hidden", "host", "limit"]
    subject: str
    allow: str

    @property
    def host(self) -> str:
        """The rule of `[sandbox] hosts` that would allow it; empty: none would."""
        if self.kind != "host":
            return ""
        try:
            return host_rule(_without_port(self.subject)) and _without_port(self.subject)
        except ValueError:
            return ""

    @property
    def sentence(self) -> str:
        what = {"path": "cannot write", "hidden": "cannot see", "host": "no way to", "limit": "over the limit"}[
            self.kind
        ]
        return f"{what} {self.subject}: {self.allow}"


def refused_host(subject: str, why: str = "") -> SandboxRefusal:
    """A host that the rules do not cover."""
    shown = one_line(literal(_without_port(subject)), 200)
    reason = f" ({one_line(why, 200)})" if why else ""
    return SandboxRefusal("host", one_line(literal(subject), 200), f'`[sandbox] hosts = ["{shown}"]` allows it{reason}')


def _without_port(subject: str) -> str:
    return subject.rpartition(":")[0] if subject.endswith((":443", ":80")) else subject


def refused_limit(key: str, what: str) -> SandboxRefusal:
    """A limit that ended the command: the setting's key, and what happened."""
    raises = "" if key == "writable_paths" else f"; `[sandbox] {key}` raises it"  # nothing does for a full disk
    return SandboxRefusal("limit", f"sandbox.{key}", f"{what}{raises}")


def refused_network(tries: int) -> SandboxRefusal:
    """What the kernel counted of attempts to leave a sandbox without a network."""
    times = "once" if tries == 1 else f"{tries} times"
    return SandboxRefusal("host", NETWORK, f"it tried {times} to reach what is outside; `[sandbox] hosts` allows hosts")


def refusals_in(
    output: str, *, network: bool, is_read_only: Callable[[str], bool] | None = None
) -> list[SandboxRefusal]:
    """What a command's own messages say of it.

    Args:
        output: what it printed; the last lines are read.
        network: whether the network was there, or a proxy that knows better.
        is_read_only: whether the sandbox lets nobody write what these words name. With it, only that counts, and hosts
            do not: a command that succeeded may print such messages of something else.
    """
    found: dict[str, SandboxRefusal] = {}
    for line in output.split("\n")[-_LINES:]:
        if len(line) > 4096:
            continue
        if _READ_ONLY.search(line) and (path := _refused_path(line, is_read_only)):
            allow = "`[sandbox] writable_paths` with its folder allows it"
            if ".git" in path.split("/"):
                allow = "git's own files can only be read here; the tool `git_commit` commits"
            found.setdefault(path, SandboxRefusal("path", path, allow))
        if not network and is_read_only is None and (host := _UNKNOWN_HOST.search(line)):
            found.setdefault(host[1].lower(), refused_host(host[1].lower()))
        if len(found) >= _MOST:
            break
    return list(found.values())


def _refused_path(line: str, is_read_only: Callable[[str], bool] | None) -> str:
    """The path in a message; of several, the first that can only be read. Empty: there is none that counts."""
    before = _READ_ONLY.split(line, maxsplit=1)[0].rstrip(" :(")
    named = [*_QUOTED.findall(line), before.rpartition(": ")[2], *_PATH.findall(line)]
    if is_read_only is not None:
        named = [each for each in named if each and "\0" not in each and is_read_only(each)]
    else:
        named = [*_QUOTED.findall(line), *_PATH.findall(line), "a file"]
    return one_line(literal(named[0]), 300) if named else ""


def unreadable_in(output: str, secrets: Sequence[Path], project: Path) -> list[SandboxRefusal]:
    """Files with keys or passwords that a command was not let read, as far as its messages say so.

    Args:
        output: what it printed; the last lines are read.
        secrets: those that it could not read.
        project: the folder from which they are named.
    """
    found: dict[str, SandboxRefusal] = {}
    lines = [line for line in output.split("\n")[-_LINES:] if len(line) <= 4096 and _DENIED.search(line)]
    for path in secrets if lines else ():
        if any(path.name in line for line in lines) and len(found) < _MOST:
            named = str(path.relative_to(project)) if path.is_relative_to(project) else str(path)
            why = "it may hold keys or passwords; a command that names it is asked about, `[sandbox] visible` shows it"
            found[named] = SandboxRefusal("hidden", one_line(literal(named), 300), why)
    return list(found.values())


def hidden_in(output: str, folder: Path) -> list[SandboxRefusal]:
    """Files that a line which only reads could not find although they are there. Blocks for a moment.

    Args:
        output: what it printed; the last lines are read.
        folder: where it started.
    """
    found: dict[str, SandboxRefusal] = {}
    for line in output.split("\n")[-_LINES:]:
        said = next((each for each in _MISSING if each in line[:4096]), "")
        if not said or len(found) >= _MOST:
            continue
        subject = line.partition(said)[0].rpartition(": ")[2]
        if "'" in subject:
            subject = subject.partition("'")[2].rpartition("'")[0]
        if subject and "\0" not in subject and os.path.exists(folder / subject):  # noqa: PTH110 - it asks for no reason
            path = one_line(literal(subject), 300)
            real = one_line(literal(os.path.realpath(folder / subject)), 300)
            why = f"a line that only reads this project does not see {real}; one that names that path is asked about"
            found.setdefault(path, SandboxRefusal("hidden", path, why))
    return list(found.values())

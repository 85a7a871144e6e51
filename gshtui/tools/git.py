"""Run git for the workbench itself: it never runs what a repository's own files ask for, and always returns.

Hooks, fsmonitor, external diffs, signing programs and the repository's filters and merge drivers are off; optional
locks and prompts are too. It looks into no submodule, whose settings name further programs, and talks to no remote.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gshtui.commands.declaration import CommandError
from gshtui.guard.child_environment import command_environment
from gshtui.system import processes
from gshtui.text.sanitise import plain

_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.sshCommand=false"),
    *("-c", "diff.external=", "-c", "protocol.ext.allow=never", "-c", "submodule.recurse=false", "-c", "gc.auto=0"),
    *("-c", "commit.gpgSign=false", "-c", "merge.verifySignatures=false", "-c", "maintenance.auto=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "diff.ignoreSubmodules=dirty", "-c", "status.submoduleSummary=false", "-c", "diff.submodule=short"),
    *("--no-optional-locks", "--no-pager"),
)
_LOCAL = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
"""Nothing here needs a remote. A repository may name the program that answers for one, and missing objects that are
asked of it. Stronger than any setting of a repository."""
_MOST = 8 << 20


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """What git said."""

    code: int
    out: str
    error: str
    """Sanitised."""
    cut: bool = False
    """`out` is cut to the first 8 MB."""


async def git(
    folder: Path,
    *arguments: str,
    timeout: float = 60.0,
    index: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> GitAnswer:
    """Run git in a folder. To get file names in `out`, pass git `-z`: those that are not UTF-8 come undecoded.

    Args:
        index: an index to use instead of the working tree's own.
        env: further variables.

    Raises:
        CommandError: git is not installed, or did not end within `timeout` seconds.
    """
    filters = await _no_filters(folder, timeout)
    more = dict(env or {}) | ({} if index is None else {"GIT_INDEX_FILE": str(index)})
    if arguments[:1] in (("diff",), ("status",)):  # as an option, as .gitmodules outweighs the setting
        arguments = (arguments[0], "--ignore-submodules=dirty", *arguments[1:])
    links = await _submodules(folder, (*_SAFE, *filters), timeout, more) if arguments[:1] == ("add",) else ()
    left_out = tuple(f":(exclude,top,literal){name}" for name in links)
    answer = await _git(folder, (*_SAFE, *filters, *arguments, *left_out), timeout, more)
    named = links if ":/" in arguments else tuple(name for name in links if f":(top,literal){name}" in arguments)
    if named and "--all" in arguments:
        # Unlike `add`, this only reads which commit each is at.
        words = ("update-index", "--remove", "--", *named)
        moved = await _git(folder, (*_SAFE, *filters, *words), timeout, more)
        answer = answer if answer.code else moved
    return answer


async def _submodules(
    folder: Path, options: tuple[str, ...], timeout: float, more: Mapping[str, str]
) -> tuple[str, ...]:
    """Names of those in the index, from the top. `add` runs git in each, with its own filters, and has no option."""
    answer = await _git(folder, (*options, "ls-files", "-z", "--stage", "--full-name", "--", ":/"), timeout, more)
    return tuple(entry.partition("\t")[2] for entry in answer.out.split("\0") if entry.startswith("160000 "))


async def _no_filters(folder: Path, timeout: float) -> tuple[str, ...]:
    """Options that disable the filter and driver programs configured in the repository."""
    pattern = r"^(filter\..*|merge\..*\.driver)$"
    question = ("config", "--local", "--includes", "--name-only", "-z", "--get-regexp", pattern)
    answer = await _git(folder, (*_SAFE, *question), timeout)
    names = {name.rpartition(".")[0] for name in answer.out.split("\0") if name}
    off: list[str] = []
    for name in sorted(names):
        if name.startswith("merge."):
            off += ["-c", f"{name}.driver=false"]  # a driver that fails is a conflict, and git reports it
            continue
        for part, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")):
            off += ["-c", f"{name}.{part}={value}"]
    return tuple(off)


async def _git(
    folder: Path, arguments: tuple[str, ...], timeout: float, more: Mapping[str, str] | None = None
) -> GitAnswer:
    environ = command_environment(os.environ) | {"LC_ALL": "C", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true"}
    environ |= {**_LOCAL, **(more or {})}
    try:
        process = await processes.start_child(
            "git",
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env=environ,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if not folder.is_dir():
            raise CommandError(f"The folder {folder} does not exist.") from error
        raise CommandError("git is not installed.", hint="Install it with your package manager.") from error
    try:
        async with asyncio.timeout(timeout):
            out, failure = await process.communicate()
    except TimeoutError as error:
        raise CommandError(f"git did not answer within {timeout:g} s.", hint="Try again.") from error
    finally:
        if process.returncode is None:
            await processes.kill_child(process)
    return GitAnswer(
        process.returncode or 0,
        out[:_MOST].decode("utf-8", "surrogateescape"),
        plain(failure[:4096].decode("utf-8", "replace")).strip(),
        len(out) > _MOST,
    )

"""How the workbench itself calls git: nothing that a repository's own files ask for is run, and it always comes back.

Hooks, fsmonitor, external diffs and the repository's filters are off, no lock is taken that is not needed, no
question can be asked. Called by `git_worktree`.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from gshtui.agents.tools.environment import scrubbed
from gshtui.commands.declaration import CommandError
from gshtui.guard.sanitise import plain

_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.sshCommand=false"),
    *("-c", "diff.external=", "-c", "protocol.ext.allow=never", "-c", "submodule.recurse=false", "-c", "gc.auto=0"),
    *("--no-optional-locks", "--no-pager"),
)
_MOST = 8 << 20


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """What git said."""

    code: int
    out: str
    error: str
    """Sanitised."""


async def git(folder: Path, *arguments: str, timeout: float = 60.0) -> GitAnswer:
    """Run git in a folder. For file names in `out`, ask git for `-z`: they come undecoded where they are no UTF-8.

    Raises:
        CommandError: git is not installed, or did not end within `timeout` seconds.
    """
    filters = await _no_filters(folder, timeout)
    return await _git(folder, (*_SAFE, *filters, *arguments), timeout)


async def _no_filters(folder: Path, timeout: float) -> tuple[str, ...]:
    """Options that take the programs out of filters which the repository's own configuration brings."""
    question = ("config", "--local", "--includes", "--name-only", "-z", "--get-regexp", r"^filter\..*")
    answer = await _git(folder, (*_SAFE, *question), timeout)
    names = {name.rpartition(".")[0] for name in answer.out.split("\0") if name}
    off: list[str] = []
    for name in sorted(names):
        for part, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")):
            off += ["-c", f"{name}.{part}={value}"]
    return tuple(off)


async def _git(folder: Path, arguments: tuple[str, ...], timeout: float) -> GitAnswer:
    environ = scrubbed(os.environ) | {"LC_ALL": "C", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true"}
    try:
        process = await asyncio.create_subprocess_exec(
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
            process.kill()
            await process.wait()
    return GitAnswer(
        process.returncode or 0,
        out[:_MOST].decode("utf-8", "surrogateescape"),
        plain(failure[:4096].decode("utf-8", "replace")).strip(),
    )

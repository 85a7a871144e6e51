"""Run git for the workbench itself: it never runs what a repository's own files ask for, and always returns.

Hooks (also those that the configuration names), fsmonitor, external diffs, signing programs and the repository's
filters and merge drivers are off; optional locks and prompts are too. It looks into no submodule, whose settings name
further programs, and talks to no remote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gshtui.commands.declaration import CommandError
from gshtui.guard.secrets.child_environment import command_environment
from gshtui.system.caller_environment import caller_environ
from gshtui.system.expected_error import ProgramMissing
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
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
_PROGRAMS = r"^(filter\..*|merge\..*\.driver|hook\..*\.command|includeif\..*\.path|gsh\.known)$"
_KNOWN = "gsh.known"
"""A setting of ours, by which to see that git takes settings from its environment."""
_MOST_SETTINGS = 2_000


class GitAnswer(msgspec.Struct, frozen=True):
    """What git said."""

    code: int
    out: str
    error: str
    """Sanitised, without a full stop at its end."""
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

    Raises `CommandError`: git is not installed, or did not end within `timeout` seconds.
    """
    programs = await _no_programs(folder, timeout, elsewhere=arguments[:2] == ("worktree", "add"))
    more = {**programs, **(env or {})} | ({} if index is None else {"GIT_INDEX_FILE": str(index)})
    if arguments[:1] in (("diff",), ("status",)):  # as an option, as .gitmodules outweighs the setting
        arguments = (arguments[0], "--ignore-submodules=dirty", *arguments[1:])
    links = await _submodules(folder, _SAFE, timeout, more) if arguments[:1] == ("add",) else ()
    left_out = tuple(f":(exclude,top,literal){name}" for name in links)
    answer = await _git(folder, (*_SAFE, *arguments, *left_out), timeout, more)
    named = links if ":/" in arguments else tuple(name for name in links if f":(top,literal){name}" in arguments)
    if named and "--all" in arguments:
        # Unlike `add`, this only reads which commit each is at.
        words = ("update-index", "--remove", "--", *named)
        moved = await _git(folder, (*_SAFE, *words), timeout, more)
        answer = answer if answer.code else moved
    return answer


async def _submodules(
    folder: Path, options: tuple[str, ...], timeout: float, more: Mapping[str, str]
) -> tuple[str, ...]:
    """Names of those in the index, from the top. `add` runs git in each, with its own filters, and has no option."""
    answer = await _git(folder, (*options, "ls-files", "-z", "--stage", "--full-name", "--", ":/"), timeout, more)
    return tuple(entry.partition("\t")[2] for entry in answer.out.split("\0") if entry.startswith("160000 "))


async def _no_programs(folder: Path, timeout: float, *, elsewhere: bool) -> dict[str, str]:
    """Variables that disable the filters, merge drivers and hooks that the configuration names (hooks since git 2.54).

    Not as options of git, in which a name with `=` would stand for another setting. A person's own filters stay.
    `elsewhere`: git will work in another working tree than this, in which other conditions may hold.
    """
    question = ("config", "--includes", "--show-scope", "--name-only", "-z", "--get-regexp", _PROGRAMS)
    answer = await _git(folder, (*_SAFE, *question), timeout, _numbered({_KNOWN: "true"}))
    fields = answer.out.split("\0")
    found = list(zip(fields[1::2], fields[::2], strict=False))
    if answer.code == 0 and (_KNOWN, "command") not in found:
        raise CommandError("git here is older than 2.31, and cannot be kept from programs of a repository's.")
    off: dict[str, str] = {}
    for key, scope in found:
        name = key.rpartition(".")[0]
        if key == _KNOWN:
            continue
        if name.startswith("includeif."):
            if elsewhere and scope in ("local", "worktree"):
                raise CommandError(
                    "The repository's own configuration includes files on a condition, and they may name programs.",
                    hint="Look for `includeIf` in its .git/config; git itself can still do it, in your shell.",
                )
            continue
        if name.startswith("hook."):
            off[f"{name}.enabled"] = "false"
        elif scope in ("local", "worktree") and name.startswith("merge."):
            off[f"{name}.driver"] = "false"  # a driver that fails is a conflict, and git reports it
        elif scope in ("local", "worktree"):
            off |= {f"{name}.clean": "", f"{name}.smudge": "", f"{name}.process": "", f"{name}.required": "false"}
    if len(off) > _MOST_SETTINGS:
        raise CommandError("git's configuration here names more programs than can be switched off.")
    return _numbered(off)


def _numbered(settings: Mapping[str, str]) -> dict[str, str]:
    """Variables that git reads as settings, since 2.31."""
    keys = {f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(settings)}
    values = {f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(settings.values())}
    return {**keys, **values, "GIT_CONFIG_COUNT": str(len(settings))}


async def _git(
    folder: Path, arguments: tuple[str, ...], timeout: float, more: Mapping[str, str] | None = None
) -> GitAnswer:
    if any("\0" in word for word in arguments):
        raise CommandError("git cannot be given a name with a NUL in it.")
    environ = command_environment(caller_environ()) | {"LC_ALL": "C", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true"}
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
    except ProgramMissing as error:
        raise CommandError(error.message, hint=error.hint) from error
    except FileNotFoundError as error:
        raise CommandError(f"The folder {folder} does not exist.") from error
    except OSError as error:
        raise CommandError(f"git cannot be started: {error.strerror or error}.") from error
    try:
        async with time_limit(timeout):
            out, failure, _ = await asyncio.gather(
                _beginning(process.stdout, _MOST + 1), _beginning(process.stderr, 4096), process.wait()
            )
    except TimeoutError as error:
        raise CommandError(f"git did not answer within {timeout:g} s.", hint="Try again.") from error
    finally:
        await processes.kill_child(process)
    return GitAnswer(
        process.returncode or 0,
        out[:_MOST].decode("utf-8", "surrogateescape"),
        plain(failure.decode("utf-8", "replace")).strip().rstrip("."),
        len(out) > _MOST,
    )


async def _beginning(pipe: asyncio.StreamReader | None, most: int) -> bytes:
    """The first bytes of what comes; the rest is read and forgotten, so that git ends as it would."""
    assert pipe is not None
    kept = bytearray()
    while chunk := await pipe.read(1 << 16):
        kept += chunk[: most - len(kept)]
    return bytes(kept)

"""The `git_commit` tool: a commit made by our own git call, outside the sandbox, in which `.git` can only be read.

None of the repository's programs run: no hooks, no signing program, no filters. Where that would leave something out,
and where the commit would carry keys or replace what others may have fetched, a person is asked, whatever the mode.
What is committed is what was judged, or nothing.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation, Outcome
from gshtui.commands.schema import PLAIN, ToolParameters
from gshtui.guard.policy import sensitive_paths
from gshtui.settings.git_programs import hooks_in_force
from gshtui.text.sanitise import literal, one_line, visible
from gshtui.tools.files.workspace import Workspace
from gshtui.tools.git.git import git
from gshtui.tools.git.worktree import copied_index, count, path_in, require_success

DESCRIPTION = """\
Commit what is staged, or with `all` every change that is not ignored. Use it in place of `git commit` in `bash`, \
whose sandbox cannot write to .git. The repository's hooks do not run, and nothing is signed."""
_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite", "reference-transaction")
"""What git runs around a commit."""
_LONGEST = 100_000
"""Bytes of a message; a process takes 128 KB in one word."""
_SHOWN = 200_000
"""Characters of the diff that a question has."""


class CommitParameters(ToolParameters):
    """What to commit."""

    message: str = Field(description="Subject, and behind an empty line what else to say", json_schema_extra=PLAIN)
    all: bool = Field(default=False, description="Stage every change first, new files too")
    amend: bool = Field(default=False, description="Replace the last commit")


class _Plan(msgspec.Struct, frozen=True):
    """What a commit would have in it."""

    top: Path
    tree: str
    """The files, as git names them all together."""
    names: tuple[str, ...]
    """Files that it changes, from the top."""
    diff: str


async def assess(workspace: Workspace, invocation: Invocation, parameters: CommitParameters) -> Assessment:
    """Say what would be committed, and what speaks against doing so unasked."""
    message = _message(parameters)
    limit = workspace.config.git_timeout_s
    plan = await _planned(invocation, parameters, limit)
    workspace.record_tree(invocation, plan.tree)
    doubts = await _doubts(invocation, parameters, plan, limit)
    flags = [flag for flag, on in (("--all", parameters.all), ("--amend", parameters.amend)) if on]
    files = count(len(plan.names), "file")
    what = f"{'amend the last commit' if parameters.amend else 'commit'}, {files}: {one_line(message, 200)}"
    return Assessment(
        effect=Effect.WRITE,
        subject=one_line(literal(what)),
        inside=not doubts,
        detail=f"in {_shown(plan.top)}\n{visible(message)}",
        diff=plan.diff,
        key="\0".join((str(plan.top), plan.tree, str(parameters.amend), message)),
        warnings=tuple(doubts),
        why=f"{doubts[0]} (rule commit)" if doubts else "",
        pattern="" if doubts else "commits of what is staged or changed",
        line=shlex.join(("git", "commit", *flags, "-m", one_line(message, 200))),
    )


async def run(workspace: Workspace, invocation: Invocation, parameters: CommitParameters) -> Outcome:
    message = _message(parameters)
    limit = workspace.config.git_timeout_s
    top = await _top(invocation, limit)
    if parameters.all:
        require_success(await git(top, "add", "--all", "--", ":/", timeout=limit), "git cannot add the changes")
    told = workspace.assessed_tree(invocation)
    if told and told != await _tree(top, None, limit):
        raise CommandError(
            "The changes to be committed are no longer those that were judged.",
            hint="Nothing was committed. Look at `git diff --cached` and try again.",
        )
    words = ("--amend",) if parameters.amend else ()
    made = await git(top, "commit", "--quiet", "--no-verify", *words, "-m", message, timeout=limit)
    require_success(made, "git cannot commit")
    shown = await git(top, "show", "-s", "--format=%h%x00%s", "HEAD", timeout=limit)
    require_success(shown, "git cannot show the new commit")
    commit, _, subject = shown.out.strip().partition("\0")
    subject = one_line(literal(subject), 200)
    text = f"{'Amended' if parameters.amend else 'Committed'}, now at {commit}: {subject}"
    return Outcome(data={"commit": commit, "subject": subject, "amended": parameters.amend}, text=text)


async def _planned(invocation: Invocation, parameters: CommitParameters, limit: float) -> _Plan:
    """Raises `CommandError`: there is no repository, or nothing to commit."""
    top = await _top(invocation, limit)
    async with AsyncExitStack() as stack:
        index = await stack.enter_async_context(copied_index(top, limit)) if parameters.all else None
        if index is not None:
            added = await git(top, "add", "--all", "--", ":/", timeout=limit, index=index)
            require_success(added, "git cannot add the changes")
        tree = await _tree(top, index, limit)
    head = await git(top, "rev-parse", "--verify", "--quiet", "HEAD^{tree}", timeout=limit)
    if head.code and parameters.amend:
        raise CommandError("There is no commit yet that could be amended.", hint="Leave out amend.")
    if head.code:
        empty = await git(top, "hash-object", "-t", "tree", os.devnull, timeout=limit)
        require_success(empty, "git cannot compare")
        before = empty.out.strip()
    else:
        before = head.out.strip()
    if before == tree and not parameters.amend and not await _merges(top, limit):
        hint = "" if parameters.all else "Stage changes first, or set all."
        raise CommandError("No staged changes to commit!" if hint else "There is nothing to commit.", hint=hint)
    safe = ("--no-ext-diff", "--no-textconv", "--no-renames")
    listed = await git(top, "diff", *safe, "--name-only", "-z", before, tree, timeout=limit)
    shown = await git(top, "diff", *safe, "--no-color", before, tree, timeout=limit)
    require_success(listed, "git cannot compare")
    names = tuple(name for name in listed.out.split("\0") if name)
    lines: list[str] = [literal(line) for line in shown.out[:_SHOWN].split("\n")]
    if len(shown.out) > _SHOWN:
        lines.append(f"[{len(shown.out) - _SHOWN:,} more characters]")
    return _Plan(top, tree, names, "\n".join(lines))


async def _doubts(invocation: Invocation, parameters: CommitParameters, plan: _Plan, limit: float) -> list[str]:
    """Why a person should be asked, each as the end of a sentence."""
    top, found = plan.top, list[str]()
    project = Path(os.path.realpath(invocation.project))
    if not all((top / name).is_relative_to(project) for name in plan.names):
        found.append(f"it commits files outside the project, in {_shown(top)}")
    if secret := next((name for name in plan.names if sensitive_paths.secret(top / name)), ""):
        found.append(f"it commits {one_line(literal(secret), 100)}, which may hold keys or passwords")
    hooks = await asyncio.to_thread(hooks_in_force, top)
    if skipped := [name for name in _HOOKS if name in hooks]:
        found.append(f"the repository's {' and '.join(skipped)} would not run")
    # The last value is our own, which turns it off.
    signs = await git(top, "config", "--type=bool", "--get-all", "commit.gpgSign", timeout=limit)
    if signs.out.split()[:-1][-1:] == ["true"]:
        found.append("your commits are signed, and this one would not be")
    if parameters.amend:
        there = await git(top, "branch", "--remotes", "--contains", "HEAD", "--format=%(refname:short)", timeout=limit)
        if branches := there.out.split():
            found.append(f"it replaces a commit that {one_line(literal(branches[0]), 100)} has already")
    return found


async def _top(invocation: Invocation, limit: float) -> Path:
    answer = await git(invocation.cwd, "rev-parse", "--show-toplevel", timeout=limit)
    return Path(os.path.realpath(path_in(answer, "git cannot say which repository this is")))


async def _tree(top: Path, index: Path | None, limit: float) -> str:
    written = await git(top, "write-tree", timeout=limit, index=index)
    require_success(written, "git cannot read what is staged")
    return written.out.strip()


async def _merges(top: Path, limit: float) -> bool:
    """Whether a merge waits for its commit, which may change no file."""
    waiting = await git(top, "rev-parse", "--verify", "--quiet", "MERGE_HEAD", timeout=limit)
    return waiting.code == 0


def _message(parameters: CommitParameters) -> str:
    message = parameters.message.strip()
    if not message:
        raise CommandError("The commit needs a message.")
    if "\0" in message or len(message.encode("utf-8", "replace")) > _LONGEST:
        raise CommandError(f"The message contains a NUL or is longer than {_LONGEST:,} bytes.", hint="Shorten it.")
    return message.encode("utf-8", "replace").decode()


def _shown(path: Path) -> str:
    return one_line(literal(str(path)), limit=4096)

"""The `git_worktree` tool: working trees beside the repository, for work on several branches at once.

Refuses to remove work that is nowhere else, unless told to. Run by the registry.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from gshtui.agents.tools import paths, sensitive
from gshtui.agents.tools.git import GitAnswer, git
from gshtui.agents.tools.parameters import ToolParameters
from gshtui.agents.tools.project import find_project
from gshtui.agents.tools.workspace import Workspace
from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation, Outcome
from gshtui.guard.sanitise import literal, one_line

DESCRIPTION = """\
Manage git worktrees: separate folders with other branches of this repository, so that several agents can work without \
getting in each other's way. action=create makes one for a branch, new or existing, beside the repository unless path \
says where. action=list shows them. action=remove takes one away, by path or branch, and keeps the branch; it refuses \
when changes there are not committed or commits are in no other branch and on no remote, unless force is true."""
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+/-]{0,199}")


class WorktreeParameters(ToolParameters):
    """What to do with which worktree."""

    action: Literal["create", "list", "remove"] = Field(description="What to do")
    branch: str = Field(default="", description="Branch for create (made when there is none), or of the one to remove")
    path: str = Field(default="", description="Folder of the worktree; create puts it beside the repository without it")
    force: bool = Field(default=False, description="remove: also when work would be lost")


@dataclass(frozen=True, slots=True)
class Worktree:
    """One working tree, as git lists it."""

    path: str
    branch: str = ""
    commit: str = ""
    main: bool = False
    locked: bool = False
    gone: bool = False
    """Its folder is not there any more."""


async def assess(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Assessment:
    """What it would make or remove."""
    if parameters.action == "list":
        return Assessment(Effect.READ, subject="list", detail="git worktree list", key="list")
    if parameters.action == "create":
        place = await asyncio.to_thread(_new_place, invocation, parameters)
    else:
        tree = await _found(workspace, invocation, parameters)
        place = await asyncio.to_thread(paths.locate, invocation, tree.path)
    workspace.assessed(invocation, parameters.path or parameters.branch, place.real)
    what = f"{parameters.action} {parameters.branch or ''} at {place.shown}".replace("  ", " ")
    lost = ("work that is nowhere else may be lost",) if parameters.force and parameters.action == "remove" else ()
    return Assessment(
        effect=Effect.WRITE,
        subject=one_line(literal(what)),
        inside=place.inside,
        detail=f"git worktree {what}",
        key=f"{parameters.action}\0{parameters.branch}\0{place.real}\0{parameters.force}",
        warnings=(*place.warnings, *lost),
    )


async def run(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Outcome:
    """Do it."""
    if parameters.action == "list":
        return _listed(await worktrees(workspace, invocation.cwd))
    if parameters.action == "create":
        return await _create(workspace, invocation, parameters)
    return await _remove(workspace, invocation, parameters)


async def worktrees(workspace: Workspace, folder: Path) -> list[Worktree]:
    """All working trees of the folder's repository, the main one first.

    Raises:
        CommandError: it is in no repository.
    """
    answer = await git(folder, "worktree", "list", "--porcelain", "-z", timeout=workspace.config.git_timeout_s)
    _must(answer, "git cannot list the worktrees")
    trees: list[Worktree] = []
    for block in answer.out.split("\0\0"):
        tree = Worktree("", main=not trees)
        for line in block.strip("\0").split("\0"):
            name, _, value = line.partition(" ")
            match name:
                case "worktree":
                    tree = replace(tree, path=value)
                case "HEAD":
                    tree = replace(tree, commit=value)
                case "branch":
                    tree = replace(tree, branch=value.removeprefix("refs/heads/"))
                case "locked":
                    tree = replace(tree, locked=True)
                case "prunable":
                    tree = replace(tree, gone=True)
                case _:
                    pass
        if tree.path:
            trees.append(tree)
    return trees


async def _create(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Outcome:
    place = await asyncio.to_thread(_new_place, invocation, parameters)
    told = workspace.told(invocation, parameters.path or parameters.branch)
    if told and told != str(place.real):
        raise CommandError(
            "The worktree's folder leads elsewhere than when it was approved.", hint="Look before you retry."
        )
    limit = workspace.config.git_timeout_s
    for tree in await worktrees(workspace, invocation.cwd):
        if tree.branch == parameters.branch:
            raise CommandError(f"{parameters.branch} is checked out already, at {tree.path}.", hint="Work there.")
    name = f"refs/heads/{parameters.branch}"
    exists = (await git(invocation.cwd, "show-ref", "--verify", "--quiet", name, timeout=limit)).code == 0
    what = ("--", str(place.real), parameters.branch) if exists else ("-b", parameters.branch, "--", str(place.real))
    _must(await git(invocation.cwd, "worktree", "add", *what, timeout=limit), "git cannot make the worktree")
    kind = "the branch" if exists else "the new branch"
    data = {"path": str(place.real), "branch": parameters.branch, "new_branch": not exists}
    return Outcome(data=data, text=f"Made a worktree at {place.real}, on {kind} {parameters.branch}.")


async def _remove(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Outcome:
    tree = await _found(workspace, invocation, parameters)
    if tree.main:
        raise CommandError(f"{tree.path} is the repository's main working tree and cannot be removed.")
    if invocation.cwd.resolve().is_relative_to(Path(tree.path).resolve()):
        raise CommandError(f"{tree.path} is where you work; it can be removed from another folder only.")
    limit = workspace.config.git_timeout_s
    if not parameters.force and not tree.gone and (loss := await _loss(tree, limit)):
        raise CommandError(f"{tree.path} holds {loss}.", hint="Commit and push it, or set force=true to give it up.")
    force = ("--force",) if parameters.force else ()
    main = Path((await worktrees(workspace, invocation.cwd))[0].path)
    if tree.gone:
        _must(await git(main, "worktree", "prune", timeout=limit), "git cannot forget the worktree")
    else:
        answer = await git(main, "worktree", "remove", *force, "--", tree.path, timeout=limit)
        _must(answer, "git cannot remove the worktree")
    kept = f" The branch {tree.branch} is kept." if tree.branch else ""
    return Outcome(data={"path": tree.path, "branch": tree.branch}, text=f"Removed the worktree at {tree.path}.{kept}")


async def _loss(tree: Worktree, limit: float) -> str:
    """What would be lost with the worktree, in words; empty when everything is elsewhere too."""
    folder = Path(tree.path)
    status = await git(folder, "status", "--porcelain", "-z", "--untracked-files=all", timeout=limit)
    _must(status, f"git cannot tell the state of {tree.path}")
    changes = [entry for entry in status.out.split("\0") if entry]
    if changes:
        names = ", ".join(one_line(literal(change[3:])) for change in changes[:3])
        return f"changes that are not committed ({names}{' …' if len(changes) > 3 else ''})"
    others = (f"--exclude={tree.branch}", "--branches") if tree.branch else ("--branches",)
    count = await git(folder, "rev-list", "--count", "HEAD", "--not", *others, "--remotes", "--tags", timeout=limit)
    _must(count, f"git cannot count the commits of {tree.path}")
    commits = int(count.out.strip() or 0)
    return f"{commits} commits that are in no other branch and on no remote" if commits else ""


async def _found(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Worktree:
    if not (parameters.path or parameters.branch):
        raise CommandError("remove needs a path or a branch.", hint="action=list shows them.")
    real = (await asyncio.to_thread(paths.locate, invocation, parameters.path)).real if parameters.path else None
    trees = await worktrees(workspace, invocation.cwd)
    for tree in trees:
        matches = Path(tree.path).resolve() == real if real else tree.branch == parameters.branch
        if matches:
            return tree
    known = ", ".join(tree.path for tree in trees[1:]) or "none"
    raise CommandError(f"There is no worktree {parameters.path or parameters.branch}.", hint=f"There are: {known}.")


def _new_place(invocation: Invocation, parameters: WorktreeParameters) -> paths.Place:
    branch = parameters.branch
    if not branch:
        raise CommandError("create needs a branch.", hint="Give the name of a new or an existing branch.")
    if not is_branch_name(branch):
        raise CommandError(
            f"{one_line(literal(branch))} is no valid branch name.", hint="Use letters, digits and - _ . / only."
        )
    project = find_project(invocation.cwd)
    if project.git_dir is None:
        raise CommandError(f"{invocation.cwd} is in no git repository.", hint="Run git init first.")
    beside = project.root.parent / f"{project.root.name}-{branch.replace('/', '-')}"
    place = paths.locate(invocation, parameters.path or str(beside))
    if why := sensitive.guarded(place.real):
        raise CommandError(f"{place.shown} cannot hold a worktree.", hint=why)
    if place.real.exists() and (not place.real.is_dir() or any(place.real.iterdir())):
        raise CommandError(f"{place.shown} exists already and is not empty.", hint="Give another path.")
    return place


def is_branch_name(name: str) -> bool:
    """Whether git takes it for a branch, of the characters that no shell and no tool takes for anything else."""
    if not _BRANCH.fullmatch(name) or ".." in name or "//" in name or "@{" in name or name in ("HEAD", "@"):
        return False
    return all(part and not part.startswith(".") and not part.endswith((".lock", ".")) for part in name.split("/"))


def _listed(trees: list[Worktree]) -> Outcome:
    data = [
        {
            "path": one_line(literal(tree.path), limit=4096),
            "branch": tree.branch,
            "commit": tree.commit,
            "main": tree.main,
            "locked": tree.locked,
            "gone": tree.gone,
        }
        for tree in trees
    ]
    rows: list[str] = []
    for tree in trees:
        marks = [w for w, on in (("main", tree.main), ("locked", tree.locked), ("folder gone", tree.gone)) if on]
        kind = f"  ({', '.join(marks)})" if marks else ""
        rows.append(f"{one_line(literal(tree.path), limit=4096)}  {tree.branch or tree.commit[:8]}{kind}")
    return Outcome(data=data, text="\n".join(rows))


def _must(answer: GitAnswer, what: str) -> None:
    if answer.code:
        raise CommandError(f"{what}: {answer.error or f'exit code {answer.code}'}.")

"""The `git_worktree` tool: working trees beside the repository, for work on several branches at once."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import Literal

from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation, Outcome
from gshtui.commands.schema import PLAIN, ToolParameters
from gshtui.text.sanitise import literal, one_line
from gshtui.tools import path_location, worktree_changes
from gshtui.tools.workspace import Workspace
from gshtui.tools.worktree import Worktree, count, find_worktree, list_worktrees
from gshtui.tools.worktree_changes import MergeResult, WorktreeChanges, changes_of
from gshtui.tools.worktree_create import create_worktree, place_for
from gshtui.tools.worktree_state import WorktreeState, losses_of, remove_worktree, state_of


def _list_outcome(trees: list[Worktree]) -> Outcome:
    """All of them, a line each."""
    data = [
        {
            "path": tree.shown,
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
        rows.append(f"{tree.shown}  {tree.branch or tree.commit[:8]}{kind}")
    return Outcome(data=data, text="\n".join(rows))


def _created_outcome(tree: Worktree) -> Outcome:
    """A new one."""
    kind = "the new branch" if tree.new_branch else "the branch"
    data = {"path": tree.path, "branch": tree.branch, "new_branch": tree.new_branch}
    text = " ".join((f"Made a worktree at {tree.shown}, on {kind} {tree.branch}.", *tree.notes))
    return Outcome(data=data | ({"notes": list(tree.notes)} if tree.notes else {}), text=text)


def _state_outcome(tree: Worktree, state: WorktreeState) -> Outcome:
    """The state of one worktree."""
    data = {
        "path": tree.shown,
        "branch": tree.branch,
        "uncommitted": list(state.uncommitted),
        "unpushed": state.unpushed,
        "changed_copies": list(state.changed_copies),
        "base": state.base,
        "ahead": state.ahead,
        "behind": state.behind,
    }
    against = (
        f"{state.ahead} ahead of and {state.behind} behind {state.base}" if state.base else "compared with nothing"
    )
    held = " and ".join(state.losses) or "nothing that is not elsewhere too"
    name = tree.branch or tree.commit[:8]
    return Outcome(data=data, text=f"{name} at {tree.shown} is {against}. It holds {held}.")


def _changes_outcome(changes: WorktreeChanges) -> Outcome:
    """Its changes, as a unified diff."""
    if not changes.files:
        name = changes.tree.branch or changes.tree.shown
        return Outcome(data=changes.plain(), text=f"{name} holds nothing that {changes.base} does not have.")
    diff: list[str] = []
    for file in changes.files:
        path, before = (one_line(literal(name), limit=1000) for name in (file.path, file.before or file.path))
        diff.append(f"--- {'/dev/null' if file.status == 'added' else f'a/{before}'}")
        diff.append(f"+++ {'/dev/null' if file.status == 'deleted' else f'b/{path}'}")
        diff += ["(binary)"] if file.binary else [literal(line) for line in file.lines]
    text = "\n".join(diff)
    return Outcome(data=changes.plain(), text=f"{changes.summary}\n\n```diff\n{text}\n```", diff=text)


def _merge_outcome(done: MergeResult) -> Outcome:
    """A merge that was made."""
    data = {"branch": done.branch, "base": done.base, "path": done.into, "commits": done.commits, "commit": done.commit}
    text = f"Merged {count(done.commits, 'commit')} of {done.branch} into {done.base}, now at {done.commit[:8]}."
    return Outcome(data=data, text=text)


def _patch_outcome(tree: Worktree, file: Path, size: int) -> Outcome:
    """A patch that was written."""
    shown = one_line(literal(str(file)), limit=4096)
    text = f"Wrote {size:,} bytes to {shown}. `git apply {shown}` applies it."
    return Outcome(data={"path": tree.shown, "branch": tree.branch, "file": shown, "bytes": size}, text=text)


DESCRIPTION = """\
Manage git worktrees: separate folders with other branches of this repository, so that several agents work without \
getting in each other's way. create makes one and copies what .worktreeinclude names. status says what is \
uncommitted, unpushed, ahead of and behind the base. diff shows all changes against the base, committed or not. merge \
merges the branch into its base and undoes it when there are conflicts. patch writes all changes to a file. remove \
takes one away and keeps the branch; it refuses to lose work. status, diff, merge and patch are about the worktree \
that you are in, unless path or branch names another."""
_READING = ("list", "status", "diff")


class WorktreeParameters(ToolParameters):
    """What to do with which worktree."""

    action: Literal["create", "list", "status", "diff", "merge", "patch", "remove"] = Field(
        description="What to do", json_schema_extra=PLAIN
    )
    branch: str = Field(default="", description="For create (made when there is none), or of the worktree meant")
    path: str = Field(default="", description="Its folder; empty, for create: beside the repository")
    base: str = Field(
        default="", description="Branch to start from, compare with or merge into; else what it grew from"
    )
    file: str = Field(default="", description="patch: file to write; empty: beside the repository")
    setup: bool | None = Field(default=None, description="create: run the configured set-up command")
    force: bool = Field(default=False, description="remove: also when work would be lost")


async def assess(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Assessment:
    """What it would read, make or remove."""
    action = parameters.action
    if action == "list":
        return Assessment(Effect.READ, subject="list", detail="git worktree list", key="list")
    warnings: tuple[str, ...] = ()
    effect, argv = (Effect.READ if action in _READING else Effect.WRITE), ()
    if action == "create":
        real = await asyncio.to_thread(_new_place, workspace, invocation, parameters)
        argv = _setup(workspace, parameters)
    else:
        tree = await _found(workspace, invocation, parameters)
        real = Path(tree.path)
        if action == "merge":
            real = Path(
                (await worktree_changes.merge_target(tree, parameters.base, workspace.config.git_timeout_s)).path
            )
        elif action == "patch":
            real = await _patch_file(workspace, invocation, parameters, tree)
        elif action == "remove":
            losses = await losses_of(tree, workspace.config.git_timeout_s) if parameters.force else []
            warnings = tuple(f"gives up {loss}" for loss in losses)
    place = await asyncio.to_thread(path_location.locate, invocation, str(real))
    workspace.record_assessed(invocation, _asked(parameters), place.real)
    what = f"{action} {parameters.branch or ''} at {place.shown}".replace("  ", " ")
    detail = f"git worktree {what}"
    if argv:
        effect = Effect.EXECUTE
        detail += f"\nthen, in it: {shlex.join(argv)}"
        what += f", then {shlex.join(argv)}"
    return Assessment(
        effect=effect,
        subject=one_line(literal(what)),
        inside=place.inside and not argv,
        detail=detail,
        key="\0".join((action, parameters.branch, str(place.real), parameters.base, str(parameters.force), *argv)),
        warnings=(*place.warnings, *warnings),
    )


async def run(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Outcome:
    """Do it."""
    limit = workspace.config.git_timeout_s
    match parameters.action:
        case "list":
            return _list_outcome(await list_worktrees(invocation.cwd, limit))
        case "create":
            return await _create(workspace, invocation, parameters)
        case "status":
            tree = await _found(workspace, invocation, parameters)
            return _state_outcome(tree, await state_of(tree, parameters.base, limit))
        case "diff":
            tree = await _found(workspace, invocation, parameters)
            return _changes_outcome(await changes_of(tree, parameters.base, limit))
        case "merge":
            tree = await _found(workspace, invocation, parameters)
            target = await worktree_changes.merge_target(tree, parameters.base, limit)
            _must_be_told(workspace, invocation, parameters, Path(target.path))
            return _merge_outcome(await worktree_changes.merge_worktree(tree, parameters.base, limit))
        case "patch":
            tree = await _found(workspace, invocation, parameters)
            file = await _patch_file(workspace, invocation, parameters, tree)
            _must_be_told(workspace, invocation, parameters, file)
            return _patch_outcome(tree, file, await worktree_changes.write_patch(tree, file, parameters.base, limit))
        case "remove":
            if not (parameters.path or parameters.branch):
                raise CommandError("remove needs a path or a branch.", hint="action=list shows them.")
            tree = await _found(workspace, invocation, parameters)
            removed = await remove_worktree(tree, invocation.cwd, force=parameters.force, limit=limit)
            data = {"path": tree.path, "branch": tree.branch, "lost": list(removed.lost)}
            return Outcome(data=data, text=removed.text)


async def _create(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Outcome:
    place = await asyncio.to_thread(_new_place, workspace, invocation, parameters)
    _must_be_told(workspace, invocation, parameters, place)
    tree = await create_worktree(
        invocation.cwd,
        parameters.branch,
        inside=workspace.config.worktrees_inside,
        at=await asyncio.to_thread(_at, invocation, parameters),
        base=parameters.base,
        setup=_setup(workspace, parameters),
        # The question about an agent's call named the command; a person asks for it after it was named.
        agreed=bool(workspace.approved_path(invocation, _asked(parameters)))
        if invocation.caller.is_agent
        else bool(parameters.setup),
        limit=workspace.config.git_timeout_s,
    )
    return _created_outcome(tree)


def _setup(workspace: Workspace, parameters: WorktreeParameters) -> tuple[str, ...]:
    return () if parameters.setup is False else workspace.config.worktree_setup


def _asked(parameters: WorktreeParameters) -> str:
    """By what a call is recognised between its approval and its run."""
    return f"{parameters.action} {parameters.path or parameters.branch} {parameters.file}"


def _must_be_told(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters, real: Path) -> None:
    told = workspace.approved_path(invocation, _asked(parameters))
    if told and told != os.path.realpath(real):
        raise CommandError(
            "The folder or file leads elsewhere than when it was approved.", hint="Look before you retry."
        )


def _at(invocation: Invocation, parameters: WorktreeParameters) -> Path | None:
    return path_location.locate(invocation, parameters.path).real if parameters.path else None


def _new_place(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Path:
    inside = workspace.config.worktrees_inside
    return place_for(invocation.cwd, parameters.branch, inside=inside, at=_at(invocation, parameters))


async def _patch_file(
    workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters, tree: Worktree
) -> Path:
    at = (await asyncio.to_thread(path_location.locate, invocation, parameters.file)).real if parameters.file else None
    main = (await list_worktrees(invocation.cwd, workspace.config.git_timeout_s))[0]
    return await asyncio.to_thread(worktree_changes.patch_place, tree, main, at)


async def _found(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Worktree:
    path = await asyncio.to_thread(_at, invocation, parameters)
    limit = workspace.config.git_timeout_s
    return await find_worktree(invocation.cwd, path=path, branch="" if path else parameters.branch, limit=limit)

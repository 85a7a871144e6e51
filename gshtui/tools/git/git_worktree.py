"""The `git_worktree` tool: worktrees beside the repository, for work on several branches at once."""

from __future__ import annotations

import asyncio
import functools
import os
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, TypeVar

import msgspec
from pydantic import Field

from gshtui.commands.declaration import (
    Action,
    AnyAction,
    Assessment,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Question,
    Returns,
    Where,
)
from gshtui.guard.policy import sensitive_paths
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.files import path_location
from gshtui.tools.files.workspace import Workspace
from gshtui.tools.git import worktree_changes
from gshtui.tools.git.worktree import Worktree, count, find_worktree, list_worktrees
from gshtui.tools.git.worktree_changes import MergeResult, WorktreeChanges, changes_of
from gshtui.tools.git.worktree_create import create_worktree, place_for
from gshtui.tools.git.worktree_state import RemovedWorktree, WorktreeState, losses_of, remove_worktree, state_of


class WorktreeList(msgspec.Struct, frozen=True):
    """The working trees of a repository, the main one first."""

    trees: list[Worktree]


class ShownWorktree(msgspec.Struct, frozen=True):
    """A working tree and its state."""

    tree: Worktree
    state: WorktreeState


class WrittenPatch(msgspec.Struct, frozen=True):
    """A patch file, and its size in bytes."""

    tree: Worktree
    file: Path
    size: int


class _Call(Parameters):
    """Parameters of one word of `git_worktree`."""

    COMMAND: ClassVar[str] = "git_worktree"
    WORD: ClassVar[str]

    def line(self) -> WorktreeParameters:
        """The same as a line of the word."""
        return WorktreeParameters.model_validate({"action": self.WORD, **self.model_dump()})


class _ForTree(_Call):
    """Parameters that name a working tree: by its folder, else by its branch, else the one that the caller is in."""

    path: str = Field(default="", description="The worktree's folder")
    branch: str = Field(default="", description="The worktree's branch")


class _AgainstBase(_ForTree):
    base: str = Field(default="", description="Branch to compare with or merge into; empty: the one it grew from")


class ListWorktrees(_Call, Returns[WorktreeList]):
    """Every working tree."""

    WORD: ClassVar[str] = "list"


class CreateWorktree(_Call, Returns[Worktree]):
    """A new working tree."""

    WORD: ClassVar[str] = "create"
    branch: str = Field(default="", description="Branch to check out, made if new")
    path: str = Field(default="", description="Its folder; empty: beside the repository")
    base: str = Field(default="", description="Branch to start from")
    setup: bool | None = Field(default=None, description="Run the configured set-up command")


class ShowWorktree(_AgainstBase, Returns[ShownWorktree]):
    """What one holds that is not elsewhere."""

    WORD: ClassVar[str] = "status"


class CompareWorktree(_AgainstBase, Returns[WorktreeChanges]):
    """All changes against the base."""

    WORD: ClassVar[str] = "diff"


class MergeWorktree(_AgainstBase, Returns[MergeResult]):
    """The branch merged into its base."""

    WORD: ClassVar[str] = "merge"


class WritePatch(_AgainstBase, Returns[WrittenPatch]):
    """All changes as a file."""

    WORD: ClassVar[str] = "patch"
    file: str = Field(default="", description="File to write; empty: beside the repository")


class RemoveWorktree(_ForTree, Returns[RemovedWorktree]):
    """One taken away; its branch is kept."""

    WORD: ClassVar[str] = "remove"
    force: bool = Field(default=False, description="Even if work is lost")


def _list_outcome(_invocation: Invocation, found: WorktreeList) -> Outcome:
    trees = found.trees
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


def _created_outcome(_invocation: Invocation, tree: Worktree) -> Outcome:
    kind = "the new branch" if tree.new_branch else "the branch"
    data = {"path": tree.path, "branch": tree.branch, "new_branch": tree.new_branch}
    text = " ".join((f"Created a worktree at {tree.shown}, on {kind} {tree.branch}.", *tree.notes))
    return Outcome(data=data | ({"notes": list(tree.notes)} if tree.notes else {}), text=text)


def _state_outcome(_invocation: Invocation, shown: ShownWorktree) -> Outcome:
    tree, state = shown.tree, shown.state
    data = {
        "path": tree.shown,
        "branch": tree.branch,
        "uncommitted": list(state.uncommitted),
        "unpushed": state.unpushed,
        "changed_copies": list(state.changed_copies),
        "in_submodules": list(state.in_submodules),
        "base": state.base,
        "ahead": state.ahead,
        "behind": state.behind,
    }
    against = (
        f"{state.ahead} ahead of and {state.behind} behind {state.base}" if state.base else "compared with nothing"
    )
    held = " and ".join(state.losses) or "nothing that would be lost"
    name = tree.branch or tree.commit[:8]
    return Outcome(data=data, text=f"{name} at {tree.shown} is {against}. It has {held}.")


def _changes_outcome(_invocation: Invocation, changes: WorktreeChanges) -> Outcome:
    """Show a worktree's changes as a unified diff."""
    if not changes.files:
        name = changes.tree.branch or changes.tree.shown
        return Outcome(data=changes.plain(), text=f"{name} has no changes compared with {changes.base}.")
    diff: list[str] = []
    for file in changes.files:
        path, before = (one_line(literal(name), limit=1000) for name in (file.path, file.before or file.path))
        diff.append(f"--- {'/dev/null' if file.status == 'added' else f'a/{before}'}")
        diff.append(f"+++ {'/dev/null' if file.status == 'deleted' else f'b/{path}'}")
        diff += ["(binary)"] if file.binary else [literal(line) for line in file.lines]
    text = "\n".join(diff)
    return Outcome(data=changes.plain(), text=f"{changes.summary}\n\n```diff\n{text}\n```", diff=text)


def _merge_outcome(_invocation: Invocation, done: MergeResult) -> Outcome:
    data = {"branch": done.branch, "base": done.base, "path": done.into, "commits": done.commits, "commit": done.commit}
    text = f"Merged {count(done.commits, 'commit')} of {done.branch} into {done.base}, now at {done.commit[:8]}."
    return Outcome(data=data, text=text)


def _patch_outcome(_invocation: Invocation, patch: WrittenPatch) -> Outcome:
    tree, size = patch.tree, patch.size
    shown = one_line(literal(str(patch.file)), limit=4096)
    text = f"Wrote {size:,} bytes to {shown}. `git apply {shown}` applies it."
    return Outcome(data={"path": tree.shown, "branch": tree.branch, "file": shown, "bytes": size}, text=text)


def _removed_outcome(_invocation: Invocation, removed: RemovedWorktree) -> Outcome:
    """One that was taken away."""
    data = {"path": removed.tree.path, "branch": removed.tree.branch, "lost": list(removed.lost)}
    return Outcome(data=data, text=removed.text)


DESCRIPTION = """\
Manage git worktrees: separate folders with other branches of this repository, so that several agents can work \
without getting in each other's way. create makes one and copies the files that .worktreeinclude names: \
`action=create branch=fix-login`. status shows what is uncommitted or unpushed, and how far it is ahead of and \
behind the base. diff shows all changes against the base, committed or not. merge merges the branch into its base, \
and undoes the merge on conflicts. patch writes all changes to a file. remove deletes the worktree but keeps the \
branch; it refuses to lose work. status, diff, merge and patch use the worktree you are in, unless path or branch \
names another."""
_READING = ("list", "status", "diff")
_PLACES = ("branch", "path")


class WorktreeParameters(Parameters):
    """Those of any word."""

    action: str
    branch: str = ""
    path: str = ""
    base: str = ""
    file: str = ""
    setup: bool | None = None
    force: bool = False


async def assess(workspace: Workspace, invocation: Invocation, given: _Call) -> Assessment:
    """Judge what it would read, create or remove."""
    parameters, action = given.line(), given.WORD
    if action == "list":
        return Assessment(Effect.READ, subject="list", detail="git worktree list", key="list")
    warnings: tuple[str, ...] = ()
    why = ""
    effect, argv = (Effect.READ if action in _READING else Effect.WRITE), ()
    if action == "create":
        real = await asyncio.to_thread(_new_place, workspace, invocation, parameters)
        argv = _setup(workspace, parameters)
        why = sensitive_paths.starts_things(real / "file")  # the folder decides: what is checked out in it is obeyed
        why = f"{real.name} decides what other programs run" if why else ""
    else:
        tree = await _found(workspace, invocation, parameters)
        real = Path(tree.path)
        if action == "merge":
            real = Path(
                (await worktree_changes.merge_target(tree, parameters.base, workspace.config.git_timeout_s)).path
            )
        elif action == "patch":
            real = await _patch_file(workspace, invocation, parameters, tree)
            why = sensitive_paths.starts_things(real)
        elif action == "remove":
            losses = await losses_of(tree, workspace.config.git_timeout_s) if parameters.force else []
            warnings = tuple(f"loses {loss}" for loss in losses)
            why = "work is lost with it" if losses else ""
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
        inside=place.inside and not argv and not why,
        detail=detail,
        key="\0".join((action, parameters.branch, str(place.real), parameters.base, str(parameters.force), *argv)),
        warnings=(*place.warnings, *warnings, *((why,) if why and not warnings else ())),
        why=why if place.inside and not argv else "",
    )


C = TypeVar("C", bound=_Call)
R = TypeVar("R")


class WorktreeCommand:
    """What each word does, for lines and for calls from code."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._limit = workspace.config.git_timeout_s
        write = Effect.WRITE
        self.actions: tuple[AnyAction, ...] = (
            Action(ListWorktrees, self._list, _list_outcome),
            Action(CreateWorktree, self._on(self._create), _created_outcome, effect=write, positions=_PLACES),
            Action(ShowWorktree, self._on(self._show), _state_outcome, positions=_PLACES),
            Action(CompareWorktree, self._on(self._compare), _changes_outcome, positions=_PLACES),
            Action(
                MergeWorktree,
                self._on(self._merge),
                _merge_outcome,
                self._ask_merge,
                effect=write,
                where=(Where("diff.merge", _of_folder(MergeWorktree)),),
                positions=_PLACES,
            ),
            Action(
                WritePatch,
                self._on(self._write_patch),
                _patch_outcome,
                effect=write,
                where=(Where("diff.patch", _of_folder(WritePatch)),),
                positions=_PLACES,
            ),
            Action(RemoveWorktree, self._on(self._remove), _removed_outcome, effect=write, positions=_PLACES),
        )

    def _on(
        self, work: Callable[[Invocation, WorktreeParameters], Awaitable[R]]
    ) -> Callable[[Invocation, _Call], Awaitable[R]]:
        @functools.wraps(work)
        async def run(invocation: Invocation, parameters: _Call) -> R:
            return await work(invocation, parameters.line())

        return run

    async def _list(self, invocation: Invocation, _parameters: ListWorktrees) -> WorktreeList:
        return WorktreeList(await list_worktrees(invocation.cwd, self._limit))

    async def _show(self, invocation: Invocation, parameters: WorktreeParameters) -> ShownWorktree:
        tree = await _found(self._workspace, invocation, parameters)
        return ShownWorktree(tree, await state_of(tree, parameters.base, self._limit))

    async def _compare(self, invocation: Invocation, parameters: WorktreeParameters) -> WorktreeChanges:
        tree = await _found(self._workspace, invocation, parameters)
        return await changes_of(tree, parameters.base, self._limit)

    async def _ask_merge(self, invocation: Invocation, parameters: MergeWorktree) -> Question | None:
        changes = await self._compare(invocation, parameters.line())
        if not changes.files:
            return None
        size = f"{count(len(changes.files), 'file')}, +{changes.added} −{changes.removed}."
        name = changes.tree.branch or changes.tree.shown.rpartition("/")[2]
        text = f"{size} If there are conflicts, they are listed and nothing changes."
        return Question(parameters, f"Merge {name} into {changes.base}?", text, "Merge")

    async def _merge(self, invocation: Invocation, parameters: WorktreeParameters) -> MergeResult:
        tree = await _found(self._workspace, invocation, parameters)
        target = await worktree_changes.merge_target(tree, parameters.base, self._limit)
        _must_be_told(self._workspace, invocation, parameters, Path(target.path))
        return await worktree_changes.merge_worktree(tree, parameters.base, self._limit)

    async def _write_patch(self, invocation: Invocation, parameters: WorktreeParameters) -> WrittenPatch:
        tree = await _found(self._workspace, invocation, parameters)
        file = await _patch_file(self._workspace, invocation, parameters, tree)
        _must_be_told(self._workspace, invocation, parameters, file)
        size = await worktree_changes.write_patch(tree, file, parameters.base, self._limit)
        return WrittenPatch(tree, file, size)

    async def _remove(self, invocation: Invocation, parameters: WorktreeParameters) -> RemovedWorktree:
        if not (parameters.path or parameters.branch):
            raise CommandError("remove needs a path or a branch.", hint="action=list shows them.")
        tree = await _found(self._workspace, invocation, parameters)
        return await remove_worktree(tree, invocation.cwd, force=parameters.force, limit=self._limit)

    async def _create(self, invocation: Invocation, parameters: WorktreeParameters) -> Worktree:
        workspace = self._workspace
        place = await asyncio.to_thread(_new_place, workspace, invocation, parameters)
        _must_be_told(workspace, invocation, parameters, place)
        return await create_worktree(
            invocation.cwd,
            parameters.branch,
            inside=workspace.config.worktrees_inside,
            at=await asyncio.to_thread(_at, invocation, parameters),
            base=parameters.base,
            setup=_setup(workspace, parameters),
            # An agent's question showed the command; a person is asked once it is shown.
            agreed=bool(workspace.approved_path(invocation, _asked(parameters)))
            if invocation.caller.is_agent
            else bool(parameters.setup),
            sandboxes=workspace.config.sandboxes,
            limit=self._limit,
        )


def _of_folder(parameters: Callable[..., C]) -> Callable[[str], C]:
    return lambda folder: parameters(path=folder)


def _setup(workspace: Workspace, parameters: WorktreeParameters) -> tuple[str, ...]:
    return () if parameters.setup is False else workspace.config.worktree_setup


def _asked(parameters: WorktreeParameters) -> str:
    """Identify a call between its approval and its run."""
    return f"{parameters.action} {parameters.path or parameters.branch} {parameters.file}"


def _must_be_told(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters, real: Path) -> None:
    told = workspace.approved_path(invocation, _asked(parameters))
    if told and told != os.path.realpath(real):
        raise CommandError(
            "The folder or file now leads elsewhere than when it was approved.", hint="Look at it before you retry."
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
    real = await asyncio.to_thread(worktree_changes.patch_place, tree, main, at)
    if why := sensitive_paths.guarded(real):
        raise CommandError(f"No tool may write {one_line(literal(str(real)))}.", hint=why)
    return real


async def _found(workspace: Workspace, invocation: Invocation, parameters: WorktreeParameters) -> Worktree:
    path = await asyncio.to_thread(_at, invocation, parameters)
    limit = workspace.config.git_timeout_s
    return await find_worktree(invocation.cwd, path=path, branch="" if path else parameters.branch, limit=limit)

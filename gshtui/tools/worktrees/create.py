"""Making a worktree: where it stands, its branch, what is copied into it, and its set-up command.

Refuses a place that holds something or that must not be written to, and a branch that is checked out already. Called by
the fleet, and by the tool `git_worktree`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gshtui.commands.declaration import CommandError
from gshtui.guard import sensitive
from gshtui.guard.sanitise import literal, one_line
from gshtui.tools.git import git
from gshtui.tools.project import find_project
from gshtui.tools.worktrees.include import NAME, copy_included
from gshtui.tools.worktrees.setup import Consent, no_consent, set_up
from gshtui.tools.worktrees.tree import LIMIT, Worktree, base_of, count, found, is_branch_name, must, set_base
from gshtui.tools.worktrees.tree import worktrees as all_of

INSIDE = Path(".gsh") / "worktrees"
"""Where worktrees stand in a repository, when they do not stand beside it."""


def place_for(cwd: Path, branch: str, *, inside: bool = False, at: Path | None = None) -> Path:
    """The real folder that a branch's worktree would get. Looks at the disk.

    Raises:
        CommandError: there is no repository, the name is no branch's, or the place is taken or not to be written to.
    """
    if not branch:
        raise CommandError("create needs a branch.", hint="Give the name of a new or an existing branch.")
    if not is_branch_name(branch):
        raise CommandError(
            f"{one_line(literal(branch))} is no valid branch name.", hint="Use letters, digits and - _ . / only."
        )
    project = find_project(cwd)
    if project.git_dir is None:
        raise CommandError(f"{cwd} is in no git repository.", hint="Run git init first.")
    root = _main_root(project.root, project.git_dir) if project.worktree else project.root
    word = branch.replace("/", "-")
    chosen = at or (root / INSIDE / word if inside else root.parent / f"{root.name}-{word}")
    real = chosen.resolve()
    own = inside and at is None and real.is_relative_to(root.resolve() / INSIDE)
    if not own and (why := sensitive.guarded(real)):
        raise CommandError(f"{one_line(literal(str(real)))} cannot hold a worktree.", hint=why)
    if real.exists() and (not real.is_dir() or any(real.iterdir())):
        hint = "Give another path."
        raise CommandError(f"{one_line(literal(str(real)))} exists already and is not empty.", hint=hint)
    return real


def _main_root(root: Path, git_dir: Path) -> Path:
    """The main working tree of a linked one: worktrees stand beside that, also when one makes another."""
    main = git_dir.parent.parent  # <main>/.git/worktrees/<name>
    return main.parent if main.name == ".git" else root


async def create_worktree(
    project: Path,
    branch: str,
    *,
    inside: bool = False,
    at: Path | None = None,
    base: str = "",
    setup: Sequence[str] = (),
    consent: Consent = no_consent,
    agreed: bool = False,
    limit: float = LIMIT,
) -> Worktree:
    """Make a worktree for a branch, new or existing; what else there is to say is in its `notes`.

    Args:
        project: a folder of the repository.
        inside: under `.gsh/worktrees` of the repository, instead of beside it.
        at: the folder for it, instead of either.
        base: what a new branch starts from; empty: what is checked out in `project`.
        setup: command to run in it, only if `consent` says so (or `agreed`).
        limit: seconds for one call of git.

    Raises:
        CommandError: it cannot be made; then nothing of it is left.
    """
    place = await asyncio.to_thread(place_for, project, branch, inside=inside, at=at)
    trees = await all_of(project, limit)
    for tree in trees:
        if tree.branch == branch:
            raise CommandError(f"{branch} is checked out already, at {tree.shown}.", hint="Work there.")
    main = Path(trees[0].path)
    if inside and at is None:
        await asyncio.to_thread(_ignore_inside, main)
    new = await _add(project, branch, place, base, limit)
    made = await found(project, path=place, limit=limit)
    if new and (start := base or (await found(project, limit=limit)).branch):
        await set_base(project, branch, start, limit)
    notes: list[str] = []
    copied = await copy_included(main, place, limit)
    if copied.files:
        notes.append(f"{count(len(copied.files), 'file')} of {NAME} copied.")
    notes += copied.notes
    if setup:
        notes.append((await set_up(setup, place, consent, agreed=agreed)).note)
    return replace(made, path=str(place), new_branch=new, notes=tuple(notes))


async def _add(project: Path, branch: str, place: Path, base: str, limit: float) -> bool:
    """Have git make it. Returns whether the branch is new."""
    name = f"refs/heads/{branch}"
    exists = (await git(project, "show-ref", "--verify", "--quiet", name, timeout=limit)).code == 0
    if exists:
        what = ("--", str(place), branch)
    else:
        start = (await base_of(await found(project, limit=limit), base, limit),) if base else ()
        what = ("-b", branch, "--", str(place), *start)
    must(await git(project, "worktree", "add", *what, timeout=limit), "git cannot make the worktree")
    return not exists


def _ignore_inside(main: Path) -> None:
    """Keep git from taking the worktrees in the repository for files of it."""
    folder = main / INSIDE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not folder.resolve().is_relative_to(main.resolve()):
            raise CommandError(f"{INSIDE} is a link out of the repository.", hint="Remove it, or set place = 'beside'.")
        with (folder / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("*\n")
    except FileExistsError:
        return
    except OSError as error:
        raise CommandError(f"{INSIDE} cannot be made: {error.strerror or error}.") from error

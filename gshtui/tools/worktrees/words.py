"""What the tool `git_worktree` says: data for scripts and faces, text for models and people.

Pure; paths and texts are sanitised here. Called by the tool.
"""

from __future__ import annotations

from pathlib import Path

from gshtui.commands.declaration import Outcome
from gshtui.guard.sanitise import literal, one_line
from gshtui.tools.worktrees.changes import Changes
from gshtui.tools.worktrees.handover import Merged
from gshtui.tools.worktrees.state import State
from gshtui.tools.worktrees.tree import Worktree, count


def listed(trees: list[Worktree]) -> Outcome:
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


def made(tree: Worktree) -> Outcome:
    """A new one."""
    kind = "the new branch" if tree.new_branch else "the branch"
    data = {"path": tree.path, "branch": tree.branch, "new_branch": tree.new_branch}
    text = " ".join((f"Made a worktree at {tree.shown}, on {kind} {tree.branch}.", *tree.notes))
    return Outcome(data=data | ({"notes": list(tree.notes)} if tree.notes else {}), text=text)


def stated(tree: Worktree, state: State) -> Outcome:
    """How one stands."""
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


def changed(changes: Changes) -> Outcome:
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


def merged(done: Merged) -> Outcome:
    """A merge that was made."""
    data = {"branch": done.branch, "base": done.base, "path": done.into, "commits": done.commits, "commit": done.commit}
    text = f"Merged {count(done.commits, 'commit')} of {done.branch} into {done.base}, now at {done.commit[:8]}."
    return Outcome(data=data, text=text)


def patched(tree: Worktree, file: Path, size: int) -> Outcome:
    """A patch that was written."""
    shown = one_line(literal(str(file)), limit=4096)
    text = f"Wrote {size:,} bytes to {shown}. `git apply {shown}` applies it."
    return Outcome(data={"path": tree.shown, "branch": tree.branch, "file": shown, "bytes": size}, text=text)

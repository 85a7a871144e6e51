"""The `hunk` command: lists the changes of a worktree one by one, and stages, discards or rewrites one. For people.

Registers nothing by itself; the hub calls `commands` and registers what it returns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Self

import msgspec
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Action,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Question,
    Returns,
    Where,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.text.sanitise import literal
from gshtui.tools.git.hunks import (
    ChangedHunk,
    Hunk,
    discard_hunk,
    find_hunk,
    hunks_of,
    must_be_editable,
    rewrite_hunk,
    stage_hunk,
)
from gshtui.tools.git.worktree import Worktree, count, find_worktree
from gshtui.tools.git.worktree_changes import changes_of


class HunkList(msgspec.Struct, frozen=True):
    """The changes of a worktree, one by one."""

    tree: Worktree
    base: str
    hunks: list[Hunk]


class HunkText(msgspec.Struct, frozen=True):
    """The lines that a file has at a change now."""

    hunk: Hunk
    text: str


class HunkPlace(msgspec.Struct, frozen=True):
    """Where a hunk is: a row of a pane that shows changes."""

    tree: str
    file: str
    number: int
    mark: str


_PLACE = ("file", "number")


class _Call(Parameters):
    COMMAND: ClassVar[str] = "hunk"
    tree: str = Field(default="", description="Folder of the worktree; empty: the current one")


class _ForHunk(_Call):
    file: str = Field(description="The file, from the top of the worktree")
    number: int = Field(default=1, ge=1, description="Which change of the file")
    mark: str = Field(default="", description="Mark that `ls` shows: nothing is done if the change is another by now")

    @classmethod
    def at(cls, place: HunkPlace) -> Self:
        """The call for a row of a pane."""
        return cls(tree=place.tree, file=place.file, number=place.number, mark=place.mark)


class ListHunks(_Call, Returns[HunkList]):
    """Every change against the base, with its number and its mark."""

    WORD: ClassVar[str] = "ls"


class ShowHunk(_ForHunk, Returns[HunkText]):
    """The lines that can be edited."""

    WORD: ClassVar[str] = "show"


class StageHunk(_ForHunk, Returns[ChangedHunk]):
    """Put one change into git's index."""

    WORD: ClassVar[str] = "stage"


class DiscardHunk(_ForHunk, Returns[ChangedHunk]):
    """Take one change back in the file."""

    WORD: ClassVar[str] = "discard"
    yes: bool = Field(default=False, description="Without a question")


class EditHunk(_ForHunk, Returns[ChangedHunk]):
    """Write other lines in place of a change's."""

    WORD: ClassVar[str] = "edit"
    text: Annotated[str, Mark.VERBATIM] = Field(default="", description="The lines to write")


def commands(limit: float = 60.0) -> list[AnyCommand]:
    """The family. `limit`: seconds that one call of git may take."""

    async def tree_of(invocation: Invocation, wanted: _Call) -> Worktree:
        path = (invocation.cwd / Path(wanted.tree).expanduser()) if wanted.tree else None
        return await find_worktree(invocation.cwd, path=path, limit=limit)

    async def found(invocation: Invocation, wanted: _ForHunk) -> tuple[Worktree, Hunk]:
        tree = await tree_of(invocation, wanted)
        return tree, await find_hunk(tree, wanted.file, wanted.number, wanted.mark, limit)

    async def list_all(invocation: Invocation, wanted: ListHunks) -> HunkList:
        tree = await tree_of(invocation, wanted)
        changes = await changes_of(tree, limit=limit)
        return HunkList(tree, changes.base, [one for file in changes.files for one in hunks_of(file)])

    async def show(invocation: Invocation, wanted: ShowHunk) -> HunkText:
        _, hunk = await found(invocation, wanted)
        must_be_editable(hunk)
        return HunkText(hunk, "\n".join(hunk.now))

    async def stage(invocation: Invocation, wanted: StageHunk) -> ChangedHunk:
        return await stage_hunk(*await found(invocation, wanted), limit)

    async def discard(invocation: Invocation, wanted: DiscardHunk) -> ChangedHunk:
        return await discard_hunk(*await found(invocation, wanted), limit)

    async def edit(invocation: Invocation, wanted: EditHunk) -> ChangedHunk:
        tree, hunk = await found(invocation, wanted)
        return await rewrite_hunk(tree, hunk, wanted.text, limit)

    async def asks_discard(invocation: Invocation, wanted: DiscardHunk) -> Question | None:
        if wanted.yes:
            return None
        _, hunk = await found(invocation, wanted)
        return Question(
            wanted.model_copy(update={"mark": hunk.mark, "yes": True}),
            f"Discard this change of {hunk.shown}?",
            yes="Discard",
            quoted=literal(hunk.lines[0]) if hunk.whole else "\n".join(literal(line) for line in hunk.lines),
            note="The file as it is now is kept as an object of git's, which the answer names.",
        )

    return [
        group(
            "hunk",
            "Stage, discard or edit one change of a worktree",
            Action(ListHunks, list_all, _list_outcome),
            Action(ShowHunk, show, _text_outcome, positions=_PLACE),
            Action(
                StageHunk,
                stage,
                _staged_outcome,
                effect=Effect.WRITE,
                where=(Where("diff.stage", StageHunk.at),),
                positions=_PLACE,
            ),
            Action(
                DiscardHunk,
                discard,
                _discarded_outcome,
                asks_discard,
                effect=Effect.WRITE,
                where=(Where("diff.discard", DiscardHunk.at),),
                positions=_PLACE,
            ),
            Action(EditHunk, edit, _edited_outcome, effect=Effect.WRITE, positions=(*_PLACE, "text")),
            family="files",
            access=Access.HUMAN_ONLY,
        )
    ]


def _list_outcome(_invocation: Invocation, found: HunkList) -> Outcome:
    data = [
        {
            "file": one.shown,
            "number": one.number,
            "line": one.start,
            "mark": one.mark,
            "text": one.lines[0] if one.whole else "\n".join(one.lines),
        }
        for one in found.hunks
    ]
    rows = [f"{one.shown}  {one.number}  {_place(one)}  {_size(one)}  {one.mark}" for one in found.hunks]
    title = f"{count(len(rows), 'change')} against {found.base}"
    return Outcome(data=data, text="\n".join((title, "", "```", *rows, "```")) if rows else f"{title}.")


def _place(hunk: Hunk) -> str:
    return "whole" if hunk.whole else f"line {hunk.start}"


def _size(hunk: Hunk) -> str:
    if hunk.whole:
        return "binary" if hunk.file.binary else hunk.file.mode or hunk.file.status
    signs = [line[:1] for line in hunk.lines[1:]]
    return f"+{signs.count('+')} −{signs.count('-')}"


def _text_outcome(_invocation: Invocation, found: HunkText) -> Outcome:
    data = {"file": found.hunk.shown, "number": found.hunk.number, "mark": found.hunk.mark, "text": found.text}
    return Outcome(data=data, text=f"```\n{found.text}\n```")


def _outcome(done: ChangedHunk, text: str) -> Outcome:
    data = {"path": done.tree.shown, "file": done.hunk.shown, "number": done.hunk.number, "kept": done.kept}
    return Outcome(data=data, text=text)


def _staged_outcome(_invocation: Invocation, done: ChangedHunk) -> Outcome:
    what = f"{done.hunk.shown}, as a whole" if done.whole else f"change {done.hunk.number} of {done.hunk.shown}"
    return _outcome(done, f"Staged {what}.")


def _kept(done: ChangedHunk) -> str:
    return f" `git cat-file -p {done.kept[:12]}` has the file as it was." if done.kept else ""


def _discarded_outcome(_invocation: Invocation, done: ChangedHunk) -> Outcome:
    what = f"the change of {done.hunk.shown}" if done.whole else f"change {done.hunk.number} of {done.hunk.shown}"
    return _outcome(done, f"Discarded {what}.{_kept(done)}")


def _edited_outcome(_invocation: Invocation, done: ChangedHunk) -> Outcome:
    return _outcome(done, f"Edited change {done.hunk.number} of {done.hunk.shown}.{_kept(done)}")

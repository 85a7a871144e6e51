"""One change of a worktree by itself: staged, discarded, or rewritten. What has no lines (a binary file, another mode,
a name, an empty file) is one change of the whole file.

A hunk is named by its file and its number there, and by a mark of its text: what has changed since a person looked at
it is refused, and nothing is touched. What is discarded or rewritten is kept first as an object of git's.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path

import msgspec

from gshtui.commands.declaration import CommandError
from gshtui.text.sanitise import literal, one_line
from gshtui.text.unified_diff import FilePatch, parse_diff
from gshtui.tools.files import file_access
from gshtui.tools.git.git import git
from gshtui.tools.git.worktree import LIMIT, Worktree, require_success
from gshtui.tools.git.worktree_changes import PLAIN, WorktreeChanges, changes_of

_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LARGEST = 8 << 20


class Hunk(msgspec.Struct, frozen=True):
    """One change of one file. `number`: counted from 1 in its file. `start`, `count`: its lines in the file now."""

    file: FilePatch
    number: int
    lines: tuple[str, ...]
    start: int
    count: int
    commit: str = ""
    """What the file is compared with."""

    @property
    def whole(self) -> bool:
        """It is the change of a file that has no lines."""
        return not _HEAD.match(self.lines[0])

    @property
    def mark(self) -> str:
        """The same as long as the text is."""
        return hunk_mark(self.file.path, self.lines)

    @property
    def shown(self) -> str:
        return one_line(literal(self.file.path), limit=1000)

    @property
    def now(self) -> list[str]:
        """Its lines in the file now, without their ends."""
        return [line[1:].removesuffix("\r") for line in self.lines[1:] if line[:1] in ("+", " ", "")]


class ChangedHunk(msgspec.Struct, frozen=True):
    """What became of a hunk. `kept`: the git object with the file as it was before; empty: it was not touched."""

    tree: Worktree
    hunk: Hunk
    whole: bool = False
    """Only the whole file could be staged."""
    kept: str = ""


def hunk_mark(path: str, lines: tuple[str, ...] | list[str]) -> str:
    """The mark of a hunk of this text. Equal texts at other places have the same."""
    text = "\n".join((path, *lines[1:]))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def without_lines(file: FilePatch) -> str:
    """One sentence about the change of a file that has no lines."""
    if file.too_large:
        return f"A new file of {file.too_large / 1e6:,.0f} MB: too large to be compared."
    if file.binary:
        return "Binary file: its changes can't be shown line by line."
    if file.status == "renamed":
        return "Only its name changed."
    if file.mode:
        return f"Only its mode changed: {file.mode}."
    return "An empty file."


def hunks_of(file: FilePatch, commit: str = "") -> list[Hunk]:
    """The hunks of a file, in order. `commit`: what it is compared with."""
    starts = [at for at, line in enumerate(file.lines) if _HEAD.match(line)]
    if not starts:
        return [Hunk(file, 1, (without_lines(file), f" {file.index} {file.mode} {file.before}"), 0, 0, commit)]
    found: list[Hunk] = []
    for number, at in enumerate(starts, 1):
        end = starts[number] if number < len(starts) else len(file.lines)
        head = _HEAD.match(file.lines[at])
        start, count = (int(head[3]), int(head[4] or 1)) if head is not None else (0, 0)
        found.append(Hunk(file, number, tuple(file.lines[at:end]), start, count, commit))
    return found


async def find_hunk(tree: Worktree, path: str, number: int, mark: str = "", limit: float = LIMIT) -> Hunk:
    """The hunk as it is now.

    Args:
        path: of the file, from the top of the worktree, as it is or as it is shown.
        mark: of the text that was seen; empty: any text.

    Raises `CommandError`: there is no such change, or it is another one by now.
    """
    changes = await changes_of(tree, limit=limit)
    file = _file(changes, path)
    hunks = hunks_of(file, changes.commit)
    if mark:  # changes above it may have moved it
        same = [hunk for hunk in hunks if hunk.mark == mark]
        if not same:
            raise CommandError(f"This change of {_named(file)} is another one by now.", hint="Look at it again.")
        return min(same, key=lambda hunk: abs(hunk.number - number))
    if not 1 <= number <= len(hunks):
        raise CommandError(f"{_named(file)} has no change {number}.", hint=f"It has {len(hunks)}.")
    return hunks[number - 1]


def _named(file: FilePatch) -> str:
    return one_line(literal(file.path), limit=1000)


def _file(changes: WorktreeChanges, path: str) -> FilePatch:
    for file in changes.files:
        if path in (file.path, file.shown().path):
            return file
    named = one_line(literal(path), limit=200)
    raise CommandError(f"{named} has no changes against {changes.base}.", hint="`git_worktree diff` lists them.")


async def stage_hunk(tree: Worktree, hunk: Hunk, limit: float = LIMIT) -> ChangedHunk:
    """Put a hunk into the index, and nothing else: a file that is new, gone or renamed as a whole.
    Raises `CommandError`: it is there already, or git refuses.
    """
    folder, file = Path(tree.path), hunk.file
    pathspec = f":(top,literal){file.path}"
    known = await git(folder, "ls-files", "--error-unmatch", "--", pathspec, timeout=limit)
    if known.code or file.status in ("added", "deleted") or hunk.whole:
        before = (f":(top,literal){file.before}",) if file.status == "renamed" and file.before else ()
        added = await git(folder, "add", "--all", "--", pathspec, *before, timeout=limit)
        require_success(added, f"git cannot stage {hunk.shown}")
        return ChangedHunk(tree, hunk, whole=True)
    left = await git(folder, "diff", *PLAIN, "--unified=0", "--", pathspec, timeout=limit)
    require_success(left, f"git cannot compare {hunk.shown} with what is staged")
    unstaged = [one for patch in parse_diff(left.out) for one in hunks_of(patch)]
    wanted = [one for one in unstaged if _within(one, hunk)]
    if not wanted:
        raise CommandError(f"This change of {hunk.shown} is staged or committed already.")
    lines = [line for one in wanted for line in one.lines]
    await _apply(folder, _patch(file.path, lines), "--cached", "--unidiff-zero", limit=limit)
    return ChangedHunk(tree, hunk)


def _within(part: Hunk, hunk: Hunk) -> bool:
    """Whether a change without lines around it belongs to a hunk with them: both count the lines of the file now."""
    last = hunk.start + hunk.count
    if not part.count:  # lines are gone after this one
        return hunk.start - 1 <= part.start < max(last, hunk.start + 1)
    return part.start < last and hunk.start < part.start + part.count


async def discard_hunk(tree: Worktree, hunk: Hunk, limit: float = LIMIT) -> ChangedHunk:
    """Give the lines of the file the text that they have in the base. What is staged stays staged.
    Raises `CommandError`: the file has changed meanwhile, or git refuses; nothing was changed.
    """
    folder, file = Path(tree.path), hunk.file
    if hunk.whole:
        return ChangedHunk(tree, hunk, whole=True, kept=await _discard_whole(folder, hunk, limit))
    kept, mode = "", ""
    if file.status == "deleted":
        listed = await git(folder, "ls-tree", hunk.commit, "--", file.path, timeout=limit)
        mode = listed.out[:6] or "100644"
    else:
        kept = await _keep(folder, file, limit)
    await _apply(folder, _patch(file.path, list(hunk.lines), status=file.status, mode=mode), "--reverse", limit=limit)
    return ChangedHunk(tree, hunk, kept=kept)


async def _discard_whole(folder: Path, hunk: Hunk, limit: float) -> str:
    """Give a file the content and the mode that it has in the base; returns the object with what it was."""
    file = hunk.file
    if file.too_large:
        raise CommandError(f"{hunk.shown} is too large to be kept, so it is left.", hint="Delete it yourself.")
    if file.status == "renamed":
        raise CommandError(f"{hunk.shown} was {_named_before(file)}.", hint="Rename it back with `git mv`.")
    kept = "" if file.status == "deleted" else await _keep(folder, file, limit)
    if file.status == "added":
        with file_access.explaining(f"Cannot delete {hunk.shown}"):
            await asyncio.to_thread((folder / file.path).unlink)
        return kept
    place = (f"--source={hunk.commit}", "--worktree", "--", f":(top,literal){file.path}")
    require_success(await git(folder, "restore", *place, timeout=limit), f"git cannot restore {hunk.shown}")
    return kept


def _named_before(file: FilePatch) -> str:
    return one_line(literal(file.before), limit=1000)


async def rewrite_hunk(tree: Worktree, hunk: Hunk, text: str, limit: float = LIMIT) -> ChangedHunk:
    """Write other lines in place of those that the file has there now, with the ends of lines that it uses.
    Raises `CommandError`: it is no regular file, its text cannot be shown as it is, or it has changed meanwhile.
    """
    folder, file = Path(tree.path), hunk.file
    must_be_editable(hunk)
    kept = await _keep(folder, file, limit)
    await asyncio.to_thread(_rewrite, folder / file.path, hunk, text)
    return ChangedHunk(tree, hunk, kept=kept)


def must_be_editable(hunk: Hunk) -> None:
    """Raise `CommandError` if a person can't edit the hunk's lines as text."""
    if hunk.file.status == "deleted":
        raise CommandError(f"{hunk.shown} is deleted, so there is nothing to edit.", hint="Discard the change first.")
    if hunk.whole:
        raise CommandError(f"This change of {hunk.shown} has no lines.", hint="Stage or discard it as a whole.")
    if any(literal(line) != line for line in hunk.now):
        raise CommandError(
            f"{hunk.shown} has characters there that can't be shown as they are.", hint="Edit it in an editor."
        )


def _rewrite(path: Path, hunk: Hunk, text: str) -> None:
    with file_access.explaining(f"Cannot write {hunk.shown}"):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise CommandError(f"{hunk.shown} is no regular file.")
        content, _ = file_access.read_whole(path, _LARGEST)
        lines = content.split(b"\n")
        first = hunk.start - 1 if hunk.count else hunk.start
        old = lines[first : first + hunk.count]
        now = [line.removesuffix(b"\r").decode("utf-8", "surrogateescape") for line in old]
        if now != hunk.now:
            raise CommandError(f"{hunk.shown} has changed meanwhile.", hint="Look at the change again.")
        end = b"\r" if any(line.endswith(b"\r") for line in old) else b""
        ends = first + hunk.count >= len(lines)  # its last line has no end
        fresh = [line.encode("utf-8", "surrogateescape") + end for line in text.split("\n")] if text else []
        if ends and fresh:
            fresh[-1] = fresh[-1].removesuffix(b"\r")
        lines[first : first + hunk.count] = fresh
        file_access.replace(path, b"\n".join(lines))


async def _keep(folder: Path, file: FilePatch, limit: float) -> str:
    """Store the file as it is in git's objects, and return the object's name."""
    stored = await git(folder, "hash-object", "-w", "--no-filters", "--", file.path, timeout=limit)
    require_success(stored, f"git cannot keep {_named(file)} as it is")
    return stored.out.strip()


def _quoted(path: str) -> str:
    """A path as git reads it in a patch, whatever it contains."""
    raw = path.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(c) if 0x20 <= c < 0x7F and c not in b'"\\' else f"\\{c:03o}" for c in raw) + '"'


def _patch(path: str, lines: list[str], *, status: str = "changed", mode: str = "") -> str:
    """A patch of one file for `git apply`."""
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    head = [f"diff --git {old} {new}"]
    if status == "added":
        head += ["new file mode 100644", "--- /dev/null", f"+++ {new}"]
    elif status == "deleted":
        head += [f"deleted file mode {mode}", f"--- {old}", "+++ /dev/null"]
    else:
        head += [f"--- {old}", f"+++ {new}"]
    return "\n".join((*head, *lines, ""))


async def _apply(folder: Path, patch: str, *options: str, limit: float) -> None:
    with tempfile.TemporaryDirectory(prefix="gsh-hunk-") as name:
        file = Path(name) / "patch"
        await asyncio.to_thread(file.write_bytes, patch.encode("utf-8", "surrogateescape"))
        words = ("--whitespace=nowarn", *options, "--", str(file))
        answer = await git(folder, "apply", *words, timeout=limit)
    require_success(answer, "git cannot do this, and nothing was changed")

"""Drafts: text being typed belongs to whom it is for, survives a crash of the window and returns at the next start.

One slot for each window of a project, held by a file lock that dies with its process, so two windows never share a
draft. Files are 0600 and replaced whole; they are written in threads shortly after each change, and every failure is an
`OSError`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace
from textual.timer import Timer

from gshtui.system.files import private_files
from gshtui.system.files.file_lock import try_lock
from gshtui.system.files.private_files import open_reader
from gshtui.system.json_types import is_object
from gshtui.system.tasks import start_job
from gshtui.text.secret_shapes import MARK, without_tokens
from gshtui.ui.kit.widgets.folding_area import FoldingArea, Folds

SLOTS = 32


class PromptDraft(msgspec.Struct, frozen=True):
    """A text with labels for its folded parts, and the parts."""

    text: str = ""
    folds: dict[int, str] = msgspec.field(default_factory=dict[int, str])
    name: str = ""
    """Whom it is for, in words."""
    offered: bool = False
    """Whether a window has begun with it and named it, and nobody has seen it since."""

    @property
    def value(self) -> str:
        """The text with every folded part in full."""
        return Folds(self.folds).expand(self.text)

    def before(self, later: PromptDraft) -> PromptDraft:
        """This one's text before that of a later one."""
        if not (self.text and later.text):
            return self if self.text else later
        return replace(later, text=f"{self.value}\n\n{later.text}")


KeptDrafts = dict[str, PromptDraft]
"""A window's drafts by `Addressee.key`."""


class DraftFile:
    """A window's drafts on disk. `open` takes a free slot; `close` gives it back."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock
        self._folded: dict[str, dict[int, str]] = {}

    @classmethod
    def open(cls, folder: Path, project: Path) -> DraftFile:
        """The first slot of this project that no living window holds. Raises `OSError`: the folder cannot be used, or
        there are more windows than slots.
        """
        import hashlib  # OpenSSL takes a while to load, and this runs in a thread

        private_files.make_folder(folder)
        key = hashlib.sha256(os.fsencode(project)).hexdigest()[:16]
        for slot in range(SLOTS):
            path = folder / f"{key}-{slot}.json"
            if (lock := try_lock(path.with_suffix(".lock"))) is not None:
                return cls(path, lock)
        raise OSError(f"{SLOTS} windows are already open in this project")

    @property
    def _folds_path(self) -> Path:
        return self.path.with_suffix(".folds")

    def read(self) -> KeptDrafts:
        """The stored drafts; those that cannot be read are set aside."""
        try:
            kept = _object(self.path)
            folds = _object(self._folds_path) if kept.get("folds") else {}
            if "text" in kept:  # by a version that had one draft for all
                return {"": _draft(kept, folds)}
            return {whose: _draft(one, folds.get(whose, {})) for whose, one in _in_object(kept.get("drafts")).items()}
        except FileNotFoundError:
            return {}
        except ValueError:
            self.path.replace(self.path.with_suffix(".corrupt"))
            return {}

    def write(self, drafts: KeptDrafts) -> None:
        """Replace the stored drafts, without secrets. Folded parts are written only if they have changed."""
        folds = {whose: dict(draft.folds) for whose, draft in drafts.items() if draft.folds}
        if folds and folds != self._folded:
            hidden = {
                whose: {str(number): without_tokens(text) for number, text in parts.items()}
                for whose, parts in folds.items()
            }
            _replace(self._folds_path, hidden)
            self._folded = folds
        texts = {
            whose: {"text": without_tokens(draft.text), "name": draft.name, "offered": draft.offered}
            for whose, draft in drafts.items()
        }
        _replace(self.path, {"drafts": texts, "folds": bool(folds)})

    def remove(self) -> None:
        """Delete the drafts."""
        self.path.unlink(missing_ok=True)
        self._folds_path.unlink(missing_ok=True)
        self._folded = {}

    def close(self) -> None:
        """Release the slot; the drafts stay for the next window."""
        os.close(self._lock)


def _object(path: Path) -> dict[str, object]:
    import json

    descriptor = private_files.open_existing(path)
    with open_reader(descriptor) as file:
        return _in_object(json.loads(file.read()))


def _in_object(value: object) -> dict[str, object]:
    if not is_object(value):
        raise ValueError("not an object")
    return value


def _draft(kept: object, folds: object) -> PromptDraft:
    fields = _in_object(kept)
    if not isinstance(text := fields.get("text"), str):
        raise ValueError("no text")
    parts = {int(number): str(folded) for number, folded in _in_object(folds).items()}
    return PromptDraft(text, parts, str(fields.get("name", "")), fields.get("offered") is True)


def _replace(path: Path, what: Mapping[str, object]) -> None:
    import json

    # JSON as it is here escapes everything beyond ASCII, lone surrogates too.
    private_files.write_whole(path, json.dumps(what).encode(), sync=True)


class DraftKeeper:
    """Stores the newest drafts on disk, one write at a time, in threads. A failure is reported once and stops it."""

    def __init__(self, project: Path, failed: Callable[[str], None]) -> None:
        self._project = project
        self._failed = failed
        self._file: DraftFile | None = None
        self._wanted: KeptDrafts = {}
        self._pending = False
        self._task: asyncio.Task[None] | None = None
        self._broken = False

    async def restore(self) -> KeptDrafts:
        """Take a slot; returns the drafts that a dead window left in it."""
        try:
            self._file = await asyncio.to_thread(self._open)
            found = await asyncio.to_thread(self._file.read)
        except OSError as error:
            self._fail(error)
            return {}
        self._start()
        return found

    def keep(self, drafts: KeptDrafts) -> None:
        """Store the current texts; empty ones are removed."""
        self._wanted = {whose: draft for whose, draft in drafts.items() if draft.text}
        self._pending = True
        self._start()

    def _start(self) -> None:
        idle = self._task is None or self._task.done()
        if self._pending and idle and self._file is not None and not self._broken:
            self._task = start_job(self._sync(self._file), "saving drafts")

    async def close(self) -> None:
        """Wait for the last write, then release the slot."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> DraftFile:
        from gshtui.settings import paths

        return DraftFile.open(paths.state_dir() / "drafts", self._project)

    async def _sync(self, file: DraftFile) -> None:
        while self._pending and not self._broken:
            self._pending = False
            drafts = self._wanted
            try:
                if drafts:
                    await asyncio.to_thread(file.write, drafts)
                else:
                    await asyncio.to_thread(file.remove)
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._broken = True
        why = (error.strerror or str(error)).rstrip(".")
        self._failed(f"Drafts won't survive a crash of this window: {why}.")


KEEP_AFTER = 0.4
"""Seconds from a change until the draft is written."""


class Drafts:
    """The drafts of one area, one for each that it writes to: stored on disk shortly after each change, and put aside
    while something else is shown.

    Args:
        place: replaces the area's content with a text and its folded parts.
        keeper: writes to disk; `None`: nothing is stored.
    """

    def __init__(
        self, area: FoldingArea, place: Callable[[str, dict[int, str]], None], keeper: DraftKeeper | None
    ) -> None:
        self._area = area
        self._place = place
        self._keeper = keeper
        self._whose = ""
        """Whom the area writes to: the key of its draft."""
        self._names = {"": ""}
        """Those that it has written to, in words."""
        self._others: KeptDrafts = {}
        """What is written to others than this one."""
        self._held: dict[str, PromptDraft] = {}
        """What is not in the area while it is asked whether to send it."""
        self._timer: Timer | None = None
        self._aside: PromptDraft | None = None
        """The text put aside when something else took its place; a crash must not lose it."""
        self.beside: Callable[[], str] = str
        """What is being written elsewhere in the window; it is kept behind the draft."""
        self._left: str | None = None
        """That, from when the window ended."""

    async def restore(self, remember: Callable[[str], None]) -> None:
        """Restore the drafts of a dead window. `remember`: gets the draft for which there is no room, because the
        person has begun to type.
        """
        if self._keeper is None:
            return
        found = await self._keeper.restore()
        draft = found.pop(self._whose, None)
        past = {whose for whose, one in found.items() if one.offered or whose in self._others}
        for whose in past:
            remember(found.pop(whose).value)
        self._others |= {whose: replace(one, offered=True) for whose, one in found.items()}
        if names := [one.name or "the window's own agent" for one in found.values()]:
            those = "A draft" if len(names) == 1 else f"{len(names)} drafts"
            self._area.notify(f"{those} from your last window: open {', '.join(names)} to see.", markup=False)
        if draft is not None and not self._area.text and self._aside is None:
            self._place(draft.text, draft.folds)
            cut = " What looked like a key was not kept." if MARK in draft.value else ""
            self._area.notify(f"Restored the draft from your last window.{cut}", markup=False)
        elif draft is not None:
            remember(draft.value)
            past.add(self._whose)
        if past:
            those = "The draft" if len(past) == 1 else f"{len(past)} drafts"
            words = f"{those} from your last window {'is' if len(past) == 1 else 'are'} in the history."
            self._area.notify(words, markup=False)
        self.keep_soon()

    def turn_to(self, whose: str, name: str) -> None:
        """Show what is written to this agent or call; what was written to the one before is kept for that one."""
        if whose != self._whose:
            if (before := self._aside or self._current()).text:
                self._others[self._whose] = before
            self._whose = whose
            draft = self._others.pop(whose, PromptDraft())
            if self._aside is not None:
                self._aside = draft
            elif self._area.text or draft.text:
                self._place(draft.text, draft.folds)
            self.keep_soon()
        self._names[whose] = name

    def give(self, draft: PromptDraft, whose: str, behind: str = "") -> str:
        """Put a draft before what is written to this agent or call; `behind`: behind this, if that begins with it.

        Returns what then stands before what was written.
        """
        here = whose == self._whose
        later = (self._aside or self._current()) if here else self._others.get(whose, PromptDraft())
        if behind and later.text.startswith(behind):
            draft = PromptDraft(f"{behind}\n\n{draft.value}")
            later = replace(later, text=later.text.removeprefix(behind).removeprefix("\n\n"))
        given = replace(draft.before(later), name=self.name_of(whose), offered=False)
        if not here:
            self._others[whose] = given
        elif self._aside is not None:
            self._aside = given
        else:
            self._place(given.text, given.folds)
        self.keep()
        return draft.value

    def hold(self, whose: str) -> PromptDraft:
        """Take what is in the area out of it, until `release`: it is being asked whether to send it."""
        self._held[whose] = held = replace(self._current(), name=self.name_of(whose))
        self._place("", {})
        return held

    def release(self, whose: str) -> None:
        """What was held has been sent, or is elsewhere again."""
        self._held.pop(whose, None)
        self.keep()

    @property
    def in_use(self) -> bool:
        """Whether something is being written, or asked about."""
        return bool(self._area.text or self._held)

    def name_of(self, whose: str) -> str:
        """Whom this key stands for, in words."""
        return self._names.get(whose) or whose

    def leave(self) -> None:
        """Store everything now: the window ends, and what is written elsewhere goes with its widgets."""
        if self._left is None:
            self._left = self.beside()
            self.keep()

    async def close(self) -> None:
        """Write the draft a last time and release the slot."""
        if self._keeper is not None:
            self.keep()
            await self._keeper.close()

    def keep_soon(self) -> None:
        """Store the draft shortly."""
        if self._timer is None and self._keeper is not None:
            self._timer = self._area.set_timer(KEEP_AFTER, self.keep)

    def keep(self) -> None:
        """Store the draft now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._keeper is not None:
            draft = self._aside or self._current()
            beside = self.beside() if self._left is None else self._left
            if beside:
                draft = replace(draft, text="\n\n".join(filter(None, (draft.text, beside))))
            kept = self._others | {self._whose: draft}
            for whose, held in self._held.items():
                kept[whose] = held.before(kept.get(whose, PromptDraft()))
            self._keeper.keep(kept)

    def _current(self) -> PromptDraft:
        text = self._area.text
        return PromptDraft(text, self._area.folds.used(text), self.name_of(self._whose))

    def set_aside(self) -> None:
        """Put the area's content aside for `bring_back`; content already aside stays."""
        if self._aside is None:
            self._aside = self._current()

    def take_aside(self) -> PromptDraft | None:
        """Take the content that was put aside; it is then the caller's."""
        aside, self._aside = self._aside, None
        return aside

    def bring_back(self) -> None:
        """Show the content that was put aside."""
        if (aside := self.take_aside()) is not None:
            self._place(aside.text, aside.folds)

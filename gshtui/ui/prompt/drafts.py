"""Drafts: text being typed survives a crash of the window and returns at the next start.

One slot for each window of a project, held by a file lock that dies with its process, so two windows never share a
draft. Files are 0600 and replaced whole; they are written in threads shortly after each change, and every failure is an
`OSError`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from textual.timer import Timer

from gshtui.system.files import private_files
from gshtui.system.files.file_lock import try_lock
from gshtui.system.files.private_files import open_reader
from gshtui.system.json_types import is_object
from gshtui.system.tasks import start_job
from gshtui.ui.kit.widgets.folding_area import FoldingArea

SLOTS = 32


class PromptDraft(msgspec.Struct, frozen=True):
    """A text with labels for its folded parts, and the parts."""

    text: str = ""
    folds: dict[int, str] = msgspec.field(default_factory=dict[int, str])


class DraftFile:
    """A window's draft on disk. `open` takes a free slot; `close` gives it back."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock
        self._folded: dict[int, str] | None = None

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

    def read(self) -> PromptDraft | None:
        """The stored draft; `None`: there is none, or it cannot be read (then it is set aside)."""
        try:
            kept = _object(self.path)
            text = kept.get("text")
            folds = _object(self._folds_path) if kept.get("folds") else {}
            if not isinstance(text, str):
                raise ValueError("no text")
            return PromptDraft(text, {int(number): str(folded) for number, folded in folds.items()})
        except FileNotFoundError:
            return None
        except ValueError:
            self.path.replace(self.path.with_suffix(".corrupt"))
            return None

    def write(self, draft: PromptDraft) -> None:
        """Replace the stored draft, without secrets. Folded parts are written only if they have changed."""
        from gshtui.text.secret_shapes import without_tokens

        if draft.folds and draft.folds != self._folded:
            _replace(self._folds_path, {str(number): without_tokens(text) for number, text in draft.folds.items()})
            self._folded = dict(draft.folds)
        _replace(self.path, {"text": without_tokens(draft.text), "folds": bool(draft.folds)})

    def remove(self) -> None:
        """Delete the draft."""
        self.path.unlink(missing_ok=True)
        self._folds_path.unlink(missing_ok=True)
        self._folded = None

    def close(self) -> None:
        """Release the slot; the draft stays for the next window."""
        os.close(self._lock)


def _object(path: Path) -> dict[str, object]:
    import json

    descriptor = private_files.open_existing(path)
    with open_reader(descriptor) as file:
        read: object = json.loads(file.read())
    if not is_object(read):
        raise ValueError("not an object")
    return read


def _replace(path: Path, what: Mapping[str, object]) -> None:
    import json

    # JSON as it is here escapes everything beyond ASCII, lone surrogates too.
    private_files.write_whole(path, json.dumps(what).encode(), sync=True)


class DraftKeeper:
    """Stores the newest draft on disk, one write at a time, in threads. A failure is reported once and stops it."""

    def __init__(self, project: Path, failed: Callable[[str], None]) -> None:
        self._project = project
        self._failed = failed
        self._file: DraftFile | None = None
        self._wanted: PromptDraft | None = None
        self._pending = False
        self._task: asyncio.Task[None] | None = None
        self._broken = False

    async def restore(self) -> PromptDraft | None:
        """Take a slot; returns the draft that a dead window left in it."""
        try:
            self._file = await asyncio.to_thread(self._open)
            found = await asyncio.to_thread(self._file.read)
        except OSError as error:
            self._fail(error)
            return None
        self._start()
        return found

    def keep(self, draft: PromptDraft) -> None:
        """Store the current text; an empty draft is removed."""
        self._wanted = draft if draft.text else None
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
            draft = self._wanted
            try:
                if draft is None:
                    await asyncio.to_thread(file.remove)
                else:
                    await asyncio.to_thread(file.write, draft)
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._broken = True
        why = (error.strerror or str(error)).rstrip(".")
        self._failed(f"Drafts won't survive a crash of this window: {why}.")


KEEP_AFTER = 0.4
"""Seconds from a change until the draft is written."""


class Drafts:
    """The draft of one area: stored on disk shortly after each change, and put aside while something else is shown.

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
        self._timer: Timer | None = None
        self._aside: PromptDraft | None = None
        """The text put aside when something else took its place; a crash must not lose it."""
        self.beside: Callable[[], str] = str
        """What is being written elsewhere in the window; it is kept behind the draft."""
        self._left: str | None = None
        """That, from when the window ended."""

    async def restore(self) -> None:
        """Restore the draft of a dead window."""
        draft = await self._keeper.restore() if self._keeper is not None else None
        if draft is None or not draft.text:
            return
        typed, folds = self._area.text, dict(self._area.folds.texts)
        self._place(draft.text, draft.folds)
        if typed and not folds:  # keys that came before the draft are appended to it
            self._area.insert(typed, self._area.document.end, maintain_selection_offset=False)
        self._area.notify("Restored the draft from your last window.", markup=False)

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
                draft = PromptDraft("\n\n".join(filter(None, (draft.text, beside))), draft.folds)
            self._keeper.keep(draft)

    def _current(self) -> PromptDraft:
        text = self._area.text
        return PromptDraft(text, self._area.folds.used(text))

    def set_aside(self) -> None:
        """Put the area's content aside for `bring_back`; content already aside stays."""
        if self._aside is None:
            self._aside = self._current()

    def put_before(self, texts: Sequence[str]) -> bool:
        """Put texts before the content that is put aside; False: none is."""
        if (aside := self._aside) is None:
            return False
        self._aside = PromptDraft("\n\n".join([*texts, aside.text] if aside.text else texts), aside.folds)
        return True

    def take_aside(self) -> PromptDraft | None:
        """Take the content that was put aside; it is then the caller's."""
        aside, self._aside = self._aside, None
        return aside

    def bring_back(self) -> None:
        """Show the content that was put aside."""
        if (aside := self.take_aside()) is not None:
            self._place(aside.text, aside.folds)

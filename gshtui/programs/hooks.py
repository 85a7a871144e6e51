"""Hooks of other programs: put in with a person's consent, taken out without a trace, never in the user's own files.

Owns the folder `$XDG_CONFIG_HOME/gsh/hooks` and Gemini's extension `gsh-tui`; that a recipe is there is the consent.
What is shown before is exactly what is written. The command `hooks` installs and removes, `launch` asks what is there.
"""

from __future__ import annotations

import difflib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gshtui.programs import recipes
from gshtui.programs.profile import Profile
from gshtui.settings import paths
from gshtui.system import private_files

State = Literal["impossible", "absent", "installed", "outdated", "unreadable"]


class HooksError(Exception):
    """The hooks could not be put in or taken out; one sentence."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file. `None` stands for: it is not there."""

    file: Path
    before: str | None
    after: str | None

    @property
    def diff(self) -> str:
        """Exactly what changes, as a unified diff; empty when nothing does."""
        old = (self.before or "").splitlines(keepends=True)
        new = (self.after or "").splitlines(keepends=True)
        source = str(self.file) if self.before is not None else "/dev/null"
        target = str(self.file) if self.after is not None else "/dev/null"
        return "".join(difflib.unified_diff(old, new, source, target))


@dataclass(frozen=True, slots=True)
class Plan:
    """What an installation or a removal would do."""

    changes: tuple[Change, ...]

    @property
    def file(self) -> Path:
        """The recipe."""
        return self.changes[0].file

    @property
    def diff(self) -> str:
        """Exactly what changes."""
        return "".join(change.diff for change in self.changes)


def folder_of(profile: Profile) -> Path:
    """Where recipes of this kind are kept: with our configuration, but Gemini's where it looks for extensions."""
    if profile.hooks.kind == "gemini":
        home = os.environ.get("GEMINI_CLI_HOME", "")
        return (Path(home) if home.startswith("/") else paths.home()) / ".gemini" / "extensions"
    return paths.config_dir() / "hooks"


def file_of(profile: Profile, folder: Path | None = None) -> Path:
    """A profile's recipe."""
    return (folder or folder_of(profile)) / next(iter(recipes.files(profile)), "none")


def state(profile: Profile, folder: Path | None = None) -> State:
    """Whether the hooks are in, and are those that this version would put in. Blocks for a moment."""
    if not profile.hooks.kind:
        return "impossible"
    try:
        changes = plan(profile, folder=folder).changes
    except HooksError:
        return "unreadable"
    if all(change.before is None for change in changes):
        return "absent"
    return "installed" if all(change.before == change.after for change in changes) else "outdated"


def plan(profile: Profile, *, remove: bool = False, folder: Path | None = None) -> Plan:
    """What would be done. Blocks for a moment. Raises `HooksError` where nothing can be done."""
    if not profile.hooks.kind:
        raise HooksError(f"{profile.title} has no hooks that gsh-tui knows.")
    place = folder or folder_of(profile)
    wanted = recipes.files(profile)
    return Plan(tuple(Change(place / n, _read(place / n), None if remove else text) for n, text in wanted.items()))


def carry_out(what: Plan) -> list[Path]:
    """Do it; gives the backups of what was there. Blocks for a moment.

    Raises:
        HooksError: a file is not as it was when the plan was made, or cannot be written.
    """
    for change in what.changes:
        if _read(change.file) != change.before:
            raise HooksError(f"{change.file} has changed in the meantime; look at the difference again.")
    kept: list[Path] = []
    for change in what.changes:
        try:
            kept += _carried_out(change)
        except OSError as error:
            raise HooksError(f"{change.file} cannot be written: {error.strerror or error}.") from error
    return kept


def _carried_out(change: Change) -> list[Path]:
    if change.before == change.after:
        return []
    file, kept = change.file, list[Path]()
    if change.before is not None:
        folder = paths.state_dir() / "hooks"  # not beside it: a program may read every file that it finds there
        private_files.make_folder(folder)
        kept.append(folder / f"{file.name}.backup-{time.strftime('%Y%m%d-%H%M%S')}")
        private_files.write_whole(kept[0], change.before.encode(), sync=True)
    if change.after is not None:
        private_files.make_folder(file.parent)
        private_files.write_whole(file, change.after.encode(), sync=True)
        return kept
    file.unlink()
    for folder in (file.parent, file.parent.parent):
        if recipes.EXTENSION in folder.parts and not any(folder.iterdir()):
            folder.rmdir()  # of the extension; nobody else's
    return kept


def _read(file: Path) -> str | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HooksError(f"{file} cannot be read: {error.strerror or error}.") from error
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(1_000_000).decode("utf-8", "replace")

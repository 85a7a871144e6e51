"""Hooks of other programs: put in with a person's consent, taken out without a trace, never in the user's own files.

Owns the folder `$XDG_CONFIG_HOME/gsh/hooks`; a recipe's file there is the consent. What is shown before is exactly what
is written. The command `hooks` installs and removes, `launch` asks what is there.
"""

from __future__ import annotations

import difflib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gshtui.agents.cli import recipes
from gshtui.agents.cli.profile import Profile
from gshtui.settings import paths

State = Literal["impossible", "absent", "installed", "outdated", "unreadable"]


class HooksError(Exception):
    """The hooks could not be put in or taken out; one sentence."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an installation or a removal would do."""

    file: Path
    before: str | None
    """The file's content now; `None` when there is none."""
    after: str | None

    @property
    def diff(self) -> str:
        """Exactly what changes, as a unified diff; empty when nothing does."""
        old = (self.before or "").splitlines(keepends=True)
        new = (self.after or "").splitlines(keepends=True)
        source = str(self.file) if self.before is not None else "/dev/null"
        target = str(self.file) if self.after is not None else "/dev/null"
        return "".join(difflib.unified_diff(old, new, source, target))


def file_of(profile: Profile, folder: Path | None = None) -> Path:
    """Where a profile's recipe is kept."""
    return (folder or paths.config_dir() / "hooks") / recipes.file_name(profile)


def state(profile: Profile, folder: Path | None = None) -> State:
    """Whether the hooks are in, and are those that this version would put in. Blocks for a moment."""
    if not profile.hooks.kind:
        return "impossible"
    try:
        there = _read(file_of(profile, folder))
    except HooksError:
        return "unreadable"
    if there is None:
        return "absent"
    return "installed" if there == recipes.content(profile) else "outdated"


def plan(profile: Profile, *, remove: bool = False, folder: Path | None = None) -> Plan:
    """What would be done. Blocks for a moment. Raises `HooksError` where nothing can be done."""
    if not profile.hooks.kind:
        raise HooksError(f"{profile.title} has no hooks that gsh-tui knows.")
    file = file_of(profile, folder)
    return Plan(file, _read(file), None if remove else recipes.content(profile))


def carry_out(what: Plan) -> Path | None:
    """Do it; the backup of what was there. Blocks for a moment.

    Raises:
        HooksError: the file is not as it was when the plan was made, or cannot be written.
    """
    if _read(what.file) != what.before:
        raise HooksError(f"{what.file} has changed in the meantime; look at the difference again.")
    if what.after == what.before:
        return None
    try:
        what.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        backup = None
        if what.before is not None:
            backup = what.file.with_name(f"{what.file.name}.backup-{time.strftime('%Y%m%d-%H%M%S')}")
            _write(backup, what.before)
        if what.after is None:
            what.file.unlink()
        else:
            _write(what.file, what.after)
    except OSError as error:
        raise HooksError(f"{what.file} cannot be written: {error.strerror or error}.") from error
    return backup


def _read(file: Path) -> str | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HooksError(f"{file} cannot be read: {error.strerror or error}.") from error
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(1_000_000).decode("utf-8", "replace")


def _write(file: Path, text: str) -> None:
    """Whole or not at all, 0600."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    beside.replace(file)

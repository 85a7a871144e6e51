"""Virtual paths: `/memory/main/parser.mem`. Pure; a path that could mean another one is refused, never repaired.

A path is virtual if it is absolute and its first step is a mount; every other path is a real one.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from gshtui.system.expected_error import ExpectedError
from gshtui.text.plain_name import NameRefused, plain_name
from gshtui.text.sanitise import one_line, visible

SHARED = "shared"
"""The mount whose folders are real ones: their files can have names that no virtual file may have."""
CALLS = "calls"
"""The mount of the shared rooms."""
CURRENT = "@here"
"""Below it: the call that the caller is in. No call has such a name."""
_MOST_STEPS = 64
_LONGEST = 4_096
PATTERN = frozenset("*?[")
"""Characters that make the last step a pattern."""


class PathRefused(ExpectedError):
    """It is no path that can be used; the message says why."""


class VirtualPath(msgspec.Struct, frozen=True):
    """Steps from the root `/`."""

    steps: tuple[str, ...] = ()

    @property
    def mount(self) -> str:
        """The first step; empty for the root."""
        return self.steps[0] if self.steps else ""

    @property
    def name(self) -> str:
        return self.steps[-1] if self.steps else "/"

    @property
    def parent(self) -> VirtualPath:
        """The folder that it is in; the root's is the root."""
        return VirtualPath(self.steps[:-1])

    def below(self, name: str) -> VirtualPath:
        return VirtualPath((*self.steps, name))

    def __str__(self) -> str:
        return "/" + "/".join(self.steps)


ROOT = VirtualPath()


def virtual_path(text: str, mounts: Collection[str]) -> VirtualPath | None:
    """The virtual path that an absolute path is; `None`: it is a real one. Raises `PathRefused`: it begins with a
    mount, but is no path that can be used.
    """
    if not text.startswith("/"):
        return None
    first, *rest = [step for step in text.split("/") if step] or [""]
    if not first:
        return ROOT
    if first not in mounts:
        return None
    if ".." in rest:
        raise PathRefused(f"{_shown(text)} has .. in it, which could lead out of /{first}.", "Name the folder itself.")
    return joined(VirtualPath((first,)), "/".join(rest))


def joined(folder: VirtualPath, text: str) -> VirtualPath:
    """A relative path from a virtual folder; `..` counts only at its beginning, and stays at the root.
    Raises `PathRefused`: it is no path that can be used.
    """
    if len(text) > _LONGEST:
        raise PathRefused(f"The path is longer than {_LONGEST:,} characters.")
    steps, climbing = list(folder.steps), True
    for step in text.split("/"):
        if step in ("", "."):
            continue
        if step == "..":
            if not climbing:
                raise PathRefused(f"{_shown(text)} has .. behind a name.", "Name the folder itself.")
            steps = steps[:-1]
            continue
        climbing = False
        steps.append(_step(step, steps))
    if len(steps) > _MOST_STEPS:
        raise PathRefused(f"The path has more than {_MOST_STEPS} steps.")
    return VirtualPath(tuple(steps))


def _step(step: str, before: list[str]) -> str:
    if before[:1] == [SHARED] and len(before) > 1:
        if "\0" in step:
            raise PathRefused("A path has no NUL in it.")
        return step
    try:
        plain_name(step, "name")
    except NameRefused as error:
        raise PathRefused(error.message, error.hint) from error
    return step


def _shown(text: str) -> str:
    shown = visible(one_line(text, 120))
    return shown if shown.isprintable() else ascii(shown)[1:-1]

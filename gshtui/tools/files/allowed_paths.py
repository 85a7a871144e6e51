"""The only files and folders that one agent's file tools reach, as its settings list them (`allowed_paths`).

A real path counts as what it leads to once links are followed, so that a link inside an allowed folder leads nowhere
else. A folder is allowed only as a whole: to list one of which only some files are allowed is refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gshtui.commands.declaration import CommandError
from gshtui.text.glob_pattern import compile_ignore_rule
from gshtui.text.sanitise import one_line
from gshtui.vfs.virtual_path import VirtualPath


class AllowedPaths:
    """Those of one agent."""

    def __init__(self, listed: Sequence[str], virtual: Sequence[str]) -> None:
        """
        Args:
            listed: paths from the project's folder, perhaps with `*`; absolute ones of a mount are virtual.
            virtual: the mounts.
        """
        self._listed = tuple(listed)
        self._virtual = [
            path.strip("/") for path in listed if path.startswith("/") and path.strip("/").partition("/")[0] in virtual
        ]
        real = [path.removeprefix("./").strip("/") for path in listed if not path.startswith("/")]
        self._all = any(path in ("", ".") for path in real)
        rules = (compile_ignore_rule(f"/{path}") for path in real if path not in ("", "."))
        self._patterns = [rule[0] for rule in rules if rule is not None]

    def check_real(self, project: Path, path: Path) -> None:
        """Refuse a real path that is not one of them. Raises `CommandError`."""
        root, found = os.path.realpath(project), os.path.realpath(path)
        relative = os.path.relpath(found, root)
        if relative == os.pardir or relative.startswith(os.pardir + os.sep):
            raise self._refused(str(path))
        if self._all or (relative != os.curdir and any(one.match(relative) for one in self._patterns)):
            return
        raise self._refused(relative)

    def check_virtual(self, path: VirtualPath) -> None:
        """Refuse a virtual path that is not one of them, or below one. Raises `CommandError`."""
        name = "/".join(path.steps)
        if not any(name == one or name.startswith(f"{one}/") for one in self._virtual):
            raise self._refused(f"/{name}")

    def _refused(self, path: str) -> CommandError:
        return CommandError(
            f"{one_line(path, 200)} is not among the paths that you may reach.",
            hint=f"You may reach {', '.join(one_line(one, 80) for one in self._listed)}; name one of them.",
        )

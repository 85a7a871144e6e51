"""What a path in a file command means: a virtual file, or a real one with the folder that it must stay in.

Absolute paths whose first step is a mount are virtual. `/shared/project` is the project's folder and `/shared/NAME` one
of the settings: what is below them is a real path, for which the guard, the approvals and the checks against links are
those of every other real path, and which must also stay in its folder. `context/pinned/NAME` is a document of the call
that the caller is in, unless there is a folder `context` where they work.

The only files and folders that one agent's file tools reach, as its settings list them (`allowed_paths`).

A real path counts as what it leads to once links are followed, so that a link inside an allowed folder leads nowhere
else. A folder is allowed only as a whole: to list one of which only some files are allowed is refused.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import CommandError, Invocation
from gshtui.settings.setting_values import PROJECT
from gshtui.text.file_name import read_name, written_name
from gshtui.text.glob_pattern import compile_ignore_rule
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line
from gshtui.tools.files import path_location
from gshtui.vfs import CALLS, CURRENT, SHARED, FileSystem, Node, VirtualPath, joined


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
        """Refuse a real path that is not one of them. Raises `ExpectedError`."""
        root, found = os.path.realpath(project), os.path.realpath(path)
        relative = os.path.relpath(found, root)
        if relative == os.pardir or relative.startswith(os.pardir + os.sep):
            raise self._refused(str(path))
        if self._all or (relative != os.curdir and any(one.match(relative) for one in self._patterns)):
            return
        raise self._refused(relative)

    def check_virtual(self, path: VirtualPath) -> None:
        """Refuse a virtual path that is not one of them, or below one. Raises `ExpectedError`."""
        name = "/".join(path.steps)
        if not any(name == one or name.startswith(f"{one}/") for one in self._virtual):
            raise self._refused(f"/{name}")

    def _refused(self, path: str) -> CommandError:
        return CommandError(
            f"{one_line(path, 200)} is not among the paths that you may reach.",
            hint=f"You may reach {', '.join(one_line(one, 80) for one in self._listed)}; name one of them.",
        )


_MOST_FOLDERS = 1_000
"""Callers whose working folder is kept."""
_OF_CALL = re.compile(r"(?:\./)?(?:context/(?:pinned(?:/[^/]*)?|system\.prompt)|conversation/\d+\.msg)")
"""What is meant in the call that the caller is in, unless there are such files where they work."""


class RealPath(msgspec.Struct, frozen=True):
    """A path of the real file system, as the file tools take it: what is quoted in it is read by `locate`."""

    asked: str
    invocation: Invocation
    """With the folder that relative paths start from, and the one that the path must stay in."""


class FilePaths:
    """The paths of one hub's file commands, and the folder that each caller works in."""

    def __init__(self, files: FileSystem, shared: Mapping[str, Path], allowed: Sequence[Sequence[str]] = ()) -> None:
        """
        Args:
            shared: the real folders below `/shared`, by name, besides the project's.
            allowed: lists of paths, each of which must allow what an agent asks for.
        """
        self.files = files
        self._allowed = allowed
        self._limits: list[AllowedPaths] | None = None
        self._shared = dict(shared)
        self._folders: OrderedDict[tuple[str, str], VirtualPath] = OrderedDict()

    def resolve(self, invocation: Invocation, asked: str) -> VirtualPath | RealPath:
        """What a path means for this caller. Raises `ExpectedError`: it is no path that can be used, or none that this
        agent may reach.
        """
        found = self._resolved(invocation, asked)
        if self._allowed and invocation.caller.is_agent:
            for limit in self._allowed_paths():
                if isinstance(found, VirtualPath):
                    limit.check_virtual(found)
                else:
                    named = os.path.expanduser(read_name(found.asked))  # noqa: PTH111 - never raises
                    limit.check_real(invocation.project, found.invocation.cwd / named)
        return found

    def _allowed_paths(self) -> list[AllowedPaths]:
        if self._limits is None:  # the mounts are known once the hub's parts have started
            self._limits = [AllowedPaths(one, self.files.names) for one in self._allowed]
        return self._limits

    def _resolved(self, invocation: Invocation, asked: str) -> VirtualPath | RealPath:
        named = read_name(asked)
        path = self.files.path(named)
        here = self._folders.get(_whose(invocation))
        if path is None and here is not None and not named.startswith(("/", "~")):
            if (real := self._real(invocation, here)) is not None:
                invocation = replace(invocation, cwd=real[0])
            else:
                path = joined(here, named)
        if path is None and self._is_of_call(invocation, named):
            path = joined(VirtualPath((CALLS, CURRENT)), named)
        if path is None:
            return RealPath(asked, invocation)
        if (real := self._real(invocation, path)) is None:
            return path
        below = written_name(str(real[0])) + ("/" if named.endswith("/") else "")
        return RealPath(below, replace(invocation, within=real[1]))

    def _is_of_call(self, invocation: Invocation, asked: str) -> bool:
        if CALLS not in self.files.names or not _OF_CALL.fullmatch(asked):
            return False
        return not (invocation.cwd / asked.removeprefix("./").partition("/")[0]).exists()

    def virtual(self, invocation: Invocation, asked: str) -> VirtualPath | None:
        """The virtual path that it means; `None`: it is a real one. Raises `ExpectedError`."""
        found = self.resolve(invocation, asked)
        return found if isinstance(found, VirtualPath) else None

    def real_path(self, invocation: Invocation, asked: str) -> Path:
        """The real file or folder that it means, for a program. Raises `ExpectedError`."""
        found = self.resolve(invocation, asked)
        if isinstance(found, VirtualPath):
            raise CommandError(
                f"{found} is a virtual file, which no program can open.", hint="`cat` shows it, and `write` changes it."
            )
        return path_location.locate(found.invocation, found.asked).real

    def folder(self, invocation: Invocation) -> VirtualPath:
        return self._folders.get(_whose(invocation)) or self._shown(invocation, invocation.cwd) or _PROJECT

    def enter(self, invocation: Invocation, folder: VirtualPath) -> None:
        """Work in another folder from now on, in this conversation."""
        self._folders[_whose(invocation)] = folder
        self._folders.move_to_end(_whose(invocation))
        if len(self._folders) > _MOST_FOLDERS:
            self._folders.popitem(last=False)

    def shared_place(self, invocation: Invocation, real: Path) -> VirtualPath:
        """A real folder as one below `/shared`. Raises `CommandError` if it is in none."""
        if (found := self._shown(invocation, real)) is None:
            raise CommandError(
                f"{one_line(str(real), 300)} is outside the project and the shared folders.",
                hint='`[shared] NAME = "FOLDER"` in your configuration makes a folder /shared/NAME.',
            )
        return found

    def shared_nodes(self) -> list[Node]:
        return [Node(name, "folder") for name in sorted({PROJECT, *self._shared})]

    def _real(self, invocation: Invocation, path: VirtualPath) -> tuple[Path, Path] | None:
        """Where a path below `/shared/NAME` leads, and the folder of that name; `None`: it is all virtual."""
        if path.mount != SHARED or len(path.steps) < 2:
            return None
        name = path.steps[1]
        root = invocation.project if name == PROJECT else self._shared.get(name)
        if root is None:
            known = known_names("folders", (node.name for node in self.shared_nodes()))
            raise CommandError(f"There is no /shared/{one_line(name, 60)}.", hint=known)
        return root.joinpath(*path.steps[2:]), root

    def _shown(self, invocation: Invocation, real: Path) -> VirtualPath | None:
        for name, root in ((PROJECT, invocation.project), *self._shared.items()):
            for one in (root, Path(os.path.realpath(root))):
                if real.is_relative_to(one):
                    return VirtualPath((SHARED, name, *real.relative_to(one).parts))
        return None


_PROJECT = VirtualPath((SHARED, PROJECT))


def _whose(invocation: Invocation) -> tuple[str, str]:
    return invocation.caller.name, invocation.session

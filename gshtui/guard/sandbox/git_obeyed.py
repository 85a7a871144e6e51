"""What git obeys in a project because its configuration names it: a folder of hooks, included files.

Git is asked once, and again after one of the files that it read has changed. A configuration in the project that a
command in the sandbox could change is among what is protected, so none of them can name another place.
"""

from __future__ import annotations

from pathlib import Path

from gshtui.guard.obeyed_files import HOOKS
from gshtui.settings.git_programs import configured_files


class GitObeyed:
    """Of one project."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._paths: tuple[Path, ...] = ()
        self._read: tuple[tuple[Path, int], ...] = ()
        """The files that said so, with their change times; empty: git has not been asked."""

    def paths(self) -> tuple[Path, ...]:
        """Files and folders of the project, there or not. Blocks for a moment where git is to be asked."""
        if not self._read or any(_changed(path) != at for path, at in self._read):
            files, hooks = configured_files(self._project)
            own = self._project / ".git"
            watched = (own / "config", own / "config.worktree", Path.home() / ".gitconfig", *files)
            self._read = tuple((path, _changed(path)) for path in dict.fromkeys(watched))
            self._paths = (*self._inside(files), *(self._hooks(hooks) if hooks is not None else ()))
        return self._paths

    def _inside(self, files: list[Path]) -> list[Path]:
        own = self._project / ".git"
        return [path for path in files if path.is_relative_to(self._project) and not path.is_relative_to(own)]

    def _hooks(self, folder: Path) -> list[Path]:
        """The folder; of one that has the whole project in it, the hooks."""
        if self._project.is_relative_to(folder):
            return [folder / name for name in HOOKS] if folder == self._project else []
        return [folder] if folder.is_relative_to(self._project) else []


def _changed(path: Path) -> int:
    """Its change time, in nanoseconds since the epoch; 0: there is none."""
    try:
        return path.stat().st_ctime_ns
    except OSError:
        return 0

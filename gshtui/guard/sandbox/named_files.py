"""What is obeyed in a project because something else names it.

Git's configuration names a folder of hooks, included files, and the programs of filters, drivers and aliases; `.envrc`
and `mise.toml` name the files of variables that they load; and a person's own start-up files may be links into the
project. What such a program calls in turn is content.

Git is asked once, and again after one of the files that it read has changed. A configuration in the project that a
command in the sandbox could change is among what is protected, so none of them can name another place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from gshtui.guard.policy.obeyed_files import HOOKS
from gshtui.settings.git_programs import configured_files
from gshtui.system.caller_environment import caller_environ

_LARGEST = 65_536
"""Bytes of a file that are read."""
_LOADS = re.compile(
    r"(?m)^[ \t]*+(dotenv|dotenv_if_exists|source_env|source_env_if_exists|source|\.)"
    r"(?:[ \t]++([^\s;&|#]{1,300}))?[ \t]*+$"
)
"""Of direnv's standard library, and of a shell."""
_NAMED_BY_MISE = re.compile(r"(?m)^[ \t]*+(?:_|mise|env\._)\.(?:file|source)[ \t]*+=[ \t]*+([^\n]{1,1000})")
_QUOTED = re.compile(r"[\"']([^\"'\n]{1,300})[\"']")
_MISE = (
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    "mise/config.toml",
    ".mise/config.toml",
    ".config/mise/config.toml",
    ".config/mise.toml",
)
_AT_START = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".bash_aliases", ".inputrc", ".envrc"),
    *(
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".tmux.conf",
        ".gitconfig",
        ".vimrc",
        ".emacs",
        ".npmrc",
    ),
    *(".config/git/config", ".config/fish/config.fish", ".config/tmux/tmux.conf", ".config/nvim/init.lua"),
    *(".config/nvim/init.vim", ".config/starship.toml", ".emacs.d/init.el", ".ssh/config", ".ssh/rc"),
)
"""Of a home: what a shell, git or an editor runs."""
_OF_ZSH = (".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout")


class NamedFiles:
    """Of one project."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._by_git: tuple[Path, ...] = ()
        self._read: tuple[tuple[Path, int], ...] = ()
        """The files that said so, with their change times; empty: git has not been asked."""

    def paths(self) -> tuple[Path, ...]:
        """Files and folders of the project, there or not. Blocks for a moment where git is to be asked."""
        if not self._read or any(_changed(path) != at for path, at in self._read):
            found = configured_files(self._project)
            own = self._project / ".git"
            watched = (own / "config", own / "config.worktree", Path.home() / ".gitconfig", *found.files)
            self._read = tuple((path, _changed(path)) for path in dict.fromkeys(watched))
            hooks = self._hooks(found.hooks) if found.hooks is not None else []
            self._by_git = (*self._inside(found.files), *hooks, *self._inside(found.programs))
        return tuple(dict.fromkeys((*self._by_git, *self._loaded(), *self._linked())))

    def _inside(self, files: list[Path]) -> list[Path]:
        own = self._project / ".git"
        return [path for path in files if path.is_relative_to(self._project) and not path.is_relative_to(own)]

    def _hooks(self, folder: Path) -> list[Path]:
        """The folder; of one that has the whole project in it, the hooks."""
        if self._project.is_relative_to(folder):
            return [folder / name for name in HOOKS] if folder == self._project else []
        return [folder] if folder.is_relative_to(self._project) else []

    def _loaded(self) -> Iterator[Path]:
        """The files that what is loaded on entering the folder loads in turn."""
        for line in _LOADS.finditer(_text(self._project / ".envrc")):
            if named := line[2] or (".env" if line[1].startswith("dotenv") else ""):
                yield from self._named(named.strip("\"'"))
        for name in _MISE:
            for line in _NAMED_BY_MISE.finditer(_text(self._project / name)):
                for named in _QUOTED.findall(line[1]):
                    yield from self._named(named)

    def _named(self, name: str) -> Iterator[Path]:
        path = Path(os.path.normpath(self._project / name))
        if "$" not in name and path != self._project and path.is_relative_to(self._project):
            yield path

    def _linked(self) -> Iterator[Path]:
        """Where the person's own start-up files are, if links lead into the project."""
        home, zsh = os.path.expanduser("~"), caller_environ().get("ZDOTDIR", "")  # noqa: PTH111 - done before each command
        names = [f"{home}/{name}" for name in _AT_START]
        names += [f"{zsh}/{name}" for name in _OF_ZSH] if zsh.startswith("/") else []
        for name in names:
            real = os.path.realpath(name)
            if real.startswith(f"{self._project}/"):
                yield Path(real)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _changed(path: Path) -> int:
    """Its change time, in nanoseconds since the epoch; 0: there is none."""
    try:
        return path.stat().st_ctime_ns
    except OSError:
        return 0

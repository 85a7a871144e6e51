"""Which files of a project other programs obey: one table for the sandbox, the file tools and the questions.

The rule: *protected* is what runs something for a person who only enters the folder, opens it in an editor or with an
agent, uses git there, or calls a program of the machine (`node`, `python`, `rustc`, which version managers find). No
one expects the project's code to run by that, so a command in the sandbox cannot change such a file, and what it makes
of them is taken out of the project. What a *build, test or package tool* obeys (a Makefile, `package.json`, `.npmrc`,
`.cargo/config.toml`, `conftest.py` …) is content like any source: such a tool runs the project's code anyway. A file
tool warns of both. Which files those are, of which program, and where its documentation says so, is in
`obeyed_files.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from fnmatch import translate
from pathlib import Path
from typing import Any


def _read(file: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that are obeyed in every folder, and at a project's top."""
    tables: list[dict[str, Any]] = tomllib.loads(file.read_text("utf-8"))["program"]
    anywhere = dict.fromkeys(name for table in tables for name in table.get("anywhere", ()))
    top = dict.fromkeys(name for table in tables for name in table.get("top", ()))
    return tuple(anywhere), tuple(top)


_ANYWHERE, _TOP = _read(Path(__file__).with_suffix(".toml"))
ANYWHERE = frozenset(name.rstrip("/") for name in _ANYWHERE if "*" not in name and "/" not in name.rstrip("/"))
"""Names that are obeyed wherever in the project they are."""
_IN_FOLDER = frozenset(name.rstrip("/") for name in _ANYWHERE if "*" not in name and "/" in name.rstrip("/"))
"""Names that are, with that of the folder around them."""
_PATTERNS = re.compile("|".join(translate(name) for name in _ANYWHERE if "*" in name and "/" not in name))
_PATTERNS_IN_FOLDER = re.compile("|".join(translate(name) for name in _ANYWHERE if "*" in name and "/" in name))
AT_TOP = tuple(name.rstrip("/") for name in (*_ANYWHERE, *_TOP) if "*" not in name)
"""Those that are obeyed at the project's top, as far as a list can have them."""
HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "post-rewrite"),
    *("reference-transaction", "sendemail-validate", "fsmonitor-watchman", "pre-auto-gc", "post-index-change"),
)
"""What git runs of a folder of hooks on a person's machine."""


def _pattern(names: Iterable[str]) -> str:
    """For folded paths; of a folder, what is in it."""
    ends = (
        re.escape(name.casefold()).replace(r"\*", "[^/]*") + (".+" if name.endswith("/") else "$") for name in names
    )
    return rf"/(?:{'|'.join(ends)})"


_PROTECTED = re.compile(
    _pattern(name for name in (*_ANYWHERE, *_TOP, *HOOKS) if name not in (".git/", ".gsh/")), re.DOTALL
)
_BY_TOOLS = re.compile(
    r"""(?xs)/(?:
    \.gitattributes | \.gitconfig | commondir | config\.worktree | \.ignore | opencode\.json[^/]* | \.?mise\.[^/]*\.toml
    | \.(?:ba|z|k|c|tc)?shrc | \.(?:bash_|z)?profile | \.(?:z|bash_)log(?:in|out) | \.zshenv | \.inputrc | \.tmux\.conf
    | \.github/workflows/.+ | \.gitlab-ci\.yml | crontab
    | conftest\.py | sitecustomize\.py | usercustomize\.py | setup\.py | setup\.cfg | pyproject\.toml | tox\.ini
    | noxfile\.py | pytest\.ini | \.cargo/config[^/]* | package\.json | \.pnpmfile\.[cm]?js | \.npmrc | \.yarnrc\.yml
    | (?:gnu)?makefile | justfile | rakefile | gemfile | build\.rs | cmakelists\.txt | dockerfile
    )$"""
)


def is_obeyed_anywhere(name: str, folder: str = "") -> bool:
    """Whether a file or folder of this name is protected in every folder of a project, or in one of that name."""
    if name in ANYWHERE or has_obeyed_pattern(name):
        return True
    return bool(folder) and (f"{folder}/{name}" in _IN_FOLDER or bool(_PATTERNS_IN_FOLDER.match(f"{folder}/{name}")))


def has_obeyed_pattern(name: str) -> bool:
    """Whether it is protected for a pattern that it matches, so that no list of names can have it."""
    return bool(_PATTERNS.match(name))


def is_obeyed(path: str) -> bool:
    """Whether some program obeys the file at this path: a protected one, or content that a tool reads."""
    folded = path.casefold()
    return bool(_PROTECTED.search(folded) or _BY_TOOLS.search(folded))

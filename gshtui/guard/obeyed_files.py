"""Which files of a project other programs obey: one table for the sandbox, the file tools and the questions.

The rule: *protected* is what runs something for a person who only enters the folder, opens it in an editor or with an
agent, uses git there, or calls a program of the machine (`node`, `python`, `rustc`, which version managers find). No
one expects the project's code to run by that, so a command in the sandbox cannot change such a file, and what it makes
of them is taken out of the project. What a *build, test or package tool* obeys (a Makefile, `package.json`, `.npmrc`,
`.cargo/config.toml`, `conftest.py` …) is content like any source: such a tool runs the project's code anyway. A file
tool warns of both. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_EDITORS = (
    *(".vscode/", ".idea/", ".devcontainer/", ".devcontainer.json", ".zed/", ".nvim.lua", ".exrc", ".nvimrc", ".vimrc"),
    *(".dir-locals.el", ".dir-locals-2.el"),
)
_AGENTS = (
    *(".mcp.json", ".gsh/", ".claude/", ".codex/", ".gemini/", ".cursor/", ".opencode/", ".vibe/", ".roo/", ".qwen/"),
    *(".kiro/", ".amazonq/", ".continue/", ".windsurf/", "crush.json", ".crush.json"),
)
_SHELLS = (".envrc", ".autoenv", ".autoenv.zsh")
_VERSIONS = (
    *("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise/", ".tool-versions"),
    *("rust-toolchain", "rust-toolchain.toml"),
)
_ANYWHERE = (".git/", ".husky/", *_EDITORS, *_AGENTS, *_SHELLS, *_VERSIONS)
_LEFTHOOK = tuple(
    f"{dot}lefthook{local}.{form}"
    for dot in ("", ".")
    for local in ("", "-local")
    for form in ("yml", "yaml", "toml", "json")
)
_AT_TOP = (
    *_ANYWHERE,
    *("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", ".cursorrules", "opencode.json", ".aider.conf.yml"),
    *(".gitmodules", ".githooks/", ".pre-commit-config.yaml", ".overcommit.yml", *_LEFTHOOK),
    *(".config/mise/", ".worktreeinclude"),
)
ANYWHERE = frozenset(name.rstrip("/") for name in _ANYWHERE)
"""Names that are obeyed wherever in the project they are."""
AT_TOP = tuple(name.rstrip("/") for name in _AT_TOP)
"""Those that are obeyed at the project's top."""
HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "post-rewrite"),
    *("reference-transaction", "sendemail-validate", "fsmonitor-watchman", "pre-auto-gc", "post-index-change"),
)
"""What git runs of a folder of hooks on a person's machine."""
_ENDINGS = (".code-workspace", ".sublime-project")
"""Of files that are obeyed wherever they are, whatever their names."""


def _pattern(names: Iterable[str]) -> str:
    """For folded paths; of a folder, what is in it."""
    ends = (re.escape(name.casefold()) + (".+" if name.endswith("/") else "$") for name in names)
    return rf"/(?:{'|'.join(ends)})"


_PROTECTED = re.compile(_pattern(name for name in (*_AT_TOP, *HOOKS) if name not in (".git/", ".gsh/")), re.DOTALL)
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


def is_obeyed_anywhere(name: str) -> bool:
    """Whether a file or folder of this name is protected in every folder of a project."""
    return name in ANYWHERE or name.endswith(_ENDINGS)


def has_obeyed_ending(name: str) -> bool:
    """Whether it is protected for its ending, so that no list of names can have it."""
    return name.endswith(_ENDINGS)


def is_obeyed(path: str) -> bool:
    """Whether some program obeys the file at this path: a protected one, or content that a tool reads."""
    folded = path.casefold()
    return bool(_PROTECTED.search(folded) or _BY_TOOLS.search(folded)) or folded.endswith(_ENDINGS)

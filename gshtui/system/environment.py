"""Environments of the processes we start: commands without secrets and hijacks, programs in agents' terminals.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MARK = "GSH_CALL"
"""Variable carried by every process of one call, so that each can be found wherever it went."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY_ID|ACCESS_KEY|SECRET|SECRETS|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PRIVATE_KEY|AUTH"
    r"|COOKIE|DSN)(?:$|_)|^(?:ANTHROPIC|OPENAI|GEMINI|GROQ|MISTRAL|COHERE|HUGGINGFACE|HF)_|_PAT$|^PGPASS|^MYSQL_PWD$"
)
_NOT_SECRET = frozenset(("SSH_AUTH_SOCK", "XAUTHORITY", "SSH_ASKPASS", "GPG_TTY"))
_SECRET_VALUE = re.compile(
    r"^(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{16}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{20,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\..*|-----BEGIN [A-Z ]*PRIVATE KEY-----.*)",
    re.DOTALL,
)
_URL_WITH_PASSWORD = re.compile(r"^[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@", re.IGNORECASE)
# Variables that change which code a shell, git or an interpreter runs at start, and those that tie it to this terminal.
_HIJACKS = re.compile(
    r"^(?:TMUX|TMUX_.*|BASH_ENV|ENV|BASH_FUNC_.*|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|HISTFILE"
    r"|GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|PREFIX|EXEC_PATH|CONFIG.*|EXTERNAL_DIFF|SSH_COMMAND|ASKPASS)"
    r"|GSH_.*|PYTHONSTARTUP|PYTHONHOME|PYTHONINSPECT|PERL5OPT|RUBYOPT|NODE_OPTIONS|LINES|COLUMNS|LESSOPEN|LESSCLOSE"
    r"|RIPGREP_CONFIG_PATH|TERM_PROGRAM.*|VTE_VERSION|KITTY_.*|ITERM_.*|WEZTERM_.*|STY|WINDOW|WINDOWID)$"
)
_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONUNBUFFERED": "1",
}


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a non-interactive command, out of this process's `environ`."""
    passed = {
        name: value for name, value in environ.items() if not (_HIJACKS.match(name) or is_secret_variable(name, value))
    }
    return passed | _QUIET


def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable looks like a key or a password, by its name or its value."""
    if name in _NOT_SECRET:
        return False
    return bool(_SECRET_NAME.search(name.upper()) or _SECRET_VALUE.match(value) or _URL_WITH_PASSWORD.match(value))


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_WINDOW = frozenset({"TERM", "COLUMNS", "LINES", "SHLVL", "PWD", "OLDPWD", "_", "STY", "WINDOWID", "VTE_VERSION"})
"""Facts about the terminal or shell that started us, which the agent's terminal does not share."""
_PREFIXES = ("TMUX", "TERM_PROGRAM", "KITTY_", "WEZTERM_", "ALACRITTY_", "ITERM_", "GHOSTTY_", "TEXTUAL")


def program_environment(environ: Mapping[str, str], agent: str, **more: str) -> dict[str, str]:
    """The variables for the agent with this id, without undecodable ones."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _WINDOW and not name.startswith(_PREFIXES) and _is_text(name) and _is_text(value)
    }
    return kept | {"GSH_AGENT": agent} | more


def named_variables(words: Iterable[str]) -> dict[str, str]:
    """The variables in words such as `NAME=VALUE`.

    Raises:
        ValueError: a word is none, or would put a secret where it is kept and shown; the message says so without it.
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not _NAME.fullmatch(name) or not _is_text(value):
            raise ValueError("A variable is written as NAME=VALUE.")
        if name.startswith("GSH_"):
            raise ValueError(f"{name} is a variable of gsh-tui itself.")
        if value and is_secret_variable(name, value):
            raise ValueError(f"{name} looks like a secret, which would be kept in the record and shown in lists.")
        found[name] = value
    return found


def _is_text(value: str) -> bool:
    try:
        return "\0" not in value and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False

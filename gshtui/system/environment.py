"""The environment of programs in agents' terminals, and the mark of every process of one call. Pure."""

from __future__ import annotations

from collections.abc import Mapping

MARK = "GSH_CALL"
"""Variable carried by every process of one call, so that each can be found wherever it went."""

AGENT = "GSH_AGENT"
"""Variable of the programs in an agent's terminal: its id."""

_WINDOW = frozenset({"TERM", "COLUMNS", "LINES", "SHLVL", "PWD", "OLDPWD", "_", "STY", "WINDOWID", "VTE_VERSION"})
"""Facts about the terminal or shell that started us, which the agent's terminal does not share."""
_PREFIXES = ("TMUX", "TERM_PROGRAM", "KITTY_", "WEZTERM_", "ALACRITTY_", "ITERM_", "GHOSTTY_", "TEXTUAL")


def program_environment(environ: Mapping[str, str], agent: str, **more: str) -> dict[str, str]:
    """The variables for the agent with this id, without undecodable ones."""
    return without_terminal(environ) | {AGENT: agent} | more


def without_terminal(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables for a program on another terminal than ours, without undecodable ones."""
    return {
        name: value
        for name, value in environ.items()
        if name not in _WINDOW and not name.startswith(_PREFIXES) and _is_text(name) and _is_text(value)
    }


def _is_text(value: str) -> bool:
    try:
        return "\0" not in value and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False

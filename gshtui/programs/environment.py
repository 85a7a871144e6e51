"""The environment of a program in an agent's terminal: the person's own, without what belongs to this window alone.

The tmux server itself gets next to nothing, so keys and paths go with each agent; never in arguments. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

_WINDOW = frozenset({"TERM", "COLUMNS", "LINES", "SHLVL", "PWD", "OLDPWD", "_", "STY", "WINDOWID", "VTE_VERSION"})
"""Facts about the terminal or the shell that started us; the agent's terminal is another one."""
_PREFIXES = ("TMUX", "TERM_PROGRAM", "KITTY_", "WEZTERM_", "ALACRITTY_", "ITERM_", "GHOSTTY_", "TEXTUAL")


def environment(environ: Mapping[str, str], agent: str, **more: str) -> dict[str, str]:
    """The variables for the agent of this id. Variables that no text can hold are left out."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _WINDOW and not name.startswith(_PREFIXES) and _is_text(name) and _is_text(value)
    }
    return kept | {"GSH_AGENT": agent} | more


def _is_text(value: str) -> bool:
    try:
        return "\0" not in value and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False

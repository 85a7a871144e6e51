"""The arguments that open the window, parsed by hand so that it opens without loading a command-line library.

Imports only `os`. Anything it does not know is left to click, which also writes the help.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` takes longer to import than this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from gshtui.bus.agent_data import GuardMode

_VALUES = {
    "--resume": "session",
    "-r": "session",
    "--agent": "agent",
    "--provider": "provider",
    "--model": "model",
    "-m": "model",
    "--mode": "mode",
    "--pane": "pane",
}
PANES = ("agents", "shell", "context", "timeline")
_CHOICES = {"mode": ("plan", "ask", "edit", "auto", "yolo"), "pane": PANES}
_SESSIONS = {"--continue": "latest", "-c": "latest", "--new": "new"}


class Opening:
    """What to open: the folder, the conversation, the agent, its model, its mode, and the pane in front.

    Attributes:
        alone: its hub is in its own process.
        lines: the face for screen readers, in place of a window.
    """

    __slots__ = ("agent", "alone", "cwd", "lines", "mode", "model", "pane", "provider", "session")

    def __init__(
        self,
        cwd: str = "",
        session: str = "",
        agent: str = "",
        provider: str = "",
        model: str = "",
        mode: GuardMode | Literal[""] = "",
        pane: str = "",
        alone: bool = False,
        lines: bool = False,
    ) -> None:
        self.cwd = cwd
        self.session = session
        self.agent = agent
        self.provider = provider
        self.model = model
        self.mode: GuardMode | Literal[""] = mode
        self.pane = pane
        self.alone = alone
        self.lines = lines


def read_opening(argv: list[str], is_command: Callable[[str], bool]) -> Opening | None:
    """The window that these arguments ask for; `None` if they ask for something else or are not understood.

    A command's name always means the command, even if there is a folder of that name (`./run` is the folder).
    """
    opening = Opening()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, has_value, value = word.partition("=")
        if word in _SESSIONS:
            if opening.session:
                return None
            opening.session = _SESSIONS[word]
        elif word == "--alone" and not opening.alone:
            opening.alone = True
        elif word == "--screen-reader" and not opening.lines:
            opening.lines = True
        elif name in _VALUES:
            if not has_value:
                if not rest or rest[0].startswith("-"):
                    return None
                value = rest.pop(0)
            field = _VALUES[name]
            if not value or getattr(opening, field) or value not in _CHOICES.get(field, (value,)):
                return None
            setattr(opening, field, value)
        elif word.startswith("-") or opening.cwd or is_command(word) or not _is_folder(word):
            return None
        else:
            opening.cwd = os.path.abspath(word)  # noqa: PTH100
    return opening


def _is_folder(word: str) -> bool:
    return os.path.isdir(word)  # noqa: PTH112  # pathlib takes longer to import than all of this

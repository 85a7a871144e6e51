"""What widgets say upwards: an intent for the bus, or a line for the command language; the app tells the bridge.

So a widget never holds the hub, and a test can look at what a widget would have done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from gshtui.bus.event import Event

if TYPE_CHECKING:
    from gshtui.commands.declaration import Returns


class Intent(Message):
    """Publish this intent on the bus."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event


class CommandLine(Message):
    """Run this line of the command language as the person, and show its outcome."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.line = line


class CommandCall(Message):
    """Run a command by its parameters as the person: ask what it asks, and show its outcome."""

    def __init__(self, parameters: Returns[object]) -> None:
        super().__init__()
        self.parameters = parameters


class FeatureMessage(Message):
    """Base of what a widget asks of a feature of the window: the window hands it to the feature that handles it."""


class Note(FeatureMessage):
    """Keep this remark in the shell log.

    Args:
        cwd: the folder that it is about; empty: the window's.
    """

    def __init__(self, text: str, cwd: str = "") -> None:
        super().__init__()
        self.text = text
        self.cwd = cwd


class OpenTerminal(FeatureMessage):
    """Show the terminal of an agent in a tab, and go there.

    Args:
        agent: its id in the roster; `SHARED` is the shell that people and agents share.
        attach: give it the whole screen instead, by `tmux attach`.
    """

    SHARED = "shared"

    def __init__(self, agent: str, *, attach: bool = False) -> None:
        super().__init__()
        self.agent = agent
        self.attach = attach


class ForContext(FeatureMessage):
    """Something shall be shown of an agent's context, or done to it.

    Args:
        action: `inspect`, `receipt`, `undo`, `compact`, `prune`, `clear`, `tune`, `what_if`, `compare` or `diff`.
        agent: its id.
        about: the iteration to show, or the cut that it is about.
        section: the section to open, for `inspect`.
    """

    def __init__(self, action: str, agent: str, *, about: str = "", section: str = "") -> None:
        super().__init__()
        self.action = action
        self.agent = agent
        self.about = about
        self.section = section


class OpenChanges(FeatureMessage):
    """Show what the worktree in this folder holds against its base, in a tab."""

    def __init__(self, worktree: str) -> None:
        super().__init__()
        self.worktree = worktree

"""What a face without a window asks of a hub, and what it is told besides the events. Plain data, on the wire."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

from gshtui.bus.agent_data import GuardMode, Respondent
from gshtui.client.window_protocol import Surroundings
from gshtui.hub.faces.large_input import Large

WIND_DOWN = 10.0
"""Seconds that an interrupted turn has to record what it has so far."""
TurnEnd = Literal["finished", "printed", "usage", "denied", "unreachable", "error"]
"""How it went: `finished` and `printed` as asked; the others: there was no turn, and the face was told why."""


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a person or a script asks."""

    text: str = ""
    piped: str = ""
    """Long standard input, of which the model makes something first (`large`)."""
    file: str = ""
    """A file with the standard input, where that is no text."""
    agent: str = "main"
    provider: str = ""
    model: str = ""
    session: str = "new"
    continues: bool = False
    """Where that conversation is gone, or open elsewhere, a new one is begun."""
    max_iterations: int = 0
    """Most model requests; 0: as the settings say."""
    mode: GuardMode | None = None
    """What runs unasked; `None`: as the settings say."""
    respondent: Respondent = "nobody"
    printed: bool = False
    """Print the conversation so far before the turn; without a prompt, nothing else is done."""
    large: Large = ""
    flags: dict[str, Any] = {}
    """Settings for this turn only."""
    where: str = "gsh-tui prompt"
    recent: bool = False
    """Add what was run in shells to each question, not only to the first."""
    context_lines: int = 0
    """With `recent`: lines of those commands' output, at most; 0: as the settings say."""
    verbatim: bool = False
    """The text is sent as it is, also where it looks like a command."""


class TurnFace(Protocol):
    """What a turn tells its face besides the events."""

    def complain(self, text: str, hint: str = "") -> None:
        """Print why something is not as it was asked."""
        ...

    def note(self, text: str) -> None:
        """Tell a person who watches how far it is."""
        ...

    def show(self, text: str) -> None:
        """Print text in front of the answer."""
        ...

    def opened(self, session: str) -> None:
        """Keep the conversation's id for the next question."""
        ...


class TurnSubmission(Surroundings, frozen=True, kw_only=True):
    """A turn, and where its face is."""

    turn: TurnRequest

"""What a face without a window asks of a hub, and what it is told besides the events. Plain data, on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from gshtui.bus.agent_data import GuardMode, Respondent
from gshtui.client.window_protocol import Surroundings
from gshtui.hub.faces.large_input import Large

if TYPE_CHECKING:
    from gshtui.hub.hub import Hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.tools.shell.shell_process import Start

WIND_DOWN = 10.0
"""Seconds that an interrupted turn has to record what it has so far."""
TurnEnd = Literal["finished", "printed", "usage", "denied", "unreachable", "error", "interrupted"]
"""How it went: `finished` and `printed` as asked; `interrupted` by its face or the end of its hub; the others: there
was no turn, and the face was told why.
"""


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


class WorkFace(TurnFace, Protocol):
    """That of a feature's work, which has the face do something, too."""

    async def agrees(self, question: str) -> bool:
        """Ask the person."""
        ...

    async def lend(self, start: Start) -> int:
        """Run a program on the face's terminal to its end; returns its exit code. Cancelling it ends the program."""
        ...


class TurnSubmission(Surroundings, frozen=True, kw_only=True):
    """A turn, and where its face is."""

    turn: TurnRequest
    work: str = ""
    """What a feature does in its place: the name of one of its `faces`."""
    asked: dict[str, Any] = {}
    """What that is asked for."""


class HostedWork(Protocol):
    """A turn, or what a feature does in its place."""

    options: HubOptions
    """Of the hub that it needs."""

    async def run(self, hub: Hub) -> str:
        """Start the hub, and do it; how it went."""
        ...

    async def interrupt(self) -> None:
        """Have it end soon."""
        ...

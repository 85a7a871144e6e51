"""What the sources of a program's status say, and how much each counts.

A source that is connected to the program, or reads what the program itself keeps up to date, is a `LiveSource`; the
status watcher starts it and asks it. `gshtui.programs.status.status` weighs all that they say.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable
from pathlib import Path

import msgspec

from gshtui.bus.agent_data import OpenQuestion, ProgramMode

WORKING = frozenset({"thinking", "tool"})
QUIET = "quiet"
"""The status of a program that seems to rest, without evidence that its turn is over. It is never taken for idle."""


class Rank(enum.IntEnum):
    """How much a source counts. A lower one may raise a doubt about a higher one; it never replaces it, but by a
    positive sign of what the higher one cannot tell, such as an interrupt."""

    MOVEMENT = 1
    """Whether the screen moves."""
    SCREEN = 2
    """The rules of its profile, for its screen and its title."""
    TRANSCRIPT = 3
    """Its record of the conversation."""
    HOOK = 4
    """Its own reports of single events."""
    RECORD = 5
    """A file that it keeps up to date with its status."""
    PROTOCOL = 6
    """A protocol by which we are connected to it."""
    PROCESS = 7
    """Its process, and what has its terminal."""


class Evidence(msgspec.Struct, frozen=True):
    """What one source says now."""

    rank: Rank
    source: str
    """A word for people: protocol, record, listing, hook, transcript, title, screen, activity or process."""
    status: str
    """starting, thinking, tool, waiting or idle; `quiet`: nothing shows that it works, which is no evidence of rest."""
    at: float
    """Since when it says so, by the source's own clock where it has one; seconds since 1970."""
    confirmed: float = 0.0
    """When it was last seen to say so; seconds since 1970."""
    doing: str = ""
    vague: bool = False
    """Those words do not say what it waits for: what the screen says of that comes before them."""
    sure: bool = True
    question: OpenQuestion | None = None
    """What it asks, if the source knows that."""
    why: str = ""
    """On which grounds, for people: the event, the field, or the rule and the row that it matched."""
    final: bool = False
    """Of a transcript's rest: it says itself that the turn is over, at exactly that time."""
    began: float = 0.0
    """Of a transcript's rest: when that turn was begun; 0: unknown."""
    timed: bool = False
    """Of a transcript's rest: it began when its last words were said, and not when its prompt was."""
    behind: bool = False
    """Of work: it goes on behind a turn that is over, as the screen may show."""


class LiveSource(abc.ABC):
    """Something that tells a program's status while it runs. What a kind of source never tells, it leaves out."""

    @property
    @abc.abstractmethod
    def evidence(self) -> Evidence | None:
        """What it says now; `None` where it says nothing, so that the next rank counts."""

    @property
    def conversation(self) -> str:
        """The id of the conversation that the program is in; empty where it does not tell that."""
        return ""

    @property
    def version(self) -> str:
        """The program's version; empty where it does not tell that."""
        return ""

    @property
    def answer_text(self) -> str:
        """What the program said last in the turn that is over; empty while it works, or where it does not tell that."""
        return ""

    @property
    def file(self) -> Path | None:
        """The file that it reads, or the socket that it is connected to; `None` where there is none."""
        return None

    @property
    def mode(self) -> ProgramMode | None:
        """The mode that the program is in; `None` where it does not tell that."""
        return None

    @abc.abstractmethod
    async def start(self, changed: Callable[[], None]) -> None:
        """Begin, and call `changed` whenever any of this is different. Never raises: what fails says nothing."""

    async def refresh(self, *, quiet: bool) -> None:  # noqa: B027
        """Called with each look at the program's screen: read again what tells no changes by itself. `quiet`: the
        screen shows no work, so that what tells of a turn's end matters.
        """

    @abc.abstractmethod
    async def stop(self) -> None:
        """End."""

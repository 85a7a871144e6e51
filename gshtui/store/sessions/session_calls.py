"""Commands about conversations as code calls them, `await hub.call(RenameSession(session="01ab", …))`; their results.

One pair of parameters and result for each word of `session`; the handlers are in `session_commands`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.commands.declaration import Parameters, Returns
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.store.tables.message_table import SearchHit, StoredMessage
from gshtui.store.tables.session_table import SessionInfo

_ID = "Its id, the beginning or end of that, or its number in the list; empty: the current one."
_IDS = "Their ids, or numbers in the list."
STORE_PARTS = frozenset({"store"})
"""The parts of the hub that these commands need."""
SESSION_SYNONYMS = {
    "list": "ls",
    "remove": "rm",
    "delete": "rm",
    "summarize": "summarise",
    "restore": "unarchive",
}
SESSION_GROUP = ShellGroup(
    "Conversations: list, show, resume, export …",
    """\
Conversations: list, show, resume, export, search, summarise, rename, archive, remove. They work while a window is open.

For an ID you can write a unique part of its beginning or end, its number in the list, or `latest`.""",
    tuple(SESSION_SYNONYMS.items()),
)


def _shell(*places: str) -> ShellForm:
    return ShellForm(places, parts=STORE_PARTS)


class SessionList(msgspec.Struct, frozen=True):
    """Conversations, newest first."""

    sessions: list[SessionInfo]
    everywhere: bool
    """Whether the conversations of every folder were listed."""
    numbered: bool = True
    """Whether a conversation can be named by its position, counted from 1: nothing of this folder is filtered out."""
    more: bool = False
    """Whether there are older ones."""
    archived: bool = False
    """Whether none are listed because all are archived."""
    called: dict[str, str] = {}
    """How their agents and models are called, by id."""


class ShownSession(msgspec.Struct, frozen=True):
    """A conversation and its newest messages."""

    session: SessionInfo
    messages: list[StoredMessage]
    called: dict[str, str] = {}
    """How its agent and its model are called, by id."""


class ArchivedSessions(msgspec.Struct, frozen=True):
    """The conversations that were archived or taken back, as they are now."""

    sessions: list[SessionInfo]


class RemovedSessions(msgspec.Struct, frozen=True):
    """The removed conversations."""

    sessions: list[SessionInfo]


class SessionExport(msgspec.Struct, frozen=True):
    """A conversation exported to a file or, if none was named, as text."""

    session: SessionInfo
    format: str
    text: str = ""
    file: str = ""
    bytes: int = 0


class SessionSummary(msgspec.Struct, frozen=True):
    """What a conversation was about."""

    session: SessionInfo
    text: str


class SessionHits(msgspec.Struct, frozen=True):
    """The messages found by a search."""

    hits: list[SearchHit]
    everywhere: bool
    """Whether every folder was searched."""


class ListSessions(Parameters, Returns[SessionList]):
    """List this folder's conversations, newest first."""

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "ls"
    SHELL = _shell()
    all: bool = Field(default=False, description="List the conversations of every folder.")
    agent: str = Field(default="", description="List only this agent's.")
    provider: str = Field(default="", description="List only those that used this provider last.")
    model: str = Field(default="", description="List only those whose last model has this in its name.")
    cost: Annotated[float, ShellOption(metavar="DOLLARS")] = Field(
        default=0.0, ge=0, le=1_000_000, description="List only those that cost so much or more."
    )
    archived: bool = Field(default=False, description="List those that were archived.")
    limit: int = Field(default=20, ge=1, le=10_000, description="Maximum number of conversations.")


class _OfSession(Parameters):
    FORMER_NAMES = {"target": "session"}
    COMMAND: ClassVar[str] = "session"
    session: Annotated[str, ShellOption("id", kind="session")] = Field(default="", description=_ID)


class ShowSession(_OfSession, Returns[ShownSession]):
    """Show a conversation; by default this folder's latest."""

    WORD: ClassVar[str] = "show"
    SHELL = _shell("session")
    all: bool = Field(default=False, description="Show all messages.")
    limit: int = Field(default=20, ge=1, le=10_000, description="Maximum number of messages.")


class ResumeSession(_OfSession, Returns[SessionInfo]):
    """Open the window with a conversation.

    With --json, only print which conversation it would open.
    """

    WORD: ClassVar[str] = "resume"
    PICKS: ClassVar[bool] = True
    SHELL = ShellForm(
        ("session",),
        parts=STORE_PARTS,
        needs_terminal="`session resume` opens a window, which needs a terminal; `prompt --session ID` does not.",
    )
    session: Annotated[str, ShellOption("id", kind="session")] = Field(default="latest", description=_ID)


class ArchiveSessions(Parameters, Returns[ArchivedSessions]):
    """Archive conversations: lists leave them out. Whatever is said in one takes it back."""

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "archive"
    SHELL = _shell("sessions")
    sessions: Annotated[tuple[str, ...], ShellOption("ids", metavar="ID…", kind="session", required=True)] = Field(
        default=(), description=_IDS
    )


class UnarchiveSessions(Parameters, Returns[ArchivedSessions]):
    """Take archived conversations back into the lists. `session ls --archived` lists them."""

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "unarchive"
    SHELL = _shell("sessions")
    sessions: Annotated[tuple[str, ...], ShellOption("ids", metavar="ID…", kind="session", required=True)] = Field(
        default=(), description=_IDS
    )


class RemoveSessions(Parameters, Returns[RemovedSessions]):
    """Remove conversations permanently. In a terminal it first asks.

    With --keep N: all of this folder but the newest N, and those that are open.
    """

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "rm"
    SHELL = _shell("sessions")
    sessions: Annotated[tuple[str, ...], ShellOption("ids", metavar="ID…", kind="session")] = Field(
        default=(), description=_IDS
    )
    keep: int | None = Field(
        default=None, ge=0, le=100_000, description="How many of this folder's newest conversations to keep."
    )


class ExportSession(_OfSession, Returns[SessionExport]):
    """Export a conversation.

    JSONL and JSON contain everything; Markdown and HTML are for reading. The HTML is one file that loads nothing.
    """

    WORD: ClassVar[str] = "export"
    SHELL = _shell("session")
    format: Literal["", "jsonl", "json", "markdown", "html"] = Field(
        default="", description="Format; by default it follows from the file's name."
    )
    out: Annotated[str, ShellOption("--out -o", metavar="FILE", kind="file")] = Field(
        default="", description="Write to a new file instead of standard output."
    )


class SearchSessions(Parameters, Returns[SessionHits]):
    """Find messages that contain all of WORDS."""

    FORMER_NAMES = {"target": "query"}
    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "search"
    SHELL = _shell("query")
    query: Annotated[str, ShellOption("words", required=True, words=-1)] = Field(default="", description="The words.")
    all: bool = Field(default=False, description="Search the conversations of every folder.")
    limit: int = Field(default=20, ge=1, le=10_000, description="Maximum number of hits.")


class SummariseSession(_OfSession, Returns[SessionSummary]):
    """Have the small model summarise a conversation; by default this folder's latest.

    `[agent] small_model` names it. The summary is printed; the conversation stays as it is.
    """

    WORD: ClassVar[str] = "summarise"
    SHELL = ShellForm(("session",), parts=STORE_PARTS | {"guard"})
    length: Annotated[int, ShellOption("--words")] = Field(
        default=200, ge=20, le=2_000, description="Maximum words of the summary."
    )


class RenameSession(_OfSession, Returns[SessionInfo]):
    """Rename a conversation."""

    WORD: ClassVar[str] = "rename"
    SHELL = _shell("session", "title")
    session: Annotated[str, ShellOption("id", kind="session", required=True)] = Field(default="", description=_ID)
    title: Annotated[str, ShellOption(required=True, words=-1)] = Field(default="", description="The new title.")

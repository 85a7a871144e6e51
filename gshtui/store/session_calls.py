"""What code calls about conversations, `await hub.call(RenameSession(session="01ab", title="Why"))`, and what it gets.

Plain parameters and results, one pair for each word of `session`; the handlers are in `session_commands`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gshtui.commands.declaration import Parameters, Returns
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.store.message_table import SearchHit, StoredMessage
from gshtui.store.session_table import SessionInfo

STORE_PARTS = frozenset({"store"})
"""The parts of the hub that these need."""
SESSION_SYNONYMS = {"list": "ls", "remove": "rm", "delete": "rm"}
SESSION_GROUP = ShellGroup(
    "Conversations: list, show, resume, export …",
    """\
Conversations: list, show, resume, export, search, rename, remove. All of it works while a window is open.

An ID may be its beginning or end as long as only one fits, or `latest`.""",
    tuple(SESSION_SYNONYMS.items()),
)


def _shell(*places: str) -> ShellForm:
    return ShellForm(places, parts=STORE_PARTS)


@dataclass(frozen=True, slots=True)
class SessionList:
    """Conversations, the newest first."""

    sessions: list[SessionInfo]
    everywhere: bool
    """Those of every folder were asked for."""


@dataclass(frozen=True, slots=True)
class ShownSession:
    """A conversation and its newest messages."""

    session: SessionInfo
    messages: list[StoredMessage]


@dataclass(frozen=True, slots=True)
class RemovedSessions:
    """The conversations that are gone."""

    sessions: list[SessionInfo]


@dataclass(frozen=True, slots=True)
class SessionExport:
    """A conversation as a file, or as text where none was named."""

    session: SessionInfo
    format: str
    text: str = ""
    file: str = ""
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class SessionHits:
    """Messages that were found by their words."""

    hits: list[SearchHit]
    everywhere: bool
    """Every folder was looked through."""


class ListSessions(Parameters, Returns[SessionList]):
    """List this folder's conversations, the newest first."""

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "ls"
    SHELL = _shell()
    everywhere: Annotated[bool, ShellOption("--all")] = Field(default=False, description="Of every folder.")
    limit: int = Field(default=20, ge=1, le=10_000, description="Most entries.")


class ShowSession(Parameters, Returns[ShownSession]):
    """Show a conversation; without ID the folder's latest."""

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "show"
    SHELL = _shell("session")
    session: Annotated[str, ShellOption("id", kind="session")] = ""
    whole: Annotated[bool, ShellOption("--all")] = Field(default=False, description="All messages.")
    limit: int = Field(default=20, ge=1, le=10_000, description="Messages at most.")


class ResumeSession(Parameters, Returns[SessionInfo]):
    """Open the window with a conversation.

    With --json it is only said which one it is.
    """

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "resume"
    SHELL = ShellForm(
        ("session",),
        parts=STORE_PARTS,
        needs_terminal="`session resume` opens the window and needs a terminal; `prompt --session ID` does not.",
    )
    session: Annotated[str, ShellOption("id", kind="session")] = "latest"


class RemoveSessions(Parameters, Returns[RemovedSessions]):
    """Remove conversations for good. In a terminal it asks first."""

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "rm"
    SHELL = _shell("sessions")
    sessions: Annotated[tuple[str, ...], ShellOption("ids", metavar="ID…", kind="session", required=True)] = ()


class ExportSession(Parameters, Returns[SessionExport]):
    """Export a conversation.

    JSONL keeps everything, Markdown is for reading.
    """

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "export"
    SHELL = _shell("session")
    session: Annotated[str, ShellOption("id", kind="session")] = ""
    format: Literal["", "jsonl", "markdown"] = Field(default="", description="Default: by the file's name.")
    out: Annotated[str, ShellOption("--out -o", metavar="FILE", kind="file")] = Field(
        default="", description="Write to a new file instead of standard output."
    )


class SearchSessions(Parameters, Returns[SessionHits]):
    """Find messages by their words."""

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "search"
    SHELL = _shell("query")
    query: Annotated[str, ShellOption("words", required=True, words=-1)] = ""
    everywhere: Annotated[bool, ShellOption("--all")] = Field(
        default=False, description="In the conversations of every folder."
    )
    limit: int = Field(default=20, ge=1, le=10_000, description="Hits at most.")


class RenameSession(Parameters, Returns[SessionInfo]):
    """Give a conversation another title."""

    COMMAND: ClassVar[str] = "session"
    WORD: ClassVar[str] = "rename"
    SHELL = _shell("session", "title")
    session: Annotated[str, ShellOption("id", kind="session", required=True)] = ""
    title: Annotated[str, ShellOption(required=True, words=-1)] = ""

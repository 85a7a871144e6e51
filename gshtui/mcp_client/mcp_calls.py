"""The command `mcp` as code calls it, `await hub.call(ListServers())`: one pair of parameters and result each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

import msgspec
from pydantic import Field

from gshtui.commands.declaration import Mark, Parameters, Returns
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.mcp_client.server_definition import ServerDefinition
from gshtui.mcp_client.tool_pins import ServerPins

NO_PARTS = frozenset[str]()
MCP_GROUP = ShellGroup(
    "MCP servers that agents use, and ours for other programs.",
    """\
MCP servers whose tools agents use (Model Context Protocol).

A server's tools are called SERVER__TOOL. A server starts when an agent needs it; each call asks you, unless a rule
names the tool.""",
    synonyms=(("list", "ls"), ("remove", "rm"), ("delete", "rm"), ("get", "show")),
)
Source = Literal[
    "all",
    "claude",
    "codex",
    "opencode",
    "gemini",
    "qwen",
    "copilot",
    "crush",
    "vscode",
    "cursor",
    "windsurf",
    "zed",
]
PROGRAMS: tuple[str, ...] = get_args(Source)[1:]
"""Whose files are read, the first first."""


class ServerRow(msgspec.Struct, frozen=True):
    """One server, as a list shows it."""

    definition: ServerDefinition
    pins: ServerPins
    state: str = "off"
    why: str = ""
    agreed: bool = True
    """A person has agreed to it; not, if the project brings it and nobody has."""
    started_in: float = 0.0
    """Seconds that its last start took."""
    about: str = ""
    """What it says that it is, while it runs."""
    outside: str = ""
    """Why its program is outside the sandbox, as the end of a sentence."""
    said: tuple[str, ...] = ()
    """The last lines of its program's error output."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Agents that have it in processes of their own, each with its state there."""

    @property
    def is_known(self) -> bool:
        return self.pins.definition == self.definition.digest

    @property
    def status(self) -> str:
        """Its state in a few words."""
        if not self.definition.settings.enabled:
            return "disabled"
        if not self.agreed:
            return "not accepted"
        if self.is_known and self.pins.changed:
            return "tools changed"
        return self.why or self.state


class ServerList(msgspec.Struct, frozen=True):
    """The configured servers."""

    rows: tuple[ServerRow, ...]
    untrusted: tuple[str, ...] = ()
    """The project's files whose servers do not count until somebody trusts them."""


class ServerDetails(msgspec.Struct, frozen=True):
    """All about one server."""

    row: ServerRow
    origin: str
    """The file that it is from."""


class ChangedServer(msgspec.Struct, frozen=True):
    """A server that was added, changed or removed."""

    name: str
    done: str
    """What was done, as a sentence."""
    file: Path
    values: dict[str, Any]
    """As they are written."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server in another program's configuration, as it would be written into ours."""

    name: str
    values: dict[str, Any]
    source: str
    """The file it is from."""
    notes: tuple[str, ...] = ()
    """What is different from there, or left out, a sentence each."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What the file has for the variables that stand for keys in the values; never written down."""


class ImportedServers(msgspec.Struct, frozen=True):
    """What was imported."""

    added: tuple[FoundServer, ...]
    skipped: tuple[str, ...] = ()
    """Why others were not, a sentence each."""


class ServerCheck(msgspec.Struct, frozen=True):
    """What one server's check found."""

    name: str
    ok: bool
    lines: tuple[str, ...]


class ServerChecks(msgspec.Struct, frozen=True):
    """What the checks found."""

    checks: tuple[ServerCheck, ...]


class ServerAnswer(msgspec.Struct, frozen=True):
    """What became of an answer, or of something else that was done with a server."""

    name: str
    done: str


class ListServers(Parameters, Returns[ServerList]):
    """List the servers, with their state and how many tools each has."""

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(summary="List the servers.", parts=NO_PARTS)


class ShowServer(Parameters, Returns[ServerDetails]):
    """Show how a server is configured, and its tools as agents get them."""

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "show"
    SHELL = ShellForm(summary="Show a server and its tools.", parts=NO_PARTS)
    name: str = Field(description="Its name.")


class AddServer(Parameters, Returns[ChangedServer]):
    """Add a server to your configuration: a command to start, or the address of one that speaks HTTP.

    A name of the MCP registry alone, such as io.github.someone/server, is looked up there; what it would run, in
    exactly which version, is shown and asked about first.

    In a value, ${NAME} stands for a variable of yours, so that no key is written down.
    """

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "add"
    SHELL = ShellForm(
        ("name", "argv"),
        summary="Add a server.",
        parts=NO_PARTS,
        examples=(
            "gsh-tui mcp add git -- uvx mcp-server-git",
            "gsh-tui mcp add io.github.someone/server",
            "gsh-tui mcp add docs https://docs.example/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'",
        ),
        yes="Add a server of the registry without asking.",
        needs_answer=True,
        alone=True,
    )
    name: str = Field(description="Its name, which its tools' names begin with.")
    argv: Annotated[list[str], Mark.VERBATIM, ShellOption(metavar="COMMAND", words=-1, whole=True)] = Field(
        default=[], description="The command and its arguments, or an address."
    )
    env: Annotated[list[str], ShellOption(metavar="NAME=VALUE", whole=True)] = Field(
        default=[], description="A variable for the command."
    )
    header: Annotated[list[str], ShellOption(metavar="NAME=VALUE", whole=True)] = Field(
        default=[], description="An HTTP header."
    )
    cwd: str = Field(default="", description="Folder where the command starts; by default the project.")
    host: Annotated[list[str], ShellOption(metavar="HOST")] = Field(
        default=[], description="A host that it may reach from the sandbox."
    )
    writable: Annotated[list[str], ShellOption(metavar="FOLDER", whole=True)] = Field(
        default=[], description="A folder that it may write to from the sandbox; `.` is the project."
    )
    outside: bool = Field(default=False, description="Run it outside the sandbox.")


class RegistryServer(msgspec.Struct, frozen=True):
    """A server of the registry."""

    name: str
    version: str
    about: str
    ways: str
    """How it comes, in a few words: npm, pypi, address …"""


class RegistryList(msgspec.Struct, frozen=True):
    """What a search in the registry found."""

    word: str
    servers: tuple[RegistryServer, ...]


class SearchServers(Parameters, Returns[RegistryList]):
    """Search the MCP registry for servers. `gsh-tui mcp add NAME` adds one of them, with exactly its version."""

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "search"
    SHELL = ShellForm(
        ("word",), summary="Search the MCP registry.", parts=NO_PARTS, waiting="Asking the registry", alone=True
    )
    word: Annotated[str, Mark.VERBATIM] = Field(description="A part of its name.")


class RemoveServer(Parameters, Returns[ChangedServer]):
    """Remove a server from your configuration; its values are printed, so that you can add it again."""

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "rm"
    SHELL = ShellForm(summary="Remove a server.", parts=NO_PARTS, rights=True)
    name: str = Field(description="Its name.")


class EnableServer(Parameters, Returns[ChangedServer]):
    """Give agents the tools of a server, or take them away without removing it."""

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "enable"
    SHELL = ShellForm(summary="Switch a server on, or off.", parts=NO_PARTS, rights=True)
    name: str = Field(description="Its name.")
    off: bool = Field(default=False, description="Switch it off.")


class DisableServer(EnableServer):
    """Take a server's tools away from agents without removing it."""

    WORD: ClassVar[str] = "disable"
    SHELL = None
    off: Annotated[bool, Mark.CODE_ONLY] = True


class ImportServers(Parameters, Returns[ImportedServers]):
    """Add the servers that other programs have configured: Claude Code, Codex, OpenCode, Gemini CLI, editors …

    Shows them before it writes. A key that stands in a file there is not copied: it becomes the name of a variable.
    """

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "import"
    SHELL = ShellForm(
        ("source",),
        summary="Add the servers of other programs.",
        parts=NO_PARTS,
        yes="Write without asking.",
        needs_answer=True,
    )
    source: Source = Field(default="all", description="The program to import from.")
    seen: Annotated[tuple[str, ...] | None, Mark.CODE_ONLY] = None
    """Names that the person has agreed to; `None`: all that are found."""


class CheckServers(Parameters, Returns[ServerChecks]):
    """Start a server, or all of them, and say what works and what does not."""

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "doctor"
    SHELL = ShellForm(
        summary="Start servers and say what works.", parts=frozenset({"guard"}), waiting="Starting servers", alone=True
    )
    name: str = Field(default="", description="One server; by default all.")


class AcceptServer(Parameters, Returns[ServerAnswer]):
    """Let a server that the folder brings run, or offer the tools of one that changed them. Shows what it is about.

    Without NAME, it shows all servers that stand in other programs' files (Claude Code, Codex, OpenCode, VS Code and
    others), and asks once whether agents may use them from there.
    """

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "accept"
    SHELL = ShellForm(
        summary="Accept a folder's server, or changed tools.",
        parts=NO_PARTS,
        yes="Accept without asking.",
        needs_answer=True,
    )
    name: str = Field(default="", description="Its name; by default all that stand in other programs' files.")
    exact: Annotated[str, Mark.CODE_ONLY] = ""
    """What the person has seen; it is accepted only while it is the same. Empty: as it is now."""


class NamedResource(msgspec.Struct, frozen=True):
    """A resource that a person can name in a prompt as `@SERVER:URI`."""

    server: str
    uri: str
    """As it is named; a server that has some has an empty one, for its name alone."""
    about: str = ""


class ResourceList(msgspec.Struct, frozen=True):
    """Resources, or the servers that have some."""

    resources: tuple[NamedResource, ...]


class ListResources(Parameters, Returns[ResourceList]):
    """List the resources that a prompt can name as @SERVER:ADDRESS; without a server, the servers that have some."""

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "resources"
    name: str = Field(default="", description="The server; by default, which servers have resources.")


class RestartServer(Parameters, Returns[ServerAnswer]):
    """End a server and start it again."""

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "restart"
    name: str = Field(description="Its name.")


class AnswerServer(Parameters, Returns[ServerAnswer]):
    """Answer the question of a server with values: `mcp answer kit colour=red`."""

    COMMAND: ClassVar[str] = "mcp"
    WORD: ClassVar[str] = "answer"
    name: str = Field(description="The server that asks.")
    values: Annotated[str, Mark.VERBATIM] = Field(description="The values, as NAME=VALUE.")

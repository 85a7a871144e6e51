"""What is configured for one MCP server, with the variables put in that its values name; and the hash of what it runs.

Pure, but for the variables that it is handed.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gshtui.settings.started_programs import McpServer
from gshtui.system.expected_error import ExpectedError

_NAMED = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]{0,127})(?::-([^}$]{0,1000}))?\}")
"""`${NAME}`, `${NAME:-default}`, and `${env:NAME}`, as other programs' files write it."""


_PYPI, _NPM = ("pypi.org", "files.pythonhosted.org"), ("registry.npmjs.org",)
_REGISTRIES = {"uvx": _PYPI, "uv": _PYPI, "npx": _NPM, "bunx": _NPM}
"""What launchers fetch a server from, each time they start it anew."""
_FETCHED_WITHIN = 120.0
ServerSource = Literal["yours", "project", "editor", "program"]
"""editor: the client of this process has passed it on. program: it is in the file of another program."""


class McpError(ExpectedError):
    """A server cannot be used, or its call failed; the message is one sentence, and `hint` says what to do."""


@dataclass(frozen=True, slots=True)
class ResolvedServer:
    """A server's settings as they are used now: variables put in, the folder absolute."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(repr=False)
    cwd: Path
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class ServerDefinition:
    """One configured server.

    Attributes:
        source: whose configuration it is from.
        file: the other program's file that it is from.
        secrets: what its file has for the variables that stand for keys in the settings.
        kept_for: the folder for which a person's agreement counts; `None`: the project.
    """

    name: str
    settings: McpServer
    project: Path
    source: ServerSource = "yours"
    file: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    kept_for: Path | None = None

    @property
    def agreed_in(self) -> Path:
        """The folder for which a person's agreement counts."""
        return self.project if self.kept_for is None else self.kept_for

    @property
    def brought(self) -> bool:
        """Whether others bring it, so that a person must have agreed to exactly this before it is used."""
        return self.source != "yours"

    @property
    def bringer(self) -> str:
        """Who brings it, as the beginning of a sentence."""
        if self.file:
            return self.file
        return {"project": "This folder", "editor": "Your editor"}.get(self.source, "Your configuration")

    @property
    def is_http(self) -> bool:
        """Whether it is an address, not a program."""
        return bool(self.settings.url)

    @property
    def hosts(self) -> list[str]:
        """The hosts that its program may reach from the sandbox; those of the registry where a launcher fetches it."""
        return list(dict.fromkeys((*self.settings.hosts, *self._registry)))

    @property
    def _registry(self) -> tuple[str, ...]:
        return _REGISTRIES.get(Path(self.settings.command).name, ())

    def start_seconds(self, usual: float) -> float:
        """The seconds that its start may take: longer than usual where a launcher may have to fetch it first."""
        return max(usual, _FETCHED_WITHIN) if self._registry else usual

    @property
    def mistake(self) -> str:
        """Why it cannot be used as it is configured, as a sentence; empty: it can."""
        if self.settings.command and self.settings.url:
            return f"The MCP server {self.name} has both a command and a url."
        if not self.settings.command and not self.settings.url:
            return f"The MCP server {self.name} has neither a command nor a url."
        return ""

    @property
    def line(self) -> str:
        """What it runs, or where it is, on one line; variables are not put in."""
        return self.settings.url or shlex.join((self.settings.command, *self.settings.args))

    @property
    def digest(self) -> str:
        """The hash of all that decides what runs and what it gets; variables by their names."""
        told = self.settings.model_dump(mode="json", exclude={"enabled", "timeout"})
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def resolved(self, environ: Mapping[str, str]) -> ResolvedServer:
        """Put the variables in. Raises `McpError`: one of them is not set, or the server is not configured whole."""
        if self.mistake:
            raise McpError(self.mistake, "Give it one of them in [mcp.servers.…].")
        settings = self.settings

        def put(text: str) -> str:
            return self._put(text, environ)

        folder = Path(put(settings.cwd)).expanduser() if settings.cwd else self.project
        return ResolvedServer(
            tuple(put(word) for word in (settings.command, *settings.args)) if settings.command else (),
            {name: put(text) for name, text in settings.env.items()},
            folder if folder.is_absolute() else self.project / folder,
            put(settings.url),
            {name: put(text) for name, text in settings.headers.items()},
        )

    def _put(self, text: str, environ: Mapping[str, str]) -> str:
        def value(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            if known := self.secrets.get(name) or environ.get(name):
                return known
            if default is not None:
                return default
            raise McpError(
                f"The MCP server {self.name} needs the variable {name}, which is not set.",
                "Set it where gsh-tui runs.",
            )

        return _NAMED.sub(value, text)

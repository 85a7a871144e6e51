"""The `code` command: the outline of a file, its problems, and where symbols are defined and used.

An outline needs no language server. For all else one is started, in a trusted folder. Nothing is changed. Registers
nothing by itself; the hub calls `commands` and registers what it returns.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec
from msgspec.structs import replace
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Action,
    Assessment,
    CommandError,
    Effect,
    Incomplete,
    Invocation,
    Outcome,
    Parameters,
    Returns,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.features.code import code_queries
from gshtui.features.code.code_queries import Asked, CodePlace
from gshtui.features.code.language_servers import LanguageServerRow, LanguageServers
from gshtui.features.code.problems import CodeProblem, counted, listed
from gshtui.system.expected_error import ExpectedError
from gshtui.text import markdown_table
from gshtui.text.markdown_table import fenced
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.files import code_outline, path_location, read
from gshtui.tools.files.code_outline import SourcePart
from gshtui.tools.files.file_paths import FilePaths, RealPath
from gshtui.tools.files.path_location import Location
from gshtui.vfs import VirtualPath

_PARTS = frozenset({"guard"})
_MOST_LISTED = 60
"""Problems of one answer."""
DESCRIPTION = """\
Ask about code: `outline` of a file, `diagnostics` of a file (or all known), `symbols` by name, `definition`, \
`references` and `hover` of a symbol. Name the symbol as it is written, and a file it is in; the line, if it is there \
more than once. Only `outline` works without a language server for the file."""


class CodeOutline(msgspec.Struct, frozen=True):
    """The parts of a file. `lines`: how many it has."""

    path: Path
    lines: int
    entries: list[SourcePart]


class CodeProblems(msgspec.Struct, frozen=True):
    """Problems, worst first. `failed`: sentences about servers that could not say."""

    problems: list[CodeProblem]
    failed: list[str]
    path: Path | None = None


class CodePlaces(msgspec.Struct, frozen=True):
    """Places of a symbol. `what`: what they are, in a word."""

    name: str
    what: str
    places: list[CodePlace]


class CodeHover(msgspec.Struct, frozen=True):
    """What a server says of a symbol; empty: nothing."""

    name: str
    text: str


class CodeServers(msgspec.Struct, frozen=True):
    """The language servers that are installed."""

    rows: list[LanguageServerRow]
    enabled: bool
    refused: str = ""
    """Why none of them starts in this folder, as a sentence; empty: they may."""


class ServersRestarted(msgspec.Struct, frozen=True):
    """How many servers were ended."""

    count: int


class _OfFile(Parameters):
    COMMAND: ClassVar[str] = "code"
    path: Annotated[str, ShellOption(kind="file")] = Field(description="The file.")


class _OfSymbol(Parameters):
    COMMAND: ClassVar[str] = "code"
    name: str = Field(description="The symbol, as it is written.")
    path: Annotated[str, ShellOption(kind="file")] = Field(default="", description="A file that it is in.")
    line: Annotated[int, ShellOption()] = Field(default=0, ge=0, description="The line; 0: the first that has it.")


def _shell(summary: str, *places: str) -> ShellForm:
    return ShellForm(places, summary=summary, parts=_PARTS, waiting="Asking the language server")


class ShowOutline(_OfFile, Returns[CodeOutline]):
    """Show the classes, functions and the like of a file with their lines."""

    WORD: ClassVar[str] = "outline"
    SHELL = _shell("Show the parts of a file with their lines.", "path")


class ListProblems(Parameters, Returns[CodeProblems]):
    """List the problems of a file, as its language servers report them.

    Without a file, those that running servers know.
    """

    COMMAND: ClassVar[str] = "code"
    WORD: ClassVar[str] = "diagnostics"
    SHELL = _shell("List the problems of a file.", "path")
    path: Annotated[str, ShellOption(kind="file", required=True)] = Field(default="", description="The file.")


class FindSymbols(_OfSymbol, Returns[CodePlaces]):
    """Find symbols by a part of their names, in the project or in one file."""

    WORD: ClassVar[str] = "symbols"
    SHELL = _shell("Find symbols by name.", "name", "path")
    name: Annotated[str, ShellOption(required=True)] = Field(default="", description="A part of it; empty: of a file.")


class FindDefinition(_OfSymbol, Returns[CodePlaces]):
    """Find where a symbol is defined."""

    WORD: ClassVar[str] = "definition"
    SHELL = _shell("Find where a symbol is defined.", "name", "path")


class FindReferences(_OfSymbol, Returns[CodePlaces]):
    """Find where a symbol is used."""

    WORD: ClassVar[str] = "references"
    SHELL = _shell("Find where a symbol is used.", "name", "path")


class ShowHover(_OfSymbol, Returns[CodeHover]):
    """Show the type and the documentation of a symbol."""

    WORD: ClassVar[str] = "hover"
    SHELL = _shell("Show what a symbol is.", "name", "path")


class ListLanguageServers(Parameters, Returns[CodeServers]):
    """List the language servers that are installed, and what became of those that were started here."""

    COMMAND: ClassVar[str] = "code"
    WORD: ClassVar[str] = "servers"
    SHELL = _shell("List the language servers that are installed.")


class RestartLanguageServers(Parameters, Returns[ServersRestarted]):
    """End language servers and forget their failures; they start when they are next needed."""

    COMMAND: ClassVar[str] = "code"
    WORD: ClassVar[str] = "restart"
    name: str = Field(default="", description="The server; empty: all of them.")


def commands(paths: FilePaths, servers: Callable[[], LanguageServers]) -> list[AnyCommand]:
    """The family. `servers`: those of the hub, made when they are first needed."""
    handlers = _CodeHandlers(paths, servers)
    places = ("name", "path", "line")
    return [
        group(
            "code",
            "Outlines, problems, definitions and uses of code",
            Action(ShowOutline, handlers.outline, _outline_text),
            Action(ListProblems, handlers.problems, _problems_text),
            Action(FindSymbols, handlers.symbols, _places_text, positions=places),
            Action(FindDefinition, handlers.definition, _places_text, positions=places),
            Action(FindReferences, handlers.references, _places_text, positions=places),
            Action(ShowHover, handlers.hover, _hover_text, positions=places),
            Action(ListLanguageServers, handlers.list_servers, _servers_text),
            Action(RestartLanguageServers, handlers.restart, _restarted_text, access=Access.HUMAN_ONLY),
            family="files",
            bare="servers",
            shell=ShellGroup(
                "Outlines, problems and symbols of code.", "What language servers and grammars know of your code."
            ),
            assess=handlers.assess,
            complete=path_location.complete_path,
            description=DESCRIPTION,
            tool=True,
            acts=True,
        )
    ]


class _CodeHandlers:
    """What the actions do."""

    def __init__(self, paths: FilePaths, servers: Callable[[], LanguageServers]) -> None:
        self._paths = paths
        self._servers = servers

    async def assess(self, invocation: Invocation, wanted: Returns[object]) -> Assessment:
        """Judge it as reading the file that it names. Raises `ExpectedError`."""
        path = str(getattr(wanted, "path", ""))
        name = str(getattr(wanted, "name", ""))
        subject = one_line(literal(" ".join(filter(None, (wanted.WORD, name, path)))), 200)
        if not path:
            return Assessment(Effect.READ, subject)
        return read.reading(await self._locate(invocation, path), "code")

    async def outline(self, invocation: Invocation, wanted: ShowOutline) -> CodeOutline:
        """Raises `CommandError`, `LanguageServerError`."""
        place = await self._file(invocation, wanted.path)
        entries, lines = await code_queries.outline_of(self._servers(), place.real, place.project)
        return CodeOutline(place.real, lines, entries)

    async def problems(self, invocation: Invocation, wanted: ListProblems) -> CodeProblems:
        """Raises `CommandError`, `LanguageServerError`."""
        if not wanted.path:
            found = self._servers().known_problems(_project(invocation))
            return CodeProblems([one for one in found if self._may_see(invocation, one.path)], [])
        place = await self._file(invocation, wanted.path)
        problems, failed = await self._servers().problems(place.real, place.project)
        return CodeProblems(problems, failed, place.real)

    async def symbols(self, invocation: Invocation, wanted: FindSymbols) -> CodePlaces:
        """Raises `CommandError`, `LanguageServerError`."""
        if not (wanted.name or wanted.path):
            raise Incomplete("symbols needs a symbol.", hint="For example: code symbols NAME src/app.py")
        found = await code_queries.find_symbols(self._servers(), await self._asked(invocation, wanted))
        return self._places(invocation, wanted.name, "symbol", found)

    async def definition(self, invocation: Invocation, wanted: FindDefinition) -> CodePlaces:
        """Raises `CommandError`, `LanguageServerError`."""
        found = await code_queries.find_definitions(self._servers(), await self._asked(invocation, wanted))
        return self._places(invocation, wanted.name, "definition", found)

    async def references(self, invocation: Invocation, wanted: FindReferences) -> CodePlaces:
        """Raises `CommandError`, `LanguageServerError`."""
        found = await code_queries.find_references(self._servers(), await self._asked(invocation, wanted))
        return self._places(invocation, wanted.name, "use", found)

    async def hover(self, invocation: Invocation, wanted: ShowHover) -> CodeHover:
        """Raises `CommandError`, `LanguageServerError`."""
        return CodeHover(wanted.name, await code_queries.hover(self._servers(), await self._asked(invocation, wanted)))

    async def list_servers(self, invocation: Invocation, _wanted: ListLanguageServers) -> CodeServers:
        """Never raises."""
        servers = self._servers()
        return CodeServers(await servers.rows(), servers.settings.enabled, await servers.refusal(invocation.project))

    async def restart(self, _invocation: Invocation, wanted: RestartLanguageServers) -> ServersRestarted:
        """Raises `CommandError`: there is no such server."""
        servers = self._servers()
        if wanted.name and wanted.name not in {entry.name for entry in servers.entries}:
            raise CommandError(
                f"There is no language server {one_line(literal(wanted.name), 60)!r}.",
                hint="`code servers` lists those that are installed.",
            )
        return ServersRestarted(await servers.restart(wanted.name))

    async def _asked(self, invocation: Invocation, wanted: _OfSymbol) -> Asked:
        if not wanted.path:
            return Asked(wanted.name, _project(invocation))
        place = await self._file(invocation, wanted.path)
        return Asked(wanted.name, place.project, place.real, wanted.line)

    async def _locate(self, invocation: Invocation, asked: str) -> Location:
        found = self._paths.resolve(invocation, asked)
        if isinstance(found, VirtualPath):
            raise CommandError(
                f"{found} is a virtual file, which no language server sees.", hint="`read` and `grep` show it."
            )
        assert isinstance(found, RealPath)
        return await asyncio.to_thread(path_location.locate, found.invocation, found.asked)

    async def _file(self, invocation: Invocation, asked: str) -> Location:
        place = await self._locate(invocation, asked)
        if not place.real.exists():
            raise path_location.missing(place)
        if place.real.is_dir():
            raise CommandError(f"{place.shown} is a folder.", hint="Name a file in it.")
        if not place.real.is_relative_to(place.project):
            raise CommandError(f"{place.shown} is outside the project, where no language server looks.")
        return place

    def _places(self, invocation: Invocation, name: str, what: str, found: Sequence[CodePlace]) -> CodePlaces:
        seen = [one for one in found if self._may_see(invocation, one.path)]
        return CodePlaces(one_line(literal(name), 60), what, seen)

    def _may_see(self, invocation: Invocation, path: Path) -> bool:
        """Whether an agent that may reach only some paths may reach this one."""
        try:
            self._paths.resolve(invocation, str(path))
        except ExpectedError:
            return False
        return True


def _project(invocation: Invocation) -> Path:
    return Path(os.path.realpath(invocation.project))


def _outline_text(invocation: Invocation, found: CodeOutline) -> Outcome:
    shown = path_location.shown(found.path, _project(invocation))
    data = {
        "path": shown,
        "lines": found.lines,
        "entries": [msgspec.to_builtins(entry, enc_hook=str) for entry in found.entries],
    }
    head = f"{shown}: {counted(found.lines, 'line')}"
    if not found.entries:
        return Outcome(data, f"{head}, no classes or functions.")
    more = [f"[only the first {code_outline.MOST:,} parts]"] if len(found.entries) >= code_outline.MOST else []
    return _printed(invocation, data, [head, *code_outline.drawn(found.entries), *more])


def _problems_text(invocation: Invocation, found: CodeProblems) -> Outcome:
    project = _project(invocation)

    def shown(path: Path) -> str:
        return path_location.shown(path, project)

    data = {
        "problems": [{**msgspec.to_builtins(one, enc_hook=str), "path": shown(one.path)} for one in found.problems],
        "failed": found.failed,
    }
    where = "" if found.path is None else f" in {shown(found.path)}"
    lines = listed(found.problems, shown, _MOST_LISTED)
    if lines:
        lines.insert(0, f"{counted(len(found.problems))}{where}:")
    elif found.path is None:
        lines = ["No problems are known. `code diagnostics FILE` asks about a file."]
    elif not found.failed:
        lines = [f"No problems{where}."]
    failed = bool(found.failed) and not found.problems
    return replace(_printed(invocation, data, [*lines, *found.failed]), is_error=failed)


def _places_text(invocation: Invocation, found: CodePlaces) -> Outcome:
    project = _project(invocation)

    def shown(path: Path) -> str:
        return path_location.shown(path, project)

    data = {"places": [{**msgspec.to_builtins(one, enc_hook=str), "path": shown(one.path)} for one in found.places]}
    if not found.places:
        if found.what == "symbol":
            return Outcome(data, f"No symbol with {found.name} in its name is known." if found.name else "No symbols.")
        return Outcome(data, f"No {found.what} of {found.name} is known.")
    lines = code_queries.drawn_places(found.places, shown)
    of = f" of {found.name}" if found.what != "symbol" else f" with {found.name}" if found.name else ""
    return _printed(invocation, data, [f"{counted(len(found.places), found.what)}{of}:", *lines])


def _printed(invocation: Invocation, data: object, lines: Sequence[str]) -> Outcome:
    """Lines as they are: people's faces take the text of an outcome for Markdown."""
    text = "\n".join(lines)
    if invocation.caller.is_agent or len(lines) == 1:
        return Outcome(data, text)
    return Outcome(data, fenced(text), full=text, plain=text)


def _hover_text(invocation: Invocation, found: CodeHover) -> Outcome:
    said = one_line(literal(found.name), 60)
    data = {"text": found.text}
    if not found.text:
        return Outcome(data, f"The language server says nothing of {said}.")
    return _printed(invocation, data, found.text.split("\n"))


def _servers_text(_: Invocation, found: CodeServers) -> Outcome:
    data = {
        "enabled": found.enabled,
        "servers": [msgspec.to_builtins(row, enc_hook=str) for row in found.rows],
        "refused": found.refused,
    }
    if not found.rows:
        return Outcome(data, "No language server is installed.")
    rows = [
        (
            row.name,
            row.state,
            f"{row.memory_mb:,} MB" if row.memory_mb else "",
            _cell(row.root or row.program),
            _cell(row.why or (f"outside the sandbox: {row.outside}" if row.outside else "")),
        )
        for row in found.rows
    ]
    text = markdown_table.table(("server", "state", "memory", "for", ""), rows, right={2})
    text = f"{text}\n\n{found.refused}" if found.refused else text
    return Outcome(data, text, plain=markdown_table.bare_columns(text))


def _cell(text: str) -> str:
    return one_line(literal(text), 200).replace("|", "¦")


def _restarted_text(_: Invocation, done: ServersRestarted) -> Outcome:
    said = f"{counted(done.count, 'language server')} ended" if done.count else "No language server was running"
    return Outcome({"ended": done.count}, f"{said}; they start when they are next needed.")

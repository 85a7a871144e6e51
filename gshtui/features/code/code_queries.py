"""Questions about code that language servers answer: where a symbol is defined and used, what it is, which there are.

A symbol is named as it is written, with the file that it is in and perhaps the line: models and people know those, and
not columns. Nothing is changed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.features.code.language_server import LanguageServer
from gshtui.features.code.language_servers import LanguageServers
from gshtui.features.code.language_session import LanguageSession, read_source
from gshtui.features.code.lsp_client import LanguageServerError
from gshtui.features.code.lsp_types import (
    DocumentSymbol,
    Hover,
    LocationLink,
    LspLocation,
    Position,
    Range,
    SymbolInformation,
    characters,
    kind_name,
    marked_text,
    nested,
    path_of,
    units,
    uri_of,
)
from gshtui.system.struct_types import learned
from gshtui.text.sanitise import literal, one_line, visible
from gshtui.tools.files.code_outline import SourcePart, can_outline, outline

MOST_PLACES = 60
"""Places of one answer that are listed."""
_MOST_TAKEN = 5_000
_LONGEST = 160
_LONGEST_HOVER = 4_000


class CodePlace(msgspec.Struct, frozen=True):
    """A place in a file.

    Attributes:
        line: counted from 1, as `column` is.
        text: the line without blanks around it, sanitised; empty for files outside the project.
        kind: of the symbol there, in a word; empty: not known.
        name: of the symbol there; empty: not known.
    """

    path: Path
    line: int
    column: int
    text: str = ""
    kind: str = ""
    name: str = ""


class Asked(msgspec.Struct, frozen=True):
    """The symbol that a question is about.

    Attributes:
        path: the real file that it is in; `None`: any.
        line: counted from 1; 0: the first one that has it, definitions first.
    """

    name: str
    project: Path
    path: Path | None = None
    line: int = 0


async def find_definitions(servers: LanguageServers, asked: Asked) -> list[CodePlace]:
    """Where a symbol is defined. Raises `LanguageServerError`."""
    if asked.path is None:
        return await _named_exactly(servers, asked)
    return await _places(servers, asked, asked.path, "textDocument/definition", "definition_provider", {})


async def find_references(servers: LanguageServers, asked: Asked) -> list[CodePlace]:
    """Where a symbol is used, its definition included. Raises `LanguageServerError`."""
    more = {"context": {"includeDeclaration": True}}
    if asked.path is None:
        found = (await _named_exactly(servers, asked))[:1]
        if not found:
            return []
        asked = replace(asked, path=found[0].path, line=found[0].line)
    assert asked.path is not None
    return await _places(servers, asked, asked.path, "textDocument/references", "references_provider", more)


async def find_symbols(servers: LanguageServers, asked: Asked) -> list[CodePlace]:
    """The symbols of a file, or those of the project with this in their names. Raises `LanguageServerError`."""
    if asked.path is None:
        return await _workspace_symbols(servers, asked)
    _, session = await servers.session_with(asked.path, asked.project, "document_symbol_provider")
    wanted = asked.name.casefold()
    found = [
        CodePlace(asked.path, one.selection_range.start.line + 1, 1, "", kind_name(one.kind), _clean(one.name))
        for _, one in nested(await _document_symbols(session, asked.path, servers.settings.start_seconds))
        if wanted in one.name.casefold()
    ]
    return await _with_text(found[:_MOST_TAKEN], asked.project)


async def hover(servers: LanguageServers, asked: Asked) -> str:
    """What a server says of a symbol, sanitised; empty: nothing. Raises `LanguageServerError`."""
    if asked.path is None:
        found = (await _named_exactly(servers, asked))[:1]
        if not found:
            return ""
        asked = replace(asked, path=found[0].path, line=found[0].line)
    assert asked.path is not None
    _, session = await servers.session_with(asked.path, asked.project, "hover_provider")
    params = _at(session, asked, asked.path)
    said: Hover | None = await session.ask("textDocument/hover", params, Hover | None, servers.settings.start_seconds)
    text = marked_text(said.contents).strip() if said is not None else ""
    return visible(text[:_LONGEST_HOVER], counted=False) + ("…" if len(text) > _LONGEST_HOVER else "")


async def outline_of(servers: LanguageServers, path: Path, project: Path) -> tuple[list[SourcePart], int]:
    """The entries of a real file, and how many lines it has: by its grammar, or else by its language server.
    Raises `LanguageServerError`: there is neither, or the file is no text up to 2 MB.
    """
    text = await asyncio.to_thread(read_source, path)
    if text is None:
        raise LanguageServerError(f"{path.name} has no outline: it is no text up to 2 MB.")
    lines = text.split("\n")
    count = len(lines) - (not lines[-1])
    if can_outline(path.name):
        return await asyncio.to_thread(outline, path.name, text), count
    try:
        _, session = await servers.session_with(path, project, "document_symbol_provider")
    except LanguageServerError as error:
        raise LanguageServerError(f"There is no outline of {path.name}: {error.message}", error.hint) from error
    return [
        SourcePart(one.range.start.line + 1, one.range.end.line + 1, depth, _clean(f"{kind_name(one.kind)} {one.name}"))
        for depth, one in nested(await _document_symbols(session, path, servers.settings.start_seconds))
    ], count


async def _document_symbols(session: LanguageSession, path: Path, seconds: float) -> list[DocumentSymbol]:
    params = {"textDocument": {"uri": uri_of(path)}}
    kind = list[dict[str, Any]] | None
    found: list[dict[str, Any]] | None = await session.ask("textDocument/documentSymbol", params, kind, seconds)
    symbols: list[DocumentSymbol] = []
    for one in (found or [])[:_MOST_TAKEN]:
        try:
            symbols.append(msgspec.convert(one, learned(DocumentSymbol)))
        except (msgspec.ValidationError, RecursionError):
            try:
                flat = msgspec.convert(one, learned(SymbolInformation))
            except (msgspec.ValidationError, RecursionError):
                continue
            symbols.append(DocumentSymbol(flat.name, flat.kind, flat.location.range, flat.location.range))
    return symbols


async def _workspace_symbols(servers: LanguageServers, asked: Asked) -> list[CodePlace]:
    found: list[CodePlace] = []
    for server, session in await servers.for_project(asked.project, "workspace_symbol_provider"):
        kind = list[SymbolInformation] | None
        await servers.show_mentions(server, session, asked.name, asked.project)
        answer: list[SymbolInformation] | None = await session.ask_settled(
            "workspace/symbol", {"query": asked.name}, kind, servers.settings.start_seconds
        )
        for one in (answer or [])[:_MOST_TAKEN]:
            path = path_of(one.location.uri)
            if path is not None and path.is_relative_to(asked.project):
                at = one.location.range.start
                found.append(CodePlace(path, at.line + 1, at.character + 1, "", kind_name(one.kind), _clean(one.name)))
    wanted = asked.name.casefold()
    found.sort(key=lambda one: (one.name.casefold() != wanted, len(one.name), str(one.path), one.line))
    return await _with_text(list(dict.fromkeys(found)), asked.project)


async def _named_exactly(servers: LanguageServers, asked: Asked) -> list[CodePlace]:
    return [one for one in await _workspace_symbols(servers, asked) if one.name == asked.name]


async def _places(
    servers: LanguageServers, asked: Asked, path: Path, method: str, ability: str, more: dict[str, Any]
) -> list[CodePlace]:
    server, session = await servers.session_with(path, asked.project, ability)
    params = {**_at(session, asked, path), **more}
    await servers.show_mentions(server, session, _word(asked), asked.project)
    kind = list[dict[str, Any]] | dict[str, Any] | None
    answer = await session.ask_settled(method, params, kind, servers.settings.start_seconds)
    found = _located(server, session, answer)
    found.sort(key=lambda one: (not one.path.is_relative_to(asked.project), str(one.path), one.line, one.column))
    return await _with_text(found, asked.project)


def _located(server: LanguageServer, session: LanguageSession, answer: Any) -> list[CodePlace]:
    found: dict[CodePlace, None] = {}
    items: list[dict[str, Any]] = [answer] if isinstance(answer, dict) else answer or []
    for item in items[:_MOST_TAKEN]:
        try:
            if "targetUri" in item:
                link = msgspec.convert(item, learned(LocationLink))
                place = LspLocation(link.target_uri, link.target_selection_range)
            else:
                place = msgspec.convert(item, learned(LspLocation))
        except (msgspec.ValidationError, TypeError, RecursionError):
            raise LanguageServerError(f"The language server {server.entry.name} answered what it must not.") from None
        path = path_of(place.uri)
        if path is not None:
            found[CodePlace(path, place.range.start.line + 1, _column(session, path, place.range))] = None
    return list(found)


def _column(session: LanguageSession, path: Path, found: Range) -> int:
    lines, at = session.lines_of(path), found.start
    line = lines[at.line] if 0 <= at.line < len(lines) else ""
    return (characters(line, at.character, session.encoding) if line else at.character) + 1


def _at(session: LanguageSession, asked: Asked, path: Path) -> dict[str, Any]:
    """The place of a symbol in an open file, as a request has it. Raises `LanguageServerError`: it is not there."""
    lines = session.lines_of(path)
    number, column = _find(lines, asked, path.name)
    position = Position(number - 1, units(lines[number - 1][:column], session.encoding))
    return {"textDocument": {"uri": uri_of(path)}, "position": position}


def _word(asked: Asked) -> str:
    return asked.name.rpartition(".")[2].rpartition("::")[2]


def _find(lines: Sequence[str], asked: Asked, name: str) -> tuple[int, int]:
    """(line from 1, characters before it) of a symbol."""
    word = _word(asked)
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    if asked.line:
        if asked.line > len(lines):
            raise LanguageServerError(f"{name} has no line {asked.line:,}.")
        numbers: Iterable[int] = (asked.line,)
    else:
        text = "\n".join(lines)
        defined = [entry.first for entry in outline(name, text)] if can_outline(name) else []
        numbers = (*defined, *range(1, len(lines) + 1))
    for number in numbers:
        found = pattern.search(lines[number - 1]) if number <= len(lines) else None
        if found is not None:
            return number, found.start()
    where = f"in line {asked.line:,} of {name}" if asked.line else f"in {name}"
    raise LanguageServerError(f"There is no {one_line(literal(word), 60)} {where}.")


async def _with_text(found: list[CodePlace], project: Path) -> list[CodePlace]:
    """The places with the text of their lines, as far as they are listed and in the project."""
    return await asyncio.to_thread(_read_lines, found, project)


def _read_lines(found: list[CodePlace], project: Path) -> list[CodePlace]:
    texts: dict[Path, list[str]] = {}
    done: list[CodePlace] = []
    for place in found[:MOST_PLACES]:
        if place.path.is_relative_to(project):
            lines = texts.get(place.path)
            if lines is None:
                lines = texts[place.path] = (read_source(place.path) or "").split("\n")
            if place.line <= len(lines):
                place = replace(place, text=one_line(literal(lines[place.line - 1].strip()), _LONGEST))
        done.append(place)
    return [*done, *found[MOST_PLACES:]]


def _clean(name: str) -> str:
    return one_line(literal(name), 120)


def drawn_places(found: Sequence[CodePlace], shown: Callable[[Path], str]) -> list[str]:
    """A line for each of the first places, and one that counts the others."""
    lines: list[str] = []
    for one in found[:MOST_PLACES]:
        what = f" {one.kind} {one.name}".rstrip() if one.name else ""
        lines.append(f"{shown(one.path)}:{one.line}:{one.column}{what}" + (f"│ {one.text}" if one.text else ""))
    if (rest := len(found) - MOST_PLACES) > 0:
        lines.append(f"[and {rest:,} more]")
    return lines

"""What is used of the Language Server Protocol's messages, as msgspec reads them: unknown fields are left out.

The protocol's generated types (lsprotocol) take 0.6 s and 20 MB to load, in each process of an agent that edits a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""What columns count."""


class Envelope(Struct):
    """Any message. A request has `id` and `method`, a notification `method`, an answer `id`."""

    id: int | str | None = None
    method: str = ""
    params: Raw = Raw(b"null")
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class ResponseError(Struct):
    """Why a request failed."""

    code: int = 0
    message: str = ""


class Position(Struct, frozen=True, order=True):
    """A place in a text, counted from 0; columns as the encoding says."""

    line: int
    character: int


class Range(Struct, frozen=True):
    """A part of a text."""

    start: Position
    end: Position


class MarkedText(Struct):
    """Text of a server, in Markdown or of a language."""

    value: str = ""


class Diagnostic(Struct):
    """One problem of a file. Severities: 1 error, 2 warning, 3 information, 4 hint."""

    range: Range
    message: str | MarkedText = ""
    severity: int = 1
    code: int | str | None = None
    source: str | None = None


class PublishedDiagnostics(Struct):
    """The problems of a file, sent unasked. `version`: of the text that they are about."""

    uri: str
    diagnostics: list[Diagnostic] = []
    version: int | None = None


class DiagnosticReport(Struct):
    """The problems of a file, asked for."""

    kind: str = "full"
    items: list[Diagnostic] = []


class LspLocation(Struct):
    """A place in a file."""

    uri: str
    range: Range


class LocationLink(Struct, rename="camel"):
    """A place in a file, in its longer form."""

    target_uri: str
    target_selection_range: Range


class DocumentSymbol(Struct, rename="camel"):
    """A symbol of a file with those in it."""

    name: str
    kind: int
    range: Range
    selection_range: Range
    children: list[DocumentSymbol] | None = None


class SymbolPlace(Struct):
    """Where a symbol is; some servers leave out the range."""

    uri: str
    range: Range = Range(Position(0, 0), Position(0, 0))


class SymbolInformation(Struct, rename="camel"):
    """A symbol of the workspace."""

    name: str
    kind: int
    location: SymbolPlace
    container_name: str | None = None


class Hover(Struct):
    """What is shown of a symbol."""

    contents: str | MarkedText | list[str | MarkedText] = ""


class ServerCapabilities(Struct, rename="camel"):
    """What a server can do."""

    position_encoding: str = "utf-16"
    diagnostic_provider: Any = None
    definition_provider: Any = None
    references_provider: Any = None
    hover_provider: Any = None
    document_symbol_provider: Any = None
    workspace_symbol_provider: Any = None


class InitializeResult(Struct):
    """A server's answer to the first request."""

    capabilities: ServerCapabilities = msgspec.field(default_factory=ServerCapabilities)


_KINDS = (
    "",
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "member",
    "struct",
    "event",
    "operator",
    "type parameter",
)


def kind_name(kind: int) -> str:
    return _KINDS[kind] if 0 < kind < len(_KINDS) else "symbol"


def marked_text(text: str | MarkedText | list[str | MarkedText]) -> str:
    if isinstance(text, list):
        return "\n".join(marked_text(one) for one in text)
    return text if isinstance(text, str) else text.value


def uri_of(path: Path) -> str:
    return path.as_uri()


def path_of(uri: str) -> Path | None:
    """The file of an address; `None`: it is none of this machine."""
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path, errors="surrogateescape")
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not path.startswith("/") or "\0" in path:
        return None
    return Path(path)


def units(text: str, encoding: Encoding) -> int:
    """How many columns a text takes."""
    if encoding == "utf-32":
        return len(text)
    raw = text.encode(encoding if encoding == "utf-8" else "utf-16-le", "surrogatepass")
    return len(raw) if encoding == "utf-8" else len(raw) // 2


def characters(line: str, column: int, encoding: Encoding) -> int:
    """How many characters of a line are before a column."""
    if encoding == "utf-32":
        return min(column, len(line))
    taken = 0
    for at, character in enumerate(line):
        if taken >= column:
            return at
        taken += units(character, encoding)
    return len(line)


def nested(symbols: list[DocumentSymbol], depth: int = 0) -> Iterator[tuple[int, DocumentSymbol]]:
    """Every symbol with its depth, outer ones first."""
    for symbol in symbols:
        yield depth, symbol
        if depth < 8:
            yield from nested(symbol.children or [], depth + 1)

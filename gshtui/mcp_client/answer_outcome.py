"""What a server answered, as the outcome of a call: its text, sanitised, and its pictures and files, kept and named."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
from collections.abc import Sequence
from pathlib import Path

import mcp_types
import msgspec

from gshtui.commands.declaration import Drawing, Outcome
from gshtui.system.files import private_files
from gshtui.system.ids import new_id
from gshtui.text.png_picture import PictureError, read_png
from gshtui.text.sanitise import literal, one_line, plain

Contents = mcp_types.TextResourceContents | mcp_types.BlobResourceContents
_MOST_FILES = 20
"""Pictures and files of one answer that are kept."""


class _Parts(msgspec.Struct):
    """What an answer is put together from."""

    folder: Path
    lines: list[str] = msgspec.field(default_factory=list[str])
    drawings: list[Drawing] = msgspec.field(default_factory=list[Drawing])
    files: list[str] = msgspec.field(default_factory=list[str])

    def keep(self, kind: str, media_type: str, data: str) -> None:
        """Keep a picture, a sound or a file, and say where."""
        named = one_line(literal(media_type), 60) or "of unknown type"
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            self.lines.append(f"[{kind} {named}: it is not readable]")
            return
        if len(self.files) >= _MOST_FILES:
            self.lines.append(f"[{kind} {named}: not kept; an answer may have {_MOST_FILES}]")
            return
        path = self.folder / f"{new_id()}{mimetypes.guess_extension(media_type) or '.bin'}"
        try:
            private_files.make_folder(self.folder)
            private_files.write_whole(path, content)
        except OSError as error:
            self.lines.append(f"[{kind} {named}: it cannot be kept in {self.folder}: {error.strerror or error}]")
            return
        self.files.append(str(path))
        self.lines.append(f"[{kind} {named}, {len(content):,} bytes: {path}]")
        if media_type == "image/png":
            try:
                picture = read_png(content)
            except PictureError:
                return  # it is kept, but not shown
            self.drawings.append(Drawing(path.name, picture.width, picture.height, picture.data))


def call_outcome(result: mcp_types.CallToolResult, folder: Path) -> Outcome:
    """The outcome of a call. Blocks while it writes files. `folder`: where pictures and files are kept."""
    parts = _Parts(folder)
    for block in result.content:
        _add(parts, block)
    structured = result.structured_content
    if structured is not None and not any(line.strip() for line in parts.lines):
        parts.lines.append(plain(json.dumps(structured, ensure_ascii=False, indent=1)))
    text = "\n".join(parts.lines)
    data = {"text": text, "structured": structured, "files": parts.files}
    return Outcome(data, text or "(no output)", is_error=bool(result.is_error), drawings=tuple(parts.drawings))


def contents_text(contents: Sequence[Contents], folder: Path) -> str:
    """What a resource has, as text; files are kept and named. Blocks while it writes files."""
    parts = _Parts(folder)
    for one in contents:
        _add_contents(parts, one)
    return "\n".join(parts.lines)


def prompt_text(result: mcp_types.GetPromptResult, folder: Path) -> str:
    """A server's prompt as one text. Blocks while it writes files."""
    parts = _Parts(folder)
    several = len(result.messages) > 1
    for message in result.messages:
        before = len(parts.lines)
        _add(parts, message.content)
        if several and len(parts.lines) > before:
            parts.lines[before] = f"{message.role}: {parts.lines[before]}"
    return "\n\n".join(parts.lines)


def _add(parts: _Parts, block: mcp_types.ContentBlock) -> None:
    match block:
        case mcp_types.TextContent():
            parts.lines.append(plain(block.text))
        case mcp_types.ImageContent():
            parts.keep("picture", block.mime_type, block.data)
        case mcp_types.AudioContent():
            parts.keep("sound", block.mime_type, block.data)
        case mcp_types.EmbeddedResource():
            _add_contents(parts, block.resource)
        case mcp_types.ResourceLink():
            name = one_line(literal(f"{block.name}: {block.description or ''}".rstrip(": ")), 200)
            parts.lines.append(f"[resource {one_line(literal(str(block.uri)), 300)} · {name}]")


def _add_contents(parts: _Parts, one: Contents) -> None:
    if isinstance(one, mcp_types.TextResourceContents):
        parts.lines.append(plain(one.text))
    else:
        parts.keep("file", one.mime_type or "application/octet-stream", one.blob)

"""Conversations and tools as hooks of Claude Code know them: a transcript of one JSON line for each message, and names.

A transcript is brought up to date before hooks of its conversation run, in a folder of our own (0700, files 0600), and
removed when the hub stops. It holds what was said and done, without thoughts and without pictures.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from gshtui.bus.messages import Block, Message, Text, ToolCall, ToolResult
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.files import private_files

_CLAUDE_NAMES = {
    "bash": "Bash",
    "edit": "Edit",
    "write": "Write",
    "read": "Read",
    "glob": "Glob",
    "grep": "Grep",
    "todo": "TodoWrite",
    "spawn_agent": "Task",
    "skills": "Skill",
    "python": "Python",
}
_CLAUDE_KEYS = {
    "edit": {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
    "write": {"path": "file_path"},
    "read": {"path": "file_path"},
    "grep": {"file_pattern": "glob"},
}
"""The parameters that are called differently there."""


def claude_name(tool: str) -> str:
    """A tool's name as hooks of Claude Code know it: `Bash`, `mcp__server__tool`."""
    server, sign, name = tool.partition("__")
    return _CLAUDE_NAMES.get(tool, f"mcp__{server}__{name}" if sign else tool)


def their_arguments(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments under the names that hooks know."""
    keys = _CLAUDE_KEYS.get(tool, {})
    return {keys.get(name, name): value for name, value in arguments.items()}


def our_arguments(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments that a hook has changed, under our own names."""
    keys = {theirs: ours for ours, theirs in _CLAUDE_KEYS.get(tool, {}).items()}
    return {keys.get(name, name): value for name, value in arguments.items()}


_AT_ONCE = 500


class _Stored(Protocol):
    @property
    def seq(self) -> int: ...
    @property
    def message(self) -> Message: ...


ReadNewer = Callable[[str, int, int], Awaitable[Sequence[_Stored]]]
"""(conversation, after this position, at most) → its messages, in order. Raises `StoreError`."""


class HookTranscripts:
    """The transcripts of one hub's conversations.

    Args:
        folder: where they are; made when the first one is written.
    """

    def __init__(self, folder: Path, project: Path, read: ReadNewer) -> None:
        self.folder = folder
        self._project = project
        self._read = read
        self._written: dict[str, int] = {}
        """Conversation → the position of its last message in the file."""
        self._writing = asyncio.Lock()

    async def path(self, session: str) -> str:
        """The file of a conversation with all that the record has of it; empty: there is none, or it failed."""
        if not session:
            return ""
        file = self.folder / f"{session}.jsonl"
        async with self._writing:
            try:
                await self._bring_up_to_date(session, file)
            except (OSError, StoreError):
                return ""
        return str(file)

    async def _bring_up_to_date(self, session: str, file: Path) -> None:
        """Raises `OSError`, `StoreError`."""
        after = self._written.get(session, 0)
        if not after:
            await asyncio.to_thread(self._begin, file)
        while found := await self._read(session, after, _AT_ONCE):
            lines = [_line(session, str(self._project), one) for one in found]
            await asyncio.to_thread(_append, file, "".join(lines).encode("utf-8", "replace"))
            self._written[session] = after = found[-1].seq

    def _begin(self, file: Path) -> None:
        private_files.make_folder(self.folder)
        private_files.write_whole(file, b"")

    def remove(self) -> None:
        """Remove the files that were written here. Blocks for a moment; raises nothing."""
        for session in self._written:
            with contextlib.suppress(OSError):
                (self.folder / f"{session}.jsonl").unlink()
        self._written.clear()


def _append(file: Path, data: bytes) -> None:
    with os.fdopen(private_files.open_existing(file, os.O_WRONLY | os.O_APPEND), "wb") as out:
        out.write(data)


def _line(session: str, cwd: str, stored: _Stored) -> str:
    message = stored.message
    kind = "assistant" if message.role == "assistant" else "user"
    content = [found for block in message.blocks if (found := _block(block)) is not None]
    told: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        told = {"id": message.id, "type": "message", "model": message.model, **told}
    data = {
        "type": kind,
        "uuid": f"{session}-{stored.seq}",
        "parentUuid": f"{session}-{stored.seq - 1}" if stored.seq > 1 else None,
        "sessionId": session,
        "timestamp": datetime.fromtimestamp(message.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "cwd": cwd,
        "isSidechain": False,
        "message": told,
    }
    return json.dumps(data, ensure_ascii=False) + "\n"


def _block(block: Block) -> dict[str, Any] | None:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case ToolCall():
            told = their_arguments(block.name, block.arguments)
            return {"type": "tool_use", "id": block.id, "name": claude_name(block.name), "input": told}
        case ToolResult():
            failed = {"is_error": True} if block.status != "ok" else {}
            return {"type": "tool_result", "tool_use_id": block.call_id, "content": block.content, **failed}
        case _:
            return None

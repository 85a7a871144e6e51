"""A turn as lines that scripts for Claude Code (`claude -p`) and Codex (`codex exec --json`) read.

Owns which event of theirs has the same meaning as one of ours; what has none there is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Protocol

from gshtui.agents.hooks.hook_transcript import claude_name, their_arguments
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    IterationStarted,
    MessageAppended,
    ModelChanged,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalSettled
from gshtui.bus.messages import Message, Text, Thinking, ToolCall, ToolResult, Usage

Output = Literal["text", "json", "stream-json", "codex"]
Line = dict[str, Any]
_NOT_DONE = frozenset({"error", "refusal", "context", "max_iterations", "interrupted", "timeout"})


class FamiliarLines(Protocol):
    """Takes the events of one turn, in order."""

    def lines(self, event: Event) -> Iterator[Line]: ...

    def last_lines(self, turn: TurnFinished | None, code: int, complaint: str) -> Iterator[Line]:
        """What to print at the end. `code`: the exit code. `complaint`: what was said last on stderr."""
        ...


def familiar_lines(output: Output) -> FamiliarLines:
    return _CodexLines() if output == "codex" else _ClaudeLines(stream=output == "stream-json")


def _failed(turn: TurnFinished | None, code: int) -> bool:
    return turn is None or turn.stop in _NOT_DONE or code in (124, 130)


class _ClaudeLines:
    def __init__(self, *, stream: bool) -> None:
        self._stream = stream
        self._session = ""
        self._model = ""
        self._iterations = 0
        self._text = ""
        self._calls: dict[str, ToolStarted] = {}
        self._denied: list[Line] = []

    def lines(self, event: Event) -> Iterator[Line]:
        match event:
            case ModelChanged():
                self._model = event.model
            case TurnStarted():
                self._session = event.session
                if self._stream:
                    folder = str(Path.cwd())
                    yield {
                        "type": "system",
                        "subtype": "init",
                        "cwd": folder,
                        "session_id": event.session,
                        "model": self._model,
                    }
            case IterationStarted():
                self._iterations = max(self._iterations, event.iteration)
            case ToolStarted():
                self._calls[event.call] = event
            case ApprovalSettled() if event.decision in ("deny", "nobody") and event.call in self._calls:
                call = self._calls[event.call]
                given = their_arguments(call.tool, call.arguments)
                name = claude_name(call.tool)
                self._denied.append({"tool_name": name, "tool_use_id": call.call, "tool_input": given})
            case MessageAppended() if event.message.role in ("assistant", "tool"):
                self._text = event.message.text or self._text
                if self._stream:
                    yield self._message(event.message)
            case _:
                pass

    def _message(self, message: Message) -> Line:
        content = [block for one in message.blocks if (block := _claude_block(one)) is not None]
        plain: Line = {"role": "user", "content": content}
        if message.role == "assistant":
            plain = {
                "id": message.id,
                "type": "message",
                "role": "assistant",
                "model": message.model,
                "content": content,
                "stop_reason": "tool_use" if message.calls else "end_turn",
                "usage": _claude_usage(message.usage or Usage()),
            }
        kind = "assistant" if message.role == "assistant" else "user"
        return {"type": kind, "message": plain, "parent_tool_use_id": None, "session_id": self._session}

    def last_lines(self, turn: TurnFinished | None, code: int, complaint: str) -> Iterator[Line]:
        failed = _failed(turn, code)
        subtype = "success" if not failed else "error_during_execution"
        if turn is not None and turn.stop == "max_iterations":
            subtype = "error_max_turns"
        line: Line = {
            "type": "result",
            "subtype": subtype,
            "is_error": failed,
            "duration_ms": round((turn.duration if turn else 0) * 1_000),
            "duration_api_ms": round((turn.worked if turn else 0) * 1_000),
            "num_turns": self._iterations,
            "result": (turn.text if turn else "") or self._text,
            "session_id": self._session,
            "total_cost_usd": (turn.cost if turn else 0) or 0,
            "usage": _claude_usage(turn.usage if turn else Usage()),
            "permission_denials": self._denied,
        }
        if failed:
            line["errors"] = [text for text in ((turn.error if turn else "") or complaint,) if text]
            line["result"] = line["result"] or " ".join(line["errors"])
        yield line


def _claude_block(block: object) -> Line | None:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking():
            return {"type": "thinking", "thinking": block.text}
        case ToolCall():
            given = their_arguments(block.name, block.arguments)
            return {"type": "tool_use", "id": block.id, "name": claude_name(block.name), "input": given}
        case ToolResult():
            return {
                "type": "tool_result",
                "tool_use_id": block.call_id,
                "content": block.content,
                "is_error": block.status != "ok",
            }
        case _:
            return None


def _claude_usage(usage: Usage) -> Line:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


_CHANGES = ("edit", "write", "append", "rm")


class _CodexLines:
    def __init__(self) -> None:
        self._items = 0
        self._running: dict[str, tuple[str, ToolStarted]] = {}

    def lines(self, event: Event) -> Iterator[Line]:
        match event:
            case TurnStarted():
                yield {"type": "thread.started", "thread_id": event.session}
                yield {"type": "turn.started"}
            case ToolStarted():
                item = self._next_id()
                self._running[event.call] = (item, event)
                yield {"type": "item.started", "item": self._call(item, event, None)}
            case ToolFinished() if event.call in self._running:
                item, started = self._running.pop(event.call)
                yield {"type": "item.completed", "item": self._call(item, started, event)}
            case MessageAppended() if event.message.role == "assistant":
                thoughts = "\n\n".join(one.text for one in event.message.blocks if isinstance(one, Thinking))
                for kind, text in (("reasoning", thoughts), ("agent_message", event.message.text)):
                    if text.strip():
                        yield {"type": "item.completed", "item": {"id": self._next_id(), "type": kind, "text": text}}
            case _:
                pass

    def _next_id(self) -> str:
        self._items += 1
        return f"item_{self._items - 1}"

    def _call(self, item: str, started: ToolStarted, ended: ToolFinished | None) -> Line:
        given = started.arguments
        ok = ended is not None and ended.status == "ok"
        status = "in_progress" if ended is None else "completed" if ok else "failed"
        if ended is not None and ended.status == "denied":
            status = "declined"
        if started.tool == "bash":
            return {
                "id": item,
                "type": "command_execution",
                "command": str(given.get("command", "")),
                "aggregated_output": ended.content if ended else "",
                "exit_code": None if ended is None or ended.status == "denied" else 0 if ok else 1,
                "status": status,
            }
        if started.tool in _CHANGES:
            kind = {"rm": "delete", "edit": "update"}.get(started.tool, "add" if _is_new(ended) else "update")
            changes = [{"path": str(given.get("path", "")), "kind": kind}]
            return {"id": item, "type": "file_change", "changes": changes, "status": status}
        server, sign, tool = started.tool.partition("__")
        call: Line = {
            "id": item,
            "type": "mcp_tool_call",
            "server": server if sign else "gsh-tui",
            "tool": tool if sign else started.tool,
            "arguments": given,
            "status": status,
        }
        if ended is not None and ok:
            call["result"] = {"content": [{"type": "text", "text": ended.content}], "structured_content": None}
        elif ended is not None:
            call["error"] = {"message": ended.content}
        return call

    def last_lines(self, turn: TurnFinished | None, code: int, complaint: str) -> Iterator[Line]:
        if turn is None or _failed(turn, code):
            message = (turn.error if turn else "") or complaint or (turn.stop if turn else "") or "there was no turn"
            yield {"type": "turn.failed", "error": {"message": message}}
            return
        usage = turn.usage
        yield {
            "type": "turn.completed",
            "usage": {
                "input_tokens": usage.input + usage.cache_read + usage.cache_write,
                "cached_input_tokens": usage.cache_read,
                "output_tokens": usage.output,
                "reasoning_output_tokens": usage.reasoning,
            },
        }


def _is_new(ended: ToolFinished | None) -> bool:
    """Whether a written file was made: its diff then takes nothing out."""
    return ended is not None and not any(
        line.startswith("-") and not line.startswith("---") for line in ended.diff.splitlines()
    )

"""Codex's transcripts: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, records of `{timestamp, type, payload}`.

The program sends the response items since the last `compacted` record, whose `replacement_history` replaces all earlier
ones. Never writes. Called by `reconstruction`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from gshtui.bus.context_data import BlockKind
from gshtui.bus.messages import Usage
from gshtui.programs.transcripts.program_transcript import (
    MOST_BYTES,
    ProgramTranscript,
    TranscriptBuilder,
    TranscriptQuery,
    newest_file,
    number,
    plain_json,
    read_records,
    safe_name,
    seconds,
)
from gshtui.system.json_types import obj, objects, seq, string

PROGRAM = "codex"
TIMED = True
_LOOKED_AT = 400
"""Newest transcripts that are opened to find a folder's, when no id is known."""
_HELPED = "<subagent_notification>"
"""How the message starts that tells of a helper's end."""
_ABORTED = "<turn_aborted>"
"""How the message starts that stands where a person has stopped a turn."""
_OURS = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    _HELPED,
    _ABORTED,
)
"""How messages start that the program sends as the user's although nobody typed them."""
_TURN_MARKS = {"task_started": False, "task_complete": True, "turn_aborted": True}
"""Events, and whether the turn is over with them."""


def root(environ: Mapping[str, str], home: Path) -> Path:
    return Path(environ.get("CODEX_HOME", "").strip() or home / ".codex").expanduser()


def find(wanted: TranscriptQuery, environ: Mapping[str, str], home: Path) -> Path | None:
    """The transcript of a conversation: by its id, else the folder's newest since the agent began."""
    folder = root(environ, home)
    if id := safe_name(wanted.id):
        kept = (folder / "sessions").glob(f"**/rollout-*{id}.jsonl")
        archived = (folder / "archived_sessions").glob(f"*{id}.jsonl")
        return next(iter(newest_file(kept) or newest_file(archived)), None)
    paths = newest_file((folder / "sessions").glob("**/rollout-*.jsonl"), wanted.since)
    for path in paths[:_LOOKED_AT]:
        if any(_begun_in(record, wanted) for record in islice(_careful(path), 3)):
            return path
    return None


def _careful(path: Path) -> Iterator[dict[str, Any]]:
    try:
        yield from read_records(path, [])
    except OSError:
        return


def _begun_in(record: dict[str, Any], wanted: TranscriptQuery) -> bool:
    meta = obj(record.get("payload"))
    began = seconds(meta.get("timestamp")) or seconds(record.get("timestamp"))
    return record.get("type") == "session_meta" and meta.get("cwd") == wanted.cwd and began >= wanted.since - 60


def is_helpers(path: Path) -> bool:
    """Whether a transcript belongs to a helper that another conversation has started."""
    first = next(_careful(path), None)
    return first is not None and bool(obj(obj(first.get("payload")).get("source")).get("subagent"))


def read(path: Path, most: int = MOST_BYTES) -> ProgramTranscript:
    """The transcript, of a long one only the last `most` bytes. Raises `OSError`."""
    reader = _Reader(path)
    for record in read_records(path, reader.book.transcript.notes, most):
        reader.read_record(record)
    return reader.book.transcript


def usage_of(value: object) -> Usage | None:
    """What one request used, as its record says; `None` where it says nothing."""
    given = obj(value)
    if not number(given.get("input_tokens")):
        return None
    cached, written = number(given.get("cached_input_tokens")), number(given.get("cache_write_input_tokens"))
    return Usage(
        input=max(0, number(given.get("input_tokens")) - cached - written),
        output=number(given.get("output_tokens")),
        cache_read=cached,
        cache_write=written,
        reasoning=number(given.get("reasoning_output_tokens")),
    )


class _Reader:
    """Goes through the records, with what was said of the model so far."""

    def __init__(self, path: Path) -> None:
        self.book = TranscriptBuilder(path, PROGRAM)
        self._model = ""
        self._counted: tuple[int, ...] = ()
        self._open = False
        """The items that come belong to one answer."""
        self._helpers = set[str]()
        """Those at work, which may go on once the turn that started them is over."""

    def read_record(self, record: dict[str, Any]) -> None:
        payload, at = obj(record.get("payload")), seconds(record.get("timestamp"))
        match record.get("type"):
            case "session_meta":
                given = payload.get("base_instructions") or payload.get("instructions")
                text = string(given) or string(obj(given).get("text"))
                if text and not self.book.transcript.entries:
                    self.book.add_text("system", text, at, "system", kind="system")
            case "turn_context":
                self._model = string(payload.get("model")) or self._model
                self.book.transcript.model = self._model or self.book.transcript.model
            case "response_item":
                self._item(payload, at)
            case "compacted":
                self._compacted(payload, at)
            case "event_msg":
                self._event(payload, at)
            case "world_state":
                environments = obj(obj(payload.get("state")).get("environments"))
                if "subagents" in environments and not environments["subagents"]:  # so after it was started again
                    self._helpers.clear()
            case _:
                pass
        self.book.transcript.helped = bool(self._helpers)

    def _compacted(self, payload: dict[str, Any], at: float) -> None:
        kept = objects(payload.get("replacement_history"))
        entries = self.book.transcript.entries
        said = [entry for entry in entries[self.book.transcript.start :] if entry.role == "user"]
        system = [entry for entry in entries if entry.kind == "system"][-1:]
        self.book.clear()
        entries += system
        if not kept:
            entries += said
        for item in kept:
            self._item(obj(item.get("item")) or item, at, kept=True)
        self.book.add_text("user", string(payload.get("message")), at, f"compacted {at}", kind="summary")

    def _event(self, payload: dict[str, Any], at: float) -> None:
        kind, item = string(payload.get("type")), obj(payload.get("item"))
        helpers = set(map(string, seq(item.get("receiver_thread_ids"))))
        if item.get("tool") in ("spawn_agent", "send_input", "resume_agent"):
            self._helpers |= helpers
        elif item.get("tool") == "close_agent":
            self._helpers -= helpers
        if kind in _TURN_MARKS:
            self.book.transcript.ended = _TURN_MARKS[kind]
        if kind == "turn_aborted":
            self.book.note_stop("interrupted")
        elif error := obj(payload.get("error")):
            self.book.note_stop("error", string(error.get("message")))
        if kind == "task_started":
            self.book.transcript.plan = ""
        if kind == "item_completed" and item.get("type") == "Plan":
            self.book.transcript.plan = string(item.get("text"))
        if kind != "token_count":
            return
        info = obj(payload.get("info"))
        found = self.book.transcript
        found.window = number(info.get("model_context_window")) or found.window
        last, total = obj(info.get("last_token_usage")), obj(info.get("total_token_usage"))
        counted = tuple(number(total.get(name)) for name in sorted(total))
        if last and counted != self._counted and number(last.get("input_tokens")):
            self._counted = counted
            usage = usage_of(last)
            if found.marks and found.marks[-1].usage is None:
                self.book.add_request(found.marks[-1].id, at, self._model, usage)

    def _answering(self, at: float) -> None:
        """Handle the first item of an answer: everything so far was sent."""
        if not self._open:
            self._open = True
            self.book.add_request(f"request-{len(self.book.transcript.marks) + 1}", at, self._model, None)

    def _item(self, item: dict[str, Any], at: float, *, kept: bool = False) -> None:
        book, id = self.book, string(item.get("id")) or f"item {len(self.book.transcript.entries)}"
        kind = string(item.get("type"))
        if not kept and (kind.endswith("_call") or kind == "reasoning" or item.get("role") == "assistant"):
            self._answering(at)
        elif not kept:
            self._open = False
        match kind:
            case "message":
                self._message(item, at, id)
            case "reasoning":
                parts = [obj(part) for part in seq(item.get("summary")) + seq(item.get("content"))]
                book.add_thinking("\n\n".join(string(part.get("text")) for part in parts), at, id)
            case "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call" | "tool_search_call":
                name = string(item.get("name")) or kind.removesuffix("_call")
                arguments = item.get("arguments") or item.get("input") or item.get("action")
                book.add_call(string(item.get("call_id")) or id, name, arguments, at, id)
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                book.add_result(string(item.get("call_id")), _output(item.get("output")), at, id)
            case "compaction" | "compaction_summary" | "context_compaction":
                book.add_text("user", "(a summary that only the provider can read)", at, id, kind="summary")
            case _:
                pass

    def _message(self, item: dict[str, Any], at: float, id: str) -> None:
        role = string(item.get("role")) or "user"
        for part in objects(item.get("content")):
            text = string(part.get("text"))
            if role == "user" and text.startswith(_HELPED):
                self._helpers = {each for each in self._helpers if each not in text}
            if "image" in string(part.get("type")):
                self.book.add_picture("image", "image", at, id, role)
            elif role in ("system", "developer"):
                self.book.add_text("system", text, at, id, kind="system")
            else:
                typed = role != "user" or not text.lstrip().startswith(_OURS)
                kind: BlockKind = "text" if typed else "carried"
                self.book.add_text(role, text, at, id, kind=kind)
            if role == "user" and text.startswith(_ABORTED):
                self.book.note_stop("interrupted")


def _output(value: object) -> str:
    if isinstance(value, str):
        return value
    parts = seq(value) or seq(obj(value).get("content"))
    if parts:
        return "\n".join(string(obj(p).get("text")) or f"[{obj(p).get('type', '?')}]" for p in parts)
    return string(obj(value).get("content")) or plain_json(value)

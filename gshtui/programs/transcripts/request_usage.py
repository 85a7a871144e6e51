"""What programs' requests used, by their transcripts, read as these grow: each look parses only what was added.

Claude, Codex, Gemini, OpenCode and Qwen Code write down the tokens of each request, and OpenCode also the money; of
Claude, OpenCode and Qwen Code the helpers of a conversation count, too. Aider writes down the rounded figures of each
answer, with the money where it knows a price, and Vibe the sum of a conversation at the end of each turn. Writes
nothing; every call blocks.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from gshtui.bus.messages import Usage
from gshtui.programs.transcripts import (
    aider_transcript,
    claude_transcript,
    codex_transcript,
    gemini_transcript,
    opencode_transcript,
    qwen_transcript,
    vibe_transcript,
)
from gshtui.programs.transcripts.program_transcript import (
    LONGEST_LINE,
    TranscriptQuery,
    number,
    seconds,
)
from gshtui.programs.transcripts.transcript_readers import READERS, home_of, stamp_of
from gshtui.system.json_types import obj, parse_foreign_json, seq, string

_PIECE = 1_000_000
_PROVIDERS = {"google": "gemini"}
"""Names of providers in other programs that are not ours."""


class RequestUsage(msgspec.Struct, frozen=True):
    """One request of a program."""

    id: str
    """Its own within the conversation."""
    at: float
    """Epoch seconds; 0: unknown."""
    provider: str
    model: str
    usage: Usage
    cost: float | None = None
    """US dollars, where the program says."""
    window: int = 0
    """Tokens of its model's window, where the program says."""
    by_helper: bool = False
    """It does not belong to the main conversation, whose context it says nothing about."""
    context: int = 0
    """Tokens of its model's context, where its usage does not say that."""
    before: Usage | None = None
    """Its usage is all that the conversation had used by then, of which this was used before the agent had it; `None`:
    it is that of this request alone."""

    @property
    def fills(self) -> int:
        """Tokens in its model's context."""
        return self.context or self.usage.context


class LineTail:
    """The whole lines that were added to a file since the last look.

    A line that is still being written comes with a later look. A file that was replaced or shortened is read again.
    """

    def __init__(self) -> None:
        self._file = (0, 0)
        self._place = 0

    def added(self, path: Path) -> Iterator[bytes]:
        """The new lines, in order. Raises `OSError`."""
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            identity = (status.st_dev, status.st_ino)
            if identity != self._file or not self._continues(file, status.st_size):
                self._place = 0
            self._file = identity
            file.seek(self._place)
            rest = b""
            while piece := file.read(_PIECE):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._place += len(line) + 1
                    yield line
                if len(rest) > LONGEST_LINE:  # nobody wants it whole
                    self._place += len(rest)
                    rest = b""

    def _continues(self, file: BinaryIO, size: int) -> bool:
        if size < self._place:
            return False
        file.seek(max(0, self._place - 1))
        return self._place == 0 or file.read(1) == b"\n"


class UsageReader:
    """The requests of one conversation."""

    def __init__(self, wanted: TranscriptQuery, environ: Mapping[str, str]) -> None:
        """`wanted`: with the conversation's id; requests before `since` are not the agent's."""
        self._wanted = wanted
        self._environ = environ
        self._place: Any = None
        self._stamp: tuple[int, ...] = ()
        self._tails: dict[Path, LineTail] = {}
        self._told: set[str] = set()
        self._held: dict[str, RequestUsage] = {}
        self._model = ""
        self._provider = "openai"
        self._total: object = None
        self._updated = 0

    def added(self) -> list[RequestUsage]:
        """The requests that were finished since the last call, oldest first; none where nothing can be read."""
        look = _LOOKS.get(self._wanted.program)
        if look is None or not self._wanted.id:
            return []
        try:
            now = stamp_of(self._place)
            if not now:
                reader = READERS[self._wanted.program]
                self._place = reader.find(self._wanted, self._environ, home_of(self._environ))
                now = stamp_of(self._place)
            if not now or (
                now == self._stamp and self._wanted.program != "claude"
            ):  # its helpers write files of theirs
                return []
            self._stamp = now
            found = [one for one in look(self) if one.at >= self._wanted.since - 2 and one.usage != Usage()]
        except (OSError, sqlite3.Error):
            self._stamp = ()
            return []
        fresh = {one.id: one for one in found if one.id not in self._told}
        self._told |= fresh.keys()
        return sorted(fresh.values(), key=lambda one: one.at)

    def _records(self, path: Path, *marks: bytes) -> Iterator[dict[str, Any]]:
        """The new records of a file of lines that contain one of these marks; others are not even parsed."""
        for line in self._tails.setdefault(path, LineTail()).added(path):
            if any(mark in line for mark in marks):
                try:
                    yield obj(parse_foreign_json(line))
                except ValueError:
                    continue

    def of_claude(self) -> Iterator[RequestUsage]:
        """Every record of an answer repeats its usage, so far; the last one has all of it."""
        path: Path = self._place
        for file in (path, *sorted(path.with_suffix("").glob("subagents/**/*.jsonl"))):
            for record in self._records(file, b'"usage"'):
                message = obj(record.get("message"))
                usage = claude_transcript.usage_of(message.get("usage"))
                id, model = string(message.get("id")), string(message.get("model"))
                if usage is None or not id or model == "<synthetic>":
                    continue
                by_helper = file != path or bool(record.get("isSidechain"))
                at = seconds(record.get("timestamp"))
                one = RequestUsage(id, at, "anthropic", model, usage, by_helper=by_helper)
                held = self._held.pop(str(file), None)
                if held is not None and held.id != id:
                    yield held
                if message.get("stop_reason"):
                    yield one
                else:
                    self._held[str(file)] = one

    def of_codex(self) -> Iterator[RequestUsage]:
        """Counts after each request; the same ones may come again."""
        for record in self._records(self._place, b'"token_count"', b'"turn_context"', b'"session_meta"'):
            payload = obj(record.get("payload"))
            match record.get("type"):
                case "session_meta":
                    self._provider = string(payload.get("model_provider")) or self._provider
                case "turn_context":
                    self._model = string(payload.get("model")) or self._model
                case "event_msg":
                    info = obj(payload.get("info"))
                    total, usage = (
                        info.get("total_token_usage"),
                        codex_transcript.usage_of(info.get("last_token_usage")),
                    )
                    if usage is not None and total != self._total:
                        self._total = total
                        id = string(record.get("timestamp"))
                        window = number(info.get("model_context_window"))
                        yield RequestUsage(id, seconds(id), self._provider, self._model, usage, window=window)
                case _:
                    pass

    def of_gemini(self) -> Iterator[RequestUsage]:
        """A message that changes is written again, under its id."""
        path: Path = self._place
        if path.suffix == ".json":
            from gshtui.programs.transcripts.program_transcript import (
                read_whole_file,
            )

            messages = seq((read_whole_file(path) or {}).get("messages"))
        else:
            messages: list[Any] = []
            for record in self._records(path, b'"tokens"'):
                messages += seq(obj(record.get("$set")).get("messages")) or [record]
        for message in map(obj, messages):
            usage = gemini_transcript.usage_of(message.get("tokens"))
            if usage is not None and (id := string(message.get("id"))):
                at = seconds(message.get("timestamp"))
                yield RequestUsage(id, at, "gemini", string(message.get("model")), usage)

    def of_qwen(self) -> Iterator[RequestUsage]:
        """An event notes each request, also those of its helpers."""
        for record in self._records(self._place, b'"ui_telemetry"'):
            event = obj(obj(record.get("systemPayload")).get("uiEvent"))
            id = string(record.get("uuid"))
            if event.get("event.name") != qwen_transcript.RESPONSE or not id:
                continue
            at, named = seconds(record.get("timestamp")), string(event.get("auth_type"))
            provider, usage = _PROVIDERS.get(named, named), qwen_transcript.event_usage(event)
            by_helper = bool(event.get("subagent_name"))
            yield RequestUsage(id, at, provider, string(event.get("model")), usage, by_helper=by_helper)

    def of_opencode(self) -> Iterator[RequestUsage]:
        """The answers that are complete, with the price that OpenCode knows; it writes 0 where it knows none."""
        place: opencode_transcript.OpenCodeFiles = self._place
        if not place.database:
            return
        for session, updated, id, info in opencode_transcript.messages_since(place, self._updated):
            self._updated = max(self._updated, updated)
            usage = opencode_transcript.usage_of(info.get("tokens"))
            times = obj(info.get("time"))
            if info.get("role") != "assistant" or usage is None or "completed" not in times:
                continue
            cost = info.get("cost")
            named = string(info.get("providerID"))
            yield RequestUsage(
                id,
                seconds(times.get("created")),
                _PROVIDERS.get(named, named),
                string(info.get("modelID")),
                usage,
                float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost > 0 else None,
                by_helper=session != place.session,
            )

    def of_aider(self) -> Iterator[RequestUsage]:
        """The reports below the answers of this chat, all of them at each look: a chat is short."""
        for one in aider_transcript.reports(self._place):
            yield RequestUsage(one.id, one.at, one.provider, one.model, one.usage, one.cost)

    def of_vibe(self) -> Iterator[RequestUsage]:
        """What the conversation has used by now, as one request a turn."""
        kept = vibe_transcript.usage_so_far(self._place)
        if not kept:
            return
        last, begin = kept[-1], self._wanted.since - 2
        before = Usage()
        if last.began < begin:  # of earlier turns, only the sums that are kept are known
            before = next((one.used for one in reversed(kept) if one.at < begin), kept[0].used)
        id = f"{last.turn} {last.used.context}"
        yield RequestUsage(id, last.at, "", last.model, last.used, context=last.context, before=before)


_LOOKS: Mapping[str, Callable[[UsageReader], Iterator[RequestUsage]]] = {
    "aider": UsageReader.of_aider,
    "claude": UsageReader.of_claude,
    "codex": UsageReader.of_codex,
    "gemini": UsageReader.of_gemini,
    "opencode": UsageReader.of_opencode,
    "qwen": UsageReader.of_qwen,
    "vibe": UsageReader.of_vibe,
}

"""What another program sent, as the inspector shows it: views, timeline and texts from its transcript.

Finds an agent's transcript, reads it in a thread, and caches it until the file changes. Every view says that it is a
reconstruction, and what is missing. Writes nothing. Called by `program_context`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import msgspec

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.context_data import Block, Change, Iteration, Receipt, SectionName
from gshtui.context.views import ContextError, ContextView
from gshtui.programs.transcripts import conversation_binding
from gshtui.programs.transcripts.program_transcript import (
    ProgramTranscript,
    RequestMark,
    TranscriptEntry,
    TranscriptQuery,
)
from gshtui.programs.transcripts.transcript_readers import READERS, stamp_of
from gshtui.providers.port import Capabilities, estimate
from gshtui.system.caller_environment import caller_environ
from gshtui.system.processes.time_limit import time_limit

DEADLINE = 30.0
"""Seconds that finding and reading one transcript may take."""
_KEPT = 4
"""Transcripts that are remembered."""
_MADE_BY = {"claude": "anthropic", "codex": "openai", "gemini": "gemini"}
Known = Callable[[str], Capabilities]
"""What the catalog knows of a model."""


class _Read(msgspec.Struct):
    """One transcript, as it was when the file looked like this."""

    stamp: tuple[int, ...]
    transcript: ProgramTranscript
    blocks: list[Block]
    texts: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    guessed: bool = False
    """It was found by its folder alone."""
    sums: list[int] = msgspec.field(default_factory=lambda: [0])
    """Tokens of all blocks before each one."""


class Transcripts:
    """The transcripts of programs that live in terminals."""

    def __init__(self, known: Known, environ: Mapping[str, str] | None = None, home: Path | None = None) -> None:
        self._known = known
        self._environ = caller_environ() if environ is None else environ
        self._home = home
        self._read: OrderedDict[str, _Read] = OrderedDict()

    async def view(self, row: AgentRow, iteration: str = "") -> ContextView:
        """The program's current context, or what one of its requests sent. Raises `ContextError`: `unknown`: it has no
        readable transcript, or no such request; `timeout`.
        """
        read = await self._of(row)
        found = read.transcript
        if not iteration:
            return self._view(row, read, read.blocks[found.start :], None)
        mark = next((mark for mark in found.marks if mark.id == iteration), None)
        if mark is None:
            raise ContextError("unknown", f"{row.name} made no request {iteration!r}.", "`timeline` lists them.")
        return self._view(row, read, read.blocks[mark.start : mark.end], mark)

    async def iterations(self, row: AgentRow) -> list[Iteration]:
        """Its requests, oldest first. Raises as `view` does."""
        read = await self._of(row)
        return [self._iteration(row, read, mark, number) for number, mark in enumerate(read.transcript.marks, 1)]

    async def receipts(self, row: AgentRow) -> list[Receipt]:
        """The program's own compactions found in its transcript, oldest first. Raises as `view` does."""
        read = await self._of(row)
        found: list[Receipt] = []
        marks = [self._iteration(row, read, mark, number) for number, mark in enumerate(read.transcript.marks, 1)]
        for before, now in pairwise(marks):
            if now.cuts:
                receipt = Receipt(
                    "compact",
                    row.id,
                    now.session,
                    id=now.cuts[0],
                    at=now.at,
                    by=row.profile or row.name,
                    cost=None,
                    why="The program did it itself.",
                    tokens_before=before.tokens,
                    tokens_after=now.tokens,
                )
                found.append(receipt)
        return found

    def text(self, hash: str) -> str | None:
        """The text of a block of one of the last views."""
        return next((read.texts[hash] for read in self._read.values() if hash in read.texts), None)

    async def _of(self, row: AgentRow) -> _Read:
        try:
            async with time_limit(DEADLINE):
                return await asyncio.to_thread(self._load, row)
        except TimeoutError as error:
            hint = "Try again; the transcript is large, or its disk is slow."
            raise ContextError("timeout", f"Reading the transcript of {row.name} took too long.", hint) from error
        except OSError as error:
            raise ContextError("unknown", f"Cannot read the transcript of {row.name}: {error.strerror}.") from error

    def _load(self, row: AgentRow) -> _Read:
        program = program_of(row)
        reader = READERS.get(program)
        if reader is None:
            raise ContextError(
                "unknown",
                f"{row.name} ({row.id}) keeps no readable transcript.",
                f"Only {', '.join(READERS)} do; `agent show {row.id}` prints what its terminal shows.",
            )
        home = self._home or Path.home()
        bound = row.external_id or conversation_binding.bound_conversation(
            conversation_binding.BindingQuery(program, 0 if row.ended else row.pid, row.cwd), self._environ, home
        )
        place = reader.find(TranscriptQuery(program, bound, row.cwd, row.created), self._environ, home)
        if place is None:
            where = f"conversation {bound}" if bound else f"folder {row.cwd}"
            hint = "It writes one after its first prompt."
            raise ContextError("unknown", f"{row.name} has no transcript of its {where} yet.", hint)
        read = self._fresh(reader, place)
        read.guessed = not bound
        return read

    def _fresh(self, reader: ModuleType, place: object) -> _Read:
        key, stamp = str(place), stamp_of(place)
        known = self._read.get(key)
        if known is not None and known.stamp == stamp:
            self._read.move_to_end(key)
            return known
        transcript: ProgramTranscript = reader.read(place)
        read = _Read(stamp, transcript, [])
        for number, entry in enumerate(transcript.entries):
            block = _block(entry, number, read.texts)
            read.blocks.append(block)
            read.sums.append(read.sums[-1] + block.tokens)
        self._read[key] = read
        while len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return read

    def _view(self, row: AgentRow, read: _Read, blocks: Sequence[Block], mark: RequestMark | None) -> ContextView:
        found = read.transcript
        last = max((block.turn for block in blocks), default="", key=_turn_number)
        placed = tuple(_placed(block, last) for block in blocks)
        known = self._known(mark.model if mark and mark.model else found.model)
        counted = mark or (found.marks[-1] if found.marks else None)
        iteration = self._iteration(row, read, mark, found.marks.index(mark) + 1) if mark is not None else None
        return ContextView(
            agent=row.id,
            session=row.external_id or found.path.stem,
            iteration=iteration,
            model=(mark.model if mark else "") or found.model,
            provider=_MADE_BY.get(found.program, row.provider),
            window=found.window or known.window,
            tokens=sum(block.tokens for block in placed),
            blocks=placed,
            note=_note(read, counted),
            expected=_context_of(counted) if counted is not None else 0,
        )

    def _iteration(self, row: AgentRow, read: _Read, mark: RequestMark, number: int) -> Iteration:
        known = self._known(mark.model or read.transcript.model)
        estimated = read.sums[mark.end] - read.sums[mark.start]
        return Iteration(
            id=mark.id,
            agent=row.id,
            session=row.external_id or read.transcript.path.stem,
            turn=str(mark.turn),
            iteration=number,
            at=mark.at,
            provider=_MADE_BY.get(read.transcript.program, ""),
            model=mark.model,
            tokens=_sent(mark) or estimated,
            window=read.transcript.window or known.window,
            usage=mark.usage,
            cost=known.cost(mark.usage) if mark.usage is not None else None,
            error=mark.error,
            cuts=(f"compact-{mark.id}",) if mark.compacted else (),
        )


def program_of(row: AgentRow) -> str:
    """Which program an agent is: its profile, else the name of its executable."""
    names = (row.profile, Path(row.argv[0]).name if row.argv else "")
    return next((name for name in names if name in READERS), "")


def _block(entry: TranscriptEntry, number: int, texts: dict[str, str]) -> Block:
    name = hashlib.sha256(entry.text.encode(errors="replace")).hexdigest()[:32]
    texts[name] = entry.text
    section: SectionName = "system" if entry.kind == "system" else "history"
    return Block(
        id=f"{entry.message}/{number}",
        section=section,
        kind=entry.kind,
        source=entry.source,
        tokens=estimate(len(entry.text.encode(errors="replace")), 1),
        hash=name,
        at=entry.at,
        message=entry.message,
        call=entry.call,
        turn=str(entry.turn),
        path=entry.path,
        changes=(Change("pruned"),) if entry.pruned else (Change("summarised"),) if entry.kind == "summary" else (),
        role=entry.role,
    )


def _placed(block: Block, last: str) -> Block:
    """The last turn is the input, as in our own requests."""
    if block.section != "history" or block.turn != last or last in ("", "0"):
        return block
    return msgspec.structs.replace(block, section="input")


def _turn_number(turn: str) -> int:
    return int(turn or 0)


def _sent(mark: RequestMark) -> int:
    usage = mark.usage
    return usage.input + usage.cache_read + usage.cache_write if usage is not None else 0


def _context_of(mark: RequestMark) -> int:
    return mark.usage.context if mark.usage is not None else 0


def _note(read: _Read, mark: RequestMark | None) -> str:
    found = read.transcript
    said = [f"Reconstructed from its transcript {found.path}.", *found.notes]
    if read.guessed:
        said.append("It is the newest of the folder since the agent began; which one is the agent's own is not known.")
    known = read.sums[mark.end] - read.sums[mark.start] if mark is not None else 0
    missing = _sent(mark) - known if mark is not None else 0
    what = "It lacks the program's own system prompt and tools"
    said.append(f"{what}: about {missing:,} tokens, by the provider's count." if missing > 0 else f"{what}.")
    return " ".join(said)

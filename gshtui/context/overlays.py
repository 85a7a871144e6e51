"""Overlays: what was decided about a conversation's context, append-only beside its log.

Owns the vocabulary and its JSON. Refuses to change anything: an undo is a later overlay that names an earlier one. The
fold of all of them is `gshtui.context.plan`; the store keeps them in the order in which they were written.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from gshtui.bus.context import Receipt, Task
from gshtui.bus.ids import new_id


class _Overlay(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """What every overlay has. Times are for display; what counts is the order in which they were written."""

    id: str = msgspec.field(default_factory=new_id)
    at: float = msgspec.field(default_factory=time.time)
    by: str = ""
    """`threshold`, `overflow`, `strategy`, `person`, or an agent's name."""


class Pruned(_Overlay, frozen=True, kw_only=True, tag="pruned"):
    """Old tool outputs are sent as placeholders from now on."""

    blocks: dict[str, int]
    """Id of the result's block → the tokens that its placeholder names."""
    receipt: Receipt


class Compacted(_Overlay, frozen=True, kw_only=True, tag="compacted"):
    """Everything up to a message is sent as a summary, with what is carried past it."""

    upto: str
    """Id of the last message that the summary stands for."""
    summary: str
    words: dict[str, int] = {}
    """Blocks of people's words that are carried → bytes of each to keep; 0: all."""
    tasks: tuple[Task, ...] = ()
    files: tuple[str, ...] = ()
    """Touched files, a line each."""
    receipt: Receipt


class Cleared(_Overlay, frozen=True, kw_only=True, tag="cleared"):
    """Nothing up to a message is sent any more, but what is pinned and carried."""

    upto: str
    words: dict[str, int] = {}
    tasks: tuple[Task, ...] = ()
    receipt: Receipt


class Dropped(_Overlay, frozen=True, kw_only=True, tag="dropped"):
    """The calls of these answers and their results are not sent any more."""

    messages: tuple[str, ...]
    receipt: Receipt


class Pinned(_Overlay, frozen=True, kw_only=True, tag="pinned"):
    """A block is never cut from now on."""

    block: str


class Unpinned(_Overlay, frozen=True, kw_only=True, tag="unpinned"):
    """A block may be cut again."""

    block: str


class Restored(_Overlay, frozen=True, kw_only=True, tag="restored"):
    """One block is sent in full again, until a later compaction comes to it."""

    block: str


class Undone(_Overlay, frozen=True, kw_only=True, tag="undone"):
    """An earlier cut does not count."""

    cut: str


class SummaryEdited(_Overlay, frozen=True, kw_only=True, tag="summary_edited"):
    """A compaction's summary has other words."""

    cut: str
    summary: str


class Tuned(_Overlay, frozen=True, kw_only=True, tag="tuned"):
    """How this agent's context is cut from now on; what is `None` stays as it was."""

    threshold: float | None = None
    """Fraction of the window at which a compaction starts."""
    protect: int | None = None
    """Tokens of recent tool output that pruning leaves alone."""
    strategy: str | None = None
    """`summarise`, `last N` (messages) or `budget N` (tokens)."""
    output_bytes: int | None = None
    """Bytes of a tool's output that are kept at capture; 0: all."""


class Tasks(_Overlay, frozen=True, kw_only=True, tag="tasks"):
    """The agent's list of things to do is this one."""

    tasks: tuple[Task, ...] = ()


class Told(_Overlay, frozen=True, kw_only=True, tag="told"):
    """A text goes along with a person's message: facts of the environment, recent shell commands.

    So it stays where it was first told, and what changes later does not disturb what was sent before.
    """

    message: str
    source: str
    text: str


Cut = Pruned | Compacted | Cleared | Dropped
Overlay = (
    Pruned
    | Compacted
    | Cleared
    | Dropped
    | Pinned
    | Unpinned
    | Restored
    | Undone
    | SummaryEdited
    | Tuned
    | Tasks
    | Told
)
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Overlay, strict=False)


def encode(overlay: Overlay) -> str:
    """The overlay as JSON."""
    return _encoder.encode(overlay).decode()


def decode(data: str | bytes) -> Overlay | None:
    """The overlay; `None` for a kind that this version does not know, or one that is damaged: it changes nothing."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def kind_of(overlay: Overlay) -> str:
    """Its tag, as the store keeps it beside the data."""
    tag: Any = overlay.__struct_config__.tag
    return str(tag)

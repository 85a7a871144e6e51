"""Plain data about what a model is sent: blocks of sections, cuts with their receipts, tasks, budgets.

Tokens are estimates (bytes / 4, plus 4 per message) unless a field says otherwise; times are seconds since the epoch;
money is in US dollars, `None` if a price is unknown.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gshtui.bus.messages import Image, Usage
from gshtui.text import units

SectionName = Literal["system", "call", "memory", "tools", "history", "input"]
SECTIONS: tuple[SectionName, ...] = ("system", "call", "memory", "tools", "history", "input")
"""In sending order."""
BlockKind = Literal[
    "system",
    "file",
    "tool",
    "text",
    "thinking",
    "tool_call",
    "tool_result",
    "image",
    "document",
    "audio",
    "summary",
    "carried",
]
"""`carried`: what we, not a model, keep through a compaction (words of the person, pins, tasks, files)."""
CutKind = Literal["truncate", "prune", "compact", "clear", "drop"]
"""`clear`: everything before this point, without a summary. `drop`: the oldest pairs, if nothing else makes room."""
ChangeKind = Literal["truncated", "pruned", "summarised", "carried", "restored", "shortened"]
CacheState = Literal["", "read", "written", "fresh"]
"""As the provider counted it: read from its prompt cache, written to it, or neither; empty: unknown."""
Fate = Literal["kept", "shortened", "dropped", "summarised", "carried"]


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One transformation of a block on its way from the log into the request."""

    kind: ChangeKind
    cut: str = ""
    """Id of the receipt; empty for a truncation at capture."""
    before: int = 0
    after: int = 0


class Block(msgspec.Struct, frozen=True, omit_defaults=True):
    """One block of a section, as it is sent."""

    id: str
    """Stable: `<message id>/<number>`, `system/<number>`, `memory/<path>`, `tool/<name>` …"""
    section: SectionName
    kind: BlockKind
    source: str
    """Where it comes from, for people: `you`, `main`, `AGENTS.md`, `bash npm test`, `read src/a.py:10` …"""
    tokens: int
    hash: str
    """Hash of the text as sent; the key to read it by."""
    at: float = 0.0
    message: str = ""
    """Id of the log's message that it comes from, if any."""
    call: str = ""
    """Id of the tool call, for calls and results."""
    turn: str = ""
    iteration: int = 0
    path: str = ""
    """The file that it comes from, or that its tool read or wrote."""
    changes: tuple[Change, ...] = ()
    pinned: bool = False
    cache: CacheState = ""
    role: str = ""
    picture: Image | None = None
    """The picture that it is, if its files are kept."""


class Iteration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One model request of an agent: a mark of the timeline. Its id gives access to what it sent."""

    id: str
    agent: str
    session: str
    turn: str
    iteration: int
    at: float
    provider: str = ""
    model: str = ""
    tokens: int = 0
    window: int = 0
    sections: tuple[tuple[SectionName, int], ...] = ()
    usage: Usage | None = None
    """The provider's count; `None`: no answer (yet)."""
    cost: float | None = None
    trigger: int = 0
    """Tokens at which a compaction starts."""
    error: str = ""
    cuts: tuple[str, ...] = ()
    """Ids of the receipts of cuts since the previous iteration."""
    broken_by: str = ""
    """Id of the first block that differs from what the provider had cached; empty: the prefix held."""
    sent: str = ""
    """Hash of the body as sent, which shows whether it was reproduced exactly."""


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a cut did to one block."""

    block: str
    source: str
    fate: Fate
    before: int = 0
    after: int = 0
    hash: str = ""
    """Key of its text before the cut."""
    why: str = ""
    """`pinned`, `your words`, `task`, `touched file`, `recent`, `small` …"""


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a cut did, item by item. Also a preview, with an empty `id`."""

    kind: CutKind
    agent: str
    session: str
    id: str = ""
    at: float = 0.0
    by: str = ""
    """`threshold`, `overflow`, `person`, or the name of the agent that asked."""
    why: str = ""
    """The trigger in one sentence."""
    turn: str = ""
    tokens_before: int = 0
    """Of the whole request, as its provider would count them."""
    tokens_after: int = 0
    messages_before: int = 0
    messages_after: int = 0
    request_before: float | None = None
    """Price of sending the request once, before and after."""
    request_after: float | None = None
    usage: Usage = Usage()
    cost: float | None = 0.0
    """Price of making the cut itself."""
    seconds: float = 0.0
    items: tuple[Item, ...] = ()
    summary: str = ""
    steps: tuple[str, ...] = ()
    """The attempts in order, one sentence each, if the first did not succeed."""
    undone: bool = False
    undone_by: str = ""
    notes: tuple[str, ...] = ()


def compacted(receipt: Receipt) -> str:
    """Describe, in the conversation, the part that was replaced by a summary, shortened or left out."""
    done = {"clear": "Cleared", "compact": "Compacted", "prune": "Pruned"}.get(receipt.kind, "Cut")
    return f"{done} {units.tokens(receipt.tokens_before)} → {units.tokens(receipt.tokens_after)} tokens"


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """One block's difference between two assemblies."""

    kind: Literal["added", "removed", "rewritten", "moved"]
    block: str
    section: SectionName
    source: str
    before: int = 0
    """Tokens."""
    after: int = 0
    hash_before: str = ""
    hash_after: str = ""


class Task(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of an agent's task list."""

    id: str
    text: str
    state: Literal["open", "active", "done", "dropped"] = "open"


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """How much of a limit is used. `unit`: tokens, dollars or minutes."""

    scope: Literal["agent", "tree", "day"]
    unit: Literal["tokens", "dollars", "minutes"]
    used: float
    limit: float
    agent: str = ""

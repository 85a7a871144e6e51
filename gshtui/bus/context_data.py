"""The plain data about what a model is sent: blocks of sections, cuts with their receipts, tasks, budgets.

It owns the structs that context, store, commands and panes share, and holds no behaviour and no state. Tokens are the
house's estimate (bytes / 4, and 4 a message) unless a field says otherwise; times are seconds since the epoch; money
is in US dollars, `None` where a price is unknown.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gshtui.bus.messages import Usage

SectionName = Literal["system", "call", "memory", "tools", "history", "input"]
SECTIONS: tuple[SectionName, ...] = ("system", "call", "memory", "tools", "history", "input")
"""In the order in which they are sent."""
BlockKind = Literal[
    "system", "file", "tool", "text", "thinking", "tool_call", "tool_result", "image", "document", "summary", "carried"
]
"""`carried`: what is kept through a compaction by us and not by a model (words of the person, pins, tasks, files)."""
CutKind = Literal["truncate", "prune", "compact", "clear", "drop"]
"""`clear`: everything before this point, without a summary. `drop`: the oldest pairs, when nothing else makes room."""
ChangeKind = Literal["truncated", "pruned", "summarised", "carried", "restored", "shortened"]
CacheState = Literal["", "read", "written", "fresh"]
"""By the provider's count: read from its prompt cache, written into it, or neither; empty: not known."""
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
    """Of the text as sent; the key under which it can be read."""
    at: float = 0.0
    message: str = ""
    """Id of the log's message, where it comes from one."""
    call: str = ""
    """Id of the tool call, for a call and its result."""
    turn: str = ""
    iteration: int = 0
    path: str = ""
    """The file that it comes from, or that its tool read or wrote."""
    changes: tuple[Change, ...] = ()
    pinned: bool = False
    cache: CacheState = ""
    role: str = ""


class Iteration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One model request of an agent: a mark of the timeline. What it sent is read by its id."""

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
    """What the provider counted; `None`: it has not answered (yet)."""
    cost: float | None = None
    trigger: int = 0
    """Tokens at which a compaction starts."""
    error: str = ""
    cuts: tuple[str, ...] = ()
    """Ids of the receipts of cuts since the iteration before."""
    broken_by: str = ""
    """Id of the first block that differs from what the provider had cached; empty: the prefix held."""
    sent: str = ""
    """Hash of the body as it went out, by which one can tell whether it was rendered again exactly."""


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One block's lot in a cut."""

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
    """What a cut did, item by item. Also a preview, whose `id` is empty."""

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
    tokens_after: int = 0
    messages_before: int = 0
    messages_after: int = 0
    request_before: float | None = None
    """Price of sending it once, before and after."""
    request_after: float | None = None
    usage: Usage = Usage()
    cost: float | None = 0.0
    """What making the cut itself cost."""
    seconds: float = 0.0
    items: tuple[Item, ...] = ()
    summary: str = ""
    steps: tuple[str, ...] = ()
    """What was tried in order, a sentence each, where it did not work at once."""
    undone: bool = False
    undone_by: str = ""
    notes: tuple[str, ...] = ()


def compacted(receipt: Receipt) -> str:
    """What is said in a conversation where it was replaced by a summary, or left out."""
    done = "cleared" if receipt.kind == "clear" else "compacted"
    return f"[context {done}: {receipt.tokens_before} -> {receipt.tokens_after} tokens]"


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
    """One entry of an agent's list of things to do."""

    id: str
    text: str
    state: Literal["open", "active", "done", "dropped"] = "open"


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a limit is used. `unit`: tokens, dollars or minutes."""

    scope: Literal["agent", "tree", "day"]
    unit: Literal["tokens", "dollars", "minutes"]
    used: float
    limit: float
    agent: str = ""

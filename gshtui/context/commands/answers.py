"""Contexts as plain data for scripts and agents; context errors as command errors.

Agents get shortened answers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import msgspec

from gshtui.bus.context_data import SECTIONS, Block, Difference, Iteration, Receipt
from gshtui.commands.declaration import (
    Action,
    CommandError,
    Invocation,
    Outcome,
    Parameters,
    Question,
    View,
    Where,
    as_data,
)
from gshtui.context.assembly.prompt_cache import CacheEntry
from gshtui.context.views import ContextError, ContextView, RequestText

HEAD = 160
"""Characters shown of a block's text unless the whole is requested."""


def view(
    of: ContextView,
    *,
    number: int = 0,
    section: str = "",
    limit: int = 0,
    texts: Mapping[str, str] | None = None,
    request: RequestText | None = None,
) -> dict[str, Any]:
    """A view.

    Args:
        of: the view.
        number: of the iteration in its agent's timeline; 0: the next request.
        section: only this section; empty: all.
        limit: most blocks per section, the newest; 0: all.
        texts: by hash; without them blocks have no `text`.
        request: what was or would be sent.
    """
    told: dict[str, Any] = {
        "agent": of.agent,
        "session": of.session,
        "iteration": number or None,
        "iteration_id": of.iteration.id if of.iteration else "",
        "provider": of.provider,
        "model": of.model,
        "window": of.window,
        "tokens": of.tokens,
        "expected": of.expected or of.tokens,
        "trigger": of.trigger,
        "note": of.note,
        "sections": [_section(of, name, limit, texts) for name in SECTIONS if section in ("", name)],
    }
    if request is not None:
        told |= {"request": parsed(request.text), "request_exact": request.exact, "request_note": request.note}
    return told


def _section(of: ContextView, name: str, limit: int, texts: Mapping[str, str] | None) -> dict[str, Any]:
    numbered = [(place, block) for place, block in enumerate(of.blocks, 1) if block.section == name]
    shown = numbered[-limit:] if limit else numbered
    tokens = sum(block.tokens for _, block in numbered)
    told: dict[str, Any] = {"name": name, "tokens": tokens, "blocks": [block(one, n, texts) for n, one in shown]}
    if len(shown) < len(numbered):
        told["left_out"] = len(numbered) - len(shown)
    return told


def block(of: Block, number: int = 0, texts: Mapping[str, str] | None = None) -> dict[str, Any]:
    """One block. `number`: its position in the request, by which it can be named."""
    told: dict[str, Any] = {
        "number": number,
        "id": of.id,
        "source": of.source,
        "kind": of.kind,
        "tokens": of.tokens,
        "hash": of.hash,
        "age_s": round(max(0.0, time.time() - of.at), 1) if of.at else None,
        "path": of.path,
        "pinned": of.pinned,
        "cache": of.cache,
        "changes": [msgspec.to_builtins(change) for change in of.changes],
    }
    if texts is not None:
        told["text"] = texts.get(of.hash, "")
    return told


def parsed(text: str) -> Any:
    """The request as JSON data, or as text if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def cache(of: CacheEntry) -> dict[str, Any]:
    """One request's entry in the cache ledger. Tokens are the provider's."""
    told: dict[str, Any] = {"verdict": of.verdict, "read": of.read, "written": of.written, "fresh": of.fresh}
    return told | {"broken_by": of.broken_by, "why": of.why}


def iteration(of: Iteration, number: int) -> dict[str, Any]:
    return {"number": number} | all_fields(of) | {"sections": dict(of.sections)}


def brief(of: Receipt, items: int = 0) -> dict[str, Any]:
    """A receipt for an agent: how many blocks had which fate, and up to `items` of those that are not kept."""
    fates: dict[str, int] = {}
    for item in of.items:
        fates[item.fate] = fates.get(item.fate, 0) + 1
    told = all_fields(of) | {"items": fates}
    gone = [item for item in of.items if item.fate != "kept"][:items]
    if gone:
        told["not_kept"] = [
            {"block": item.block, "source": item.source, "fate": item.fate, "before": item.before, "after": item.after}
            for item in gone
        ]
    return told


def difference(of: Sequence[Difference], texts: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The differences, with both texts if requested."""
    told = [all_fields(one) for one in of]
    if texts is not None:
        for one in told:
            one["text_before"] = texts.get(one["hash_before"], "")
            one["text_after"] = texts.get(one["hash_after"], "")
    return told


def all_fields(of: msgspec.Struct) -> dict[str, Any]:
    """Every field, including those at their default: scripts must not have to know which."""
    return {name: msgspec.to_builtins(getattr(of, name)) for name in of.__struct_fields__}


S = TypeVar("S")
P = TypeVar("P")
R = TypeVar("R")
A = TypeVar("A", bound=Parameters)
Handler = Callable[[S, Invocation, P], Awaitable[R]]


class ContextRefused(CommandError):
    """A context cannot be read or changed as requested; `kind` as in `ContextError`."""

    def __init__(self, error: ContextError) -> None:
        super().__init__(_sentence(error.message), hint=error.hint)
        self.kind = error.kind


def context_errors(handler: Handler[S, P, R]) -> Handler[S, P, R]:
    """Wrap the handler to raise its errors as command errors."""

    @wraps(handler)
    async def guarded(self: S, invocation: Invocation, parameters: P) -> R:
        try:
            return await handler(self, invocation, parameters)
        except ContextError as error:
            raise ContextRefused(error) from error

    return guarded


def action(
    parameters: type[A],
    run: Callable[[Invocation, A], Awaitable[R]],
    render: Callable[[Invocation, R], Outcome],
    *,
    asks: Callable[[Invocation, A], Awaitable[Question | None]] | None = None,
    shows: Callable[[Invocation, R], Awaitable[View | None]] | None = None,
    where: Sequence[Where[Any, A]] = (),
) -> Action[A, R]:
    """An action whose rendering is short for agents."""

    def rendered(invocation: Invocation, found: R) -> Outcome:
        outcome = render(invocation, found)
        return as_data(outcome) if invocation.caller.is_agent else outcome

    return Action(parameters, run, rendered, asks, shows, where=tuple(where))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."

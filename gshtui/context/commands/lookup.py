"""Look up what context commands name: an iteration by its number, a block by its number, id, file or source.

A name that matches several is refused, with the candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gshtui.bus.context_data import Block, Iteration, Receipt
from gshtui.commands.declaration import UsageError
from gshtui.context.commands.view_calls import FoundRequest, RequestName
from gshtui.context.views import ContextView

ALL = 1_000_000
"""All iterations."""
_SHOWN = 5


def iteration(agent: str, iterations: Sequence[Iteration], name: str) -> FoundRequest:
    """Find the iteration with this number (from 1; -1: the last one sent) or id; `next` or nothing: the next request.
    Raises `UsageError`: there is none.
    """
    wanted = name.strip()
    if wanted in ("", "next"):
        return FoundRequest(agent)
    if wanted == "last":
        wanted = "-1"
    found = next((place for place, one in enumerate(iterations) if one.id == wanted), None)
    if found is None and wanted.lstrip("-").isdecimal() and len(wanted) < 12:
        number = int(wanted)
        place = number - 1 if number > 0 else len(iterations) + number
        found = place if number and 0 <= place < len(iterations) else None
    if found is None:
        made = f"It has made {len(iterations)}" if iterations else "It has made none yet"
        raise UsageError(f"{agent} has no request {wanted[:40]!r}.", hint=f"{made}; `timeline` lists them.")
    return FoundRequest(agent, iterations[found].id, found + 1)


def compared_requests(words: str) -> tuple[RequestName, RequestName]:
    """Both sides of a comparison: `3 7`, `3` (with the next), `main helper`, `helper:4 main:last`. Raises `UsageError`:
    these are not two requests.
    """
    parts = words.replace("..", " ").replace(",", " ").split()
    if not 1 <= len(parts) <= 2:
        raise UsageError(
            "A comparison needs two requests.", hint="Write `diff='3 7'`, `diff=3` or `diff='main helper:4'`."
        )
    first, *rest = map(side, parts)
    return first, rest[0] if rest else RequestName(first.agent if is_past(first.request) else "")


def is_past(request: str) -> bool:
    return request not in ("", "next")


def side(word: str) -> RequestName:
    """Split one side of a comparison into agent and request; either may be empty.

    An agent's id has at least four digits and starts with a zero; a request's number does not.
    """
    who, colon, name = word.rpartition(":")
    if colon:
        return RequestName(who, name)
    request = (word.lstrip("-").isdecimal() and not word.startswith("0")) or word in ("next", "last") or _is_id(word)
    return RequestName("", word) if request else RequestName(word)


def _is_id(word: str) -> bool:
    return len(word) == 14 and word.isalnum() and word.islower() and any(letter.isdecimal() for letter in word)


def block(view: ContextView, name: str) -> tuple[int, Block]:
    """Find the block with this number, id or id prefix, file or source, and its number.

    A call and its result have the same source; the result is meant. Raises `UsageError`: there is none, or several.
    """
    numbered = list(enumerate(view.blocks, 1))
    wanted = name.strip().removeprefix("#")
    if wanted.isdecimal() and 0 < int(wanted) <= len(numbered):
        return numbered[int(wanted) - 1]
    for fits in (_named, _known_as, _ends_with):
        found = [(number, one) for number, one in numbered if wanted and fits(one, wanted)]
        answered = {one.call for _, one in found if one.kind == "tool_result"}
        found = [entry for entry in found if entry[1].kind != "tool_call" or entry[1].call not in answered]
        if len(found) == 1:
            return found[0]
        if found:
            raise _several(name, (f"#{number}" for number, _ in found))
    raise UsageError(f"There is no block {name.strip()[:60]!r}.", hint="`context section=history` lists them.")


def _named(block: Block, wanted: str) -> bool:
    return wanted in (block.id, block.hash)


def _known_as(block: Block, wanted: str) -> bool:
    return wanted in (block.path, block.source)


def _ends_with(block: Block, wanted: str) -> bool:
    return len(wanted) >= 4 and (block.id.startswith(wanted) or block.path.endswith(f"/{wanted}"))


def removed(receipts: Sequence[Receipt], name: str) -> str:
    """Find the id of a block that a cut removed or shortened, by id, file or source; empty if there is none.
    Raises `UsageError`: there are several.
    """
    items = [item for receipt in receipts if not receipt.undone for item in receipt.items if item.fate != "kept"]
    wanted = name.strip()
    exact = {item.block for item in items if item.block == wanted}
    found = exact or {item.block for item in items if wanted and wanted in (item.source, item.source.split(" ", 1)[-1])}
    if len(found) > 1:
        raise _several(name, sorted(found))
    return next(iter(found), "")


def cut(receipts: Sequence[Receipt], name: str) -> Receipt:
    """Find the cut with this id or id prefix; without a name the newest that is not undone. Raises `UsageError`: there
    is none, or several.
    """
    wanted = name.strip()
    if not wanted:
        found = [receipt for receipt in receipts if not receipt.undone and receipt.kind != "truncate"][-1:]
    else:
        found = [receipt for receipt in receipts if receipt.id == wanted]
        found = found or [
            receipt for receipt in receipts if receipt.id.startswith(wanted) or receipt.id.endswith(wanted)
        ]
    if not found:
        what = f"There is no cut {wanted[:40]!r}" if wanted else "There is no cut to undo"
        raise UsageError(f"{what}.", hint="`timeline` lists them.")
    if len(found) > 1:
        raise _several(name, (receipt.id for receipt in found))
    return found[0]


def _several(name: str, found: Iterable[str]) -> UsageError:
    names = list(found)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return UsageError(
        f"{name.strip()[:60]!r} matches several: {', '.join(names[:_SHOWN])}{more}.", hint="Name one of them."
    )

"""Completion sources that need no disk: commands with their parameters, agents, and words that are handed in.

They refuse to know a registry or a roster: whoever composes the screen hands functions in. Asked by `Completer`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from gshtui.ui.kit.fuzzy import match
from gshtui.ui.prompt.completion import Candidate

LIMIT = 50


class LineCompletion(Protocol):
    """What the command language says about a half-typed line; `gshtui.commands.completion.Completion` is one."""

    @property
    def value(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def detail(self) -> str: ...


CompleteLine = Callable[[str, int], Awaitable[Sequence[LineCompletion]]]
"""(line, cursor) → what may stand at the cursor."""


class CommandSource:
    """`/name parameter=value`, on the first line."""

    def __init__(self, complete: CompleteLine) -> None:
        self._complete = complete

    def start(self, before: str, row: int) -> int | None:
        if row != 0 or not before.startswith("/") or before.startswith("//") or before.endswith("'"):
            return None
        name, space, _ = before[1:].partition(" ")
        return None if "/" in name and not space else len(before) - len(before.split(" ")[-1])

    async def candidates(self, before: str, start: int) -> Sequence[Candidate]:
        found: list[Candidate] = []
        for item in (await self._complete(before, len(before)))[:LIMIT]:
            named = item.kind == "command"
            typed = before[item.start :]
            fit = match(typed, item.value)
            found.append(
                Candidate(
                    insert=item.value,
                    start=item.start,
                    label=f"/{item.value}" if named else item.value,
                    detail=item.detail,
                    kind=item.kind,
                    marked=tuple(at + named for at in fit.positions) if fit else (),
                    ends_word=not item.value.endswith("="),
                )
            )
        return found


class AgentSource:
    """`@name` of an agent; `names` gives (name, what it is) of those on the roster now."""

    def __init__(self, names: Callable[[], Sequence[tuple[str, str]]]) -> None:
        self._names = names

    def start(self, before: str, row: int) -> int | None:
        return mention_start(before)

    async def candidates(self, before: str, start: int) -> Sequence[Candidate]:
        query = before[start + 1 :]
        fits = [(fit, detail) for name, detail in self._names() if (fit := match(query, name)) is not None]
        fits.sort(key=lambda pair: (-pair[0].score, pair[0].text))
        return [
            Candidate(
                f"@{fit.text}", start, f"@{fit.text}", detail or "agent", "agent", tuple(p + 1 for p in fit.positions)
            )
            for fit, detail in fits[:LIMIT]
        ]


def mention_start(before: str) -> int | None:
    """Column of the `@` that is being written, or `None`."""
    quote = before.rfind('"')
    if quote > 0 and before[quote - 1] == "@" and _begins(before, quote - 1) and "\n" not in before[quote:]:
        return quote - 1
    words = before[quote + 1 :].split()
    if not words or before[-1].isspace():
        return None
    at = before.find("@", len(before) - len(words[-1]))
    while at >= 0 and not _begins(before, at):
        at = before.find("@", at + 1)
    return at if at >= 0 else None


def _begins(before: str, at: int) -> bool:
    """Whether a word can begin here."""
    return at == 0 or before[at - 1].isspace() or before[at - 1] in "([{,;:"

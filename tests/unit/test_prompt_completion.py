"""Asking sources while a person types: nothing stale is shown, nobody's failure is everybody's."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from gshtui.ui.prompt.completion_sources import CommandSource
from gshtui.ui.prompt.prompt_completion import Completer, CompletionItem


class Slow:
    """Answers with what was written, when it is let go."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self.cancelled: list[str] = []

    def start(self, before: str, row: int) -> int | None:
        return 0 if before else None

    async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
        try:
            await self.gates.setdefault(before, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled.append(before)
            raise
        return [CompletionItem(before, start)]


class Broken:
    """Fails."""

    def start(self, before: str, row: int) -> int | None:
        return 0

    async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
        raise ValueError("no luck")


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_what_comes_late_is_dropped() -> None:
    shown: list[list[str]] = []
    completer = Completer(lambda found: shown.append([c.insert for c in found]), lambda why: None)
    slow = Slow()
    completer.sources.append(slow)
    assert completer.update("a", 0)
    await settled()
    assert completer.update("ab", 0)
    await settled()
    assert slow.cancelled == ["a"]
    slow.gates["a"].set()
    slow.gates["ab"].set()
    await settled()
    assert shown == [["ab"]]


async def test_nothing_known_here() -> None:
    completer = Completer(lambda found: None, lambda why: None)
    completer.sources.append(Slow())
    assert not completer.update("", 0)


async def test_a_source_that_fails_is_told_once_and_costs_itself() -> None:
    shown: list[list[str]] = []
    told: list[str] = []
    completer = Completer(lambda found: shown.append([c.insert for c in found]), told.append)
    slow = Slow()
    slow.gates["a"] = asyncio.Event()
    slow.gates["a"].set()
    completer.sources += [Broken(), slow]
    for _ in range(3):
        completer.update("a", 0)
        await settled()
    assert shown == [["a"]] * 3
    assert told == ["Completion failed: Broken: no luck"]


@dataclass
class Said:
    value: str
    start: int
    kind: str
    detail: str = ""


async def test_commands_are_offered_on_the_first_line_alone() -> None:
    async def complete(line: str, cursor: int) -> list[Said]:
        if " " in line:
            return [Said("path=", 6, "parameter", "the file")]
        return [Said("read", 1, "command", "Read a file")]

    source = CommandSource(complete)
    assert source.start("/re", 0) == 0
    assert source.start("/read pa", 0) == 6
    assert source.start("/re", 1) is None
    assert source.start("re", 0) is None
    assert source.start("/etc/ho", 0) is None
    [name] = await source.candidates("/re", 0)
    assert (name.insert, name.start, name.label, name.marked, name.ends_word) == ("read", 1, "/read", (1, 2), True)
    [parameter] = await source.candidates("/read pa", 6)
    assert (parameter.insert, parameter.start, parameter.ends_word) == ("path=", 6, False)

"""What an agent is told of the commands that its person ran in the input line, with the next prompt.

Owns the words, and what is not told yet; refuses to tell a run twice. Filled by `by_hand`, asked by the context engine.
"""

from __future__ import annotations

from gshtui.bus.shell import ShellRecord
from gshtui.context.ports import Along, Contribution
from gshtui.context.retrieval.wording import command_line, when
from gshtui.guard.sanitise import plain
from gshtui.text.shorten import shorten

SOURCE = "commands run here"
_HEAD = "# The person ran this here since their last message"
_MOST = 20
"""Runs that are told at once; of more, the newest."""


class RanHere:
    """By conversation."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[tuple[ShellRecord, str]]] = {}

    def add(self, session: str, record: ShellRecord, rows: list[str]) -> None:
        """A run ended that printed these lines, as far as agents may see them."""
        waiting = self._waiting.setdefault(session, [])
        if all(known.number != record.number for known, _ in waiting):
            waiting.append((record, plain("\n".join(rows))))
            waiting.sort(key=lambda one: one[0].number)
            del waiting[:-_MOST]

    def news(self, session: str, limit: int) -> Contribution:
        """All that the agent of the conversation was not told; it is offered until it was.

        Args:
            session: the conversation.
            limit: bytes of outputs, all runs together; 0: no limit.
        """
        waiting = tuple(self._waiting.get(session, ()))
        if not waiting:
            return Contribution()
        each = max(1, limit // len(waiting)) if limit else 0
        parts = [_told(record, shorten(printed, each)) for record, printed in waiting]

        def told() -> None:
            rest = [one for one in self._waiting.get(session, ()) if one not in waiting]
            self._waiting[session] = rest

        return Contribution(along=(Along(SOURCE, "\n\n".join([_HEAD, *parts]), told=told),))


def _told(record: ShellRecord, printed: str) -> str:
    lines = [f"{command_line(record)} ({when(record.at, '%H:%M:%S')})"]
    lines += [f"  {row}" for row in printed.splitlines()]
    return "\n".join(lines)

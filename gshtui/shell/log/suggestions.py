"""What a prompt suggests while a line is typed: the person's own command that most probably is meant.

Ranks the runs in the shell log by folder, success, the command before, age and number. Offers nothing that an agent
ran, nothing that was redacted, and nothing that a terminal would not show as it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from gshtui.guard.secrets.redaction import MARK
from gshtui.shell.hub_listener import HubConnection, NoHost
from gshtui.shell.line_stream import BadLine
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import PrefixRun
from gshtui.system.tasks import start_job
from gshtui.text.sanitise import plain

SHORTEST, LONGEST, OFFERED = 1, 250, 1_000
"""Letters that may be asked about, and of a suggestion at most."""
_RUNS = 60
_HALF_LIFE = 14 * 86_400.0
"""Seconds after which a run counts half."""
_NO_SUCH_COMMAND = 127


def best_command(typed: str, cwd: str, previous: str, runs: Sequence[PrefixRun], now: float) -> str:
    """The command to suggest for what is typed; empty: none.

    Args:
        typed: the line so far.
        cwd: the folder of the prompt.
        previous: what was run just before, as recorded.
        runs: earlier runs of commands that begin so.
        now: seconds since the epoch.
    """
    weights: dict[str, list[float]] = {}
    for run in runs:
        if run.command != typed and run.command.startswith(typed) and _is_offered(run.command):
            weights.setdefault(run.command, []).append(_weight(run, cwd, previous, now))
    scores = {command: max(found) * (1 + 0.2 * math.log(len(found))) for command, found in weights.items()}
    best = max(scores, key=lambda command: scores[command], default="")
    return best if best and scores[best] > 0 else ""


def _weight(run: PrefixRun, cwd: str, previous: str, now: float) -> float:
    """How much one run speaks for its command."""
    if run.exit == _NO_SUCH_COMMAND:
        return 0.0
    weight = math.exp2(-max(0.0, now - run.at) / _HALF_LIFE) + 0.01
    if run.cwd == cwd:
        weight *= 4
    elif f"{run.cwd}/".startswith(f"{cwd}/") or f"{cwd}/".startswith(f"{run.cwd}/"):
        weight *= 2
    if previous and run.previous == previous:
        weight *= 3
    return weight if run.exit == 0 else weight / 4 if run.exit else weight / 2


def _is_offered(command: str) -> bool:
    """Whether it may be put into somebody's line."""
    return len(command) <= OFFERED and MARK not in command and "\t" not in command and str(plain(command)) == command


def quoted(text: str) -> str:
    """The text as a shell can read it out of JSON without a parser: what JSON would escape, as `%XX`."""
    for letter in '%"\\\n':
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text


class SuggestionConnections(NoHost):
    """The prompts that ask what to suggest. Of several questions of one prompt, the newest is answered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked: dict[HubConnection, tuple[int, str, str, str]] = {}
        self._busy: set[HubConnection] = set()

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """One question: its number, the line so far, the folder, and the command before."""
        number, rest = fields.get("ask"), [fields.get(name, "") for name in ("text", "cwd", "previous")]
        if not isinstance(number, int) or not all(isinstance(value, str) for value in rest):
            raise BadLine("`ask` is no number, or `text`, `cwd` or `previous` is no text")
        typed, cwd, previous = rest
        self._asked[connection] = (number, typed, cwd, previous)
        if connection not in self._busy:
            self._busy.add(connection)
            start_job(self._answer(connection), "a suggestion at the prompt")

    def disconnected(self, connection: HubConnection) -> None:
        """It has hung up."""
        self._asked.pop(connection, None)

    async def _answer(self, connection: HubConnection) -> None:
        try:
            while (asked := self._asked.pop(connection, None)) is not None:
                number, *question = asked
                connection.send_fields(answer=number, text=quoted(await self._suggest(*question)))
        finally:
            self._busy.discard(connection)

    async def _suggest(self, typed: str, cwd: str, previous: str) -> str:
        if not SHORTEST <= len(typed) <= LONGEST:
            return ""
        try:
            runs = await self._store.shells.runs_with_prefix(typed, cwd, _RUNS)
        except StoreError:
            return ""  # the record reports its own faults
        return best_command(typed, cwd, previous, runs, time.time())

"""Commands that the person runs in a face's input line (`!make`): rows of the history like those of their shells.

Owns the record of such a run; refuses to change how it ends. Held by the shell log, called by the hub.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from gshtui.agents.shell_log.agent_calls import Keep, Printed
from gshtui.bus.ids import new_id
from gshtui.bus.shell import ShellRecord
from gshtui.commands.declaration import Outcome
from gshtui.store.errors import StoreError


class ByHand:
    """The runs of one hub, numbered like the commands of a shell."""

    def __init__(self, keep: Keep, printed: Printed, redact: Callable[[str], str], lines: int) -> None:
        """
        Args:
            printed: keeps what a command printed.
            redact: takes secrets out of text.
            lines: of each output that are kept, the last ones; 0: none.
        """
        self._lines = lines
        self._keep = keep
        self._printed = printed
        self._redact = redact
        self._shell = f"window-{new_id()}"
        self._numbers = itertools.count(1)

    async def run(self, command: str, cwd: str, run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Run it and keep that it ran. Raises what the run raises."""
        began, clock = time.time(), time.monotonic()
        record = ShellRecord(
            shell=self._shell, number=next(self._numbers), command=self._redact(command), cwd=cwd, program="bash",
            at=began, source="run",
        )  # fmt: skip
        outcome: Outcome | None = None
        try:
            await self._told(record)
            outcome = await run()
            return outcome
        finally:
            data: dict[str, Any] = outcome.data if outcome is not None else {}
            code = data.get("exit_code")
            printed = str(data.get("output", "")).splitlines()[-self._lines :] if self._lines else []
            ended = msgspec.structs.replace(
                record,
                state="done" if isinstance(code, int) else "lost",
                exit=code if isinstance(code, int) else None,
                duration=time.monotonic() - clock,
            )
            await self._told(ended, self._redact("\n".join(printed)))

    async def _told(self, record: ShellRecord, printed: str = "") -> None:
        with contextlib.suppress(StoreError):  # a record that cannot be written says so by itself
            await self._keep([record])
            if printed:
                await self._printed(record, printed)

"""What we keep about agents' work: the journal of events, the redacted log, and usage.
An agent in another process keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.agents.usage.recorder import UsageRecorder
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.settings.model import Settings
from gshtui.store.log.log_writer import LogKeeper

if TYPE_CHECKING:
    from gshtui.agents.loop import TurnLimit
    from gshtui.agents.sessions import OpenSessions
    from gshtui.agents.usage.budgets import BudgetWatch
    from gshtui.guard.approval.gate import Gate
    from gshtui.guard.secrets.redaction import Redactor
    from gshtui.store.record.store import Store


class Journal:
    """Subscribes to everything; `sessions` and `carries` (agent → it is in another process) are set once they are."""

    def __init__(self, bus: Bus, store: Store) -> None:
        self.sessions: OpenSessions | None = None
        self.carries: Callable[[str], bool] = lambda _: False
        self._store = store
        bus.subscribe(self._handle_events, name="journal")

    @property
    def folder(self) -> Path:
        return self._store.path.parent

    def _handle_events(self, batch: Sequence[Event]) -> None:
        for event in batch:
            session: str = getattr(event, "session", "")
            elsewhere = self.sessions is not None and self.sessions.reads_along(session)
            if not elsewhere and not self.carries(getattr(event, "agent", "")):
                self._store.journal.record(event)


def redactor(settings: Settings, environ: Mapping[str, str]) -> Redactor:
    """Knows the keys of the providers that are set up, too, however their variables are called."""
    from gshtui.guard.secrets.redaction import Redactor  # it compiles much, and many a call has nothing to write

    tables = settings.providers.values()
    kept: dict[str, str] = {}
    if any(table.keyring for table in tables):
        from gshtui.providers.candidates import candidates  # only where keys are in a keyring

        kept = {f"key of {name}": candidate.key for name, candidate in candidates(settings, environ).items()}
    return Redactor(environ, [table.api_key_env for table in tables if table.api_key_env], kept)


class Telemetry:
    """The log at once; usage as soon as there is a record. `carried(agent)`: its own hub keeps all this."""

    def __init__(
        self, bus: Bus, settings: Settings, environ: Mapping[str, str], carried: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._environ = environ
        self._bus = bus
        self._settings = settings
        self._recorder: UsageRecorder | None = None
        self._carried = carried
        self._log = LogKeeper(bus, settings.general.log_dir, lambda text: self.redactor.redact(text), carried=carried)

    @cached_property
    def redactor(self) -> Redactor:
        """Removes secrets from everything that is saved."""
        return redactor(self._settings, self._environ)

    def keep_usage(self, store: Store) -> None:
        self._recorder = UsageRecorder(self._bus, store.usage.add, carried=self._carried)

    def budgets(self, agent: str, store: Store, gate: Gate) -> BudgetWatch:
        """The budgets of the settings, for one agent; to be asked for after `keep_usage`."""
        from gshtui.agents.usage.budgets import (
            BudgetWatch,  # what a short call has no agent for
            limits_of,
        )

        assert self._recorder is not None
        table = self._settings.budget
        return BudgetWatch(self._bus, agent, limits_of(table), table.warn_at, store.usage, gate, self._recorder.settled)

    def limit(self, agent: str, store: Store | None, gate: Gate, session_of: Callable[[str], str]) -> TurnLimit:
        """The budget check before each request; none without a record."""
        from gshtui.agents.loop import unlimited

        if store is None:
            return unlimited
        budgets = self.budgets(agent, store, gate)
        return lambda _: budgets.stop(session_of(agent))

    async def flush_log(self) -> None:
        """Write what has happened until now to the log. Never raises."""
        await self._log.flush()

    async def close(self) -> None:
        """Write the rest of the log. Never raises."""
        await self._log.close()

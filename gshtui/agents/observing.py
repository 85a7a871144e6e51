"""What is kept of agents' doings beside the journal: the redacted log, and usage; other processes' agents keep theirs.

Owns which parts there are and how secrets are known; refuses nothing. Made by the hub and by an agent in its own
process, and closed after everything that publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from gshtui.agents.usage.recorder import UsageRecorder
from gshtui.bus.bus import Bus
from gshtui.settings.model import Settings
from gshtui.store.log.keeper import LogKeeper

if TYPE_CHECKING:
    from gshtui.agents.loop import Limit
    from gshtui.agents.usage.budgets import Budgets
    from gshtui.guard.approval import Gate
    from gshtui.guard.redaction import Redactor
    from gshtui.store.store import Store


def redactor(settings: Settings, environ: Mapping[str, str]) -> Redactor:
    """Knows the keys of the providers that are set up, too, however their variables are called."""
    from gshtui.guard.redaction import Redactor  # it compiles much, and many a call has nothing to write

    return Redactor(environ, [provider.api_key_env for provider in settings.providers.values() if provider.api_key_env])


class Observing:
    """The log at once; usage as soon as there is a record. `carried(agent)`: its own process keeps all this."""

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
        """Takes secrets out of what is kept."""
        return redactor(self._settings, self._environ)

    def keep_usage(self, store: Store) -> None:
        """Keep what requests use."""
        self._recorder = UsageRecorder(self._bus, store.add_usage, carried=self._carried)

    def budgets(self, agent: str, store: Store, gate: Gate) -> Budgets:
        """The budgets of the settings, for one agent; to be asked for after `keep_usage`."""
        from gshtui.agents.usage.budgets import Budgets  # what a short call has no agent for
        from gshtui.agents.usage.limits import limits_of

        assert self._recorder is not None
        table = self._settings.budget
        return Budgets(self._bus, agent, limits_of(table), table.warn_at, store, gate, self._recorder.settled)

    def limit(self, agent: str, store: Store | None, gate: Gate, session_of: Callable[[str], str]) -> Limit:
        """What an agent asks before each request; nothing where there is no record to keep budgets by."""
        from gshtui.agents.loop import unlimited

        if store is None:
            return unlimited
        budgets = self.budgets(agent, store, gate)
        return lambda _: budgets.stop(session_of(agent))

    async def close(self) -> None:
        """Write the rest of the log. Never raises."""
        await self._log.close()

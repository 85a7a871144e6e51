"""What is kept of agents' doings beside the journal: the redacted log, and usage; other processes' agents keep theirs.

Owns which parts there are and how secrets are known; refuses nothing. Made by the hub and by an agent in its own
process, and closed after everything that publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gshtui.agents.usage.recorder import UsageRecorder
from gshtui.bus.bus import Bus
from gshtui.guard.redaction import Redactor
from gshtui.settings.model import Settings
from gshtui.store.log.keeper import LogKeeper
from gshtui.store.store import Store


def redactor(settings: Settings, environ: Mapping[str, str]) -> Redactor:
    """Knows the keys of the providers that are set up, too, however their variables are called."""
    return Redactor(environ, [provider.api_key_env for provider in settings.providers.values() if provider.api_key_env])


class Observing:
    """The log at once; usage as soon as there is a record. `carried(agent)`: its own process keeps all this."""

    def __init__(
        self, bus: Bus, settings: Settings, environ: Mapping[str, str], carried: Callable[[str], bool] = lambda _: False
    ) -> None:
        self.redactor = redactor(settings, environ)
        self._bus = bus
        self._carried = carried
        self._log = LogKeeper(bus, settings.general.log_dir, self.redactor.redact, carried=carried)

    def keep_usage(self, store: Store) -> None:
        """Keep what requests use."""
        UsageRecorder(self._bus, store.add_usage, carried=self._carried)

    async def close(self) -> None:
        """Write the rest of the log. Never raises."""
        await self._log.close()

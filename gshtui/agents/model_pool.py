"""The models that agents use: one handle per provider and model, created once and closed together.

`gshtui.providers.selection` chooses; this module keeps what it chose.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

from gshtui.agents.ports import ModelHandle
from gshtui.providers.candidates import warm
from gshtui.providers.catalog import Catalog
from gshtui.providers.port import Provider
from gshtui.providers.selection import choose_model
from gshtui.settings.model import Settings
from gshtui.system.tasks import start_job

_TURN = 0.0005
"""Seconds for which Python lets the loading run while someone types; its own default makes each key 5 ms late."""


class ModelPool:
    """The providers in use in this hub."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ
        self._providers: dict[str, Provider] = {}
        self.catalog = Catalog.load()
        self._loaded: set[str] = set()
        self._loading: asyncio.Task[None] | None = None

    async def choose(self, provider: str, model: str) -> ModelHandle:
        """A provider and a model by name; either may be empty. Raises `ProviderError`: unknown, or it has no key."""
        choice = await choose_model(self._settings, self._environ, provider=provider, model=model, catalog=self.catalog)
        kept = self._providers.setdefault(choice.provider.name, choice.provider)
        if kept is not choice.provider:
            await choice.provider.close()
        return ModelHandle(kept, choice.model, choice.label, self._max_output(choice.provider.name), choice.instead_of)

    def _max_output(self, provider: str) -> int:
        tables = self._settings.providers
        named = tables.get(provider) or next((t for t in tables.values() if t.type == provider), None)
        return named.max_tokens if named is not None else 0

    def load(self, handle: ModelHandle) -> None:
        """Load the provider's SDK in a thread, so that the first answer does not wait for it."""
        if handle.provider.name in self._loaded:
            return
        self._loaded.add(handle.provider.name)

        async def loading() -> None:
            interval = sys.getswitchinterval()
            sys.setswitchinterval(_TURN)
            try:
                await warm(handle.provider)
            finally:
                sys.setswitchinterval(interval)

        self._loading = start_job(loading(), "the loading of the provider")

    async def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
        for provider in self._providers.values():
            await provider.close()

"""The context service of a process, put together: whose conversation is whose, which model can be asked.

Owns the look-up of agents (here, on the roster, in the record); refuses what is none with one sentence. Called by the
hub and by agents in terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from gshtui.agents.agent import Agent
from gshtui.agents.minds import Minds
from gshtui.agents.whose import sessions_by_agent
from gshtui.bus.bus import Bus
from gshtui.bus.messages import Message
from gshtui.context.commands.everywhere import Everywhere
from gshtui.context.limits import ContextSettings
from gshtui.context.service import Contexts
from gshtui.context.subject import Subject, Surroundings
from gshtui.context.views import ContextError
from gshtui.providers.port import Capabilities, Provider
from gshtui.providers.select import OFFLINE
from gshtui.settings.tables import Context
from gshtui.store.errors import StoreError
from gshtui.store.store import Store

if TYPE_CHECKING:
    from gshtui.context.subject import Live
    from gshtui.programs.transcripts.reconstruct import Transcripts

_HINT = "`agents` lists those that there are."


class Everyone:
    """Finds agents by name or id."""

    def __init__(self, store: Store, here: Callable[[str], Agent | None], cwd: str) -> None:
        """`here`: an agent of this process; `cwd`: the folder whose conversations count."""
        self._store = store
        self._here = here
        self._sessions = sessions_by_agent(store, self._session_here, cwd)

    async def find(self, agent: str) -> Subject:
        """The agent, or whoever held the conversation of this id. Raises `ContextError` (`unknown`), `StoreError`."""
        live = self._here(agent)
        if live is not None and live.session:
            return Subject(live.name, live.session, cast("Live", live))
        session = await self._sessions(agent)
        if session:
            return Subject(await self._kept_as(agent), session)
        try:
            held = await self._store.session(agent)
        except StoreError as error:
            if error.kind not in ("unknown", "ambiguous"):
                raise
            what = f"There is no agent {agent[:60]!r} with a conversation here."
            raise ContextError("unknown", what, _HINT) from error
        return Subject(held.agent, held.id)

    def _session_here(self, agent: str) -> str:
        live = self._here(agent)
        return live.session if live is not None else ""

    async def _kept_as(self, agent: str) -> str:
        """The name under which its requests are kept: the id of an agent of the roster."""
        try:
            return (await self._store.agent(agent)).id
        except StoreError:
            return agent


def make_contexts(
    bus: Bus,
    store: Store,
    table: Context,
    minds: Minds,
    here: Callable[[str], Agent | None],
    cwd: str,
    redact: Callable[[str], str],
) -> Everywhere:
    """The service for every agent, other programs' too."""

    async def choose(provider: str, model: str) -> tuple[Provider, str]:
        mind = await minds.choose(provider, model)
        return mind.provider, mind.model

    async def load(session: str) -> Sequence[Message]:
        return [stored.message for stored in await store.messages(session)]

    def abilities(provider: str, model: str) -> Capabilities:
        if provider == OFFLINE:
            return Capabilities(price_input=0.0, price_output=0.0, known=True)
        found = minds.catalog.find(model, provider) or minds.catalog.find(model)
        return found.capabilities if found is not None else Capabilities()

    def known(model: str) -> Capabilities:
        return abilities("", model)

    def transcripts() -> Transcripts:
        from gshtui.programs.transcripts.reconstruct import Transcripts  # what no first screen needs

        return Transcripts(known)

    around = Surroundings(Everyone(store, here, cwd).find, choose, abilities, load, redact)
    ours = Contexts(bus, store, ContextSettings.of(table), around)
    return Everywhere(ours, store.agent, transcripts, known)

"""Creates an agent's context engine, and a process's context service with the agents it can find."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gshtui.agents.agent import Agent
from gshtui.agents.model_pool import ModelPool
from gshtui.agents.sessions import session_lookup
from gshtui.bus.agent_data import AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.messages import Message
from gshtui.context.assembly.instruction_files import InstructionSection
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.assembly.system_section import system_source
from gshtui.context.commands.context_router import ContextRouter
from gshtui.context.context_editor import ContextEditor
from gshtui.context.cuts.summary import SummaryReviewer
from gshtui.context.engine import ContextEngine
from gshtui.context.log.blocks import Passage
from gshtui.context.log.ports import ContextStore, Contribute, MemoryContextStore
from gshtui.context.queries import ContextEnvironment, ContextQueries, ContextSubject
from gshtui.context.views import ContextError
from gshtui.providers.port import Capabilities, Provider
from gshtui.providers.selection import OFFLINE
from gshtui.settings.paths import project_root
from gshtui.settings.settings_tables import Context
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store

if TYPE_CHECKING:
    from gshtui.context.queries import BeginAgent, LiveAgent
    from gshtui.programs.transcripts.reconstruction import Transcripts


def make_engine(
    bus: Bus,
    agent: str,
    store: ContextStore | None,
    table: Context,
    cwd: Path,
    sections: Callable[[], tuple[str, ...]],
    *,
    attended: Callable[[], bool],
    instructions: Contribute | None = None,
    more: Sequence[Contribute] = (),
) -> ContextEngine:
    """An agent's engine. `sections`: the texts of the system section, with the facts about the environment last;
    `instructions`: gives AGENTS.md and the like; `more`: is asked after both.
    """
    settings = ContextSettings.from_table(table)
    instructions = instructions or make_instructions(bus, agent, cwd)
    review = SummaryReviewer(bus, agent, settings.review_seconds, attended) if settings.review else None
    sources = (system_source(sections), instructions, *more)
    return ContextEngine(bus, agent, store or MemoryContextStore(), settings, sources, review)


def make_instructions(bus: Bus, agent: str, cwd: Path) -> InstructionSection:
    """AGENTS.md and the like of a folder on this machine, for an agent."""
    return InstructionSection(
        cwd, lambda text, hint: bus.publish(Noticed(level="warning", text=text, hint=hint, about=agent))
    )


_HINT = "`agents` lists them."


class AgentFinder:
    """Finds agents by name or id."""

    def __init__(self, store: Store, here: Callable[[str], Agent | None], cwd: str, own: str = "") -> None:
        """`cwd`: whose conversations count. `own`: the agent of a window in this folder, whether one is open or not."""
        self._store = store
        self._own = own
        self._here = here
        self._sessions = session_lookup(store, self._session_here, cwd)

    async def find(self, agent: str) -> ContextSubject:
        """The agent, or the one that had this conversation; an agent may have none yet. Raises `ContextError`:
        (`unknown`) there is none; `StoreError`: the record failed.
        """
        live = self._here(agent)
        if live is not None and live.session:
            return ContextSubject(live.name, live.session, cast("LiveAgent", live))
        session = await self._sessions(agent)
        row = await self._row(agent)
        if session:
            return ContextSubject(agent, session) if row is None else ContextSubject(row.id, session, name=row.name)
        if row is not None or agent == self._own:
            return ContextSubject(agent, "") if row is None else ContextSubject(row.id, "", name=row.name)
        try:
            held = await self._store.sessions.find(agent)
        except StoreError as error:
            if error.kind not in ("unknown", "ambiguous"):
                raise
            what = f"There is no agent {agent[:60]!r} with a conversation here."
            raise ContextError("unknown", what, _HINT) from error
        return ContextSubject(held.agent, held.id)

    def _session_here(self, agent: str) -> str:
        live = self._here(agent)
        return live.session if live is not None else ""

    async def _row(self, agent: str) -> AgentRow | None:
        """An agent of the roster, under whose id its requests are stored."""
        try:
            return await self._store.agents.find(agent)
        except StoreError:
            return None


def make_contexts(
    bus: Bus,
    store: Store,
    table: Context,
    models: ModelPool,
    here: Callable[[str], Agent | None],
    cwd: str,
    redact: Callable[[str], str],
    own: str = "",
    begin: BeginAgent | None = None,
) -> ContextRouter:
    """The contexts of every agent, other programs' too.

    Args:
        own: the agent of a window in this folder.
        begin: see `ContextEnvironment`.
    """

    async def memory(agent: str, prompt: str) -> tuple[Passage, ...]:
        from gshtui.agents.memory.memory_mount import MemoryOwners
        from gshtui.agents.memory.memory_section import choose_notes, passages

        folder = Path(cwd)
        with suppress(StoreError):  # it is no agent of the roster, but one of this folder
            folder = Path((await store.agents.find(agent)).cwd or cwd)
        owners = MemoryOwners(store.agents.find, "", await asyncio.to_thread(project_root, folder))
        owner = await owners.owner(agent)
        notes = await store.memory.find_all(owner, await owners.project()) if table.memory_tokens else []
        return passages(owner, choose_notes(notes, prompt, table.memory_tokens))

    async def choose(provider: str, model: str) -> tuple[Provider, str]:
        handle = await models.choose(provider, model)
        return handle.provider, handle.model

    async def load(session: str) -> Sequence[Message]:
        return [stored.message for stored in await store.messages.read(session)]

    def abilities(provider: str, model: str) -> Capabilities:
        if provider == OFFLINE:
            return Capabilities(price_input=0.0, price_output=0.0, known=True)
        found = models.catalog.find(model, provider) or models.catalog.find(model)
        return found.capabilities if found is not None else Capabilities()

    def known(model: str) -> Capabilities:
        return abilities("", model)

    def transcripts() -> Transcripts:
        from gshtui.programs.transcripts.reconstruction import Transcripts  # not needed for the first screen

        return Transcripts(known)

    around = ContextEnvironment(AgentFinder(store, here, cwd, own).find, choose, abilities, load, redact, memory, begin)
    settings = ContextSettings.from_table(table)
    queries = ContextQueries(bus, store.contexts, settings, around)
    editor = ContextEditor(bus, store.contexts, settings, queries)
    return ContextRouter(queries, editor, store.agents.find, transcripts, known)

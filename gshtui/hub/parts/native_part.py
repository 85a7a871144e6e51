"""The part for a native agent: its one conversation, its permitted tools, its budget and its mail.

Needs store, guard and providers, and refuses to start without. Started by the agent's own hub (`native_run`). One
whose tools act on another machine has them before its hub starts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path

from gshtui.agents.agent import Agent, LocalRoster
from gshtui.agents.agent_factory import AgentCharacter, make_agent
from gshtui.bus.agent_data import GuardMode
from gshtui.bus.events.agent_events import AgentStatusChanged, UsageReported
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.events.hub_events import Noticed
from gshtui.calls.call_service import CallService, person_name
from gshtui.context.assembly.system_section import mode_section, system_sections
from gshtui.context.log.blocks import Passage
from gshtui.context.log.ports import Contribute, Contribution
from gshtui.context.retrieval.shell_summary import shell_summary
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.mail.call_post import CallMail
from gshtui.fleet.mail.delivery_state import no_call
from gshtui.fleet.mail.inbox import MailInbox
from gshtui.fleet.mail.outbox import Addresses, MailOutbox
from gshtui.fleet.native.permissions import is_permitted, permitted_registry, spending_limit, unknown_tools
from gshtui.fleet.native.spec import Spec, SpecError, with_mode
from gshtui.fleet.terminal_tools.commands import terminal_targets
from gshtui.hosts.host_errors import HostError
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import ACP_PARTS, NATIVE_PARTS, HubOptions
from gshtui.hub.native_agent import NativeAgent
from gshtui.hub.parts.agents_part import (
    IN_CALL,
    CallContexts,
    checkpoints_of,
    memory_of,
    open_roster,
    read_skills_section,
    surroundings,
)
from gshtui.hub.parts.hook_part import watch_hooks
from gshtui.hub.virtual_files import mount_calls
from gshtui.providers.port import ProviderError
from gshtui.settings.loader import Loaded
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.tools.remote.remote_tools import LEFT_OUT, PASSING, RemoteTools

_TASK = """\
You were started by {who} for one task, and work in a terminal of your own. Nobody watches while you work: your last \
answer is your report, and all that {who} gets. So finish the task, or say plainly how far you got and what \
remains, and put your findings into the report itself, for example “src/login.py:42 compares hashes with ==”, not \
“see above”."""


def native_options(native: NativeAgent, loaded: Loaded) -> HubOptions:
    """A native agent's options for its hub, with the settings of its folder."""
    spec = native.spec
    return HubOptions(
        cwd=Path(spec.cwd),
        loaded=loaded,
        session=spec.session,
        agent=spec.agent,
        provider=spec.request.provider,
        model=spec.request.model,
        respondent=spec.respondent,
        mode=spec.mode,
        max_iterations=spec.request.max_iterations,
        parts=ACP_PARTS if spec.request.acp else NATIVE_PARTS,
        where=f"agent {spec.name or spec.agent}",
        record=Path(spec.data),
        auto_approve=spec.auto_approve,
        paths=tuple(limit.paths for limit in spec.limits if limit.paths),
        about=spec.agent,
        native=native,
    )


async def start_native(hub: Hub) -> None:
    """Offer the agent its tools, open its conversation and start it. Raises `ProviderError`, `StoreError`."""
    native, store = hub.options.native, hub.store
    if native is None or store is None:
        raise StoreError("closed", "A native agent needs its spec and the record.")
    if native.spec.mode == "yolo" and not hub.options.looks:  # it holds for this start alone
        with contextlib.suppress(SpecError):
            await asyncio.to_thread(with_mode, Path(native.spec.data), native.spec.agent, "ask")
    hub.bus.subscribe(native.budget.note, UsageReported, ContextCut, name="budget")
    _offer_tools(hub, native.spec, store)
    skills = await read_skills_section(hub) if native.tools_there is None else ""
    roster = open_roster(hub)
    agent = _make_agent(hub, native, store, roster, skills)
    try:
        await agent.think_with(hub.options.provider, hub.options.model)
    except ProviderError as error:
        await agent.stop()
        hub.parts.fail("providers", error.message, error.hint)
        return
    if hub.options.looks:
        roster.show(agent)
        return
    await _converse(native, store, roster, agent)
    spec = native.spec
    agent.attend = CallContexts(store, roster, agent, spec.name or spec.agent, spec.cwd).attend
    native.agent = agent
    inbox = MailInbox(
        hub.bus,
        store,
        native.spec.agent,
        linked=native.linked,
        working=lambda: agent.working,
        answered=hub.make_calls().post_answer if hub.make_calls is not None else no_call,
    )
    inbox.start()
    hub.parts.stops_with("inbox", inbox.stop)


def system_texts(
    spec: Spec, cwd: Path, branch: str, skills: str, mode: GuardMode = "ask", system: str = ""
) -> tuple[str, ...]:
    """The texts in their order, the facts of the environment last. `system`: of another machine where it works."""
    character, facts = system_sections(spec.name or spec.agent, cwd, branch, date.today(), system=system)
    who = "another agent" if spec.request.parent else "a person"
    task = _TASK.format(who=who) if spec.request.background or spec.request.parent else ""
    words = spec.persona.words.strip() if spec.persona else ""
    return (character, *(part for part in (skills, words, task, mode_section(mode)) if part), facts)


def _own_mode(hub: Hub) -> Callable[[str], GuardMode]:
    """The mode of the agent of this process; without a gate, the strictest."""
    return lambda agent: hub.gate.modes.mode_of(agent) if hub.gate is not None else "plan"


def _offer_tools(hub: Hub, spec: Spec, store: Store) -> None:
    terminals = AgentTerminals(hosts=hub.offers.hosts)
    hub.parts.stops_with("terminals", terminals.close)
    outbox = MailOutbox(hub.bus, store, Addresses(store, lambda name: ""), _own_mode(hub))

    async def close_outbox() -> None:
        outbox.close()

    hub.parts.stops_with("outbox", close_outbox)
    post = CallMail(store, outbox, lambda: [spec.agent])
    calls = CallService(hub.bus, store, post, person_name(hub.settings.general.name), hub.small_model.ask)
    hub.make_calls = lambda: calls
    mount_calls(hub, store)
    targets = terminal_targets(hub.settings, terminals, store.agents.find_all, hub.environ, socket=spec.tmux_socket)
    hub.offers.things.have(outbox, calls, targets)
    hub.offers.offer("native")
    for tool in unknown_tools(hub.registry, spec.limits):
        text = f"This agent should have the tool {tool!r}, which does not exist."
        hub.bus.publish(Noticed(level="warning", text=text, about=spec.agent))


def _make_agent(hub: Hub, native: NativeAgent, store: Store, roster: LocalRoster, skills: str) -> Agent:
    limits = native.spec.limits
    around = surroundings(
        hub, permitted_registry(hub.registry, limits), roster, lambda tool: is_permitted(tool, limits)
    )
    assert hub.telemetry is not None  # it starts with the store
    watch_hooks(hub, around.hooks)
    spec = native.spec
    budgets = hub.telemetry.budgets(spec.agent, store, around.gate)
    shells: Sequence[Contribute] = (
        () if spec.request.parent else (shell_summary(store.shells, hub.settings.context, hub.sync_shells),)
    )

    async def in_call(_new: bool) -> Contribution:
        return await hub.call_section(spec.agent)

    there = native.tools_there

    def texts() -> tuple[str, ...]:
        return system_texts(spec, hub.options.cwd, hub.branch.name, skills, around.gate.modes.mode_of(spec.agent))

    def texts_there(tools: RemoteTools) -> tuple[str, ...]:
        facts, mode = tools.facts, around.gate.modes.mode_of(spec.agent)
        system = f"{facts.system} on {tools.link.name}, another machine: file tools and commands act there"
        return system_texts(spec, Path(facts.folder), facts.branch, facts.skills, mode, system)

    character = AgentCharacter(
        spec.agent,
        texts if there is None else lambda: texts_there(there),
        attended=lambda: native.linked() and spec.respondent == "person",
        more=(in_call, *memory_of(hub, spec.agent), *shells),
        max_iterations=hub.options.max_iterations,
        max_steps=spec.max_steps,
        limit=spending_limit(native.budget, budgets, lambda: hub.session_of(spec.agent), around.gate),
        instructions=None if there is None else instructions_from(there),
        checkpoints=None if there is not None else checkpoints_of(hub, spec.agent),
    )
    return make_agent(around, character)


async def _converse(native: NativeAgent, store: Store, roster: LocalRoster, agent: Agent) -> None:
    """Open the agent's conversation for writing, and add up its cost so far."""
    spec, session = native.spec, native.spec.session
    if session and (await store.sessions.find(session)).parent.startswith(IN_CALL):
        own = await store.sessions.latest_of(spec.agent, f"agent {spec.agent}")
        session = "" if own is None else own.id
    if not session:
        info = await store.sessions.create(cwd=spec.cwd, agent=spec.agent, parent=f"agent {spec.agent}")
        session = info.id
    agent.holds = lambda source: source == "person"  # what agents have sent was asked of this one alone
    if spec.request.prompt.strip():
        agent.expect_prompt()
    opened = await roster.add(agent, session, name=spec.name)
    if opened.conversation is None:
        raise StoreError(
            "held",
            f"The conversation {session} of this agent is open in {opened.info.held_by or 'another process'}.",
            hint="The agent is already running; `gsh-tui agent ls` shows where.",
        )
    messages = await agent.messages()
    native.resumed = any(message.id == spec.prompt for message in messages[:-1])
    if native.resumed:
        agent.expect_nothing()
    if agent.model_handle is not None:
        native.budget.spent_before(messages, agent.model_handle)


_FIRST, _LONGEST = 1.0, 15.0
"""Seconds between attempts to reach the machine."""


async def connect_tools(hub: Hub, native: NativeAgent) -> None:
    """Connect to the machine where the agent of this hub works, however long that takes; does nothing for others.
    Raises `HostError`: it cannot be used until a person does something.
    """
    spec = native.spec
    host, _, folder = spec.place.partition(":")
    if not host:
        return

    def tell(why: str) -> None:
        status = "tool" if tools.waiting else "starting"
        doing = why or f"{tools.waiting} on {host}"
        hub.bus.publish(AgentStatusChanged(agent=spec.agent, status=status, doing=doing))

    def note(text: str, hint: str) -> None:
        hub.bus.publish(Noticed(level="warning", text=f"On {host}: {text}", hint=hint, about=spec.agent))

    tools = RemoteTools(hub.offers.hosts.link(host), folder, spec.token, hub.options.paths, tell=tell, note=note)
    native.tools_there = tools
    hub.offers.acting = partial(tools.acting, files=hub.files)
    hub.offers.leave_out(LEFT_OUT)
    hub.parts.stops_with("tools on another machine", tools.close)
    pause = _FIRST
    while True:
        try:
            await tools.connect()
            return
        except HostError as error:
            if error.kind not in PASSING:
                raise
            tell(f"waiting for {host}: {error.message}")
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST)


def instructions_from(tools: RemoteTools) -> Contribute:
    """The files with instructions for agents that are where its tools act."""

    async def contribute(_new: bool) -> Contribution:
        facts = await tools.read_facts()
        return Contribution(
            tuple(Passage("system", one.source, one.text, path=one.path, kind="file") for one in facts.instructions)
        )

    return contribute

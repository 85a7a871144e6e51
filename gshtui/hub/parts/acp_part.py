"""The part for an agent over the Agent Client Protocol, in its own hub: its program, its conversation, its mail.

Needs store and guard, and refuses to start without. Started by the hub of `agent run` in place of a native agent.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from gshtui.agents.sessions import OpenSessions
from gshtui.context.tasks.task_list import TaskStore
from gshtui.fleet.acp.acp_agent import AcpAgent
from gshtui.fleet.acp.acp_files import AcpFiles, AcpTerminals, program_invocation
from gshtui.fleet.acp.acp_questions import AcpQuestions
from gshtui.fleet.mail.delivery_state import no_call
from gshtui.fleet.mail.inbox import MailInbox
from gshtui.fleet.native.spec import with_external
from gshtui.hub.hub import Hub
from gshtui.programs.acp.acp_connection import AcpConnection
from gshtui.store.engine.store_errors import StoreError


async def start_acp(hub: Hub) -> None:
    """Open the conversation, and leave connecting to the program to the agent's process. Raises `StoreError`."""
    native, store, gate = hub.options.native, hub.store, hub.gate
    if native is None or store is None or gate is None:
        raise StoreError("closed", "An agent needs its spec, the record and the guard.")
    spec, cwd = native.spec, Path(native.spec.cwd)
    sessions = OpenSessions(hub.bus, store, hub.options.where)
    if hub.journal is not None:
        hub.journal.sessions = sessions
    hub.parts.stops_with("sessions", sessions.close_all)
    opened = await sessions.open(spec.session or "new", agent=spec.agent, cwd=spec.cwd)
    conversation = opened.conversation
    if conversation is None:
        raise StoreError(
            "held",
            f"The conversation {spec.session} of this agent is open in {opened.info.held_by or 'another process'}.",
            hint="The agent is already running; `gsh-tui agent ls` shows where.",
        )
    invocation = program_invocation(spec.agent, conversation.session, cwd, hub.project)
    questions = AcpQuestions(hub.bus, spec.agent, gate, invocation)

    async def remember(session: str) -> None:
        await asyncio.to_thread(with_external, Path(spec.data), spec.agent, session)

    agent = AcpAgent(
        hub.bus,
        spec.agent,
        conversation,
        lambda port: AcpConnection(spec.request.acp, cwd, hub.environ, port),
        questions,
        AcpFiles(gate, spec.agent, invocation, questions.asking),
        AcpTerminals(gate, spec.agent, invocation, hub.registry, questions.asking),
        TaskStore(hub.bus, store.contexts),
        remember,
        model=spec.request.model,
        spent=sum(one.cost for one in await store.usage.sums("agent", agent=spec.agent)),
    )
    hub.parts.ceases_with(agent.cease)
    hub.parts.stops_with("agent", agent.stop)
    messages = await conversation.messages()
    native.resumed = any(message.id == spec.prompt for message in messages[:-1])

    async def connect() -> None:
        await agent.open(spec.external)
        await agent.start()

    native.agent, native.connect = agent, connect
    inbox = MailInbox(
        hub.bus,
        store,
        spec.agent,
        linked=native.linked,
        working=lambda: agent.working,
        answered=hub.make_calls().post_answer if hub.make_calls is not None else no_call,
    )
    inbox.start()
    hub.parts.stops_with("inbox", inbox.stop)

"""The part of a native agent whose tools act on another machine: it has them before its hub starts.

A machine that cannot be reached now is waited for; what a person must mend ends the start.
"""

from __future__ import annotations

import asyncio
from functools import partial

from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.hub_events import Noticed
from gshtui.context.log.blocks import Passage
from gshtui.context.log.ports import Contribute, Contribution
from gshtui.hosts.host_errors import HostError
from gshtui.hub.hub import Hub
from gshtui.hub.native_agent import NativeAgent
from gshtui.tools.remote.remote_tools import LEFT_OUT, PASSING, RemoteTools

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

"""Run by the crash tests in a process of its own: a hub that begins a turn, says how far it is, and is killed.

With `--asks` first, its questions wait for a person, who is not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged, MessageAppended, PromptSubmitted
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.session_events import SessionOpened
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.system.ids import new_id


def tell(batch: Sequence[Event]) -> None:
    for event in batch:
        match event:
            case SessionOpened():
                print("session", event.session, flush=True)
            case MessageAppended():
                print("appended", event.message.role, event.message.id, flush=True)
            case AgentStatusChanged(status="tool"):
                print("running", event.doing, flush=True)
            case ApprovalRequested():
                print("asked", event.approval, flush=True)
            case _:
                pass


async def ask(prompts: list[str]) -> None:
    cwd = Path.cwd()
    asks = prompts[:1] == ["--asks"]
    hub = build_hub(HubOptions(cwd=cwd, loaded=load(cwd), respondent="person" if asks else "policy"))
    hub.bus.subscribe(tell, name="tell")
    await hub.start()
    for prompt in prompts[asks:]:
        hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=prompt))
    await asyncio.Event().wait()


def main(prompts: list[str]) -> int:
    """Until it is killed."""
    asyncio.run(ask(prompts))
    return 0

"""The hub's side of hooks: which there are, what asks them, and the command about them."""

from __future__ import annotations

from gshtui.agents.hooks.agent_hooks import AgentHooks
from gshtui.agents.hooks.hook_set import HookSet, read_hooks
from gshtui.bus.events.hub_events import Noticed
from gshtui.hub.hub import Hub


def agent_hooks(hub: Hub) -> AgentHooks | None:
    """What agents of this hub ask before and after what they do; `None`: there are no hooks now.

    Reads files; blocks for a moment. One that is approved or written later counts from the next start on, where there
    was none before.
    """
    if hub.hooks is not None:
        return hub.hooks
    found = read_hooks(hub.settings.hooks, hub.project)
    for problem in found.problems:
        hub.bus.publish(Noticed(level="warning", text=problem, about="hooks"))
    if not found.hooks:
        return None
    if waiting := len(found.waiting):
        what = "hook" if waiting == 1 else f"{waiting} hooks"
        text = (
            f"{'A' if waiting == 1 else ''} {what} of Claude Code's settings {'does' if waiting == 1 else 'do'} not run"
        )
        hint = "`hook ls` shows what they run, `hook accept all` lets them."
        hub.bus.publish(Noticed(level="info", text=f"{text.strip()}: nobody has approved.", hint=hint, about="hooks"))

    def read() -> HookSet:
        return read_hooks(hub.settings.hooks, hub.project)

    hub.hooks = AgentHooks(hub.bus, hub.project, read, hub.offers.sandboxes)
    return hub.hooks


def watch_hooks(hub: Hub, hooks: AgentHooks | None) -> None:
    """Tell hooks what happens to the agents of this hub, until it stops."""
    if hooks is None:
        return
    from gshtui.agents.hooks.hook_watch import HookWatch

    watch = HookWatch(hub.bus, hooks, lambda name: hub.local_agent(name) is not None)
    hub.parts.stops_with("hooks", watch.stop)

"""The hub's side of hooks: which there are, what asks them, and the command about them."""

from __future__ import annotations

from gshtui.agents.hooks.agent_hooks import AgentHooks
from gshtui.agents.hooks.hook_set import HookFiles
from gshtui.agents.hooks.hook_transcript import HookTranscripts
from gshtui.bus.events.hub_events import Noticed
from gshtui.hub.hub import Hub
from gshtui.settings import paths


def agent_hooks(hub: Hub) -> AgentHooks:
    """What agents of this hub ask before and after what they do. A hook that is approved later counts at once.

    Reads files; blocks for a moment.
    """
    if hub.hooks is not None:
        return hub.hooks
    files = HookFiles(hub.settings.hooks, hub.project)
    found = files.read()
    for problem in found.problems:
        hub.bus.publish(Noticed(level="warning", text=problem, about="hooks"))
    if waiting := len(found.waiting):
        what = "hook" if waiting == 1 else f"{waiting} hooks"
        text = (
            f"{'A' if waiting == 1 else ''} {what} of Claude Code's settings {'does' if waiting == 1 else 'do'} not run"
        )
        hint = "`hook ls` shows what they run, `hook accept all` lets them."
        hub.bus.publish(Noticed(level="info", text=f"{text.strip()}: nobody has approved.", hint=hint, about="hooks"))
    transcripts = HookTranscripts(paths.state_dir(create=False) / "transcripts", hub.project, hub.newer_messages)
    hub.hooks = AgentHooks(hub.bus, hub.project, files.read, hub.offers.sandboxes, transcripts)
    return hub.hooks


def watch_hooks(hub: Hub, hooks: AgentHooks | None) -> None:
    """Tell hooks what happens to the agents of this hub, until it stops."""
    if hooks is None:
        return
    from gshtui.agents.hooks.hook_watch import HookWatch

    watch = HookWatch(hub.bus, hooks, lambda name: hub.local_agent(name) is not None)
    hub.parts.stops_with("hooks", watch.stop)

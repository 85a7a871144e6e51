"""The hub's side of hooks: which there are, and what asks them."""

from __future__ import annotations

import asyncio

from gshtui.agents.hooks.agent_hooks import AgentHooks
from gshtui.agents.hooks.hook_set import Hook, HookFiles
from gshtui.agents.hooks.hook_transcript import HookTranscripts
from gshtui.bus.events.hub_events import Noticed
from gshtui.hub.hub import Hub
from gshtui.settings import paths
from gshtui.settings.settings_tables import Hooks


def agent_hooks(hub: Hub) -> AgentHooks:
    """What agents of this hub ask before and after what they do. A hook that is approved later counts at once.

    Call it in the event loop. Reads files; blocks for a moment.
    """
    if hub.hooks is not None:
        return hub.hooks
    begins = True
    loop = asyncio.get_running_loop()

    def publish(notice: Noticed) -> None:
        """The hooks may be read in another thread."""
        loop.call_soon_threadsafe(hub.bus.publish, notice)

    def read_settings() -> Hooks | None:
        """`[hooks]` as it is now; of a configuration with mistakes, nothing is taken away and nothing added."""
        nonlocal begins
        if begins:
            begins = False
            return hub.settings.hooks
        again = hub.options.loaded.again()
        wrong = [
            one
            for one in again.problems
            if one.level == "warning" and one.origin.layer == "user" and one.key.partition(".")[0] in ("", "hooks")
        ]
        if not wrong:
            return again.settings.hooks
        publish(Noticed(level="warning", text=f"Your hooks stay as they were: {wrong[0]}", about="hooks"))
        return None

    def tell(waiting: list[Hook]) -> None:
        whose = "your configuration" if all(hook.is_own for hook in waiting) else "Claude Code"
        what, does, it = ("A hook", "does", "it") if len(waiting) == 1 else (f"{len(waiting)} hooks", "do", "them")
        text = f"{what} of {whose} {does} not run: nobody has approved {it}."
        hint = f"`hook ls` shows what {it.replace('them', 'they')} would run, `hook accept all` approves {it}."
        publish(Noticed(level="info", text=text, hint=hint, about="hooks"))

    files = HookFiles(read_settings, hub.project, hub.environ, tell)
    for problem in files.read().problems:
        publish(Noticed(level="warning", text=problem, about="hooks"))
    transcripts = HookTranscripts(paths.state_dir(create=False) / "transcripts", hub.project, hub.newer_messages)
    hub.hooks = AgentHooks(hub.bus, hub.project, hub.environ, files.read, hub.offers.sandboxes, transcripts)
    return hub.hooks


def watch_hooks(hub: Hub, hooks: AgentHooks | None) -> None:
    """Tell hooks what happens to the agents of this hub, until it stops."""
    if hooks is None:
        return
    from gshtui.agents.hooks.hook_watch import HookWatch

    watch = HookWatch(
        hub.bus,
        hooks,
        lambda name: hub.local_agent(name) is not None,
        lambda name: hub.carries(name) and not hub.connected(name),
    )
    hub.parts.stops_with("hooks", watch.stop)

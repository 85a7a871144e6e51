"""Calls the person while no window is open: in each terminal that shows an agent, and by what is configured.

The keeper has it, and calls about the agents that it looks after; windows call about theirs, so each is told once. It
has no terminal of its own: `badge` and `bell` are a message in the tmux clients that are attached to an agent's server.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Sequence

from gshtui.bus.agent_news import EVENTS, AgentNews
from gshtui.bus.event import Event
from gshtui.bus.events.fleet_events import AgentChanged
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.hub.hub import Hub
from gshtui.hub.person_notifier import PersonNotifier
from gshtui.system.processes.processes import kill_child, start_child
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.tmux.quoting import command, unexpanded
from gshtui.tmux.tmux_errors import TmuxError

_SHOWN_FOR = 8_000
"""Milliseconds."""
_WITHIN = 5.0
"""Seconds for the desktop to take a notification."""
_MAC = 'on run words\ndisplay notification (item 1 of words) with title "gsh-tui"\nend run'


class KeeperNotices:
    """Made inside a running loop. `stop` ends it."""

    def __init__(self, hub: Hub, fleet: Fleet) -> None:
        self._ways = frozenset(hub.settings.ui.notifications)
        self._notifier = PersonNotifier(hub.bus.publish, hub.settings, hub.environ)
        self._fleet = fleet
        self._news = AgentNews(lambda row: row.owner == os.getpid() and not hub.is_shown(row.home))
        for row in fleet.rows():
            self._news.call_for(AgentChanged(agent=row.id, row=row))  # what is so already, a window has told
        self._calls: set[asyncio.Task[None]] = set()
        self._subscription = hub.bus.subscribe(self._listen, *EVENTS, name="notices")

    async def stop(self) -> None:
        """Call nobody."""
        self._subscription.unsubscribe()
        await cancel_and_wait(*self._calls)
        await self._notifier.stop()

    def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if (call := self._news.call_for(event)) is not None:
                self.call(call.text, call.agent)

    def call(self, text: str, agent: str) -> None:
        """Call the person about an agent, unless they want none now. `text`: one line without controls. `agent`: its
        name.
        """
        if self._notifier.is_wanted(agent):
            self._notifier.send(text, agent)
            task = start_job(self._call(text), "a notification")
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)

    async def _call(self, text: str) -> None:
        if self._ways & {"badge", "bell"}:
            sockets = {row.socket: bool(row.host) for row in self._fleet.rows() if row.socket}
            for socket in sorted(sockets, key=lambda one: sockets[one]):  # nobody here waits for another machine
                await self._show(socket, text)
        if "desktop" in self._ways:
            await _notify_desktop(text)

    async def _show(self, socket: str, text: str) -> None:
        """Show it for a while in every terminal that is attached to this server."""
        connection = self._fleet.terminals.server(socket).connection
        try:
            (listed,) = await connection.ask(["list-clients -F '#{client_control_mode} #{client_name}'"])
            names = [name for line in listed.lines if (name := line.removeprefix("0 ")) != line]
            shown = unexpanded(f"gsh-tui: {text}")
            await connection.ask(
                [command("display-message", "-d", str(_SHOWN_FOR), "-c", name, shown) for name in names]
            )
        except TmuxError:
            return  # whoever is attached sees the server end


async def _notify_desktop(text: str) -> None:
    """Hand it to the desktop, if there is one."""
    if sys.platform == "darwin":
        words = ["osascript", "-e", _MAC, "--", text]
    else:
        words = ["notify-send", "--app-name=gsh-tui", "--", text]
    if await asyncio.to_thread(shutil.which, words[0]) is None:
        return
    process = await start_child(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        with contextlib.suppress(TimeoutError):
            async with time_limit(_WITHIN):
                await process.wait()
    finally:
        await kill_child(process)

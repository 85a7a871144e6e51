"""An agent's terminal on the whole screen: attached while the window is away, or switched to inside the same server.

Owns which of the two it is and what the person is told; refuses to start tmux itself. Called by terminal tabs.
"""

from __future__ import annotations

import os
from typing import Any

from textual.app import App, SuspendNotSupported

from gshtui.tmux import attach_client
from gshtui.tmux.server import TmuxServer
from gshtui.ui.kit.terminal_handoff import handoff


async def attach_full_screen(app: App[Any], server: TmuxServer, session: str) -> str:
    """Show a session on the whole screen; afterwards what there is to say, mostly nothing.

    Raises:
        gshtui.tmux.tmux_errors.TmuxError: it could not be shown.
    """
    client = await attach_client.client_here(server, os.environ)
    if client:
        await attach_client.switch(server, client, session)
        return f"Your tmux shows {session} now; its prefix key and L comes back here."
    try:
        with handoff(app):
            await attach_client.attach(server, session)
    except SuspendNotSupported:
        return f"This window's terminal cannot be given away. From another one: {server.attach_line(session)}"
    return ""

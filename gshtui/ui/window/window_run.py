"""Shows the window from the first frame, which is already on the terminal, to what stands there once it is closed."""

from __future__ import annotations

import gc
import sys
from functools import partial
from typing import TYPE_CHECKING

from gshtui.client.window_protocol import OpenRequest
from gshtui.text import units
from gshtui.ui.agents.agents_state import AgentsState, AgentView
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.textual.driver import WorkbenchDriver, free_alt_digits
from gshtui.ui.window import lazy_imports
from gshtui.ui.window.app import Workbench

if TYPE_CHECKING:
    from collections.abc import Callable

    from gshtui.bus.messages import Message
    from gshtui.client.hub_dial import HubDial
    from gshtui.ui.window.first_frame import FirstFrame
    from gshtui.ui.window.lazy_imports import EmbeddedHub


def run(
    opening: OpenRequest,
    *,
    edited: Message | None = None,
    first_frame: FirstFrame | None = None,
    hub: HubDial | None = None,
    own: Callable[[], EmbeddedHub] | None = None,
    is_first: bool = False,
) -> int:
    """Show the window until the person quits; returns the exit code.

    Args:
        edited: a prompt of the conversation to go back to, which is then in the input.
        hub: the connection to the resident hub, which is being made.
        own: makes the resident hub, if it is to be in this process.
        first_frame: the frame that `first_frame.paint` has put on the terminal; taken over, or abandoned on failure.
        is_first: nobody has connected a model here yet, or said that there is to be none.
    """
    gc.disable()  # the bridge turns it on again once everything is loaded
    free_alt_digits()
    WorkbenchDriver.first_frame = first_frame
    try:
        app = Workbench(opening, partial(lazy_imports.make_hub, dial=hub, own=own))
        app.edited = edited
        app.is_first = is_first
        code = app.run()
    finally:
        gc.enable()
        if first_frame is not None:
            first_frame.abandon()
    agent, goes_on = app.left
    words = farewell(agent, goes_on=goes_on) + staying(app.bench.header.state.agents)
    if words and sys.stdout.isatty():
        sys.stdout.write(words)
        sys.stdout.flush()
    if app.bridge.refused:
        sys.stderr.write(f"gsh-tui: {app.bridge.refused}\n")
    app.ended()
    return app.return_code or code or 0


def staying(state: AgentsState) -> str:
    """How many agents of this folder run without the window, and how they are, in a row; empty: none run."""
    here = [one for one in state.agents.values() if one.row.home in ("", state.home)]
    running = [one for one in here if one.terminal and not one.ended and not one.killed_until]
    if not running:
        return ""
    asks = sum(one.waits_now for one in running)
    works = sum(one.busy and not one.waits_now for one in running)
    counts = {f"{works} working": works, f"{asks} {'needs' if asks == 1 else 'need'} you": asks}
    how = ", ".join(words for words, count in counts.items() if count) or "none working"
    return f"{units.counted(len(running), 'agent')} open ({how}): `gsh-tui agent ls` to list them.\n"


def farewell(agent: AgentView | None, *, goes_on: bool = False) -> str:
    """How to come back, and what the conversation used: a row or two, each with its line break; empty if no turn was
    begun in this window. `goes_on`: its turn does without the window.
    """
    if agent is None or not agent.row.session or not (agent.row.tokens or agent.turn):
        return ""
    row = agent.row
    back = f"To continue this conversation: gsh-tui --resume {row.session}\n"
    if goes_on:
        return f"Its turn goes on: `gsh-tui` in this folder shows it again.\n{back}"
    if row.provider == "offline" or not row.tokens:
        return back
    cost = figures.money(agent.known_cost, known=agent.cost_known)
    price = f" for {cost}" if agent.known_cost else ""
    return f"{back}It has used {figures.tokens(row.tokens)} tokens{price}.\n"

"""What the terminal shows once the window is closed: how to come back, and what the conversation used. Pure."""

from __future__ import annotations

from gshtui.ui.agents.agents_state import AgentView
from gshtui.ui.kit.drawing import figures


def farewell(agent: AgentView | None, *, goes_on: bool = False) -> str:
    """One row or two, each with its line break; empty if no turn was begun in this window. `goes_on`: its turn does
    without the window.
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
    price = f" for {cost}" if agent.known_cost or not agent.cost_known else ""
    return f"{back}It has used {figures.tokens(row.tokens)} tokens{price}.\n"

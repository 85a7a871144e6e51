"""What can be done with an agent from the sidebar: the actions, their keys, and which of them mean something now.

Pure. Called by the agents pane for its keys, and for the menu.
"""

from __future__ import annotations

from gshtui.ui.agents.agents_state import AgentView

ACTIONS: tuple[str, ...] = (
    "open", "attach", "report", "message", "context", "interrupt", "changes", "rename", "copy", "restart", "recover",
    "kill", "undo", "remove",
)  # fmt: skip
"""In the order of the menu; each is the row `agents.<action>` of the key table."""


def applicable(agent: AgentView) -> list[str]:
    """The actions that mean something for the agent as it is."""
    fits = _fitting(agent)
    return [action for action in ACTIONS if action in fits]


def _fitting(agent: AgentView) -> set[str]:
    if not agent.terminal:
        return {"open", "message", "context", *(("interrupt",) if agent.busy else ())}
    fits = {"open", "report", "rename", "context"}
    if agent.worktree:
        fits.add("changes")
    if agent.pane:
        fits |= {"attach", "copy"}
    if agent.killed_until:
        return fits | {"undo"}
    if agent.status == "lost":
        return fits | {"recover", "restart", "remove"}
    if agent.ended:
        return fits | {"restart", "remove"}
    return fits | {"message", "interrupt", "restart", "kill"}

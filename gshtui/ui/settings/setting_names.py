"""The settings as a person reads them: their groups, and a label for each. Pure; the raw names stay what is written."""

from __future__ import annotations

from gshtui.ui.kit.keys.key_table import KEYS

MOST_USED = "Most used"
_FIRST: dict[str, str] = {
    "agent.mode": "Starting mode",
    "ui.theme": "Theme",
    "ui.notifications": "Notifications",
    "ui.keys": "Editing keys",
    "ui.result_lines": "Result lines",
    "budget.day_dollars": "Daily budget ($)",
    "context.compact_threshold": "Compact the context at",
    "sandbox.allow_network": "Network in the sandbox",
    "hub.closing": "When the window closes",
}
"""The settings that most people change, in this order, each with its label."""
_LABELS: dict[str, str] = {
    "general.name": "Your name",
    "sandbox.enabled": "Use the sandbox",
    "sandbox.hosts": "Reachable hosts",
    "sandbox.environment": "Passed variables",
    "sandbox.visible": "Readable secrets",
    "worktrees.setup": "Set-up command",
    "worktrees.teardown": "Tear-down command",
    "python.enabled": "Use Python",
    "python.blocks": "Python in answers",
    "code.enabled": "Use language servers",
    "context.history": "Long history",
    "shell.ignore": "Ignored commands",
    "ui.first_questions": "First-start card",
    "ui.outside": "State shown outside",
    "notify.command": "Command to run",
    "notify.webhook": "Webhook address",
    "notify.apprise": "Phones and chats",
    "notify.quiet": "Quiet hours",
    "notify.muted": "Muted agents",
    "hub.keep": "Run the hub",
    "hub.memory": "Memory limit (MB)",
    "sessions.enabled": "Keep conversations",
    "store.synchronous": "Durability",
}
"""Those whose name says too little."""
_GROUPS: dict[str, str] = {
    "providers": "Model providers",
    "accounts": "Accounts",
    "agent": "Agents",
    "agents": "Agents in calls",
    "groups": "Groups of agents",
    "programs": "Other programs",
    "budget": "Budgets",
    "context": "Context",
    "ui": "Window",
    "notify": "Notifications",
    "sandbox": "Sandbox",
    "shell": "Shell log",
    "tmux": "Terminals",
    "worktrees": "Worktrees",
    "python": "Python",
    "code": "Language servers",
    "language_servers": "Language servers",
    "mcp": "MCP servers",
    "hooks": "Hooks",
    "shared": "Shared folders",
    "hosts": "Other machines",
    "ssh": "SSH access",
    "hub": "Background",
    "sessions": "Conversations",
    "store": "Record",
    "features": "Features",
    "general": "Files",
    "persona": "Personas",
    "new": "Personas",
    "profile": "Profiles",
    "keybindings": "Keys",
}
"""Titles of the configuration's tables, in the order in which they are listed."""
ORDER: tuple[str, ...] = (MOST_USED, *dict.fromkeys(_GROUPS.values()), "Other")
_UNITS = {"seconds": "(s)", "minutes": "(min)", "mb": "(MB)", "dollars": "($)", "bytes": "(bytes)"}
_WORDS = {
    "api": "API",
    "url": "URL",
    "env": "variable",
    "dir": "folder",
    "mcp": "MCP",
    "fps": "frames a second",
    "venv": "virtual environment",
    "max": "maximum",
}


def group_of(id: str) -> str:
    """The title of the group that a row is listed in."""
    if id in _FIRST:
        return MOST_USED
    return _GROUPS.get(id.partition(".")[0].partition(" ")[0], "Other")


def rank(id: str) -> int:
    """The place of a row among those of its group."""
    return list(_FIRST).index(id) + 1 if id in _FIRST else len(_FIRST) + 1


def label_of(id: str) -> str:
    """What a row is called, in words."""
    if named := _FIRST.get(id) or _LABELS.get(id):
        return named
    table, _, rest = id.partition(".")
    if not rest:
        return id
    if table == "keybindings" and rest in KEYS:
        return KEYS[rest].name
    *owners, name = rest.split(".")
    parts = name.split("_")
    unit = _UNITS.get(parts[-1], "") if len(parts) > 1 else ""
    words = [_WORDS.get(part, part) for part in (parts[:-1] if unit else parts)]
    label = " ".join([*words, unit]).strip()
    label = label if owners else label[:1].upper() + label[1:]
    return " · ".join([*owners, label])

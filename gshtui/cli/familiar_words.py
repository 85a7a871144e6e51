"""The words and options of other programs' command lines: those that are taken here, and those that name ours.

Imports nothing: the start of every call reads it.
"""

from __future__ import annotations

_TAKEN = {"upgrade": ["update"], "agents": ["agent"], "sessions": ["session"]}
_BARE = {"agents": ["agent", "ls"], "sessions": ["session", "ls"]}
_PRINT = ("-p", "--print")
_WITH_VALUE = ("--model", "-m", "--provider", "--agent", "--mode", "--resume", "-r", "--output-format", "--session")

MEANT = {
    "chat": "",
    "tui": "",
    "start": "",
    "ask": "prompt",
    "query": "prompt",
    "e": "exec",
    "list": "agent ls",
    "ps": "agent ls",
    "ls": "agent ls",
    "task": "prompt",
    "auth": "login",
    "signin": "login",
    "apikey": "login",
    "providers": "models",
    "model": "models",
    "stats": "usage",
    "cost": "usage",
    "history": "session ls",
    "conversations": "session ls",
    "threads": "session ls",
    "export": "session export",
    "import": "mcp import",
    "settings": "config",
    "set": "config set",
    "get": "config get",
    "permissions": "guard rules",
    "rules": "guard rules",
    "hooks": "hook ls",
    "plugin": "plugins",
    "workflows": "workflow ls",
    "skills": "run skills",
    "init": "prompt /init",
    "review": "prompt /review",
    "web": "serve --web",
    "server": "serve",
    "commands": "prompts ls",
    "install": "shell install",
    "setup": "doctor",
    "status": "agent ls",
    "undo": "rewind",
    "apply": "worktree finish",
    "hosts": "host ls",
    "new": "--new",
    "continue": "--continue",
    "memory": "run memory",
    "theme": "config set ui.theme",
    "themes": "config set ui.theme",
    "bug": "report",
    "feedback": "report",
    "personas": "run personas",
    "subagents": "run personas",
    "trust": "config trust",
    "tokens": "usage",
    "clear": "--new",
    "commit": "workflow run create-git-commit",
}
"""What a first word is called here; empty: nothing, since it is the window."""
OPTIONS = {
    "--dangerously-skip-permissions": "--mode yolo",
    "--dangerously-bypass-approvals-and-sandbox": "--mode yolo",
    "--yolo": "--mode yolo",
    "--full-auto": "--mode auto",
    "--permission-mode": "--mode",
    "--approval-mode": "--mode",
    "--ask-for-approval": "--mode",
    "--sandbox": "--mode auto",
    "--allowedTools": "--mode, or a rule in `guard rules`",
    "--allowed-tools": "--mode, or a rule in `guard rules`",
    "--mcp-config": "`mcp import`",
    "--max-budget-usd": "--set context.max_iterations=N",
    "--config": "--set KEY=VALUE",
    "--fork-session": "`fork`",
    "--command": "`--prompt NAME`, for one that you keep",
    "--format": "--output-format",
    "--append-system-prompt": "a persona, `--agent NAME`, or AGENTS.md",
    "--system-prompt": "a persona, `--agent NAME`",
    "--add-dir": "a path in the prompt; what lies outside the folder is asked about",
    "--input-format": "standard input, a prompt each time, with `--session ID`",
    "--cd": "`cd FOLDER` first",
    "-C": "`cd FOLDER` first",
    "-s": "--mode",
    "-a": "--mode",
    "--output-last-message": "`> FILE`: the answer alone goes to standard output",
    "-o": "`> FILE`: the answer alone goes to standard output",
    "--disallowedTools": "a rule in `guard rules`",
    "--disallowed-tools": "a rule in `guard rules`",
    "--settings": "--set KEY=VALUE",
    "-i": "@FILE in the prompt",
    "--file": "@FILE in the prompt",
    "--image": "@FILE in the prompt",
}
"""What an option is called here."""


def our_words(arguments: list[str]) -> list[str]:
    """The arguments with another program's first words as ours; `-p` anywhere before a command is `prompt`."""
    if not arguments:
        return arguments
    first, rest = arguments[0], arguments[1:]
    if first == "resume":
        ids = [word for word in rest if word not in ("--last", "latest")]
        return ["session", "resume", *(ids or ["latest"])]
    if not rest and first in _BARE:
        return _BARE[first]
    if first == "exec":
        # Those who write so read Codex's lines. Any folder is good here.
        lines = ["--output-format=codex" if word in ("--json", "--experimental-json") else word for word in rest]
        return ["prompt", *_resumed([word for word in lines if word != "--skip-git-repo-check"])]
    if first in _TAKEN:
        return [*_TAKEN[first], *rest]
    return _printed(arguments)


_NO_WINDOW = frozenset({"-h", "--help", "-V", "--version", "--json", "--screen-reader"})


def opens_window(arguments: list[str]) -> bool:
    """Whether nothing but a window is asked for: there is no command, and no option that prints."""
    return _first_word(arguments) == len(arguments) and _NO_WINDOW.isdisjoint(arguments)


def _resumed(words: list[str]) -> list[str]:
    """`exec resume --last TEXT` and `exec resume ID TEXT` go on in a conversation."""
    at = _first_word(words)
    if at == len(words) or words[at] != "resume":
        return words
    before, after = words[:at], words[at + 1 :]
    if "--last" in after:
        return [*before, "--session", "latest", *(word for word in after if word != "--last")]
    id = _first_word(after)
    if after[id:][:1] in ([], ["--"]):
        return words
    return [*before, *after[:id], "--session", *after[id:]]


def _first_word(words: list[str]) -> int:
    """Where the options with their values end."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        at += 2 if words[at] in _WITH_VALUE else 1
    return min(at, len(words))


def _printed(arguments: list[str]) -> list[str]:
    """`-p` among the first options is `prompt`, which takes them."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "--":
        if arguments[at] in _PRINT:
            return ["prompt", *arguments[:at], *arguments[at + 1 :]]
        at += 2 if arguments[at] in _WITH_VALUE else 1
    return arguments

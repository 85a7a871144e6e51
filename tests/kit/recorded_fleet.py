"""Agents in terminals as a fleet once told of them: what tests of the sidebar and its dialogs are made from.

Plain data with a pinned clock.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gshtui.agents.personas import Persona, Personas
from gshtui.bus.agent_data import AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.fleet_events import AgentChanged, AgentKilled, MessageQueued
from gshtui.programs.commands import ListedProfile, ProfileList
from gshtui.programs.profile import Profile
from tests.kit.recorded import NOW

HOME = "/src/aurora"


def row(id: str, name: str, **fields: Any) -> AgentRow:
    """An agent of this folder that works, unless said otherwise."""
    given: dict[str, Any] = {
        "status": "thinking", "status_source": "event", "status_at": NOW - 4, "home": HOME, "cwd": HOME,
        "socket": "gsh", "tmux_session": f"gsh-agent-{id}", "pane": f"%{int(id)}", "pid": 4_000 + int(id),
        "created": NOW - 600, "model": "claude-sonnet-4-5", "window": 200_000, "context": 42_000, "tokens": 90_000,
        "cost": 0.12,
    }  # fmt: skip
    return AgentRow(id=id, name=name, **(given | fields))


def changed(*rows: AgentRow) -> tuple[Event, ...]:
    """What the fleet says of them."""
    return tuple(AgentChanged(agent=one.id, row=one, at=NOW) for one in rows)


SEARCH = row("0001", "look-around", persona="explore", parent="main", background=True, doing="grep parse_empty")
CLAUDE = row(
    "0002", "claude", kind="cli", profile="claude", status="waiting", status_source="hook", status_at=NOW - 40,
    needs_you=True, doing="May it edit src/lexer.py?", tokens=0, context=0, window=0, cost=None, model="",
    worktree="/src/aurora-lexer", cwd="/src/aurora-lexer",
)  # fmt: skip
TESTS = row("0003", "test-runner", persona="test", parent="0001", status="tool", doing="pytest -q", context=181_000)
DONE = row(
    "0004", "docs", persona="build", status="done", status_source="process", status_at=NOW - 5_400, ended=NOW - 5_400,
    exit_status=0, unread=1, report="The README names every key.",
)  # fmt: skip
LOST = row("0005", "old-build", status="lost", status_source="reconcile", status_at=NOW - 90_000, ended=NOW - 90_000)
FAILED = row("0006", "deploy", status="failed", status_at=NOW - 7_200, ended=NOW - 7_200, exit_status=1)
SHELL = row(
    "0007", "bash", kind="cli", argv=("/bin/bash",), status="idle", status_source="screen", status_at=NOW - 300,
    tokens=0, context=0, window=0, cost=None, model="",
)  # fmt: skip
ELSEWHERE = row("0008", "other", home="/src/other", cwd="/src/other")
KILLED = msgspec.structs.replace(SHELL, killed=True, killed_at=NOW - 18)

FEW: tuple[Event, ...] = changed(SEARCH, CLAUDE)
MANY: tuple[Event, ...] = (
    *changed(SEARCH, CLAUDE, TESTS, DONE, LOST, FAILED, SHELL, ELSEWHERE, KILLED),
    AgentKilled(agent="0007", until=NOW + 42),
    MessageQueued(message="m1", agent="0003", text="and the slow ones"),
)

DIFF: dict[str, Any] = {
    "path": "/src/aurora-lexer",
    "branch": "lexer",
    "base": "main",
    "commit": "0" * 40,
    "added": 9,
    "removed": 3,
    "cut": False,
    "files": [
        {
            "path": "src/lexer.py", "before": "", "status": "changed", "added": 4, "removed": 2, "binary": False,
            "text": "@@ -3,7 +3,8 @@ class Lexer:\n     def tokens(self, line: str) -> list[str]:\n"
            "-        words = line.split(' ')\n-        return words\n"
            "+        words = line.split()\n+        if not words:\n+            return []\n+        return words\n"
            " \n     def peek(self) -> str:\n"
            "@@ -40,3 +41,3 @@ def main() -> None:\n     lexer = Lexer()\n"
            "     for line in sys.stdin:\n         print(lexer.tokens(line))",
        },
        {
            "path": "tests/test_lexer.py", "before": "", "status": "added", "added": 5, "removed": 0, "binary": False,
            "text": "@@ -0,0 +1,5 @@\n+from src.lexer import Lexer\n+\n+\n+def test_an_empty_line() -> None:\n"
            "+    assert Lexer().tokens('') == [], 'an empty line has no token, and neither has one that is made of "
            "blanks alone, however many of them there are'",
        },
        {"path": "docs/logo.png", "before": "", "status": "added", "binary": True, "text": ""},
        {
            "path": "docs/lexer.md", "before": "docs/tokens.md", "status": "renamed", "added": 0, "removed": 1,
            "binary": False, "text": "@@ -9,2 +9,1 @@\n Tokens are words.\n-Empty lines are an error.",
        },
    ],
}  # fmt: skip
"""Data of `git_worktree action=diff`."""
PERSONAS = Personas(
    {
        "explore": Persona("explore", "Looks around and answers a question; changes nothing", read_only=True),
        "test": Persona("test", "Runs tests and checks, and says what fails and why; changes no file"),
        "build": Persona("build", "Makes a change with all that belongs to it, and sees it work"),
    }
)
PROFILES = ProfileList(
    [
        ListedProfile(Profile(name="claude", title="Claude Code", programs=("claude",)), "absent", ""),
        ListedProfile(Profile(name="codex", title="Codex", programs=("codex",)), "absent", ""),
        ListedProfile(Profile(name="repl", title="Any program"), "impossible", ""),
    ],
    [],
)

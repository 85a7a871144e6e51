"""Agents in terminals as a fleet once told of them: what tests of the sidebar and its dialogs are made from.

Plain data with a pinned clock.
"""

from typing import Any

import msgspec

from gshtui.agents.personas import Persona, Personas
from gshtui.bus.agent_data import AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.fleet_events import AgentChanged, AgentKilled, MessageQueued
from gshtui.programs.commands import ListedProfile, ProfileList
from gshtui.programs.profiles.profile import Profile
from gshtui.text.unified_diff import FilePatch
from gshtui.tools.git.worktree import Worktree
from gshtui.tools.git.worktree_changes import WorktreeChanges
from tests.kit.recorded import NOW

HOME = "/src/aurora"


def row(id: str, name: str, **fields: Any) -> AgentRow:
    """An agent of this folder that works, unless said otherwise."""
    given: dict[str, Any] = {
        "status": "thinking",
        "status_source": "event",
        "status_at": NOW - 4,
        "home": HOME,
        "cwd": HOME,
        "socket": "gsh",
        "tmux_session": f"gsh-agent-{id}",
        "pane": f"%{int(id)}",
        "pid": 4_000 + int(id),
        "created": NOW - 600,
        "model": "claude-sonnet-4-5",
        "window": 200_000,
        "context": 42_000,
        "tokens": 90_000,
        "cost": 0.12,
    }
    return AgentRow(id=id, name=name, **(given | fields))


def changed(*rows: AgentRow) -> tuple[Event, ...]:
    """What the fleet says of them."""
    return tuple(AgentChanged(agent=one.id, row=one, at=NOW) for one in rows)


SEARCH = row("0001", "look-around", persona="explore", parent="main", background=True, doing="grep parse_empty")
CLAUDE = row(
    "0002",
    "claude",
    kind="cli",
    profile="claude",
    status="waiting",
    status_source="hook",
    status_at=NOW - 40,
    needs_you=True,
    doing="May it edit src/lexer.py?",
    tokens=0,
    context=0,
    window=0,
    cost=None,
    model="",
    worktree="/src/aurora-lexer",
    cwd="/src/aurora-lexer",
)
TESTS = row("0003", "test-runner", persona="test", parent="0001", status="tool", doing="pytest -q", context=181_000)
DONE = row(
    "0004",
    "docs",
    persona="build",
    status="done",
    status_source="process",
    status_at=NOW - 5_400,
    ended=NOW - 5_400,
    exit_status=0,
    unread=1,
    report="The README names every key.",
)
LOST = row("0005", "old-build", status="lost", status_source="reconcile", status_at=NOW - 90_000, ended=NOW - 90_000)
FAILED = row("0006", "deploy", status="failed", status_at=NOW - 7_200, ended=NOW - 7_200, exit_status=1)
SHELL = row(
    "0007",
    "bash",
    kind="cli",
    argv=("/bin/bash",),
    status="idle",
    status_source="screen",
    status_at=NOW - 300,
    tokens=0,
    context=0,
    window=0,
    cost=None,
    model="",
)
ELSEWHERE = row("0008", "other", home="/src/other", cwd="/src/other")
KILLED = msgspec.structs.replace(SHELL, killed=True, killed_at=NOW - 18)

FEW: tuple[Event, ...] = changed(SEARCH, CLAUDE)
MANY: tuple[Event, ...] = (
    *changed(SEARCH, CLAUDE, TESTS, DONE, LOST, FAILED, SHELL, ELSEWHERE, KILLED),
    AgentKilled(agent="0007", until=NOW + 42),
    MessageQueued(message="m1", agent="0003", text="and the slow ones"),
)

DIFF = WorktreeChanges(
    Worktree("/src/aurora-lexer", "lexer"),
    "main",
    "0" * 40,
    (
        FilePatch(
            "src/lexer.py",
            "",
            "changed",
            4,
            2,
            False,
            [
                "@@ -3,7 +3,8 @@ class Lexer:",
                "     def tokens(self, line: str) -> list[str]:",
                "-        words = line.split(' ')",
                "-        return words",
                "+        words = line.split()",
                "+        if not words:",
                "+            return []",
                "+        return words",
                " ",
                "     def peek(self) -> str:",
                "@@ -40,3 +41,3 @@ def main() -> None:",
                "     lexer = Lexer()",
                "     for line in sys.stdin:",
                "         print(lexer.tokens(line))",
            ],
        ),
        FilePatch(
            "tests/test_lexer.py",
            "",
            "added",
            5,
            0,
            False,
            [
                "@@ -0,0 +1,5 @@",
                "+from src.lexer import Lexer",
                "+",
                "+",
                "+def test_an_empty_line() -> None:",
                "+    assert Lexer().tokens('') == [], 'an empty line has no token, and neither has one tha"
                "t is made of blanks alone, however many of them there are'",
            ],
        ),
        FilePatch("docs/logo.png", "", "added", 0, 0, True, []),
        FilePatch(
            "docs/lexer.md",
            "docs/tokens.md",
            "renamed",
            0,
            1,
            False,
            [
                "@@ -9,2 +9,1 @@",
                " Tokens are words.",
                "-Empty lines are an error.",
            ],
        ),
    ),
)
"""The changes of a worktree."""
PERSONAS = Personas(
    {
        "explore": Persona("explore", "Looks around and answers a question; changes nothing", read_only=True),
        "test": Persona("test", "Runs tests and checks; says what fails and why; changes no file"),
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

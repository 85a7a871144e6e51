"""Events as a hub once published them: the states that snapshots and pane tests are made from.

Plain data with a pinned clock; `play` hands them to a window as the bridge does.
"""

from typing import Any

from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    ContextAssembled,
    MessageAppended,
    ModelChanged,
    SectionSize,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from gshtui.bus.events.approval_events import AgentModeChanged, ApprovalRequested
from gshtui.bus.events.hub_events import HubStarted
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.events.shell_events import (
    InputCommandFinished,
    InputCommandPrinted,
    InputCommandStarted,
    ShellRecorded,
)
from gshtui.bus.messages import Message, Text, ToolCall, ToolResult, Usage
from gshtui.bus.shell_data import ShellRecord

NOW = 1_800_000_000.0
S = "0sessi0n000001"
ANSWER = """\
The failing test is `test_parse_empty`: `parse` indexes the first token without asking whether there is one.

| input | before | now |
| --- | --- | --- |
| `""` | `IndexError` | `[]` |
| `"a b"` | `["a", "b"]` | `["a", "b"]` |

```python
def parse(line: str) -> list[str]:
    tokens = line.split()
    return tokens or []
```

Two things are worth knowing:

- the lexer was never at fault,
- **no caller** relied on the exception.
"""
DIFF = """\
--- a/src/parse.py
+++ b/src/parse.py
@@ -1,4 +1,4 @@
 def parse(line: str) -> list[str]:
     tokens = line.split()
-    return [tokens[0], *tokens[1:]]
+    return tokens or []
"""

STARTED: tuple[Event, ...] = (
    HubStarted(cwd="/src/aurora", project="/src/aurora", branch="main", at=NOW - 300),
    AgentAdded(agent="main", name="main", cwd="/src/aurora", at=NOW - 300),
    SessionOpened(session=S, agent="main", cwd="/src/aurora", at=NOW - 300),
    ModelChanged(
        agent="main", provider="anthropic", model="claude-sonnet-4-5", window=200_000, label="Claude Sonnet 4.5", at=NOW
    ),
    AgentStatusChanged(agent="main", status="idle", at=NOW - 299),
)

TODAY: tuple[Event, ...] = (
    ModelChanged(
        agent="main", provider="anthropic", model="claude-sonnet-5-5", window=200_000, label="Claude Sonnet 5.5", at=NOW
    ),
    AgentModeChanged(agent="main", mode="ask", at=NOW),
)
"""What a window begins with now, for the pictures of the README."""


def _sections(history: int) -> tuple[SectionSize, ...]:
    sizes = {"system": 1_240, "memory": 380, "tools": 4_910, "history": history, "input": 46}
    return tuple(SectionSize(name, tokens) for name, tokens in sizes.items())


def _request(iteration: int, history: int, output: int, at: float) -> tuple[Event, ...]:
    tokens = 6_576 + history
    ids = {"agent": "main", "session": S, "turn": "turn1", "iteration": iteration}
    return (
        ContextAssembled(**ids, sections=_sections(history), tokens=tokens, window=200_000, at=at),
        UsageReported(
            **ids,
            provider="anthropic",
            model="claude-sonnet-4-5",
            usage=Usage(input=history // 3 + 50, output=output, cache_read=6_150, cache_write=history),
            cost=0.0123 * iteration,
            at=at + 2,
        ),
    )


RUNS = ShellRecord(
    id=int((NOW - 44) * 1e6),
    shell=f"agent {S}",
    number=3,
    command="make test",
    cwd="/src/aurora",
    at=NOW - 44,
    agent="main",
    source="agent",
)
"""The command that the agent runs, as the shell log has it."""
PROMPT = "The parser fails on an empty line. Find out why, fix it, and run the tests."
TURN: tuple[Event, ...] = (
    TurnStarted(agent="main", session=S, turn="turn1", prompt="p1", text=PROMPT, at=NOW - 60),
    MessageAppended(
        agent="main",
        session=S,
        message=Message(id="p1", role="user", blocks=(Text(PROMPT),), at=NOW - 60, turn="turn1"),
    ),
    AgentStatusChanged(agent="main", status="thinking", at=NOW - 60),
    *_request(1, 0, 210, NOW - 60),
    ToolStarted(agent="main", session=S, message="m1", call="c1", tool="read", subject="src/parse.py", at=NOW - 56),
    ToolFinished(
        agent="main", session=S, call="c1", tool="read", status="ok", content="def parse…", duration=0.02, at=NOW - 56
    ),
    MessageAppended(
        agent="main",
        session=S,
        message=Message(
            id="m1",
            role="assistant",
            blocks=(Text("I read the parser first."), ToolCall("c1", "read", {"path": "src/parse.py"})),
            turn="turn1",
            agent="main",
        ),
    ),
    MessageAppended(
        agent="main",
        session=S,
        message=Message(
            id="r1", role="tool", blocks=(ToolResult("c1", "read", "def parse…", duration=0.02),), turn="turn1"
        ),
    ),
    *_request(2, 1_890, 340, NOW - 50),
    ToolStarted(agent="main", session=S, message="m2", call="c2", tool="edit", subject="src/parse.py", at=NOW - 46),
    ToolFinished(
        agent="main",
        session=S,
        call="c2",
        tool="edit",
        status="ok",
        content="edited",
        duration=0.4,
        diff=DIFF,
        at=NOW - 45,
    ),
    ToolStarted(agent="main", session=S, message="m2", call="c3", tool="bash", subject="make test", at=NOW - 44),
    ShellRecorded(record=RUNS),
)
"""A turn up to a running command."""

ASKED: tuple[Event, ...] = (
    AgentStatusChanged(agent="main", status="waiting", doing="make test", at=NOW - 12),
    ApprovalRequested(
        approval="a1",
        agent="main",
        session=S,
        call="c3",
        tool="bash",
        effect="execute",
        subject="make test",
        detail="make test",
        pattern="make test",
        at=NOW - 12,
    ),
)

ANSWERED: tuple[Event, ...] = (
    ToolFinished(
        agent="main", session=S, call="c3", tool="bash", status="ok", content="214 passed", duration=6.4, at=NOW - 20
    ),
    ShellRecorded(record=replace(RUNS, state="done", exit=0, duration=6.4)),
    *_request(3, 3_420, 410, NOW - 18),
    TextDelta(agent="main", session=S, message="m3", text=ANSWER, at=NOW - 10),
    MessageAppended(
        agent="main",
        session=S,
        message=Message(id="m3", role="assistant", blocks=(Text(ANSWER),), turn="turn1", agent="main", stop="end"),
    ),
    TurnFinished(agent="main", session=S, turn="turn1", stop="end", text=ANSWER, duration=52.0, at=NOW - 8),
    AgentStatusChanged(agent="main", status="idle", at=NOW - 8),
)

_BY_HAND: dict[str, Any] = {"agent": "main", "session": S}
_TESTED = """\
tests/test_lexer.py ........................................ [ 62%]
tests/test_parse.py ...............\x1b[31mF\x1b[0m..                      [ 91%]
tests/test_print.py .....                                    [100%]

=================================== FAILURES ===================================
______________________________ test_parse_empty ________________________________
    def test_parse_empty() -> None:
>       assert parse("") == []
E       IndexError: list index out of range

src/parse.py:3: IndexError
=========================== short test summary info ============================
\x1b[31mFAILED\x1b[0m tests/test_parse.py::test_parse_empty - IndexError: list index out of range
\x1b[31m1 failed\x1b[0m, 63 passed in 1.92s
"""
COMMANDS: tuple[Event, ...] = (
    InputCommandStarted(run="1", command="git status --short", at=NOW - 30, **_BY_HAND),
    InputCommandFinished(run="1", status="ok", text=" M src/parse.py\n?? notes.md", exit=0, duration=0.02, **_BY_HAND),
    InputCommandStarted(run="2", command="pytest -q tests", at=NOW - 20, **_BY_HAND),
    InputCommandFinished(run="2", status="error", text=_TESTED.rstrip(), exit=1, duration=2.4, bytes=1_112, **_BY_HAND),
    InputCommandStarted(run="3", command="npm run build", at=NOW - 4, **_BY_HAND),
    InputCommandPrinted(run="3", text="vite v7.1.2 building …\n✓ 214 modules transformed.\n", **_BY_HAND),
)
"""What the person ran in the input line, the last of it still running."""

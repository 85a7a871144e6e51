"""The `offline` provider: not a model, as it says itself, but it makes real tool calls in the same loop.

A small fixed grammar becomes tool calls; answers are extracted from their results. It runs when there is no key, and in
the tests. It never pretends to be intelligent: it says when it does not understand.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from gshtui.bus.messages import Block, Message, Text, ToolCall, ToolResult, Usage
from gshtui.commands.tool_search import FIND_TOOL
from gshtui.providers.port import CallPart, Capabilities, Completed, Delta, Request, TextPart, estimate
from gshtui.text.linear_regex import RegexMatch, compile_linear

MODEL = "offline"
LABEL = "offline (no model)"

GRAMMAR = """\
| Command | What it does |
| --- | --- |
| `run <command>` or `$ <command>` | runs it in bash |
| `read <file> [from-to]` | reads a file, or lines of it |
| `find <text> [in <path>]` | searches the project's files |
| `list the files` or `files <pattern>` | lists files, e.g. `files **/*.py` |
| `write <file>: <text>` | writes a file |
| `edit <file>: <old> => <new>` | replaces text in a file |
| `python <code>` | runs it in a Python that keeps its variables |
| `worktree list` | lists git worktrees |
| `spawn <prompt>` | spawns a sub-agent, where available |
| `what failed?` | lists the commands and calls that failed here |
| `what failed in <text>?` | searches your shells' history for commands that failed |
| `what did I run?` or `what did I run in <folder>?` | searches your shells' history |
| `what did we say about <text>?` | searches earlier conversations |

Each line is a call of its own; give several lines for several calls at once."""

_UNKNOWN = """\
**No model is connected**; plain requests work (`what can you do?` lists them):
`run make test` · `read README.md 1-20` · `find TODO` · `what failed?`

To connect one: /setup in the window, or `export ANTHROPIC_API_KEY=…` before the start."""
_ABILITIES = f"""\
I am the `offline` provider: not a model, but a small fixed grammar in front of the real tools.

{GRAMMAR}

To talk to a model, set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY`, or start Ollama; then `/model`."""

_EXCERPT_LINES = 30


def _bash(match: RegexMatch) -> dict[str, Any]:
    return {"command": match["rest"].strip()}


def _python(match: RegexMatch) -> dict[str, Any]:
    return {"code": match["rest"].strip()}


def _read(match: RegexMatch) -> dict[str, Any]:
    arguments: dict[str, Any] = {"path": _unquoted(match["path"])}
    if match["first"]:
        arguments |= {"start_line": int(match["first"]), "end_line": int(match["last"] or match["first"])}
    return arguments


def _grep(match: RegexMatch) -> dict[str, Any]:
    arguments: dict[str, Any] = {"pattern": re.escape(_unquoted(match["text"]))}
    return arguments | {"path": _unquoted(match["path"])} if match["path"] else arguments


def _glob(match: RegexMatch) -> dict[str, Any]:
    return {"pattern": _unquoted(match["rest"])}


def _all_files(match: RegexMatch) -> dict[str, Any]:
    return {"pattern": "**/*"}


def _write(match: RegexMatch) -> dict[str, Any]:
    return {"path": _unquoted(match["path"]), "content": match["text"].replace("\\n", "\n") + "\n"}


def _edit(match: RegexMatch) -> dict[str, Any]:
    return {"path": _unquoted(match["path"]), "old_text": match["old"], "new_text": match["new"]}


def _worktree(match: RegexMatch) -> dict[str, Any]:
    return {"action": match["action"].lower()}


def _spawn(match: RegexMatch) -> dict[str, Any]:
    return {"prompt": match["rest"].strip()}


def _failed(match: RegexMatch) -> dict[str, Any]:
    return {"source": "shell_history", "query": _unquoted(match["text"]), "exit_code": -1}


def _ran(match: RegexMatch) -> dict[str, Any]:
    folder = {"cwd": _unquoted(match["folder"])} if match["folder"] else {}
    return {"source": "shell_history", **folder}


def _said(match: RegexMatch) -> dict[str, Any]:
    return {"source": "sessions", "query": _unquoted(match["text"])}


_RULES: tuple[tuple[str, str, Callable[[RegexMatch], dict[str, Any]]], ...] = (
    (r"(?:run|\$)\s+(?P<rest>.+)", "bash", _bash),
    (r"python\s+(?P<rest>.+)", "python", _python),
    (
        r"read\s+(?P<path>'[^']+'|\"[^\"]+\"|\S+)(?:\s+(?:lines?\s+)?(?P<first>\d{1,9})(?:\s*-\s*(?P<last>\d{1,9}))?)?",
        "read",
        _read,
    ),
    (r"find\s+(?P<text>'[^']+'|\"[^\"]+\"|.+?)(?:\s+in\s+(?P<path>\S+))?", "grep", _grep),
    (r"(?:list|show)\s+(?:(?:me|all|the)\s+){0,3}files\s*[.?]?", "glob", _all_files),
    (r"(?:files|list)\s+(?P<rest>\S.*)", "glob", _glob),
    (r"write\s+(?P<path>\S+):\s?(?P<text>.*)", "write", _write),
    (r"edit\s+(?P<path>\S+):\s?(?P<old>.+?)\s=>\s(?P<new>.*)", "edit", _edit),
    (r"worktree\s+(?P<action>list)", "git_worktree", _worktree),
    (r"spawn\s+(?P<rest>.+)", "spawn_agent", _spawn),
    (r"what\s+failed\s+in\s+(?:the\s+)?(?:last\s+)?(?P<text>.+?)\s*\??", "search_context", _failed),
    (r"what\s+did\s+i\s+run(?:\s+before)?(?:\s+in\s+(?P<folder>\S+?))?\s*\??", "search_context", _ran),
    (
        r"what\s+did\s+we\s+(?:say|decide|discuss)\s+(?:about\s+)?(?P<text>.+?)\s*\??",
        "search_context",
        _said,
    ),
)
"""Matched against the whole text, whatever its case, by a linear engine: a prompt may be pasted from anywhere."""
_RUN_FAILED = r"\$ (?P<command>.+) \(in .*\) → (?P<end>exit [1-9]\d{0,9}) \(\d\d:\d\d:\d\d\)"
"""The line of a command that the person ran and that failed, as `gshtui.shell.log.user_commands` tells agents of it."""


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


class OfflineProvider:
    """A provider without a model. See the module's text."""

    name = "offline"

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(price_input=0.0, price_output=0.0, known=True)

    def body(self, request: Request) -> dict[str, Any]:
        """The text it reads; nothing is sent anywhere."""
        return {
            "model": request.model,
            "system": list(request.system),
            "messages": msgspec.json.decode(msgspec.json.encode(request.messages)),
            "tools": [{"name": t.name, "description": t.description, "schema": t.schema} for t in request.tools],
        }

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer by the grammar. Raises nothing."""
        blocks = answer(request)
        for index, block in enumerate(blocks):
            if isinstance(block, Text):
                for piece in re.findall(r"\S+\s*|\s+", block.text):
                    yield TextPart(piece)
            elif isinstance(block, ToolCall):
                yield CallPart(index, block.name)
        size = sum(len(block.text) if isinstance(block, Text) else len(str(block)) for block in blocks)
        usage = Usage(input=_request_tokens(request), output=estimate(size))
        stop = "tool_use" if any(isinstance(block, ToolCall) for block in blocks) else "end"
        yield Completed(Message(id="", role="assistant", blocks=blocks), stop, usage)

    async def close(self) -> None:
        """Nothing is open."""


def _request_tokens(request: Request) -> int:
    """The house's estimate of the request's tokens."""
    size = sum(len(block) for block in request.system)
    size += sum(len(tool.name) + len(tool.description) + len(str(tool.schema)) for tool in request.tools)
    for message in request.messages:
        size += sum(len(b.text) if isinstance(b, Text) else len(str(b)) for b in message.blocks)
    return estimate(size, len(request.messages))


def answer(request: Request) -> tuple[Block, ...]:
    """Parse a request by the grammar. Pure."""
    if not request.messages:
        return (Text(_UNKNOWN),)
    last = request.messages[-1]
    if last.role == "tool":
        calls = {call.id: call for message in request.messages[-2:] for call in message.calls}
        return (Text("\n\n".join(_report(calls.get(r.call_id), r) for r in last.results)),)
    text = re.sub(r"(?<!\S)@(?=\S)", "", last.text.strip())  # a mention is the file that it names
    if re.fullmatch(r"what\s+failed\s*\??", text, re.IGNORECASE):
        return (Text(_what_failed(request.messages)),)
    if re.fullmatch(r"(help|what\s+can\s+you\s+do)\s*\??", text, re.IGNORECASE):
        return (Text(_ABILITIES),)
    offered = _callable_tools(request)
    calls_made = _calls(text, len(request.messages))
    if not calls_made:
        return (Text(_UNKNOWN),)
    if missing := sorted({call.name for call in calls_made} - offered):
        return (Text(f"That needs the tool `{missing[0]}`, which is not available here."),)
    return tuple(calls_made)


def _callable_tools(request: Request) -> set[str]:
    """The tools that are offered, and those that `find_tool` names: a call finds them."""
    index = next((tool.description for tool in request.tools if tool.name == FIND_TOOL), "")
    return {tool.name for tool in request.tools} | set(re.findall(r"[a-z_]+", index))


def _calls(text: str, position: int) -> list[ToolCall]:
    """The calls of a prompt: of the whole text, or of each of its lines; nothing unless every line is understood."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found: list[ToolCall] = []
    for index, line in enumerate(lines):
        if (call := _call(line, f"offline-{position}-{index}")) is None:
            break
        found.append(call)
    else:
        return found
    first = _call(text, f"offline-{position}-0")
    return [first] if first is not None else []


def _call(text: str, id: str) -> ToolCall | None:
    for pattern, tool, arguments in _RULES:
        if (match := compile_linear(f"(?is){pattern}").fullmatch(text)) is not None:
            return ToolCall(id, tool, arguments(match))
    return None


def _report(call: ToolCall | None, result: ToolResult) -> str:
    subject = _subject(call)
    if result.status == "denied":
        return f"{subject} was **not run**. {result.content}"
    if result.status in {"cancelled", "lost"}:
        return f"{subject} was **not finished**. {result.content}"
    lines = result.content.splitlines()
    excerpt = "\n".join(lines[:_EXCERPT_LINES])
    more = (
        f"\n\n… and {len(lines) - _EXCERPT_LINES} more lines; open the call to see them."
        if len(lines) > _EXCERPT_LINES
        else ""
    )
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", excerpt)), default=0))
    state = {"ok": "is done", "error": "**failed**", "timeout": "**took too long and was stopped**"}[result.status]
    return f"{subject} {state}:\n\n{fence}\n{excerpt}\n{fence}{more}"


def _subject(call: ToolCall | None) -> str:
    if call is None:
        return "A call"
    value = next(iter(call.arguments.values()), "")
    return f"`{call.name}` {_code(str(value))}"


def _code(text: str) -> str:
    first = text.splitlines()[0] if text else ""
    return f"`{first[:80]}`" if first and "`" not in first else first[:80]


def _what_failed(messages: Sequence[Message]) -> str:
    calls = {call.id: call for message in messages for call in message.calls}
    failed: list[str] = []
    for message in messages:
        if message.role == "user":
            ran = [compile_linear(_RUN_FAILED).fullmatch(line) for line in message.text.splitlines()]
            failed += [f"- {_code('! ' + run['command'])}: {run['end']}." for run in ran if run is not None]
        failed += [
            f"- {_subject(calls.get(result.call_id))}: {result.status}. {_last_line(result.content)}"
            for result in message.results
            if result.status not in {"ok", "denied"} or "[exit code:" in result.content
        ]
    if not failed:
        return "Nothing failed in this conversation."
    return "\n".join([f"{len(failed)} failed in this conversation:", "", *failed[-10:]])


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return _code(lines[-1].strip()) if lines else ""

"""The `<python>…</python>` blocks in an answer's text, for models that write code instead of calling the tool.

A block begins a line and ends one. What a model quotes is not run: in a fence, in backticks, behind `>`; and nothing
of a block whose end has not come. Pure.
"""

from __future__ import annotations

import textwrap

from gshtui.bus.messages import ToolCall

OPEN, CLOSE = "<python>", "</python>"
MOST = 10
"""Blocks of one answer that are run."""
TOOL = "python"
_ID = "block-"
OUTPUT = "[Python output]:\n"
"""What the result of a block begins with."""
SECTION = """\
Python Execution
You can run Python: write it in a <python> block, alone on its lines, and end your answer there.

<python>
import json
rows = [json.loads(line) for line in open("log.jsonl")]
print(len(rows))
</python>

What it prints, and the value of its last expression, comes back to you as [Python output]. Variables and imports are \
kept between blocks. Available helpers:
- `run_cmd(cmd, timeout=120)` - run a shell command: {"stdout", "stderr", "returncode", "success"}; -1 after a time-out
- `read_file(path)`, `write_file(path, content)`, `append_file(path, content)`, `list_files(pattern)`
- `llm_call(prompt)` - ask yourself a sub-question
- `http_get(url)`, `http_post(url, data)` - {"status", "headers", "body"} or {"error"}
- `output(data)` - print dicts and lists as JSON"""
"""What a model without tools is told."""


def block_calls(text: str, message: str) -> tuple[ToolCall, ...]:
    """The blocks of an answer as calls of the tool `python`. `message`: the answer's id, which makes theirs."""
    blocks = python_blocks(text)[:MOST]
    return tuple(ToolCall(f"{_ID}{message}-{number}", TOOL, {"code": code}) for number, code in enumerate(blocks, 1))


def is_block_call(call: str) -> bool:
    """Whether a call's id is that of a block in the text."""
    return call.startswith(_ID)


def python_blocks(text: str) -> list[str]:
    if OPEN not in text:
        return []
    found: list[str] = []
    fence = ""
    code: list[str] | None = None
    for line in text.split("\n"):
        bare = line.strip()
        if code is not None:
            if bare.endswith(CLOSE):
                found.append(_source([*code, line.rstrip().removesuffix(CLOSE)]))
                code = None
            else:
                code.append(line)
        elif fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        elif bare.startswith(OPEN) and not line.startswith("    ") and not line.startswith("\t"):
            rest = bare.removeprefix(OPEN)
            if rest.endswith(CLOSE):
                found.append(_source([rest.removesuffix(CLOSE)]))
            else:
                code = [rest]
    return [block for block in found if block]


def _source(lines: list[str]) -> str:
    """The code as it can be run: without common indentation, and without a fence that the model put around it."""
    source = textwrap.dedent("\n".join(lines)).strip("\n").rstrip()
    inner = source.strip().split("\n")
    if len(inner) > 1 and inner[0].startswith("```") and inner[-1].strip() == "```":
        source = textwrap.dedent("\n".join(inner[1:-1])).strip("\n").rstrip()
    return source if source.strip() else ""

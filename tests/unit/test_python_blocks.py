"""The `<python>` blocks of an answer: which are run, and what becomes of their results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.messages import Message, Text, ToolCall, ToolResult
from gshtui.providers.port import Capabilities
from gshtui.providers.wire.wire_history import turns
from gshtui.python.python_blocks import OUTPUT, block_calls, is_block_call, python_blocks


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I count.\n<python>\nx = 1\nprint(x)\n</python>\nDone.", ["x = 1\nprint(x)"]),
        ("<python>print(1)</python>", ["print(1)"]),
        ("<python>\n  a = 1\n  b = 2\n</python>\n\n<python>\nc\n</python>", ["a = 1\nb = 2", "c"]),
        ("<python>\n```python\nx = 1\n```\n</python>", ["x = 1"]),
        ("<python>\nx = '''\n```\n'''\n</python>", ["x = '''\n```\n'''"]),
        ("<python>\nif 1:\n    print('</python> in a text')\n</python>", ["if 1:\n    print('</python> in a text')"]),
    ],
)
def test_what_is_run(text: str, found: list[str]) -> None:
    assert python_blocks(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "no block at all",
        "<python>\nx = 1",
        "<python>\nx = 1\n</pytho",
        "```\n<python>\nx = 1\n</python>\n```",
        "~~~~ text\n<python>\nx = 1\n</python>\n~~~~",
        "````\n```\n<python>\nx = 1\n</python>\n```\n````",
        "> <python>\n> x = 1\n> </python>",
        "You can write `<python>x = 1</python>` there.",
        "They said: <python>x = 1</python>",
        "    <python>\n    x = 1\n    </python>",
        "<python>\n\n</python>",
        "```\n<python>\nx = 1\n</python>",
    ],
)
def test_what_is_quoted_unfinished_or_empty_is_not(text: str) -> None:
    assert python_blocks(text) == []


CODE = st.text(alphabet="abc =()\n'", min_size=1).filter(lambda t: bool(t.strip()))


@given(CODE, st.integers(0, 60))
def test_nothing_of_a_block_runs_before_its_end(code: str, cut: int) -> None:
    whole = f"Text.\n<python>\n{code}\n</python>"
    assert len(python_blocks(whole)) == 1
    assert python_blocks(whole[: len(whole) - 1 - cut % len("</python>")]) == []


def test_a_block_is_a_call_and_its_result_has_its_own_form() -> None:
    (call,) = block_calls("<python>\n1 + 1\n</python>", "m1")
    assert (call.name, call.arguments) == ("python", {"code": "1 + 1"})
    assert is_block_call(call.id)
    assert not is_block_call("toolu_1")


def test_a_model_without_tools_reads_results_as_text() -> None:
    text = "<python>\n1 + 1\n</python>"
    (call,) = block_calls(text, "m1")
    messages = [
        Message("u", "user", (Text("add"),)),
        Message("m1", "assistant", (Text(text), call)),
        Message("r", "tool", (ToolResult(call.id, "python", f"{OUTPUT}2"),)),
        Message("m2", "assistant", (Text("Look."), ToolCall("c", "read", {"path": "a"}))),
        Message("r2", "tool", (ToolResult("c", "read", "content"),)),
    ]
    sent = turns(messages, "ollama", Capabilities(tools=False))
    assert not [block for turn in sent for block in turn.blocks if isinstance(block, ToolCall | ToolResult)]
    words = ["\n".join(block.text for block in turn.blocks if isinstance(block, Text)) for turn in sent]
    assert words == [
        "add",
        text,
        "[Python output]:\n2",
        "Look.\n[called read with {'path': 'a'}]",
        "Result of read:\n\ncontent",
    ]
    whole = turns(messages, "anthropic", Capabilities())
    assert [block.name for turn in whole for block in turn.blocks if isinstance(block, ToolCall)] == ["python", "read"]

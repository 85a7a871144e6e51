"""The text of a kept prompt: arguments, commands in a real shell, files; and that no argument is ever code."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.agents.prompts.commands import MOST_INSERTED, expand, read_arguments
from gshtui.agents.prompts.prompt_store import KeptPrompt, PromptError
from gshtui.bus.events.approval_events import DENIED, REASON
from gshtui.bus.messages import ResultStatus, ToolResult
from tests.kit.storms import examples


def answer(status: ResultStatus, content: str) -> ToolResult:
    return ToolResult("c", "tool", content, status)


async def in_bash(tool: str, arguments: dict[str, object]) -> ToolResult:
    """The tools, without a guard: commands in a real shell, files from the disk."""
    if tool == "read":
        path = Path(str(arguments["path"]))
        return answer("ok", path.read_text()) if path.exists() else answer("error", "There is no such file.")
    ran = await asyncio.to_thread(
        subprocess.run, ["bash", "-c", str(arguments["command"])], capture_output=True, text=True, check=False
    )
    return answer("ok" if ran.returncode == 0 else "error", ran.stdout + ran.stderr)


async def text_of(body: str, args: str = "", tools: Any = in_bash, **fields: Any) -> str:
    prompt = KeptPrompt("made", "yours", body, **fields)
    return await expand(prompt, read_arguments(prompt, args), tools)


async def test_arguments() -> None:
    assert await text_of("Fix $1 of $ARGUMENTS, not $2 or $10 or $PATH", "a b") == "Fix a of a b, not b or $10 or $PATH"
    assert await text_of("Do $what to $it", "it=x do 'the work'", arguments=("what", "it")) == "Do do the work to x"
    assert await text_of("Say hello", "to them") == "Say hello\n\nto them"
    assert await text_of("$1", "what's this") == "what's"


async def test_commands_and_files(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("inside !{echo no} $1")
    body = f"!{{echo one}} !`echo two` @{{{tmp_path}/$1}}"
    assert await text_of(body, "'a b.txt'") == f"one two `{tmp_path}/a b.txt`:\ninside !{{echo no}} $1"
    with pytest.raises(PromptError, match="The command 'exit 3' of the prompt made failed"):
        await text_of("!{exit 3}")
    with pytest.raises(PromptError, match="cannot be read"):
        await text_of("@{/nowhere/at/all}")
    with pytest.raises(PromptError, match=f"more than {MOST_INSERTED}"):
        await text_of("!{true} " * (MOST_INSERTED + 1))


async def test_what_the_guard_denies_is_said() -> None:
    async def denies(_tool: str, _arguments: dict[str, object]) -> ToolResult:
        return answer("denied", f"{DENIED}{REASON}too slow")

    with pytest.raises(PromptError, match=r"was not allowed: You denied this call\. Your reason: too slow"):
        await text_of("!{make}", tools=denies)


@settings(deadline=None, max_examples=examples(25))
@given(st.text(st.characters(codec="ascii", exclude_characters="\0\r\n"), min_size=1, max_size=30))
async def test_no_argument_is_ever_code(value: str) -> None:
    prompt = KeptPrompt("made", "yours", '!{printf "<%s>" "$x"}', arguments=("x",))
    given_arguments = read_arguments(prompt, "")
    given_arguments = type(given_arguments)(value, (value,), {"x": value})
    assert await expand(prompt, given_arguments, in_bash) == f"<{value}>".rstrip("\n")

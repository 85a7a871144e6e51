"""Standard input that is too long for one prompt: read in parts or summarised by the model, and never cut."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gshtui.hub.faces.large_input import split_text
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.warm_program import run_gsh

ROWS = "".join(f"GET /{number} 200\n" for number in range(60_000)).encode()


@given(st.text(alphabet="ab\n", max_size=80), st.integers(1, 20))
def test_the_parts_are_the_text(text: str, size: int) -> None:
    parts = split_text(text, size)
    assert "".join(parts) == text and all(len(part) <= size for part in parts)
    assert all(part.endswith("\n") or "\n" not in part for part in parts[:-1])


async def test_each_part_is_asked_about_and_one_turn_answers(tmp_path: Path) -> None:
    said = [[Say(f"answer {number}")] for number in range(1, 9)]
    async with loopback("anthropic", said) as server:
        env = variables("anthropic", server.url)
        for option, count in (("--batches", 3), ("--summarise", 9)):
            before = len(server.requests)
            ran = await asyncio.to_thread(
                run_gsh,
                "prompt",
                option,
                "which failed?",
                stdin=ROWS[: 850_000 if count == 3 else 210_000],
                cwd=tmp_path,
                env=env,
            )
            assert ran.code == 0, ran.err
            *parts, last = [str(one.body) for one in server.requests[before:]]
            assert len(parts) == 3 and "which failed?" in parts[0] and "> GET /0 200" in parts[0]
            assert "which failed?" in last and "GET /17 200" not in last
            if option == "--batches":
                assert "[part 3]" in last and all(f"answer {number}" in last for number in (1, 2, 3))
                assert ran.out == "answer 4\n"
            else:
                assert "answer 5" in parts[1] and "answer 7" in last and "A summary of standard input" in last
    none = await asyncio.to_thread(run_gsh, "prompt", "--summarise", "why?", stdin=ROWS, cwd=tmp_path)
    assert none.code == 3 and "No model is connected" in none.err and "Traceback" not in none.err

"""While hostile text is worked on, the window's loop goes round: counted in rounds, not in time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gshtui.ui.kit.transcript.entries import AnswerEntry
from tests.kit.tool_harness import ToolHarness
from tests.kit.transcript_host import TranscriptHost, wait_until_drawn


class Beats:
    """How often the loop went round."""

    def __init__(self) -> None:
        self.count = 0


@asynccontextmanager
async def beating() -> AsyncIterator[Beats]:
    beats = Beats()

    async def beat() -> None:
        while True:
            beats.count += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(beat())
    try:
        yield beats
    finally:
        task.cancel()


HOSTILE = {
    "brackets": "[" * 60_000 + "\n\n" + "![" * 30_000 + "\n\nthe end",
    "tables": ("|" + "a|" * 900 + "\n|" + "-|" * 900 + "\n" + "|b\n" * 400 + "\n") * 3 + "\nthe end",
    "code": "```javascript\n" + '\\"' * 950 + "\n" + ('\\"' * 950 + "\n") * 20 + "```\n\nthe end",
    "one line": "x" * 3_000_000 + "\n\nthe end",
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_the_loop_goes_round_while_a_hostile_answer_is_drawn(name: str) -> None:
    app = TranscriptHost()
    async with app.run_test(size=(100, 40)) as pilot:
        async with beating() as beats:
            app.transcript.feed.put(AnswerEntry("a1", HOSTILE[name]))
            await wait_until_drawn(pilot, app.transcript)
            app.transcript.scroll_end(animate=False)
            await wait_until_drawn(pilot, app.transcript)
        assert beats.count > 10
        await pilot.press("home", "end")


async def test_the_loop_goes_round_while_a_hostile_pattern_is_looked_for(tmp_path: Path) -> None:
    tools = ToolHarness(tmp_path)
    for number in range(300):
        tools.write_file("a" * 200 + str(number), "")
    async with beating() as beats:
        outcome = await tools.run("glob", pattern="*a*a*a*a*a*a*a*a*a*b")
    assert outcome.data["count"] == 0
    assert beats.count  # it is looked for beside the loop; on it, the loop would not have gone round once

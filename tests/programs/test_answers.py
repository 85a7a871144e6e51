"""The answer of a turn with each real program: its exact text alone, by its transcript where it keeps one."""

import pytest

from gshtui.bus.events.agent_events import TurnFinished
from gshtui.commands import execution
from gshtui.commands.declaration import Caller
from gshtui.fleet.core.agent_calls import SendToAgent
from tests.kit.native_agents import EventLog
from tests.kit.prompt_driven_model import END, LIST, LONG
from tests.programs.stage import Stage

HELLO = "Hello. I am here."


def by(stage: Stage) -> str:
    """Who tells the answer: the program, where it is connected to us, or its transcript."""
    return "report" if "--remote" in stage.row.argv else "transcript"


@pytest.mark.programs("claude", "codex", "opencode", "gemini", "vibe", "aider", "qwen")
async def test_an_answer_is_the_text_of_its_turn_alone(stage: Stage) -> None:
    heard = EventLog(stage.hub.bus)
    await stage.status("idle")
    turns = [("Good day to you", HELLO), ("do:list", LIST), ("Good day again", HELLO)]
    if stage.program.name != "gemini":  # which stops what repeats itself
        turns.append(("do:long", LONG * 60 + END))
    for text, answer in turns:
        await stage.still()  # Gemini takes no Enter for a moment after its turn
        sent = await stage.command("agent send", agent=stage.id, text=text, wait=True, timeout=90)
        assert not sent.timed_out, f"{text}: {sent.text}\n{await stage.account()}"
        # A first turn may be over before a program that keeps a server lets us hear what is said in it.
        sources = {by(stage), "transcript"} if text == turns[0][0] else {by(stage)}
        assert sent.data["answer"].strip() == answer, await stage.account()
        assert sent.data["source"] in sources, await stage.account()
        assert "from its screen" not in sent.text
    shown = await stage.command("agent show", agent=stage.id, answer=True)
    assert shown.data["answer"].strip() == turns[-1][1]
    assert shown.data["source"] in ("transcript", by(stage))
    assert [event.text.strip() for event in heard.of(TurnFinished)] == [answer for _, answer in turns], "each once"
    row = await stage.until(stage.look, lambda row: row.tokens >= 15 * len(turns))
    used = (await stage.command("usage", by="agent", agent=stage.id)).data["total"]
    assert (used["requests"], used["tokens"]) == (len(turns), row.tokens)
    assert row.model
    assert row.context


@pytest.mark.size(200, 50)
@pytest.mark.programs("claude", "codex", "opencode", "gemini", "qwen")
async def test_an_answer_is_streamed_as_it_is_written_down(stage: Stage) -> None:
    await stage.status("idle")
    wanted = SendToAgent(agent=stage.id, text="do:touch", stream=True, timeout=90)
    stream = execution.stream(stage.hub.registry, wanted, stage.hub.invocation(Caller()))
    assert stream is not None
    pieces: list[str] = []
    async for outcome in stream:
        assert not outcome.is_error, outcome.text
        if not pieces:
            assert outcome.plain.startswith("I make the file.")
            await stage.status("waiting")
            await stage.until(stage.waits, bool)  # its record tells before its screen does
            await stage.pressed("Enter")
        pieces.append(outcome.plain)
        last = outcome
    assert "".join(pieces) == "I make the file.\n\nDone; the command has run.\n"
    assert (last.data["answer"], last.data["source"]) == ("Done; the command has run.", by(stage))
    assert (stage.folder / "made.txt").exists()


@pytest.mark.programs("aider")
async def test_where_no_transcript_tells_it_the_screen_does_and_that_is_said(stage: Stage) -> None:
    """Two in one folder write into one file, and not who wrote what."""
    await stage.status("idle")
    await (await stage.beside()).status("idle")
    sent = await stage.command("agent send", agent=stage.id, text="Good day to you", wait=True, timeout=90)
    assert sent.data["source"] == "screen"
    assert "Hello. I am here." in sent.data["answer"]
    assert "from its screen" in sent.text
    shown = await stage.command("agent show", agent=stage.id, answer=True)
    assert shown.data["source"] == "screen"
    assert "Hello. I am here." in shown.data["answer"]


@pytest.mark.programs("claude", "codex", "opencode", "gemini", "vibe", "qwen")
async def test_a_turn_that_was_refused_has_no_earlier_answer(stage: Stage) -> None:
    heard = EventLog(stage.hub.bus)
    await stage.status("idle")
    await stage.command("agent send", agent=stage.id, text="Good day to you", wait=True, timeout=90)
    await stage.still()
    await stage.command("agent send", agent=stage.id, text="do:touch")
    await stage.status("waiting")
    await stage.until(stage.waits, bool)
    await stage.pressed("Escape")
    await stage.status("idle", "quiet")
    row = await stage.until(stage.look, lambda row: row.report.strip() != HELLO)
    stops = stage.program.name in ("claude", "codex", "opencode")  # the others go on, or tell it as an end
    assert (row.state == "interrupted") is stops, heard.of(TurnFinished)

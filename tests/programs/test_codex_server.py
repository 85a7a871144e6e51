"""Codex by its app-server: no key is pressed, its person's screen stays usable, and the next rank takes over."""

import asyncio
import itertools
import signal
from collections.abc import Sequence
from typing import Any

import psutil
import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.session.live_sources import link_to
from gshtui.settings.loader import load
from gshtui.tmux.server import TmuxServer
from tests.kit.loopback.script import Answer, Call, Say
from tests.kit.loopback.server import Asked
from tests.programs.stage import Stage
from tests.programs.test_own_choices import answer, asked

pytestmark = [pytest.mark.programs("codex"), pytest.mark.size(120, 35)]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is typed into terminals by gsh-tui; what a test's person types goes around it."""
    found = list[str]()

    async def send_text(self: TmuxServer, pane: str, text: str, **more: Any) -> None:
        found.append(text)

    async def press(self: TmuxServer, pane: str, key: str, shown: Sequence[Any]) -> bool:
        found.append(key)
        return False

    monkeypatch.setattr(TmuxServer, "send_text", send_text)
    monkeypatch.setattr(TmuxServer, "press_where_shown", press)
    return found


def by_protocol(row: AgentRow) -> bool:
    return row.status_source == "protocol"


def app_server(stage: Stage) -> psutil.Process:
    """The process of its server."""
    inside = psutil.Process(stage.row.pid).children(recursive=True)
    return next(one for one in reversed(inside) if "app-server" in one.cmdline() and not one.children())


async def test_a_day_without_a_key(stage: Stage, typed: list[str]) -> None:
    made = stage.folder / "made.txt"
    await stage.until(stage.look, lambda row: row.status == "idle" and by_protocol(row))
    sent = await stage.command("agent send", agent=stage.id, text="Good day", wait=True, timeout=90)
    assert (sent.data["answer"], sent.data["source"]) == ("Hello. I am here.", "report"), await stage.account()
    await stage.say("do:touch")
    question = await asked(stage)
    assert by_protocol(stage.row) and stage.row.needs_you
    assert question.detail.split("\n") == ["touch made.txt", f"in {stage.folder}"]
    assert question.beside == "because: May I run it?"
    assert [one.key for one in question.choices] == ["1", "3", "4", "5"]
    await stage.shows("1. Yes, proceed")
    await answer(stage, question, "Yes, this once")
    await stage.until(stage.screen, lambda text: "1. Yes, proceed" not in text)
    await stage.until(stage.look, lambda row: row.status == "idle" and row.question is None)
    assert made.exists()
    made.unlink()
    await stage.say("do:touch")
    refused = await asked(stage)
    assert refused.id != question.id
    await answer(stage, refused, "No, go on without it")
    await stage.shows(r"Done; the command has run\.[\s\S]*Done; the command has run\.")
    await stage.until(stage.look, lambda row: row.status == "idle")
    assert not made.exists()
    assert typed == []


async def test_its_person_answers_in_its_own_screen(stage: Stage, typed: list[str]) -> None:
    await stage.status("idle")
    await stage.person(text="do:touch")
    await asked(stage)
    assert by_protocol(stage.row)
    await stage.shows("1. Yes, proceed")
    await stage.person("y")
    await stage.until(stage.look, lambda row: row.question is None and not row.needs_you)
    await stage.until(stage.look, lambda row: row.status == "idle" and by_protocol(row))
    assert (stage.folder / "made.txt").exists()
    assert typed == []


async def test_it_is_interrupted_and_steered_without_a_key(stage: Stage, typed: list[str]) -> None:
    await stage.status("idle")
    await stage.say("do:touch")
    question = await asked(stage)
    await answer(stage, question, "Yes, this once")
    await stage.status("idle")
    stage.provider.pace = 4
    await stage.say("do:long")
    await stage.shows("says nothing, at")
    await stage.fleet.interrupt(stage.id)
    await stage.shows("Conversation interrupted")
    await stage.until(stage.look, lambda row: row.status == "idle" and by_protocol(row))
    stage.provider.pace = 40
    await stage.say("do:sleep")
    await answer(stage, await asked(stage), "Yes, this once")
    await stage.until(stage.look, lambda row: row.status == "tool")
    await stage.say("And in the middle of it", now=True)
    await stage.hears("do:sleep", "And in the middle of it")
    await stage.status("idle")
    assert typed == []


async def test_a_question_of_a_helper_is_answered_on_the_screen_that_shows_it(stage: Stage) -> None:
    before, helpers = stage.provider.choose, itertools.count()

    def choose(asked: Asked) -> Answer:
        wanted = "do:help" in str(asked.body) and isinstance(asked.body, dict) and asked.body.get("tools")
        if wanted and not next(helpers):
            return [Call("spawn_agent", {"message": "do:touch"}, id="call_help", namespace="multi_agent_v1")]
        return (before(asked) if before is not None else None) or [Say("Done.")]

    stage.provider.choose = choose
    await stage.status("idle")
    await stage.say("do:help")
    question = await asked(stage)
    assert by_protocol(stage.row) and "touch made.txt" in question.detail
    await answer(stage, question, "Yes, proceed")
    await stage.until(stage.screen, lambda text: "1. Yes, proceed" not in text)
    await stage.until(stage.look, lambda row: row.status == "idle" and not row.needs_you)
    assert (stage.folder / "made.txt").exists()


async def test_a_whole_change_is_shown(stage: Stage) -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new.txt\n+hello\n+there\n*** Update File: readme.txt\n@@\n-A project.\n+Ours.\n"
    )
    command = f"apply_patch <<'EOF'\n{patch}*** End Patch\nEOF\n"
    before = stage.provider.choose

    def choose(asked: Asked) -> Answer:
        wanted = "do:patch" in str(asked.body) and "call_patch" not in str(asked.body)
        if wanted and isinstance(asked.body, dict) and asked.body.get("tools"):
            return [Say("I change it."), Call("exec_command", {"cmd": command}, id="call_patch")]
        return (before(asked) if before is not None else None) or [Say("Done.")]

    stage.provider.choose = choose
    await stage.status("idle")
    await stage.say("do:patch")
    question = await asked(stage)
    assert "new.txt" in question.detail and "readme.txt" in question.detail
    assert {"+hello", "+there", "-A project.", "+Ours."} <= set(question.diff.split("\n"))
    await answer(stage, question, "Yes, for this session")
    await stage.status("idle")
    assert (stage.folder / "readme.txt").read_text("utf-8") == "Ours.\n"


async def test_a_server_that_is_killed_costs_its_turn_and_nothing_else(stage: Stage) -> None:
    await stage.status("idle")
    stage.provider.pace = 4
    await stage.say("do:long")
    await stage.shows("says nothing, at")
    app_server(stage).send_signal(signal.SIGKILL)
    await stage.until(stage.look, lambda row: not by_protocol(row))
    stage.provider.pace = 40
    await stage.until(stage.look, by_protocol)
    await stage.say("Once more")
    await stage.hears("Once more")
    await stage.until(stage.look, lambda row: row.status == "idle" and by_protocol(row))
    said = [asked for asked in stage.provider.chats if "Once more" in str(asked.body)]
    assert len([one for one in said if isinstance(one.body, dict) and one.body.get("tools")]) == 1
    assert (await stage.screen()).count("› Once more") == 1


async def test_the_next_hub_connects_to_the_same_server(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("do:touch")
    question = await asked(stage)
    hub = stage.hub
    await hub.stop()
    stage.hub = build_hub(HubOptions(cwd=stage.folder, loaded=load(stage.folder)))
    await stage.hub.start()
    try:
        # The same question, whoever asks; what its screen shows of it may come first.
        await stage.until(stage.look, lambda row: row.question == question and by_protocol(row))
        await answer(stage, question, "Yes, this once")
        await stage.status("idle")
        assert (stage.folder / "made.txt").exists()
        await stage.fleet.kill(stage.id, now=True)
    finally:
        await stage.hub.stop()
        stage.hub = hub


async def test_its_server_ends_with_its_terminal(stage: Stage) -> None:
    await stage.until(stage.look, lambda row: row.status == "idle" and by_protocol(row))
    server = app_server(stage)
    await stage.fleet.kill(stage.id, now=True)
    await asyncio.to_thread(server.wait, 60)


async def test_its_mode_is_read_changed_and_kept_by_the_server(stage: Stage, typed: list[str]) -> None:
    made = stage.folder / "made.txt"
    await stage.until(stage.look, lambda row: row.status == "idle" and by_protocol(row))
    await stage.until(stage.look, lambda row: row.mode_words == "read only")
    await stage.command("mode", mode="plan", agent=stage.id)
    assert (stage.row.held_to, stage.row.mode_words) == ("plan", "read only, never asks")
    await stage.say("do:touch")
    await stage.status("idle")
    await stage.hears("do:touch")
    assert not made.exists(), "in a mode that was chosen before its first turn"
    await stage.command("mode", mode="ask", agent=stage.id)
    before = stage.row
    await stage.fleet.restart(stage.id)
    row = await stage.started_anew(before)
    assert "--remote" in row.argv and "resume" in row.argv
    await stage.until(stage.look, lambda row: row.status == "idle" and by_protocol(row))
    assert (await stage.until(stage.look, lambda row: row.program_mode)).mode_words == "read only"
    await stage.say("do:touch")
    await answer(stage, await asked(stage), "Yes, this once")
    await stage.status("idle")
    assert made.exists()
    assert typed == []


async def test_one_that_became_wider_is_held_when_it_goes_on(stage: Stage) -> None:
    await stage.until(stage.look, lambda row: row.status == "idle" and by_protocol(row))
    await stage.say("Good day")
    await stage.hears("Good day")
    await stage.status("idle")
    before = await stage.until(stage.look, lambda row: row.external_id)
    link = link_to(profiles.load().get("codex"), stage.server, before)  # as another program of its person changes it
    assert link is not None and await link.connected() and await link.change_mode("yolo")
    await link.stop()
    row = await stage.until(stage.look, lambda row: row.exceeds)
    assert row.mode_words == "full access, not ask!"
    await stage.fleet.restart(stage.id)
    await stage.started_anew(before)
    await stage.until(stage.look, lambda row: by_protocol(row) and row.mode_words == "read only")
    app_server(stage).send_signal(signal.SIGKILL)
    await stage.until(stage.look, lambda row: not by_protocol(row))
    await stage.until(stage.look, lambda row: by_protocol(row) and row.mode_words == "read only")


@pytest.mark.alone
async def test_switched_off_it_is_read_and_typed_to(stage: Stage) -> None:
    row = await stage.status("idle")
    assert "--remote" not in row.argv
    await stage.say("do:touch")
    question = await asked(stage)
    assert not by_protocol(stage.row)
    await answer(stage, question, question.choices[0].label)
    await stage.status("idle")
    assert (stage.folder / "made.txt").exists()

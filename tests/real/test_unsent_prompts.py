"""Prompts that a program was not seen to take: asked about, and no longer once it has, or a person has decided."""

import asyncio
import sys
from pathlib import Path

import pytest

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.agent_reducer import apply_event
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.fleet_events import AgentChanged, MessagesHeldUp, PromptUnsent
from gshtui.bus.letter import Letter
from gshtui.fleet.mail import delivery, unsent_prompts
from gshtui.guard.approval import open_approvals
from gshtui.guard.approval.open_approvals import OpenApprovals
from gshtui.programs.pane.pane_writer import Whereabouts
from gshtui.programs.profiles.profile_files import load
from gshtui.programs.screen.foreground import input_taken
from gshtui.settings import paths
from gshtui.tmux.server import TmuxServer
from tests.kit.fleet_harness import ROOT
from tests.kit.home import Home
from tests.kit.mail_harness import MailHarness, open_mail
from tests.kit.tmux import eventually, tmux, wait_for_text

__all__ = ["tmux"]
SCREENS = next((ROOT / "tests" / "fixtures" / "screens" / "claude").iterdir())


@pytest.fixture
def path(home: Home) -> Path:
    profile = load().origins["claude"].read_text().replace("enter = 0.2", "enter = 0.1\nshown = 1.0")
    own = paths.config_dir() / "profiles" / "quick.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(profile.replace('programs = ["claude"]', 'programs = ["quick"]'))
    return home.data / "gsh" / "gsh.db"


async def stand_in(m: MailHarness, tmux: TmuxServer, *options: str) -> AgentRow:
    """The program on the roster, at rest."""
    argv = (sys.executable, "-m", "tests.kit.fake_agent", "--screens", str(SCREENS), *options)
    row = await m.add_agent("helper", server=tmux, argv=argv, kind="cli", profile="quick", cwd=str(ROOT))
    await wait_for_text(tmux, row.pane, "❯")
    return row


async def asked(m: MailHarness, row: AgentRow, words: str) -> AgentRow:
    """Wait for the question; the agent's row with it, as the fleet keeps it."""

    async def look() -> list[OpenQuestion]:
        await m.main.bus.drained()
        return [event.question for event in m.published(PromptUnsent) if event.question is not None]

    found = await eventually(look, until=lambda questions: any(words in one.subject for one in questions))
    return await m.store.agents.update(row.id, unsent=found[-1], question=found[-1], needs_you=True)


async def withdrawn(m: MailHarness) -> None:
    """Wait until nothing is asked any more."""

    async def look() -> OpenQuestion | None:
        await m.main.bus.drained()
        return m.published(PromptUnsent)[-1].question

    await eventually(look, until=lambda question: question is None)


async def test_it_goes_away_when_the_program_takes_it(path: Path, tmux: TmuxServer, tmp_path: Path) -> None:
    async with open_mail(path, server=tmux) as m:
        heard = tmp_path / "heard"
        row = await stand_in(m, tmux, "--stall", str(tmp_path / "go-on"), "--heard", str(heard))
        letter = await m.send(row.id, "Mend the parser.", sender="person")
        row = await asked(m, row, "Your prompt is in helper's input but was not sent")
        assert row.unsent is not None and row.unsent.detail == "Mend the parser."
        assert [one.label for one in row.unsent.choices] == ["Send it", "Clear it"]
        assert (await m.store.mail.find(letter.id)).state == "held"
        (tmp_path / "go-on").touch()
        await withdrawn(m)
        await m.wait_for_state(letter.id, "submitted", "acted")
        assert heard.read_text() == "Mend the parser.\n"


@pytest.mark.parametrize(("choice", "state"), [("1", "submitted"), ("2", "dropped")])
async def test_a_person_decides(path: Path, tmux: TmuxServer, tmp_path: Path, choice: str, state: str) -> None:
    async with open_mail(path, server=tmux) as m:
        heard = tmp_path / "heard"
        row = await stand_in(m, tmux, "--stall", str(tmp_path / "go-on"), "--ignore", "1", "--heard", str(heard))
        letter = await m.send(row.id, "Mend the parser.", sender="person")
        row = await asked(m, row, "is in helper's input")
        session = await m.service.programs.session(tmux, row)
        (tmp_path / "go-on").touch()
        # Until it has read what was typed, nothing more is.
        await eventually(lambda: asyncio.to_thread(input_taken, row.pid))
        await unsent_prompts.answer(m.main.bus, m.store, session, row, choice)
        await m.wait_for_state(letter.id, state, "acted")
        assert (await session.read_screen()).draft == ""
        assert heard.exists() is (choice == "1")
        await withdrawn(m)


@pytest.mark.parametrize(
    ("sender", "place", "subject", "choices"),
    [
        ("person", "input", "Your prompt is in fix's input but was not sent.", ["Send it", "Clear it"]),
        ("2", "unknown", "The message of main is in fix's input but was not sent.", ["Send it", "Clear it"]),
        ("person", "elsewhere", "Nothing shows that fix got your prompt.", ["Send it again", "Drop it"]),
        ("2", "elsewhere", "Nothing shows that fix got the message of main.", ["Send it again", "Drop it"]),
    ],
)
def test_a_question_claims_no_more_than_is_seen(
    sender: str, place: Whereabouts, subject: str, choices: list[str]
) -> None:
    letter = Letter(id="a", sender=sender, sender_name="main", recipient="1", text="Mend it.")
    asked = unsent_prompts.question(letter, AgentRow(id="1", name="fix"), place)
    assert (asked.subject, asked.detail, [one.label for one in asked.choices]) == (subject, "Mend it.", choices)


def test_a_row_asks_about_it_while_the_program_asks_nothing() -> None:
    unsent = OpenQuestion("unsent-1", "Your prompt is in a's input but was not sent.")
    row = apply_event(AgentRow(id="1", name="a", kind="cli", status="idle"), PromptUnsent(agent="1", question=unsent))
    assert (row.question, row.needs_you) == (unsent, True)
    state = open_approvals.apply_event(OpenApprovals(), AgentChanged(agent="1", row=row))
    assert len(state.waiting) == 1, "it is in the inbox"
    box = OpenQuestion("b", "May I?")
    row = apply_event(row, AgentStatusChanged(agent="1", status="waiting", source="screen", question=box))
    assert row.question == box
    row = apply_event(row, AgentStatusChanged(agent="1", status="idle", source="screen"))
    assert (row.question, row.needs_you) == (unsent, True)
    row = apply_event(row, PromptUnsent(agent="1"))
    assert (row.question, row.needs_you, row.unsent) == (None, False, None)
    assert open_approvals.apply_event(state, AgentChanged(agent="1", row=row)).waiting == ()


async def test_what_holds_a_message_up_is_said(path: Path, tmux: TmuxServer) -> None:
    async with open_mail(path, server=tmux) as m:
        row = await stand_in(m, tmux)
        await tmux.type_bytes(row.pane, b"half a thought")
        await wait_for_text(tmux, row.pane, "half a thought")
        letter = await m.send(row.id, "Mend it.", sender="person")

        async def whys() -> list[str]:
            await m.main.bus.drained()
            return [event.why for event in m.published(MessagesHeldUp)]

        assert "without submitting it" in (await eventually(whys, until=bool))[0]
        await tmux.send_keys(row.pane, "C-u")
        await m.wait_for_state(letter.id, "submitted", "acted")
        await eventually(whys, until=lambda said: said[-1] == "")


async def test_a_message_for_one_that_only_seems_to_rest_is_no_secret(
    path: Path, tmux: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "_QUIET_FOR", 0.2)
    async with open_mail(path, server=tmux) as m:
        row = await stand_in(m, tmux)
        await m.store.agents.update(row.id, status="quiet", status_source="screen?")
        letter = await m.send(row.id, "Mend it.", sender="person")

        async def whys() -> list[str]:
            await m.main.bus.drained()
            return [event.why for event in m.published(MessagesHeldUp)]

        assert "nothing shows that its turn is over" in (await eventually(whys, until=bool))[0]
        await m.store.agents.update(row.id, status="idle", status_source="screen")
        await m.wait_for_state(letter.id, "submitted", "acted")
        await eventually(whys, until=lambda said: said[-1] == "")

"""Messages to programs in real terminals: typed when they are ready, one at a time, never into a draft or twice."""

import asyncio
import sys
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import AgentStatusChanged, TurnFinished, TurnStarted
from gshtui.bus.events.fleet_events import AgentEnded
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.transport import TerminalTransport
from gshtui.tmux.server import TmuxServer
from tests.kit.mail_harness import open_mail
from tests.kit.scripted_provider import Hang
from tests.kit.terminal_tools import REPL
from tests.kit.tmux import eventually, tmux, wait_for_text

__all__ = ["tmux"]

PROGRAM = (sys.executable, "-c", REPL)


async def test_a_message_is_typed_into_a_program_and_confirmed_by_its_own_word(path: Path, tmux: TmuxServer) -> None:
    async with open_mail(path, server=tmux) as m:
        row = await m.add_agent("helper", server=tmux, argv=PROGRAM, kind="cli", profile="repl")
        await m.add_agent("other")
        letter = await m.send(row.id, "mend it", sender="person")
        await wait_for_text(tmux, row.pane, "answer to mend it")
        await m.wait_for_state(letter.id, "submitted")
        # What its screen says is no confirmation.
        m.main.bus.publish(AgentStatusChanged(agent=row.id, status="thinking", source="screen"))
        await m.main.bus.drained()
        assert (await m.store.mail.find(letter.id)).state == "submitted"
        m.main.bus.publish(AgentStatusChanged(agent=row.id, status="thinking", source="hook"))
        await m.wait_for_state(letter.id, "acted")
        assert await m.published_states(letter.id) == ["queued", "typed", "submitted", "acted"]
        m.main.bus.publish(AgentStatusChanged(agent=row.id, status="idle", source="hook"))
        await m.send(row.id, "from a peer", sender="0002")
        await wait_for_text(tmux, row.pane, "> from a peer")


async def test_of_a_shell_and_of_what_answered_nothing_is_left_to_be_acted_on(path: Path, tmux: TmuxServer) -> None:
    async with open_mail(path, server=tmux) as m:
        shell = await m.add_agent("sh", server=tmux, argv=("bash", "--norc"), kind="cli", profile="shell")
        other = await m.add_agent("helper", server=tmux, argv=PROGRAM, kind="cli", profile="repl")
        run = await m.send(shell.id, "echo $((40 + 2))", sender="person")
        await wait_for_text(tmux, shell.pane, "42")
        await m.wait_for_state(run.id, "acted")
        said = await m.send(other.id, "mend it", sender="person")
        await m.wait_for_state(said.id, "submitted")
        assert [letter.id for letter in await m.service.list_letters()] == [said.id]
        m.main.bus.publish(TurnFinished(agent=other.id, session="", turn="", stop="end", text="Done.", source="screen"))
        await m.main.bus.drained()
        assert await m.service.list_letters() == []
        assert {letter.id for letter in await m.service.list_letters(all=True)} == {run.id, said.id}


async def test_two_messages_to_one_program_never_mix(path: Path, tmux: TmuxServer) -> None:
    async with open_mail(path, server=tmux) as m:
        row = await m.add_agent("helper", server=tmux, argv=PROGRAM, kind="cli", profile="repl")
        texts = [f"message {n} {'x' * 200}" for n in range(4)]
        sent = await asyncio.gather(*(m.send(row.id, text, sender="person") for text in texts))
        for letter in sent:
            await m.wait_for_state(letter.id, "submitted")

        async def answers() -> list[str]:
            lines = await tmux.capture(row.pane, styled=False, join=True)
            return [line.rstrip() for line in lines if line.startswith("answer")]

        assert await eventually(answers, until=lambda seen: len(seen) == 4) == [f"answer to {text}" for text in texts]


async def test_a_busy_program_gets_it_once_it_rests(path: Path, tmux: TmuxServer) -> None:
    async with open_mail(path, server=tmux) as m:
        row = await m.add_agent("helper", server=tmux, argv=PROGRAM, kind="cli", profile="repl")
        await m.store.agents.update(row.id, status="thinking", status_source="hook")
        letter = await m.send(row.id, "when you rest", sender="person")
        at_once = await m.send(row.id, "at once", sender="person", now=True)
        await m.wait_for_state(at_once.id, "submitted")
        assert (await m.store.mail.find(letter.id)).state == "queued"
        await m.store.agents.update(row.id, status="idle")
        m.main.bus.publish(AgentStatusChanged(agent=row.id, status="idle", source="hook"))
        await m.wait_for_state(letter.id, "submitted")
        await wait_for_text(tmux, row.pane, "answer to when you rest")


async def test_a_program_that_has_ended_gets_nothing_and_that_is_told(path: Path, tmux: TmuxServer) -> None:
    async with open_mail(path, server=tmux) as m:
        row = await m.add_agent("helper", server=tmux, argv=("true",), kind="cli", profile="repl")
        await eventually(lambda: tmux.pane(row.pane), until=lambda info: info.dead)
        letter = await m.send(row.id, "anyone?", sender="person")
        assert (await m.wait_for_state(letter.id, "dropped")).why


async def test_one_of_ours_takes_it_into_its_inbox_when_linked(path: Path) -> None:
    async with open_mail(path) as m:
        row = await m.add_agent("native", parent="main", parent_session="s1", background=True)
        letter = await m.send(row.id, "one more thing", sender="main")
        m.service.delivery.check_now()
        await m.main.bus.drained()
        assert (await m.store.mail.find(letter.id)).state == "queued"
        m.linked.add(row.id)
        # It works, and would end when it rests: so its inbox is where the message waits.
        m.main.bus.publish(AgentStatusChanged(agent=row.id, status="thinking"))
        m.service.delivery.check_now()
        await m.wait_for_state(letter.id, "submitted")
        m.main.bus.publish(AgentEnded(agent=row.id, name="native"))
        assert "ended before it acted on the message" in (await m.wait_for_state(letter.id, "dropped")).why
        other = await m.send(row.id, "and this", sender="main")
        await m.wait_for_state(other.id, "submitted")
        m.main.bus.publish(TurnStarted(agent=row.id, session="s2", turn="t", prompt=other.id))
        await m.wait_for_state(other.id, "acted")


async def test_the_fleets_post_keeps_the_familys_words_as_they_stand(path: Path, tmux: TmuxServer) -> None:
    async with open_mail(path, server=tmux) as m:
        row = await m.add_agent("helper", server=tmux, argv=PROGRAM, kind="cli", profile="repl", parent="main")
        await m.add_agent("stranger")
        post = m.service.post(TerminalTransport(m.main.bus, m.service.terminals, m.service.programs))
        await post.send(row, "the task", sender="main", defer_if_busy=True)
        await wait_for_text(tmux, row.pane, "answer to the task")
        await post.send(row, "a wish", sender="0002", defer_if_busy=True)
        await wait_for_text(tmux, row.pane, "> a wish")


async def test_a_visitor_delivers_before_it_leaves_or_says_that_it_could_not(path: Path, tmux: TmuxServer) -> None:
    async with open_mail(path, server=tmux, visiting=True) as m:
        row = await m.add_agent("helper", server=tmux, argv=PROGRAM, kind="cli", profile="repl")
        id = await m.service.send(row, "by the way", sender="person", defer_if_busy=True)
        assert (await m.store.mail.find(id)).state == "submitted"
        await wait_for_text(tmux, row.pane, "answer to by the way")
        await tmux.send_keys(row.pane, "C-d")
        await eventually(lambda: tmux.pane(row.pane), until=lambda info: info.dead)
        with pytest.raises(FleetError, match="ended"):
            await m.service.send(row, "still there?", sender="person", defer_if_busy=True)


async def test_another_windows_agent_is_left_to_that_window(path: Path) -> None:
    hang = Hang()
    async with open_mail(path, [hang]) as m, open_mail(path, [hang]) as second:
        letter = await m.send("main", "for the first", sender="person")
        await asyncio.gather(m.wait_for_state(letter.id, "acted"), hang.reached.wait())
        assert len(m.published(TurnStarted)) + len(second.published(TurnStarted)) == 1


ENDS = "import time\nprint('> ', end='', flush=True)\ninput()\n"


@pytest.mark.parametrize("stays", [True, False])
async def test_a_message_that_ends_its_program_has_been_delivered(path: Path, tmux: TmuxServer, stays: bool) -> None:
    """Also where the terminal is gone with it, as it is of a server that keeps no ended programs."""
    async with open_mail(path, server=tmux) as m:
        await tmux.spawn("other", ["cat"], cwd=path.parent, env={})  # the server outlives the program
        row = await m.add_agent("brief", kind="cli", profile="repl")
        info = await tmux.spawn(
            f"gsh-agent-{row.id}", [sys.executable, "-c", ENDS], cwd=path.parent, env={}, stays=stays
        )
        socket = str(tmux.socket_path)
        await m.store.agents.update(
            row.id, pane=info.pane, pid=info.pid, socket=socket, tmux_session=info.session, status="idle"
        )
        letter = await m.send(row.id, "exit", sender="person")
        assert (await m.wait_for_state(letter.id, "submitted", "held", "dropped")).state == "submitted"


async def test_a_message_whose_agent_ends_while_it_is_entered_has_been_delivered(path: Path) -> None:
    async with open_mail(path, start=False) as m:
        row = await m.add_agent("brief", kind="cli")
        letter = await m.send(row.id, "exit", sender="person")
        progress = m.service.delivery.progress
        progress.expect(letter, inbox=False)
        await progress.heard(AgentEnded(agent=row.id, name="brief", status="done", report=""))
        await progress.submitted(letter)
        assert (await m.store.mail.find(letter.id)).state == "submitted"


async def test_what_a_program_has_just_said_counts_before_the_record_has_it(path: Path, tmux: TmuxServer) -> None:
    """A status is written down a moment later; a message does not wait for that."""
    async with open_mail(path, server=tmux) as m:
        row = await m.add_agent("helper", server=tmux, argv=PROGRAM, kind="cli", profile="repl")
        await wait_for_text(tmux, row.pane, ">")
        await m.store.agents.update(row.id, status="thinking", status_source="hook")
        m.main.bus.publish(AgentStatusChanged(agent=row.id, status="thinking", source="hook"))
        letter = await m.send(row.id, "mend it", sender="person")
        await m.main.bus.drained()
        assert (await m.store.mail.find(letter.id)).state == "queued"
        m.main.bus.publish(AgentStatusChanged(agent=row.id, status="idle", source="hook"))
        await m.wait_for_state(letter.id, "submitted", "acted")
        assert (await m.store.agents.find(row.id)).status == "thinking"

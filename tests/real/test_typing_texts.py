"""What becomes of a text: taken exactly as it stands, or refused before anything is typed; keys that are answers."""

import sys
from pathlib import Path

import msgspec
import pytest

from gshtui.commands.declaration import CommandError
from gshtui.fleet.core.agent_programs import Programs
from gshtui.programs.pane.pane_view import PaneView
from gshtui.programs.pane.pane_writer import PaneWriter
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import TextRules
from gshtui.programs.session.cli_session import CliSession, SessionError
from gshtui.tmux.server import TmuxServer
from tests.kit.source import ROOT
from tests.kit.storms import some
from tests.kit.tmux import eventually, screen_text, tmux, wait_for_text
from tests.kit.typing_routes import TypingRoutes, typing_routes

__all__ = ["tmux"]
SCREENS = ROOT / "tests" / "fixtures" / "screens" / "claude" / "2.1.197"
pytestmark = pytest.mark.tmux
EXACT = {
    "plain": "Good day",
    "command of its own": "/status",
    "backslash": "path C:\\",
    "exclamation": "!ls",
    "question mark": "what is this?",
    "unicode": "naïve café 日本語 🙂 ‘quotes’",
    "tabs": "one\ttwo\t\tthree",
    "several lines": "one\ntwo\n\n\nfive",
    "a list": "- one\n- two\n  - three",
    "blanks": "   indented, and ends in blanks   ",
    "5 KB": "word " * 1000,
    "many lines": "\n".join(f"line {number}" for number in range(300)),
}


async def taken(d: TypingRoutes) -> list[str]:
    await screen_text(d.server, d.rows[0].pane)
    return d.received_texts()


@pytest.mark.parametrize("name", some(list(EXACT), 2))
async def test_a_text_is_taken_as_it_stands(tmp_path: Path, tmux: TmuxServer, name: str) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_quirky_program()
        text = EXACT[name]
        session = await d.mail.service.programs.session(tmux, row)
        await session.send(text)
        (said,) = await eventually(lambda: taken(d))
        extra = {"backslash": text + " ", "exclamation": " " + text}
        assert said == extra.get(name, text), "nothing but what its profile says"


async def test_what_cannot_be_said_is_refused_before_anything_is_typed(tmp_path: Path, tmux: TmuxServer) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_quirky_program()
        before = await screen_text(tmux, row.pane)
        assert "act on '#'" in await d.refusal("tmux", action="send", pane=row.id, text="# remember")
        letter = await d.send_mail("send", row, "# remember")
        assert "act on '#'" in (await d.mail.wait_for_state(letter.id, "held")).why
        assert await screen_text(tmux, row.pane) == before
        await d.tool("tmux", action="send", pane=row.id, text="and go on")
        assert await eventually(lambda: taken(d)) == ["and go on"], "a message that is held blocks nobody"


async def test_a_text_that_is_not_taken_is_taken_out_again_and_blocks_no_later_one(
    tmp_path: Path, tmux: TmuxServer
) -> None:
    """A program whose profile does not know of its habits: Enter behind a backslash makes a new line there."""
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_quirky_program()
        profile = await Programs().profile(row)
        session = CliSession(tmux, row, msgspec.structs.replace(profile, text=TextRules()))
        for text in ("path C:\\", "!ls", "one\ntwo\\"):
            with pytest.raises(SessionError) as refused:
                await session.send(text)
            assert refused.value.kind == "untaken", text
            assert (await session.read_screen()).draft == ""
        await session.send("later")
        assert await eventually(lambda: taken(d)) == ["later"]


async def test_a_message_that_is_not_taken_at_first_is_sent_again_and_arrives_once(
    tmp_path: Path, tmux: TmuxServer
) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        heard = tmp_path / "heard"
        options = ("--screens", str(SCREENS), "--blink", "0.3", "--work", "0.1", "--heard", str(heard))
        argv = (sys.executable, "-m", "tests.kit.fake_agent", *options)
        row = await d.add_agent(*argv, profile="claude", env={"PYTHONPATH": str(ROOT), "TERM": "xterm-256color"})
        letter = await d.send_mail("send", row, "are you there?")
        assert (await d.mail.wait_for_state(letter.id, "submitted", "acted", "unsure", "held")).state == "submitted"
        assert heard.read_text() == "are you there?\n"


async def test_what_a_person_typed_meanwhile_is_not_taken_out(tmp_path: Path, tmux: TmuxServer) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_quirky_program()
        writer = (await d.mail.service.programs.session(tmux, row)).writer
        entered = await writer.view.read_screen()
        await tmux.type_bytes(row.pane, b"something else")
        await wait_for_text(tmux, row.pane, "something else")
        assert not await writer._clear(entered)  # pyright: ignore[reportPrivateUsage]
        assert "❯ something else" in await screen_text(tmux, row.pane)


BLOCK = "for n in range(2):\n\tprint('n', n)\n\tif n:\n\t\tprint('last')"


async def test_a_block_for_python_is_closed(tmp_path: Path, tmux: TmuxServer) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_agent(sys.executable, "-q", "-i", "-E", profile="python")
        await wait_for_text(tmux, row.pane, ">>>")
        session = await d.mail.service.programs.session(tmux, row)
        for text, shown in (
            (BLOCK, "\nlast\n"),
            ("print('next')", "\nnext\n"),
            ("x = '''\n\na'''\nprint(len(x))", "\n3\n"),
        ):
            await session.send(text)
            assert "..." not in (await wait_for_text(tmux, row.pane, shown)).rpartition(shown)[2]
            await eventually(session.is_still)


@pytest.mark.parametrize(
    "shell", [("bash", "--norc", "-i"), ("zsh", "-f", "-i"), ("sh", "-i")], ids=lambda argv: argv[0]
)
async def test_a_shell_takes_whole_lines_only(tmp_path: Path, tmux: TmuxServer, shell: tuple[str, ...]) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_agent(*shell, profile="shell")
        session = await d.mail.service.programs.session(tmux, row)
        await eventually(session.is_still)
        for text in ('echo "half', "if true; then", "echo C:\\", "for x in 1 2"):
            with pytest.raises(SessionError) as refused:
                await session.send(text)
            assert refused.value.kind == "unfit", text
        assert "half" not in await screen_text(tmux, row.pane)
        await session.send("for n in 1 2\ndo\n  echo n-$n\ndone")
        await wait_for_text(tmux, row.pane, "\nn-2\n")
        await eventually(session.is_still)
        await session.send(f"x={'x' * 900}; echo 'naïve 日本語' ${{#x}}")
        await wait_for_text(tmux, row.pane, "\nnaïve 日本語 900\n")


async def test_keys_answer_the_question_that_was_seen_and_no_other(tmp_path: Path, tmux: TmuxServer) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_quirky_program()
        await tmux.type_bytes(row.pane, b"ask May I\r")
        await wait_for_text(tmux, row.pane, "May I?")
        keys = {"action": "keys", "pane": row.id}
        with pytest.raises(CommandError, match="is asking something that you have not seen: May I") as unseen:
            await d.assess("tmux", keys=["Enter"], **keys)
        assert "> → 1. Yes" in str(unseen.value), "it is shown with its answers"
        asked = await d.assess("tmux", keys=["Enter"], call="c1", **keys)
        assert "which asks: May I?" in asked.subject
        assert "→ 1. Yes" in asked.detail and "Enter would be pressed" in asked.detail
        assert asked.pattern == "", "never for good"
        assert asked.warnings == ("answers a question of quirky (0001)",)
        # While the person thinks, somebody answers it, and the program asks something else.
        await tmux.type_bytes(row.pane, b"2")
        await wait_for_text(tmux, row.pane, "❯")
        await tmux.type_bytes(row.pane, b"ask May I delete all\r")
        await wait_for_text(tmux, row.pane, "delete all?")
        assert "delete all" in await d.refusal("tmux", keys=["Enter"], call="c1", **keys)
        assert d.received_texts() == ["NO to May I"]
        other = await d.assess("tmux", keys=["Enter"], question="delete all?", call="c2", **keys)
        assert other.key != asked.key, "what was allowed for one question is not allowed for another"
        assert (await d.tool("tmux", keys="2", question="delete all?", call="c3", **keys)).data["left"] == []
        assert await eventually(lambda: taken(d), until=lambda said: len(said) == 2) == [
            "NO to May I",
            "NO to May I delete all",
        ]


async def test_keys_stop_where_another_question_comes_in_between(tmp_path: Path, tmux: TmuxServer) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_quirky_program()
        await d.tool("tmux", action="read", pane=row.id)
        done = await d.tool("tmux", action="keys", pane=row.id, keys=["a", "s", "k", "Space", "x", "Enter", "Enter"])
        assert (done.data["keys"][-2:], done.data["left"]) == (["x", "Enter"], ["Enter"])
        assert "now asking a different question" in done.text
        assert d.received_texts() == []


async def test_keys_may_be_given_as_one_text(tmp_path: Path, tmux: TmuxServer) -> None:
    async with typing_routes(tmp_path, tmux) as d:
        row = await d.add_quirky_program()
        done = await d.tool("tmux", action="keys", pane=row.id, keys="Ctrl+U h i Enter")
        assert done.data["keys"] == ["C-u", "h", "i", "Enter"]
        assert await eventually(lambda: taken(d)) == ["hi"]


AGAIN = r"""
import os, signal, tty
tty.setraw(0)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 1, 1)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
words = ["esc interrupt", "esc again to interrupt", "it stopped"]
for word in words:
    os.write(1, b"\x1b[H\x1b[2J" + word.encode())
    while word != words[-1]:
        signal.sigwait({signal.SIGALRM})
        if os.read(0, 100) == b"\x1b":
            break
os.read(0, 100)
"""
"""A busy program, which reads its keys once a second: two Escapes that it reads at once are one key that it ignores."""


async def test_a_key_that_is_wanted_twice_is_read_twice(tmp_path: Path, tmux: TmuxServer) -> None:
    info = await tmux.spawn("gsh-agent-0001", [sys.executable, "-c", AGAIN], cwd=tmp_path, env={})
    await wait_for_text(tmux, info.pane, "esc interrupt")
    loaded = profiles.load()
    view = PaneView(tmux, info.pane, "it", loaded.get("kilo"), loaded.of_process)
    assert (await PaneWriter(view).press(("Escape", "Escape"), again="esc again")).keys == ("Escape", "Escape")
    await wait_for_text(tmux, info.pane, "it stopped")

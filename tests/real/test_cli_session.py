"""Sessions with a program in a real terminal: a stand-in with the looks and the bad habits of the real one."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.fleet.core.agent_programs import Programs
from gshtui.programs.hooks.hook_reports import VARIABLE, HookFeed, open_spool
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.screen.foreground import input_taken
from gshtui.programs.session.cli_session import CliSession, SessionError
from gshtui.programs.session.status_watcher import CliStatus
from gshtui.programs.status.status import KnownStatus
from gshtui.programs.transcripts.conversation_loading import ConversationLoading
from gshtui.system.processes.processes import running_processes
from gshtui.tmux.server import TmuxServer
from tests.kit.home import Home
from tests.kit.tmux import DEADLINE, eventually, screen_text, tmux, wait_for_text

__all__ = ["tmux"]
pytestmark = pytest.mark.tmux
ROOT = Path(__file__).parents[2]
SCREENS = next((ROOT / "tests" / "fixtures" / "screens" / "claude").iterdir())
LOADED = profiles.load(Path("/nonexistent"))
CLAUDE = LOADED.get("claude")
QUICK = msgspec.structs.replace(
    CLAUDE, timing=msgspec.structs.replace(CLAUDE.timing, settle=0.1, shown=1.0, veto=0.3, start=DEADLINE)
)
"""For what comes of a program that does not do what it is asked: it is soon given up."""
PATIENT = msgspec.structs.replace(QUICK, timing=msgspec.structs.replace(QUICK.timing, shown=DEADLINE))
"""For a program that does, however slow the machine is."""


async def started(tmux: TmuxServer, *options: str, spool: str = "", number: str = "0001") -> AgentRow:
    """The stand-in in a pane of its own."""
    argv = [sys.executable, "-m", "tests.kit.fake_agent", "--screens", str(SCREENS), *options]
    env = {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **({VARIABLE: spool} if spool else {})}
    info = await tmux.spawn(f"gsh-agent-{number}", argv, cwd=ROOT, env=env, width=120, height=40)
    return AgentRow(id=number, name="stand-in", kind="cli", pane=info.pane, pid=info.pid, created=1.0)


async def read_answer(session: CliSession, words: str) -> str:
    """Wait until the answer has these words and the program is idle again; returns the whole answer."""
    await eventually(session.text_so_far, until=lambda said: words in said)
    await eventually(session.is_still)
    return await session.answer()


async def test_a_turn_from_start_to_exit(tmux: TmuxServer) -> None:
    session = CliSession(tmux, await started(tmux), PATIENT)
    assert (await session.start()).status == "idle"
    told: list[str] = []
    await session.send("Good day", told=told.append)
    assert told == ["typed", "submitted"]
    assert "Good day" not in await read_answer(session, "Answer number 1.")
    await session.send("And again\nover two lines")
    second = await read_answer(session, "Answer number 2.")
    assert "Answer number 1." not in second, "only what came after this turn's marker"
    assert await session.answer() == "", "an answer is returned once"
    assert await session.exit(timeout=30)


class Reading(ConversationLoading):
    """A program that shows its input, and has yet to read its conversation until that is `over`."""

    over: bool = False

    @property
    def possible(self) -> bool:
        return not self.over

    def is_loading(self, lines: Sequence[str] = ()) -> bool:
        return not self.over


@pytest.mark.parametrize("even_busy", [False, True])
async def test_nothing_is_typed_before_its_conversation_is_read(tmux: TmuxServer, even_busy: bool) -> None:
    row, reading = await started(tmux), Reading(PATIENT, 0, "", {})
    session, told = CliSession(tmux, row, PATIENT, loading=reading), list[str]()

    async def statuses() -> list[str]:
        return told

    status = CliStatus(tmux, row, PATIENT, lambda known: told.append(known.status), loading=reading)
    await status.start()
    try:
        with pytest.raises(SessionError) as starts:
            await session.start(timeout=1.0)
        with pytest.raises(SessionError) as busy:
            await session.send("Good day", even_busy=even_busy)
        assert (starts.value.kind, busy.value.kind) == ("starting", "busy")
        assert "Good day" not in await screen_text(tmux, row.pane)
        assert "idle" not in told
        reading.over = True
        await session.start()
        await session.send("Good day")
        await read_answer(session, "Answer number 1.")
        await eventually(statuses, until=lambda told: "idle" in told)
    finally:
        await status.stop()


async def test_what_is_half_typed_is_not_overwritten(tmux: TmuxServer) -> None:
    row = await started(tmux)
    session = CliSession(tmux, row, PATIENT)
    await session.start()
    await tmux.type_bytes(row.pane, b"half a thou")
    await wait_for_text(tmux, row.pane, "half a thou")
    with pytest.raises(SessionError) as refused:
        await session.send("from elsewhere")
    assert refused.value.kind == "draft"
    assert "from elsewhere" not in await screen_text(tmux, row.pane)
    await tmux.type_bytes(row.pane, b"ght")
    assert "half a thought" in await wait_for_text(tmux, row.pane, "half a thought")


async def test_nothing_is_typed_into_a_question(tmux: TmuxServer) -> None:
    row = await started(tmux)
    session = CliSession(tmux, row, PATIENT)
    await session.start()
    await session.send("do:ask")
    await wait_for_text(tmux, row.pane, "Do you want to proceed")
    with pytest.raises(SessionError) as refused:
        await session.send("yes, whatever")
    assert refused.value.kind == "waiting"
    assert "Do you want to proceed?" in refused.value.message
    assert "Answer number" not in await screen_text(tmux, row.pane)


async def test_a_program_at_work_is_left_alone_and_can_be_interrupted(tmux: TmuxServer) -> None:
    row = await started(tmux, "--work", "60")
    session = CliSession(tmux, row, PATIENT)
    await session.start()
    await session.send("take your time")
    with pytest.raises(SessionError) as refused:
        await session.send("hurry up")
    assert refused.value.kind == "busy"
    await session.interrupt()
    await read_answer(session, "Interrupted")


async def test_enter_comes_late_enough_for_a_program_that_swallows_it(tmux: TmuxServer) -> None:
    session = CliSession(tmux, await started(tmux, "--swallow", "0.12"), QUICK)
    await session.start()
    await session.send("hello")
    await read_answer(session, "Answer number 1.")


async def test_a_lost_enter_is_told_and_the_text_is_taken_out_again(tmux: TmuxServer) -> None:
    row = await started(tmux, "--deaf")
    session = CliSession(tmux, row, QUICK)
    await session.start()
    told: list[str] = []
    with pytest.raises(SessionError) as lost:
        await session.send("hello", told=told.append)
    assert lost.value.kind == "untaken"
    assert told == ["typed"]
    assert "hello" not in await screen_text(tmux, row.pane)


async def test_a_text_that_comes_back_into_the_input_was_not_taken(tmux: TmuxServer) -> None:
    """As where Enter comes while the program paints everything anew."""
    row = await started(tmux, "--blink", "0.3")
    session, told = CliSession(tmux, row, QUICK), list[str]()
    await session.start()
    await session.send("hello", told=told.append)
    assert told == ["typed", "submitted"]
    await read_answer(session, "Answer number 1.")


async def test_an_enter_that_does_nothing_is_pressed_again_while_the_text_stands_there(tmux: TmuxServer) -> None:
    row = await started(tmux, "--ignore", "2")
    session, told = CliSession(tmux, row, QUICK), list[str]()
    await session.start()
    await session.send("hello", told=told.append)
    assert told == ["typed", "submitted"]
    await read_answer(session, "Answer number 1.")


async def test_a_program_that_has_yet_to_read_the_enter_gets_no_other_key(tmux: TmuxServer, tmp_path: Path) -> None:
    """A second Enter would answer what the first one leads to, and whatever clears would clear another text."""
    heard = tmp_path / "heard"
    go_on = tmp_path / "go-on"
    session = CliSession(tmux, await started(tmux, "--heard", str(heard), "--stall", str(go_on)), QUICK)
    await session.start()
    with pytest.raises(SessionError, match="has not read the Enter yet") as unsure:
        await session.send("do:ask")
    assert unsure.value.kind == "unsure"
    assert await session.writer.whereabouts("do:ask") == "input"
    go_on.touch()
    await eventually(session.read_screen, until=lambda seen: seen.reading.status == "waiting")
    assert heard.read_text() == "do:ask\n"


@pytest.mark.parametrize("sent", [True, False])
async def test_what_is_left_in_the_input_is_entered_or_cleared_for_a_person(
    tmux: TmuxServer, tmp_path: Path, sent: bool
) -> None:
    row = await started(tmux, "--ignore", "1", "--stall", str(tmp_path / "go-on"))
    session = CliSession(tmux, row, QUICK)
    await session.start()
    with pytest.raises(SessionError, match="has not read the Enter yet"):
        await session.send("hello")
    (tmp_path / "go-on").touch()
    await eventually(lambda: asyncio.to_thread(input_taken, row.pid))
    assert await session.writer.whereabouts("hello") == "input"
    with pytest.raises(SessionError, match="without submitting it"):
        await session.send("another")  # which neither mixes with it nor takes it out
    # The Enter that it had yet to read may be the one that does nothing.
    if sent:
        await eventually(lambda: session.writer.enter_again("hello"))
        assert "hello" not in (await session.read_screen()).draft
    else:
        await eventually(lambda: session.writer.take_out("hello"))
        assert (await session.read_screen()).draft == ""
        with pytest.raises(SessionError, match="no longer in the input"):
            await session.writer.enter_again("hello")


async def test_a_program_that_needs_long_to_start_is_waited_for(tmux: TmuxServer) -> None:
    row = await started(tmux, "--delay", "1.5")
    session = CliSession(tmux, row, PATIENT)
    with pytest.raises(SessionError) as early:
        await session.start(timeout=0.2)
    assert early.value.kind == "starting"
    with pytest.raises(SessionError) as unseen:
        await session.send("too early")
    assert unseen.value.kind == "busy"
    await session.start()
    await session.send("now")
    await read_answer(session, "Answer number 1.")


async def test_a_program_that_ended_says_so(tmux: TmuxServer) -> None:
    info = await tmux.spawn("gsh-agent-0001", ["false"], cwd=ROOT, env={})
    session = CliSession(tmux, AgentRow(id="0001", name="gone", kind="cli", pane=info.pane), PATIENT)
    with pytest.raises(SessionError) as ended:
        await session.start()
    assert ended.value.kind == "ended"


async def test_a_long_paste_arrives_whole(tmux: TmuxServer) -> None:
    session = CliSession(tmux, await started(tmux), PATIENT)
    await session.start()
    text = "\n".join(f"line {number} of many" for number in range(2_000))
    await session.send(text)
    await read_answer(session, "Answer number 1.")


async def test_a_stubborn_program_is_gone_when_it_is_killed(tmux: TmuxServer) -> None:
    row = await started(tmux, "--stubborn")
    await CliSession(tmux, row, PATIENT).start()
    process = psutil.Process(row.pid)
    await tmux.kill_pane(row.pane, grace=0.3)
    assert running_processes([process]) == []


async def test_two_texts_at_once_are_sent_one_after_the_other(tmux: TmuxServer) -> None:
    row = await started(tmux, "--work", "0.05")
    session = CliSession(tmux, row, PATIENT)
    await session.start()
    results = await asyncio.gather(session.send("first"), session.send("second"), return_exceptions=True)
    refused = [result for result in results if isinstance(result, SessionError)]
    assert all(error.kind == "busy" for error in refused)
    text = await wait_for_text(tmux, row.pane, "Answer number 1.")
    assert "firstsecond" not in text


async def test_a_python_prompt_is_a_session_too(tmux: TmuxServer) -> None:
    argv = [sys.executable, "-q", "-i", "-E"]
    info = await tmux.spawn("gsh-agent-0001", argv, cwd=ROOT, env={"TERM": "xterm-256color"})
    row = AgentRow(id="0001", name="python", kind="cli", pane=info.pane)
    session = CliSession(tmux, row, LOADED.for_argv(["python3"]))
    assert (await session.start()).status == "idle"
    await session.send("print(6 * 7)")
    assert await read_answer(session, "42") == "42"
    await session.send("import sys; sys.stdin.readline()")  # it prints nothing for as long as it runs, and is let run
    assert (trouble := await session.obstacle()) is not None and trouble.kind == "busy"
    await session.interrupt()
    await eventually(session.is_still)
    assert "KeyboardInterrupt" in await session.answer()
    assert await session.exit(timeout=30)


async def test_no_text_answers_a_choice_of_a_program_that_nobody_knows(tmux: TmuxServer) -> None:
    asks = "printf 'Do it?\\n  ▸ Sure\\n    Rather not\\n'; read -rsn1 key; echo \"got $key\"; read -r"
    info = await tmux.spawn("gsh-agent-0001", ["bash", "-c", asks], cwd=ROOT, env={"TERM": "xterm-256color"})
    row = AgentRow(id="0001", name="mystery", kind="cli", pane=info.pane, pid=info.pid)
    session = CliSession(tmux, row, LOADED.for_argv(["mystery"]))
    await wait_for_text(tmux, row.pane, "Rather not")
    with pytest.raises(SessionError) as refused:
        await session.send("hello")
    assert refused.value.kind == "waiting"
    await tmux.send_keys(row.pane, "y")
    assert "got h" not in await wait_for_text(tmux, row.pane, "got y")


class Statuses:
    """Takes what a watcher says."""

    def __init__(self) -> None:
        self.all: list[KnownStatus] = []
        self._came = asyncio.Event()

    def __call__(self, known: KnownStatus) -> None:
        self.all.append(known)
        self._came.set()

    async def until(self, right: Callable[[KnownStatus], bool]) -> KnownStatus:
        async with asyncio.timeout(DEADLINE):
            while True:
                found = next((known for known in self.all if right(known)), None)
                if found is not None:
                    return found
                self._came.clear()
                await self._came.wait()

    def forget(self) -> None:
        """Only what comes from now on."""
        self.all.clear()


async def followed(
    tmux: TmuxServer, row: AgentRow, taken: Statuses, feed: HookFeed | None = None, **more: Any
) -> tuple[CliStatus, Callable[[], Awaitable[None]]]:
    status = CliStatus(tmux, row, PATIENT, taken, feed=feed, **more)
    await status.start()
    return status, status.stop


async def test_status_comes_from_hooks_first(tmux: TmuxServer, tmp_path: Path) -> None:
    spool = open_spool(tmp_path, "0001")
    row = await started(tmux, "--session-id", "abcdef-123456", "--work", "0.3", spool=str(spool))
    bound: list[str] = []
    acted: list[float] = []
    taken, feed = Statuses(), HookFeed(tmp_path)
    _, stop = await followed(tmux, row, taken, feed, bound=bound.append, acted=acted.append)
    try:
        await taken.until(lambda known: (known.status, known.source) == ("idle", "hook"))
        assert bound == ["abcdef-123456"]
        taken.forget()
        sent = await CliSession(tmux, row, PATIENT).send("do:ask")
        waiting = await taken.until(lambda known: known.status == "waiting" and known.source == "hook")
        assert waiting.doing == "Bash touch made.txt"
        assert waiting.needs_you
        assert acted and acted[0] <= sent.at + 1
        await tmux.send_keys(row.pane, "Enter")
        await taken.until(lambda known: known.status == "thinking")
        await taken.until(lambda known: known.status == "idle" and known.doing == "Answer number 1.")
    finally:
        await stop()
        await feed.close()


async def test_a_report_may_come_before_the_input_line(tmux: TmuxServer, tmp_path: Path) -> None:
    """Who hears that it is idle may write at once, though nothing is drawn yet."""
    spool = open_spool(tmp_path, "0001")
    row = await started(tmux, "--lag", "0.4", spool=str(spool))
    await eventually(lambda: asyncio.to_thread(spool.read_bytes), until=lambda told: b"SessionStart" in told)
    session = CliSession(tmux, row, PATIENT)
    await session.send("Good day")
    assert "Good day" not in await read_answer(session, "Answer number 1.")


async def test_an_interrupt_that_no_hook_tells_is_seen(tmux: TmuxServer, tmp_path: Path) -> None:
    spool = open_spool(tmp_path, "0001")
    row = await started(tmux, "--work", "60", spool=str(spool))
    taken, feed = Statuses(), HookFeed(tmp_path)
    _, stop = await followed(tmux, row, taken, feed)
    try:
        session = CliSession(tmux, row, PATIENT)
        await session.start()
        await session.send("work")
        await taken.until(lambda known: (known.status, known.source) == ("thinking", "hook"))
        taken.forget()
        await session.interrupt()
        await taken.until(lambda known: (known.status, known.source) == ("idle", "screen"))
    finally:
        await stop()
        await feed.close()


async def test_status_without_hooks_is_read_from_the_screen(tmux: TmuxServer, tmp_path: Path) -> None:
    row = await started(tmux, "--go", str(tmp_path / "go"))
    taken = Statuses()
    _, stop = await followed(tmux, row, taken)
    try:
        session = CliSession(tmux, row, PATIENT)
        await session.start()
        await taken.until(lambda known: known.status == "idle")
        taken.forget()
        await session.send("think")
        thinking = await taken.until(lambda known: known.status == "thinking")
        assert thinking.source in ("screen", "title")
        (tmp_path / "go").touch()
        await taken.until(lambda known: known.status == "idle")
        taken.forget()
        await session.exit()
        ended = await taken.until(lambda known: known.status == "done")
        assert ended.source == "process"
    finally:
        await stop()


async def test_a_killed_terminal_is_told_of(tmux: TmuxServer) -> None:
    row = await started(tmux)
    taken = Statuses()
    _, stop = await followed(tmux, row, taken)
    try:
        await taken.until(lambda known: known.status == "idle")
        await tmux.kill_pane(row.pane, grace=0.3)
        await taken.until(lambda known: known.status in ("lost", "failed"))
    finally:
        await stop()


def asked(at: float) -> str:
    """What a hook reports of a question."""
    told = {"at": at, "program": "claude", "event": "PermissionRequest", "tool": "Write", "subject": "w.txt"}
    return json.dumps(told)


async def test_a_question_that_is_gone_is_not_told_of_the_next_one(tmux: TmuxServer, tmp_path: Path) -> None:
    """It was taken back with Escape, which no hook tells; what is open later is something else."""
    spool = open_spool(tmp_path, "0001")
    row = await started(tmux)
    taken = Statuses()
    _, stop = await followed(tmux, row, taken, HookFeed(tmp_path))
    try:
        await taken.until(lambda known: known.status == "idle")
        with spool.open("a") as file:
            file.write(asked(time.time()) + "\n")
        await taken.until(lambda known: (known.status, known.doing) == ("waiting", "Write w.txt"))
        taken.forget()
        await taken.until(lambda known: (known.status, known.source) == ("idle", "screen"))
        taken.forget()
        await CliSession(tmux, row, PATIENT).send("do:ask", even_busy=True)
        known = await taken.until(lambda known: known.source == "screen" and known.status == "waiting")
        assert known.doing == "Do you want to proceed?"
    finally:
        await stop()


async def test_a_question_of_long_ago_is_nobodys_news(tmux: TmuxServer, tmp_path: Path) -> None:
    spool = open_spool(tmp_path, "0001")
    with spool.open("a") as file:
        file.write(asked(time.time() - 100) + "\n")
    row = await started(tmux)
    await CliSession(tmux, row, PATIENT).start()
    taken = Statuses()
    _, stop = await followed(tmux, row, taken, HookFeed(tmp_path))
    try:
        await taken.until(lambda known: known.status == "idle")
        assert [known.status for known in taken.all if known.status == "waiting"] == []
    finally:
        await stop()


FLICKERS = """
import itertools, select
for number in itertools.count():
    print("\\x1b[H\\x1b[2J" + ("working\\n" if number % 2 else "") + INPUT, end="", flush=True)
    select.select([], [], [], 0.1)
"""
"""A program whose screen says now this, now that, for ever."""
FLICKERING = """
title = "Flickers"
programs = ["flickers"]
[input]
line = "^>"
[[rules]]
status = "thinking"
all = ["working"]
[[rules]]
status = "idle"
all = ["^"]
[timing]
start = 1.0
settle = 0.5
"""


@pytest.mark.parametrize("line", ["> ", ""], ids=["input", "none"])
async def test_a_program_that_never_settles_is_up_once_it_shows_its_input(
    tmux: TmuxServer, home: Home, tmp_path: Path, line: str
) -> None:
    folder = home.config / "gsh" / "profiles"
    folder.mkdir(parents=True)
    (folder / "flickers.toml").write_text(FLICKERING)
    argv = [sys.executable, "-c", FLICKERS.replace("INPUT", repr(line))]
    pane = await tmux.spawn("gsh-agent-0001", argv, cwd=tmp_path, env={}, width=80, height=24)
    row = AgentRow(
        id="0001",
        name="f",
        kind="cli",
        profile="flickers",
        pane=pane.pane,
        pid=pane.pid,
        argv=tuple(argv),
        cwd=str(tmp_path),
    )
    assert (await Programs().booted(tmux, row) == "") is bool(line)


SUSPENDS = r"""
import os, signal, sys, termios, tty

def back(*_):
    tty.setraw(0)
    sys.stdout.write("\x1b[H\x1b[2JHere again.\r\n" + RULE + "\r\n❯ \r\n" + RULE)
    sys.stdout.flush()

RULE, before = "─" * 80, termios.tcgetattr(0)
signal.signal(signal.SIGCONT, back)
back()
while key := os.read(0, 1):
    if key == b"\x1a":
        termios.tcsetattr(0, termios.TCSANOW, before)
        sys.stdout.write("\x1b[H\x1b[2JIt is suspended.\n")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGTSTP)
"""
"""As Claude Code and OpenCode do at `ctrl+z`. The system discards the signal where there is no shell."""


async def test_a_program_that_suspends_itself_goes_on_where_no_shell_would_continue_it(tmux: TmuxServer) -> None:
    env = {"TERM": "xterm-256color"}
    info = await tmux.spawn("gsh-agent-0001", [sys.executable, "-c", SUSPENDS], cwd=ROOT, env=env, width=80, height=24)
    row = AgentRow(id="0001", name="stand-in", kind="cli", pane=info.pane, pid=info.pid, created=1.0)
    status = CliStatus(tmux, row, QUICK, lambda _: None)
    await status.start()
    try:
        await wait_for_text(tmux, info.pane, "Here again")
        await eventually(status.looked.wait)
        await tmux.type_bytes(info.pane, b"\x1a")
        await eventually(lambda: screen_text(tmux, info.pane), until=lambda text: "suspended" in text)
        await wait_for_text(tmux, info.pane, "Here again")
    finally:
        await status.stop()

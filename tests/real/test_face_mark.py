"""A face of ours is known by its process, and no tool types where one takes answers."""

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.commands.declaration import CommandError
from gshtui.headless.program.diagnosis import examine_record
from gshtui.settings.loader import load
from gshtui.system.face_mark import face_in_terminal
from gshtui.tmux.server import TmuxServer
from tests.kit.command import command, environment
from tests.kit.home import Home
from tests.kit.native_agents import prepare_spec, relay_window
from tests.kit.terminal_tools import TerminalTools
from tests.kit.tmux import tmux, wait_for_text
from tests.real.test_always import pressed

__all__ = ["tmux"]
SHELL = "import sys; print('shell', flush=True); sys.stdin.read()"
FACE = """
import sys
from gshtui.system.face_mark import mark_face
mark_face()
print("face", flush=True)
sys.stdin.read()
"""
WITHIN = """
import pty, subprocess, sys
inner, terminal = pty.openpty()
face = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=terminal, stdout=sys.stdout, start_new_session=True)
face.wait()
"""
INHERITS = """
import subprocess, sys
from gshtui.system.face_mark import mark_face
mark_face()
print(subprocess.run(["readlink", "-f", *sys.argv[1:]], capture_output=True, text=True, close_fds=False).stdout)
"""


def in_terminal(*argv: str) -> tuple[subprocess.Popen[bytes], int]:
    """A program as the leader of a session with a terminal of its own, and that terminal's other side."""
    ours, theirs = pty.openpty()
    start = (
        "import os, sys; os.setsid(); os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])"
    )
    child = subprocess.Popen([sys.executable, "-c", start, *argv], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    return child, ours


@pytest.mark.parametrize(
    ("argv", "face"),
    [(("-c", FACE), True), (("-c", WITHIN, FACE), True), (("-c", SHELL), False)],
    ids=["its own", "in a terminal within it", "another program"],
)
def test_it_is_found_by_the_process_of_its_terminal(argv: tuple[str, ...], face: bool) -> None:
    child, ours = in_terminal(sys.executable, *argv)
    try:
        said = b""
        while b"face" not in said and b"shell" not in said:
            said += os.read(ours, 1_000)
        found = face_in_terminal(child.pid)
        assert bool(found) is face and face_in_terminal(os.getpid()) in (0, found)
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    assert face_in_terminal(child.pid) == 0, "a process that has ended is none"


def test_what_a_face_starts_is_none() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INHERITS, *(f"/proc/self/fd/{number}" for number in range(64))],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "gsh-tui-face" not in ran.stdout


@pytest.mark.tmux
async def test_no_tool_answers_a_question_at_a_shell_prompt(tmux: TmuxServer, tmp_path: Path) -> None:
    """Somebody asks our agent something in the shared shell: its question waits for a person's own keys."""
    (tmp_path / ".git").mkdir()
    terminals = TerminalTools(tmux, tmp_path)
    pane = await terminals.open_shell()  # a shell's environment has no variables of ours
    line = shlex.join(["env", "GSH_HUB__KEEP=alone", *command(["gsh", "run touch made"])])
    await terminals.type_as_person(pane, line + "\r")
    await wait_for_text(tmux, pane, "1 allow once")
    for arguments in ({"action": "keys", "keys": ["1"], "question": "1 allow once"}, {"action": "send", "text": "1"}):
        for agent in ("main", "person"):
            with pytest.raises(CommandError, match="only a person types"):
                await terminals.run("tmux", agent=agent, pane="main", **arguments)
    assert not (tmp_path / "made").exists()
    await pressed(tmux, pane, "1", made=tmp_path / "made")


@pytest.mark.tmux
async def test_no_tool_answers_in_an_agents_own_pane_whatever_the_roster_says(tmux: TmuxServer, tmp_path: Path) -> None:
    """The row says that the pane belongs to another vendor's program; its process says what it is."""
    terminals = TerminalTools(tmux, tmp_path)
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "run touch made", hub=hub.relay.socket)
        os.environ |= environment()
        row = await terminals.add_agent(*command(["agent", "run", "--spec", str(file)]), kind="cli")
        await hub.heard.wait_for(ApprovalRequested)
        await wait_for_text(tmux, row.pane, "1 allow once")
        for arguments in ({"action": "keys", "keys": ["1", "Enter"]}, {"action": "send", "text": "1"}):
            with pytest.raises(CommandError, match="only a person types"):
                await terminals.run("tmux", pane=row.id, **arguments)
        assert not (tmp_path / "made").exists()


async def test_where_no_process_can_be_marked_the_doctor_says_so(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def status() -> str:
        return next(one.status for one in await examine_record(load(tmp_path)) if one.name == "answers")

    assert await status() == "ok"
    monkeypatch.delattr(os, "memfd_create")
    assert await status() == "problem"

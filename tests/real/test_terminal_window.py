"""The whole window in a real terminal: gsh-tui in one tmux, its agents in another, driven by keys alone."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from gshtui.tmux.server import TmuxServer
from tests.kit.endings import closing_async
from tests.kit.tmux import eventually, private_server, screen_text, short_folder, wait_for_text

ROOT = Path(__file__).parent.parent.parent


class WindowHarness:
    """A person in front of the window."""

    def __init__(self, outer: TmuxServer, pane: str, agents: TmuxServer) -> None:
        self.outer, self.pane, self.agents = outer, pane, agents

    async def keys(self, *names: str) -> None:
        await self.outer.send_keys(self.pane, *names)

    async def type(self, text: str) -> None:
        await self.outer.type_bytes(self.pane, text.encode())

    async def size(self) -> tuple[int, int]:
        """Columns and rows of the agent's terminal."""
        [info] = [info for info in await self.agents.panes() if info.session == "gsh-agent-0001"]
        return info.width, info.height

    async def sees(self, *texts: str) -> str:
        """Wait until the window shows all of this."""
        return await eventually(
            lambda: screen_text(self.outer, self.pane),
            until=lambda seen: all(text in seen for text in texts),
            within=60,
        )


@asynccontextmanager
async def open_window() -> AsyncGenerator[WindowHarness]:
    """A fresh home with the window open in it."""
    with short_folder() as folder:
        async with private_server() as outer:
            project, runtime = folder / "home" / "aurora", folder / "run"
            project.mkdir(parents=True)
            runtime.mkdir(mode=0o700)
            env = {
                "HOME": str(folder / "home"),
                "GSH_UI__FIRST_QUESTIONS": "false",
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "SHELL": "/bin/sh",
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "TMUX_TMPDIR": str(folder),
                "XDG_RUNTIME_DIR": str(runtime),
            }
            argv = [sys.executable, "-m", "gshtui"]
            info = await outer.spawn("desk", argv, cwd=project, env=env, width=150, height=40)
            async with closing_async(TmuxServer(socket_path=folder / f"tmux-{os.getuid()}" / "gsh")) as agents:
                yield WindowHarness(outer, info.pane, agents)


async def test_an_agent_is_spawned_opened_typed_into_attached_and_left() -> None:
    async with open_window() as person:
        await person.sees("Ask for anything", "to main")
        await person.type("/spawn name=tester cli='sh -i'")
        await person.sees("cli='sh -i'")
        await person.keys("Enter")
        await person.sees("○ tester", "idle")
        await person.keys("M-2")
        await person.sees("Open")
        await person.keys("Down")
        await person.sees("idle, by process")
        await person.keys("Enter")
        await person.sees("▌tester", "attach -t =gsh-agent-0001", "f6, then enter to type into tester")
        await person.keys("F6", "Enter")
        await person.sees("Typing in tester", "ctrl+] stop typing")
        await person.type("echo hi-$((40+2))\r")
        await person.sees("hi-42")
        await person.keys("C-]")
        await person.sees("enter to type into tester")
        await person.keys("C-o")
        whole = await person.sees("hi-42", "ctrl+b d returns to gsh-tui")
        assert "2 Agents" not in whole
        await eventually(person.size, until=lambda size: size == (150, 40))
        await person.type("echo from-the-whole-screen\r")
        await person.keys("C-b", "d")
        await person.sees("2 Agents", "enter to type into tester", "\u2502from-the-whole-screen")
        await eventually(person.size, until=lambda size: size[0] < 150)
        await person.keys("F9")
        await person.sees("▌gsh-main", "enter to type into gsh-main")
        await person.keys("C-q")
        await eventually(lambda: person.outer.pane(person.pane), until=lambda info: info.dead)
        left = {info.session: info.pane for info in await person.agents.panes() if not info.dead}
        assert sorted(left) == ["gsh-agent-0001", "gsh-main"], "agents outlive the window"
        await wait_for_text(person.agents, left["gsh-agent-0001"], "hi-42")


async def test_a_command_that_needs_a_terminal_gets_one() -> None:
    """A full-screen program runs in the shared shell at once; one that failed without a terminal is typed there.

    When what was entered there has ended, the keys are the input's again, unasked, and the tab of before is in front.
    """
    async with open_window() as person:
        await person.sees("Ask for anything", "to main")
        await person.keys("M-Up")
        await person.sees("escape to the input")
        await person.keys("Escape", *"/join", "Space", *"lobby", "Enter")  # comes in one piece, as alt+/ would
        await person.sees("▌lobby")
        await person.type("!less --prompt=reading /etc/passwd")
        await person.keys("Enter")
        await person.sees("▌gsh-main", "reading", "root:", "Typing in gsh-main", "full-screen program")
        await person.type("q")
        await person.sees("▌lobby", "enter send")
        await person.type("!test -t 0 || { echo stdin is not a terminal; exit 3; }")
        await person.keys("Enter")
        await person.sees("needs a terminal", "▌gsh-main", "Typing in gsh-main")
        shown = await person.sees("exit 3; }")
        assert "stdin is not a terminal\n" not in shown.split("exit 3; }")[-1], "it is typed, and not entered"

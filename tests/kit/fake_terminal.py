"""A terminal without a tmux: frames that a test shows, a past that it can be asked for, and what was typed.

The screens are as a mirror hands them out: rows that stand alone, in text and colours.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

from msgspec.structs import replace
from textual.app import App

from gshtui.bus.agent_data import AgentRow
from gshtui.tmux.frames import Frame
from gshtui.tmux.panes import PaneInfo
from gshtui.ui.terminal.terminal_feature import TerminalFeature
from gshtui.ui.terminal.terminals import Terminal, TerminalRegistry, TerminalWatch
from gshtui.ui.window.app import Workbench
from tests.kit.window import NOW, Window, WindowOptions

WORKING = (
    "\x1b[38;2;215;119;87m ▐▛███▜▌\x1b[0m   \x1b[1mHelper\x1b[0m v1.4",
    "\x1b[38;2;215;119;87m▝▜█████▛▘\x1b[0m  ~/src/aurora",
    "",
    "\x1b[2m> Make the parser take empty lines\x1b[0m",
    "",
    "\x1b[32m●\x1b[0m \x1b[1mRead\x1b[0m(src/parser.py)",
    "  ⎿  Read \x1b[1m142\x1b[0m lines",
    "",
    "\x1b[32m●\x1b[0m \x1b[1mUpdate\x1b[0m(src/parser.py)",
    "  ⎿  \x1b[48;2;33;58;43m 88 + \x1b[38;2;166;226;46mif not line.strip():        \x1b[0m",
    "     \x1b[48;2;33;58;43m 89 + \x1b[38;2;166;226;46m    continue                \x1b[0m",
    "     \x1b[48;2;74;34;29m 90 - \x1b[38;2;249;38;114mline = line.rstrip()        \x1b[0m",
    "",
    "\x1b[38;2;215;119;87m✳ Pondering… \x1b[2m(12s · ↓ 1.2k tokens · esc to interrupt)\x1b[0m",
    "\x1b[90m──────────────────────────────────────────────────────────────\x1b[0m",
    "> 日本語 and \x1b[7mé\x1b[0m",
    "\x1b[90m──────────────────────────────────────────────────────────────\x1b[0m",
    "  \x1b[36m? for shortcuts\x1b[0m      \x1b[38;5;208mcontext 42 %\x1b[0m \x1b[31;1;4mred\x1b[0m \x1b[44;97m blue",
)
"""A coding agent at work, with true colours, the palette's, and wide characters."""

SHELL = (
    "\x1b[32mme@host\x1b[0m:\x1b[34m~/src/aurora\x1b[0m$ make test",
    "\x1b[1mcollected 214 items\x1b[0m",
    "\x1b[32m....................\x1b[31mF\x1b[32m...............\x1b[0m",
    "\x1b[31mFAILED\x1b[0m tests/test_parser.py::test_empty",
    "\x1b[32mme@host\x1b[0m:\x1b[34m~/src/aurora\x1b[0m$ ",
)


def info(**different: Any) -> PaneInfo:
    """How a pane is, but for what the test says."""
    usual = PaneInfo(
        pane="%1",
        window="@1",
        session="gsh-agent-0001",
        pid=4_242,
        command="helper",
        title="",
        dead=False,
        exit_status=None,
        width=80,
        height=24,
        cursor_x=0,
        cursor_y=0,
        cursor_visible=True,
        alternate=False,
        mouse=False,
        attached=0,
        activity=NOW,
        bell=False,
    )
    return replace(usual, **different)


class FakeTerminal:
    """One terminal; also the hold that a tab has on it."""

    def __init__(self, past: tuple[str, ...] = ()) -> None:
        self.past = past
        self.sizes: list[tuple[int, int]] = []
        self.shown = True
        self.pokes = 0
        self.made_readable = 0
        self.typed: list[str | bytes] = []
        self.asked: list[tuple[int, int]] = []
        self.screen: tuple[str, ...] = ()
        self._on_frame: Callable[[Frame], None] | None = None
        self._last: Frame | None = None

    @property
    def data(self) -> bytes:
        """The bytes that were typed."""
        return b"".join(piece for piece in self.typed if isinstance(piece, bytes))

    def show(self, rows: tuple[str, ...], *, gone: bool = False, typed: str = "", **different: Any) -> None:
        """Have the tab see this screen, which may have nothing new but text at the cursor."""
        width, height = self.sizes[-1]
        padded = (rows + ("",) * height)[:height]
        if padded[: len(rows)] != rows:
            raise AssertionError(f"{len(rows)} rows do not fit into {height}")
        known = {"width": width, "height": height, "history": len(self.past)}
        before = self._last
        known_rows = before.lines if before is not None and len(before.lines) == height else ()
        changed = tuple(at for at, row in enumerate(padded) if not known_rows or row != known_rows[at])
        seq = before.seq + 1 if before is not None else 1
        self.screen = padded
        self._last = Frame("%1", padded, changed, info(**(known | different)), seq, gone, typed)
        assert self._on_frame is not None
        self._on_frame(self._last)

    # What a `Terminal` does

    def watch(self, on_frame: Callable[[Frame], None], width: int, height: int) -> TerminalWatch:
        self._on_frame = on_frame
        self.sizes.append((width, height))
        return self

    async def press(self, *names: str) -> None:
        self.typed += names

    async def type(self, data: bytes) -> None:
        self.typed.append(data)

    async def paste(self, text: str) -> None:
        self.typed.append(f"paste:{text}")

    async def make_readable(self) -> None:
        self.made_readable += 1

    def way(self) -> str:
        return "live 0.8 ms"

    async def visit(self, app: App[Any]) -> str:
        self.typed.append("visit")
        return ""

    # What a `TerminalWatch` does

    def resize(self, width: int, height: int) -> None:
        self.sizes.append((width, height))

    def set_visible(self, shown: bool) -> None:
        self.shown = shown

    def capture_soon(self) -> None:
        self.pokes += 1

    async def read_history(self, start: int, end: int) -> list[str]:
        self.asked.append((start, end))
        lines, zero = [*self.past, *self.screen], len(self.past)
        return lines[max(0, zero + start) : max(0, zero + end + 1)]

    def close(self) -> None:
        self._on_frame = None


async def _no_hub() -> Any:
    raise AssertionError("there is no hub behind reels")


class FakeTerminals(TerminalRegistry):
    """Hands out reels."""

    def __init__(self, reels: dict[str, FakeTerminal], rows: dict[str, AgentRow]) -> None:
        super().__init__(_no_hub, Path("/"))
        self.reels = reels
        self.rows = rows

    async def row(self, agent: str) -> AgentRow:
        return self.rows[agent]

    def terminal_of(self, row: AgentRow) -> Terminal:
        return self.reels[row.id]

    def command(self, row: AgentRow) -> str:
        return f"tmux -L gsh attach -t ={row.tmux_session}"


def agent_row(id: str = "0001", name: str = "helper", **more: Any) -> AgentRow:
    usual: dict[str, Any] = {
        "kind": "cli",
        "status": "thinking",
        "status_source": "hook",
        "status_at": NOW - 4,
        "socket": "gsh",
        "tmux_session": f"gsh-agent-{id}",
        "pane": "%1",
    }
    return AgentRow(id=id, name=name, **(usual | more))


def terminal_feature(app: Workbench) -> TerminalFeature:
    """What the window has for terminals."""
    return app.part(TerminalFeature)


class FakeTerminalWindow(Window):
    """The workbench with a terminal that a test shows frames of."""

    def __init__(self, *, past: tuple[str, ...] = (), **options: Unpack[WindowOptions]) -> None:
        super().__init__(**options)
        self.terminal = FakeTerminal(past)
        terminal_feature(self).terminals = FakeTerminals({"0001": self.terminal}, {"0001": agent_row()})

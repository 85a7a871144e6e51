"""What a window asks of its hub: each call declared once, for a hub in this process and for one in another.

`gshtui.hub.faces.window_hub.WindowHub` answers them here; `gshtui.client.window_link.WindowLink` sends them there. The
window imports neither before its first frame.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gshtui.client.window_protocol import OpenRequest

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow
    from gshtui.bus.bus import Bus
    from gshtui.bus.events.agent_events import TurnFinished, TurnStarted
    from gshtui.bus.shell_data import Ran
    from gshtui.bus.shell_rows import Filter, Span
    from gshtui.commands.catalogue import CommandEntry
    from gshtui.commands.completion import Completion
    from gshtui.commands.declaration import Outcome, Question, Returns
    from gshtui.commands.evaluation import Ask
    from gshtui.settings.model import Settings
    from gshtui.tmux.panes import PaneInfo
    from gshtui.tmux.server import TmuxServer

R = TypeVar("R")


class WindowCalls:
    """See the module. Over a connection, every call raises `HubLost` once the hub has ended."""

    def __init__(self, bus: Bus, settings: Settings, commands: Mapping[str, CommandEntry]) -> None:
        self.bus = bus
        self.settings = settings
        self.commands = commands
        """What can be run, by name."""
        self.goes_on = False
        """Whether a turn goes on there after this was stopped."""

    async def _ask(self, do: str, ask: Ask | None = None, **given: object) -> Any:
        """Have the hub do this. `ask`: asks the person what a command of a line asks before it acts."""
        raise NotImplementedError

    async def start(self) -> None:
        """Start the hub. Raises nothing: what fails is on the bus."""
        raise NotImplementedError

    def cease(self) -> None:
        """Start nothing from now on."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Stop the hub in order."""
        raise NotImplementedError

    async def ended(self) -> str:
        """Return once the hub has ended by itself, or leads to another one: its conversation, else nothing."""
        raise NotImplementedError

    async def drained(self) -> None:
        """Wait until the hub has handled all that was published so far, and its record has the prompts."""
        await self._ask("drained")

    # Commands

    async def run(self, line: str | Returns[object], *, ask: Ask | None = None, front: str = "") -> Outcome:
        """As `Hub.run`."""
        return await self._ask("run", ask, line=line, front=front)

    async def call(self, parameters: Returns[R], *, front: str = "") -> R:
        """As `Hub.call`."""
        return await self._ask("call", parameters=parameters, front=front)

    async def question(self, parameters: Returns[object], *, front: str = "") -> Question | None:
        """As `Hub.question`."""
        return await self._ask("question", parameters=parameters, front=front)

    async def split_line(self, line: str) -> list[str]:
        """As `Hub.split_line`."""
        return await self._ask("split_line", line=line)

    async def bound(self, line: str) -> Returns[object] | None:
        """As `Hub.bound`."""
        return await self._ask("bound", line=line)

    async def opens(self, line: str) -> str:
        """As `Hub.opens`."""
        return await self._ask("opens", line=line)

    async def for_row(self, keys: Sequence[str], row: object) -> list[Returns[object] | None]:
        """The call that each of these keys makes for a row of a pane; `None`: none."""
        return await self._ask("for_row", keys=list(keys), row=row)

    async def complete(self, line: str, cursor: int) -> list[Completion]:
        """What may stand at the cursor of a command line; best first."""
        return await self._ask("complete", line=line, cursor=cursor)

    async def stop_command(self) -> bool:
        """Stop the newest running input-line command; returns whether there was one."""
        return await self._ask("stop_command")

    # The record. Each raises `StoreError`.

    async def messages(self, session: str, before: int | None = None, limit: int = 200) -> list[Any]:
        """As `Hub.messages`: `StoredMessage`s, of which this room knows nothing."""
        return await self._ask("messages", session=session, before=before, limit=limit)

    async def newer_messages(self, session: str, after: int) -> list[Any]:
        """As `Hub.newer_messages`."""
        return await self._ask("newer_messages", session=session, after=after)

    async def known_prompts(self, prompts: Sequence[str]) -> list[str]:
        """As `Hub.known_prompts`."""
        return await self._ask("known_prompts", prompts=list(prompts))

    async def last_turn(self, session: str) -> TurnStarted | TurnFinished | None:
        """As `Hub.last_turn`."""
        return await self._ask("last_turn", session=session)

    async def ran(self, session: str, after: float, before: float) -> Sequence[Ran]:
        """The commands run from a conversation's input line in a period, in order."""
        return await self._ask("ran", session=session, after=after, before=before)

    async def shell_rows(self, wanted: Filter, start: int, limit: int) -> Span | None:
        """Rows of the shell log, see `ShellTables.rows`; `None`: there is no record."""
        return await self._ask("shell_rows", wanted=wanted, start=start, limit=limit)

    async def output(self, key: str) -> str:
        """The output of a command or call in the record."""
        return await self._ask("output", key=key)

    async def note(self, text: str, cwd: str) -> None:
        """Store a note in the shell log. Raises `ExpectedError` where there is none."""
        await self._ask("note", text=text, cwd=cwd)

    async def prompts(self, cwd: str, limit: int) -> list[str]:
        """Earlier prompts of a folder, newest first."""
        return await self._ask("prompts", cwd=cwd, limit=limit)

    async def keep_prompt(self, cwd: str, text: str) -> None:
        """Store a sent text in the input's history."""
        await self._ask("keep_prompt", cwd=cwd, text=text)

    # Agents and terminals

    async def connected(self, agent: str) -> bool:
        """Whether an agent's own hub is linked to the hub: its events arrive, and prompts reach it."""
        return await self._ask("connected", agent=agent)

    async def agent_row(self, agent: str) -> AgentRow | None:
        """An agent in a terminal; `None`: there is none of this id. Raises `ExpectedError` where there can be none."""
        return await self._ask("agent_row", agent=agent)

    def terminal_server(self, socket: str) -> TmuxServer | None:
        """The tmux server of an agent's row; `None`: there are no agents in terminals here."""
        raise NotImplementedError

    async def open_shared_shell(self, cwd: Path) -> tuple[PaneInfo, str, str]:
        """The pane, session and socket of the shell that people and agents share, started if missing.
        Raises `ExpectedError`: there is none here, or it cannot be started.
        """
        return await self._ask("open_shared_shell", cwd=cwd)

    async def shared_shell_rests(self, pane: str) -> bool:
        """Whether the shared shell waits at its prompt. Raises `gshtui.tmux.tmux_errors.TmuxError`."""
        return await self._ask("shared_shell_rests", pane=pane)


MakeHub = Callable[[OpenRequest], Awaitable[WindowCalls]]
"""Creates the hub inside the running loop, without starting it."""
_COROUTINES = frozenset(name for name, value in vars(WindowCalls).items() if iscoroutinefunction(value))
CALLS = _COROUTINES - {"_ask", "ended"}
"""What a window in another process may call."""

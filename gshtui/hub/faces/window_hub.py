"""What a window asks of its hub, in the same process or over a connection (`asked_windows`): a door, no state."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.commands.catalogue import Catalogue
from gshtui.commands.completion import Completion, complete
from gshtui.commands.declaration import Caller, Outcome, Question, R, Returns
from gshtui.commands.evaluation import Ask
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.system.expected_error import ExpectedError

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow
    from gshtui.bus.events.agent_events import TurnFinished, TurnStarted
    from gshtui.bus.shell_data import Ran
    from gshtui.bus.shell_rows import Filter, Span
    from gshtui.client.window_protocol import WindowOpening
    from gshtui.settings.loader import Loaded
    from gshtui.store.tables.message_table import StoredMessage
    from gshtui.tmux.panes import PaneInfo
    from gshtui.tmux.server import TmuxServer


def window_options(opening: WindowOpening, loaded: Loaded) -> HubOptions:
    """What a window's hub is asked for."""
    return HubOptions(
        cwd=loaded.cwd,
        loaded=loaded,
        session=opening.session,
        agent=opening.agent,
        provider=opening.provider,
        model=opening.model,
        mode=opening.mode,
        where=opening.where,
    )


class WindowHub:
    """See the module's text. The methods that are coroutines can be called from another process."""

    goes_on = False
    """Whether a turn goes on after this was stopped."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.bus = hub.bus
        self.settings = hub.settings

    @property
    def commands(self) -> Catalogue:
        """What can be run, by name."""
        return Catalogue(self._hub.registry)

    async def start(self) -> None:
        """Start the hub. Raises nothing: what fails is on the bus."""
        await self._hub.start()

    def cease(self) -> None:
        """Start nothing from now on."""
        self._hub.cease()

    async def stop(self) -> None:
        """Stop the hub in order."""
        await self._hub.stop()

    async def ended(self) -> str:
        """Return once the hub has ended by itself: not while this process runs."""
        return await asyncio.get_running_loop().create_future()

    async def drained(self) -> None:
        """Wait until all that was published so far is handled."""
        await self.bus.drained()

    # Commands

    async def run(self, line: str | Returns[object], *, ask: Ask | None = None, front: str = "") -> Outcome:
        """As `Hub.run`."""
        return await self._hub.run(line, ask=ask, front=front)

    async def call(self, parameters: Returns[R], *, front: str = "") -> R:
        """As `Hub.call`."""
        return await self._hub.call(parameters, front=front)

    async def question(self, parameters: Returns[object], *, front: str = "") -> Question | None:
        """As `Hub.question`."""
        return await self._hub.question(parameters, front=front)

    async def split_line(self, line: str) -> list[str]:
        """As `Hub.split_line`."""
        return self._hub.split_line(line)

    async def bound(self, line: str) -> Returns[object] | None:
        """As `Hub.bound`."""
        return self._hub.bound(line)

    async def opens(self, line: str) -> str:
        """As `Hub.opens`."""
        return self._hub.opens(line)

    async def for_row(self, keys: Sequence[str], row: object) -> list[Returns[object] | None]:
        """The call that each of these keys makes for a row of a pane; `None`: none."""
        return [self._hub.for_row(key, row) for key in keys]

    async def complete(self, line: str, cursor: int) -> list[Completion]:
        """What may stand at the cursor of a command line; best first."""
        return await complete(self._hub.registry, self._hub.invocation(Caller()), line, cursor)

    async def stop_command(self) -> bool:
        """Stop the newest running input-line command; returns whether there was one."""
        log = self._hub.shell_log
        return log is not None and log.by_hand.stop()

    # The record. Each raises `StoreError`.

    async def messages(self, session: str, before: int | None = None, limit: int = 200) -> list[StoredMessage]:
        """As `Hub.messages`."""
        return await self._hub.messages(session, before=before, limit=limit)

    async def newer_messages(self, session: str, after: int) -> list[StoredMessage]:
        """As `Hub.newer_messages`."""
        return await self._hub.newer_messages(session, after)

    async def last_turn(self, session: str) -> TurnStarted | TurnFinished | None:
        """As `Hub.last_turn`."""
        return await self._hub.last_turn(session)

    async def ran(self, session: str, after: float, before: float) -> Sequence[Ran]:
        """The commands run from a conversation's input line in a period, in order."""
        log = self._hub.shell_log
        return () if log is None else await log.runs.between(session, after, before)

    async def shell_rows(self, wanted: Filter, start: int, limit: int) -> Span | None:
        """Rows of the shell log, see `ShellTables.rows`; `None`: there is no record."""
        shells = self._hub.shell_rows
        return None if shells is None else await shells.rows(wanted, start, limit)

    async def output(self, key: str) -> str:
        """The output of a command or call in the record."""
        shells = self._hub.shell_rows
        return "" if shells is None else await shells.output(key)

    async def note(self, text: str, cwd: str) -> None:
        """Store a note in the shell log. Raises `ExpectedError` where there is none."""
        if self._hub.shell_log is None:
            raise ExpectedError("No shell log here: that part did not start.")
        await self._hub.shell_log.add_note(text, cwd)

    async def prompts(self, cwd: str, limit: int) -> list[str]:
        """Earlier prompts of a folder, newest first."""
        prompts = self._hub.sent_prompts
        return [] if prompts is None else await prompts.find_all(cwd, limit=limit)

    async def keep_prompt(self, cwd: str, text: str) -> None:
        """Store a sent text in the input's history."""
        if (prompts := self._hub.sent_prompts) is not None:
            await prompts.add(cwd, text)

    # Agents and terminals

    async def connected(self, agent: str) -> bool:
        """Whether an agent's own hub is linked to this hub: its events arrive here, and prompts reach it."""
        return self._hub.connected(agent)

    async def agent_row(self, agent: str) -> AgentRow | None:
        """An agent in a terminal; `None`: there is none of this id. Raises `ExpectedError` where there can be none."""
        if self._hub.fleet is None:
            hint = "`gsh-tui doctor` says what is missing."
            raise ExpectedError("Agents in terminals are not available here.", hint)
        return self._hub.fleet.get(agent)

    def terminal_server(self, socket: str) -> TmuxServer | None:
        """The tmux server of an agent's row; `None`: there are no agents in terminals here."""
        return None if self._hub.fleet is None else self._hub.fleet.terminals.server(socket)

    async def open_shared_shell(self, cwd: Path) -> tuple[PaneInfo, str, str]:
        """The pane, session and socket of the shell that people and agents share, started if missing.
        Raises `ExpectedError`: there is none here, or it cannot be started.
        """
        shell = self._hub.shared_shell
        if shell is None:
            hint = "`gsh-tui doctor` says what is missing."
            raise ExpectedError("The shared shell is not available.", hint)
        info = await shell.open(cwd)
        return info, shell.session, str(shell.server.socket_path or shell.server.socket_name)

    async def shared_shell_rests(self, pane: str) -> bool:
        """Whether the shared shell waits at its prompt. Raises `gshtui.tmux.tmux_errors.TmuxError`."""
        shell = self._hub.shared_shell
        return shell is not None and await shell.rests(pane)

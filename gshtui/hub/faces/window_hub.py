"""What a window asks of its hub, in the same process or over a connection (`asked_windows`): a door, no state."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.client.window_calls import WindowCalls
from gshtui.commands.catalogue import Catalogue
from gshtui.commands.completion import Completion, complete
from gshtui.commands.declaration import Caller, Returns
from gshtui.commands.evaluation import Ask
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.system.expected_error import ExpectedError

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow
    from gshtui.bus.shell_data import Ran
    from gshtui.bus.shell_rows import Filter, Span
    from gshtui.client.window_protocol import WindowOpening
    from gshtui.settings.loader import Loaded
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


class WindowHub(WindowCalls):
    """See the module's text. What a window asks for and is not here, the hub has by the same name."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub.bus, hub.settings, Catalogue(hub.registry))
        self._hub = hub

    async def _ask(self, do: str, ask: Ask | None = None, **given: object) -> Any:
        """What the hub itself does."""
        done = getattr(self._hub, do)(**given, **({} if ask is None else {"ask": ask}))
        return await done if isawaitable(done) else done

    async def start(self) -> None:
        await self._hub.start()

    def cease(self) -> None:
        self._hub.cease()

    async def stop(self) -> None:
        await self._hub.stop()

    async def ended(self) -> str:
        return await asyncio.get_running_loop().create_future()  # not while this process runs

    async def drained(self) -> None:
        await self.bus.drained()
        await self._hub.keep_prompts()

    # Commands

    async def for_row(self, keys: Sequence[str], row: object) -> list[Returns[object] | None]:
        return [self._hub.for_row(key, row) for key in keys]

    async def complete(self, line: str, cursor: int) -> list[Completion]:
        return await complete(self._hub.registry, self._hub.invocation(Caller()), line, cursor)

    async def stop_command(self) -> bool:
        log = self._hub.shell_log
        return log is not None and log.by_hand.stop()

    # The record. Each raises `StoreError`.

    async def ran(self, session: str, after: float, before: float) -> Sequence[Ran]:
        log = self._hub.shell_log
        return () if log is None else await log.runs.between(session, after, before)

    async def shell_rows(self, wanted: Filter, start: int, limit: int) -> Span | None:
        shells = self._hub.shell_rows
        return None if shells is None else await shells.rows(wanted, start, limit)

    async def output(self, key: str) -> str:
        shells = self._hub.shell_rows
        return "" if shells is None else await shells.output(key)

    async def note(self, text: str, cwd: str) -> None:
        if self._hub.shell_log is None:
            raise ExpectedError("No shell log here: that part did not start.")
        await self._hub.shell_log.add_note(text, cwd)

    async def prompts(self, cwd: str, limit: int) -> list[str]:
        prompts = self._hub.sent_prompts
        return [] if prompts is None else await prompts.find_all(cwd, limit=limit)

    async def keep_prompt(self, cwd: str, text: str) -> None:
        if (prompts := self._hub.sent_prompts) is not None:
            await prompts.add(cwd, text)

    # Agents and terminals

    async def agent_row(self, agent: str) -> AgentRow | None:
        if self._hub.fleet is None:
            hint = "`gsh-tui doctor` says what is missing."
            raise ExpectedError("Agents in terminals are not available here.", hint)
        return self._hub.fleet.get(agent)

    def terminal_server(self, socket: str) -> TmuxServer | None:
        return None if self._hub.fleet is None else self._hub.fleet.terminals.server(socket)

    async def open_shared_shell(self, cwd: Path) -> tuple[PaneInfo, str, str]:
        shell = self._hub.shared_shell
        if shell is None:
            hint = "`gsh-tui doctor` says what is missing."
            raise ExpectedError("The shared shell is not available.", hint)
        info = await shell.open(cwd)
        return info, shell.session, str(shell.server.socket_path or shell.server.socket_name)

    async def shared_shell_rests(self, pane: str) -> bool:
        shell = self._hub.shared_shell
        return shell is not None and await shell.rests(pane)

"""The window's state for people's own bars: a line that their command prints, the terminal's title, options of tmux.

All of it is of the person's own settings, which no project can change. The command reads JSON as Claude Code's
`statusLine` does, runs in the sandbox as hooks do, has a deadline, and what it prints is sanitised; whatever goes wrong
with it costs its line alone.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, LiteralString, Protocol

from textual.content import Content
from textual.widgets import Static

from gshtui.bus.event import Event
from gshtui.system.tasks import start_job
from gshtui.ui.kit.bridge import EventConsumer
from gshtui.ui.kit.feature import Feature
from gshtui.ui.kit.textual.driver import write_sequence
from gshtui.ui.kit.workbench_port import WorkbenchPort
from gshtui.ui.window.header import CONSUMED, HeaderState
from gshtui.ui.window.notifications import POP_TITLE, PUSH_TITLE

if TYPE_CHECKING:
    from textual.app import App

    from gshtui.guard.sandbox.sandboxes import Sandboxes
    from gshtui.settings.model import Settings
    from gshtui.ui.window.workbench_screen import WorkbenchScreen

PACE = 1.0
"""Seconds between two changes of what stands outside."""
WITHIN = 5.0
"""Seconds that the command may take."""


class OwnStatusHost(WorkbenchPort, Protocol):
    """The window as this feature needs it."""

    @property
    def bench(self) -> WorkbenchScreen:
        """The main screen."""
        ...

    @property
    def textual(self) -> App[Any]:
        """The app whose terminal has the title."""
        ...


class OwnStatus(Feature):
    """See the module."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED

    def __init__(self, window: OwnStatusHost) -> None:
        super().__init__(window)
        self._host = window
        self._changed = asyncio.Event()
        self._job: asyncio.Task[None] | None = None
        self._row: Static | None = None
        self._sandboxes: Sandboxes | None = None
        self._titled = False

    def watchers(self) -> Sequence[EventConsumer]:
        return (self,)

    def consume(self, events: Sequence[Event]) -> None:
        """Something has changed. What stands outside follows, at its own pace."""
        self._changed.set()
        settings = self.window.bridge.settings
        if self._job is None and settings is not None and (settings.ui.status_line or settings.ui.outside):
            self._job = start_job(self._follow(settings), "the status line")

    async def end(self) -> None:
        if self._job is None:
            return
        self._job.cancel()
        if self._titled:
            self._write(POP_TITLE)
        if pane := os.environ.get("TMUX_PANE", ""):
            await _set_options(pane, dict.fromkeys(_OPTIONS, ""))

    async def _follow(self, settings: Settings) -> None:
        before: dict[str, Any] = {}
        while True:
            await self._changed.wait()
            self._changed.clear()
            now = status_data(self._host.bench.header.state, str(self.window.bridge.opening.cwd), self.window.session)
            if now != before:
                before = now
                if "title" in settings.ui.outside:
                    self._write_title(now)
                if "tmux" in settings.ui.outside and (pane := os.environ.get("TMUX_PANE", "")):
                    await _set_options(pane, options(now))
                if settings.ui.status_line:
                    await self._show(await self._line(settings, now))
            await asyncio.sleep(PACE)

    def _write_title(self, now: Mapping[str, Any]) -> None:
        from gshtui.text.sanitise import clean_text, one_line

        if not self._titled:
            self._titled = True
            self._write(PUSH_TITLE)
        values = options(now)
        count = values["@gsh_waiting"]
        waits = f" · {count} {'needs' if count == '1' else 'need'} you" if count != "0" else ""
        words = one_line(f"{values['@gsh_project']} · {values['@gsh_status']}{waits}", 120)
        write_sequence(self._host.textual, clean_text("\x1b]2;gsh-tui: ", words, "\x07"))

    def _write(self, sequence: LiteralString) -> None:
        from gshtui.text.sanitise import clean_text

        write_sequence(self._host.textual, clean_text(sequence))

    async def _line(self, settings: Settings, now: dict[str, Any]) -> str:
        """What the command prints first; empty: nothing that can be shown."""
        from gshtui.agents.hooks.hook_process import run_hook
        from gshtui.agents.hooks.hook_set import Hook
        from gshtui.guard.sandbox.sandboxes import Sandboxes
        from gshtui.settings import paths
        from gshtui.text.sanitise import one_line

        if self._sandboxes is None:
            ours = (paths.state_dir(create=False), paths.data_dir(create=False), paths.config_dir(create=False))
            self._sandboxes = Sandboxes(settings.sandbox, ours)
        hook = Hook("Notification", command=settings.ui.status_line, seconds=WITHIN)
        answer = await run_hook(hook, now, self.window.bridge.opening.cwd, os.environ, self._sandboxes)
        if answer.failed or answer.code:
            return f"status line: {answer.failed or f'it ended with code {answer.code}'}"
        return one_line(next((line for line in answer.out.splitlines() if line.strip()), ""), 400)

    async def _show(self, line: str) -> None:
        if self._row is None:
            self._row = Static("", id="own-status", markup=False)
            await self._host.bench.mount(self._row, before=self._host.bench.query_one("KeyBar"))
        self._row.update(Content.styled(f" {line}", "$foreground-muted"))


def status_data(state: HeaderState, cwd: str, session: str) -> dict[str, Any]:
    """The state as the command reads it: what Claude Code's `statusLine` gets, and under `gsh` what only we have."""
    agent = state.agent
    row = agent.row if agent is not None else None
    return {
        "hook_event_name": "Status",
        "session_id": session,
        "cwd": cwd,
        "workspace": {"current_dir": cwd, "project_dir": cwd},
        "model": {"id": row.model if row else "", "display_name": agent.model if agent else ""},
        "cost": {"total_cost_usd": agent.known_cost if agent else 0.0},
        "context_window": {
            "used_tokens": row.context if row else 0,
            "context_window_size": row.window if row else 0,
        },
        "gsh": {
            "project": state.project,
            "branch": state.branch,
            "agent": row.name if row else state.front,
            "status": agent.status if agent else state.hub,
            "state": agent.state if agent else state.hub,
            "mode": agent.mode if agent else None,
            "waiting": state.waiting,
            "agents": len(state.agents.agents),
        },
    }


_OPTIONS = ("@gsh_project", "@gsh_branch", "@gsh_agent", "@gsh_status", "@gsh_mode", "@gsh_model", "@gsh_waiting")


def options(data: Mapping[str, Any]) -> dict[str, str]:
    """The state as tmux's options of the pane. No `#`: a bar would expand what follows it."""
    own = {**data["gsh"], "status": data["gsh"]["state"], "model": data["model"]["display_name"]}
    values = {name: own[name.removeprefix("@gsh_")] for name in _OPTIONS}
    return {name: "" if value is None else str(value).replace("#", "") for name, value in values.items()}


async def _set_options(pane: str, values: Mapping[str, str]) -> None:
    """Set these options of the pane in which the window is; an empty value takes one away. Fails silently."""
    from gshtui.system.processes.processes import start_child

    argv = ["tmux"]
    for name, value in values.items():
        argv += [";"] if len(argv) > 1 else []
        argv += ["set-option", "-pq", "-t", pane, name, value] if value else ["set-option", "-pqu", "-t", pane, name]
    nothing = subprocess.DEVNULL
    try:
        process = await start_child(*argv, stdin=nothing, stdout=nothing, stderr=nothing)
        await process.wait()
    except OSError:
        return

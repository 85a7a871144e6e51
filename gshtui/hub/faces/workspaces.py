"""The folders that a resident hub serves for other processes: a workspace each, a hub of its own on the same record.

A workspace has the settings and the variables of whoever opened its folder, and serves all that open it with the same
ones. One that nobody has used for a while ends. Held by `asked_commands`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from gshtui.bus.bus import Bus
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import Loaded
from gshtui.system.caller_environment import working_for
from gshtui.system.expected_error import ExpectedError
from gshtui.system.tasks import cancel_and_wait, end_all

UNUSED_FOR = 600.0
"""Seconds after its last use until a workspace ends."""
WORKSPACE_PARTS = frozenset({"store", "guard", "providers"})
_PASSING = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES"})
"""Variables that differ from call to call of one shell, and that nothing in a hub reads."""


class WorkspaceError(ExpectedError):
    """A folder cannot be opened."""


class _Workspace(msgspec.Struct):
    """An open folder."""

    loaded: Loaded
    hub: Hub
    ready: asyncio.Task[None] | None = None
    users: int = 0
    end: asyncio.TimerHandle | None = msgspec.field(default=None)

    def serves(self, loaded: Loaded) -> bool:
        """Whether the folder, opened with these settings, is this one."""
        return self.loaded.cwd == loaded.cwd and self.loaded.settings == loaded.settings


class Workspaces:
    """See the module's text."""

    def __init__(self, host: Hub) -> None:
        self._host = host
        self._open: list[_Workspace] = []
        self._ending: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def use(self, loaded: Loaded) -> AsyncGenerator[Hub]:
        """The hub of the folder that these settings are for, started. Raises `WorkspaceError`: a part of it does not
        start.
        """
        workspace = self._workspace(loaded)
        workspace.users += 1
        if workspace.end is not None:
            workspace.end.cancel()
        try:
            assert workspace.ready is not None
            await asyncio.shield(workspace.ready)
            _check(workspace.hub)
            yield workspace.hub
        finally:
            workspace.users -= 1
            if not workspace.users:
                wait = 0.0 if workspace.hub.failed else UNUSED_FOR
                workspace.end = asyncio.get_running_loop().call_later(wait, self._drop, workspace)

    @asynccontextmanager
    async def use_once(
        self, loaded: Loaded, parts: frozenset[str], watch: Callable[[Hub], None], **given: Any
    ) -> AsyncGenerator[Hub]:
        """A hub of the folder with other parts, started, that ends with the block. Raises as `use`. `watch`: is given
        the hub before it starts. `given`: more of its options.
        """
        hub = _make_hub(self._host, loaded, parts, **given)
        watch(hub)
        try:
            await hub.start()
            _check(hub)
            yield hub
        finally:
            await _end(hub)

    async def close(self) -> None:
        """End all of them."""
        for workspace in tuple(self._open):
            self._drop(workspace)
        await asyncio.gather(*self._ending)

    def _workspace(self, loaded: Loaded) -> _Workspace:
        for workspace in tuple(self._open):
            if not workspace.serves(loaded) or _lasting(workspace.loaded.environ) != _lasting(loaded.environ):
                continue
            return workspace
        for outdated in [each for each in self._open if each.loaded.cwd == loaded.cwd and not each.users]:
            self._drop(outdated)  # its settings have changed, or another shell asks
        made = _Workspace(loaded, _make_hub(self._host, loaded, WORKSPACE_PARTS))
        with working_for(loaded.environ):
            made.ready = asyncio.ensure_future(made.hub.start())
        self._open.append(made)
        return made

    def _drop(self, workspace: _Workspace) -> None:
        if workspace.end is not None:
            workspace.end.cancel()
        self._open.remove(workspace)
        ending = asyncio.ensure_future(_end(workspace.hub, workspace.ready))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)


def _lasting(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in _PASSING}


def _make_hub(host: Hub, loaded: Loaded, parts: frozenset[str], **given: Any) -> Hub:
    from gshtui.hub.composition import build_hub

    options = HubOptions(loaded.cwd, loaded, respondent="nobody", parts=parts, visiting=True, where="the hub", **given)
    return build_hub(options, Bus(), host)


def _check(hub: Hub) -> None:
    """Raises `WorkspaceError` if a part of it has not started."""
    for failed in hub.failed.values():
        raise WorkspaceError(f"{failed.part}: {failed.why}", failed.hint)


async def _end(hub: Hub, *starting: asyncio.Task[None] | None) -> None:
    await cancel_and_wait(*starting)
    await end_all("the end of a workspace", hub.stop, hub.bus.close)

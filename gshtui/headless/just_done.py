"""What the person did in their shells since they last asked here, told along with a follow-up question.

A new conversation is told this by the ambient summary; one that goes on would not know. Owns the waiting for what lies
in the spool, with a bound, and the words. Made by `prompt` for `gsh`.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from gshtui.settings import paths

if TYPE_CHECKING:
    from gshtui.context.ports import Contribution
    from gshtui.hub.hub import Hub

_SOURCE = "shell activity since"
_WITHIN = 2.0
"""Seconds that a question waits for the record to have what just ran."""
_LOOK_EVERY = 0.02


class JustDone:
    """Contributes to the turns of one hub, which is set once it is made."""

    def __init__(self, since: float) -> None:
        """`since`: seconds since the epoch; 0: only wait, the ambient summary has the words."""
        self.hub: Hub | None = None
        self._since = since

    async def taken_in(self) -> None:
        """Wait until what shells left in the spool is in the record, or no longer."""
        from gshtui.shell import spool

        log = self.hub.shell_log if self.hub is not None else None
        if log is None:
            return
        folder = spool.folder(paths.data_dir(create=False))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WITHIN):
                while await asyncio.to_thread(spool.files, folder):  # noqa: ASYNC110  # shells write it, not we
                    await asyncio.sleep(_LOOK_EVERY)
                await log.settled()

    async def contribute(self, new: bool) -> Contribution:
        """The commands that people ran since then."""
        from gshtui.context.ports import Along, Contribution

        text = "" if new or not self._since else await self._text()
        return Contribution(along=(Along(_SOURCE, text),)) if text else Contribution()

    async def _text(self) -> str:
        from gshtui.context.retrieval.ambient import activity
        from gshtui.store.errors import StoreError

        hub = self.hub
        if hub is None or hub.store is None:
            return ""
        try:
            lines = await activity(hub.store, hub.settings.context, self._since)
        except StoreError:
            return ""  # the record says itself what is wrong with it
        return "\n".join(["# In the person's shells since their last question", "", *lines]) if lines else ""

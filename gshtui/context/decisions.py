"""The decisions about one conversation's context: its overlays, read along and added to, and their plan.

Owns what is known of them in this process; refuses to count one before the shelf has it, since another process may
write too and the shelf's order is the one that counts. Called by the engine and the service.
"""

from __future__ import annotations

from gshtui.context.overlays import Overlay, decode, encode, kind_of
from gshtui.context.plan import Plan, fold
from gshtui.context.ports import Shelf


class Decisions:
    """See the module's text. `plan` is another object after each change, and only then."""

    def __init__(self, shelf: Shelf, session: str) -> None:
        self.session = session
        self.plan: Plan = fold(())
        self._shelf = shelf
        self._overlays: list[Overlay] = []
        self._after = 0

    async def refresh(self) -> bool:
        """Take in what was written since; whether there was anything. Raises `StoreError`."""
        found = await self._shelf.overlays(self.session, self._after)
        fresh = [overlay for _, data in found if (overlay := decode(data)) is not None]
        if found:
            self._after = found[-1][0]
        if fresh:
            self._overlays += fresh
            self.plan = fold(self._overlays)
        return bool(fresh)

    async def add(self, overlay: Overlay) -> None:
        """Write an overlay; it counts when this returns. Raises `StoreError`."""
        await self._shelf.add_overlay(self.session, overlay.id, kind_of(overlay), overlay.at, encode(overlay))
        await self.refresh()

    def with_one_more(self, overlay: Overlay) -> Plan:
        """The plan as it would be with this overlay too."""
        return fold([*self._overlays, overlay])

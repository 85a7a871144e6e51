"""Delivers the messages of a native agent from its own process, while neither a window nor the keeper may do that.

Does what a command does that a person runs: a hub of its own for as long as it takes, which follows what the message
does until it is answered. Nothing of it is heard on the agent's own bus. Called by the mail's commands.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gshtui.bus.bus import Bus
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.system.tasks import end_all

if TYPE_CHECKING:
    from gshtui.fleet.mail.mail_service import MailService

BuildHub = Callable[[HubOptions, Bus], Hub]
"""`composition.build_hub`."""
_PARTS = frozenset({"store", "fleet"})


@asynccontextmanager
async def own_delivery(hub: Hub, build: BuildHub) -> AsyncGenerator[MailService | None]:
    """What delivers a message now; `None`: a hub does that, and finds it in the record. `hub`: the agent's own."""
    native = hub.options.native
    if hub.settings.hub.keep != "never" or native is None or native.linked():
        yield None
        return
    options = HubOptions(
        cwd=hub.options.cwd,
        loaded=hub.options.loaded,
        respondent="nobody",
        parts=_PARTS,
        visiting=True,
        where=hub.options.where,
        record=hub.options.record,
    )
    bus = Bus()
    visitor = build(options, bus)
    try:
        await visitor.start()
        yield None if visitor.make_mail is None else visitor.make_mail()
    finally:
        await end_all("the end of a delivery", visitor.stop, bus.close)

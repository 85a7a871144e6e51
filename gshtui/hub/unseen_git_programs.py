"""Tells a person when git has come to run something in a folder since they trusted it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.settings import trust
from gshtui.text.sanitise import literal, one_line

_NAMED = 3


async def tell_unseen_programs(bus: Bus, project: Path, about: str = "") -> None:
    """Publish a notice if there is anything that they have not seen. Returns within seconds.

    Args:
        bus: where it is published.
        project: the folder; one that nobody trusted has no notice.
        about: the notice's subject.
    """
    names = [one_line(literal(name), 80) for name in await asyncio.to_thread(trust.unseen_programs, project)]
    if not names:
        return
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    text = f"In this folder git runs what has changed since you trusted it: {', '.join(names[:_NAMED])}{more}."
    hint = "`gsh-tui config trust` shows it; until you have read it, start nothing here that uses git."
    bus.publish(Noticed(level="warning", text=text, hint=hint, about=about or "settings"))

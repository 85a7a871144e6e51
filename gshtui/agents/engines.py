"""The context engine of an agent, put together from the settings: shelf, sources of text, review.

Owns the order of the sources; refuses nothing. Called by the hub and by agents in terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub import Noticed
from gshtui.context.engine import ContextEngine
from gshtui.context.limits import ContextSettings
from gshtui.context.memory import Memory
from gshtui.context.ports import Contribute, MemoryShelf, Shelf
from gshtui.context.review import Reviewer
from gshtui.context.system import system_source
from gshtui.settings.tables import Context


def engine_for(
    bus: Bus,
    agent: str,
    store: Shelf | None,
    table: Context,
    cwd: Path,
    sections: Callable[[], tuple[str, ...]],
    *,
    attended: Callable[[], bool],
    more: Sequence[Contribute] = (),
) -> ContextEngine:
    """An agent's engine.

    Args:
        store: keeps what is sent; `None`: this process's memory does, as long as it lives.
        sections: the system section's texts, the facts of the environment last.
        attended: whether somebody is at a window who can answer.
        more: further sources of text, asked after system and memory files.
    """
    settings = ContextSettings.of(table)
    memory = Memory(cwd, lambda text, hint: bus.publish(Noticed(level="warning", text=text, hint=hint, about=agent)))
    review = Reviewer(bus, agent, settings.review_seconds, attended) if settings.review else None
    sources = (system_source(sections), memory, *more)
    return ContextEngine(bus, agent, store or MemoryShelf(), settings, sources, review)

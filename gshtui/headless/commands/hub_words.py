"""Which words are about the hub itself, and what is said where it does not answer. Loads as little as their caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gshtui.headless import streams

if TYPE_CHECKING:
    from gshtui.client.hub_greeting import HubSilent


def is_about_hub(line: str) -> bool:
    """Whether a line of the command language is about the hub itself, which is started for none."""
    return line.lstrip("/ ").startswith("hub ")


def tell_silent(keeper: HubSilent) -> None:
    """Say that the hub does not answer."""
    hint = "`gsh-tui hub stop` ends it, and the next call starts it again."
    streams.complain(f"the hub (pid {keeper.pid}) does not answer, so this is done without it.", hint)

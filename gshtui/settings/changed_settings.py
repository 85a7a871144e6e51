"""Tells processes that stay for days of changes to the user's file; asked where a value counts."""

from __future__ import annotations

from collections.abc import Callable

from gshtui.settings import paths
from gshtui.settings.loader import Loaded
from gshtui.settings.model import Settings


def changed_settings(loaded: Loaded) -> Callable[[], Settings | None]:
    """What gives the settings anew if the user's file has changed since it was last asked; it also does the first time.

    A file that is no TOML now, as while it is edited, changes nothing: what was set before goes on to hold.
    """
    seen: tuple[int, int] | None = None

    def changed() -> Settings | None:
        nonlocal seen
        try:
            found = paths.config_file().stat()
            now = found.st_mtime_ns, found.st_size
        except OSError:
            now = 0, 0
        if now == seen:
            return None
        seen = now
        fresh = loaded.again()
        return None if fresh.unreadable else fresh.settings

    return changed

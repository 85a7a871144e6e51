"""The shell log of one hub, put together from its settings.

Owns the choice of terms, nothing else. Called by the hub.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.settings import paths
from gshtui.settings.model import Settings
from gshtui.shell import options
from gshtui.shell.log.log import ShellLog, Terms
from gshtui.shell.place import shells_socket
from gshtui.store.store import Store


def make_shell_log(
    bus: Bus, store: Store, settings: Settings, cwd: Path, *, visiting: bool, redact: Callable[[str], str]
) -> ShellLog:
    """The shell log.

    Args:
        cwd: the window's folder.
        visiting: a command that looks in and leaves: it tells what its agents run, and never takes the socket.
        redact: takes secrets out of text.
    """
    terms = Terms(
        socket=shells_socket(settings.general.socket_path),
        data=paths.data_dir(create=False),
        cwd=cwd,
        keep=settings.context.max_history_lines,
        ignore=tuple(settings.shell.ignore),
        output_lines=settings.context.stdout_max_lines if settings.context.include_stdout else 0,
        visiting=visiting,
    )
    if not visiting:
        with contextlib.suppress(OSError):  # then the plugins keep what they know
            options.write(settings)
    return ShellLog(bus, store, terms, redact)

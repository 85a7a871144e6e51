"""How a person's terminal comes to show a session: attached to it, or, where it shows that server already, switched.

Pure but for the look at two sockets. It refuses to nest a server in itself, where tmux would. Called by the faces.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


def words_for(attach: Sequence[str], environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """What to run, and its environment.

    Args:
        attach: as `TmuxServer.attach_command` gives it.
        environ: of the terminal.

    Returns:
        `switch-client` when this terminal shows a client of the same server; else `attach`, which inside another tmux
        is shown in that one's pane.
    """
    outside = {name: value for name, value in environ.items() if name not in ("TMUX", "TMUX_PANE")}
    current = environ.get("TMUX", "").partition(",")[0]
    if not current or "attach" not in attach or not _same(Path(current), _socket(attach, environ)):
        return list(attach), outside
    at = list(attach).index("attach")
    # Inside, tmux knows its client by these variables.
    return [*attach[:at], "switch-client", *attach[at + 1 :]], dict(environ)


def _socket(attach: Sequence[str], environ: Mapping[str, str]) -> Path:
    """The socket that the words name."""
    words = list(attach)
    if "-S" in words:
        return Path(words[words.index("-S") + 1])
    name = words[words.index("-L") + 1] if "-L" in words else "default"
    folder = environ.get("TMUX_TMPDIR") or "/tmp"
    return Path(folder) / f"tmux-{os.getuid()}" / name


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one == other

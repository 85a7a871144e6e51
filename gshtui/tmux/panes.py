"""What is known about a pane at one moment, and how to ask tmux for it.

Owns the question's format and parses the answer. Titles and program names may contain anything, even the separator, so
they come last or have it removed.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

HIDDEN = "gsh-hub-"
"""Prefix of the sessions through which a hub listens; never shown as anybody's."""

_FREE = "s/[|]/!/:"
_FIELDS = (
    "pane_id",
    "window_id",
    "session_id",
    f"{_FREE}session_name",
    "pane_pid",
    "pane_dead",
    "pane_dead_status",
    "pane_dead_signal",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "alternate_on",
    "mouse_any_flag",
    "mouse_button_flag",
    "mouse_all_flag",
    "mouse_sgr_flag",
    "session_attached",
    "window_activity",
    "window_bell_flag",
    "history_size",
    "pane_in_mode",
    f"{_FREE}@gsh-agent",
    f"{_FREE}pane_current_command",
    "pane_title",
)
FORMAT = "|".join(f"#{{{name}}}" for name in _FIELDS)
"""For `-F` and `display-message -p`."""
_BRIEF = (
    *("pane_id", "pane_width", "pane_height", "cursor_x", "cursor_y", "history_size"),
    *("pane_dead", "cursor_flag", "alternate_on", "pane_in_mode"),
    *("mouse_any_flag", "mouse_button_flag", "mouse_all_flag", "mouse_sgr_flag"),
)
BRIEF = "|".join(f"#{{{name}}}" for name in _BRIEF)
"""What may be different at every frame; a third of the cost."""


class PaneInfo(msgspec.Struct, frozen=True):
    """A pane as tmux describes it. Text is untrusted: programs choose titles.

    `attached` counts people (and their programs) attached to its session, without us. `activity` is in seconds since
    1970. `exit_status` is 128 + the signal's number if a signal ended the program, and `None` while it runs and for a
    moment afterwards.
    """

    pane: str
    window: str
    session: str
    pid: int
    command: str
    title: str
    dead: bool
    exit_status: int | None
    width: int
    height: int
    cursor_x: int
    cursor_y: int
    cursor_visible: bool
    alternate: bool
    mouse: bool
    attached: int
    activity: float
    bell: bool
    history: int = 0
    """Lines above the screen."""
    in_mode: bool = False
    """A person looks at its past in tmux's copy mode; keys would go there."""
    session_id: str = ""
    mouse_drags: bool = False
    """The program wants to be told of the mouse moving with a button down; `mouse_moves`: also without one."""
    mouse_moves: bool = False
    mouse_sgr: bool = False
    """It wants to be told in the SGR encoding, which has no limit of 223 columns."""
    remote: bool = False
    """It is on another machine, and so is the process of its `pid`: nothing may be looked up by that here."""
    mark: str = ""
    """The mark that `TmuxServer.spawn` was given to recognise the session."""

    @property
    def local_pid(self) -> int:
        """The pid of its program, if that runs on this machine; else 0."""
        return 0 if self.remote else self.pid

    @property
    def target(self) -> str:
        """The pane as seen from its own session, exactly."""
        return f"{self.session_id}:{self.window}.{self.pane}"


def parse(line: str) -> PaneInfo | None:
    """The pane that a line in `FORMAT` describes; `None` if it describes none."""
    parts = line.split("|", len(_FIELDS) - 1)
    if len(parts) < len(_FIELDS) or not parts[0]:
        return None
    (pane, window, session_id, session, pid, dead, status, signal, width, height, x, y, cursor, alternate) = parts[:14]
    mouse, dragged, moved, sgr, attached, activity, bell, history, mode, mark, command, title = parts[14:]
    gone = dead == "1"
    return PaneInfo(
        pane=pane,
        window=window,
        session=session,
        pid=_number(pid),
        command=command,
        title=title,
        dead=gone,
        exit_status=(128 + _number(signal) if signal else _number(status)) if gone and (status or signal) else None,
        width=_number(width),
        height=_number(height),
        cursor_x=_number(x),
        cursor_y=_number(y),
        cursor_visible=cursor == "1",
        alternate=alternate == "1",
        mouse=mouse == "1",
        attached=_number(attached),
        activity=float(_number(activity)),
        bell=bell == "1",
        history=_number(history),
        in_mode=_number(mode) > 0,
        session_id=session_id,
        mouse_drags=dragged == "1" or moved == "1",
        mouse_moves=moved == "1",
        mouse_sgr=sgr == "1",
        mark=mark,
    )


def refreshed(line: str, known: PaneInfo) -> PaneInfo | None:
    """What is known about a pane, updated by a line in `BRIEF`; `None` if the pane is gone."""
    parts = line.split("|")
    if len(parts) != len(_BRIEF) or parts[0] != known.pane:
        return None
    width, height, x, y, history = map(_number, parts[1:6])
    dead, cursor, alternate, mode, mouse, drags, moves, sgr = (_number(part) > 0 for part in parts[6:])
    return replace(
        known,
        width=width,
        height=height,
        cursor_x=x,
        cursor_y=y,
        history=history,
        dead=dead,
        cursor_visible=cursor,
        alternate=alternate,
        in_mode=mode,
        mouse=mouse,
        mouse_drags=drags,
        mouse_moves=moves,
        mouse_sgr=sgr,
    )


def parse_all(lines: tuple[str, ...]) -> list[PaneInfo]:
    """Every pane of the lines, each once, without the hubs' own; a pane seen from two sessions is its own one's."""
    found: dict[str, PaneInfo] = {}
    for line in lines:
        info = parse(line)
        if info is not None and not info.session.startswith(HIDDEN):
            found.setdefault(info.pane, info)
    return list(found.values())


def unknown(pane: str) -> PaneInfo:
    """Of a pane that was never seen."""
    blank = dict.fromkeys(("window", "session", "command", "title"), "")
    zero = dict.fromkeys(("pid", "width", "height", "cursor_x", "cursor_y", "attached"), 0)
    no = dict.fromkeys(("cursor_visible", "alternate", "mouse", "bell"), False)
    return PaneInfo(pane=pane, dead=True, exit_status=None, activity=0.0, **blank, **zero, **no)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0

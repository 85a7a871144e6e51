"""One pane as the mirror keeps it: who watches, what is dirty, the last good frame, the size that was asked for.

Owns how a capture becomes a `Frame`; knows no clock and sends nothing. Called by `mirror`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gshtui.tmux.panes import PaneInfo, refreshed, unknown
from gshtui.tmux.sgr import Rows


@dataclass(frozen=True, slots=True)
class Frame:
    """What a pane shows at one moment.

    `lines` hold text and SGR sequences, each standing alone; `changed` are the numbers of those that differ from the
    frame before (all in the first, and after a change of size); `gone`: the pane is no more, these are its last lines.
    """

    pane: str
    lines: tuple[str, ...]
    changed: tuple[int, ...]
    info: PaneInfo
    seq: int
    gone: bool = False


OnFrame = Callable[[Frame], None]


@dataclass(slots=True, eq=False)
class View:
    """One tab's wish: a pane in a size, drawn or not."""

    on_frame: OnFrame
    width: int
    height: int
    visible: bool = True
    wished: int = 0
    """The number of the last wish; the latest visible one counts."""
    fresh: bool = True
    """Has had no frame since it is visible, and is owed a whole one."""


@dataclass(slots=True)
class Picture:
    """A pane that is mirrored."""

    pane: str
    views: list[View] = field(default_factory=list[View])
    info: PaneInfo | None = None
    dirty: bool = True
    burst: int = 0
    """Bytes of output since the last capture."""
    urgent_at: float = 0.0
    """When to capture regardless of the frame rate, in the loop's time; 0: no such wish."""
    awaited: bool = False
    """A key was sent: the first output that follows is its echo."""
    changed_at: float = 0.0
    applied: tuple[int, int] = (0, 0)
    """The size that was last asked for."""
    frame: Frame | None = None
    rows: Rows = field(default_factory=Rows)
    unlisten: Callable[[], None] = lambda: None

    @property
    def visible(self) -> bool:
        """Whether anybody sees it."""
        return any(view.visible for view in self.views)

    def size(self) -> tuple[int, int] | None:
        """The size that the latest visible view wishes for."""
        visible = [view for view in self.views if view.visible and view.width > 1 and view.height > 1]
        if not visible:
            return None
        latest = max(visible, key=lambda view: view.wished)
        return latest.width, latest.height

    def take(self, lines: tuple[str, ...], about: str, known: PaneInfo) -> bool:
        """A capture. Gives whether it shows anything new; an empty one keeps the last good frame.

        Args:
            about: the pane in that moment, in the format `BRIEF`.
            known: what is known of it besides.
        """
        info = refreshed(about, known)
        if info is None or not lines:
            return False
        before = self.frame
        self.info = info
        rows = self.rows.of(lines)
        if before is None or len(before.lines) != len(rows) or before.info.width != info.width:
            changed = tuple(range(len(rows)))
        else:
            changed = tuple(at for at, row in enumerate(rows) if row != before.lines[at])
            if not changed and _looks(info) == _looks(before.info):
                return False
        self.frame = Frame(self.pane, rows, changed, info, before.seq + 1 if before else 1)
        return True

    def end(self) -> bool:
        """The pane is gone: its last lines stay. Gives whether that is news."""
        if self.frame is None:
            self.frame = Frame(self.pane, (), (), unknown(self.pane), 0)
        if self.frame.gone:
            return False
        info = replace(self.frame.info, dead=True)
        self.frame = replace(self.frame, changed=(), info=info, seq=self.frame.seq + 1, gone=True)
        return True

    def show(self, new: bool) -> None:
        """Give the frame to the visible views: to all when it is new, else to those that are owed one."""
        frame = self.frame
        if frame is None:
            return
        for view in tuple(self.views):
            if not view.visible or not (new or view.fresh):
                continue
            whole = replace(frame, changed=tuple(range(len(frame.lines)))) if view.fresh else frame
            view.fresh = False
            try:
                view.on_frame(whole)
            except Exception as error:  # a tab that fails must not stop the others
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"a mirror of pane {self.pane} failed", "exception": error}
                )


def _looks(info: PaneInfo) -> PaneInfo:
    """What of a pane's description can be seen in its mirror."""
    return replace(info, activity=0.0, pid=0, history=0)

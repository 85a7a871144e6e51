"""Marks a moment in a pane's output, so that later only what came after it is read.

On the normal screen it is a position in the pane's whole output, verified against the lines around it; on the alternate
screen, which has no history, it finds rows that were not there before. Called by `readiness`, and by everything that
reads a turn's answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from gshtui.tmux.client_process import Reply, TmuxQuestion
from gshtui.tmux.panes import PaneInfo, parse
from gshtui.tmux.quoting import command
from gshtui.tmux.tmux_errors import no_such_pane

if TYPE_CHECKING:
    from gshtui.tmux.server import TmuxServer

_ANCHOR = 4
"""Lines above the place that have to be the same."""
_MOST = 5000
"""Lines that are read back when the place itself is lost."""
_TRIES = 3
"""Times that a pane is read again whose output moved on while it was read."""


class Marker(msgspec.Struct, frozen=True):
    """A moment of a pane."""

    info: PaneInfo
    rows: tuple[str, ...]
    """The screen's rows, without styles."""

    @property
    def place(self) -> int:
        """The cursor's line in the whole output, counted from the oldest line kept."""
        return self.info.history + self.info.cursor_y

    @property
    def unfinished(self) -> str:
        """What stood on the cursor's line: a prompt, mostly."""
        x, y = self.info.cursor_x, self.info.cursor_y
        row = self.rows[y][:x] if y < len(self.rows) else ""
        # Blanks at a row's end are not captured; with wide characters, columns are not characters.
        return row.ljust(x) if row.isascii() else row

    def anchor(self) -> tuple[str, ...]:
        """The last lines above the cursor's."""
        above = self.rows[: self.info.cursor_y]
        return tuple(row.rstrip() for row in above[-_ANCHOR:])


async def take_marker(server: TmuxServer, pane: str) -> Marker:
    """The pane now. Raises `TmuxError`."""
    info = await server.pane(pane)
    return await capture_marker(server, info)


async def capture_marker(server: TmuxServer, info: PaneInfo) -> Marker:
    """The pane as it is now. Raises `TmuxError` (no_such_pane if it is gone)."""
    await server.version()
    line = command("capture-pane", "-p", "-t", info.pane)
    reply: Reply
    (reply,) = await server.connection.ask([TmuxQuestion(line, info.target)])
    rows = reply.text()
    now = parse(reply.about)
    if now is None:
        raise no_such_pane(info.pane)
    return Marker(now, rows)


async def text_since(server: TmuxServer, before: Marker, now: Marker | None = None) -> str:
    """The pane's output since the marker, without styles or trailing blank lines. Raises `TmuxError`.

    It includes what was typed at a prompt. After a clear, or once the marker has scrolled out of tmux's history, it is
    everything there.
    """
    now = now or await capture_marker(server, before.info)
    for _ in range(_TRIES):
        text = await _text_between(server, before, now)
        # Lines are counted from the screen's top: output that came since `now` has moved them.
        latest = await capture_marker(server, before.info)
        if latest.info.history == now.info.history:
            return text
        now = latest
    return await _text_between(server, before, now)


async def _text_between(server: TmuxServer, before: Marker, now: Marker) -> str:
    if now.info.alternate:
        return _text(_added(before.rows, now.rows) if before.info.alternate else now.rows)
    if before.info.alternate:
        return _text(now.rows)
    moved = before.place - now.info.history  # the marker's line, counted from the screen's top
    start = max(moved - _ANCHOR, -now.info.history)
    if moved >= -now.info.history and moved < len(now.rows):
        lines = await server.capture(before.info.pane, start=start, styled=False)
        at = moved - start
        if tuple(line.rstrip() for line in lines[max(at - len(before.anchor()), 0) : at]) == before.anchor():
            return _text(_behind(before.unfinished, lines[at:]))
    lines = await server.capture(before.info.pane, start=-min(_MOST, now.info.history), styled=False)
    return _text(_aligned(before, lines))


def _aligned(before: Marker, lines: Sequence[str]) -> Sequence[str]:
    """The text after the marker's lines, which are found by their content, after a resize or with a full history."""
    anchor = [line for line in before.anchor() if line]
    if not anchor:
        return lines
    plain = [line.rstrip() for line in lines]
    kept = [at for at, line in enumerate(plain) if line]
    for end in range(len(kept), len(anchor) - 1, -1):
        if [plain[at] for at in kept[end - len(anchor) : end]] == anchor:
            return _behind(before.unfinished, lines[kept[end - 1] + 1 :])
    return lines


def _behind(prompt: str, lines: Sequence[str]) -> Sequence[str]:
    """The lines without what had stood in the first of them already."""
    if lines and prompt and lines[0].startswith(prompt.rstrip()):
        return [lines[0][len(prompt) :], *lines[1:]]
    return lines


def _added(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Rows that were not there before, in order; one that only moved is not new."""
    known = Counter(row.rstrip() for row in before)
    added: list[str] = []
    for row in now:
        if known[row.rstrip()] > 0:
            known[row.rstrip()] -= 1
        else:
            added.append(row)
    return added


def _text(lines: Sequence[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).rstrip()

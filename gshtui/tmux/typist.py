"""Typing into panes: pastes, keys, bytes. Nothing is typed twice, into the past of a pane, or after its program ended.

Owns the way from text to a terminal's input; never retries what may have arrived. Called by `server`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.tmux import keys, pasting
from gshtui.tmux.errors import TmuxError, no_such_pane, said
from gshtui.tmux.forked import Forked
from gshtui.tmux.ladder import Ladder
from gshtui.tmux.quoting import command, is_pane

_PIECE = 400
"""Bytes of typed text in one command line."""
_PASTE_DEADLINE = 10.0


def check(pane: str) -> None:
    """Raise `TmuxError` (no_such_pane) unless it is a pane's id."""
    if not is_pane(pane):
        raise TmuxError("no_such_pane", f"{pane[:40]!r} is no pane's id.", "Panes are named %0, %1 ….")


class Typist:
    """Types into the panes of one server."""

    def __init__(self, ladder: Ladder, forked: Forked) -> None:
        self._ladder = ladder
        self._forked = forked

    async def paste(self, pane: str, text: str) -> None:
        """Paste text by a buffer of its own, read from standard input. Raises `TmuxError`."""
        await self._ready(pane)
        content = pasting.cleaned(text)
        if not content:
            return
        name = pasting.buffer_name()
        paste = ("paste-buffer", "-p", "-r", "-d", "-b", name, "-t", pane)
        output, errors, status = await self._forked.run(
            "load-buffer", "-b", name, "-", ";", *paste, stdin=content, deadline=_PASTE_DEADLINE, patient=True
        )
        if status:
            await self._forked.run("delete-buffer", "-b", name)
            raise said((errors or output).decode("utf-8", "replace"))

    async def press(self, pane: str, names: Sequence[str]) -> None:
        """Press keys by name. Raises `TmuxError`, before anything is pressed when a name is none."""
        known = [keys.name(key) for key in names]
        if known:
            await self._type(pane, [command("send-keys", "-t", pane, "--", *known)])

    async def write(self, pane: str, data: bytes) -> None:
        """Give these bytes as input. Raises `TmuxError`."""
        pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
        if pieces:
            lines = [command("send-keys", "-t", pane, "-H", *(f"{byte:x}" for byte in piece)) for piece in pieces]
            await self._type(pane, lines)

    async def _type(self, pane: str, lines: list[str]) -> None:
        await self._ready(pane)
        for reply in await self._ladder.ask(lines, once=True):
            reply.text()

    async def _ready(self, pane: str) -> None:
        """Refuse a pane whose program has ended; leave the copy mode that somebody is in, where keys would go."""
        check(pane)
        look = command("display-message", "-p", "-t", pane, "#{pane_id} #{pane_dead} #{pane_in_mode}")
        (reply,) = await self._ladder.ask([look])
        found, dead, mode = [*(reply.text() or ("",))[0].split(" "), "", ""][:3]
        if found != pane:
            raise no_such_pane(pane)
        if dead == "1":
            raise TmuxError("refused", "The program in that terminal has ended; nothing can be typed.", "Restart it.")
        if mode not in ("", "0"):
            async with self._ladder.turn():
                await self._ladder.ask([command("send-keys", "-t", pane, "-X", "cancel")])

"""Input for the program in a terminal: keys by tmux's names, pastes, and mouse events in the encoding it asked for.

Owns the order and one task; waiting input of a kind is sent together, and nothing twice: a failure is reported.
Refuses keys without a terminal code, and mouse events that the program did not ask for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from textual.keys import key_to_character

from gshtui.system.tasks import cancel_and_wait, keep_on
from gshtui.text.terminal_sequences import is_letter
from gshtui.tmux.tmux_errors import TmuxError
from gshtui.ui.terminal.terminals import Terminal

if TYPE_CHECKING:
    from gshtui.tmux.panes import PaneInfo

_NAMES = {
    "enter": "Enter",
    "tab": "Tab",
    "escape": "Escape",
    "space": "Space",
    "backspace": "BSpace",
    "delete": "DC",
    "insert": "IC",
    "home": "Home",
    "end": "End",
    "pageup": "PPage",
    "pagedown": "NPage",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "at": "@",
    "backslash": "\\",
    "underscore": "_",
    "plus": "+",
    "minus": "-",
    "slash": "/",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
_WHOLE = {
    "shift+tab": "BTab",
    # Terminals that can tell it from enter have it set up to begin a line; as plain enter it would send half a prompt.
    "shift+enter": "M-Enter",
    "ctrl+enter": "Enter",
    "ctrl+backspace": "C-h",
    "ctrl+space": "C-Space",
    "ctrl+at": "C-Space",
}
_MODIFIERS = {"ctrl": "C", "alt": "M", "meta": "M", "shift": "S"}


def key_text(key: str, character: str | None) -> str:
    """The text that a key types; empty: none."""
    modified = any(f"{modifier}+" in key for modifier in ("ctrl", "alt", "meta", "super", "hyper"))
    return character if character and is_letter(character) and not modified else ""


def key_name(key: str) -> str:
    """tmux's name for one of Textual's keys; empty: no terminal has such a key."""
    if key in _WHOLE:
        return _WHOLE[key]
    *modifiers, last = key.split("+")
    if any(modifier not in _MODIFIERS for modifier in modifiers):
        return ""
    known = _NAMES.get(last)
    if known is None:
        known = key_to_character(last) or ""
        if len(known) != 1 or not known.isprintable():
            return ""
        # A character has its shift in it, and ctrl knows no case.
        modifiers = [modifier for modifier in modifiers if modifier != "shift"]
        if "ctrl" in modifiers:
            known = known.lower()
    letters = {_MODIFIERS[modifier] for modifier in modifiers}
    return "".join(f"{letter}-" for letter in "CMS" if letter in letters) + known


MouseKind = Literal["down", "up", "move", "wheel_up", "wheel_down", "wheel_left", "wheel_right"]

_WHEEL = {"wheel_up": 64, "wheel_down": 65, "wheel_left": 66, "wheel_right": 67}
_NO_BUTTON = 3
_MOVING = 32
_FURTHEST = 223
"""The last column and row that the older encoding can express."""


def mouse_bytes(
    info: PaneInfo,
    kind: MouseKind,
    x: int,
    y: int,
    *,
    button: int = 0,
    shift: bool = False,
    alt: bool = False,
    ctrl: bool = False,
) -> bytes:
    """The bytes of one event; empty: the program does not want it.

    Args:
        x, y: column and row in the terminal, from 0.
        button: 1 left, 2 middle, 3 right; 0 none.
    """
    if not (info.mouse and 0 <= x < info.width and 0 <= y < info.height):
        return b""
    if kind == "move" and not (info.mouse_moves or (info.mouse_drags and button)):
        return b""
    code = _WHEEL.get(kind, button - 1 if 1 <= button <= 3 else _NO_BUTTON)
    released = kind == "up"
    if released and not info.mouse_sgr:
        code = _NO_BUTTON  # the older encoding does not say which
    code += _MOVING * (kind == "move") + 4 * shift + 8 * alt + 16 * ctrl
    if info.mouse_sgr:
        return f"\x1b[<{code};{x + 1};{y + 1}{'m' if released else 'M'}".encode()
    if x >= _FURTHEST or y >= _FURTHEST:
        return b""
    return b"\x1b[M" + bytes((32 + code, 33 + x, 33 + y))


_Kind = Literal["text", "key", "data", "motion", "paste"]
_MOST = 2_000
"""Maximum number of waiting presses; a terminal that lets more pile up is not listening."""


class Keyboard:
    """Types into a terminal.

    Args:
        sends: called before each piece is sent, because its echo may appear before its arrival is confirmed; and after
        a paste, which takes some time.
        sent: called after each piece that arrived.
        failed: called with a sentence if one did not arrive.
    """

    def __init__(
        self,
        terminal: Terminal,
        sends: Callable[[], None],
        sent: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        self._sends = sends
        self._terminal = terminal
        self._sent = sent
        self._failed = failed
        self._waiting: deque[tuple[_Kind, str | bytes]] = deque()
        self._task: asyncio.Task[None] | None = None

    def text(self, text: str) -> None:
        """Type letters."""
        self._put("text", text)

    def key(self, name: str) -> None:
        """Press a key by tmux's name."""
        self._put("key", name)

    def paste(self, text: str) -> None:
        """Paste text, bracketed if the program asked for that."""
        self._put("paste", text)

    def mouse(self, data: bytes, *, motion: bool = False) -> None:
        """Send a mouse event. Of waiting movements, only the last one is sent."""
        if motion and self._waiting and self._waiting[-1][0] == "motion":
            self._waiting.pop()
        self._put("motion" if motion else "data", data)

    async def close(self) -> None:
        """Stop typing."""
        self._waiting.clear()
        task, self._task = self._task, None
        await cancel_and_wait(task)

    def _put(self, kind: _Kind, what: str | bytes) -> None:
        if len(self._waiting) >= _MOST:
            self._fail("The terminal accepts no keys; what you typed was dropped.")
            return
        self._waiting.append((kind, what))
        if self._task is None or self._task.done():
            self._task = keep_on(self._run, "the keyboard of a terminal")

    async def _run(self) -> None:
        while self._waiting:
            kind, pieces = self._next()
            self._sends()
            try:
                await self._send(kind, pieces)
            except TmuxError as error:
                self._fail(str(error))
                return
            self._sent()
            if kind == "paste":
                self._sends()

    def _next(self) -> tuple[_Kind, list[str | bytes]]:
        """The next piece to send: everything waiting of one kind, but each paste alone."""
        kind, first = self._waiting.popleft()
        pieces = [first]
        while kind != "paste" and self._waiting and self._waiting[0][0] == kind:
            pieces.append(self._waiting.popleft()[1])
        return kind, pieces

    async def _send(self, kind: _Kind, pieces: list[str | bytes]) -> None:
        texts = [piece for piece in pieces if isinstance(piece, str)]
        if kind == "text":
            await self._terminal.type("".join(texts).encode("utf-8", "replace"))
        elif kind == "key":
            await self._terminal.press(*texts)
        elif kind == "paste":
            await self._terminal.paste("".join(texts))
        else:
            await self._terminal.type(b"".join(piece for piece in pieces if isinstance(piece, bytes)))

    def _fail(self, why: str) -> None:
        self._waiting.clear()
        self._failed(why)

"""What the mouse does, in the bytes that a program in a terminal has asked for.

Pure. Says nothing where the program did not ask for this kind of event. Called by the terminal view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gshtui.tmux.panes import PaneInfo

Kind = Literal["down", "up", "move", "wheel_up", "wheel_down", "wheel_left", "wheel_right"]

_WHEEL = {"wheel_up": 64, "wheel_down": 65, "wheel_left": 66, "wheel_right": 67}
_NO_BUTTON = 3
_MOVING = 32
_FURTHEST = 223
"""The last column and row that the older encoding can say."""


def report(
    info: PaneInfo,
    kind: Kind,
    x: int,
    y: int,
    *,
    button: int = 0,
    shift: bool = False,
    alt: bool = False,
    ctrl: bool = False,
) -> bytes:
    """The bytes of one event; empty when the program does not want it.

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

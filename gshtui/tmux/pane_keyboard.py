"""Typing into panes: key names, pasted text and bytes.

Translates key names and cleans pasted text; never types twice, into a pane in copy mode, or after its program ended.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from gshtui.tmux.client_process import OneShotTransport, TmuxQuestion
from gshtui.tmux.quoting import ShownRow, command, is_pane, on_screen
from gshtui.tmux.tmux_connection import TmuxConnection
from gshtui.tmux.tmux_errors import TmuxError, from_reply, no_such_pane

_NAMES = {
    "enter": "Enter",
    "return": "Enter",
    "cr": "Enter",
    "tab": "Tab",
    "btab": "BTab",
    "backtab": "BTab",
    "escape": "Escape",
    "esc": "Escape",
    "space": "Space",
    "backspace": "BSpace",
    "bspace": "BSpace",
    "delete": "DC",
    "del": "DC",
    "dc": "DC",
    "insert": "IC",
    "ins": "IC",
    "ic": "IC",
    "home": "Home",
    "end": "End",
    "pageup": "PPage",
    "pgup": "PPage",
    "ppage": "PPage",
    "pagedown": "NPage",
    "pgdn": "NPage",
    "npage": "NPage",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
} | {f"f{number}": f"F{number}" for number in range(1, 13)}
_MODIFIERS = {
    "c": "C",
    "ctrl": "C",
    "control": "C",
    "m": "M",
    "alt": "M",
    "meta": "M",
    "option": "M",
    "s": "S",
    "shift": "S",
}
_PREFIX = re.compile(r"(c|ctrl|control|m|alt|meta|option|s|shift)[-+](?=.)", re.IGNORECASE)


def tmux_key(key: str) -> str:
    """tmux's name for a key: `Ctrl+C` and `^C` are `C-c`, `PageUp` is `PPage`, a single character is itself.
    Raises `TmuxError`: refused, if there is no such key; type long text instead of sending it as keys.
    """
    rest, modifiers = key, set[str]()
    if len(key) == 2 and key[0] == "^" and key[1] > " ":
        return f"C-{key[1].lower()}"
    while match := _PREFIX.match(rest):
        modifiers.add(_MODIFIERS[match[1].lower()])
        rest = rest[match.end() :]
    found = _NAMES.get(rest.lower())
    if found is None:
        if len(rest) != 1 or not rest.isprintable():
            raise TmuxError(
                "refused", f"There is no key {key[:40]!r}.", "Key names look like Enter, C-c, Tab, Up, Escape, F5 …"
            )
        found = "Space" if rest == " " else rest
        if "C" in modifiers:
            found = found.lower() if len(found) == 1 else found
    if found == "Tab" and modifiers == {"S"}:
        return "BTab"
    return "".join(f"{modifier}-" for modifier in "CMS" if modifier in modifiers) + found


_BREAKS = re.compile(r"\r\n?")
# Everything that is no text: an ESC would end the bracket (`ESC[201~`), a C1 control is the same to many terminals.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def cleaned(text: str) -> bytes:
    """The text with line feeds as its only line ends, and no control character but those and tabs."""
    return _CONTROLS.sub("", _BREAKS.sub("\n", text)).encode("utf-8", "replace")


def buffer_name() -> str:
    """A name that no other paste has."""
    return f"gsh-{secrets.token_hex(8)}"


_MARK = "@gsh-pressed"
"""The pane's option that says which conditional key was pressed last."""
_PIECE = 400
"""Bytes of typed text in one command line."""
_PASTE_DEADLINE = 10.0
_LOOK = "#{pane_id} #{pane_dead} #{pane_in_mode}"
_DEAF = "#{||:#{pane_dead},#{pane_in_mode}}"
"""Whether the program does not get what is typed now."""
_TRIES = 5
"""Times that copy mode is left for one key; somebody enters it again and again."""


def check(pane: str) -> None:
    """Raise `TmuxError` (no_such_pane) unless it is a pane's id."""
    if not is_pane(pane):
        raise TmuxError("no_such_pane", f"{pane[:40]!r} is not a pane's id.", "Pane ids look like %0, %1 …")


class PaneKeyboard:
    """Types into the panes of one server."""

    def __init__(self, connection: TmuxConnection, forked: OneShotTransport) -> None:
        self._connection = connection
        self._forked = forked

    async def paste(self, pane: str, text: str) -> None:
        """Paste text through its own buffer, read from standard input. Raises `TmuxError`."""
        await self._ready(pane)
        content = cleaned(text)
        if not content:
            return
        name = buffer_name()
        paste = ("paste-buffer", "-p", "-r", "-d", "-b", name, "-t", pane)
        output, errors, status = await self._forked.run(
            "load-buffer", "-b", name, "-", ";", *paste, stdin=content, deadline=_PASTE_DEADLINE, patient=True
        )
        if status:
            await self._forked.run("delete-buffer", "-b", name)
            raise from_reply((errors or output).decode("utf-8", "replace"))

    async def press(self, pane: str, names: Sequence[str]) -> None:
        """Press keys by name. Raises `TmuxError`; for an unknown name, before anything is pressed."""
        known = [tmux_key(key) for key in names]
        if known:
            await self._type(pane, command("send-keys", "-t", pane, "--", *known))

    async def press_where_shown(self, pane: str, name: str, shown: Sequence[ShownRow]) -> bool:
        """Press a key only if all of these rows are on the screen; whether it was pressed.

        tmux itself looks and presses in one step, so nothing can be drawn in between. Raises `TmuxError`.
        """
        key, mark = tmux_key(name), secrets.token_hex(8)
        await self._ready(pane)
        press = " ; ".join(
            (command("send-keys", "-t", pane, "--", key), command("set-option", "-p", "-t", pane, _MARK, mark))
        )
        lines = [
            command("if-shell", "-F", "-t", pane, on_screen(shown), press),
            command("display-message", "-p", "-t", pane, f"#{{{_MARK}}}"),
        ]
        done, marked = await self._connection.ask(lines, once=True)
        done.text()
        return marked.text()[:1] == (mark,)

    async def write(self, pane: str, data: bytes) -> None:
        """Send these bytes as input. Raises `TmuxError`."""
        for at in range(0, len(data), _PIECE):
            await self._type(
                pane, command("send-keys", "-t", pane, "-H", *(f"{byte:x}" for byte in data[at : at + _PIECE]))
            )

    async def _type(self, pane: str, line: str) -> None:
        """Run a command that types, where the program gets it. tmux looks and types in one step."""
        check(pane)
        typing = command("if-shell", "-F", "-t", pane, _DEAF, "", line)
        for _ in range(_TRIES):
            (reply,) = await self._connection.ask([TmuxQuestion(typing, pane, _LOOK, in_one_step=True)], once=True)
            reply.text()
            if not await self._left_mode(pane, reply.about):
                return
        raise TmuxError("refused", "Somebody reads the past in that terminal, so nothing can be typed.", "Try again.")

    async def _ready(self, pane: str) -> None:
        """Refuse a pane whose program has ended; leave copy mode, which would swallow the keys."""
        check(pane)
        (reply,) = await self._connection.ask([command("display-message", "-p", "-t", pane, _LOOK)])
        await self._left_mode(pane, (reply.text() or ("",))[0])

    async def _left_mode(self, pane: str, look: str) -> bool:
        """Leave copy mode, which swallows keys, if a pane that looks like this is in it; whether it was.
        Raises `TmuxError`: no_such_pane; refused, if its program has ended.
        """
        found, dead, mode = [*look.split(" "), "", ""][:3]
        if found != pane:
            raise no_such_pane(pane)
        if dead == "1":
            raise TmuxError(
                "refused", "The program in that terminal has ended, so nothing can be typed.", "Restart the program."
            )
        if mode in ("", "0"):
            return False
        async with self._connection.server_lock():
            await self._connection.ask([command("send-keys", "-t", pane, "-X", "cancel")])
        return True

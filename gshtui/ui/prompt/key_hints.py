"""The keys that the line under the input names: those that work now, for what has the focus, as they are mapped.

Reads what the screen has bound at this moment, so a key that is taken elsewhere, or that this terminal can't send, is
not named. At the input it names the few that matter, elsewhere what the key bar at the bottom leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from textual.screen import Screen

from gshtui.ui.kit.keys.bound_keys import is_sent, printed_key
from gshtui.ui.kit.keys.key_table import DIFF, KEYS, hint_word
from gshtui.ui.kit.textual.driver import sends_every_key
from gshtui.ui.kit.textual.typed_app import app_of

KeyUse = Literal["writing", "normal", "searching", "running", "choosing", "listing", "editing", "failed", "ended"]
"""What keys do in the input: write (or command, with vi's keys), search, run the marked command, choose from the list
(or only by tab, while enter still sends), change a queued prompt, send one again whose turn has failed, or send
nothing, since the agent has ended."""

_INPUT: Mapping[KeyUse, tuple[tuple[str, str], ...]] = {
    "writing": (
        ("prompt.submit", "send"),
        ("prompt.newline", "newline"),
        ("mode.next", "mode"),
        ("tabs.view", "terminal or chat"),
        ("app.palette", "palette"),
        ("app.help", "help"),
    ),
    "normal": (
        ("prompt.submit", "send"),
        ("i", "insert"),
        ("mode.next", "mode"),
        ("app.palette", "palette"),
        ("app.help", "help"),
    ),
    "searching": (("prompt.submit", "use it"), ("prompt.history", "next"), ("escape", "back")),
    "running": (("prompt.submit", "run"), ("prompt.complete", "choose"), ("escape", "close the list")),
    "choosing": (("prompt.submit", "choose"), ("escape", "close the list")),
    "listing": (("prompt.submit", "send"), ("prompt.complete", "choose"), ("escape", "close the list")),
    "editing": (("prompt.submit", "save"), ("escape", "discard changes")),
    "ended": (("tabs.view", "terminal or chat"), ("app.palette", "palette"), ("app.help", "help")),
    "failed": (("prompt.submit", "try again"), ("app.palette", "palette"), ("app.help", "help")),
}
"""Ids of rows of the key table, or what is pressed there whatever is mapped, and what that does."""
_MOVES = frozenset(
    [
        "up",
        "down",
        "left",
        "right",
        "scroll_up",
        "scroll_down",
        "page_up",
        "page_down",
        "home",
        "end",
        "previous_prompt",
        "next_prompt",
    ]
)
"""Last parts of ids whose keys nobody needs to be told first."""


_ANSWERS = frozenset(f"approval.{answer}" for answer in ("once", "session", "always", "deny", "reason"))
"""The question itself names these."""


class _BoundKey(NamedTuple):
    """The first of a row's keys that works now and that this terminal sends."""

    key: str
    own: bool
    """Whether it belongs to what has the focus, and not to the whole window."""


class Hint(NamedTuple):
    """A key by Textual's name, and what it does."""

    key: str
    does: str

    @property
    def shown(self) -> str:
        """The key in the words of the hints."""
        return printed_key(self.key)


def input_hints(screen: Screen[Any], use: KeyUse) -> list[Hint]:
    """What keys do while the input has the focus, the most useful first."""
    keys = _bound_keys(screen)
    named = _INPUT[use]
    return [Hint(keys[id].key if id in keys else id, does) for id, does in named if id in keys or id not in KEYS]


def pane_hints(screen: Screen[Any]) -> list[Hint]:
    """What keys do while something else has the focus: the way back, and what the key bar does not name."""
    keys = _bound_keys(screen)
    found = [Hint(keys["app.back"].key, "to the input")] if "app.back" in keys else []
    own = [id for id, bound in keys.items() if bound.own]
    # What works on some rows only is in the row's menu; a change has no menu.
    unnamed = [id for id in own if not KEYS[id].show and id not in _ANSWERS]
    rest = [id for id in unnamed if not KEYS[id].row or KEYS[id].group == DIFF]
    rest.sort(key=lambda id: (id.rpartition(".")[2] in _MOVES, not KEYS[id].row))
    hints = [Hint(keys[id].key, hint_word(KEYS[id].label)) for id in rest]
    return found + [hint for hint in hints if hint.shown != hint.does]  # `up` goes up


def _bound_keys(screen: Screen[Any]) -> dict[str, _BoundKey]:
    """By id of the row, in the order of the table for what has the focus."""
    app = app_of(screen)
    extended = sends_every_key(app)
    found: dict[str, _BoundKey] = {}
    for key, one in screen.active_bindings.items():
        id = one.binding.id or ""
        if one.enabled and id in KEYS and id not in found and is_sent(key, extended=extended):
            found[id] = _BoundKey(key, one.node not in (screen, app))
    return found

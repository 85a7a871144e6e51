"""The keys that work where help was opened, by group, then the rest of the key table.

Builds the list from the screen's active bindings and the key table alone. Opened by F1 and `?`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import wrap

from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen

from gshtui.ui.kit.key_bar import key_name
from gshtui.ui.kit.key_table import KEYS
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.transcript.text_screen import TextScreen

WIDEST = 92
KEYS_WIDTH = 22
"""Width of the key column in cells."""
OTHER = "Here"
"""Group of the keys that Textual's own widgets bind."""


@dataclass(frozen=True, slots=True)
class HelpRow:
    """One line of help."""

    group: str
    keys: str
    help: str
    id: str = ""
    """Its id in `[keybindings]`; empty for Textual's own keys."""


class HelpScreen(TextScreen):
    """The keys."""

    def __init__(self, text: Content) -> None:
        super().__init__("Keys that work here", text)


def help_screen(asked_on: Screen[object]) -> HelpScreen:
    """Help for a screen as it is now, with its focus."""
    bindings = [one.binding for one in asked_on.active_bindings.values() if one.enabled and not one.binding.system]
    here = help_rows(bindings, app_of(asked_on).get_key_display)
    other = other_rows({binding.id for binding in bindings if binding.id})
    return HelpScreen(help_text(here, other, min(WIDEST, app_of(asked_on).size.width * 96 // 100 - 6)))


def help_rows(bindings: list[Binding], display: Callable[[Binding], str]) -> list[HelpRow]:
    """The bindings by group, in the order of the key table; several keys for one action share a row."""
    keys: dict[str, list[str]] = {}
    about: dict[str, tuple[str, str]] = {}
    for binding in bindings:
        name = binding.id or binding.action
        if not (binding.description or binding.tooltip):
            continue
        row = KEYS.get(name)
        about[name] = (row.group, row.help) if row else (OTHER, binding.tooltip or binding.description)
        shown = keys.setdefault(name, [])
        if (key := key_name(display(binding))) not in shown:
            shown.append(key)
    order = list(KEYS)
    names = sorted(about, key=lambda name: order.index(name) if name in KEYS else len(order))
    return [
        HelpRow(about[name][0], ", ".join(keys[name]), about[name][1], name if name in KEYS else "") for name in names
    ]


def other_rows(working: set[str]) -> list[HelpRow]:
    """The rows of the table that do not work here, so that people can find them from anywhere."""
    return [
        HelpRow(KEYS[id].group, KEYS[id].keys.replace(",", ", "), KEYS[id].help, id) for id in KEYS if id not in working
    ]


def help_text(here: list[HelpRow], other: list[HelpRow], width: int) -> Content:
    """The rows as text of this width, under their groups."""
    parts = _groups(here, "bold", width)
    if other:
        parts += [
            Content(""),
            Content.styled("Elsewhere", "bold underline"),
            *_groups(other, "$foreground-muted", width),
        ]
    return Content("\n").join(parts)


def _groups(found: list[HelpRow], style: str, width: int) -> list[Content]:
    lines: list[Content] = []
    for group in dict.fromkeys(row.group for row in found):
        lines += [Content(""), Content.styled(group, "bold $primary")]
        for row in (row for row in found if row.group == group):
            room = max(10, width - KEYS_WIDTH - 3)
            told = wrap(row.help, room) or [""]
            lines.append(Content.assemble((f"  {row.keys:<{KEYS_WIDTH}}", style), " ", told[0]))
            lines += [Content(" " * (KEYS_WIDTH + 3) + line) for line in told[1:]]
            if row.id and len(told[-1]) + 2 + len(row.id) <= room:
                lines[-1] = Content.assemble(lines[-1], "  ", (row.id, "$foreground-muted"))
            elif row.id:
                lines.append(Content.assemble(" " * (KEYS_WIDTH + 3), (row.id, "$foreground-muted")))
    return lines

"""The two lines of words around a mirrored terminal: whose it is and what it does; how it is shown and what keys mean.

Pure: states in, content out. Titles and names are other people's text and are never markup. Called by the terminal
pane.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import msgspec
from textual.content import Content

from gshtui.bus.fleet import ENDED_STATUSES
from gshtui.guard.sanitise import one_line
from gshtui.ui.kit import figures
from gshtui.ui.kit.status_signs import SIGNS
from gshtui.ui.terminal.terminal_state import TerminalState

if TYPE_CHECKING:
    from gshtui.tmux.panes import PaneInfo

_MUTED = "$foreground-muted"
_HOST = platform.node()
"""What tmux calls a terminal whose program chose no title."""


class Shown(msgspec.Struct, frozen=True):
    """How a terminal is shown now."""

    way: str = ""
    typing: bool = False
    leave: str = ""
    """The key that ends typing, as people write it."""
    up: int = 0
    """Rows between what is shown and the end."""
    held: bool = False
    behind: bool = False
    gone: bool = False
    failed: str = ""
    size: tuple[int, int] = (0, 0)
    """Of the tab."""
    command: str = ""
    """What attaches to it, where the line above has no room for that."""


def title(
    state: TerminalState, info: PaneInfo | None, command: str, width: int, now: float, *, focused: bool = False
) -> Content:
    """Who it is, with status, its source and age; at the right how to attach to it from anywhere."""
    sign, colour = SIGNS.get(state.status, ("○", _MUTED))
    since = f" · {figures.age(max(0.0, now - state.since))}" if state.since else ""
    parts: list[Content | str | tuple[str, str]] = [("▌", "$primary") if focused else " "]
    if state.status:
        parts += [(f"{sign} {state.status}", colour), (f" · by {state.source}{since}  ", _MUTED)]
    parts.append((one_line(state.row.name, 40), "bold"))
    if state.killed:
        parts.append((" · killed" if state.status in ENDED_STATUSES else " · killed, can be restored", "$warning"))
    doing = one_line(state.doing or (info.title if info is not None else ""), 80)
    if doing and doing not in (state.row.name, _HOST, "killed" if state.killed else ""):
        parts.append((f" · {doing}", _MUTED))
    return _spread(Content.assemble(*parts), Content.styled(command, _MUTED), width)


def status(state: TerminalState, info: PaneInfo | None, shown: Shown, width: int) -> Content:
    """What keys do now, or what is the matter; at the right how the terminal is reached, and its cost."""
    left = Content(" ") + _matter(state, info, shown)
    facts = [*([shown.command] if shown.command else []), *_facts(info, shown), shown.way]
    # What there is no room for goes, the way last of all.
    while len(facts) > 1 and left.cell_length + len(" · ".join(facts)) + 2 > width:
        del facts[0]
    return _spread(left, Content.styled(" · ".join(facts), _MUTED), width)


def _matter(state: TerminalState, info: PaneInfo | None, shown: Shown) -> Content:
    name = one_line(state.row.name, 40)
    if shown.failed:
        return Content.styled(one_line(shown.failed), "$text-error")
    if shown.gone:
        return Content.styled("Its terminal was closed. This was its last screen.", "$text-warning")
    if info is not None and info.dead:
        return Content.styled(f"{ended(info)} This is its last screen.", "$text-warning")
    if shown.typing:
        return Content.assemble(
            (f"Every key goes to {name}. ", "bold $text-warning"), (f"{shown.leave} takes them back.", _MUTED)
        )
    if shown.held:
        more = " · more has come below" if shown.behind else ""
        where = f"{shown.up:,} lines up" if shown.up else "held still"
        return Content.styled(f"↑ {where}{more} · escape shows it as it is now", "$text-accent")
    if info is None:
        return Content.styled("Waiting for its first picture …", _MUTED)
    return Content.styled(f"enter types into {name}", _MUTED)


def ended(info: PaneInfo) -> str:
    """How a program ended, in a sentence."""
    if info.exit_status is None:
        return "It has ended."
    if info.exit_status > 128:
        return f"It was ended by signal {info.exit_status - 128}."
    return f"It ended with exit status {info.exit_status}."


def _facts(info: PaneInfo | None, shown: Shown) -> list[str]:
    facts: list[str] = []
    if info is not None:
        if info.alternate:
            facts.append("full-screen program")
        if (info.width, info.height) != shown.size and not info.dead and not shown.held and info.width:
            facts.append(f"{info.width}x{info.height}{', someone is attached' if info.attached else ''}")
    return facts


def _spread(left: Content, right: Content, width: int) -> Content:
    """Words at both ends of a line; where there is no room, the right ones go."""
    room = width - left.cell_length - right.cell_length - 2
    if room < 0:
        return left.truncate(max(0, width - 1), ellipsis=True)
    return Content.assemble(left, " " * (room + 1), right, " ")

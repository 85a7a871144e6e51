"""When and how an agent's context is cut: a form for this agent alone; empty fields stay as they are.

Owns the form and its checks; sets nothing itself. Returns the values entered.
"""

from __future__ import annotations

import re

import msgspec
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from gshtui.text.sanitise import one_line
from gshtui.text.units import percent
from gshtui.ui.kit.widgets.dialogs import FormScreen
from gshtui.ui.kit.widgets.line_field import LineField

_STRATEGY = re.compile(r"summari[sz]e|last [1-9]\d*|budget [1-9]\d*")


class Tuning(msgspec.Struct, frozen=True):
    """The values entered; `None`: leave unchanged."""

    threshold: float | None = None
    protect: int | None = None
    strategy: str | None = None


def parse_tuning(threshold: str, protect: str, strategy: str) -> Tuning | str:
    """The values, or what is wrong and what to enter instead."""
    share: float | None = None
    kept: int | None = None
    if words := threshold.strip().removesuffix("%").strip():
        try:
            share = float(words)
        except ValueError:
            return f"“{one_line(threshold, 20)}” is not a percentage; enter a number such as 80 % or 0.8."
        share = share / 100 if share > 1 else share
        if not 0.1 <= share <= 0.98:
            return "A compaction can start between 10 % and 98 % of the window."
    if words := protect.strip().lower().replace(",", "").replace("_", ""):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(k?)", words)
        if found is None:
            return f"“{one_line(protect, 20)}” is not a number of tokens; enter one such as 40000 or 40k."
        kept = round(float(found[1]) * (1_000 if found[2] else 1))
    way = " ".join(strategy.lower().split())
    if way and not _STRATEGY.fullmatch(way):
        return "The strategy must be `summarise`, `last N` (messages) or `budget N` (tokens)."
    return Tuning(share, kept, way.replace("summarize", "summarise") or None)


class TuneScreen(FormScreen[Tuning]):
    """Returns the values to set, or `None`."""

    def __init__(self, name: str, *, trigger: int = 0, window: int = 0) -> None:
        super().__init__()
        self._agent_name = name
        self._now = f"now {percent(trigger, window)}" if trigger and window else "as in the settings"

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -form"):
            yield Static(Content(f"When {one_line(self._agent_name, 40)}'s context is cut"), classes="dialog-title")
            yield _row("Start at", LineField(placeholder=f"% of the window, {self._now}", id="threshold"))
            yield _row("Protect", LineField(placeholder="tokens of recent results", id="protect"))
            yield _row("History", LineField(placeholder="summarise · last 40 · budget 60000", id="strategy"))
            yield Static("", markup=False, classes="dialog-wrong")
            hint = "Only for this agent and conversation, from its next request. Empty fields stay as they are."
            yield Static(Content(hint), classes="dialog-hint")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Set (ctrl+s)", id="set", variant="primary", compact=True)
                yield Button("Cancel (escape)", id="close", compact=True)

    def on_mount(self) -> None:
        self.query_one("#threshold").focus()

    def action_submit(self) -> None:
        values = [self.query_one(f"#{name}", Input).value for name in ("threshold", "protect", "strategy")]
        found = parse_tuning(*values)
        if isinstance(found, str):
            self.query_one(".dialog-wrong", Static).update(found)
        elif found == Tuning():
            self.query_one(".dialog-wrong", Static).update("Fill in at least one field.")
        else:
            self.dismiss(found)


def _row(label: str, field: Widget) -> Widget:
    return Horizontal(Static(label, markup=False, classes="form-label"), field, classes="form-row")

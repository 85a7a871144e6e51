"""The dialog for a new agent: what it is to do, what it is, where it works.

Owns the form; refuses to start anything. Dismissed with the line of the command language that does, or nothing. Opened
by the app.
"""

from __future__ import annotations

from typing import cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Button, Input, Select, Static, TextArea

from gshtui.ui.agents.spawn_form import ANY, NATIVE, Offers, Wish, line_of, wrong
from gshtui.ui.kit.bindings import bind


class SpawnScreen(ModalScreen[str]):
    """`ctrl+s` starts it, from any field."""

    BINDINGS = [bind("form.submit", "submit"), bind("form.close", "dismiss('')")]

    def __init__(self, offers: Offers, prompt: str = "") -> None:
        super().__init__()
        self._offers = offers
        self._prompt = prompt

    def compose(self) -> ComposeResult:
        offers = self._offers
        with Vertical(classes="dialog -form"):
            yield Static(Content("New agent"), classes="dialog-title")
            yield TextArea(self._prompt, id="task", compact=True, placeholder="What is it to do?")
            kinds = [(shown, value) for value, shown in offers.kinds]
            yield _row("Program", Select(kinds, value=NATIVE, allow_blank=False, id="kind", compact=True))
            personas = [("none", ""), *((shown, value) for value, shown in offers.personas)]
            yield _row("Persona", Select(personas, value="", allow_blank=False, id="persona", compact=True))
            models = SuggestFromList(offers.models, case_sensitive=False)
            yield _row("Model", Input(placeholder="the default", id="model", compact=True, suggester=models))
            yield _row("Command", Input(placeholder="a command line", id="command", compact=True))
            yield _row("Name", Input(placeholder="given by itself", id="name", compact=True))
            branch = Input(placeholder="none; a branch gives it a folder of its own", id="worktree", compact=True)
            yield _row("Worktree", branch)
            reports = [("stays with it, to be looked at", ""), ("comes into the conversation (background)", "yes")]
            yield _row("Report", Select(reports, value="", allow_blank=False, id="background", compact=True))
            yield Static("", markup=False, classes="dialog-wrong")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Start (ctrl+s)", id="start", variant="primary", compact=True)
                yield Button("Close (escape)", id="close", compact=True)

    def on_mount(self) -> None:
        self._fit()
        self.query_one("#task").focus()

    @property
    def wish(self) -> Wish:
        """What is filled in."""
        return Wish(
            prompt=self.query_one("#task", TextArea).text,
            kind=self._chosen("kind"),
            command=self.query_one("#command", Input).value,
            persona=self._chosen("persona"),
            model=self.query_one("#model", Input).value,
            name=self.query_one("#name", Input).value,
            worktree=self.query_one("#worktree", Input).value,
            background=bool(self._chosen("background")),
        )

    def _chosen(self, id: str) -> str:
        field = cast("Select[str]", self.query_one(f"#{id}", Select))
        return field.value if isinstance(field.value, str) else ""

    @on(Select.Changed, "#kind")
    def _fit(self) -> None:
        """Show the fields that mean something for this kind."""
        kind = self._chosen("kind")
        for name, shown in (("persona", kind == NATIVE), ("model", kind == NATIVE), ("command", kind != NATIVE)):
            row = self.query_one(f"#{name}").parent
            assert isinstance(row, Widget)
            row.display = shown
        command = self.query_one("#command", Input)
        command.placeholder = "a command line" if kind == ANY else self._offers.programs.get(kind, "")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "start":
            self.action_submit()
        else:
            self.dismiss("")

    def action_submit(self) -> None:
        """Say what is wrong, or be done."""
        wish = self.wish
        field, why = wrong(wish)
        self.query_one(".dialog-wrong", Static).update(Content(why))
        if field:
            self.query_one(f"#{field}").focus()
        else:
            self.dismiss(line_of(wish, self._offers.programs))


def _row(label: str, field: Widget) -> Horizontal:
    return Horizontal(Static(Content(label), classes="form-label"), field, classes="form-row")

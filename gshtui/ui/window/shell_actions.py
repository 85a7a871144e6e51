"""What the window does with a row of the shell log: show, copy, run again, ask about, pin it; a note.

Owns the way from a row to the clipboard, the input line or a viewer; refuses to hold rows. Made by the app when the
first action is wanted.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from gshtui.bus.shell_data import ShellRecord
from gshtui.bus.shell_rows import Row
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.dialogs import InputScreen, Picker, PickerChoice
from gshtui.ui.kit.fitted_text import fit
from gshtui.ui.kit.folding_area import FoldingArea
from gshtui.ui.kit.key_table import KEYS
from gshtui.ui.kit.widget_messages import Note
from gshtui.ui.shell.shell_format import ended
from gshtui.ui.shell.shell_pane import row_actions
from gshtui.ui.shell.shell_record import RecordScreen
from gshtui.ui.shell.shell_reference import reference

if TYPE_CHECKING:
    from gshtui.ui.window.fleet_app import FleetApp

PINNED = "Keep this in mind from now on:\n"


class ShellActions:
    """The actions of `ROW_ACTIONS`, and the menu of them."""

    def __init__(self, app: FleetApp) -> None:
        self._app = app
        self._do: dict[str, Callable[[ShellRecord], None]] = {
            "open": self._open,
            "copy": lambda record: self._copied(record.command),
            "copy_output": self._copy_output,
            "again": self._again,
            "ask": self._refer,
            "pin": lambda record: self._refer(record, pinned=True),
        }

    def perform(self, action: str, row: Row | None) -> None:
        """Do it; what has to be asked first is asked."""
        if action == "menu":
            self._menu(row)
        elif action == "note":
            self._note(row)
        elif isinstance(row, ShellRecord):
            self._do[action](row)
        elif row is not None and action == "copy":
            self._copied(row.text)
        elif row is not None:
            self._app.push_screen(RecordScreen(row, ""))

    def _menu(self, row: Row | None) -> None:
        actions = row_actions(row)
        rows = [KEYS[f"shell.{action}"] for action in actions]
        choices = [
            PickerChoice(action, key.label, f"{key.help} · {key.keys.split(',')[0]}")
            for action, key in zip(actions, rows, strict=True)
        ]
        title = fit(row.command, 60) if isinstance(row, ShellRecord) else "Shell log"
        picker = Picker(title, choices, empty="Nothing can be done now.", hint="enter does it · escape closes")
        self._app.push_screen(picker, lambda chosen: self.perform(chosen, row) if chosen else None)

    # Looking

    def _open(self, record: ShellRecord) -> None:
        self._with_output(record, lambda output: self._app.push_screen(RecordScreen(record, output)))

    def _copy_output(self, record: ShellRecord) -> None:
        self._with_output(record, self._copied)

    def _copied(self, text: str) -> None:
        self._app.copy_to_clipboard(text)
        self._app.notify("Copied.", markup=False, timeout=2)

    def _with_output(self, record: ShellRecord, then: Callable[[str], object]) -> None:
        self._app.run_worker(self._fetched(record, then), exit_on_error=False, group="shell")

    async def _fetched(self, record: ShellRecord, then: Callable[[str], object]) -> None:
        from gshtui.store.store_errors import StoreError

        try:
            output = await self._app.bridge.output(record.output) if record.output else ""
        except (NotReady, StoreError) as error:
            self._app.notify(f"Can't read its output: {error}", severity="error", markup=False)
            output = ""
        then(output)

    # Into the prompt

    def _again(self, record: ShellRecord) -> None:
        elsewhere = record.cwd and record.cwd != str(self._app.bridge.opening.cwd)
        folder = f"cd {shlex.quote(record.cwd)} && " if elsewhere else ""
        self._write(f"!{folder}{record.command}")

    def _write(self, text: str) -> None:
        self._app.show_centre()
        self._app.write(text)

    def _refer(self, record: ShellRecord, *, pinned: bool = False) -> None:
        self._with_output(record, lambda output: self._put(record, output, pinned=pinned))

    def _put(self, record: ShellRecord, output: str, *, pinned: bool) -> None:
        area = self._app.bench.input
        if not isinstance(area, FoldingArea):
            return
        self._write(PINNED if pinned else "")
        area.insert_folded(reference(record, output, pinned=pinned))
        area.insert_typed(" ")
        says = f"Its output goes along ({ended(record)})." if output else f"It has no output here ({ended(record)})."
        then = "Sent with this prompt, it is pinned: no cut touches it." if pinned else "Write what you want to know."
        self._app.notify(f"{says} {then}", markup=False, timeout=4)

    # Notes

    def _note(self, row: Row | None) -> None:
        cwd = row.cwd if isinstance(row, ShellRecord) else ""

        def keep(words: str | None) -> None:
            if words:
                self._app.post_message(Note(words, cwd))

        self._app.push_screen(InputScreen("A note for the shell log", hint="agents can read it too"), keep)

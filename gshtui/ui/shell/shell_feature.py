"""The window's actions on a row of the shell log: show, copy, run again, ask about, pin; and adding a note.

Takes a row to the clipboard, the input line or a viewer, and fetches the rows that the pane needs; holds no rows
itself.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from gshtui.bus.shell_data import ShellRecord
from gshtui.bus.shell_rows import Row
from gshtui.context.tasks.pin_mark import TAG
from gshtui.system.expected_error import ExpectedError
from gshtui.system.tasks import report_unexpected
from gshtui.text import units
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.row_actions import RowAction, RowActions
from gshtui.ui.kit.widget_messages import Note
from gshtui.ui.kit.widgets.fitted_text import fit
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.kit.workbench_port import WorkbenchPort
from gshtui.ui.shell import shell_format as words
from gshtui.ui.shell.shell_format import ended
from gshtui.ui.shell.shell_pane import ShellPane

PINNED = "Keep this in mind from now on:\n"


class ShellFeature(Feature):
    """The shell log."""

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self.rows = RowActions[Row | None](
            window,
            ("shell",),
            (
                RowAction("shell.open", self._open, _is_row),
                RowAction("shell.copy", self._copy, _is_row),
                RowAction("shell.copy_output", self._copy_output, lambda row: _is_command(row) and bool(row.output)),
                RowAction("shell.again", self._again, _is_command),
                RowAction("shell.ask", self._refer, _is_command),
                RowAction("shell.pin", self._pin, _is_command),
                RowAction("shell.note", self._ask_for_note),
            ),
        )

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (
            FeatureRoute(ShellPane.Wanted, self._perform),
            FeatureRoute(ShellPane.Needs, lambda message: self.run_work(self._fetch(message), "shell rows")),
            FeatureRoute(Note, lambda message: self.run_work(self._keep(message), "notes")),
        )

    def _perform(self, message: ShellPane.Wanted) -> None:
        key, row = message.key, message.row
        if key == "shell.menu":
            title = fit(row.command, 60) if isinstance(row, ShellRecord) else "Shell log"
            self.rows.show_menu(title, row)
        else:
            self.rows.perform(key, row, lambda: self._does_not_apply(row))

    def _does_not_apply(self, row: Row | None) -> None:
        if row is not None:
            key = key_of(self.window.input_line, "shell.menu")
            words = f"That doesn't work on this line. Press {key} for the available actions."
            self.window.notify(words, markup=False, timeout=4)

    async def _fetch(self, message: ShellPane.Needs) -> None:
        pane = message.pane
        try:
            hub = await self.window.bridge.running()
            span = await hub.shell_rows(message.filter, message.start, message.limit)
        except NotReady as error:
            pane.failed(str(error))
        except Exception as error:  # whatever the record's error, the log goes on with new rows
            report_unexpected("the shell log", error)
            pane.failed(str(error) or type(error).__name__)
        else:
            pane.add_rows(message.filter, span)

    # Looking

    def _open(self, row: Row | None) -> None:
        from gshtui.ui.shell.shell_record import RecordScreen

        if isinstance(row, ShellRecord):
            self._with_output(row, lambda output: self.window.push_screen(RecordScreen(row, output)))
        elif row is not None:
            self.window.push_screen(RecordScreen(row, ""))

    def _copy(self, row: Row | None) -> None:
        if row is not None:
            self._copied(row.command if isinstance(row, ShellRecord) else row.text)

    def _copy_output(self, row: Row | None) -> None:
        if isinstance(row, ShellRecord):
            self._with_output(row, self._copied)

    def _copied(self, text: str) -> None:
        self.window.copy_to_clipboard(text)
        self.window.notify("Copied.", markup=False, timeout=2)

    def _with_output(self, record: ShellRecord, then: Callable[[str], object]) -> None:
        self.run_work(self._fetched(record, then), "shell")

    async def _fetched(self, record: ShellRecord, then: Callable[[str], object]) -> None:
        from gshtui.store.engine.store_errors import StoreError

        try:
            output = await self.window.bridge.output(record.output) if record.output else ""
        except (NotReady, StoreError) as error:
            self.window.notify(f"Can't read its output: {error}", severity="error", markup=False)
            output = ""
        then(output)

    # Into the prompt

    def _again(self, row: Row | None) -> None:
        if isinstance(row, ShellRecord):
            elsewhere = row.cwd and row.cwd != str(self.window.bridge.opening.cwd)
            folder = f"cd {shlex.quote(row.cwd)} && " if elsewhere else ""
            self._write(f"!{folder}{row.command}")

    def _write(self, text: str) -> None:
        self.window.show_centre()
        self.window.write(text)

    def _refer(self, row: Row | None, *, pinned: bool = False) -> None:
        if isinstance(row, ShellRecord):
            self._with_output(row, lambda output: self._put(row, output, pinned=pinned))

    def _pin(self, row: Row | None) -> None:
        self._refer(row, pinned=True)

    def _put(self, record: ShellRecord, output: str, *, pinned: bool) -> None:
        area = self.window.input_line
        if not isinstance(area, FoldingArea):
            return
        self._write(PINNED if pinned else "")
        area.insert_folded(reference(record, output, pinned=pinned))
        area.insert_typed(" ")
        says = f"Its output is included ({ended(record)})." if output else f"No output was kept ({ended(record)})."
        then = "Once sent, it stays pinned: no cut removes it." if pinned else "Type your question."
        self.window.notify(f"{says} {then}", markup=False, timeout=4)

    # Notes

    def _ask_for_note(self, row: Row | None) -> None:
        from gshtui.ui.kit.widgets.dialogs import InputScreen

        cwd = row.cwd if isinstance(row, ShellRecord) else ""

        def keep(words: str | None) -> None:
            if words:
                self.window.post_message(Note(words, cwd))

        self.window.push_screen(InputScreen("Note for the shell log", hint="agents can read it too"), keep)

    async def _keep(self, note: Note) -> None:
        try:
            hub = await self.window.bridge.running()
            await hub.note(note.text, note.cwd or str(self.window.bridge.opening.cwd))
        except (NotReady, ExpectedError) as error:
            self.window.notify(f"Couldn't save the note: {error}", severity="error", markup=False)
        else:
            self.window.notify("Note added to the shell log.", markup=False, timeout=2)


def _is_row(row: Row | None) -> bool:
    return row is not None


def _is_command(row: Row | None) -> TypeGuard[ShellRecord]:
    return isinstance(row, ShellRecord)


MOST_LINES = 400
MOST = 24_000
"""How many characters of output are included; of longer output, the beginning and the end."""
_MARK = re.compile(rf"<(/?{TAG})", re.IGNORECASE)


def reference(record: ShellRecord, output: str, *, pinned: bool = False) -> str:
    """The command and its output as text for an agent.

    Args:
        output: everything stored of it; empty: nothing.
        pinned: the message containing it must never be cut.
    """
    facts = {
        "pinned": "yes" if pinned else "",
        "id": str(record.id),
        "at": words.moment(record.at),
        "folder": record.cwd,
        "terminal": words.terminal(record),
        "branch": record.branch,
        "ended": words.ended(record),
        "took": units.duration(record.duration) if record.duration is not None else "",
        "pipestatus": " ".join(map(str, record.pipestatus)) if len(record.pipestatus) > 1 else "",
    }
    known = " ".join(f'{name}="{_attribute(value)}"' for name, value in facts.items() if value)
    lines = [f"<{TAG} {known}>", f"$ {_inside(record.command)}"]
    if record.expanded and record.expanded != record.command:
        lines.append(f"(expanded: {_inside(record.expanded)})")
    lines.append(_inside(bounded(output.rstrip("\n"))) if output else "(its output was not kept)")
    return "\n".join((*lines, f"</{TAG}>"))


def bounded(text: str) -> str:
    """A text without its middle if it is too long; a note says how much was left out."""
    rows = text.split("\n")
    if len(rows) > MOST_LINES:
        half = MOST_LINES // 2
        text = "\n".join((*rows[:half], f"… {len(rows) - 2 * half:,} lines left out …", *rows[-half:]))
    if len(text) > MOST:
        half = MOST // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return text


def _inside(text: str) -> str:
    from gshtui.text.sanitise import plain  # not before the first letter

    return _MARK.sub(r"<\\\1", plain(text))


def _attribute(text: str) -> str:
    from gshtui.text.sanitise import one_line  # not before the first letter

    return one_line(text, 300).replace('"', "'")

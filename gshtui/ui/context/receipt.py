"""A receipt on a screen of its own: of a cut that was made, of one that would be, or of a summary that waits.

Owns reading it (groups and items that open to their texts) and the keys; refuses to cut: it is dismissed with what is
to be done. Opened by `ContextActions`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from gshtui.bus.context import Item, Receipt
from gshtui.context.views import ContextError
from gshtui.ui.context.entries import Entry
from gshtui.ui.context.receipt_outline import outline, title, wanted, words
from gshtui.ui.context.view import OutlineView
from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.surroundings import app_of

Kind = Literal["made", "preview", "proposed"]
Text = Callable[[str], Awaitable[str]]
"""A text by its hash. Raises `ContextError` or `NotReady`."""


class Decided(msgspec.Struct, frozen=True):
    """What a person decided. `about`: the block to restore."""

    action: Literal["do", "undo", "restore", "edit", "accept", "reject"]
    about: str = ""


_BUTTONS: dict[Kind, tuple[tuple[str, str], ...]] = {
    "preview": (("do", "Do it (ctrl+s)"),),
    "made": (("undo", "Undo (U)"), ("edit", "Edit the summary (e)")),
    "proposed": (("accept", "Accept (a)"), ("edit", "Edit (e)"), ("reject", "Reject (r)")),
}


class ReceiptScreen(ModalScreen[Decided | None]):
    """See the module. `None`: all stays as it is."""

    BINDINGS: list[BindingType] = [
        bind("receipt.do", "decide('do')"),
        bind("receipt.undo", "decide('undo')"),
        bind("receipt.restore", "decide('restore')"),
        bind("receipt.edit", "decide('edit')"),
        bind("receipt.accept", "decide('accept')"),
        bind("receipt.reject", "decide('reject')"),
        bind("receipt.copy", "copy"),
        bind("receipt.close", "leave"),
    ]

    def __init__(self, receipt: Receipt, text: Text, kind: Kind = "made", hint: str = "") -> None:
        super().__init__()
        self.receipt = receipt
        self.kind: Kind = kind
        self.view = OutlineView(words, id="receipt")
        self._text = text
        self._hint = hint
        self._texts: dict[str, str] = {}
        self._opened = frozenset({"summary"} if kind == "proposed" or len(receipt.summary) < 2_000 else ())

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -receipt"):
            yield Static(Content(title(self.receipt)), classes="dialog-title")
            yield self.view
            if self._hint:
                yield Static(Content(self._hint), classes="dialog-hint", id="receipt-hint")
            with Horizontal(classes="dialog-buttons"):
                for action, words in _BUTTONS[self.kind]:
                    if self._fits(action):
                        variant = "primary" if action in ("do", "accept") else "default"
                        yield Button(Content(words), id=action, variant=variant, compact=True)
                yield Button(
                    Content("Leave it (escape)" if self.kind == "preview" else "Close (escape)"),
                    id="leave",
                    compact=True,
                )

    def on_mount(self) -> None:
        self._show()
        self.view.focus()

    def _fits(self, action: str) -> bool:
        """Whether it means something for this receipt."""
        if action == "restore":
            item = self._item()
            return self.kind == "made" and item is not None and item.fate not in ("kept", "carried")
        if action == "undo":
            return self.kind == "made" and not self.receipt.undone
        if action == "edit":
            can = self.kind == "proposed" or (self.kind == "made" and not self.receipt.undone)
            return can and bool(self.receipt.summary)
        return action in [name for name, _ in _BUTTONS[self.kind]]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "decide" and parameters and parameters[0] != "restore":
            return self._fits(str(parameters[0]))
        return super().check_action(action, parameters) if action != "decide" else self.kind == "made"

    def _item(self) -> Item | None:
        entry = self.view.entry
        return entry.data if entry is not None and isinstance(entry.data, Item) else None

    def _show(self) -> None:
        self.view.show(outline(self.receipt, self._opened, self._texts))

    @on(OutlineView.Chosen)
    def _chosen(self, event: OutlineView.Chosen) -> None:
        event.stop()
        entry: Entry = event.entry
        if entry.opened is None:
            return
        self._opened ^= {entry.id}
        self._show()
        if wanted(self.receipt, self._opened, self._texts):
            self.run_worker(self._read(), exit_on_error=False, exclusive=True, group="texts")

    async def _read(self) -> None:
        for hash in wanted(self.receipt, self._opened, self._texts):
            try:
                self._texts[hash] = await self._text(hash)
            except (NotReady, ContextError) as error:
                self._texts[hash] = f"⟨This text cannot be read. {error}⟩"
        self._show()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "leave":
            self.action_leave()
        else:
            self.action_decide(event.button.id or "")

    def action_decide(self, action: str) -> None:
        """What is to be done, if it means something here."""
        item = self._item()
        if action == "restore" and not self._fits("restore"):
            self.notify("Put the cursor on an item that was cut.", markup=False)
        elif self._fits(action):
            about = item.block if action == "restore" and item is not None else ""
            self.dismiss(msgspec.convert({"action": action, "about": about}, Decided))

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_copy(self) -> None:
        """The selection, else the text under the cursor, else the summary."""
        entry = self.view.entry
        text = self.get_selected_text() or (entry.text if entry is not None and entry.text else self.receipt.summary)
        if text:
            app_of(self).copy_to_clipboard(text)
            self.notify("Copied.", markup=False, timeout=2)

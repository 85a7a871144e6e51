"""A receipt on its own screen: of a cut, a preview, or a waiting summary.

Owns its lines (what was removed and kept, the costs, each item's text) and the keys. It cuts nothing itself, but
returns the person's decision.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from textwrap import wrap
from typing import Literal

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from gshtui.bus.context_data import Fate, Item, Receipt
from gshtui.system.expected_error import ExpectedError
from gshtui.system.struct_types import learned
from gshtui.text import units
from gshtui.text.sanitise import one_line
from gshtui.ui.context.outline import EntryWords, OutlineEntry, StyledPart, displayed
from gshtui.ui.context.outline_view import OutlineView
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.box import Box

KINDS = {
    "truncate": "Truncation",
    "prune": "Pruning",
    "compact": "Compaction",
    "clear": "Fresh start",
    "drop": "Drop",
}
ORDER: tuple[Fate, ...] = ("summarised", "dropped", "shortened", "carried", "kept")
FATES: dict[Fate, tuple[str, str, str]] = {
    "kept": ("=", "ok", "unchanged"),
    "shortened": ("~", "warning", "shortened"),
    "dropped": ("-", "error", "no longer sent"),
    "summarised": ("C", "accent", "replaced by a summary"),
    "carried": ("→", "ok", "kept verbatim"),
}


WRAPPED = 66
"""Cells of a line of prose, so that it fits the smallest window."""


class FateGroup(msgspec.Struct, frozen=True):
    """The items with the same fate."""

    fate: Fate
    count: int
    before: int
    after: int


class ReceiptParts(msgspec.Struct, frozen=True):
    """A line in parts."""

    parts: tuple[StyledPart, ...]


ReceiptLine = ReceiptParts | Receipt | FateGroup | Item | str
"""What an entry is about: a receipt stands for its summary, and a `str` is a note."""


def receipt_entries(receipt: Receipt, opened: frozenset[str], texts: dict[str, str]) -> list[OutlineEntry[ReceiptLine]]:
    """All lines."""
    return [*_head(receipt), *_summary(receipt, opened), *_items(receipt, opened, texts)]


def missing_texts(receipt: Receipt, opened: frozenset[str], texts: dict[str, str]) -> list[str]:
    """Hashes of the texts that what is open needs and that are not here."""
    hashes = [item.hash for number, item in enumerate(receipt.items) if f"i:{number}" in opened]
    return [hash for hash in dict.fromkeys(hashes) if hash and hash not in texts]


def receipt_title(receipt: Receipt) -> str:
    """Its title."""
    kind = KINDS[receipt.kind]
    if not receipt.id:
        return f"Preview: {kind.lower()}"
    when = f" at {time.strftime('%H:%M:%S', time.localtime(receipt.at))}" if receipt.at else ""
    by = {"person": "you", "threshold": "the threshold", "overflow": "the provider's limit"}.get(receipt.by, receipt.by)
    undone = f" · undone by {_who(receipt.undone_by)}" if receipt.undone else ""
    return f"{kind}{when}{f' · by {one_line(by, 40)}' if by else ''}{undone}"


def _who(by: str) -> str:
    return "you" if by in ("person", "") else one_line(by, 40)


def _head(receipt: Receipt) -> Iterator[OutlineEntry[ReceiptLine]]:
    for number, line in enumerate(wrap(one_line(receipt.why, 1_000), WRAPPED)):
        yield OutlineEntry(f"why:{number}", data=ReceiptParts((("text", line),)))
    saved = receipt.tokens_before - receipt.tokens_after
    sizes: list[StyledPart] = [
        ("strong", f"{figures.tokens(receipt.tokens_before)} → {figures.tokens(receipt.tokens_after)} tokens"),
        ("ok" if saved > 0 else "warning", f"  {units.change(-saved)}"),
        ("muted", f" ({units.percent(abs(saved), receipt.tokens_before)})" if receipt.tokens_before else ""),
    ]
    if receipt.messages_before:
        sizes.append(("muted", f" · {receipt.messages_before} → {units.counted(receipt.messages_after, 'message')}"))
    yield OutlineEntry("sizes", data=ReceiptParts(tuple(sizes)))
    for number, cost in enumerate(_costs(receipt)):
        yield OutlineEntry(f"cost:{number}", data=cost)
    for number, note in enumerate(receipt.notes):
        for part, line in enumerate(wrap(one_line(note, 1_000), WRAPPED)):
            yield OutlineEntry(f"n:{number}:{part}", data=line)
    for number, step in enumerate(receipt.steps, 1):
        for part, line in enumerate(wrap(one_line(step, 1_000), WRAPPED)):
            lead = f"{number}. " if part == 0 else "   "
            yield OutlineEntry(f"p:{number}:{part}", data=ReceiptParts((("faint", lead), ("muted", line))))


def _costs(receipt: Receipt) -> list[str]:
    costs: list[str] = []
    before, after = receipt.request_before, receipt.request_after
    if before is not None and after is not None:
        costs.append(f"cost per request: {figures.money(before)} → {figures.money(after)}")
    effort = [
        f"{figures.tokens(receipt.usage.output)} tokens" if receipt.usage.output else "",
        f"{receipt.seconds:.1f} s" if receipt.id and receipt.seconds else "",
        figures.money(receipt.cost) if receipt.cost else "",
    ]
    return [*costs, f"summary: {', '.join(filter(None, effort))}"] if any(effort) else costs


def _summary(receipt: Receipt, opened: frozenset[str]) -> Iterator[OutlineEntry[ReceiptLine]]:
    if receipt.summary and receipt.id:  # a preview has none yet
        yield OutlineEntry("summary", data=receipt, opened="summary" in opened)
        if "summary" in opened:
            yield OutlineEntry("summary:text", 1, text=displayed(receipt.summary))


def _items(receipt: Receipt, opened: frozenset[str], texts: dict[str, str]) -> Iterator[OutlineEntry[ReceiptLine]]:
    for fate in ORDER:
        inside = [(number, item) for number, item in enumerate(receipt.items) if item.fate == fate]
        if not inside:
            continue
        before, after = sum(item.before for _, item in inside), sum(item.after for _, item in inside)
        id = f"g:{fate}"
        yield OutlineEntry(id, data=FateGroup(fate, len(inside), before, after), opened=id in opened)
        if id in opened:
            for number, item in inside:
                yield from _item(number, item, opened, texts)


def _item(
    number: int, item: Item, opened: frozenset[str], texts: dict[str, str]
) -> Iterator[OutlineEntry[ReceiptLine]]:
    id = f"i:{number}"
    yield OutlineEntry(id, 1, item, id in opened if item.hash else None)
    if id in opened and item.hash:
        text = texts.get(item.hash)
        if text is None:
            yield OutlineEntry(f"w:{number}", 2, "Loading …")
        else:
            yield OutlineEntry(f"t:{number}", 2, item, text=displayed(text))


def receipt_words(entry: OutlineEntry[ReceiptLine], width: int) -> EntryWords:
    """An entry's line."""
    match entry.data:
        case ReceiptParts(parts=parts):
            return EntryWords(parts)
        case Receipt() as receipt:
            lines = receipt.summary.count("\n") + 1
            return EntryWords((("strong", "the summary"), ("muted", f" {lines} lines" if lines > 1 else "")))
        case FateGroup() as group:
            sign, style, said = FATES[group.fate]
            count = "1 block" if group.count == 1 else f"{group.count} blocks"
            return EntryWords(
                ((style, f"{sign} "), ("strong", count), ("muted", f" {said}")),
                (("text", _change(group.before, group.after)),),
            )
        case Item() as item:
            why = f"  {one_line(item.why, 60)}" if item.why else ""
            fold = () if item.hash else (("text", "  "),)
            return EntryWords(
                (*fold, ("strong", one_line(item.source, 80)), ("muted", why)),
                (("text", _change(item.before, item.after)),),
            )
        case note:
            return EntryWords((("muted", one_line(note or "", 400)),))


def _change(before: int, after: int) -> str:
    shown = figures.tokens(after) if before == after else f"{figures.tokens(before)} → {figures.tokens(after)}"
    return f" {shown}".rjust(17)


ReceiptKind = Literal["made", "preview", "proposed"]
FetchText = Callable[[str], Awaitable[str]]
"""A text by its hash. Raises `CommandError` or `NotReady`."""


class ReceiptDecision(msgspec.Struct, frozen=True):
    """What a person decided. `about`: the block to restore."""

    action: Literal["do", "undo", "restore", "edit", "accept", "reject"]
    about: str = ""


_BUTTONS: dict[ReceiptKind, tuple[tuple[str, str], ...]] = {
    "preview": (("do", "Apply (enter, ctrl+s)"),),
    "made": (("undo", "Undo (U)"), ("edit", "Edit the summary (e)")),
    "proposed": (("accept", "Accept (a)"), ("edit", "Edit (e)"), ("reject", "Reject (r)")),
}


class ReceiptView(OutlineView[ReceiptLine]):
    """Where nothing opens, the key that would is the screen's."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "choose":
            return self.entry is not None and self.entry.opened is not None
        return super().check_action(action, parameters)


class ReceiptScreen(Box[ReceiptDecision | None]):
    """See the module. Returns `None` to change nothing."""

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

    def __init__(self, receipt: Receipt, text: FetchText, kind: ReceiptKind = "made", hint: str = "") -> None:
        super().__init__()
        self.receipt = receipt
        self.kind: ReceiptKind = kind
        self.view = ReceiptView(receipt_words, id="receipt")
        self._text = text
        self._hint = hint
        self._texts: dict[str, str] = {}
        self._opened = frozenset({"summary"} if kind == "proposed" or len(receipt.summary) < 2_000 else ())

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -receipt"):
            yield Static(Content(receipt_title(self.receipt)), classes="dialog-title")
            yield self.view
            if self._hint:
                yield Static(Content(self._hint), classes="dialog-hint", id="receipt-hint")
            with Horizontal(classes="dialog-buttons"):
                for action, words in _BUTTONS[self.kind]:
                    if self._fits(action):
                        variant = "primary" if action in ("do", "accept") else "default"
                        yield Button(Content(words), id=action, variant=variant, compact=True)
                yield Button(
                    Content("Cancel (escape)" if self.kind == "preview" else "Close (escape)"),
                    id="leave",
                    compact=True,
                )

    def on_mount(self) -> None:
        self._show()
        self.view.focus()

    def _fits(self, action: str) -> bool:
        """Whether it applies to this receipt."""
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
        self.view.show(receipt_entries(self.receipt, self._opened, self._texts))

    @on(OutlineView.Chosen)
    def _chosen(self, event: OutlineView.Chosen) -> None:
        event.stop()
        entry = event.entry
        if entry.opened is None:
            return
        self._opened ^= {entry.id}
        self._show()
        if missing_texts(self.receipt, self._opened, self._texts):
            self.run_worker(self._read(), exit_on_error=False, exclusive=True, group="texts")

    async def _read(self) -> None:
        for hash in missing_texts(self.receipt, self._opened, self._texts):
            try:
                self._texts[hash] = await self._text(hash)
            except ExpectedError as error:
                self._texts[hash] = f"⟨Can't read this text. {error}⟩"
        self._show()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "leave":
            self.action_leave()
        else:
            self.action_decide(event.button.id or "")

    def action_decide(self, action: str) -> None:
        """Return the decision, if it applies here."""
        item = self._item()
        if action == "restore" and not self._fits("restore"):
            self.notify("Move the cursor to an item that was cut.", markup=False)
        elif self._fits(action):
            about = item.block if action == "restore" and item is not None else ""
            self.dismiss(msgspec.convert({"action": action, "about": about}, learned(ReceiptDecision)))

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_copy(self) -> None:
        """Copy the selection, else the text under the cursor, else the summary."""
        entry = self.view.entry
        text = self.get_selected_text() or (entry.text if entry is not None and entry.text else self.receipt.summary)
        if text:
            app_of(self).copy_to_clipboard(text)
            self.notify("Copied.", markup=False, timeout=2)

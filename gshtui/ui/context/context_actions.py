"""The window's actions on an agent's context: cuts, receipts, waiting summaries, what-if, comparisons.

Owns the dialogs that collect a command's values, and the form for when and how an agent's context is cut; decides
nothing itself. Created on first use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from gshtui.bus.context_data import Iteration, Receipt
from gshtui.bus.events.context_events import SummaryAnswered, SummaryProposed
from gshtui.commands.declaration import Word
from gshtui.context.commands.cut_commands import EditSummary, RestoreBlock, TuneContext, UndoCut
from gshtui.context.commands.view_calls import ReadIterations, ReadText, ShowReceipt
from gshtui.context.commands.view_commands import WhatIfParameters
from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line
from gshtui.text.units import percent
from gshtui.ui.context.receipt_screen import ReceiptDecision, ReceiptKind, ReceiptScreen
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.widgets.dialogs import FormScreen, Picker, PickerChoice
from gshtui.ui.kit.widgets.line_field import LineField

if TYPE_CHECKING:
    from gshtui.ui.context.context_host import ContextHost, ContextViews


_LISTED = 30


class ContextActions:
    """The dialogs of the feature, each for one agent."""

    def __init__(self, app: ContextHost, feature: ContextViews) -> None:
        self._app = app
        self._feature = feature

    def show_receipt(self, agent: str, cut: str) -> None:
        """Show a cut's receipt, from which it can be undone."""
        self._run(self._receipt(agent, cut))

    def tune(self, agent: str) -> None:
        """Ask for an agent's thresholds, and set them."""
        self._run(self._tune(agent))

    def choose_model(self, agent: str) -> None:
        """Choose a model, and show what an agent would send with it."""
        self._run(self._what_if(agent))

    def show_changes(self, agent: str, at: str) -> None:
        """Show what a request has that the one before had not."""
        self._run(self._diff(agent, at))

    def choose_other(self, agent: str, at: str) -> None:
        """Choose what an inspector's request is compared with."""
        self._run(self._compare(agent, at))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        async def guarded() -> None:
            try:
                await work
            except ExpectedError as error:
                self._app.notify(str(error), severity="error", markup=False, timeout=8)

        self._app.run_worker(guarded(), exit_on_error=False, group="context")

    async def _text(self, hash: str) -> str:
        return await self._feature.call(ReadText(hash=hash))

    # Receipts

    async def _receipt(self, agent: str, cut: str) -> None:
        receipt = await self._feature.call(ShowReceipt(agent=agent, cut=cut))
        hint = "enter to open an item · u to restore it · U to undo the whole compaction"

        def edited(text: str) -> None:
            self._app.perform(EditSummary(agent=agent, cut=cut, text=text))

        def decided(answer: ReceiptDecision | None) -> None:
            if answer is None:
                return
            if answer.action == "undo":
                self._app.perform(UndoCut(cut=Word(cut), agent=Word(agent)))
            elif answer.action == "restore":
                self._app.perform(RestoreBlock(block=Word(answer.about), agent=Word(agent)))
            elif answer.action == "edit":
                self._edit(receipt.summary, edited)

        self._show(receipt, "made", hint, decided)

    def _edit(self, text: str, done: Callable[[str], None]) -> None:
        """Edit a summary, here or in the person's editor."""
        from gshtui.ui.context.summaries import SummaryScreen

        def written(answer: str | None) -> None:
            if answer is not None and answer.strip() and answer != text:
                done(answer)

        self._app.push_screen(SummaryScreen(text), written)

    def _show(
        self, receipt: Receipt, kind: ReceiptKind, hint: str, decided: Callable[[ReceiptDecision | None], None]
    ) -> None:
        self._app.push_screen(ReceiptScreen(receipt, self._text, kind, hint), decided)

    # A summary that waits

    def read_proposed(self, proposed: SummaryProposed) -> None:
        """Show a proposed summary, to accept, edit or reject."""
        hint = "The agent waits for your answer. If time runs out, the summary is accepted."

        def decided(answer: ReceiptDecision | None) -> None:
            if answer is not None and answer.action in ("accept", "reject"):
                self.answer(proposed, answer.action == "accept")
            elif answer is not None and answer.action == "edit":
                self.edit_proposed(proposed)

        self._show(proposed.receipt, "proposed", hint, decided)

    def edit_proposed(self, proposed: SummaryProposed) -> None:
        """Edit it; the edited text counts as accepted."""
        self._edit(proposed.receipt.summary, lambda text: self.answer(proposed, True, text))

    def answer(self, proposed: SummaryProposed, accepted: bool, text: str = "") -> None:
        """Publish the person's answer."""
        cut = proposed.receipt.id
        self._app.publish(SummaryAnswered(agent=proposed.agent, cut=cut, accepted=accepted, summary=text))

    # Thresholds, what-if, comparisons

    async def _tune(self, agent: str) -> None:
        view = (await self._feature.call(TuneContext(agent=Word(agent)))).view

        def decided(answer: Tuning | None) -> None:
            if answer is not None:
                found = TuneContext(
                    agent=Word(agent), threshold=answer.threshold, protect=answer.protect, strategy=answer.strategy
                )
                self._app.perform(found)

        screen = TuneScreen(self._feature.name_of(agent), trigger=view.trigger, window=view.window)
        self._app.push_screen(screen, decided)

    async def _what_if(self, agent: str) -> None:
        picker = Picker(
            f"What would {self._feature.name_of(agent)} send with …",
            await self._app.model_choices(),
            empty="No models found.",
            hint="{list.choose} to show it; nothing changes · {list.close} to close",
        )

        def chosen(answer: str | None) -> None:
            if answer:
                provider, _, model = answer.partition("/")
                wanted = WhatIfParameters(agent=Word(agent), model=Word(model), provider=provider)
                self._app.perform(wanted)

        self._app.push_screen(picker, chosen)

    async def _diff(self, agent: str, at: str) -> None:
        """Compare a request with the previous one."""
        ids = [one.id for one in await self._iterations(agent)]
        before = ids.index(at) - 1 if at in ids else len(ids) - 1
        if before < 0:
            self._app.notify("No earlier request to compare with.", markup=False)
            return
        await self._feature.open_inspector(agent, at)
        await self._feature.compare(agent, agent, ids[before])

    async def _iterations(self, agent: str) -> Sequence[Iteration]:
        return (await self._feature.call(ReadIterations(agent=agent))).iterations

    async def _compare(self, agent: str, at: str) -> None:
        """Choose what to compare an inspector's request with: another request of the agent, or another agent."""
        iterations = await self._iterations(agent)
        numbered = [(number, one) for number, one in enumerate(iterations, 1) if one.id != at][::-1][:_LISTED]
        choices = [
            PickerChoice(
                f"{agent}\n{one.id}", f"request {number}", f"{figures.tokens(one.tokens)} tokens · {one.model}"
            )
            for number, one in numbered
        ]
        if at:
            choices.insert(0, PickerChoice(f"{agent}\n", "the next request", "what would be sent now"))
        for other, name in self._app.agent_names().items():
            if other != agent:
                choices.append(PickerChoice(f"{other}\n", f"{name} ({other})", "its next request"))
        picker = Picker(
            "Compare with",
            choices,
            empty="Nothing else to compare with yet.",
            hint="{list.choose} to compare · {list.close} to close",
        )

        def chosen(answer: str | None) -> None:
            if answer is not None:
                other, _, iteration = answer.partition("\n")
                self._run(self._feature.compare(agent, other, iteration))

        self._app.push_screen(picker, chosen)


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

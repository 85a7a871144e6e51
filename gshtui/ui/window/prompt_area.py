"""Everything at the foot of the conversation: tasks, questions and prompts that wait, the input line, its status.

It joins these parts and owns none of their state. Composed by the main screen, with one constructor; the bridge feeds
the parts, each an `EventConsumer` of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from gshtui.ui.approvals.approvals import ApprovalsPane
from gshtui.ui.kit.area import FoldingArea
from gshtui.ui.kit.surroundings import app_of
from gshtui.ui.prompt.completion import CompletionSource
from gshtui.ui.prompt.input import PromptInput
from gshtui.ui.prompt.popup import CompletionPopup
from gshtui.ui.prompt.queue import QueuePane
from gshtui.ui.prompt.recalling import RecallingArea
from gshtui.ui.prompt.routing import Commands
from gshtui.ui.prompt.status import PromptStatus
from gshtui.ui.prompt.tasks import TasksStrip


class PromptArea(Vertical):
    """See the module. `input`, `tasks`, `approvals`, `queue`, `status` and `popup` are its parts.

    The screen binds keys to its actions `review` and `queue`, so that they work wherever the focus is.
    """

    def __init__(
        self,
        agent: str = "main",
        *,
        project: Path | None = None,
        completions: Iterable[CompletionSource] = (),
        commands: Commands | None = None,
        keep_drafts: bool = True,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(id="prompt-area")
        self.popup = CompletionPopup()
        self.input = PromptInput(
            agent,
            project=project,
            completions=completions,
            commands=commands,
            popup=self.popup,
            keep_drafts=keep_drafts,
        )
        self.approvals = ApprovalsPane(home=self._input, typed=self._type, clock=clock)
        self.tasks = TasksStrip(agent)
        self.queue = QueuePane(home=self._input, typed=self._type)
        self.status = PromptStatus(agent, now)

    def compose(self) -> ComposeResult:
        """The parts, from top to bottom."""
        yield self.tasks
        yield self.approvals
        yield self.queue
        yield self.popup
        yield self.input
        yield self.status

    def on_mount(self) -> None:
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Leave the conversation its part of the window."""
        height = self.screen.size.height
        self.input.styles.max_height = max(1, min(10, height // 3))
        self.status.display = height >= 8
        if self.tasks.state.tasks:
            self.tasks.draw()

    def _input(self) -> Widget | None:
        return self.input

    def _type(self, character: str) -> None:
        """A letter that was typed elsewhere and can only have been meant for the input."""
        self.input.focus()
        self.input.insert_typed(character)

    async def action_review(self) -> None:
        """Go to the question that waits."""
        summary = next((one for one in self.screen.query("#summaries") if one.display), None)
        if self.approvals.display:
            self.approvals.review()
        elif summary is not None:
            await summary.run_action("review")
        else:
            self.notify("No question waits for you.", markup=False)

    def action_queue(self) -> None:
        """Go to the prompts that wait."""
        if self.queue.display:
            self.queue.focus()
        else:
            waiting = "The window is too low to show them." if self.queue.state.waiting else "No prompt waits."
            self.notify(waiting, markup=False)

    def on_completion_popup_chosen(self, message: CompletionPopup.Chosen) -> None:
        """A candidate was clicked."""
        message.stop()
        self.input.take_clicked(message.candidate)

    def on_queue_pane_edit_chosen(self, message: QueuePane.EditChosen) -> None:
        """A waiting prompt goes into the input line."""
        message.stop()
        self.input.begin_edit(message.waiting.prompt, message.waiting.text)
        self.status.editing = True
        self.status.draw()

    def on_recalling_area_searched(self, message: RecallingArea.Searched) -> None:
        """Other keys matter while what was sent is searched."""
        message.stop()
        self.status.searching = message.searching
        self.status.draw()

    def on_prompt_input_edit_ended(self, message: PromptInput.EditEnded) -> None:
        """The input line is free again."""
        message.stop()
        self.status.editing = False
        self.status.draw()

    def on_queue_pane_changed(self, message: QueuePane.Changed) -> None:
        """The prompt that is being changed may have been taken meanwhile."""
        message.stop()
        if self.input.editing and message.state.find(self.input.editing) is None:
            self.input.end_edit(keep_text=True)
            self.notify(
                "That prompt was taken while you changed it. Enter sends your words as a new one.", markup=False
            )

    def on_folding_area_fold_opened(self, message: FoldingArea.FoldOpened) -> None:
        """Show a folded text."""
        from gshtui.ui.prompt.fold_screen import FoldScreen

        message.stop()
        app_of(self).push_screen(FoldScreen(message.title, message.text))

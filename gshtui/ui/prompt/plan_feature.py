"""The window's part for agents' plans: opens one in the person's editor, and says when an agent that plans has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.approval_events import AgentModeChanged
from gshtui.bus.events.context_events import PlanEditRequested, TasksChanged
from gshtui.ui.kit.bridge import EventConsumer
from gshtui.ui.kit.feature import Feature
from gshtui.ui.kit.workbench_port import WorkbenchPort


class PlanFeature(Feature):
    """A plan is the agent's task list; the command `plan` reads, changes and starts it."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (PlanEditRequested, AgentModeChanged, TasksChanged, TurnFinished)

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self._planning: set[str] = set()
        self._left: dict[str, int] = {}
        """Steps to do, by agent, where its list has changed in the turn that goes on."""

    def watchers(self) -> Sequence[EventConsumer]:
        return (self,)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            match event:
                case PlanEditRequested():
                    self.run_work(self._edit(event), "editor", exclusive=True)
                case AgentModeChanged():
                    (self._planning.add if event.mode == "plan" else self._planning.discard)(event.agent)
                case TasksChanged():
                    self._left[event.agent] = sum(task.state in ("open", "active") for task in event.tasks)
                case TurnFinished():
                    left = self._left.pop(event.agent, 0)
                    if left and event.agent in self._planning:
                        steps = "1 step" if left == 1 else f"{left} steps"
                        text = f"The plan has {steps}. `/plan edit` opens it in your editor, `/plan go` starts it."
                        self.window.notify(text, markup=False, timeout=12)
                case _:
                    pass

    async def _edit(self, wanted: PlanEditRequested) -> None:
        from gshtui.context.tasks.plan_command import RewritePlan
        from gshtui.system.editor_command import EditorError
        from gshtui.ui.kit.terminal_handoff import edit_text
        from gshtui.ui.kit.textual.typed_app import app_of

        try:
            text = await edit_text(app_of(self.window.input_line), wanted.text)
        except EditorError as error:
            self.window.notify(str(error), severity="error", markup=False, timeout=8)
            return
        if text != wanted.text:
            self.window.perform(RewritePlan(agent=wanted.agent, text=text))

"""The window says that an agent has a plan: when a turn in plan mode has left steps, and only then."""

from typing import Any, cast

from gshtui.bus.context_data import Task
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.approval_events import AgentModeChanged
from gshtui.bus.events.context_events import TasksChanged
from gshtui.ui.kit.workbench_port import WorkbenchPort
from gshtui.ui.prompt.plan_feature import PlanFeature


class Window:
    """Takes notices."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def notify(self, text: str, **_: Any) -> None:
        self.told.append(text)


def test_a_turn_in_plan_mode_that_leaves_steps_says_what_to_do_with_them() -> None:
    window = Window()
    feature = PlanFeature(cast(WorkbenchPort, window))
    plan = TasksChanged(agent="main", session="s", tasks=(Task("1", "read", "done"), Task("2", "write")))
    end = TurnFinished(agent="main", session="s", turn="t", stop="end_turn")
    feature.consume([plan, end])
    assert window.told == []
    feature.consume([AgentModeChanged(agent="main", mode="plan"), end, plan, end, end])
    assert [text.partition(".")[0] for text in window.told] == ["The plan has 1 step"]
    feature.consume([AgentModeChanged(agent="main", mode="ask"), plan, end])
    assert len(window.told) == 1

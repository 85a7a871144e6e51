"""The first minutes with the window, counted: how many keys each step takes besides the words that are typed. What a
question takes is in `test_approvals_pane.py`."""

import pytest
from textual.widgets import OptionList

from gshtui.bus.events.agent_events import InterruptRequested, PromptSubmitted
from gshtui.commands.config_calls import ShowSettings
from gshtui.fleet.commands.spawn_command import SpawnAgent
from gshtui.providers.model_command import ChangeModel
from gshtui.tools.git.git_worktree import ListWorktrees
from tests.kit.conversations import conversations
from tests.kit.fake_hub import Answer, FakeHub
from tests.kit.recorded_fleet import CLAUDE, PERSONAS, PROFILES
from tests.kit.scenes import MODELS
from tests.kit.window import Window
from tests.ui.test_window import STARTED, settled

ANSWERS = {
    "session ls": conversations(),
    "model list": Answer(MODELS),
    "personas": Answer(PERSONAS),
    "profiles ls": Answer(PROFILES),
    "spawn": Answer(CLAUDE),
}
TYPED = ""
"""Among the keys: the words are typed here, instead of first."""
STEPS = {
    "first prompt": ("fix the test", ("enter",), 1),
    "interrupt": ("", ("escape",), 1),
    "slash command": ("/spawn cli=claude", ("enter",), 1),
    "choose a model": ("", ("f2", "down", "enter"), 3),
    "new agent": ("", ("f8", "enter"), 2),
    "new agent with a task": ("fix it", ("f8", TYPED, "enter"), 2),
    "changes": ("", ("f5",), 1),
    "settings": ("", ("alt+g",), 1),
    "conversations": ("", ("f3",), 1),
    "keys": ("", ("question_mark",), 1),
}
"""What is typed, the keys, and how many its best peer takes (Claude Code, Codex, OpenCode, Gemini; November 2026)."""
RUN = {
    "choose a model": ChangeModel,
    "new agent": SpawnAgent,
    "new agent with a task": SpawnAgent,
    "changes": ListWorktrees,
    "settings": ShowSettings,
}
"""What the window has run then."""


def done(step: str, app: Window, hub: FakeHub) -> bool:
    match step:
        case "first prompt":
            return any(isinstance(event, PromptSubmitted) and event.text == "fix the test" for event in hub.said)
        case "interrupt":
            return len(hub.intents(InterruptRequested)) == 1
        case "slash command":
            return "spawn cli=claude" in hub.ran
        case "keys":
            return bool(app.bench.query_one("#quick-keys").display)
        case "conversations":
            return app.screen is not app.bench and bool(app.screen.query(OptionList))
        case _:
            return any(isinstance(value, RUN[step]) for value in hub.ran)


@pytest.mark.parametrize("step", STEPS)
async def test_no_step_takes_more_keys_than_its_best_peer(step: str) -> None:
    words, keys, most = STEPS[step]
    app = Window(answers=ANSWERS)
    async with app.run_test(size=(120, 35)) as pilot:
        hub = await settled(pilot)
        if step == "interrupt":
            app.feed(*STARTED)
        for key in keys if TYPED in keys else (TYPED, *keys):
            assert not done(step, app, hub)
            await pilot.press(*(words if key == TYPED else (key,)))
            await settled(pilot)
        assert done(step, app, hub), (hub.ran, hub.said)
        assert len([key for key in keys if key != TYPED]) <= most
        spawned = [value for value in hub.ran if isinstance(value, SpawnAgent)]
        assert not spawned or spawned[0].prompt == (words if TYPED in keys else "")

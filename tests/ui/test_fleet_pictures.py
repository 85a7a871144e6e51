"""The sidebar, its dialogs and a tab of changes in pictures: small and large."""

from textual.widgets import Input, TextArea

from gshtui.fleet.commands.agent_lifecycle import kill_question
from gshtui.fleet.core.agent_calls import KillAgent
from gshtui.ui.prompt.prompt_input import PromptInput
from tests.kit import recorded
from tests.kit.conversations import conversations
from tests.kit.fake_hub import Answer
from tests.kit.recorded_fleet import CLAUDE, DIFF, FEW, MANY, PERSONAS, PROFILES
from tests.kit.snapshots import Snap, screens, snap
from tests.kit.window import Window
from tests.ui.test_pictures import MODELS, settled

__all__ = ["snap"]

STATES = {
    "many": (MANY, ("alt+2", "down", "down")),
    "few": (FEW, ("alt+2",)),
    "menu": (FEW, ("alt+2", "space")),
    "kill": (FEW, ("alt+2", "delete")),
    "message": (FEW, ("alt+2", "m", *"and the docs")),
    "changes": (FEW, ("alt+2", "d", "n")),
    "spawn": (FEW, ("f8",)),
}
ANSWERS = {
    "session ls": conversations(),
    "model list": Answer(MODELS),
    "personas": Answer(PERSONAS),
    "profiles ls": Answer(PROFILES),
    "git_worktree diff /src/aurora-lexer": Answer(DIFF),
}
LOSSES = [
    "Its question is not answered.",
    "Its worktree lexer holds 2 files not committed (src/lexer.py, tests/test_lexer.py).",
]
QUESTIONS = {KillAgent(agent="0002"): kill_question(CLAUDE, LOSSES)}


@screens(*STATES, light={"many", "changes"})
async def test_fleet(snap: Snap, size: tuple[int, int], theme: str, state: str) -> None:
    events, keys = STATES[state]
    app = Window(answers=ANSWERS, questions=QUESTIONS, theme=theme)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        app.feed(*recorded.STARTED, *events)
        await settled(pilot)
        for key in keys:
            await pilot.press("space" if key == " " else key)
        await settled(pilot)
        # The cursor stands still, whatever the time is.
        for screen in app.screen_stack:
            for field in screen.query("TextArea, Input, PromptInput").results():
                if isinstance(field, (TextArea, Input, PromptInput)):
                    field.cursor_blink = False
        await settled(pilot)
        snap(app)

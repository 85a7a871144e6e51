"""People who type into the real panel while questions come, change and go: nothing runs that was not asked for."""

import random

import pytest

from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalSettled
from tests.kit.intent_oracle import IntentOracle, random_typing
from tests.kit.keyboard import Keyboard
from tests.kit.prompt_host import PromptHost, make_question
from tests.kit.storms import seeds

STEPS = 12


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Told(PromptHost):
    """A host that knows what its person can see and what they type at the questions."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(keep_drafts=False, clock=clock)
        self.story = IntentOracle()
        self.time = clock
        self.keyboard = Keyboard(self, clock)
        self.seen = 0

    def look(self) -> None:
        """Take note of what has been painted."""
        shown = self.area.approvals.state.shown
        painted = shown is not None and self.area.approvals.region.height > 0
        ids = {shown.approval} if shown is not None and painted else set[str]()
        self.story.shown = {id: self.story.shown.get(id, self.time.now) for id in ids}

    def judge(self, key: str, *, in_reason: bool) -> None:
        """What was allowed since the last look, by this key."""
        answers = [event for event in self.events if isinstance(event, ApprovalAnswered)]
        for event in answers[self.seen :]:
            self.story.record_run(event.approval, event.decision, key, self.time.now, in_reason=in_reason)
        self.seen = len(answers)


@pytest.mark.parametrize("number", seeds(24))
async def test_nothing_runs_unasked_in_the_panel(number: int) -> None:
    chance, clock = random.Random(number), Clock()
    app, asked = Told(clock), 0
    async with app.run_test(size=(100, 30)) as pilot:
        for _ in range(STEPS):
            match chance.randrange(6):
                case 0:
                    asked += 1
                    app.feed(make_question(asked, **chance.choice(({}, {"rule": ""}))))
                    await pilot.pause()
                case 1 if (front := app.area.approvals.state.shown) is not None:
                    left = len(app.area.approvals.state.waiting) > 1
                    app.story.unaware = left and (app.story.unaware or front.approval in app.story.shown)
                    app.feed(
                        ApprovalSettled(approval=front.approval, agent="main", call=front.call, decision="withdrawn")
                    )
                    await pilot.pause()
                case 2:
                    away = app.focused is not app.area.approvals
                    if (away or app.story.unaware) and app.area.approvals.display:
                        app.story.record_key("ctrl+g", clock.now, own=True)
                    app.keyboard.post("ctrl+g", 0)
                    await pilot.pause()
                case _:
                    for key, gap in random_typing(chance):
                        clock.now += gap
                        app.look()
                        here = app.focused is app.area.approvals
                        in_reason = app.area.approvals.writing
                        if here:
                            app.story.record_key(key, clock.now)
                        app.keyboard.post(key, 0)
                        await pilot.pause()
                        app.judge(key if here else "elsewhere", in_reason=in_reason)
            app.look()
            clock.now += chance.choice((0.0, 0.05, 0.5, 2.0))
    assert app.story.unasked == [], number

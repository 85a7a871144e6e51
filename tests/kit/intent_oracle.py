"""What a person meant, worked out from the whole story and not from what any face made of it: was this asked for?

A run was asked for if it follows from a key of which all of these are true: the place of the questions had the keys,
the question could be seen for `READ` when the run of typing began that the key belongs to, it was still there when
the key was pressed, the key is that of the answer, no reason was being written, and no words were typed in that run
of typing before it. Where the question took the place of one that could be seen, the person has gone to it since. To
always allow takes a second key, once the rule could be read for `READ`. A run of typing ends with a pause, and the
person's own key to the question begins a new one.
"""

import math
import random
from dataclasses import dataclass, field

from gshtui.guard.approval.answer_keys import PAUSE, READ

RUNS = {"1": "once", "2": "session"}
WORDS = (
    "try another way",
    "no",
    "yes y yes",
    "1 is enough",
    "what is 1?",
    "y",
    "n",
    "s",
    "a",
    "1",
    "2",
    "3",
    "4",
    "5",
    "5 3 apples",
    "run 12 tests",
    "11",
    "141",
    "52",
    "only 2 of them, 1 by 1",
    "fix it",
    "k",
    "j",
    "",
)


@dataclass
class IntentOracle:
    """What was on the screen and what was typed. Times are seconds."""

    shown: dict[str, float] = field(default_factory=dict[str, float])
    """Question → since when it can be seen, while it can."""
    unaware: bool = False
    """Whether a question that could be seen was withdrawn, another one is there, and the person has not gone to it."""
    runs: int = 0
    unasked: list[str] = field(default_factory=list[str])
    _ruled: dict[str, float] = field(default_factory=dict[str, float])
    _began: float = -math.inf
    _last: float = -math.inf
    _begins: bool = False
    _worded: bool = False

    def record_key(self, key: str, at: float, *, own: bool = False) -> None:
        """A key goes to the place of the questions. `own`: it is the person's own key to them."""
        self.unaware = self.unaware and not own
        self._begins = own or at - self._last >= PAUSE
        if self._begins:
            self._began, self._worded = at, False
        self._last = at
        if not own and len(key) == 1 and key not in "12345jk":  # j and k move in what is read
            self._worded = True
        if key == "3" and not self._worded:
            seen = [q for q, since in self.shown.items() if self._began >= since + READ - 1e-9]
            self._ruled = dict.fromkeys(seen, at)

    def question_meant(self, at: float) -> str:
        """The question that a line may be about that begins with the last key, which begins a run of typing."""
        return next((q for q, since in self.shown.items() if self._begins and at >= since + READ - 1e-9), "")

    def record_run(self, question: str, decision: str, key: str, at: float, *, in_reason: bool = False) -> None:
        """This was allowed, and the last thing that came was this key."""
        if decision == "deny":
            return
        self.runs += 1
        if self.unaware:
            self.unasked.append(f"{question} {decision} by {key!r} at {at:.3f}, for the one before it")
        since = self.shown.get(question)
        if decision == "always":
            ruled = self._ruled.get(question, math.inf)
            if since is None or key != "enter" or at < ruled + READ - 1e-9:
                self.unasked.append(f"{question} always by {key!r} at {at:.3f}, shown {since}, rule {ruled:.3f}")
            return
        meant = (
            since is not None
            and self._began >= since + READ - 1e-9
            and RUNS.get(key) == decision
            and not self._worded
            and not in_reason
        )
        if not meant:
            self.unasked.append(f"{question} {decision} by {key!r} at {at:.3f}, shown {since}, run {self._began:.3f}")


def random_typing(chance: random.Random) -> list[tuple[str, float]]:
    """Some words and the seconds before each key, at a speed of one person on one day."""
    speed = chance.choice((0.0, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5))
    keys = [*chance.choice(WORDS), *(["enter"] if chance.random() < 0.5 else [])]
    if chance.random() < 0.3:
        keys = ["5", *keys]
    if chance.random() < 0.1:
        keys.append("escape")
    gaps = [speed * chance.uniform(0.5, 1.5) for _ in keys]
    if gaps:
        gaps[0] = chance.choice((0.0, 0.02, 0.1, 0.3, 0.41, 1.0, 3.0))
    return list(zip(keys, gaps, strict=True))

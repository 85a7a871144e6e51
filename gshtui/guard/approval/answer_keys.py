"""Which key answers which question: one vocabulary and one state machine for the window, an agent's pane and `gsh`.

Pure: callers tell it what is on the screen and which key was pressed when, and it says what the key means. An answer
always belongs to a question that the person could read: a key counts only if its run of typing began after the question
had been on the screen for a moment, and contains no words. All other keys are swallowed until typing pauses. A question
that took the place of another one is answered only once the person has gone to it, or has been told: however long it
has been on the screen, they may still have the other one in mind. While a reason is being typed, every key belongs to
it. Uses no clock, keyboard or screen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, cast

import msgspec

if TYPE_CHECKING:
    from gshtui.bus.agent_data import Meaning, OpenQuestion, QuestionChoice
    from gshtui.bus.events.approval_events import ApprovalRequested, Decision

Choice = Literal["once", "session", "always", "deny", "reason"]

READ = 0.4
"""Seconds for which a question must have been on the screen before a key can be about it."""
PAUSE = 0.4
"""Seconds without a key that end a run of typing. Not longer than `READ`: a run that began before a question came up
then has a key in the question's first moments, and is known by it."""
HAND = 0.08
"""Seconds after the person's own key to the question: shorter than two fingers, longer than an injected burst."""


class Offer(msgspec.Struct, frozen=True):
    """One answer: its key, which is the same everywhere, its effect, and its labels, longest first.

    `choice` is a `Choice`; for a program's question, the digit of one of its own choices, or `OPEN`.
    """

    key: str
    choice: str
    words: tuple[str, str, str, str]
    why: str = ""
    """Why it cannot be given here; empty: it can."""


def _absent(key: str, choice: str, label: str, why: str, short: str, shorter: str) -> Offer:
    return Offer(key, choice, (f"{label} … ({why})", short, shorter, ""), why)


ANSWERS: tuple[Offer, ...] = (
    Offer("1", "once", ("allow once", "allow once", "yes", "")),
    Offer("2", "session", ("allow this exact call for this session", "this session", "session", "")),
    Offer("3", "always", ("always allow (add a rule)…", "always…", "always", "")),
    Offer("4", "deny", ("deny", "deny", "no", "")),
    Offer("5", "reason", ("deny with reason", "deny, reason…", "why", "")),
)


_ABSENT = {
    one.choice: one
    for one in (
        _absent("2", "session", "this session", "each call is asked about", "asks each time", "each time"),
        _absent("3", "always", "always", "no rule fits this call", "no rule", "no rule"),
    )
}
"""What stands in place of an answer that a question has not: its number is not another's."""
VALUES = "values"
"""The answer that shows a form, where a question asks for values."""
_FORM = (
    Offer("1", VALUES, ("fill in the form", "fill in", "fill in", "")),
    *(msgspec.structs.replace(one, key=key) for key, one in zip("23", ANSWERS[3:], strict=True)),
)


def numbered(request: ApprovalRequested, *, form: bool = False) -> tuple[Offer, ...]:
    """Every number, with what it answers or why it answers nothing: `session` only where the call would be known again,
    `always` only where there is a rule. `form`: the question asks for values, and this face can show a form.
    """
    if form:
        return _FORM
    absent = {"session": not request.repeatable, "always": not request.rule}
    return tuple(_ABSENT[offer.choice] if absent.get(offer.choice) else offer for offer in ANSWERS)


def offers(request: ApprovalRequested) -> tuple[Offer, ...]:
    """What can be answered."""
    return tuple(offer for offer in numbered(request) if not offer.why)


OPEN = "open"
"""The answer that shows the terminal of a program that asks."""
NOT_OFFERED = "not offered here"


_SHORT, _SHORTER = 24, 10
"""Characters of a program's choice where there is less room."""


MEANINGS: dict[Meaning, str] = {
    "once": "allows once",
    "more": "allows more",
    "deny": "denies",
    "words": "denies, with your words",
    "mode": "changes its mode",
}
"""What a program's choice does, beside the program's own words for it."""


def program_choices(question: OpenQuestion) -> tuple[Offer, ...]:
    """What can be answered to a program: its own choices, each under the digit of what it means."""
    return tuple(
        Offer(one.key, one.key, (choice_words(one), one.label, _cut(one.label, _SHORT), _cut(one.label, _SHORTER)))
        for one in sorted(question.choices, key=lambda one: one.key)
    )


def choice_words(choice: QuestionChoice) -> str:
    """A program's choice in its own words, and what it means."""
    means = MEANINGS.get(choice.means, "")
    said = means.replace("allows", "allow") in choice.label.lower()
    return " · ".join(filter(None, (choice.label, choice.about, "" if said else means)))


def listed_choices(question: OpenQuestion) -> list[tuple[str, str]]:
    """The choices as a face without a form lists them: each key, and what it stands for."""
    return sorted((one.key, choice_words(one)) for one in question.choices)


def changing(question: OpenQuestion | None) -> frozenset[str]:
    """The choices that change how much the program does unasked, which a person has to choose twice."""
    return frozenset(one.key for one in question.choices if one.means == "mode") if question else frozenset()


def program_offers(question: OpenQuestion) -> tuple[Offer, ...]:
    """What can be answered to a program in the window: its own choices, and to look at its terminal."""
    return (*program_choices(question), Offer("0", OPEN, ("open its tab", "open its tab", "tab", "")))


def _cut(label: str, most: int) -> str:
    return label if len(label) <= most else label[: most - 1].rstrip() + "…"


def choices(offered: Iterable[Offer]) -> frozenset[str]:
    return frozenset(offer.choice for offer in offered if not offer.why)


def absent(offered: Iterable[Offer]) -> dict[str, str]:
    """The choices that answer nothing, and why."""
    return {offer.choice: offer.why for offer in offered if offer.why}


def worded(offered: Sequence[Offer], width: int) -> list[tuple[Offer, str]]:
    """The offers with the longest labels that fit a width in cells, separated by two blanks; the reasons of those that
    can't be given are said in what is left.
    """
    found: list[tuple[Offer, str]] = []
    left = 0
    for size in range(4):
        found = [(offer, offer.words[size]) for offer in offered]
        left = width + 2 - sum(len(offer.key) + len(words) + 3 for offer, words in found)
        if left >= 0:
            break
    for at, (offer, words) in enumerate(found):
        room = left + len(words)
        if offer.why and len(offer.why) <= room:
            found[at] = offer, offer.words[0] if len(offer.words[0]) <= room else offer.why
            left = room - len(found[at][1])
    return found


def line_of(offered: Sequence[Offer], width: int = 200) -> str:
    return "  ".join(f"{offer.key} {words}".rstrip() for offer, words in worded(offered, width))


def rows_of(offered: Sequence[Offer], width: int = 200) -> list[tuple[Offer, str]]:
    """The offers as a list, one below the other: each with its longest label that fits a width in cells."""
    room = width - 4  # a mark, the key, and the blanks around it
    return [(offer, next((words for words in offer.words if len(words) <= room), "")) for offer in offered]


def list_of(offered: Sequence[Offer], width: int = 200) -> str:
    """The offers as lines of text, one below the other."""
    return "\n".join(f"  {offer.key} {words}".rstrip() for offer, words in rows_of(offered, width))


def choice_of(key: str, offered: Iterable[Offer]) -> str | None:
    """The offer that a character stands for; `None` if there is none."""
    return next((offer.choice for offer in offered if offer.key == key), None)


class KeyChosen(msgspec.Struct, frozen=True):
    """The person's answer to this question. `choice` is never `reason`: that becomes `deny` with the text."""

    question: str
    choice: str
    reason: str = ""
    rule: str = ""
    """With `always`: the rule to save."""

    @property
    def decision(self) -> Decision:
        return cast("Decision", self.choice)


class ReasonBegun(msgspec.Struct, frozen=True):
    """All keys from here on are the reason's, until `give_reason` or `leave_reason`. An empty question: the key came
    too soon to be about any, the words are taken all the same, and they will deny nothing, and `why` says so."""

    question: str
    why: str = ""


class RuleBegun(msgspec.Struct, frozen=True):
    """The rule that `always` would save is to be shown. All keys from here on are about it, until `give_rule` or
    `leave_rule`."""

    question: str


class Swallowed(msgspec.Struct, frozen=True):
    """The key does nothing. `why`, where the person should know. `unread`: since what it decides has not been seen."""

    why: str = ""
    unread: bool = False


class Passed(msgspec.Struct, frozen=True):
    """The key is not an answer: it moves around, or is a letter of a reason or of other text."""

    to: Literal["panel", "reason", "rule", "input"]


Outcome = KeyChosen | ReasonBegun | RuleBegun | Swallowed | Passed

TOO_SOON = "too soon; press it again"
CHANGED = "the question changed; nothing was answered"
UNREAD = "read on first; answers count once you have seen all of it"
NO_REASON = "it takes no reason: choose one of its answers"
FOR_GOOD = "that changes how much it asks: press it again to do it"


class AnswerKeys:
    """See the module. Times are seconds of one clock that never goes back; each key's is that of its pressing."""

    def __init__(self) -> None:
        self._question = ""
        self._choices: Collection[str] = frozenset()
        self._absent: Mapping[str, str] = {}
        self._unread: Collection[str] = frozenset()
        """The choices that do not count yet, since what they decide has not been on the screen."""
        self._twice: Collection[str] = frozenset()
        self._sure = ("", "")
        """The question and the choice that the person has chosen once, of those that are chosen twice."""
        self._waits = False
        self._replaced = False
        """Whether the question took another one's place, and the person has not gone to it since."""
        self._readable = math.inf
        """From when on a run of typing may be about the question on the screen."""
        self._named = ""
        """The question of which at least a row is on the screen."""
        self._named_from = math.inf
        """From when on the person's key may deny it."""
        self._seen_at = -math.inf
        self._last = -math.inf
        self._began = -math.inf
        self._run: Literal["fresh", "words", "spoilt"] = "fresh"
        self._opened = -math.inf
        self._reason: str | None = None
        self._void = ""
        """Why the reason that is being written denies nothing."""
        self._rule = ""
        self._rule_shown = -math.inf

    @property
    def question(self) -> str:
        """The question on the screen; empty if there is none, or while another one is being drawn."""
        return self._question

    @property
    def in_reason(self) -> bool:
        return self._reason is not None

    @property
    def in_rule(self) -> bool:
        """Whether the rule of an `always` is being looked at."""
        return bool(self._rule)

    @property
    def rule_counts(self) -> bool:
        """Whether that rule is still about the question on the screen."""
        return bool(self._rule) and self._rule == self._question

    @property
    def reason_counts(self) -> bool:
        """Whether the reason that is being written would deny the question on the screen."""
        return bool(self._reason) and self._reason == self._question

    @property
    def replaced(self) -> bool:
        """Whether the person may not know yet that this is another question: nothing answers it before they do."""
        return self._replaced

    @property
    def readable(self) -> float:
        """When the question on the screen can first be answered; infinite if there is none."""
        return max(self._readable, self._seen_at + READ)

    @property
    def counts_from(self) -> float:
        """When a key would answer the question on the screen, if no key comes before; infinite if there is none."""
        return max(self.readable, self._last + PAUSE)

    # What is on the screen

    def show_row(self, question: str, at: float) -> None:
        """Note that this question is named, in part or whole: enough to deny it."""
        if question != self._named:
            self._named, self._named_from = question, at + READ

    def expect_question(self) -> None:
        """Note that another question comes next and is not on the screen yet."""
        self._replaced = self._replaced or bool(self._question or self._named)
        self._question, self._waits, self._readable = "", True, math.inf

    def show_question(
        self,
        question: str,
        choices: Collection[str],
        at: float,
        *,
        unread: Collection[str] = frozenset(),
        twice: Collection[str] = frozenset(),
        absent: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Note that this question was drawn with these answers. Redrawing it does not make it a new question. `unread`:
        those that do not count yet, since what they decide has not been on the screen. `twice`: those that count when
        they are chosen twice. `absent`: what its other numbers say.
        """
        self._absent = absent
        self._waits, self._choices, self._unread, self._twice = True, choices, unread, twice
        if question != self._question:
            self._replaced = self._replaced or bool(self._question)
            self._question, self._readable = question, at + READ

    def rename_question(self, before: str, question: str, read_from: float = 0.0) -> None:
        """Note that the same question goes by another id: its program has drawn it for another width, or more is told
        of it, which is there to be read from `read_from` on.
        """
        self._question = question if self._question == before else self._question
        self._named = question if self._named == before else self._named
        self._seen_at = max(self._seen_at, read_from)

    def clear_question(self) -> None:
        """No question waits any more."""
        self._replaced = False
        self._question, self._named, self._waits, self._readable = "", "", False, math.inf

    def question_seen(self, at: float) -> None:
        """Note that the question became visible or answerable only now: a dialog closed, or the focus moved."""
        self._seen_at = max(self._seen_at, at)

    def person_arrived(self, at: float) -> None:
        """The person's own key went to the question: it begins a run of typing."""
        self._began = self._last = self._opened = at
        self._run, self._replaced = "fresh", False

    def person_turned(self) -> None:
        """The person brought this question to the front."""
        self._replaced = False

    # What is typed

    def press(self, meaning: str, at: float, *, printable: bool = True) -> Outcome:
        """Handle a key; returns what it does.

        Args:
            meaning: the choice of an offer, `move` for a key that moves around, else `words`.
            at: when it was pressed.
            printable: it would be a letter where text is typed.
        """
        self._record_key(at)
        if self._reason is not None:
            return Passed("reason")
        if self._rule:
            return Passed("rule")
        if not self._waits:
            return Passed("input" if printable else "panel")
        if meaning == "move" and not printable:
            return Passed("panel")
        if self._run == "words":
            return Passed("input")
        too_soon = self._run == "spoilt" or self._began < self.readable or not self._question or self._replaced
        if meaning == "reason":
            # Never dropped: the letters behind it would be taken for something else.
            return self._begin_reason("" if too_soon else self._question)
        if too_soon or (meaning not in ("move", "words") and at - self._opened < HAND):
            said, self._run = self._run != "spoilt", "spoilt"
            return Swallowed((CHANGED if self._replaced else TOO_SOON) if said else "")
        if meaning == "move":
            return Passed("panel")
        if meaning == "words":
            self._run = "words"
            return Passed("input")
        return self._choose(meaning)

    def begin_line(self, at: float) -> str:
        """Handle the key that starts a line, where answers and other text share one input: the question it may answer.

        Empty if the key belongs to earlier typing, if the question was not readable yet, or if it is another one than
        the person knows of.
        """
        begins = self._record_key(at)
        return self._question if begins and at >= self.readable and not self._replaced else ""

    def continue_line(self, at: float) -> None:
        """Another key of such a line."""
        self._record_key(at)

    def submit_line(self, choice: str, question: str) -> Outcome:
        """Handle such a line: an answer to the question that was there when the line was started."""
        counts = bool(question) and question == self._question
        if self._replaced and choice != "reason":
            self._replaced = False  # they are told now
            return Swallowed(CHANGED)
        if choice == "reason":
            return self._begin_reason(question if counts else "", question)
        if not counts:
            return Swallowed(CHANGED if question else TOO_SOON)
        return self._choose(choice)

    def click(self, choice: str, question: str, at: float) -> Outcome:
        """An answer was clicked; `at`: when the button of the mouse went down, on the answers to `question`."""
        if not question or question != self._question:
            return Swallowed(CHANGED)
        if self._replaced:
            self._replaced = False  # they are told now
            return Swallowed(CHANGED)
        if at < self._readable:
            return Swallowed(TOO_SOON)
        if choice == "reason":
            return self._begin_reason(question)
        return self._choose(choice)

    def refuse(self, question: str, at: float) -> ReasonBegun:
        """The person's own key denies the question in front with a reason that comes next, whether they read all of it
        or only its row."""
        return self._begin_reason(question if self._is_known(question, at) else "")  # never dropped, as in `press`

    def refuse_with(self, words: str, question: str, at: float) -> KeyChosen | None:
        """As `refuse`, with a reason that was written before; `None`: the person may not know of this question."""
        if not self._is_known(question, at):
            return None
        self._question = question
        return self._close("deny", words)

    def _is_known(self, question: str, at: float) -> bool:
        """Whether at least its row was there for long enough when this key was pressed."""
        return question == self._named and not self._replaced and at >= self._named_from

    def give_reason(self, words: str) -> Outcome:
        """Finish the reason: deny the question that it was started for, if that is still on the screen."""
        question, self._reason = self._reason, None
        self._run = "spoilt"
        if question and question == self._question:
            return self._answer("deny", words)
        return Swallowed(self._void or CHANGED)

    def _begin_reason(self, question: str, meant: str = "") -> ReasonBegun:
        self._reason = question
        self._void = "" if question else CHANGED if self._replaced or meant else TOO_SOON
        return ReasonBegun(question, self._void)

    def leave_reason(self) -> Outcome:
        """No reason after all. The question waits, and can be answered after a pause in typing."""
        self._reason = None
        self._run = "spoilt"
        return Swallowed()

    def rule_readable(self, at: float) -> bool:
        """Whether the rule has been on the screen long enough to be agreed to."""
        return at - self._rule_shown >= READ

    def show_rule(self, at: float) -> None:
        """Note that the rule was drawn, for the first time or changed."""
        self._rule_shown = at

    def give_rule(self, rule: str, at: float) -> Outcome:
        """Agree to the rule, as it stands now: always allow, if its question is still on the screen."""
        if not self.rule_readable(at):
            return Swallowed(TOO_SOON)
        question, self._rule = self._rule, ""
        self._run = "spoilt"
        if question and question == self._question:
            return self._close("always", rule=rule)
        return Swallowed(CHANGED)

    def leave_rule(self) -> Outcome:
        """No rule after all. The question waits, and can be answered after a pause in typing."""
        self._rule = ""
        self._run = "spoilt"
        return Swallowed()

    def _choose(self, choice: str) -> KeyChosen | RuleBegun | Swallowed:
        if choice not in self._choices:
            return Swallowed(self._absent.get(choice, NOT_OFFERED))
        return self._answer(choice)

    def _answer(self, choice: str, reason: str = "") -> KeyChosen | RuleBegun | Swallowed:
        if choice in self._unread:
            self._run = "spoilt"
            return Swallowed(UNREAD, unread=True)
        if choice in self._twice and self._sure != (self._question, choice):
            self._sure, self._run = (self._question, choice), "spoilt"
            return Swallowed(FOR_GOOD)
        if choice == "always":
            self._rule, self._rule_shown = self._question, math.inf
            return RuleBegun(self._question)
        return self._close(choice, reason)

    def _close(self, choice: str, reason: str = "", *, rule: str = "") -> KeyChosen:
        chosen = KeyChosen(self._question, choice, reason, rule)
        self._question, self._named, self._readable, self._run, self._reason = "", "", math.inf, "spoilt", None
        return chosen

    def _record_key(self, at: float) -> bool:
        """Take note of a key; whether it begins a run of typing."""
        begins = at - self._last >= PAUSE
        if begins:
            self._began, self._run = at, "fresh"
        self._last = max(self._last, at)
        return begins

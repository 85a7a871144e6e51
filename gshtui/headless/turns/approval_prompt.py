"""Approval questions at the shell prompt: asked on the terminal during a turn, and answered with one key.

Owns reading the key; `question_text` has the wording, and `AnswerKeys` decides what a key means. The answers appear
when they start to count: once the question has been on the terminal for a moment without typing. Anything typed before
that is discarded. Called by `prompt` for a person at a shell.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.guard.approval.answer_keys import (
    PAUSE,
    AnswerKeys,
    KeyChosen,
    Outcome,
    Passed,
    ReasonBegun,
    RuleBegun,
    Swallowed,
    absent,
    choice_of,
    choices,
    list_of,
    numbered,
)
from gshtui.guard.approval.question_text import (
    DECISIONS,
    LineKind,
    QuestionLine,
    question_lines,
    question_parts,
    question_title,
    rule_words,
    shortened,
)
from gshtui.guard.rules.rule_draft import DraftError, check
from gshtui.guard.rules.rule_file import own_file
from gshtui.headless.streams import STDERR, broken_at_words
from gshtui.headless.terminal_keys import TerminalKeys
from gshtui.headless.text_editor import edit_text
from gshtui.system.editor_command import EditorError
from gshtui.system.tasks import cancel_and_wait
from gshtui.text.sanitise import one_line, visible
from gshtui.text.terminal_sequences import is_letter

_LINES = 60
"""Lines of a detail or a diff to show; further ones are only counted."""
_REASON = 2_000
_ONE_KEY = "One key answers, without enter: wait a second, then press it."
_RULE_KEYS = "enter to save it and allow · e to edit it · escape to go back: "
_ANSWER = "Answer: "
_ERASE, _CLEAR, _ENTER, _ESCAPE = ("\x7f", "\x08"), ("\x15",), ("\r", "\n"), ("\x1b",)


def question_text(request: ApprovalRequested) -> str:
    """The question's text, without its keys and what is said besides."""
    lines = shortened(question_lines(replace(request, rule="", beside="")), _LINES)
    return "\n".join([_heard(question_title(request)), *(_row(line, own="warning") for line in lines)])


def key_hints(request: ApprovalRequested) -> str:
    """The keys that answer it, one below the other, and then what is said besides."""
    tail = (_row(line, own="context") for line in question_parts(request).tail)
    return "\n".join((_heard(list_of(numbered(request))), *tail, _ANSWER))


def _row(line: QuestionLine, own: LineKind) -> str:
    """A line below the title. `own`: the kind that says our words; the terminal alone breaks all else."""
    row = f"  {line.text.expandtabs(4)}".rstrip()
    return _heard(row) if line.kind == own else row


def _heard(text: str) -> str:
    return broken_at_words(text, STDERR)


def rule_text(rule: str) -> str:
    """A rule that would be saved, what it would let run, and the keys for it."""
    told, *covered = rule_words(rule, own_file())
    lines = [*(f"  {each}" for each in covered), "", *(f"  {line}" for line in rule.rstrip().split("\n"))]
    return "\n".join((_heard(visible(told)), *map(visible, lines), _RULE_KEYS))


class KeyReader:
    """Interprets the keys typed at one question, in pieces as a terminal sends them. Pure: no terminal, no clock."""

    def __init__(
        self,
        request: ApprovalRequested,
        say: Callable[[str], None],
        edit: Callable[[str], str] | None = None,
    ) -> None:
        """
        Args:
            say: echoes a reason as it is typed, and shows a rule.
            edit: lets the person change a rule in their editor; raises `EditorError`.
        """
        self._request = request
        self._offers = numbered(request)
        self._rule = request.rule
        self._edit = edit
        self._pressed = -PAUSE
        self._keys = AnswerKeys()
        self._keys.expect_question()
        self._say = say
        self._reason = ""

    @property
    def in_reason(self) -> bool:
        return self._keys.in_reason

    def show(self, at: float) -> None:
        """Note that the question has been readable for long enough, and that its answers are shown from now on."""
        self._keys.show_question(
            self._request.approval, choices(self._offers), at - 3_600.0, absent=absent(self._offers)
        )

    def feed(self, piece: str, at: float) -> KeyChosen | None:
        """Handle one piece of input; returns the answer, if it is one."""
        typed = piece
        while typed:
            if self._keys.in_reason:
                outcome, typed = self._reason_key(typed, at)
            elif self._keys.in_rule:
                outcome, typed = self._rule_key(typed, at), ""
            else:
                outcome, typed = self._key(typed, at, alone=len(piece) == 1)
            if isinstance(outcome, KeyChosen):
                return outcome
        return None

    def _key(self, typed: str, at: float, *, alone: bool) -> tuple[Outcome | None, str]:
        key, rest = typed[0], typed[1:]
        choice: str | None = "deny" if key in _ESCAPE and alone else choice_of(key, self._offers)
        # An answer is a single key: a paste or an arrow key, which arrives as one piece, is not an answer. But letters
        # after the key that starts a reason belong to the reason.
        meaning = choice if choice == "reason" or alone else None
        begins, self._pressed = at - self._pressed >= PAUSE, at
        outcome = self._keys.press(meaning or "words", at)
        if isinstance(outcome, Swallowed | Passed) and begins:
            why = absent(self._offers).get(choice or "", _ONE_KEY)
            self._say(f"\n{why}\n{_ANSWER}")
        if isinstance(outcome, ReasonBegun):
            self._reason = ""
            self._say("reason, sent to the agent: " if outcome.question else "too soon; press enter, then answer: ")
        if isinstance(outcome, RuleBegun):
            self._rule = self._request.rule
            self._say(f"\n{rule_text(self._rule)}")
            self._keys.show_rule(at)
            self._pressed = at
            rest = ""  # nothing that came with the key was meant for what it shows
        return outcome, rest

    def _rule_key(self, typed: str, at: float) -> Outcome | None:
        """A key while the rule is shown: it saves, is edited, or goes back. Pastes and arrow keys are nothing."""
        begins, self._pressed = at - self._pressed >= PAUSE, at
        self._keys.press("words", at)
        if typed in (*_ENTER, "e") and not begins:
            return None  # the end of words that were meant for something else
        if typed in _ENTER and self._keys.rule_readable(at):
            try:
                check(self._rule, self._request)
            except DraftError as error:
                self._say(f"\nNothing was saved: {visible(str(error))}\n{_RULE_KEYS}")
                return None
            return self._keys.give_rule(self._rule, at)
        if typed in _ESCAPE:
            self._keys.leave_rule()
            self._say(f"\n{key_hints(self._request)}")
        elif typed == "e" and self._edit is not None:
            try:
                self._rule = self._edit(self._rule)
                self._say(f"\n{rule_text(self._rule)}")
            except EditorError as error:
                self._say(f"\n{visible(str(error))}\n{_RULE_KEYS}")
            self._keys.show_rule(time.monotonic())
        return None

    def _reason_key(self, typed: str, at: float) -> tuple[Outcome | None, str]:
        key, rest = typed[0], typed[1:]
        self._keys.press("words", at)
        if key in _ENTER:
            self._say("\n")
            outcome = self._keys.give_reason(one_line(self._reason, _REASON))
            if not isinstance(outcome, KeyChosen):
                self._say(key_hints(self._request))
            return outcome, rest
        if key in _ESCAPE:
            if rest:
                return None, ""  # an arrow key, or another key of several characters
            self._keys.leave_reason()
            self._say(f"\n{key_hints(self._request)}")
        elif key in _ERASE:
            if self._reason:
                self._reason = self._reason[:-1]
                self._say("\b \b")
        elif key in _CLEAR:
            self._say("\b \b" * len(self._reason))
            self._reason = ""
        elif is_letter(key) and len(self._reason) < _REASON:
            self._reason += key
            self._say(visible(key))
        return None, rest


class ApprovalPrompt:
    """Asks the questions of one turn, one after the other. Create it in a running loop; `close` ends it."""

    def __init__(
        self, bus: Bus, say: Callable[[str], None], wait_until_said: Callable[[Callable[[], bool]], None]
    ) -> None:
        """`say` writes text to the terminal, in order with the answer; `wait_until_said` waits until it is written."""
        self._bus = bus
        self._say = say
        self._wait_until_said = wait_until_said
        self._waiting: asyncio.Queue[ApprovalRequested] = asyncio.Queue()
        self._settled: set[str] = set()
        self._gone = threading.Event()
        self._asked = ""
        self._subscription = bus.subscribe(self._handle_events, ApprovalRequested, ApprovalSettled, name="asker")
        self._task = asyncio.ensure_future(self._ask())

    async def close(self) -> None:
        self._subscription.unsubscribe()
        self._gone.set()
        await cancel_and_wait(self._task)

    def _handle_events(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, ApprovalRequested):
                self._waiting.put_nowait(event)
            elif isinstance(event, ApprovalSettled):
                self._settled.add(event.approval)
                if event.approval == self._asked:
                    self._gone.set()

    async def _ask(self) -> None:
        while True:
            request = await self._waiting.get()
            if request.approval in self._settled:
                continue
            self._asked = request.approval
            self._gone = gone = threading.Event()
            self._say(f"{question_text(request)}\n")
            try:
                chosen = await asyncio.to_thread(self._answer, request, gone)
            except OSError:
                # The terminal is gone, and so is the person who could have agreed.
                chosen = KeyChosen(request.approval, "deny")
            if chosen is None:
                self._say("\n")
                continue
            self._say(f"{DECISIONS[chosen.choice]}\n")
            answer = ApprovalAnswered(approval=chosen.question, decision=chosen.decision, reason=chosen.reason)
            self._bus.publish(replace(answer, rule=chosen.rule))

    def _answer(self, request: ApprovalRequested, gone: threading.Event) -> KeyChosen | None:
        """Wait for an answer; `None` if the question was closed meanwhile. Raises `OSError`."""
        with TerminalKeys() as terminal:
            self._wait_until_said(gone.is_set)
            terminal.wait_for_quiet(gone.is_set)
            if gone.is_set():
                return None
            terminal.forget()  # before the answers appear: once they do, a key may be pressed at once
            terminal.write(key_hints(request))
            reader = KeyReader(request, terminal.write, lambda text: terminal.lend(lambda: edit_text(text, ".toml")))
            reader.show(time.monotonic())
            while not gone.is_set():
                if (typed := terminal.read()) is None:
                    continue
                if not typed:
                    return KeyChosen(request.approval, "deny")
                if (chosen := reader.feed(typed, time.monotonic())) is not None:
                    return chosen
        return None

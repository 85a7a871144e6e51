"""What a person writes in the panel: the reason of a denial, or the rule of an `always`. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.text_area import Location

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.ui.kit.textual.painting import always_draws_cursor
from gshtui.ui.kit.widgets.folding_area import FoldingArea


class AnswerFields:
    """The fields of a panel.

    Args:
        wrote: told when a reason that is being written has changed.
    """

    def __init__(self, panel: Widget, wrote: Callable[[], None]) -> None:
        self._panel = panel
        self._wrote = wrote

    @property
    def reason(self) -> str:
        """The reason that is being written; empty: none."""
        return next((field.reason for field in self._panel.query(ReasonInput)), "")

    @property
    def rule(self) -> RuleForm | None:
        """The rule that is being looked at."""
        return next(iter(self._panel.query(RuleForm)), None)

    async def open_reason(self) -> None:
        if not self._panel.query(ReasonInput):
            await self._panel.mount(ReasonInput(self._wrote))

    async def open_rule(self, request: ApprovalRequested) -> None:
        await self._panel.mount(RuleForm(request))

    async def close(self) -> None:
        for field in (*self._panel.query(ReasonInput), *self._panel.query(RuleForm)):
            await field.remove()
        self._wrote()

    async def write(self, event: events.Key) -> None:
        """Handle a key passed on by the panel."""
        for field in (*self._panel.query(ReasonInput), *self._panel.query(RuleForm)):
            await field.write(event)

    def paste(self, text: str) -> None:
        for field in (*self._panel.query(ReasonInput), *self._panel.query(RuleForm)):
            field.insert_pasted(text)


NEW_LINE = frozenset(("ctrl+j", "shift+enter", "alt+enter"))
_KEYS = "enter to save it and allow · ctrl+j for a new line · escape to go back"
RULE_VOID = "the question is closed, so this rule saves nothing · escape"


@always_draws_cursor  # it takes input for as long as it is shown
class RuleInput(FoldingArea, can_focus=False):
    """The rule's TOML."""

    def __init__(self, text: str) -> None:
        super().__init__(id="rule-text")
        self.load_text(text.rstrip("\n"))
        self.move_cursor(self.document.end)

    def changed(self) -> None:
        """Say at once what the changed rule would cover."""
        if isinstance(self.parent, RuleForm):
            self.parent.describe()


class RuleForm(Vertical, can_focus=False):
    """See the module."""

    def __init__(self, request: ApprovalRequested) -> None:
        super().__init__(id="rule-form")
        self.request = request
        self._words = Static(id="rule-words", markup=False)
        self._input = RuleInput(request.rule)

    def compose(self) -> ComposeResult:
        """Words, text, keys."""
        yield self._words
        yield self._input
        yield Static(_KEYS, id="rule-keys", markup=False)

    def on_mount(self) -> None:
        self.describe()

    @property
    def text(self) -> str:
        """The rule as it stands now."""
        return self._input.value

    @property
    def mistake(self) -> str:
        """Why it cannot be saved, with the line; empty if it can."""
        from gshtui.guard.rules.rule_draft import DraftError, check  # its parsers are needed only here

        try:
            check(self.text, self.request)
        except DraftError as error:
            return str(error)
        return ""

    def show_mistake(self, mistake: str) -> None:
        """Say why nothing was saved, until the text changes."""
        self._words.update(Content(f"Nothing was saved: {mistake}"))

    def describe(self) -> None:
        """Show where it would be saved and what it would cover."""
        from gshtui.guard.approval.question_text import rule_words
        from gshtui.guard.rules.rule_file import own_file

        told, *covered = rule_words(self.text, own_file())
        self._words.update(Content("\n".join((told, *(f"  {each}" for each in covered)))))

    async def write(self, event: events.Key) -> None:
        """Handle a key passed on by the panel."""
        if event.key in NEW_LINE:
            self._input.insert_typed("\n")
        else:
            await self._input.on_key(event)

    def insert_pasted(self, text: str) -> None:
        """Insert a paste at the cursor."""
        self._input.insert_pasted(text)


REASON_LIMIT = 2_000
VOID = "the question has changed, so this reason denies nothing; escape closes it"
DENIES = "enter to deny"
SOON = "too soon, so this reason denies nothing; escape closes it"


def as_reason(text: str) -> str:
    """A text that was written as a prompt, on one line; empty: it is a command, too long for a reason, or has a secret
    in it, about which a person is asked before it is sent.
    """
    from gshtui.text.sanitise import one_line  # not before the first letter
    from gshtui.text.secret_shapes import without_tokens

    text = text.strip()
    if text.startswith(("/", "!")) or len(text) > REASON_LIMIT or without_tokens(text) != text:
        return ""
    return one_line(text, REASON_LIMIT)


@always_draws_cursor  # it takes input for as long as it is shown
class ReasonInput(FoldingArea, can_focus=False):
    """One line for the reason; the panel closes it."""

    def __init__(self, wrote: Callable[[], None]) -> None:
        super().__init__(id="reason", placeholder="Reason, sent to the agent")
        self._wrote = wrote

    def changed(self) -> None:
        self._wrote()

    @property
    def reason(self) -> str:
        """What is written, on one line, without secrets."""
        from gshtui.text.sanitise import one_line  # not before the first letter
        from gshtui.text.secret_shapes import without_tokens

        return one_line(without_tokens(self.value), REASON_LIMIT)

    def insert_pasted(self, text: str, start: Location | None = None, end: Location | None = None) -> None:
        """As above, with what looks like a key hidden at once."""
        from gshtui.text.secret_shapes import without_tokens

        super().insert_pasted(without_tokens(text), start, end)

    async def write(self, event: events.Key) -> None:
        """Handle a key passed on by the panel."""
        await self.on_key(event)

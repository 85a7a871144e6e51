"""The question before a text with a secret in it is sent: without the secret, as it is, or not at all.

It is about the text as it was then, and whom it was for. A provider's key that is all of the text connects a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from textual.message import Message

from gshtui.settings.known_providers import lone_key
from gshtui.text.secret_shapes import MARK, without_tokens
from gshtui.ui.kit.widget_messages import KeyGiven
from gshtui.ui.prompt.drafts import Drafts
from gshtui.ui.prompt.prompt_routing import Addressee, Commands, ToAgent, route

if TYPE_CHECKING:
    from textual.app import App

    from gshtui.ui.prompt.prompt_history import SentHistory

_AS_IT_IS = "as it is"


class AskingInput(Protocol):
    """The input whose text is asked about (`gshtui.ui.prompt.prompt_input`)."""

    addressee: Addressee
    look_up: Callable[[Addressee], Addressee]
    commands: Commands
    editing: str
    drafts: Drafts

    @property
    def value(self) -> str: ...
    @property
    def whose(self) -> str: ...
    @property
    def past(self) -> SentHistory: ...
    def place(self, text: str, folds: dict[int, str] | None = None) -> None: ...
    def edit_waiting(self, text: str) -> None: ...
    def send_to(self, text: str, addressee: Addressee) -> bool: ...
    def post_message(self, message: Message) -> bool: ...


def ask_first(prompt: AskingInput, app: App[Any]) -> bool:
    """Ask what to do with a secret in what is written, and hide it meanwhile; False: there is none."""
    text = prompt.value
    if key := lone_key(text):
        prompt.post_message(KeyGiven(key))
        prompt.place("")
        return True
    without = without_tokens(text)
    if without == text:
        return False
    from gshtui.ui.kit.widgets.dialogs import AskedChoice, PickerChoice

    title = " ".join(filter(None, ("An API key or token is in this text", _whom(prompt))))
    held = _Held(prompt)

    choices = (
        PickerChoice("without", "Send without it", f"{MARK} stands in its place"),
        PickerChoice(_AS_IT_IS, "Send as it is", "agent, model and record get it; the history does not"),
    )
    hint = "{list.choose} to select · {list.close} to go back"

    def answer(chosen: str | None) -> None:
        if chosen is None:
            held.go_back()
        else:
            held.send(text if chosen == _AS_IT_IS else without)

    app.push_screen(AskedChoice(title, choices, empty="", hint=hint), answer)
    return True


def _whom(prompt: AskingInput) -> str:
    """Whom the text in the input goes to, in words; empty: it is no prompt."""
    if prompt.editing:
        return f"to {prompt.drafts.name_of(prompt.whose)}"
    addressee = prompt.addressee
    if not isinstance(route(prompt.value, prompt.commands, addressee.offers, typed=addressee.program), ToAgent):
        return ""
    return f"{'in' if addressee.call else 'to'} {addressee.known_as}"


class _Held:
    """A text that is out of the input while it is asked about: it is for whom it was written, whatever becomes of the
    input meanwhile.
    """

    def __init__(self, prompt: AskingInput) -> None:
        self._prompt = prompt
        self._addressee = prompt.addressee
        self._editing = prompt.editing
        self._whose = prompt.whose
        self._draft = prompt.drafts.hold(self._whose)

    def send(self, text: str) -> None:
        """Send this in its place; where that can't be, go back to it."""
        prompt = self._prompt
        if self._editing:
            sent = self._editing == prompt.editing  # else the agent has begun with it
            if sent:
                prompt.edit_waiting(text)
        else:
            sent = prompt.send_to(text, prompt.look_up(self._addressee))
        if sent:
            prompt.drafts.release(self._whose)
        else:
            prompt.past.add(self._draft.value)
            self.go_back()

    def go_back(self) -> None:
        """Put it where it was: before what has been written there since."""
        prompt = self._prompt
        prompt.drafts.release(self._whose)
        if self._editing and self._editing == prompt.editing:
            prompt.place(self._draft.text, self._draft.folds)
        else:
            prompt.drafts.give(self._draft, self._whose)

"""The question before a text with a secret in it is sent: without the secret, as it is, or not at all.

A provider's key that is all of the text connects a model.
"""

from __future__ import annotations

from collections.abc import Callable

from textual import events

from gshtui.text.secret_shapes import MARK, without_tokens
from gshtui.ui.kit.keys.bound_keys import BoundKeys
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widget_messages import KeyGiven
from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice, YesKeys
from gshtui.ui.kit.widgets.folding_area import FoldingArea

_AS_IT_IS = "as it is"
_CHOICES = (
    PickerChoice("without", "Send without it", f"{MARK} stands in its place"),
    PickerChoice(_AS_IT_IS, "Send as it is", "agent, model and record get it"),
)


class SecretScreen(Picker):
    """A choice counts once the question could be read."""

    def __init__(self) -> None:
        hint = "{list.choose} to select · {list.close} to go back"
        super().__init__("An API key or token is in this text", _CHOICES, empty="", hint=hint)
        self._keys = YesKeys()
        self._bound = BoundKeys()

    def on_mount(self) -> None:
        self.call_after_refresh(self._keys.show)

    def on_key(self, event: events.Key) -> None:
        chooses = event.key == "enter" or self._bound.action(self, event.key) == "choose"
        if chooses and not self._keys.press("once", event.time):
            event.stop()
            event.prevent_default()


def ask_first(area: FoldingArea, place: Callable[[str, dict[int, str] | None], None], send: Callable[[], None]) -> bool:
    """Ask what to do with a secret in what is written, and hide it meanwhile; False: there is none.

    `send` is called once what is to be sent has been placed. Without an answer, all is as it was.
    """
    from gshtui.settings.known_providers import lone_key

    if key := lone_key(area.value):
        area.post_message(KeyGiven(key))
        place("", None)
        return True
    text, folds = area.text, area.folds.used(area.text)
    shown, hidden = without_tokens(text), {number: without_tokens(folded) for number, folded in folds.items()}
    if shown == text and hidden == folds:
        return False

    def answer(chosen: str | None) -> None:
        if chosen != "without":
            place(text, folds)
        if chosen is not None:
            send()

    place(shown, hidden)
    app_of(area).push_screen(SecretScreen(), answer)
    return True

"""The question before a text with a secret in it is sent: without the secret, as it is, or not at all.

A provider's key that is all of the text connects a model.
"""

from __future__ import annotations

from collections.abc import Callable

from gshtui.settings.known_providers import lone_key
from gshtui.text.secret_shapes import MARK, without_tokens
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widget_messages import KeyGiven
from gshtui.ui.kit.widgets.folding_area import FoldingArea

_AS_IT_IS = "as it is"


def ask_first(area: FoldingArea, place: Callable[[str, dict[int, str] | None], None], send: Callable[[], None]) -> bool:
    """Ask what to do with a secret in what is written, and hide it meanwhile; False: there is none.

    `send` is called once what is to be sent has been placed. Without an answer, all is as it was.
    """
    if key := lone_key(area.value):
        area.post_message(KeyGiven(key))
        place("", None)
        return True
    text, folds = area.text, area.folds.used(area.text)
    shown, hidden = without_tokens(text), {number: without_tokens(folded) for number, folded in folds.items()}
    if shown == text and hidden == folds:
        return False
    from gshtui.ui.kit.widgets.dialogs import AskedChoice, PickerChoice

    def answer(chosen: str | None) -> None:
        if chosen in (None, _AS_IT_IS):
            place(text, folds)
        if chosen is not None:
            send()

    place(shown, hidden)
    choices = (
        PickerChoice("without", "Send without it", f"{MARK} stands in its place"),
        PickerChoice(_AS_IT_IS, "Send as it is", "agent, model and record get it"),
    )
    hint = "{list.choose} to select · {list.close} to go back"
    asked = AskedChoice("An API key or token is in this text", choices, empty="", hint=hint)
    app_of(area).push_screen(asked, answer)
    return True

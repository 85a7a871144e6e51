"""The pickers for models and conversations, and their descriptions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from gshtui.text.sanitise import one_line
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice

if TYPE_CHECKING:
    from gshtui.agents.commands.rewind import EarlierPrompt
    from gshtui.providers.model_command import ListedModel
    from gshtui.store.tables.session_table import SessionInfo


class ModelsScreen(Picker):
    """Choose a model; the answer is `provider/model`, or the key that was typed.

    Args:
        whose: the name of the agent that uses what is chosen; empty: not known.
        harder: changes how hard the one in use thinks; gives the models as they are then.
    """

    BINDINGS = [bind("model.effort", "effort")]
    RIGHT = ("window",)
    OF_KEY = "This looks like an API key. Press enter to connect with it."

    def __init__(
        self, models: Sequence[ListedModel], whose: str, harder: Callable[[], Awaitable[Sequence[ListedModel]]]
    ) -> None:
        super().__init__(
            f"Model for {one_line(whose, 40)}" if whose else "Models",
            _choices(models),
            empty="No models available. Set a key (`gsh-tui doctor` lists them) or start Ollama.",
            hint="{list.choose} to use it, or paste its key · {model.effort} for effort · {list.close} to close",
            headings=HEADINGS,
        )
        self._harder = harder
        self._in_use = {choice.id for choice in _choices(models) if choice.current}

    def action_choose(self) -> None:
        if key := self.key:
            self.dismiss(key)
        else:
            super().action_choose()

    async def action_effort(self) -> None:
        marked = self.choices.highlighted_option
        if marked is None or marked.id not in self._in_use:
            self.notify("The effort is that of the model in use: select this one first.", markup=False)
            return
        self.replace(_choices(await self._harder()), HEADINGS)
        self.fill()


HEADINGS = ("model", "provider", "$/M in, out", "effort", "", "window")
"""What matters least comes last: it is left out where there is no room."""


def _choices(models: Sequence[ListedModel]) -> list[PickerChoice]:
    """Those that can be used now come first; else in the catalog's order."""
    return [model_choice(model, models) for model in sorted(models, key=lambda one: one.usable is False)]


def model_choice(model: ListedModel, among: Sequence[ListedModel] = ()) -> PickerChoice:
    """A model as an entry; what it is first in `among` the models of its provider is said."""
    price_in, price_out = model.price_input, model.price_output
    rivals = [one for one in among if one.provider == model.provider and one is not model]
    notes = {
        "no key": model.usable is False,
        "cheapest": price_out and rivals and all(price_out < (one.price_output or 0) for one in rivals),
        "largest window": rivals and all(model.window > one.window for one in rivals),
        "in use": model.in_use,
    }
    parts = [
        model.provider,
        f"{figures.money(price_in)} / {figures.money(price_out)}"
        if price_in is not None and price_out is not None
        else "",
        "" if model.effort is None else model.effort or ("default" if model.in_use else "low–high"),
        next((note for note, fits in notes.items() if fits), ""),
        figures.tokens(model.window) if model.window else "",
    ]
    return PickerChoice(
        f"{model.provider}/{model.model}",
        one_line(model.label or model.model, 60),
        one_line(model.about, 160),
        current=model.in_use,
        columns=tuple(one_line(part, 60) for part in parts),
    )


class PromptsScreen(Picker):
    """Choose a prompt to go back to; the answer is its number."""

    def __init__(self, prompts: Sequence[EarlierPrompt], now: float) -> None:
        super().__init__(
            "Rewind to before a prompt",
            [prompt_choice(prompt, now) for prompt in prompts],
            empty="No prompts in this conversation yet.",
            hint="{list.choose} to go back, files too · {list.close} to close · /redo to undo it",
        )


def prompt_choice(prompt: EarlierPrompt, now: float) -> PickerChoice:
    """A prompt as an entry."""
    return PickerChoice(str(prompt.number), one_line(prompt.text, 80), f"{_ago(now - prompt.at)}{prompt.changed}")


def _ago(seconds: float) -> str:
    return "just now" if seconds < 2 else f"{figures.age(seconds)} ago"


def session_choice(session: SessionInfo, now: float) -> PickerChoice:
    """A conversation as an entry."""
    from gshtui.providers.catalog import label_of

    parts = [
        _ago(now - session.updated),
        "1 message" if session.messages == 1 else f"{session.messages} messages",
        f"{session.queued} unsent" if session.queued else "",
        label_of(session.model),
        f"open in {session.held_by}" if session.held_by else "",
    ]
    name = one_line(session.title or "(no title)", 80)
    return PickerChoice(session.id, name, " · ".join(part for part in parts if part))

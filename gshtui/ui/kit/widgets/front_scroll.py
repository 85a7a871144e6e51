"""Scrolls the tab in front while the focus is elsewhere, such as in the input.

Whatever is in front scrolls as its own keys scroll it: a wish is answered by the action of its row of the key table
with that name (`transcript.page_up`, `terminal.page_up`). Moves no focus.
"""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from textual.binding import Binding
from textual.widget import Widget

from gshtui.ui.kit.widgets.tabs import Deck

ScrollWish = Literal["page_up", "page_down", "home", "end", "previous_prompt", "next_prompt"]
_ELSEWHERE = {"previous_prompt": "up", "next_prompt": "down"}
"""What a tab without prompts does instead."""


@runtime_checkable
class PromptWalker(Protocol):
    """A tab in which the reader can stand at a prompt."""

    @property
    def away(self) -> bool:
        """Whether the reader has left the end."""
        ...

    @property
    def standing(self) -> bool:
        """Whether the reader has gone to a prompt, and not left it."""
        ...

    def action_end(self) -> None: ...


@runtime_checkable
class ChangeShower(Protocol):
    """A tab with the changes that calls want to make."""

    def shows_change(self, call: str, diff: str) -> bool:
        """Whether all of it is on the screen now."""
        ...

    def fold_asked(self, call: str) -> None:
        """The question of this call shows its change. Empty: none does."""
        ...

    @property
    def free_rows(self) -> int:
        """Rows that nothing fills; less than 0: some are out of sight."""
        ...


class FrontScroll:
    """See the module."""

    def __init__(self, deck: Deck) -> None:
        self._deck = deck
        self._folded: ChangeShower | None = None

    async def go(self, wish: ScrollWish) -> None:
        """Scroll what is in front."""
        front = self._deck.front_widget
        if front is None:
            return
        for name in (wish, _ELSEWHERE.get(wish)):
            action = _action(front, name) if name else ""
            if action:
                await front.run_action(action)
                return

    @property
    def away(self) -> bool:
        """Whether the reader has left the end of what is in front."""
        front = self._deck.front_widget
        return isinstance(front, PromptWalker) and front.away

    @property
    def standing(self) -> bool:
        """Whether the reader has gone to a prompt in what is in front, and not left it."""
        front = self._deck.front_widget
        return isinstance(front, PromptWalker) and front.standing

    def shows_change(self, call: str, diff: str) -> bool:
        """Whether all of the change that a call wants to make is on the screen now."""
        front = self._deck.front_widget
        return isinstance(front, ChangeShower) and front.shows_change(call, diff)

    @property
    def free_rows(self) -> int | None:
        """Rows of what is in front that nothing fills; less than 0: some are out of sight; `None`: it does not tell."""
        front = self._deck.front_widget
        return front.free_rows if isinstance(front, ChangeShower) else None

    def fold_asked(self, call: str) -> None:
        """Show in one row what this call wants to change, since its question shows it. Empty: none does."""
        if self._folded is not None:
            self._folded.fold_asked("")
        front = self._deck.front_widget if call else None
        self._folded = front if isinstance(front, ChangeShower) else None
        if self._folded is not None:
            self._folded.fold_asked(call)

    def go_back(self) -> bool:
        """Leave the prompt that the reader stands at, for the end; False: the reader stands at none."""
        front = self._deck.front_widget
        if not isinstance(front, PromptWalker) or not front.standing:
            return False
        front.action_end()
        return True


def _action(widget: Widget, name: str) -> str:
    for kind in type(widget).__mro__:
        for binding in vars(kind).get("BINDINGS", ()):
            if isinstance(binding, Binding) and (binding.id or "").rpartition(".")[2] == name:
                return binding.action
    return ""

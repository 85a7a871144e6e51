"""Loads the lexers that a highlighter wants, in threads, for a widget that draws code; then has it drawn again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.widget import Widget

from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.textual.typed_app import app_of


class LanguageLoader:
    """See the module.

    Args:
        loaded: called in the widget's thread once one more language is there.
    """

    def __init__(self, widget: Widget, code: Highlighter, loaded: Callable[[], None]) -> None:
        self._widget = widget
        self._code = code
        self._loaded = loaded
        self._loading: set[str] = set()

    def load_wanted(self) -> None:
        """Load what is wanted and not being loaded yet. Cheap where nothing is."""
        wanted = self._code.wanted
        if not wanted:
            return
        for name in sorted(wanted - self._loading):
            self._loading.add(name)
            work = partial(self._load, name)
            self._widget.run_worker(work, thread=True, exit_on_error=False, name=f"lexer {name}")
        wanted.clear()

    def _load(self, name: str) -> None:
        self._code.load(name)
        app_of(self._widget).call_from_thread(self._loaded)

"""A transcript with the line below it in which people type what they search in it.

Owns what goes between the two. Held by every pane that shows a conversation.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.transcript.transcript_search import TranscriptSearched
from gshtui.ui.kit.widgets.search_line import SearchLine

_WHEEL = 2
"""Rows of a step of the wheel, as Textual has it."""


class SearchedTranscript(Vertical):
    """See the module."""

    BINDINGS: ClassVar[list[BindingType]] = [bind("transcript.search_end", "end_search")]
    DEFAULT_CSS = "SearchedTranscript { height: 1fr; }"

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self.transcript = transcript

    def compose(self) -> ComposeResult:
        yield self.transcript
        yield SearchLine()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "end_search" and not self.query_one(SearchLine).display:
            return False
        return super().check_action(action, parameters)

    def on_mouse_scroll_down(self) -> None:
        """Beside a page that is narrower than the pane, the wheel scrolls it, too."""
        self.transcript.scroll_rows(_WHEEL)

    def on_mouse_scroll_up(self) -> None:
        self.transcript.scroll_rows(-_WHEEL)

    def action_end_search(self) -> None:
        """Close the search from among its matches."""
        self.query_one(SearchLine).action_close()

    def on_transcript_search_requested(self, message: Transcript.SearchRequested) -> None:
        message.stop()
        self.query_one(SearchLine).open()

    def on_transcript_searched(self, message: TranscriptSearched) -> None:
        message.stop()
        self.query_one(SearchLine).show_position(message.at, message.hits, message.done)

    def on_search_line_changed(self, message: SearchLine.Changed) -> None:
        message.stop()
        self.transcript.finder.find(message.words)

    def on_search_line_stepped(self, message: SearchLine.Stepped) -> None:
        message.stop()
        self.transcript.finder.find_more(message.step)

    def on_search_line_taken(self, message: SearchLine.Taken) -> None:
        message.stop()
        self.transcript.focus()

    def on_search_line_closed(self, message: SearchLine.Closed) -> None:
        message.stop()
        self.transcript.finder.find("")
        self.transcript.focus()

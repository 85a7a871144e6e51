"""A tiny app around a transcript, and what its screen says."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.pilot import Pilot

from gshtui.ui.kit.drawing.themes import ThemedApp
from gshtui.ui.kit.transcript.entries import Entry
from gshtui.ui.kit.transcript.transcript import Transcript

STYLES = Path(__file__).parents[2] / "styles"


class TranscriptHost(ThemedApp[None]):
    """Nothing but a transcript with these entries."""

    CSS_PATH = [STYLES / "transcript.tcss"]

    def __init__(self, entries: Iterable[Entry] = (), theme: str = "gsh-dark", empty: str = "Nothing yet.") -> None:
        super().__init__()
        self.theme = theme
        self.transcript = Transcript(empty=empty)
        self._entries = list(entries)
        self.receipts: list[str] = []
        """The cuts whose receipts were asked for."""

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_transcript_cut_opened(self, message: Transcript.CutOpened) -> None:
        self.receipts.append(message.cut)

    def on_mount(self) -> None:
        self.transcript.focus()
        for entry in self._entries:
            self.transcript.feed.put(entry)


def screen_rows(transcript: Transcript) -> list[str]:
    """What the rows of the screen say, without the gutter and blanks at their ends."""
    return [transcript.row_strip(y).text[2:].rstrip() for y in range(transcript.size.height)]


async def wait_until_drawn(pilot: Pilot[Any], transcript: Transcript) -> None:
    """Wait until all that was put in is cut and drawn."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    while transcript.drawing:
        await pilot.pause()
    await pilot.pause()

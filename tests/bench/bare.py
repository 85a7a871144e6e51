"""The floors: the least that a Textual app can be, started as `python -m tests.bench.bare KIND`.

`input` and `textarea`: a log and a line to type in. `log`: 200 KB of Markdown into a `Log` in pieces of 20 characters.
Kept as plain as Textual's own examples: what ours is compared with is Textual, not our skill with it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from textual.app import App, ComposeResult
from textual.widgets import Input, Log, TextArea

from tests.bench.material import END, answer


class WithInput(App[None]):
    """An `Input` under a `Log`."""

    AUTO_FOCUS = "Input"

    def compose(self) -> ComposeResult:
        yield Log()
        yield Input(placeholder="type here, if you like")


class WithTextArea(App[None]):
    """A `TextArea` under a `Log`."""

    AUTO_FOCUS = "TextArea"
    CSS = "TextArea { height: 5; }"

    def compose(self) -> ComposeResult:
        yield Log()
        area = TextArea()
        area.border_title = "type here, if you like"
        yield area


class Streaming(WithTextArea):
    """Writes an answer of `STREAM_SIZE` characters into the log, as fast as it takes it."""

    def on_mount(self) -> None:
        self.run_worker(self.stream())

    async def stream(self) -> None:
        await asyncio.sleep(1.0)  # the first screen is not part of it
        log = self.query_one(Log)
        text = answer(int(os.environ["STREAM_SIZE"]))
        began, used = time.perf_counter(), time.process_time()
        for at in range(0, len(text), 20):
            log.write(text[at : at + 20])
            await asyncio.sleep(0)
        log.write(f"\n{END}\n")
        self.title = f"{time.perf_counter() - began:.3f} {time.process_time() - used:.3f}"


KINDS: dict[str, type[App[None]]] = {"input": WithInput, "textarea": WithTextArea, "log": Streaming}

if __name__ == "__main__":
    KINDS[sys.argv[1]]().run()

"""The floors: the least that a Textual app can be, started as `python -m tests.bench.bare KIND`.

`input` and `textarea`: a log and a line to type in. `libraries`: the same, beside what our window needs of others.
`code`: the same, beside the modules that `BENCH_MODULES` names, of which nothing is called.
`echo`: a loop that writes back what it reads, which is less than any app can do. `heard` and `captured`: a loop that
passes keys to a pane of `BENCH_SOCKET` by a control client, and writes each back once tmux tells of output, or shows it
in a capture: what nothing that mirrors a pane by control mode can be faster than. `log`: an answer into a `Log` once
enter is pressed, with the variables of `tests.bench.synthetic`.
Kept as plain as Textual's own examples: what ours is compared with is Textual, not our skill with it.
"""

import asyncio
import os
import subprocess
import sys
import tty
from importlib import import_module
from pathlib import Path

from textual.app import App, ComposeResult
from textual.widgets import Input, Log, TextArea

from tests.bench.material import END, START, answer
from tests.bench.watch import Watch


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


class Streaming(App[None]):
    """Writes an answer into a `Log`, at a pace or as fast as it takes it."""

    AUTO_FOCUS = "Input"

    def compose(self) -> ComposeResult:
        yield Log()
        yield Input(placeholder="press enter to begin")

    def on_input_submitted(self) -> None:
        self.run_worker(self.stream())

    async def stream(self) -> None:
        log = self.query_one(Log)
        text = f"{START}\n\n{answer(int(os.environ['BENCH_SIZE']))}\n\n{END}\n"
        size, rate = int(os.environ.get("BENCH_PIECE", "20")), float(os.environ.get("BENCH_RATE", "0"))
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        watch, loop = Watch(), asyncio.get_running_loop()
        watch.begin()
        began = loop.time()
        for number, piece in enumerate(pieces):
            if number and number % (len(pieces) // 10) == 0:
                watch.passed()
            log.write(piece)
            await asyncio.sleep(max(0.0, began + (number + 1) / rate - loop.time()) if rate else 0)
        watch.passed()
        watch.write(Path(os.environ["BENCH_REPORT"]))


class WithLibraries(WithTextArea):
    """Imports, once it is drawn, what the window imports of others before anything is asked of it."""

    def on_ready(self) -> None:
        for name in ("msgspec", "pydantic", "pydantic_settings", "aiosqlite", "watchfiles", "tomllib"):
            import_module(name)


class WithCode(WithTextArea):
    """Imports, once it is drawn, all that a window at rest has imported."""

    def on_ready(self) -> None:
        for name in os.environ["BENCH_MODULES"].split():
            import_module(name)


async def write_back() -> None:
    """Write each byte at the place of a cursor, as long as there is a terminal."""
    tty.setraw(0)
    os.write(1, b"type here, if you like")
    asyncio.get_running_loop().add_reader(0, lambda: os.write(1, b"\x1b[2;3H" + os.read(0, 1 << 16)))
    await asyncio.get_running_loop().create_future()


async def through_tmux(*, captures: bool) -> None:
    """Pass keys to a pane, and write each back at its output, or once a capture has it."""
    tty.setraw(0)
    argv = ["tmux", "-u", "-S", os.environ["BENCH_SOCKET"], "-C", "attach-session", "-t", os.environ["BENCH_TARGET"]]
    client = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert client.stdin is not None and client.stdout is not None
    orders, answers = client.stdin.fileno(), client.stdout.fileno()
    key, said, waits = b"", bytearray(), False

    def read_key() -> None:
        nonlocal key, waits
        key, waits = os.read(0, 1 << 16), True
        said.clear()
        os.write(orders, b"send-keys -H %s\n" % key.hex(" ").encode())

    def read_answer() -> None:
        nonlocal waits
        said.extend(os.read(answers, 1 << 16))
        if waits and b"%output" in said:
            said.clear()
            waits = False
            os.write(*((orders, b"capture-pane -peN\ndisplay-message -p SEAL\n") if captures else (1, key)))
        elif captures and b"SEAL" in said:
            if not (waits := key not in said):
                os.write(1, key)
            said.clear()

    os.write(1, b"type here, if you like")
    asyncio.get_running_loop().add_reader(0, read_key)
    asyncio.get_running_loop().add_reader(answers, read_answer)
    await asyncio.get_running_loop().create_future()


KINDS: dict[str, type[App[None]]] = {
    "input": WithInput,
    "textarea": WithTextArea,
    "libraries": WithLibraries,
    "code": WithCode,
    "log": Streaming,
}

if __name__ == "__main__":
    if sys.argv[1] == "echo":
        asyncio.run(write_back())
    if sys.argv[1] in ("heard", "captured"):
        asyncio.run(through_tmux(captures=sys.argv[1] == "captured"))
    KINDS[sys.argv[1]]().run()

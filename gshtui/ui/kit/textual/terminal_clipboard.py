"""The picture on the clipboard of the machine that the terminal is on, by kitty's protocol (OSC 5522): also over SSH.

Asked for by a person's key alone; the terminal may ask them once more. What it answers unasked, and what answers take
longer or are larger than a picture, is passed over. A terminal that does not know the protocol says nothing.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gshtui.media.attachment import MOST_SENT
from gshtui.media.clipboard_picture import PICTURE_TYPES
from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import CleanText, clean_text, plain
from gshtui.ui.kit.textual.driver import ReadingDriver, write_sequence
from gshtui.ui.kit.textual.input_parser import InputParser

if TYPE_CHECKING:
    from textual.app import App

_SPEAKS = 3.0
"""Seconds for the first word: a slow line, or no such protocol."""
_ALLOWED = 60.0
"""Seconds in which a person answers the terminal's question."""
_BETWEEN = 10.0
"""Seconds from one piece of the data to the next."""


async def read_terminal_picture(app: App[Any]) -> bytes | None:
    """The picture on the terminal's clipboard; empty: there is none; `None`: the terminal gives no clipboard. Raises
    `ExpectedError`: it refuses, breaks off, or gives too much.
    """
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    if not isinstance(driver, ReadingDriver) or driver.parser is None or not may_be_asked(os.environ):
        return None
    return await ask_for_picture(lambda sequence: write_sequence(app, sequence), driver.parser)


def may_be_asked(environ: Mapping[str, str]) -> bool:
    """Whether the question could reach a terminal that answers: tmux and screen pass no answer on."""
    inside = "TMUX" in environ or "STY" in environ
    return not inside and not environ.get("TERM", "").startswith(("tmux", "screen", "linux", "dumb"))


async def ask_for_picture(write: Callable[[CleanText], None], parser: InputParser) -> bytes | None:
    """See `read_terminal_picture`. `parser`: reads what the terminal sends, in a thread of its own."""
    loop = asyncio.get_running_loop()
    answers: asyncio.Queue[str] = asyncio.Queue()
    parser.clipboard = lambda text: loop.call_soon_threadsafe(answers.put_nowait, text)
    try:
        try:
            offered = await _read(write, answers, ".", _SPEAKS)
        except TimeoutError:
            return None
        kinds = offered.decode("utf-8", "replace").split()
        kind = next((one for one in PICTURE_TYPES if one in kinds), "")
        return await _read(write, answers, kind, _ALLOWED) if kind else b""
    except TimeoutError:
        raise ExpectedError("The terminal did not send the clipboard's picture in time.") from None
    finally:
        parser.clipboard = None


async def _read(write: Callable[[CleanText], None], answers: asyncio.Queue[str], wanted: str, within: float) -> bytes:
    """What the terminal has of a type; of `.`, the types. Raises `ExpectedError`, `TimeoutError`."""
    asked = base64.b64encode(wanted.encode()).decode()
    write(clean_text("\x1b]5522;type=read;", plain(asked), "\x1b\\"))
    data = bytearray()
    while True:
        async with time_limit(within):
            answer = await answers.get()
        about, _, payload = answer.partition(";")
        status = next((part.removeprefix("status=") for part in about.split(":") if part.startswith("status=")), "")
        match status:
            case "OK":
                within = max(within, _BETWEEN)
            case "DATA":
                within = _BETWEEN
                try:
                    data += base64.b64decode(payload, validate=True)
                except binascii.Error:
                    raise ExpectedError("The terminal sent damaged clipboard data.") from None
                if len(data) > MOST_SENT:
                    raise ExpectedError(f"The picture on the clipboard has more than {MOST_SENT:,} bytes.")
            case "DONE":
                return bytes(data)
            case "EPERM":
                hint = "Its settings may allow it; kitty's is `clipboard_control`."
                raise ExpectedError("The terminal does not let programs read its clipboard.", hint)
            case _:
                raise ExpectedError("The terminal could not read its clipboard.")

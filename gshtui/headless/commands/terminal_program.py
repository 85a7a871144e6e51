"""A shell line on this terminal, such as an editor that a command opens."""

from __future__ import annotations

import os
import signal
import subprocess

from gshtui.headless import exits
from gshtui.headless.streams import complain


def run_in_terminal(line: str, needs_screen: bool) -> int:
    """Run a shell line on this terminal until it ends; returns its exit code, as a shell says it."""
    if needs_screen and not (os.isatty(0) and os.isatty(1)):
        complain("this needs a terminal.", f"In a terminal, run: {line}")
        return exits.USAGE

    def spare(_number: int, _frame: object) -> None:
        """What ctrl+c sends is for the program. A handler, since what is ignored stays ignored in the program."""

    before = {number: signal.signal(number, spare) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        code = subprocess.run(["/bin/sh", "-c", line], check=False).returncode
    except OSError as error:
        complain(f"cannot start a shell: {error.strerror}.")
        return exits.ERROR
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code

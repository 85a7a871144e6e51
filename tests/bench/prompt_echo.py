"""Keystroke to echo of the input line beside a bare `TextArea`, and a paste of a megabyte into it.

`python -m tests.bench.prompt_echo` prints the figures; with `host` it is the app that is measured. Rounds alternate, so
that whatever else the machine does falls on both.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.figures import Report, median, p95
from tests.bench.pty_probe import Probe

KEYS = 80
ROUNDS = 3
PASTE = "one line of a long paste, with words in it\r" * 24_000
LIMIT = 1.3


def host() -> None:
    """The prompt area under a log, as the main screen has it."""
    from tests.kit.prompt_host import PromptHost

    PromptHost(real_terminal=True).run()


def echoes(argv: list[str]) -> list[float]:
    """Seconds from key to echo; a text area shows two lines, so that neither has to scroll."""
    with _probe(argv) as probe:
        probe.echoes(5)
        return probe.echoes(KEYS)


@contextmanager
def _probe(argv: list[str]) -> Iterator[Probe]:
    """A program at rest, with folders of its own: a draft of an earlier run would be brought back."""
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "HOME": home, "XDG_STATE_HOME": f"{home}/state"}
        with Probe([sys.executable, "-m", *argv], columns=120, rows=40, environ=environ) as probe:
            probe.first_frame()
            probe.settle()
            yield probe


def paste() -> tuple[float, float]:
    """Seconds from a paste's last byte to its label, and to the echo of the next key."""
    with _probe(["tests.bench.prompt_echo", "host"]) as probe:
        after = len(probe.output)
        for start in range(0, len(PASTE), 4096):
            probe.write(("\x1b[200~" if not start else "") + PASTE[start : start + 4096])
            probe.read(0)
        began = probe.write("\x1b[201~")
        label = probe.wait_for("[pasted #1", after=after, timeout=60) - began
        after = len(probe.output)
        typed = probe.write("Я")
        return label, probe.wait_for("Я", after=after) - typed


def measure(report: Report) -> None:
    """Add the figures to a report."""
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(ROUNDS):
        bare += echoes(["tests.bench.bare", "textarea"])
        ours += echoes(["tests.bench.prompt_echo", "host"])
    report.add("input line: key to echo, median", median(ours) * 1e3, "ms", floor=median(bare) * 1e3, limit=LIMIT)
    report.add("input line: key to echo, p95", p95(ours) * 1e3, "ms", floor=p95(bare) * 1e3, limit=LIMIT)
    label, key = paste()
    report.add("input line: a paste of 1 MB until it shows", label, "s", limit=2.0)
    report.add("input line: the next key's echo", key * 1e3, "ms")


if __name__ == "__main__":
    if sys.argv[1:] == ["host"]:
        host()
    else:
        started = time.perf_counter()
        measure(Report())
        print(f"{time.perf_counter() - started:.0f} s")

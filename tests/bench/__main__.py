"""`python -m tests.bench [NAME…] [--json FILE]`: all benchmarks, or those named; a table against the targets, and JSON.

Figures are compared with floors measured in the same session: trust the ratios. A machine that does something else
meanwhile gives other figures, which is why no test asserts them.
"""

import argparse
import importlib
import signal
import sys
from pathlib import Path

from tests.bench.figures import Report
from tests.bench.place import place
from tests.bench.pty_probe import Late
from tests.kit import real_programs

NAMES = (
    "bus",
    "startup",
    "echo",
    "stream",
    "history",
    "first_turn",
    "windows",
    "replay",
    "native",
    "many_agents",
    "mirror",
    "hosts",
    "agents",
    "keeper",
    "prompt",
    "terminals",
    "statuses",
    "search",
    "transcripts",
    "shell",
    "shell_log",
    "shell_listener",
    "sandbox",
    "verdicts",
    "language",
    "workflows",
    "calls",
    "interpreters",
    "servers",
    "inspector",
    "iterations",
    "context",
    "resize",
    "door",
    "rewinds",
)


def main() -> None:
    """Run, print, keep."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(NAMES)}; all when none is named")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="file that keeps the figures")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(NAMES):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    for number in (signal.SIGTERM, signal.SIGHUP):  # what a benchmark has started is ended then, too
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    print(f"{len(real_programs.FOUND)} of other people's programs, found before there is a made-up home")
    report = Report()
    for name in chosen.names or NAMES:
        print(f"\n{name}", flush=True)
        with place() as where:
            try:
                importlib.import_module(f"tests.bench.{name}").run(report, where)
            except Late as late:
                report.failures.append(f"{name}: {late}")
                print(f"FAIL {late}")
    report.write(chosen.json)
    over = sum(figure.met is False for figure in report.figures)
    print(f"\n{len(report.figures)} figures, {over} over their limit, {len(report.failures)} failed: {chosen.json}")


if __name__ == "__main__":
    main()

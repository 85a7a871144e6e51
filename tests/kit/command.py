"""Runs the `gsh-tui` command as a process of its own, as a shell would, in the test's made-up home.

Each run has a deadline and its own process group, and is ended with everything that it started.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEADLINE = 60.0
"""Seconds that one run may take; far more than any needs."""
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as one JSON value a line."""
        return [json.loads(line) for line in self.out.split("\n") if line]


def run_gsh(
    *arguments: str,
    stdin: bytes | int = subprocess.DEVNULL,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> CommandResult:
    """Run the command to its end. `stdin`: bytes that are piped in, or a descriptor."""
    with start_gsh(
        *arguments, stdin=subprocess.PIPE if isinstance(stdin, bytes) else stdin, cwd=cwd, env=env
    ) as process:
        out, err = process.communicate(stdin if isinstance(stdin, bytes) else None, timeout=DEADLINE)
        return CommandResult(process.returncode, out.decode(), err.decode())


@contextmanager
def start_gsh(
    *arguments: str,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Generator[subprocess.Popen[bytes]]:
    """The command as a running process; ended at the end of the block, with its group, if it still runs."""
    process = subprocess.Popen(
        command(arguments),
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=environment(env),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait(DEADLINE)


def command(arguments: Sequence[str]) -> list[str]:
    """The words that start it."""
    return [sys.executable, "-m", "gshtui", *arguments]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The test's environment, from which the package is found in any folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **(more or {})}

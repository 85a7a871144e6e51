"""Where measured programs run: a made-up home, no keys, a folder with a little in it, the same for all of a session."""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.kit.home import Home, made_up_home

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Place:
    """A home and a project. `environ` is what every program is started with."""

    home: Home
    project: Path
    environ: dict[str, str]

    def also(self, **more: object) -> dict[str, str]:
        """The environment with a few more variables."""
        return self.environ | {name: str(value) for name, value in more.items()}


@contextlib.contextmanager
def place() -> Iterator[Place]:
    """Made for a session of benchmarks, removed after it."""
    with made_up_home() as home:
        project = home.path / "project"
        project.mkdir()
        (project / "README.md").write_text("# A project\n")
        environ = dict(os.environ) | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        # Whoever runs this may have switched off what every installation has: compiled modules.
        for name in ("TEXTUAL_ANIMATIONS", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
            environ.pop(name, None)
        yield Place(home, project, environ)


def bare(kind: str) -> list[str]:
    """The command of a floor."""
    return [sys.executable, "-m", "tests.bench.bare", kind]


def synthetic() -> list[str]:
    """The command of our window on a made-up hub."""
    return [sys.executable, "-m", "tests.bench.synthetic"]


def ours(*arguments: str) -> list[str]:
    """The command that people run."""
    return [sys.executable, "-m", "gshtui", *arguments]

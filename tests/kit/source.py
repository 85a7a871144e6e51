"""The package's own source as data, for the house tests: files, syntax trees, what a fresh interpreter loads."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "gshtui"


def files(folder: Path = PACKAGE) -> list[Path]:
    """Every Python file below, in a stable order."""
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def name(path: Path) -> str:
    """The file as a person names it."""
    return path.relative_to(ROOT).as_posix()


@functools.cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    """Every module that the file imports, wherever in it."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def loaded_by(code: str) -> set[str]:
    """The names of all modules that a fresh interpreter has loaded after running this code."""
    tell = "import sys; loaded = sorted(sys.modules); import json; sys.__stdout__.write('\\n' + json.dumps(loaded))"
    script = f"{code}\n{tell}"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return set(json.loads(ran.stdout.splitlines()[-1]))


def within(modules: set[str], packages: set[str]) -> list[str]:
    """Those of `packages` of which anything is among `modules`."""
    return sorted(package for package in packages if any(m == package or m.startswith(package + ".") for m in modules))

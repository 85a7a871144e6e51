"""The package's own source as data, for the house tests: files, syntax trees, what a fresh interpreter loads.

`python -m tests.kit.source gshtui/fleet/lifecycle/fleet.py` prints the tests of a module.
"""

import ast
import functools
import gc
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar, cast

Node = TypeVar("Node", bound=ast.AST)

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
    """The syntax tree of a file. It stays: looking for garbage in it would take three times as long as making it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.freeze()
        if collects:
            gc.enable()


@functools.cache
def _by_kind(path: Path) -> dict[type[ast.AST], list[ast.AST]]:
    """All nodes of a file: each of a dozen tests looks at some kinds of them in the whole package."""
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in ast.walk(tree(path)):
        found.setdefault(type(node), []).append(node)
    return found


def nodes(path: Path, kind: type[Node]) -> list[Node]:
    """Every node of a kind that a file's syntax tree has, wherever in it."""
    return cast("list[Node]", _by_kind(path).get(kind, []))


def imported(path: Path) -> Iterator[str]:
    """Every module that the file imports, wherever in it."""
    for node in nodes(path, ast.Import):
        yield from (alias.name for alias in node.names)
    yield from (node.module for node in nodes(path, ast.ImportFrom) if node.module)


def module(path: Path) -> str:
    """The name by which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def does_something(path: Path) -> bool:
    """Whether a module has a function with a body: protocols and plain data have none."""

    def in_body(body: list[ast.stmt]) -> bool:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if any(not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)) for part in node.body):
                    return True
            elif isinstance(node, ast.ClassDef):
                if not any("Protocol" in ast.unparse(base) for base in node.bases) and in_body(node.body):
                    return True
            elif isinstance(node, ast.If | ast.Try) and in_body(node.body):
                return True
        return False

    return in_body(tree(path).body)


_IMPORTS = re.compile(r"\b(?:from|import)\s+((?:gshtui|tests)[\w.]*)(?:\s+import\s+(\([^)]*\)|[\w ,]+))?")
_NAMED = re.compile(r"""(?:"|-m )((?:gshtui|tests)(?:\.\w+)*)(?:"|\s)""")

_ANY_BELOW = re.compile(r'f"(gshtui[\w.]*)\.\{')
"""A module of a package that is chosen while the program runs."""


@functools.cache
def uses(path: Path) -> frozenset[str]:
    """Modules that a file imports or starts, also in the programs that it holds as text, and those that it names."""
    text = path.read_text(encoding="utf-8")
    found = set(_NAMED.findall(text))
    for package in _ANY_BELOW.findall(text):
        found.update(module(below) for below in files(ROOT.joinpath(*package.split("."))))
    for match in _IMPORTS.finditer(text):
        found.add(match[1])
        found.update(f"{match[1]}.{name}" for name in re.findall(r"\w+", match[2] or ""))
    if (
        "gshtui" in found and PACKAGE not in path.parents
    ):  # a test that starts the program; our own starts are elsewhere
        found.add("gshtui.__main__")
    return frozenset(found)


@functools.cache
def _places() -> dict[str, Path]:
    """The files of all modules, by the names under which they are imported."""
    return {module(file): file for folder in ("gshtui", "tests") for file in files(ROOT / folder)}


@functools.cache
def _users() -> dict[str, set[str]]:
    """The modules and tests that use each module."""
    places = _places()
    found: dict[str, set[str]] = {}
    for user, path in places.items():
        for used in uses(path) & places.keys():
            found.setdefault(used, set()).add(user)
    return found


def tests_of(module: str) -> list[str]:
    """The test files that get to a module: those of its name, then those nearest to it that reach least else."""
    places = _places()
    seen, level = set[str](), {module}
    while level and not any(_is_test(user) for user in level):
        seen |= level
        level = {user for used in level for user in _users().get(used, ())} - seen
    _, folder, stem = f"..{module}".rsplit(".", 2)
    named = {f"test_{stem}", f"test_{folder}_{stem}"}
    found = {test for test in places if _is_test(test) and (test in level or test.rpartition(".")[2] in named)}
    order = sorted(found, key=lambda test: (test.rpartition(".")[2] not in named, len(reached(places[test])), test))
    return [name(places[test]) for test in order]


def reached(path: Path) -> set[str]:
    """Every module that a file gets to by imports."""
    places = _places()
    seen, waiting = set[str](), [path]
    while waiting:
        new = (uses(waiting.pop()) & places.keys()) - seen
        seen |= new
        waiting += [places[used] for used in new]
    return seen


def _is_test(module: str) -> bool:
    return module.rpartition(".")[2].startswith("test_")


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


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        print(*tests_of(module(Path(wanted).resolve()))[:5], sep="\n")

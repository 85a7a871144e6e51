"""Where the program touches what Textual keeps to itself: imports, names of its classes, attributes of its objects.

Owns how these are found, in the source and in Textual's classes as they are; which places may do so is a rule of the
house (`tests/test_house.py`).
"""

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from textual.app import App
from textual.driver import Driver
from textual.message_pump import MessagePump
from textual.screen import Screen

import gshtui.ui
from tests.kit import source

_PRIVATE = re.compile(r"_(?!_)")


def private_uses(path: Path) -> Iterator[str]:
    """Each place in a file that touches something private of Textual's."""
    tree = source.tree(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "textual":
            named = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            named = [part for name in names if name.split(".")[0] == "textual" for part in name.split(".")]
        elif isinstance(node, ast.Attribute) and not _own(node.value):
            named = [node.attr] if node.attr in _of_any_widget() else []
        else:
            continue
        yield from (f"{source.name(path)}:{node.lineno}: {name}" for name in named if _PRIVATE.match(name))
    for kind in _classes().get(path, ()):
        for number, name in _used_by(kind):
            yield f"{source.name(path)}:{number}: {kind.__name__}.{name}"


def _own(value: ast.expr) -> bool:
    """`self`, `cls` and `super()`: what a class calls its own, which is looked at with its bases."""
    return (isinstance(value, ast.Name) and value.id in ("self", "cls")) or ast.unparse(value) == "super()"


def _used_by(kind: type[Any]) -> Iterator[tuple[int, str]]:
    """Private names of the Textual classes below this one that it uses or has of its own, and their lines."""
    private = set[str]().union(*(private_names(base) for base in kind.__mro__ if base.__module__.startswith("textual")))
    lines, start = inspect.getsourcelines(kind)
    for node in ast.walk(ast.parse(textwrap.dedent("".join(lines)))):
        name = node.attr if isinstance(node, ast.Attribute) and _own(node.value) else ""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name
        if name in private:
            yield start + getattr(node, "lineno", 1) - 1, name


@cache
def private_names(kind: type[Any]) -> frozenset[str]:
    """The private names that a class of Textual's has or gives its objects."""
    given = re.findall(r"\bself\.(_[a-z]\w*)", inspect.getsource(kind))
    return frozenset(name for name in (*vars(kind), *given) if _PRIVATE.match(name))


@cache
def _of_any_widget() -> frozenset[str]:
    kinds = {base for kind in (App, Screen, Driver) for base in kind.__mro__ if base.__module__.startswith("textual")}
    return frozenset[str]().union(*(private_names(kind) for kind in kinds))


@cache
def _classes() -> dict[Path, list[type[Any]]]:
    """Our classes that are built on one of Textual's, by file."""
    for module in pkgutil.walk_packages(gshtui.ui.__path__, "gshtui.ui."):
        importlib.import_module(module.name)
    found: dict[Path, list[type[Any]]] = {}
    for kind in {one for one in _below(MessagePump) if one.__module__.startswith("gshtui.ui.")}:
        found.setdefault(Path(inspect.getfile(kind)), []).append(kind)
    return found


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)

"""Every regular expression of the package, with the way in which it is used: found by importing and by reading it."""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.kit import source

OPERATIONS = frozenset(("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"))


_IMPORTS = re.compile(r"^\s*(?:import|from)\s[^\n]*\bre\b", re.MULTILINE)
_USES = re.compile(rf"[A-Z0-9_]\s*\.\s*(?:{'|'.join(sorted(OPERATIONS))})\b")
"""What a file has that is worth parsing: most of the package has neither."""


@dataclass(frozen=True)
class Use:
    """An expression and one way in which it is used. `operation`: all over the text counts as `finditer`."""

    where: str
    expression: re.Pattern[Any]
    operation: str

    def run(self, text: Any) -> object:
        if self.operation == "finditer":
            return sum(1 for _ in self.expression.finditer(text))
        return getattr(self.expression, self.operation)(text)


@dataclass(frozen=True)
class Unknown:
    """An expression that is made while the program runs: the file, and the source of the expression."""

    file: str
    expression: str


def find_uses() -> tuple[list[Use], list[Unknown]]:
    """All uses, each once, and all that only the running program knows."""
    uses: dict[tuple[Any, int, str], Use] = {}
    unknown: list[Unknown] = []
    operations = _operations()
    for path in source.files():
        if not _IMPORTS.search(path.read_text("utf-8")) or "re" not in set(source.imported(path)):
            continue
        module = _imported(path)
        for name, pattern, operation in _held(module):
            for each in [operation] if operation else operations.get(name, {"finditer"}):
                use = Use(f"{source.name(path)}: {name}", pattern, each)
                uses.setdefault((pattern.pattern, pattern.flags, each), use)
        for call in _calls(path):
            assert isinstance(call.func, ast.Attribute)
            compiled = _evaluated(call, module)
            if compiled is None:
                unknown.append(Unknown(source.name(path), ast.unparse(call.args[0])))
            elif call.func.attr != "compile":
                use = Use(f"{source.name(path)}:{call.lineno}", compiled, _named(call.func.attr))
                uses.setdefault((compiled.pattern, compiled.flags, use.operation), use)
    return list(uses.values()), unknown


def _named(operation: str) -> str:
    return operation if operation in ("search", "match", "fullmatch") else "finditer"


def _imported(path: Path) -> ModuleType:
    name = path.relative_to(source.ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    return importlib.import_module(name)


def _operations() -> dict[str, set[str]]:
    """By the name of a constant, what is done with it anywhere."""
    done: dict[str, set[str]] = {}
    for path in source.files():
        for node in source.nodes(path, ast.Attribute) if _USES.search(path.read_text("utf-8")) else ():
            if node.attr in OPERATIONS:
                holder = node.value
                name = holder.id if isinstance(holder, ast.Name) else getattr(holder, "attr", "")
                if name.isupper():
                    done.setdefault(name, set()).add(_named(node.attr))
    return done


def _held(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """The expressions that a module holds, whatever in, and the operation where it holds a bound one."""
    for name, value in vars(module).items():
        for each in _within(value):
            if isinstance(each, re.Pattern):
                yield name, each, ""
            elif isinstance(getattr(each, "__self__", None), re.Pattern):
                yield name, each.__self__, _named(each.__name__)


def _within(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _within(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _within(each)
    else:
        yield value


def _calls(path: Path) -> Iterator[ast.Call]:
    """Calls of functions of `re` with a pattern."""
    for node in source.nodes(path, ast.Call):
        if (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in OPERATIONS | {"compile"}
        ):
            yield node


def _evaluated(call: ast.Call, module: ModuleType) -> re.Pattern[Any] | None:
    flags = [word.value for word in call.keywords if word.arg == "flags"]
    assert isinstance(call.func, ast.Attribute)
    place = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}.get(call.func.attr, 9)
    flags += call.args[place : place + 1]
    try:
        pattern, flag = (
            eval(ast.unparse(part), dict(vars(module))) for part in (call.args[0], *(flags or [ast.Constant(0)]))
        )
    except NameError:
        return None
    return re.compile(pattern, flag)

"""Loads an SDK piece by piece: a name that one of its packages only re-exports is imported when somebody asks for it.

Anthropic's SDK re-exports thousands of types for requests that nobody here makes, which is most of the time and memory
that loading it takes. Nothing of an SDK is replaced: a package that does more than import and define is run as it is,
and so is any other as soon as it is asked for a name that it defines itself. A few functions that only failures and
traces need are there at once, and load their module when they are called.
"""

from __future__ import annotations

import ast
import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

_LEFT_OUT = frozenset({"_vendor.httpx_aiohttp"})
"""Modules that the SDKs do without where they are missing: a second HTTP client, which none of ours uses."""
_WHEN_CALLED = {
    "anthropic._error_classes": frozenset({"make_status_error"}),
    "anthropic.lib._tracing._api_call": frozenset({"finish_api_call_span"}),
}
"""Functions that are called after a failure, or by who traces requests; their modules import nine hundred others."""
_running = threading.RLock()
_DEFINES = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef)


def load_by_pieces(package: str) -> None:
    """From now on, load this package and those inside it piece by piece. Does nothing to what is loaded already."""
    if not any(isinstance(finder, _Finder) and finder.package == package for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(package))


def reexports(source: str, *, whatever_else: bool = False) -> dict[str, tuple[str, str]] | None:
    """The module and the name there of each name that a package re-exports; `None` if the package does more.

    Args:
        whatever_else: also if it does more.
    """
    found: dict[str, tuple[str, str]] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.ImportFrom) and statement.level == 1:
            for name in statement.names:
                found[name.asname or name.name] = (statement.module or "", name.name)
        elif not (isinstance(statement, _DEFINES) or _is_text(statement) or whatever_else):
            return None
    found.pop("*", None)
    return found


def _is_text(statement: ast.stmt) -> bool:
    """Whether it is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class _Finder(MetaPathFinder):
    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where the module is, to be loaded by pieces if it is a package of this SDK."""
        root, _, inside = fullname.partition(".")
        if root != self.package:
            return None
        if inside in _LEFT_OUT:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return spec
        if spec.submodule_search_locations:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        elif fullname in _WHEN_CALLED:
            spec.loader = _LateLoader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A package that finds its names when they are asked for."""
        return _Package(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Note what it re-exports; run it if it does more. The SDK itself, the outermost package, is run by nobody."""
        source = self.get_source(module.__name__)
        outermost = "." not in module.__name__
        found = None if source is None else reexports(source, whatever_else=outermost)
        if not found:  # nothing to be had by waiting
            self.run(module)
        else:
            assert module.__spec__ is not None
            module.__spec__.loader_state = found

    def run(self, module: ModuleType) -> None:
        """Run it whole."""
        module.__class__ = ModuleType
        super().exec_module(module)


class _LateLoader(SourceFileLoader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that runs when one of its late functions is called, or anything else of it is asked for."""
        return _LateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Note its late functions; run it if it does not define them all."""
        source = self.get_source(module.__name__) or ""
        names = _WHEN_CALLED[module.__name__]
        if all(f"\ndef {name}(" in source for name in names):
            assert module.__spec__ is not None
            module.__spec__.loader_state = names
        else:
            self.run(module)

    def run(self, module: ModuleType) -> None:
        """Run it, once."""
        with _running:
            if module.__class__ is not ModuleType:
                module.__class__ = ModuleType
                try:
                    super().exec_module(module)
                except BaseException:
                    module.__class__ = _LateModule
                    raise


class _LateModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        spec: ModuleSpec | None = self.__dict__.get("__spec__")
        if spec is None or not spec.loader_state or (name.startswith("__") and name != "__all__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        loader = spec.loader
        assert isinstance(loader, _LateLoader)
        if name in spec.loader_state:
            return _late(name, self, loader)
        loader.run(self)
        return getattr(self, name)


def _late(name: str, module: ModuleType, loader: _LateLoader) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        loader.run(module)
        return getattr(module, name)(*arguments, **options)

    call.__name__ = call.__qualname__ = name
    return call


class _Package(ModuleType):
    def __getattr__(self, name: str) -> Any:
        spec: ModuleSpec | None = self.__dict__.get("__spec__")
        found: dict[str, tuple[str, str]] = (spec.loader_state if spec is not None else None) or {}
        if name in found:
            module, there = found[name]
            if module:
                value = getattr(importlib.import_module(f".{module}", self.__name__), there)
            else:
                value = importlib.import_module(f".{there}", self.__name__)
            setattr(self, name, value)
            return value
        if (
            spec is not None
            and found
            and (name == "__all__" or not name.startswith("_"))
            and not self._has_module(name)
        ):
            assert isinstance(spec.loader, _Loader)
            spec.loader.run(self)
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)

    def _has_module(self, name: str) -> bool:
        return PathFinder.find_spec(f"{self.__name__}.{name}", self.__path__) is not None

"""Gives the variables as texts to keep, each by itself, and sets them again from those in a later interpreter.

cloudpickle does it, loaded from its files, since pickle alone finds no module for the functions and classes of blocks.
A function comes back with the interpreter's variables as its globals, not with a copy of what they were. Runs under
the person's Python (3.9 or later) with nothing but the standard library and that package.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib
import importlib.util
import io
import os
import pickle
import sys
import time
import types
from collections.abc import Callable
from typing import Any

from gshtui.python.worker.namespace import Namespace

LARGEST, LARGEST_OF_ALL = 8 << 20, 16 << 20
"""Bytes of one value, and of all."""
_MOST = 2_000
_WITHIN = 2.0
"""Seconds after which no further value is looked at."""
_CLOUDPICKLE, _OWN = "_gsh_cloudpickle", "_gsh_kept"
"""As what they are loaded, so that a cloudpickle of the person's is another one."""
_FROM_SOCKETS = "socket"


_CACHED: Any = type(functools.lru_cache(len))


class _TooLarge(Exception):
    pass


class _Buffer(io.BytesIO):
    """Takes no more than a value may have."""

    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > LARGEST:
            raise _TooLarge
        return super().write(data)


class KeptValues:
    """Those of one interpreter. `folder`: of the package cloudpickle."""

    def __init__(self, namespace: Namespace, folder: str) -> None:
        self._namespace = namespace
        self._folder = folder
        self._last = b""
        self._pickler: Any = None

    def keep(self, whole: bool) -> dict[str, Any]:
        """All that can be kept, and what cannot be, with the reason. `whole`: also if it is the same as before."""
        until = time.monotonic() + _WITHIN
        pickler = self._loaded()
        imports: dict[str, str] = {}
        values: dict[int, dict[str, Any]] = {}
        unkept: list[dict[str, str]] = []
        size, over = 0, False
        for name, value in self._namespace.all():
            if id(value) in values:
                values[id(value)]["names"].append(name)
                continue
            if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
                imports[name] = value.__name__
                continue
            try:
                if over or time.monotonic() > until:
                    raise TimeoutError
                if len(imports) + len(values) >= _MOST:
                    raise OverflowError
                buffer = _Buffer()
                pickler(buffer, 5).dump(value)
                if size + buffer.tell() > LARGEST_OF_ALL:
                    raise OverflowError
            except BaseException as error:  # of somebody's __reduce__, also the interrupt of one that takes too long
                over = over or isinstance(error, KeyboardInterrupt)
                unkept.append({"name": name, "why": _reason(value, error)})
                continue
            size += buffer.tell()
            values[id(value)] = {"names": [name], "data": base64.b64encode(buffer.getbuffer()).decode()}
        kept = {"python": _python(), "imports": imports, "values": list(values.values())}
        digest = hashlib.sha256(repr(kept).encode("utf-8", "replace")).digest()
        same, self._last = digest == self._last and not whole, digest
        return {"kept": None if same else kept, "unkept": unkept}

    def restore(self, kept: dict[str, Any]) -> dict[str, Any]:
        """Set the variables again; returns which came back, and which did not, with the reason."""
        if kept["python"] != _python():
            return {"fault": f"they are of {kept['python']}, and this is {_python()}"}
        self._loaded()
        restored: list[str] = []
        unkept: list[dict[str, str]] = []
        wanted: list[tuple[list[str], Callable[[], Any]]] = [
            *(([name], functools.partial(importlib.import_module, module)) for name, module in kept["imports"].items()),
            *((one["names"], functools.partial(_value, one["data"])) for one in kept["values"]),
        ]
        own = self._namespace.names
        for names, load in wanted:
            try:
                value = load()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # of somebody's __setstate__, or of a module that is not there
                why = f"{type(error).__name__}: {error}"[:200].rstrip(": ")
                unkept += [{"name": name, "why": why} for name in names]
                continue
            for name in names:
                if not name.startswith("__"):
                    own[name] = value
                    restored.append(name)
        self._namespace.mend()
        return {"names": restored, "unkept": unkept}

    def _loaded(self) -> Any:
        """The class that pickles. Raises whatever comes up if cloudpickle cannot be loaded here."""
        if self._pickler is None:
            before = sys.path
            sys.path = [place for place in before if place]  # the project's modules are none of its
            try:
                self._pickler = _pickler(_package(self._folder), self._namespace.names)
            finally:
                sys.path = before
        return self._pickler


def _value(data: str) -> Any:
    return pickle.loads(base64.b64decode(data))


def _python() -> str:
    return sys.implementation.cache_tag or sys.version


def _package(folder: str) -> Any:
    if _CLOUDPICKLE not in sys.modules:
        file = os.path.join(folder, "__init__.py")
        spec = importlib.util.spec_from_file_location(_CLOUDPICKLE, file, submodule_search_locations=[folder])
        if not folder or spec is None or spec.loader is None:
            raise ImportError("cloudpickle is not installed")
        made = importlib.util.module_from_spec(spec)
        sys.modules[_CLOUDPICKLE] = made
        try:
            spec.loader.exec_module(made)
        except BaseException:
            del sys.modules[_CLOUDPICKLE]
            raise
    return sys.modules[_CLOUDPICKLE]


def _pickler(cloudpickle: Any, names: dict[str, Any]) -> Any:
    """cloudpickle's class, but with the interpreter's variables as the globals of functions, and without open files."""

    def function(code: Any, *more: Any) -> Any:
        return types.FunctionType(code, names, *more)

    def cached(wrapped: Any, how: dict[str, Any]) -> Any:
        return functools.lru_cache(**how)(wrapped)

    own: Any = types.ModuleType(_OWN)
    for one in (function, cached):
        one.__module__, one.__qualname__ = _OWN, one.__name__
        setattr(own, one.__name__, one)
    sys.modules[_OWN] = own

    base: Any = cloudpickle.Pickler

    class Pickler(base):
        def reducer_override(self, obj: Any) -> Any:
            if _is_open_file(obj):
                raise TypeError("an open file")  # cloudpickle would keep what is left to read
            if type(obj) is _CACHED and obj.__module__ == "__main__":
                return (cached, (obj.__wrapped__, obj.cache_parameters()))
            made: Any = base.reducer_override(self, obj)
            if type(obj) is not types.FunctionType or obj.__globals__ is not names or made is NotImplemented:
                return made
            return (function, (made[1][0], *made[1][2:]), (made[2][0], {**made[2][1], "__globals__": {}}), *made[3:])

    return Pickler


def _is_open_file(value: Any) -> bool:
    return isinstance(value, io.IOBase) and not isinstance(value, (io.BytesIO, io.StringIO))


def _reason(value: Any, error: BaseException) -> str:
    """Why a value is not kept, as a clause."""
    kind = type(value).__name__
    if isinstance(error, _TooLarge):
        return f"larger than {LARGEST >> 20} MB"
    if isinstance(error, OverflowError) and not error.args:
        return f"more than {LARGEST_OF_ALL >> 20} MB or {_MOST:,} values in all"
    if isinstance(error, (KeyboardInterrupt, TimeoutError)) and not error.args:
        return "it took too long"
    if _is_open_file(value):
        return "an open file"
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    if isinstance(value, (types.GeneratorType, types.CoroutineType)) or type(value).__module__ == _FROM_SOCKETS:
        return f"{article} {kind}"
    try:
        said = str(error)[:160] or type(error).__name__
    except Exception:  # of a class that cannot be shown
        said = type(error).__name__
    return f"{article} {kind} ({said})"

"""Modules that others import at the start and few processes use: OpenSSL, compressions, what looks for plugins.

OpenSSL is a tenth of a window's memory, and `asyncio` imports it in case somebody speaks TLS. It can be put off until
then, or done without. To be called before what imports them; what is loaded already stays.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module, reload
from types import ModuleType
from typing import Any, cast

_TLS = ("ssl", "asyncio.sslproto")
_CHECKED = ("ssl", "SSLSocket")
_HASHES = "_hashlib"
"""OpenSSL's hashes. Without them `hashlib` has its own, of the same names."""
_COMPRESSIONS = ("bz2", "lzma")
_PLUGINS = "pydantic.plugin._loader"
"""Looks through every installed package for plugins of pydantic, and loads what reads packages' metadata for that."""

_loading = threading.RLock()


class _LateModule(ModuleType):
    """Stands for a module that is loaded by the first use of anything in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):  # asked by the import system, which wants no module for it
            raise AttributeError(name)
        if (self.__name__, name) == _CHECKED and sys.modules.get(self.__name__) is self:
            return _LateSocket(self)
        return getattr(_real(self), name)


class _LateSocket:
    """Stands for the class of TLS sockets: `asyncio` checks each socket that it connects, before there can be one."""

    def __init__(self, late: _LateModule) -> None:
        self._late = late

    def __instancecheck__(self, instance: object) -> bool:
        return sys.modules.get(self._late.__name__) is not self._late and isinstance(instance, self._class())

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (self._class(),)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._class()(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._class(), name)

    def _class(self) -> type:
        return cast("type", getattr(_real(self._late), _CHECKED[1]))


def put_off_tls() -> None:
    """Load OpenSSL when somebody uses it, not when `asyncio` is imported."""
    if any(name in sys.modules for name in (*_TLS, _HASHES)):
        return
    for name in _TLS:
        sys.modules[name] = _LateModule(name)
    do_without(_HASHES)


def do_without(*names: str) -> None:
    """Have these modules missing: who can do without them does."""
    for name in names:
        cast("dict[str, Any]", sys.modules).setdefault(name, None)


def do_without_tls() -> None:
    """Load no OpenSSL at all: for a process that speaks to nobody over a network."""
    do_without("ssl", _HASHES)


def do_without_compressions() -> None:
    """Load no compressions of which this process has no files; `shutil` does without them."""
    do_without(*_COMPRESSIONS)


def look_for_no_plugins() -> None:
    """Have pydantic look for no plugins."""
    made = ModuleType(_PLUGINS)
    made.__dict__["get_plugins"] = tuple
    sys.modules.setdefault(_PLUGINS, made)


def _real(late: _LateModule) -> ModuleType:
    """The module that this one stands for."""
    name = late.__name__
    with _loading:
        if sys.modules.get(name) is late:
            del sys.modules[name]
            try:
                import_module(name)
            except BaseException:
                sys.modules[name] = late
                raise
            _complete_hashes()
        return sys.modules[name]


def _complete_hashes() -> None:
    """Give `hashlib` the hashes that only OpenSSL has."""
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    if _HASHES in modules and modules[_HASHES] is None:
        del modules[_HASHES]
        if (hashes := modules.get("hashlib")) is not None:
            reload(hashes)

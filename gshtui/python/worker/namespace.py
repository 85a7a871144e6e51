"""What a block finds: the helpers, and the modules that it need not import. Each is loaded when a block names it.

Runs under the person's Python with nothing but the standard library.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import os
import sys
import types
from typing import Any

from gshtui.python.worker.block_functions import BlockFunctions
from gshtui.python.worker.channel import Channel

_MODULES = ("os", "sys", "json", "subprocess", "pathlib")
"""Preloaded, as their plain names; and everything of `typing`."""


class Namespace:
    """The names of one interpreter."""

    def __init__(self, given: dict[str, Any]) -> None:
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        self.names = main.__dict__
        self.names["__builtins__"] = builtins
        self.names.update(given)
        self._given = dict(given)

    def own(self) -> dict[str, Any]:
        """What blocks have defined: not the helpers, not modules, nothing whose name begins with `_`."""
        return {
            name: value
            for name, value in list(self.names.items())
            if not name.startswith("_") and not isinstance(value, types.ModuleType) and not self._is_given(name, value)
        }

    def all(self) -> list[tuple[str, Any]]:
        """All that blocks have named, modules, too: not the helpers, and nothing that Python itself sets."""
        return [
            (name, value)
            for name, value in list(self.names.items())
            if name != "_" and not name.startswith("__") and not self._is_given(name, value)
        ]

    def mend(self) -> None:
        """Set again what Python itself needs."""
        self.names["__builtins__"] = builtins

    def _is_given(self, name: str, value: object) -> bool:
        return name in self._given and self._given[name] is value

    def import_for(self, tree: ast.AST) -> None:
        """Load the preloaded modules that this code names and the namespace does not have."""
        wanted = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - self.names.keys()
        wanted -= set(dir(builtins))
        for name in wanted.intersection(_MODULES):
            self.names[name] = importlib.import_module(name)
        if wanted.intersection(_TYPING):
            typing = importlib.import_module("typing")
            for name in wanted.intersection(_TYPING):
                self.names[name] = self._given[name] = getattr(typing, name)


def _typing_names() -> frozenset[str]:
    typing = sys.modules.get("typing")
    return frozenset(getattr(typing, "__all__", ()))


_TYPING = _typing_names()


def make_namespace(channel: Channel, *, network: bool) -> Namespace:
    """The names of a new interpreter. `network`: whether it may reach one."""
    return Namespace(BlockFunctions(channel, os.getpid(), network).names())

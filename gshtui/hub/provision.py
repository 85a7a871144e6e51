"""What the makers of commands are called with: a parameter's annotation names it, the hub knows how it is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")
_LATER, _OR_NONE = "Callable[[], ", " | None"


class Provision:
    """Things by the name of their type, each made once, when it is first needed.

    A parameter `x: X` gets the `X`; `Callable[[], X]` gives it when it is called, and `Callable[[], X | None]` gives
    `None` while there is none. A parameter with a default keeps it where there is no `X`.
    """

    def __init__(self, *things: object) -> None:
        self._makers: dict[str, Callable[..., object]] = {}
        self._later: dict[str, tuple[Callable[[], Callable[..., object]], Callable[[ValueError], None]]] = {}
        self._made: dict[str, Any] = {}
        self.have(*things)

    def have(self, *things: object) -> None:
        """Provide each of these under the name of its class."""
        self._replace(type(thing).__name__ for thing in things)
        self._made.update({type(thing).__name__: thing for thing in things})

    def add(self, *makers: Callable[..., object]) -> None:
        """Provide what each of these returns, which its annotation names. Their parameters are provided, too."""
        fresh = {maker.__annotations__["return"]: maker for maker in makers}
        self._replace(fresh)
        self._makers.update(fresh)

    def add_later(
        self,
        kind: str,
        load: Callable[[], Callable[..., object]],
        replaced: Callable[[ValueError], None] = lambda error: None,
    ) -> None:
        """Provide this kind by the maker that is loaded when one is needed, until a part provides it: then `replaced`
        is called. Raises `ValueError`: there is one.
        """
        if self._has(kind):
            raise _already(kind)
        self._later[kind] = load, replaced

    def _replace(self, kinds: Iterable[str]) -> None:
        for kind in self._later.keys() & set(kinds):
            _, replaced = self._later.pop(kind)
            self._made.pop(kind, None)
            replaced(_already(kind))

    def add_from(self, module: ModuleType) -> None:
        """Provide what each function of this module returns."""
        functions = (one for one in vars(module).values() if inspect.isfunction(one))
        self.add(*(one for one in functions if one.__module__ == module.__name__))

    def get(self, maker: Callable[..., T]) -> T:
        """What this maker, which was added, has made or makes now."""
        return self._of(maker.__annotations__["return"])

    async def close(self, kind: str) -> None:
        """Close what was made of this kind."""
        if kind in self._made:
            await self._made[kind].close()

    def call(self, maker: Callable[..., T]) -> T:
        """Call it with what its parameters name. Raises `LookupError`: there is no such thing here."""
        given: dict[str, object] = {}
        for name, parameter in inspect.signature(maker).parameters.items():
            kind = parameter.annotation
            kind = (kind if isinstance(kind, str) else str(getattr(kind, "__name__", ""))).removesuffix(_OR_NONE)
            later = kind.startswith(_LATER)
            kind = kind[len(_LATER) : -1] if later else kind
            if kind.endswith(_OR_NONE):
                given[name] = self._finder(kind.removesuffix(_OR_NONE))
            elif self._has(kind) or parameter.default is parameter.empty:
                given[name] = (lambda kind=kind: self._of(kind)) if later else self._of(kind)
        return maker(**given)

    def _finder(self, kind: str) -> Callable[[], Any]:
        return lambda: self._of(kind) if self._has(kind) else None

    def _has(self, kind: str) -> bool:
        return kind in self._made or kind in self._makers or kind in self._later

    def _of(self, kind: str) -> Any:
        if kind not in self._made:
            if not self._has(kind):
                raise LookupError(f"nothing here is a {kind}")
            maker = self._later[kind][0]() if kind in self._later else self._makers[kind]
            self._made[kind] = self.call(maker)
        return self._made[kind]


def _already(kind: str) -> ValueError:
    return ValueError(f"there is a {kind} already")

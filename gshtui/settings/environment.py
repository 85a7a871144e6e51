"""The environment layer: `GSH_<TABLE>__<KEY>` variables, checked one by one before pydantic-settings reads them.

A variable without `__` is not a setting (the shell's side has its own) and is left alone. Lists are JSON.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_settings import EnvSettingsSource

from gshtui.settings.check import check
from gshtui.settings.keys import FREE_TABLES, TABLES, from_text, nested
from gshtui.settings.model import Settings
from gshtui.settings.problem import Origin, Problem

PREFIX = "GSH_"


def variable(path: tuple[str, ...]) -> str:
    """The variable that sets this key."""
    return PREFIX + "__".join(path).upper()


class CheckedEnvironment(EnvSettingsSource):
    """pydantic-settings' environment source, given only what is right."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.problems: list[Problem] = []
        self.origins: dict[tuple[str, ...], Origin] = {}
        super().__init__(Settings)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        named = {
            tuple(name.removeprefix(PREFIX).lower().split("__")): name
            for name in self.environ
            if name.startswith(PREFIX) and "__" in name
        }
        good: dict[str, str | None] = {}
        for path, name in named.items():
            if self._takes(path, name):
                self.origins[path] = Origin("environment", name)
                good[name.lower()] = self.environ[name]
        return good

    def _takes(self, path: tuple[str, ...], name: str) -> bool:
        """Whether the variable is a setting with a good value; says what is wrong when it is not."""
        origin = Origin("environment", name)
        depth = 3 if path[0] == "providers" else 2
        if len(path) != depth and (path[0] in TABLES or path[0] in FREE_TABLES):
            form = "GSH_PROVIDERS__NAME__KEY" if depth == 3 else "GSH_TABLE__KEY"
            self.problems.append(Problem("this names no setting.", f"Write it as {form}.", origin, ".".join(path)))
            return False
        try:
            value = from_text(path, self.environ[name])
        except ValueError as error:
            self.problems.append(Problem(str(error), "It is not used.", origin, ".".join(path)))
            return False
        checked = check(nested(path, value), lambda *_: origin, strict=False)
        self.problems += checked.problems
        return not checked.problems

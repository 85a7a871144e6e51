"""Style sheets are read once a process: each of hundreds of windows would read the same ones for the same theme."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_read = Stylesheet._parse_rules


@lru_cache(maxsize=512)
def _rules(variables: frozenset[tuple[str, str]], css: str, options: frozenset[tuple[str, Any]]) -> list[RuleSet]:
    return _read(Stylesheet(variables=dict(variables)), css, **dict(options))


def _shared_rules(self: Stylesheet, css: str, **options: Any) -> list[RuleSet]:
    known = (css, *(options[name] for name in ("read_from", "is_default_rules", "tie_breaker", "scope")))
    if known not in self._parse_cache:
        self._parse_cache[known] = _rules(frozenset(self._variables.items()), css, frozenset(options.items()))
    return self._parse_cache[known]


Stylesheet._parse_rules = _shared_rules  # pyright: ignore[reportAttributeAccessIssue]

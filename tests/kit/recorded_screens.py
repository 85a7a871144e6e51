"""The recorded screens of real programs, and one test for all of a program's: one for each costs more than it does."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SCREENS = Path(__file__).parents[1] / "fixtures" / "screens"


@dataclass(frozen=True)
class Shot:
    """One screen. `told`: its title, its cursor and what the program did then."""

    program: str
    file: Path
    told: dict[str, Any]
    width: int = 0
    height: int = 0

    @property
    def lines(self) -> list[str]:
        return self.file.read_text("utf-8").split("\n")

    @property
    def cursor(self) -> tuple[int, int]:
        column, row = self.told["cursor"]
        return column, row


@cache
def shots() -> tuple[Shot, ...]:
    """Every recorded screen."""
    found: list[Shot] = []
    for recording in sorted(SCREENS.rglob("screens.json")):
        data = json.loads(recording.read_text("utf-8"))
        for told in data["shots"]:
            size = data.get("width", 0), data.get("height", 0)
            found.append(Shot(data["program"], recording.parent / told["file"], told, *size))
    return tuple(found)


def for_each(taken: Sequence[Shot]) -> Callable[[Callable[[Shot], None]], Callable[[str], None]]:
    """Make a test for each program of what holds for one screen. It names all screens for which it does not hold."""

    def made(holds: Callable[[Shot], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("program", sorted({shot.program for shot in taken}))
        def test(program: str) -> None:
            failed: list[Exception] = []
            for shot in taken:
                if shot.program == program:
                    try:
                        holds(shot)
                    except Exception as error:
                        error.add_note(f"{shot.file.relative_to(SCREENS)}: {shot.told}")
                        failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} screens", failed)

        test.__name__, test.__doc__ = holds.__name__, holds.__doc__
        return test

    return made

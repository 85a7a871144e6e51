"""What was found when an installed program was checked: a verdict for each step, kept by the program's version."""

from __future__ import annotations

import contextlib
import time
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.system.struct_types import learned

STEPS = ("rest", "work", "question", "denial", "plan", "dialog", "text", "interrupt", "clear", "resume")
Verdict = Literal["W", "P", "N", "-"]
"""Works, works in part, does not; or the program has no such thing."""
_KEPT = 12
"""Versions of a program that are kept."""


class CheckedStep(msgspec.Struct, frozen=True):
    """How one step went."""

    step: str
    verdict: Verdict
    reason: str = ""
    """One sentence; empty where all went well."""


class CheckResult(msgspec.Struct, frozen=True):
    """How all steps went with one version."""

    steps: tuple[CheckedStep, ...]
    at: float = 0.0

    @property
    def points(self) -> int:
        """More is better."""
        return sum({"W": 2, "P": 1}.get(each.verdict, 0) for each in self.steps)

    @property
    def sums(self) -> str:
        """Such as `8 W, 1 P, 1 N`."""
        verdicts = [each.verdict for each in self.steps]
        return ", ".join(f"{verdicts.count(mark)} {mark}" for mark in ("W", "P", "N") if mark in verdicts)

    @property
    def is_good(self) -> bool:
        """Nothing fails."""
        return bool(self.steps) and all(each.verdict != "N" for each in self.steps)


_Kept = dict[str, dict[str, CheckResult]]


def results_file() -> Path:
    return paths.data_dir(create=False) / "program-checks.json"


def seen_here(name: str, version: str) -> CheckResult | None:
    """What was found here with this version of a program; `None`: it was not checked. Blocks for a moment."""
    return _load().get(name, {}).get(version)


def all_seen_here(name: str) -> dict[str, CheckResult]:
    """Version → what was found here with it. Blocks for a moment."""
    return dict(_load().get(name, {}))


def keep_result(name: str, version: str, result: CheckResult) -> None:
    """Keep a result as that of this version. Blocks for a moment. Raises `OSError`."""
    kept = dict(_load())
    versions = {number: each for number, each in kept.get(name, {}).items() if number != version}
    versions[version] = msgspec.structs.replace(result, at=time.time())
    kept[name] = dict(list(versions.items())[-_KEPT:])
    private_files.make_folder(results_file().parent)
    private_files.write_whole(results_file(), msgspec.json.encode(kept))


def _load() -> _Kept:
    file = results_file()
    try:
        state = file.stat()
    except OSError:
        return {}
    return _read(file, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(file: Path, _changed: int, _size: int) -> _Kept:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(file.read_bytes(), type=learned(_Kept))
    return {}

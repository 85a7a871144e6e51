"""Figures of the benchmarks: medians, ratios to a floor of the same session, the table and the file that keep them."""

import json
import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Figure:
    """One line of the table. `limit` is of `value`, or of `value / floor` where there is a floor."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    limit: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The value in floors."""
        return self.value / self.floor if self.floor else None

    @property
    def met(self) -> bool | None:
        """Whether it is within its limit; `None`: there is none."""
        if self.limit is None:
            return None
        compared = self.value if self.floor is None else (self.ratio or 0.0)
        return compared >= self.limit if self.at_least else compared <= self.limit


@dataclass(slots=True)
class Report:
    """What a run of benchmarks found."""

    figures: list[Figure] = field(default_factory=list[Figure])
    failures: list[str] = field(default_factory=list[str])

    def add(self, name: str, value: float, unit: str, **more: float | str | bool | None) -> None:
        """Keep a figure and print it."""
        figure = Figure(name, value, unit, **more)  # type: ignore[arg-type]
        self.figures.append(figure)
        print(line(figure), flush=True)

    def write(self, path: Path) -> None:
        """Keep everything as JSON, with what is needed to compare two files."""
        about = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "load": os.getloadavg()[0],
        }
        figures = [{**asdict(figure), "ratio": figure.ratio, "met": figure.met} for figure in self.figures]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**about, "figures": figures, "failures": self.failures}, indent=1) + "\n")


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    """The one that 95 of a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def line(figure: Figure) -> str:
    """A figure as a row of the table."""
    sign = {True: "ok  ", False: "OVER", None: "    "}[figure.met]
    floor = "" if figure.floor is None else f"floor {figure.floor:g} → {figure.ratio:.2f}x"
    limit = ""
    if figure.limit is not None:
        unit = figure.unit if figure.floor is None else "x"
        limit = f"{'≥' if figure.at_least else '≤'} {figure.limit:g}{'' if unit == 'x' else ' '}{unit}"
    value = f"{figure.value:,.0f}" if figure.value >= 1000 else f"{figure.value:.3g}"
    return f"{sign} {figure.name:<58} {value:>10} {figure.unit:<10} {floor:<26} {limit:<12} {figure.note}".rstrip()

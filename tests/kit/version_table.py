"""The tests of `tests/programs` with the pinned and with today's versions of each program, as one table.

`python -m tests.kit.version_table [pytest arguments]` runs them with both folders of `.ci/programs` and prints a row
for each test, a column for each program and version: P passed, F failed, – not run. It fails where the pinned versions
do, and where there is no column of today's, which may be the pinned ones: a red one is news, a missing one is none.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from gshtui.text.version_order import order
from tests.kit.real_programs import FOLDER, PROGRAMS
from tests.kit.source import ROOT

NEWEST = FOLDER.with_name(f"{FOLDER.name}-newest")
Column = tuple[str, str]
"""(program, version)"""
Cells = dict[tuple[str, Column], str]
"""(test, column) → P, F or –."""


def cells(report: Path) -> Cells:
    """What a report of pytest in the form of JUnit says of each program; a test fails if one of its cases does."""
    found: Cells = {}
    for case in ElementTree.parse(report).iter("testcase"):
        about = {each.get("name"): each.get("value", "") for each in case.iter("property")}
        if not about.get("program"):
            continue
        module = case.get("classname", "").rpartition(".")[2].removeprefix("test_")
        name = case.get("name", "").partition("[")[0].removeprefix("test_")
        place = f"{module}: {name.replace('_', ' ')}", (about["program"], about["version"])
        failed = case.find("failure") is not None or case.find("error") is not None
        left_out = case.find("skipped") is not None
        result = "F" if failed else "–" if left_out else "P"
        before = found.get(place, result)
        found[place] = "F" if "F" in (before, result) else "P" if "P" in (before, result) else "–"
    return found


def table(found: Mapping[tuple[str, Column], str]) -> str:
    """The table, in Markdown, with a last row of sums."""
    columns = sorted({column for _, column in found}, key=lambda one: (one[0], order(one[1]) or ((), 0, ())))
    names = sorted({name for name, _ in found})
    rows = [["test", *(" ".join(column) for column in columns)]]
    rows += [[name, *(found.get((name, column), "–") for column in columns)] for name in names]
    results = [[found.get((name, column), "–") for name in names] for column in columns]
    rows.append(["passed, failed", *(f"{each.count('P')} P {each.count('F')} F" for each in results)])
    widths = [max(len(row[at]) for row in rows) for at in range(len(columns) + 1)]
    lines = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows]
    return "\n".join([lines[0], f"| {' | '.join('-' * width for width in widths)} |", *lines[1:]])


def _run(folder: Path, arguments: Sequence[str]) -> tuple[Cells, bool]:
    """The cells of one folder's programs, and whether pytest was content. Its own words pass through."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.xml"
        words = [sys.executable, "-m", "pytest", "-n", "3", "--dist", "worksteal", f"--junitxml={report}", *arguments]
        ran = subprocess.run(
            [*words, "tests/programs"], cwd=ROOT, env={**os.environ, "GSH_PROGRAMS": str(folder)}, check=False
        )
        return (cells(report) if report.exists() else {}), ran.returncode == 0


def todays(folder: Path = NEWEST) -> set[Column]:
    """Today's version of each program, as `.ci/programs --newest` has learned it."""
    known = folder / "newest"
    return {(name, (known / name).read_text("utf-8").strip()) for name in PROGRAMS if (known / name).exists()}


def main(arguments: Sequence[str]) -> int:
    """Run both and print the table; the exit code."""
    pinned, content = _run(FOLDER, arguments)
    newest, _ = _run(NEWEST, arguments)
    every = {**pinned, **newest}
    text = table(every)
    print(f"\n{text}\n")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    wanted, there = todays(), {column for _, column in every}
    for name, version in sorted(wanted - there):
        print(f"{name} {version}, which is today's, was not run.", file=sys.stderr)
    if not wanted & there:
        print("No program of today was run: .ci/programs --newest installs them.", file=sys.stderr)
    red = sorted({" ".join(column) for (_, column), result in newest.items() if result == "F"})
    if red:
        print(f"Not everything passes with {', '.join(red)}; the pinned versions stay.", file=sys.stderr)
    return 0 if content and wanted & there else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

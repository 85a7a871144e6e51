"""One finding of the doctor, and how all of them are told to people and scripts.

Pure. `needed` means: without it a part of the workbench has no fallback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["ok", "missing", "problem", "note"]
"""note: worth knowing, nothing to mend."""

_MARKS = {"ok": "ok", "missing": "missing", "problem": "problem", "note": "note"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, and what came of it. `fix` is a command or a sentence."""

    group: str
    name: str
    status: Status
    detail: str = ""
    fix: str = ""
    needed: bool = False
    package: str = ""
    """Name of the package that brings it, as this system calls it."""

    @property
    def stops(self) -> bool:
        """Whether the doctor's exit code is 1 because of it."""
        return self.needed and self.status in ("missing", "problem")


def as_data(findings: Sequence[Finding], install: str) -> dict[str, Any]:
    """All findings as plain data; `install` is the one command that installs every missing package."""
    return {
        "ok": not any(finding.stops for finding in findings),
        "install": install,
        "findings": [asdict(finding) for finding in findings],
    }


def as_text(findings: Sequence[Finding], install: str) -> str:
    """All findings as lines for people, by group."""
    lines: list[str] = []
    group = ""
    for finding in findings:
        if finding.group != group:
            group = finding.group
            lines += ["", group] if lines else [group]
        mark = _MARKS[finding.status]
        if finding.status in ("missing", "problem") and not finding.needed:
            mark += " (optional)"
        lines.append(f"  {finding.name:14} {mark:18} {finding.detail}".rstrip())
        if finding.fix:
            lines.append(f"  {'':14} {'':18} → {finding.fix}")
    if install:
        lines += ["", f"Everything that is missing: {install}"]
    stops = [finding.name for finding in findings if finding.stops]
    lines += ["", f"Needed and not right: {', '.join(stops)}." if stops else "Nothing that is needed is missing."]
    return "\n".join(lines)

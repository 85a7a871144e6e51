"""Takes secrets out of a report of a fault before it is written. Loads the patterns only then."""

from __future__ import annotations

import os


def redact_report(text: str) -> str:
    """The text without secrets, and without the values of this process's secret variables. Never raises."""
    from gshtui.guard.secrets.redaction import Redactor

    return Redactor(os.environ).redact(text)

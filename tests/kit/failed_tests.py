"""The names of the tests that failed, a line each, in the file that `GSH_TEST_FAILED` names: `.ci/run` reads it."""

import os
from pathlib import Path

import pytest


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and (file := os.environ.get("GSH_TEST_FAILED")):
        Path(file).write_text("", encoding="utf-8")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Called in the process that collects the reports, whichever worker ran the test."""
    file = os.environ.get("GSH_TEST_FAILED")
    if not report.failed or not file or "PYTEST_XDIST_WORKER" in os.environ:
        return
    path = Path(file)
    names = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if report.nodeid not in names:
        path.write_text("".join(f"{name}\n" for name in (*names, report.nodeid)), encoding="utf-8")

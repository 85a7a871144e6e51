"""One test never ends the run: neither a hang, nor a dead worker, nor an exception where no test is."""

import os
import subprocess
import sys
from pathlib import Path

from tests.kit import source
from tests.kit.storms import FULL

SUITE = """
import os, signal
import pytest

@pytest.mark.parametrize("number", range(30))
def test_good(number):
    pass

def test_ends_its_process(): os._exit(3)
def test_is_killed(): os.kill(os.getpid(), signal.SIGKILL)
def test_interrupts(): os.kill(os.getpid(), signal.SIGINT); signal.pause()
def test_leaves(): pytest.exit("enough")
def test_hangs(): signal.pause()
def test_hangs_without_signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    signal.pause()
def test_catches_everything():
    while True:
        try:
            signal.pause()
        except BaseException:
            pass
def test_breaks_the_runner(request):
    request.session.config.pluginmanager.register(Broken())

class Broken:
    def pytest_runtest_logreport(self, report):
        raise RuntimeError("in the runner")
"""
FAULTS = [line.split("(")[0][4:] for line in SUITE.splitlines() if line.startswith("def ")]
BAD = set(FAULTS[1:] if FULL else FAULTS[2::2])
"""A worker is started anew for each: every second one, or all in a full run."""


def test_each_fault_costs_its_own_test(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    names = tmp_path / "failed"
    asked = [
        *("-n", "2", "--dist", "worksteal", "-p", "tests.kit.worker_faults", "-p", "tests.kit.failed_tests"),
        *("-p", "xdist", "-p", "pytest_timeout"),  # no other plug-in: a worker is started for each fault
        "-c",
        str(source.ROOT / "pyproject.toml"),
    ]
    limits = ["-o", "addopts=", "-o", "timeout=5", "-o", "faulthandler_timeout=8", f"--rootdir={tmp_path}"]
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-rA",
            *asked,
            *limits,
            *(f"test_suite.py::{test}" for test in ("test_good", *BAD)),
        ],
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        | {"PYTHONPATH": str(source.ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "GSH_TEST_FAILED": str(names)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=140,
        check=False,
    )
    results = [
        line.split()[:2] for line in ran.stdout.splitlines() if line.startswith(("PASSED ", "FAILED ", "ERROR "))
    ]
    good = {test for result, test in results if result == "PASSED"}
    failed = {test.partition("::")[2] for result, test in results if result != "PASSED"}
    assert len([test for test in good if "test_good" in test]) == 30, ran.stdout[-4_000:]
    assert failed == BAD, ran.stdout[-4_000:]
    assert "INTERNALERROR" not in ran.stdout and "Interrupted" not in ran.stdout
    assert sorted(names.read_text().splitlines()) == sorted(f"test_suite.py::{test}" for test in BAD)

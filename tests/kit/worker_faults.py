"""A fault that a test cannot catch costs that test, and not the run: its worker ends, and another takes its place.

A worker that reports an interrupt or a fault of its own would end the whole run. A test that hangs where no signal
handler runs is ended by `faulthandler_exit_on_timeout` (`pyproject.toml`), some time after pytest-timeout gave up.
"""

import os
import sys
import traceback

import pytest

STATUS = 70
"""The exit status of a worker that gave up."""


def _give_up(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    traceback.print_exception(excinfo.value, file=sys.__stderr__)
    if sys.__stderr__ is not None:
        sys.__stderr__.flush()
    os._exit(STATUS)


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    _give_up(excinfo)


@pytest.hookimpl(tryfirst=True)
def pytest_internalerror(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    _give_up(excinfo)

"""How much work a call is: lines of Python run and functions of C called, which no busy machine changes."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(run: Callable[[], object]) -> int:
    """Lines that the call runs in this thread, and C functions that it calls.

    The work inside a C function does not count. Regular expressions have their own test of linear time.
    """
    count = 0

    def on_line(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal count
        count += 1
        return on_line

    def on_call(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(on_line)
    sys.setprofile(on_call)
    try:
        run()
    finally:
        sys.setprofile(before[1])
        sys.settrace(before[0])
    return count

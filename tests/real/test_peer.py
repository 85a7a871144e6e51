"""Who is at the other end of a socket: a process that a sandbox without namespaces restricts is not like ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gshtui.system.network.peer import Peer, sees_the_same

LINUX = sys.platform.startswith("linux")
RESTRICTED = LINUX and "NoNewPrivs:\t1" in Path("/proc/self/status").read_text()
"""Whether these tests are themselves."""
RESTRICT = "import ctypes; assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0" if LINUX else ""
"""As Landlock's users do it first: `PR_SET_NO_NEW_PRIVS`."""


@pytest.mark.parametrize(("code", "same"), [("", True), (RESTRICT, not LINUX or RESTRICTED)])
def test_a_process_that_may_do_less_is_not_served_as_one_of_ours(code: str, same: bool) -> None:
    words = [sys.executable, "-c", f"{code}\nprint(flush=True)\ninput()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"\n"
        assert sees_the_same(Peer(os.getuid(), process.pid)) == same
        process.stdin.write(b"\n")

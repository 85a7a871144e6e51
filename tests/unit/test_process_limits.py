"""Limits on resources that a process gives to those it starts: which it can give, and by which words."""

import asyncio
import ctypes
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError
from gshtui.system.caller_environment import Inherited, working_for
from gshtui.system.expected_error import ProgramMissing
from gshtui.system.processes import process_limits
from gshtui.system.processes.processes import start_child
from gshtui.tools.files import file_access


def with_files(soft: int, hard: int) -> list[tuple[int, int]]:
    """This process's limits, but for the number of open files."""
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    at = process_limits.limits().index(own)
    return [(soft, hard) if place == at else each for place, each in enumerate(process_limits.limits())]


def test_what_is_not_above_its_own_can_be_given() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert not process_limits.unable_to_give(process_limits.limits())
    assert not process_limits.unable_to_give(with_files(64, most))
    assert not process_limits.unable_to_give(with_files(64, most + 1))
    assert process_limits.unable_to_give([(1, 1)])


RAISES = """
import asyncio, ctypes, os, resource, subprocess, sys
from gshtui.commands.declaration import CommandError
from gshtui.system.caller_environment import working_for
from gshtui.system.processes import process_limits
from gshtui.system.processes.processes import start_child

def theirs(soft):
    return [(soft, 2048) if each == (512, 1024) else each for each in process_limits.limits()]

async def main():
    with working_for(os.environ, inherited=process_limits.inherited(0o022, theirs(256), 0o022)):
        await (await start_child("sh", "-c", "ulimit -Sn; ulimit -Hn")).wait()

resource.setrlimit(resource.RLIMIT_NOFILE, (512, 1024))
raised = subprocess.run(["sh", "-c", "ulimit -Hn 2048"], stderr=subprocess.DEVNULL).returncode == 0
print(raised, process_limits.unable_to_give(theirs(256)), process_limits.unable_to_give(theirs(1536)), flush=True)
asyncio.run(main())
"""


def without_the_capability() -> None:
    """Have the program that this process will be unable to raise limits, whoever runs it."""
    ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_RESOURCE; refused to who has none anyway


def in_a_namespace() -> None:
    """Be root with every capability, but of a namespace of users alone, where that is allowed."""
    user = os.getuid()
    if ctypes.CDLL(None).unshare(0x10000000) == 0:  # CLONE_NEWUSER
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")


@pytest.mark.parametrize("prepare", [None, without_the_capability, in_a_namespace])
def test_hard_limits_are_raised_by_who_may(prepare: Callable[[], None] | None) -> None:
    """Root in a container may not, as a rule."""
    words = [sys.executable, "-c", RAISES]
    done = subprocess.run(words, preexec_fn=prepare, capture_output=True, text=True, check=True)
    can, *rest = done.stdout.split()
    assert rest == (["False", "False", "256", "2048"] if can == "True" else ["False", "True", "256", "1024"])
    assert done.stderr == "" and not (prepare and can == "True")


def test_what_is_made_keeps_the_group_of_its_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o2775)
    with working_for(os.environ, inherited=Inherited(0o002)):
        file_access.replace(tmp_path / "one" / "file", b"x")
        process_limits.make_folders(tmp_path / "two" / "below")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"one": 0o2775, "file": 0o664, "two": 0o2775, "below": 0o2775}


def test_a_file_of_another_name_made_meanwhile_keeps_its_rights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch(0o600)
    (tmp_path / "other").hardlink_to(file)
    monkeypatch.setattr("gshtui.tools.files.file_access._state_before", lambda *_: None)
    with pytest.raises(CommandError), working_for(os.environ, inherited=Inherited(0o002)):
        file_access.append_lines(file, b"x")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def printed(*argv: str, limits: list[tuple[int, int]], umask: int = 0o022) -> str:
    with working_for(os.environ, inherited=process_limits.inherited(umask, limits, 0o022)):
        child = await start_child(*argv, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    text = (await child.stdout.read()).decode()
    await child.wait()
    return text


async def test_a_child_has_the_limits_of_whoever_it_is_for_and_no_other_child_has() -> None:
    ask = ("sh", "-c", "ulimit -Sn; ulimit -Hn; umask")
    first, second, own = await asyncio.gather(
        printed(*ask, limits=with_files(64, 128), umask=0o027),
        printed(*ask, limits=with_files(100, 100)),
        printed(*ask, limits=process_limits.limits()),
    )
    assert first.split() == ["64", "128", "0027"] and second.split()[:2] == ["100", "100"]
    assert own.split()[:2] == [str(each) for each in resource.getrlimit(resource.RLIMIT_NOFILE)]


@pytest.mark.parametrize("program", ["nothing-of-this-name", "/nowhere/at-all", "./nor-here"])
async def test_a_program_that_is_missing_is_told_the_same_under_other_limits(program: str) -> None:
    with pytest.raises(ProgramMissing), working_for(os.environ, inherited=Inherited(limits=tuple(with_files(64, 64)))):
        await start_child(program)

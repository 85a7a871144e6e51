"""Limits on resources that a process gives to those it starts: which it can give, and by which words."""

import asyncio
import os
import resource

import pytest

from gshtui.system.caller_environment import Inherited, working_for
from gshtui.system.expected_error import ProgramMissing
from gshtui.system.processes import process_limits
from gshtui.system.processes.processes import start_child


def with_files(soft: int, hard: int) -> list[tuple[int, int]]:
    """This process's limits, but for the number of open files."""
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    at = process_limits.limits().index(own)
    return [(soft, hard) if place == at else each for place, each in enumerate(process_limits.limits())]


def test_only_what_is_above_its_own_cannot_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not process_limits.unable_to_give(process_limits.limits())
    assert not process_limits.unable_to_give(with_files(64, most))
    assert not process_limits.unable_to_give(with_files(64, most + 1))
    assert process_limits.unable_to_give(with_files(most + 1, most + 1))
    assert process_limits.unable_to_give([(1, 1)])


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

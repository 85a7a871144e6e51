"""Runs the check of an installed program in a throw-away home, and ends everything that it has started.

The program gets nothing of the person's home and no key, and is pointed at a model on this machine; of the person's
profiles gsh-tui gets a copy there, since what is checked is how they read it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import msgspec
import psutil

from gshtui.programs.check.check_results import STEPS, CheckedStep, CheckResult, keep_result
from gshtui.programs.check.check_setup import read_setup
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.profiles.profile_files import own_folder
from gshtui.programs.profiles.program_versions import ProgramVersions, installed
from gshtui.settings import paths
from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.struct_types import learned

_WITHIN = 420.0
"""Seconds that a whole check may take."""
_PLACES, _PREFIX, _HOME = "/tmp", "gsh-check-", "home"
"""Where the folders of checks are made, and what they and their homes are called."""
_PROCESS = "gshtui.headless.program.program_check"
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SHELL", "VOLTA_HOME", "NVM_DIR", "PYENV_ROOT", "ASDF_DATA_DIR")


class CheckError(ExpectedError):
    """The program cannot be checked; one sentence."""


async def check_program(
    profile: Profile, environ: Mapping[str, str], rules: Path | None = None
) -> AsyncGenerator[CheckedStep]:
    """Check the installed program, keep the result, and give each step's as it is known. Raises `CheckError`.

    Args:
        environ: of the person, by which the program is found.
        rules: the folder of profiles to check in place of the person's; the result is not kept.
    """
    setup = read_setup(profile.name)
    if setup is None:
        raise CheckError(f"{profile.title} cannot be checked: gsh-tui does not know how to point it at another model.")
    if setup.login:
        raise CheckError(f"{profile.title} cannot be checked: {setup.login}.")
    found = await asyncio.to_thread(installed, profile, environ)
    if found is None:
        raise CheckError(f"{profile.title} is not installed: {' or '.join(profile.programs)} is not on the PATH.")
    versions = ProgramVersions(paths.cache_dir() / "program-versions.json")
    version = await versions.find(profile, (found,), environ)
    results: list[CheckedStep] = []
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_PLACES, ignore_cleanup_errors=True) as place:
        environment = await asyncio.to_thread(_made, Path(place), environ, rules or own_folder())
        async with contextlib.aclosing(_steps(profile.name, found, version, environment, place)) as running:
            async for result in running:
                results.append(result)
                yield result
    for step in STEPS[len(results) :]:
        reason = "not reached" if results else f"{profile.title} did not start"
        results.append(CheckedStep(step, "N", reason))
        yield results[-1]
    if rules is None:
        with contextlib.suppress(OSError):
            await asyncio.to_thread(keep_result, profile.name, version, CheckResult(tuple(results)))


async def _steps(
    name: str, program: str, version: str, environment: Mapping[str, str], place: str
) -> AsyncGenerator[CheckedStep]:
    log = Path(place) / "errors"
    with log.open("wb") as errors:
        process = await processes.start_child(
            *(sys.executable, "-P", "-m", _PROCESS, name, program, version),
            env=dict(environment),
            cwd=place,
            stdin=asyncio.subprocess.PIPE,  # its end tells the check that this process is gone, killed maybe
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        async with time_limit(_WITHIN):
            while line := await process.stdout.readline():
                yield msgspec.json.decode(line, type=learned(CheckedStep))
    except TimeoutError:
        return
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await processes.kill_child(process)
        await asyncio.to_thread(end_all, environment["HOME"])


def _made(place: Path, environ: Mapping[str, str], rules: Path) -> dict[str, str]:
    """The throw-away home; its environment."""
    home = place / _HOME
    config = home / ".config" / "gsh" / "profiles"
    config.parent.mkdir(parents=True)
    if rules.is_dir():
        shutil.copytree(rules, config)
    (place / "tmux").mkdir(mode=0o700)
    return {
        **{name: environ[name] for name in _KEPT if name in environ},
        "HOME": str(home),
        "TMUX_TMPDIR": str(place / "tmux"),
        "TERM": "xterm-256color",
    }


def made_place(home: Path) -> Path:
    """The folder that was made for the check with this home. Raises `CheckError` where it is no check's."""
    place = home.parent
    if home.name != _HOME or place.parent != Path(_PLACES) or not place.name.startswith(_PREFIX):
        raise CheckError(f"{home} is not a home made for a check; `gsh-tui profiles check` makes one.")
    return place


def end_all(home: str) -> None:
    """End every other process that was started with this home, its tmux server among them. Blocks for a moment."""
    left: list[psutil.Process] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get("HOME") == home:
                process.kill()
                left.append(process)
    psutil.wait_procs(left, timeout=5.0)

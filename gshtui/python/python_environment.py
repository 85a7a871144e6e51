"""The virtual environment of `[python] venv_path`: made and filled when a person asks for it, by uv where it is.

It runs the installer as the person would, with the network and outside any sandbox: so only after they have read what.

Which Python runs the blocks: the one of the settings, their virtual environment, or the one that runs gsh-tui.

Never one that a project brings.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from gshtui.guard.secrets.child_environment import command_environment
from gshtui.python.interpreter import InterpreterError
from gshtui.settings.settings_tables import Python as PythonSettings
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import Sanitiser


class PythonChoice(msgspec.Struct, frozen=True):
    """A Python and where it comes from.

    Args:
        program: its absolute path.
        source: in a few words.
        folders: what of it is to be seen where its home is hidden.
    """

    program: str
    source: str
    folders: tuple[Path, ...] = ()


def choose_python(settings: PythonSettings, environ: Mapping[str, str]) -> PythonChoice:
    """The Python that the settings mean. Blocks for a moment. Raises `InterpreterError`: the one that they name does
    not exist.
    """
    if wanted := settings.interpreter:
        found = shutil.which(os.path.expanduser(wanted), path=environ.get("PATH"))  # noqa: PTH111 - a name or a path
        if found is None or not Path(found).is_absolute():
            raise InterpreterError(
                f"There is no Python at {wanted!r}, which `[python] interpreter` names.", "Correct the setting."
            )
        return PythonChoice(found, "[python] interpreter", _folders(Path(found)))
    own = environment_python(settings.venv_path)
    if own is not None:
        return PythonChoice(str(own), f"the environment {settings.venv_path}", (settings.venv_path,))
    active = environ.get("VIRTUAL_ENV", "")
    if active and Path(active).is_absolute() and Path(active) != Path(sys.prefix):
        found_active = environment_python(Path(active))
        if found_active is not None:
            return PythonChoice(str(found_active), f"the active environment {active}", (Path(active),))
    base = getattr(sys, "_base_executable", "") or sys.executable
    return PythonChoice(str(base), "the Python that runs gsh-tui")


def environment_python(folder: Path) -> Path | None:
    """The Python of a virtual environment; `None`: there is none in this folder."""
    found = folder / "bin" / "python"
    return found if os.access(found, os.X_OK) else None


def _folders(program: Path) -> tuple[Path, ...]:
    """The virtual environment that a program belongs to, if it does."""
    home = program.parent.parent
    return (home,) if (home / "pyvenv.cfg").is_file() else ()


_WITHIN = 1_800.0
"""Seconds for one command: builds of packages take long."""
_REQUIREMENT = re.compile(r"[A-Za-z0-9][^\s;&|<>$`'\"\\-][^\s;&|$`'\"\\]{0,200}|[A-Za-z0-9]{1,2}")
_LAST = 20
"""Lines of a failed command's output that are told."""


class InstallPlan(msgspec.Struct, frozen=True):
    """What will be run, in order.

    Args:
        folder: the environment.
        packages: what is installed into it.
        commands: each with its arguments.
    """

    folder: Path
    packages: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]

    @property
    def lines(self) -> list[str]:
        """The commands as a shell would have them."""
        return [shlex.join(command) for command in self.commands]


def install_plan(settings: PythonSettings, packages: Sequence[str], environ: Mapping[str, str]) -> InstallPlan:
    """How the packages, or those of `pre_install`, get into the environment. Blocks for a moment.
    Raises `InterpreterError`: a word is no package.
    """
    wanted = tuple(packages) or tuple(settings.pre_install)
    for word in wanted:
        if not _REQUIREMENT.fullmatch(word):
            raise InterpreterError(f"{word[:80]!r} is not the name of a package.", "For example: pandas, pandas==2.3.0")
    folder = settings.venv_path
    uv = shutil.which("uv", path=environ.get("PATH"))
    base = str(getattr(sys, "_base_executable", "") or sys.executable)
    inside = str(folder / "bin" / "python")
    commands: list[tuple[str, ...]] = []
    if environment_python(folder) is None:
        commands.append((uv, "venv", "--quiet", str(folder)) if uv else (base, "-I", "-m", "venv", str(folder)))
    if wanted:
        pip = (inside, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--quiet")
        commands.append((uv, "pip", "install", "--quiet", "--python", inside, *wanted) if uv else (*pip, *wanted))
    return InstallPlan(folder, wanted, tuple(commands))


async def install(plan: InstallPlan, environ: Mapping[str, str], tell: Callable[[str], None]) -> None:
    """Run the commands. `tell`: called with each command and its output, sanitised, as they come.
    Raises `InterpreterError`: one of them failed; the text ends with what it said last.
    """
    for command, line in zip(plan.commands, plan.lines, strict=True):
        tell(f"$ {line}\n")
        await _run(command, line, environ, tell)


async def _run(command: tuple[str, ...], line: str, environ: Mapping[str, str], tell: Callable[[str], None]) -> None:
    try:
        process = await processes.start_child(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=command_environment(environ),
            start_new_session=True,
        )
    except OSError as error:
        raise InterpreterError(f"Cannot run {command[0]}: {error.strerror or error}.") from error
    assert process.stdout is not None
    sanitiser, said = Sanitiser(), list[str]()
    try:
        async with time_limit(_WITHIN):
            while data := await process.stdout.read(1 << 16):
                if text := sanitiser.feed(data) + sanitiser.flush():
                    said = [*said, *text.splitlines()][-_LAST:]
                    tell(text)
            code = await process.wait()
    except TimeoutError:
        raise InterpreterError(f"`{line}` took longer than {_WITHIN / 60:g} minutes, and was ended.") from None
    finally:
        await processes.kill_child(process)
    if code:
        told = "\n".join(said) or "it printed nothing"
        raise InterpreterError(f"`{line}` ended with exit code {code}:\n{told}")

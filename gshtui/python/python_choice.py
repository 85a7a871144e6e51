"""Which Python runs the blocks: the one of the settings, their virtual environment, or the one that runs gsh-tui.

Never one that a project brings. Looks at files only.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gshtui.python.interpreter import InterpreterError
from gshtui.settings.settings_tables import Python as PythonSettings


@dataclass(frozen=True, slots=True)
class PythonChoice:
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

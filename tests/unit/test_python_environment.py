"""The environment of agents' Python: what would be run for it, and what is."""

import os
import sys
from pathlib import Path

import pytest

from gshtui.commands.declaration import Access
from gshtui.python.interpreter import InterpreterError
from gshtui.python.python_environment import install, install_plan
from gshtui.settings.settings_tables import Python as PythonSettings
from tests.kit.python_interpreters import PythonHarness

UV = """#!/bin/sh
echo "$@" >> "$0.log"
case "$1" in venv) mkdir -p "$3/bin"; ln -s {python} "$3/bin/python";; esac
echo "installed some"
[ "$5" != "{inside}" ] || [ "$6" != broken ] || {{ echo "no such package"; exit 7; }}
"""


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name, which writes down what it is asked for."""
    program = tmp_path / "bin" / "uv"
    program.parent.mkdir()
    program.write_text(UV.format(python=sys.executable, inside=tmp_path / "venv" / "bin" / "python"), "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


def test_pip_is_used_without_uv(tmp_path: Path) -> None:
    settings = PythonSettings(venv_path=tmp_path / "venv", pre_install=["pandas"])
    plan = install_plan(settings, (), {"PATH": "/nowhere"})
    make, fill = plan.commands
    assert make[1:] == ("-I", "-m", "venv", str(tmp_path / "venv"))
    assert fill[:5] == (str(tmp_path / "venv" / "bin" / "python"), "-I", "-m", "pip", "install")
    assert fill[-1] == "pandas"
    assert install_plan(settings, ["numpy==2.1", "x[y]>=1"], {"PATH": ""}).packages == ("numpy==2.1", "x[y]>=1")


@pytest.mark.parametrize("word", ["-e", "--index-url=http://bad", "a;b", "$(x)", "../other", "git+ssh://'x'", ""])
def test_what_is_no_package_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(InterpreterError, match="is not the name of a package"):
        install_plan(PythonSettings(venv_path=tmp_path), [word], {})


async def test_a_person_is_shown_the_commands_and_they_are_run(tmp_path: Path, uv: Path) -> None:
    settings = PythonSettings(venv_path=tmp_path / "venv", pre_install=["requests", "pandas"])
    python = PythonHarness(tmp_path, tmp_path, settings=settings)
    action = next(one for one in python.command.actions if one.parameters.WORD == "install")
    assert action.asks is not None
    question = await action.asks(python.invocation(person=True), action.parameters())
    assert question is not None
    venv = tmp_path / "venv"
    fill = f"pip install --quiet --python {venv}/bin/python requests pandas"
    assert question.quoted == f"{uv} venv --quiet {venv}\n{uv} {fill}"
    done = await python.do("install")
    assert done.text.startswith(f"Installed into {venv}: requests, pandas.")
    assert Path(f"{uv}.log").read_text("utf-8").splitlines() == [f"venv --quiet {venv}", fill]
    assert "installed some" in "".join(python.live)
    assert python.command.words["install"].access is Access.HUMAN_ONLY
    await python.close()


async def test_a_failure_says_what_the_installer_said(tmp_path: Path, uv: Path) -> None:
    settings = PythonSettings(venv_path=tmp_path / "venv", pre_install=["broken"])
    told: list[str] = []
    with pytest.raises(InterpreterError, match="exit code 7:\ninstalled some\nno such package"):
        await install(install_plan(settings, (), {"PATH": str(uv.parent)}), os.environ, told.append)
    assert told[0] == f"$ {uv} venv --quiet {tmp_path / 'venv'}\n"

"""Shell completion: each shell takes the script, and the program answers what a shell asks."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kit.command import DEADLINE
from tests.kit.warm_program import run_gsh


@pytest.mark.parametrize("shell", ["zsh", "bash", "fish"])
def test_the_script_is_the_shells_own_language(tmp_path: Path, shell: str) -> None:
    ran = run_gsh("completion", shell, cwd=tmp_path)
    assert ran.code == 0
    assert "_GSH_TUI_COMPLETE" in ran.out
    assert run_gsh("completion", shell, "--json", cwd=tmp_path).json == {"shell": shell, "script": ran.out}
    if (program := shutil.which(shell)) is not None:
        file = tmp_path / "script"
        file.write_text(ran.out, encoding="utf-8")
        done = subprocess.run([program, "-n", str(file)], capture_output=True, timeout=DEADLINE, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "begun", "expected"),
    [
        ("gsh-tui sess", "sess", {"session"}),
        ("gsh-tui session ex", "ex", {"export"}),
        ("gsh-tui completion ", "", {"zsh", "bash", "fish"}),
        ("gsh-tui prompt --max-it", "--max-it", {"--max-iterations"}),
        ("gsh-tui login o", "o", {"openai", "openrouter", "ollama", "offline"}),
    ],
)
def test_the_program_answers(tmp_path: Path, words: str, begun: str, expected: set[str]) -> None:
    """As fish asks: the line so far and the word that is begun."""
    ran = run_gsh(cwd=tmp_path, env={"_GSH_TUI_COMPLETE": "fish_complete", "COMP_WORDS": words, "COMP_CWORD": begun})
    assert (ran.code, ran.err) == (0, "")
    assert {line.partition(",")[2].partition("\t")[0] for line in ran.out.rstrip("\n").split("\n")} == expected

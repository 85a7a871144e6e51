"""`gsh-tui uninstall`: shown and asked first; then lines and unit are gone, and what is the person's stays."""

import sys
from pathlib import Path

from tests.kit.home import Home
from tests.kit.warm_program import run_gsh


def test_what_was_set_up_goes_and_what_is_yours_stays(home: Home, tmp_path: Path) -> None:
    bash, fish = home.path / ".bashrc", home.config / "fish" / "config.fish"
    bash.write_text("mine\n")
    for shell in ("bash", "fish"):
        assert run_gsh("shell", "install", shell, "--yes", cwd=tmp_path).code == 0
    assert run_gsh("hub", "install", "--yes", cwd=tmp_path).code == 0
    (unit,) = home.config.rglob("gsh-tui*.service")
    run_gsh("config", "set", "agent.max_steps", "20", cwd=tmp_path)
    asked = run_gsh("uninstall", cwd=tmp_path)
    assert asked.code == 4
    assert all(str(file) in asked.err for file in (bash, fish, unit))
    assert "gsh" in bash.read_text() and unit.exists()
    done = run_gsh("uninstall", "--yes", cwd=tmp_path)
    assert done.code == 0, done.err
    assert bash.read_text() == "mine\n" and "gsh" not in fish.read_text() and not unit.exists()
    assert str(home.config / "gsh") in done.out and (home.config / "gsh" / "config.toml").exists()
    assert run_gsh("uninstall", "--yes", cwd=tmp_path).code == 0, "nothing is there any more"


def test_data_goes_only_with_a_word_and_so_do_the_links(home: Home, tmp_path: Path) -> None:
    run_gsh("config", "set", "agent.max_steps", "20", cwd=tmp_path)
    names = home.path / ".local/bin"
    names.mkdir(parents=True)
    (names / "gsh-tui").symlink_to(Path(sys.prefix) / "bin/gsh-tui")
    (names / "gsh").symlink_to("/opt/another/bin/gsh")
    asked = run_gsh("uninstall", "--data", cwd=tmp_path)
    assert asked.code == 4 and str(home.config / "gsh") in asked.err and str(names / "gsh-tui") in asked.err
    assert (home.config / "gsh" / "config.toml").exists() and (names / "gsh-tui").is_symlink()
    done = run_gsh("uninstall", "--data", "--yes", cwd=tmp_path)
    assert done.code == 0, done.err
    assert not (home.config / "gsh").exists() and not (names / "gsh-tui").is_symlink()
    assert (names / "gsh").is_symlink(), "it leads to another program"

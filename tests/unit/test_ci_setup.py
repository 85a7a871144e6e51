"""What setting up a clone installs: for running it, only programs that it uses, and no service."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kit import source

STUBS = {
    "apt-get": """echo "$@" >>"$INSTALLED"
case "$*" in *openssh-server*)
    cat "${0%/*}/policy-rc.d" >>"$INSTALLED"
    [ -z "$INTERRUPT" ] || kill -TERM $PPID
esac""",
    "id": "echo 1000",
    "sudo": 'shift; exec "$@"',
    "uname": "echo Linux",
}
USED = ("bash", "cat", "chmod", "cksum", "dirname", "env", "ln", "mkdir", "rm", "sh")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with an environment of stubs, on a machine where nothing is installed."""
    folder = tmp_path / "clone"
    (folder / ".venv/bin").mkdir(parents=True)
    for name in ("python", "gsh-tui", "gsh"):
        (folder / ".venv/bin" / name).write_text('#!/bin/sh\necho "$@" >>"$INSTALLED"\n')
    machine = tmp_path / "machine"
    machine.mkdir()
    for name, body in STUBS.items():
        (machine / name).write_text(f"#!/bin/sh\n{body}\n")
    for stub in (*machine.iterdir(), *(folder / ".venv/bin").iterdir()):
        stub.chmod(0o755)
    for name in USED:
        (machine / name).symlink_to(shutil.which(name) or name)
    (folder / ".ci").mkdir()
    for name in (".ci/setup", ".ci/requirements.txt", "pyproject.toml"):
        shutil.copy(source.ROOT / name, folder / name)
    script = folder / ".ci/setup"
    script.write_text(script.read_text().replace("/usr/sbin/", f"{machine}/"))
    return folder


def set_up(clone: Path, *arguments: str, **variables: str) -> str:
    """What it had installed."""
    return ran(clone, *arguments, **variables)[0]


def ran(clone: Path, *arguments: str, **variables: str) -> tuple[str, str]:
    """What it had installed, and what it said."""
    installed = clone.parent / "installed"
    installed.write_text("")
    done = subprocess.run(
        [clone / ".ci/setup", *arguments],
        env={
            "PATH": str(clone.parent / "machine"),
            "HOME": os.environ["HOME"],
            "INSTALLED": str(installed),
            "GSH_PYTHON": str(clone / ".venv/bin/python"),
            **variables,
        },
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return installed.read_text(), done.stderr


def test_running_takes_what_the_program_uses_and_no_server(clone: Path) -> None:
    installed = set_up(clone)
    packages = {word for line in installed.splitlines() if " install " in line for word in line.split()}
    assert {"tmux", "zsh", "ripgrep", "git", "bubblewrap"} <= packages
    assert not packages & {"openssh-server", "openssh-client", "vim-tiny", "less", "fzf", "-r"}


def test_what_is_set_up_for_tests_is_set_up_for_running(clone: Path) -> None:
    set_up(clone)
    assert set_up(clone) == ""
    (clone / ".venv/.gsh-setup").write_text((clone / ".venv/.gsh-setup").read_text().replace(" run", " tests"))
    assert set_up(clone) == set_up(clone, "--tests") == ""


@pytest.mark.parametrize("interrupt", ["", "yes"])
def test_services_are_held_back_while_the_server_of_the_tests_is_installed_and_no_longer(
    clone: Path, interrupt: str
) -> None:
    installed = set_up(clone, "--tests", INTERRUPT=interrupt)
    assert "exit 101" in installed.split("openssh-server")[1]
    assert not (clone.parent / "machine/policy-rc.d").exists()


def test_system_packages_are_left_alone_if_so_wanted(clone: Path) -> None:
    installed = set_up(clone, "--tests", GSH_SETUP_SYSTEM="0", INTERRUPT="yes")
    assert "install -y" not in installed and "openssh" not in installed


@pytest.mark.parametrize(
    ("manager", "call"),
    [
        ("dnf", "install -y -q --setopt=install_weak_deps=False tmux"),
        ("pacman", "-S --noconfirm --needed --quiet tmux"),
        ("zypper", "--non-interactive --quiet install --no-recommends tmux"),
        ("apk", "add --quiet tmux"),
    ],
)
def test_the_manager_that_is_there_is_asked(clone: Path, manager: str, call: str) -> None:
    machine = clone.parent / "machine"
    (machine / "apt-get").unlink()
    (machine / manager).write_text('#!/bin/sh\necho "$@" >>"$INSTALLED"\n')
    (machine / manager).chmod(0o755)
    installed, said = ran(clone)
    assert f"{call} zsh ripgrep git bubblewrap\n" in installed
    assert f"by {manager}: tmux zsh ripgrep git bubblewrap" in said
    assert said.index("This will change:") < said.index("Installing"), "it says so before"


def test_the_commands_are_linked_where_nothing_else_has_their_names(clone: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    names = home / ".local/bin"
    ran(clone, HOME=str(home), GSH_SETUP_LINKS="0")
    assert not names.exists()
    names.mkdir(parents=True)
    (names / "gsh").write_text("somebody else's")
    (names / "gsh-tui").symlink_to(tmp_path / "a clone that is gone")
    said = ran(clone, "--link", HOME=str(home))[1]
    assert (names / "gsh").read_text() == "somebody else's"
    assert (names / "gsh-tui").readlink() == clone / ".venv/bin/gsh-tui"
    assert f"{names} is not on your PATH yet" in said
    assert ran(clone, "--link", HOME=str(home))[1] == "", "there is nothing left to do"

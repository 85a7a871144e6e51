"""A shell by `su` with the first user's HOME and socket: it works, and neither tells nor leaves anything there."""

import os
import shutil

from gshtui.settings import paths
from tests.kit.home import Home
from tests.kit.reporting_hub import ReportingHub
from tests.kit.shells import PLUGIN, Shell, zsh
from tests.kit.tmux import short_folder


def test_a_shell_of_another_user(home: Home) -> None:
    """As root in earnest; an ordinary user becomes nobody else without a password, and nests a shell of their own."""
    root = os.geteuid() == 0
    with short_folder() as folder:
        folder.chmod(0o755)
        shutil.copytree(PLUGIN.parent, folder / "shell", ignore=shutil.ignore_patterns("__pycache__", "*.py"))
        hub = ReportingHub(paths.runtime_dir() / "gsh.sock")
        shell = Shell()
        try:
            shell.run("true before")
            begin = f"su -m -s {zsh()} nobody -- -d -f -i" if root else f"{zsh()} -d -f -i"
            shell.press_keys(f"cd /; PS1='<<%?>>' {begin}\n")
            shell.wait_for_prompt()
            shell.run("PS1='<<%?>>'; unsetopt zle prompt_cr prompt_sp")
            assert shell.run(f"'builtin' 'source' {folder}/shell/gsh.plugin.zsh") == 0
            assert shell.output_of("echo $UID") == ("65534" if root else str(os.getuid()))
            assert shell.run("(exit 5)") == 5
            shell.run("cd /tmp")
            shell.run("exit")
            assert shell.run("true after") == 0
            hub.wait_for(lambda: "true after" in _commands(hub))
            assert ("(exit 5)" in _commands(hub)) is not root
            spool = home.data / "gsh" / "spool"
            assert not root or not spool.exists() or not any("exit 5" in file.read_text() for file in spool.iterdir())
            assert b"permission denied" not in shell.output.lower()
            assert b"_gsh" not in shell.output
        finally:
            shell.close()
            hub.close()


def _commands(hub: ReportingHub) -> list[object]:
    return [line.get("command") for line in hub.kept]

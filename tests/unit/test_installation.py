"""How our own program is started anew: from its installation, whatever lies where it starts."""

import subprocess
from pathlib import Path

from gshtui import __version__
from gshtui.system.installation import own_command


def test_no_module_of_the_folder_is_run(tmp_path: Path) -> None:
    (tmp_path / "gshtui").mkdir()
    for module in ("gshtui/__init__.py", "gshtui/__main__.py", "json.py", "typing.py"):
        (tmp_path / module).write_text("raise SystemExit('the code of the folder')")
    done = subprocess.run(own_command("--version"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and __version__ in done.stdout

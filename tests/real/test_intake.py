"""The spool's lock holds against shells for as long as a hub takes a file in, whatever else that hub does meanwhile."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from gshtui.shell.log.intake import SpoolIntake
from gshtui.shell.pairing import PairedLine

_TRY = """
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        print("free")
    except OSError:
        print("locked")
"""


class SlowIntake:
    """Keeps the first file's lines only when it is told to, what comes behind at once."""

    def __init__(self) -> None:
        self.offered: list[PairedLine] = []
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    def add_line(self, said: PairedLine, done: Any = None) -> None:
        self.offered.append(said)

    async def wait_for_room(self) -> None:
        """There is always room."""

    async def wait_until_stored(self) -> None:
        if not self.asked.is_set():
            self.asked.set()
            await self.go.wait()


async def test_two_looks_at_once_take_a_file_once_and_keep_its_lock(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps({"v": 1, "type": "ShellNoted", "shell": "s", "text": "# x", "seq": 1}) + "\n")
    intake = SlowIntake()
    spooling = SpoolIntake(tmp_path, intake)
    first = asyncio.create_task(spooling.read_spools())
    await intake.asked.wait()
    others = [asyncio.create_task(spooling.read_spools()), asyncio.create_task(spooling.remove_spools({"s", "../s"}))]
    words = [sys.executable, "-c", _TRY, str(file)]
    tried = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True)
    assert tried.stdout == "locked\n"
    intake.go.set()
    await asyncio.gather(first, *others)
    assert len(intake.offered) == 1 and not file.exists()


async def test_a_line_that_bash_appends_meanwhile_is_taken_too(tmp_path: Path) -> None:
    """bash knows no lock: what it writes while a hub keeps the lines before is still there afterwards."""

    def line(seq: int) -> str:
        return json.dumps({"v": 1, "type": "ShellNoted", "shell": "s", "text": f"# {seq}", "seq": seq}) + "\n"

    file = tmp_path / "s.jsonl"
    file.write_text(line(1))
    intake = SlowIntake()
    spooling = SpoolIntake(tmp_path, intake)
    first = asyncio.create_task(spooling.read_spools())
    await intake.asked.wait()
    with file.open("a") as shell:
        shell.write(line(2))
    intake.go.set()
    await first
    await spooling.read_spools()
    assert {said.seq for said in intake.offered} == {1, 2}
    assert file.stat().st_size == 0

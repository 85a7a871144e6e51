"""Remembers that the sandbox held here, so that it is not tried again at each start: a file with one line.

What it depends on is part of the line: with another bubblewrap, kernel, user, start of the machine or profile, it is
tried anew. That it does not hold is never remembered.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from gshtui.guard.sandbox.sandbox import PYTHON
from gshtui.system.files import private_files

_PROFILE = ("escapes.py", "sandbox.py", "sandbox_limits.py", "self_test.py", "system_call_filter.py")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class SelfTestRecord:
    """What is known of one bubblewrap. Blocks for a moment; a file that cannot be read or written is as good as none.

    Args:
        file: where it is kept, out of every sandbox's reach.
        program: bubblewrap's absolute path.
    """

    file: Path
    program: str

    def holds(self) -> bool:
        """Whether it was tried as it is now, and held."""
        try:
            descriptor = private_files.open_existing(self.file)
            with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
                found = os.fstat(descriptor)
                return found.st_uid == os.geteuid() and file.read(200) == self._line()
        except OSError:
            return False

    def keep(self) -> None:
        """It has just been tried, and held."""
        with contextlib.suppress(OSError):
            private_files.make_folder(self.file.parent)
            private_files.write_whole(self.file, self._line())

    def _line(self) -> bytes:
        """Raises `OSError`: something that it depends on cannot be read."""
        digest = hashlib.sha256()
        for program in (self.program, PYTHON):
            found = Path(program).stat()
            digest.update(f"{program} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_mode}\n".encode())
        boot = _BOOT.read_text("ascii") if _BOOT.exists() else ""
        system = platform.uname()
        digest.update(f"{system.release} {system.version} {system.machine} {os.geteuid()} {boot}\n".encode())
        for name in _PROFILE:
            digest.update(hashlib.sha256(Path(__file__).with_name(name).read_bytes()).digest())
        return b"held " + digest.hexdigest().encode() + b"\n"

"""The person's editor, for a file or for a text of ours. Needs a terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path


def editor_words() -> list[str]:
    """The command of the editor. Raises `OSError` with the reason why there is none."""
    try:
        words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or _some_editor())
    except ValueError as error:
        raise OSError(0, f"EDITOR is no command: {error}.") from error
    if not words or shutil.which(words[0]) is None:
        raise OSError(0, f"there is no editor{f' {words[0]!r}' if words else ''} here; set EDITOR")
    return words


def edit_text(text: str, suffix: str) -> str:
    """Let the person change a text in their editor. Raises `OSError` with the reason why it could not be."""
    words = editor_words()
    with tempfile.TemporaryDirectory(prefix="gsh-") as folder:  # 0700
        file = Path(folder, f"text{suffix}")
        file.write_text(text, encoding="utf-8")
        with open("/dev/tty", "r+b", buffering=0) as terminal:  # noqa: PTH123 - a device
            code = subprocess.run([*words, str(file)], stdin=terminal, stdout=terminal, check=False).returncode
        if code:
            raise OSError(0, f"the editor ended with {code}; nothing was changed")
        return file.read_text(encoding="utf-8", errors="replace")


def _some_editor() -> str:
    return next((name for name in ("vi", "nano") if shutil.which(name)), "vi")

"""A text or a file in the person's editor, on the terminal that this process has."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from gshtui.system.editor_command import EditorError, editor_argv, editor_failure


def edit_file(file: Path) -> None:
    """Let the person change a file. Raises `EditorError`."""
    _run([*editor_argv(os.environ), str(file)])


def edit_text(text: str, suffix: str) -> str:
    """Let the person change a text, whatever standard input and output are. Raises `EditorError`."""
    argv = editor_argv(os.environ)
    with tempfile.TemporaryDirectory(prefix="gsh-") as folder:  # 0700
        file = Path(folder, f"text{suffix}")
        try:
            file.write_text(text, encoding="utf-8")
            with open("/dev/tty", "r+b", buffering=0) as terminal:  # noqa: PTH123 - a device
                _run([*argv, str(file)], terminal.fileno())
            return file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise EditorError(f"The text cannot be edited here: {error.strerror or error}.") from error


def _run(argv: list[str], terminal: int | None = None) -> None:
    try:
        code = subprocess.run(argv, stdin=terminal, stdout=terminal, check=False).returncode
    except OSError as error:
        raise EditorError(f"{Path(argv[0]).name} did not start: {error.strerror or error}.") from error
    if code:
        raise editor_failure(argv, code, os.environ)

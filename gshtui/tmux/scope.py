"""A systemd scope of its own for the tmux server, where systemd runs, so that a log-out or a stopped unit leaves it be.

Says only what to put before the command; without a user's systemd that answers, nothing. Called by `lifecycle`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from gshtui.system import child

_WITHIN = 2.0


async def prefix() -> list[str]:
    """The words to put before the command that starts the server; empty where there is no systemd for this user."""
    run, control = shutil.which("systemd-run"), shutil.which("systemctl")
    if not run or not control or not await asyncio.to_thread(_has_manager):
        return []
    try:
        process = await asyncio.create_subprocess_exec(
            control,
            "--user",
            "show-environment",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return []
    try:
        async with asyncio.timeout(_WITHIN):
            answered = await process.wait() == 0
    except TimeoutError:
        await child.kill(process)
        return []
    return [run, "--user", "--scope", "--quiet", "--collect", "--description=gsh-tui agents"] if answered else []


def _has_manager() -> bool:
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return bool(folder) and Path(folder, "systemd", "private").exists()

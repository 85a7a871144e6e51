"""The programs that the workbench works with: are they here, and new enough?

Runs each with its version flag, at most three seconds, never one from a relative folder of the PATH.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gshtui.headless.doctor import packages
from gshtui.headless.doctor.finding import Finding

_WITHIN = 3.0
GROUP = "Programs"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program: what for, which version at least, and whether there is no way around it."""

    name: str
    program: str
    flag: str
    least: tuple[int, ...]
    why: str
    needed: bool
    package: str
    without: str = ""
    """What happens instead, where it is optional."""


TOOLS = (
    Tool("tmux", "tmux", "-V", (3, 0), "agents' terminals", True, "tmux"),
    Tool("zsh", "zsh", "--version", (5, 0), "the shell log", True, "zsh"),
    Tool("git", "git", "--version", (2, 20), "branches, diffs and worktrees", True, "git"),
    Tool("ripgrep", "rg", "--version", (11,), "the search in files", False, "ripgrep", "agents have no grep"),
)
BUBBLEWRAP = Tool(
    "bubblewrap", "bwrap", "--version", (0, 4), "the sandbox", False, "bubblewrap", "commands run only after a question"
)


async def examine(manager: str) -> list[Finding]:
    """A finding for each program."""
    tools = (*TOOLS, BUBBLEWRAP) if sys.platform.startswith("linux") else TOOLS
    return list(await asyncio.gather(*(asyncio.to_thread(_examine, tool, manager) for tool in tools)))


def _examine(tool: Tool, manager: str) -> Finding:
    found = shutil.which(tool.program)
    wanted = ".".join(map(str, tool.least))
    fix = packages.install([tool.package], manager) or f"install {tool.package} {wanted} or newer"
    without = f"; without it {tool.without}" if tool.without else ""
    if found is None or not Path(found).is_absolute():
        detail = f"for {tool.why}{without}"
        return Finding(GROUP, tool.name, "missing", detail, fix, tool.needed, tool.package)
    version, said = _version(found, tool.flag)
    if version is None:
        detail = f"{found} does not say its version{f': {said}' if said else ''}"
        return Finding(GROUP, tool.name, "problem", detail, f"{tool.program} {tool.flag}", tool.needed)
    shown = ".".join(map(str, version))
    if version < tool.least:
        detail = f"{shown} at {found} is older than {wanted}{without}"
        return Finding(GROUP, tool.name, "problem", detail, fix, tool.needed)
    return Finding(GROUP, tool.name, "ok", f"{shown} at {found}", needed=tool.needed)


def _version(program: str, flag: str) -> tuple[tuple[int, ...] | None, str]:
    """(version, what the program said when it has none)"""
    try:
        done = subprocess.run(
            [program, flag],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_WITHIN,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_WITHIN:g} s"
    except OSError as error:
        return None, error.strerror or str(error)
    text = (done.stdout or done.stderr).decode("utf-8", "replace")
    # tmux says `tmux 3.3a`, `tmux next-3.5` or, built from its repository, `tmux master`.
    if re.search(r"\btmux (master|openbsd)", text):
        return (99,), ""
    match = re.search(r"(\d+)((?:\.\d+)*)", text)
    if match is None or done.returncode:
        return None, text.strip().split("\n", 1)[0][:100]
    return tuple(int(part) for part in match[0].split(".")), ""

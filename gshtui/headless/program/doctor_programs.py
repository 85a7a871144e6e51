"""The doctor's findings, and its examination of programs: installed, new enough, and how to install them."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from gshtui.text.version_order import newest, oldest

if TYPE_CHECKING:
    from gshtui.programs.profiles.profile import Profile
    from gshtui.programs.profiles.program_versions import ProgramVersions

Status = Literal["ok", "missing", "problem", "note"]
"""note: worth knowing, nothing to fix."""

_MARKS = {"ok": "ok", "missing": "missing", "problem": "problem", "note": "note"}


class Finding(msgspec.Struct, frozen=True):
    """One thing that was examined, and the result. `fix` is a command or a sentence."""

    group: str
    name: str
    status: Status
    detail: str = ""
    fix: str = ""
    needed: bool = False
    package: str = ""
    """The package that provides it, by its name on this system."""

    @property
    def stops(self) -> bool:
        """Whether this finding makes the doctor exit with 1."""
        return self.needed and self.status in ("missing", "problem")


def as_data(findings: Sequence[Finding], install: str) -> dict[str, Any]:
    """All findings as plain data; `install` is a single command that installs every missing package."""
    return {
        "ok": not any(finding.stops for finding in findings),
        "install": install,
        "findings": [msgspec.to_builtins(finding) for finding in findings],
    }


def as_text(findings: Sequence[Finding], install: str) -> str:
    """All findings as lines for people, by group."""
    lines: list[str] = []
    group = ""
    for finding in findings:
        if finding.group != group:
            group = finding.group
            lines += ["", group] if lines else [group]
        mark = _MARKS[finding.status]
        if finding.status in ("missing", "problem") and not finding.needed:
            mark += " (optional)"
        lines.append(f"  {finding.name:15} {mark:18} {finding.detail}".rstrip())
        if finding.fix:
            lines.append(f"  {'':15} {'':18} → {finding.fix}")
    if install:
        lines += ["", f"Install everything that is missing: {install}"]
    stops = [finding.name for finding in findings if finding.stops]
    lines += ["", f"Fix before you start: {', '.join(stops)}." if stops else "Everything required is there."]
    return "\n".join(lines)


_COMMANDS = {
    "apt": "apt-get install -y",
    "dnf": "dnf install -y",
    "yum": "yum install -y",
    "pacman": "pacman -S --needed",
    "zypper": "zypper install -y",
    "apk": "apk add",
    "brew": "brew install",
}
_BY_FAMILY = {
    "debian": "apt",
    "ubuntu": "apt",
    "fedora": "dnf",
    "rhel": "dnf",
    "centos": "dnf",
    "arch": "pacman",
    "suse": "zypper",
    "opensuse": "zypper",
    "alpine": "apk",
}
_PROGRAMS = {"apt": "apt-get"}


def package_manager(release: Path = Path("/etc/os-release"), platform: str = sys.platform) -> str:
    """The package manager's name in `_COMMANDS`; empty if there is no known one."""
    if platform == "darwin":
        return "brew"
    for family in _families(release):
        if family in _BY_FAMILY:
            name = _BY_FAMILY[family]
            return "yum" if name == "dnf" and not shutil.which("dnf") and shutil.which("yum") else name
    return next((name for name in _COMMANDS if shutil.which(_PROGRAMS.get(name, name))), "")


def install_command(packages: Sequence[str], name: str, *, root: bool | None = None) -> str:
    """The command that installs these packages; empty if there are none, or without a known package manager."""
    if not packages or name not in _COMMANDS:
        return ""
    command = f"{_COMMANDS[name]} {' '.join(packages)}"
    is_root = os.geteuid() == 0 if root is None else root
    return command if name == "brew" or is_root else f"sudo {command}"


def _families(release: Path) -> list[str]:
    """The system's `ID` and `ID_LIKE`, closest first."""
    try:
        text = release.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    fields = dict(line.split("=", 1) for line in text.split("\n") if "=" in line and not line.startswith("#"))
    words = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".replace('"', "").replace("'", "")
    return [word.lower().partition("-")[0] for word in words.split()]


_VERSION_WITHIN = 3.0
GROUP = "Programs"


class Tool(msgspec.Struct, frozen=True):
    """A program: what it is for, its minimum version, and whether it is required."""

    name: str
    program: str
    flag: str
    least: tuple[int, ...]
    why: str
    needed: bool
    package: str
    without: str = ""
    """What happens without it, if it is optional."""


TOOLS = (
    Tool("tmux", "tmux", "-V", (3, 0), "agents' terminals", True, "tmux"),
    Tool("zsh", "zsh", "--version", (5, 0), "the shell log", False, "zsh", "only commands in bash are heard"),
    Tool("git", "git", "--version", (2, 31), "branches, diffs and worktrees", True, "git"),
    Tool("ripgrep", "rg", "--version", (11,), "searching files", False, "ripgrep", "agents have no grep tool"),
)
BUBBLEWRAP = Tool(
    "bubblewrap", "bwrap", "--version", (0, 4), "the sandbox", False, "bubblewrap", "--yes covers fewer commands"
)


async def examine_programs(manager: str) -> list[Finding]:
    tools = (*TOOLS, BUBBLEWRAP) if sys.platform.startswith("linux") else TOOLS
    return list(await asyncio.gather(*(asyncio.to_thread(_examine, tool, manager) for tool in tools)))


AGENTS = "Agents"


async def examine_agents() -> list[Finding]:
    """Which of the known AI programs are installed, in which versions, and what is known of those."""
    from gshtui.programs.profiles.profile_files import load
    from gshtui.programs.profiles.program_versions import kept_versions

    loaded, versions = await asyncio.to_thread(load), kept_versions()
    thinking = [profile for profile in loaded.profiles.values() if profile.ai]
    found = await asyncio.gather(*(_examine_agent(profile, versions) for profile in thinking))
    problems = [Finding(AGENTS, "profiles", "problem", problem) for problem in loaded.problems]
    return [*filter(None, found), *problems]


async def _examine_agent(profile: Profile, versions: ProgramVersions) -> Finding | None:
    """One program; `None` if it is not installed."""
    from gshtui.programs.check.check_results import seen_here
    from gshtui.programs.hooks.hooks import state
    from gshtui.programs.profiles.profile import STATUS_RECORDS, is_untested
    from gshtui.programs.profiles.program_versions import printed_version, unmet_need

    path = next(filter(None, map(shutil.which, profile.programs)), None)
    if path is None:
        return None
    version = await versions.find(profile, (path,), os.environ)
    where = f"{version} at {path}" if version else f"{path}, of a version that it does not tell"
    if version and (checked := await asyncio.to_thread(seen_here, profile.name, version)) is not None:
        where += f", seen here: {checked.sums}"
    loose = ", ".join(f"`{mode.name}`" for mode in profile.modes.each if mode.without)
    where += f"; it is in {loose} where it was started in a wider mode, or by itself" if loose else ""
    where += f"; it has no modes: {profile.modes.none}" if profile.modes.none else ""
    if (need := await unmet_need(Path(path), profile.programs, os.environ)) is not None:
        runs_on = need.runs_on.capitalize()
        runner = f"{runs_on} {need.wanted}".rstrip()
        has = f"there is {need.found}" if need.found else f"there is no {runs_on} for it"
        starts = await printed_version(Path(path), profile.version_flag, os.environ) if need.found else ""
        detail = f"{where}; it wants {runner}, and {has}: {'some of it may fail' if starts else 'it does not start'}"
        fix = f"Install {runner} and put it first in your PATH, or reinstall {profile.name}"
        return Finding(AGENTS, profile.name, "note" if starts else "problem", detail, fix)
    if is_untested(profile):
        detail = f"{where}; its profile is untested, made from its documentation: its status may be wrong"
        return Finding(AGENTS, profile.name, "note", detail)
    if version and profile.knows(version):
        return Finding(AGENTS, profile.name, "ok", f"{where}; its profile was tested with {_seen(profile)}")
    unseen = "; what only its screen says is marked with `?`" if version else ""
    hooked = await asyncio.to_thread(state, profile) in ("installed", "outdated")
    exact = "; its hooks report its status" if hooked else ""
    if profile.record in STATUS_RECORDS:
        exact = f"; its own record tells its status{' and its hooks report it' if hooked else ''}"
    fix = "" if hooked or not profile.hooks.kind else f"gsh-tui run 'program_hooks install {profile.name}'"
    detail = f"{where}; its screen rules were seen with {_seen(profile)}{exact}{unseen}"
    return Finding(AGENTS, profile.name, "note", detail, fix)


def _seen(profile: Profile) -> str:
    """The versions whose screens were seen."""
    first, last = oldest(profile.seen), newest(profile.seen)
    return last if first == last else f"{first} to {last}"


def _examine(tool: Tool, manager: str) -> Finding:
    found = shutil.which(tool.program)
    wanted = ".".join(map(str, tool.least))
    fix = install_command([tool.package], manager) or f"install {tool.package} {wanted} or newer"
    without = f"; without it {tool.without}" if tool.without else ""
    if found is None or not Path(found).is_absolute():
        detail = f"for {tool.why}{without}"
        return Finding(GROUP, tool.name, "missing", detail, fix, tool.needed, tool.package)
    version, said = _version(found, tool.flag)
    if version is None:
        detail = f"cannot tell the version of {found}{f': {said}' if said else ''}"
        return Finding(GROUP, tool.name, "problem", detail, f"{tool.program} {tool.flag}", tool.needed)
    shown = ".".join(map(str, version))
    if version < tool.least:
        detail = f"{shown} at {found} is older than {wanted}{without}"
        return Finding(GROUP, tool.name, "problem", detail, fix, tool.needed)
    return Finding(GROUP, tool.name, "ok", f"{shown} at {found}", needed=tool.needed)


def _version(program: str, flag: str) -> tuple[tuple[int, ...] | None, str]:
    """(version, what the program printed if there is no version)"""
    try:
        done = subprocess.run(
            [program, flag],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_WITHIN,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_VERSION_WITHIN:g} s"
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

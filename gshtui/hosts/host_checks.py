"""What can be wrong with another machine, found out in one call: reachability, login shell, tmux, disk, language.

Changes nothing there except one temporary file, which it removes.
"""

from __future__ import annotations

import shlex
import time
from typing import Literal

import msgspec

from gshtui import __version__
from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLink
from gshtui.hosts.host_package import examine_package
from gshtui.hosts.remote_shell import path_line
from gshtui.text.sanitise import literal, one_line

LITTLE = 200_000_000
"""Less free disk space than this, in bytes, is a problem."""
LEAST_TMUX = (3, 2)
_PROGRAMS = ("claude", "codex", "opencode", "gemini", "aider", "crush", "git")
_SCRIPT = r"""
echo "system=$(uname -sm 2>/dev/null)"
echo "shell=${SHELL:-unknown}"
login=$("${SHELL:-/bin/sh}" -l -c env </dev/null 2>/dev/null | sed -n 's/^PATH=//p' | tail -n 1)
case "$login" in /*) PATH="$PATH:$login" ;; esac
echo "tmux=$("$tmux" -V 2>/dev/null)"
for program in $programs; do command -v "$program" >/dev/null 2>&1 && printf 'program=%s\n' "$program"; done
echo "home=$(df -Pk "$HOME" 2>/dev/null | awk 'NR == 2 { print $4 }')"
echo "temporary=$(df -Pk "${TMPDIR:-/tmp}" 2>/dev/null | awk 'NR == 2 { print $4 }')"
file=$(mktemp 2>/dev/null) && echo x >"$file" 2>/dev/null && echo "writes=yes"
[ -n "$file" ] && rm -f "$file"
case "$(LC_ALL=C.UTF-8 locale charmap 2>/dev/null || locale charmap 2>/dev/null)" in *UTF-8*) echo "utf8=yes" ;; esac
"""


class HostFinding(msgspec.Struct, frozen=True):
    """One thing that was examined, and the result. `fix` is a command or a sentence."""

    name: str
    status: Literal["ok", "missing", "problem", "note"]
    detail: str = ""
    fix: str = ""


async def examine_host(link: HostLink) -> list[HostFinding]:
    """Connect now, and look; never raises `HostError`."""
    link.retry_now()
    settings = link.settings
    names = shlex.quote(" ".join(_PROGRAMS))
    head = f"{path_line(settings.path)}tmux={shlex.quote(settings.tmux)}\nprograms={names}\n"
    began = time.monotonic()
    try:
        await link.run("true")
        connected = time.monotonic() - began
        began = time.monotonic()
        reply = await link.run(head + _SCRIPT)
    except HostError as error:
        return [HostFinding("connection", "problem", error.message, error.hint)]
    spent = f"connected in {connected * 1e3:.0f} ms" if connected > 0.05 else "connected"
    facts: dict[str, list[str]] = {}
    for line in reply.output.decode("utf-8", "replace").splitlines():
        name, equals, value = line.partition("=")
        if equals:
            facts.setdefault(name, []).append(one_line(literal(value), 120))
    told = {name: values[0] for name, values in facts.items()}
    where = one_line(shlex.join(link.person_command()), 300)
    return [
        HostFinding("connection", "ok", f"{spent} by `{where}`; {told.get('system') or 'unknown system'}"),
        _login_shell(told.get("shell", ""), reply.noise),
        _tmux(link, told.get("tmux", "")),
        _disk("home folder", told.get("home", "")),
        _temporary(told),
        _language(told),
        HostFinding("programs", "note", ", ".join(facts.get("program", [])) or "none that we know"),
        await _package(link),
    ]


async def _package(link: HostLink) -> HostFinding:
    """Whether our own agents can work there."""
    try:
        found = await examine_package(link)
    except HostError as error:
        return HostFinding("gsh-tui", "note", error.message, error.hint)
    install = f"`gsh-tui host install {link.name}`"
    if found.same:
        return HostFinding("gsh-tui", "ok", f"{__version__}, as here")
    if found.installed:
        there = ", ".join(found.installed)
        detail = (
            f"{there} there, and another {__version__} here"
            if __version__ in found.installed
            else (f"{there} there, and {__version__} here")
        )
        return HostFinding("gsh-tui", "note", detail, f"{install} brings this one there")
    if not found.python:
        detail = "no Python 3.11 or newer there: our own agents cannot work there"
        return HostFinding("gsh-tui", "note", detail, "name one as `python` of this host in the configuration")
    return HostFinding("gsh-tui", "note", "not there: our own agents cannot work there", f"{install} brings it")


def _login_shell(shell: str, noise: bytes) -> HostFinding:
    if not noise:
        return HostFinding("login shell", "ok", shell)
    said = one_line(literal(noise.decode("utf-8", "replace")), 80)
    detail = f"{shell} prints when it starts: {said!r}; that is skipped here, but breaks scp and rsync"
    return HostFinding("login shell", "note", detail, "print only where `$-` contains i")


def _tmux(link: HostLink, said: str) -> HostFinding:
    if not said:
        fix = "install tmux there, or name its full path as `tmux` of this host in the configuration"
        return HostFinding("tmux", "missing", f"there is no `{link.settings.tmux}`: no agents can run there", fix)
    numbers = "".join(sign if sign.isdigit() or sign == "." else " " for sign in said).split()
    parts = [int(part) for part in (numbers[0].split(".") if numbers else []) if part.isdigit()]
    if len(parts) > 1 and (parts[0], parts[1]) < LEAST_TMUX:
        least = ".".join(map(str, LEAST_TMUX))
        return HostFinding("tmux", "problem", f"{said} is too old for agents", f"install tmux {least} or newer there")
    return HostFinding("tmux", "ok", said)


def _disk(name: str, kilobytes: str) -> HostFinding:
    if not kilobytes.isdecimal():
        return HostFinding(name, "note", "its free space is unknown")
    free = int(kilobytes) * 1024
    if free < LITTLE:
        return HostFinding(name, "problem", f"{free / 1e9:.1f} GB free", "free some space there")
    return HostFinding(name, "ok", f"{free / 1e9:.1f} GB free")


def _temporary(told: dict[str, str]) -> HostFinding:
    if told.get("writes") != "yes":
        detail = "nothing can be written there: tmux cannot start"
        return HostFinding("temporary files", "problem", detail, "free some space in /tmp there")
    return _disk("temporary files", told.get("temporary", ""))


def _language(told: dict[str, str]) -> HostFinding:
    if told.get("utf8") == "yes":
        return HostFinding("language", "ok", "UTF-8")
    return HostFinding("language", "note", "no UTF-8 there: programs draw in ASCII", "install a UTF-8 locale there")

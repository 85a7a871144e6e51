"""`gsh-tui shell status`: whether the shells report, to whom, and what stands in the way.

Owns looking: at the start-up files, at zsh and its modules, at the socket and the spool. Changes nothing but the file
that tells the plugins the settings. Called by `cli`; the doctor tells the same findings.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gshtui.headless import exits, streams
from gshtui.settings import paths
from gshtui.settings.load import Loaded
from gshtui.shell import options, place, plugin, startup_file
from gshtui.shell.startup_file import StartupError

_WITHIN = 5.0
"""Seconds for zsh to say what it has."""
_MODULES = {
    "net/socket": "commands reach the window only once it takes in the spool, not live",
    "zselect": "commands reach the window only once it takes in the spool, not live",
    "system": "lines are written the slower way, without a lock",
    "datetime": "times are taken the slower way",
    "stat": "changed ignore patterns count in new shells only",
}
"""What is slower without one."""


@dataclass(slots=True)
class Facts:
    """What was found. `problems`: sentences, each with what to do."""

    plugin: str = ""
    zsh: str = ""
    missing_modules: list[str] = field(default_factory=list[str])
    installed: dict[str, str] = field(default_factory=dict[str, str])
    """The start-up file by shell, where it has the line."""
    this_shell: str = ""
    """Id of the shell that this runs in, if it reports."""
    socket: str = ""
    listening: bool = False
    paused: bool = False
    ignore: list[str] = field(default_factory=list[str])
    keys: dict[str, str] = field(default_factory=dict[str, str])
    spool: str = ""
    spool_files: int = 0
    spool_bytes: int = 0
    problems: list[str] = field(default_factory=list[str])


def status(*, as_json: bool) -> int:
    """Say it; gives the exit code."""
    from gshtui.headless.shell import tell_plugins
    from gshtui.headless.surroundings import loaded_here

    loaded = loaded_here()
    tell_plugins()
    facts = look(loaded)
    if as_json:
        streams.result_json(asdict(facts))
    else:
        streams.result(told(facts))
    return exits.DONE


def look(loaded: Loaded) -> Facts:
    """All there is to know. Blocks for as long as zsh takes to start."""
    settings = loaded.settings
    facts = Facts(plugin=plugin.path(), this_shell=os.environ.get("GSH_SHELL_ID", ""))
    facts.ignore = list(settings.shell.ignore)
    facts.keys = {name: settings.keybindings.get(name, "") for name in options.KEYS}
    facts.paused = options.paused()
    _look_at_files(facts)
    _look_at_zsh(facts)
    _look_at_socket(facts, settings.general.socket_path)
    _look_at_spool(facts)
    return facts


def told(facts: Facts) -> str:
    """The facts for people."""
    installed = ", ".join(facts.installed.values()) or "in no start-up file (`gsh-tui shell install`)"
    spool = f"{facts.spool_files} files, {facts.spool_bytes:,} bytes" if facts.spool_files else "empty"
    rows = [
        ("plugin", facts.plugin),
        ("installed", installed),
        ("this shell", f"reports as {facts.this_shell}" if facts.this_shell else "does not report"),
        ("recording", "paused (`gsh-tui shell resume`)" if facts.paused else "on"),
        ("ignored", ", ".join(facts.ignore) or "what begins with a space"),
        ("zsh", facts.zsh or "not found"),
        (
            "socket",
            f"{facts.socket} ({'a window listens' if facts.listening else 'nobody listens: the spool is used'})",
        ),
        ("spool", f"{spool} in {facts.spool}"),
        ("keys", "  ".join(f"{key} {name}" for name, key in facts.keys.items() if key)),
    ]
    lines = [f"{name:12} {value}" for name, value in rows]
    return "\n".join([*lines, *(f"! {problem}" for problem in facts.problems)])


def _look_at_files(facts: Facts) -> None:
    for shell in plugin.SHELLS:
        try:
            file = startup_file.file_of(shell, os.environ)
            line = startup_file.has_line(file)
        except StartupError as error:
            facts.problems.append(str(error))
            continue
        if line:
            facts.installed[shell] = str(file)
        if line and line != plugin.line(shell):
            facts.problems.append(f"{file} loads another copy of the plugin; `gsh-tui shell install {shell}` mends it.")


def _look_at_zsh(facts: Facts) -> None:
    program = shutil.which("zsh")
    if program is None:
        facts.problems.append("there is no zsh; install it, or use `gsh-tui shell install bash`.")
        return
    asked = "print -r -- $ZSH_VERSION; for m in $@; do zmodload zsh/$m 2>/dev/null || print -r -- $m; done"
    try:
        ran = subprocess.run(
            [program, "-f", "-c", asked, "zsh", *_MODULES],
            capture_output=True,
            text=True,
            timeout=_WITHIN,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        facts.problems.append(f"{program} did not say its version; run it by hand.")
        return
    version, *missing = ran.stdout.split() or [""]
    facts.zsh, facts.missing_modules = version, missing
    if version[:2] in ("1.", "2.", "3.", "4."):
        facts.problems.append(f"zsh {version} is too old for the plugin; 5.0 or newer reports.")
    facts.problems += [f"this zsh has no module zsh/{name}: {_MODULES[name]}." for name in missing if name in _MODULES]


def _look_at_socket(facts: Facts, socket: Path) -> None:
    configured, socket = socket, place.shells_socket(socket)
    facts.socket = str(socket)
    if socket != configured:
        facts.problems.append(
            f"[general] socket_path is {configured}, in a folder where others could put a socket of theirs; "
            f"shells report to {socket} instead."
        )
    try:
        info = socket.lstat()
        folder = socket.parent.lstat()
    except OSError:
        return  # nobody has made it: the usual case with no window open
    if not stat.S_ISSOCK(info.st_mode):
        facts.problems.append(f"{socket} is no socket, so the plugin uses the spool; remove it.")
    elif info.st_uid != os.geteuid() or folder.st_uid != os.geteuid() or not stat.S_ISDIR(folder.st_mode):
        facts.problems.append(f"{socket} is not yours alone, so the plugin uses the spool; set [general] socket_path.")
    elif stat.S_IMODE(folder.st_mode) & 0o022:
        facts.problems.append(f"others may write to {socket.parent}, so the plugin uses the spool; chmod 700 it.")
    else:
        with contextlib.suppress(OSError):
            facts.listening = place.is_live(socket)


def _look_at_spool(facts: Facts) -> None:
    folder = paths.data_dir(create=False) / "spool"
    facts.spool = str(folder)
    with contextlib.suppress(OSError):
        for file in folder.glob("*.jsonl"):
            size = file.lstat().st_size
            facts.spool_files += bool(size)
            facts.spool_bytes += size
    nearest = next((part for part in (folder, *folder.parents) if part.exists()), folder)
    if not os.access(nearest, os.W_OK):
        facts.problems.append(f"{nearest} cannot be written, so what runs while no window is open is not recorded.")

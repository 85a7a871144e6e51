"""`gsh-tui shell install|uninstall|pause|resume|status`: the plugin's line in a start-up file, and its state."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.headless import exits, streams
from gshtui.headless.called_here import load_settings
from gshtui.settings import paths
from gshtui.settings.loader import Loaded
from gshtui.settings.paths import FolderError
from gshtui.shell import hub_registry, plugin, plugin_files, startup_file
from gshtui.shell.startup_file import StartupChange, StartupError

_CONSENT = (
    "From then on agents know which commands you run and, inside tmux, what they print. Lines that begin with a space, "
    "[shell] ignore and `gsh-tui shell pause` keep commands out."
)

_IN_TMUX = (
    "\n\nA shell that you open outside tmux then goes on in a tmux of its own, without keys or a status line, so that "
    "what commands print is kept there, too."
)


def install(shell: str, *, in_tmux: bool, yes: bool, as_json: bool) -> int:
    """Ask, then add the line; returns the exit code. `in_tmux`: shells outside tmux go on in one of their own."""
    if in_tmux and shell not in plugin.IN_TMUX:
        streams.complain(f"{shell} does not go on in a tmux of its own; leave --in-tmux out.")
        return exits.USAGE
    wanted = plugin.line(shell, in_tmux=in_tmux)
    if shell == "zsh" and shutil.which("zsh") is None:
        streams.complain("zsh is not installed, so nothing would read its start-up file.", "gsh-tui shell install bash")
        return exits.ERROR
    try:
        file = startup_file.file_of(shell, os.environ)
        there = startup_file.has_line(file)
        if there == wanted:
            tell_plugins()
            return _print_change(
                StartupChange(file, changed=False), f"{file} already has the line.", shell, wanted, as_json
            )
        if not yes:
            if not (os.isatty(0) and os.isatty(2)):
                streams.decline(f"This would go into {file}: {wanted}")
                return exits.DENIED
            kept = "A copy of the old file is kept beside it." if file.exists() else "The file does not exist yet."
            does = "Replaces" if there else "Adds"
            said = f"{does} this line in {file}:\n\n  {wanted}\n\n{kept}\n\n{_CONSENT}{_IN_TMUX if in_tmux else ''}"
            if not streams.ask_yes_no(f"{said} Continue?"):
                streams.complain("nothing was changed.")
                return exits.DENIED
        if shell == "bash" and (why := _too_old_bash(_bash_version())):
            streams.complain(why)
        change = startup_file.add(shell, file, in_tmux=in_tmux)
    except (StartupError, FolderError) as error:
        streams.complain(str(error), f"For this shell alone: source {plugin.quoted(plugin.path(shell), shell)}")
        return exits.ERROR
    tell_plugins()
    this = plugin.quoted(plugin.path(shell), shell)
    text = f"Added the line to {file}; new shells will report. For this one: source {this}"
    return _print_change(change, text, shell, wanted, as_json)


def uninstall(shell: str, *, as_json: bool) -> int:
    """Remove the line; returns the exit code."""
    try:
        change = startup_file.take_out(startup_file.file_of(shell, os.environ))
    except (StartupError, FolderError) as error:
        streams.complain(str(error))
        return exits.ERROR
    text = f"Removed the line from {change.file}." if change.changed else f"{change.file} does not have the line."
    return _print_change(change, text, shell, plugin.line(shell), as_json)


def pause(on: bool, *, as_json: bool) -> int:
    """Pause recording or resume it; returns the exit code."""
    try:
        plugin_files.pause_recording() if on else plugin_files.resume_recording()
    except OSError as error:
        streams.complain(f"cannot save this in {plugin_files.options_folder()}: {error.strerror or error}.")
        return exits.ERROR
    if not on:
        tell_plugins()
    text = "Recording is paused; `gsh-tui shell resume` continues it." if on else "Recording is on again."
    return _print_result({"paused": on}, text, as_json)


def tell_plugins() -> None:
    """Pass the settings on to the plugins. If that fails, print why and continue."""
    try:
        plugin_files.write_options(load_settings().settings)
    except OSError as error:
        streams.complain(
            f"the plugin keeps its defaults because its options cannot be written: {error.strerror or error}."
        )


def _print_change(change: StartupChange, text: str, shell: str, line: str, as_json: bool) -> int:
    if change.backup is not None:
        text += f"\nCopy of the old file: {change.backup}"
    data = {
        "shell": shell,
        "file": str(change.file),
        "changed": change.changed,
        "line": line,
        "backup": str(change.backup or ""),
    }
    return _print_result(data, text, as_json)


def _print_result(data: dict[str, Any], text: str, as_json: bool) -> int:
    if as_json:
        streams.result_json(data)
    else:
        streams.result(text)
    return exits.DONE


_WITHIN = 5.0
"""Seconds that zsh has to answer."""
_MODULES = {
    "net/socket": "commands reach the window only when it reads the spool, not live",
    "zselect": "commands reach the window only when it reads the spool, not live",
    "system": "lines are written more slowly, and without a lock",
    "datetime": "reading the time is slower",
    "stat": "changes to ignore patterns apply only in new shells",
}
"""What works less well without each module."""


class ShellFacts(msgspec.Struct):
    """What was found. Each of `problems` is a sentence that says what to do."""

    plugin: str = ""
    zsh: str = ""
    bash: str = ""
    installed: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Shell → its start-up file, if that has the line."""
    this_shell: str = ""
    """Id of the current shell, if it reports."""
    silent: str = ""
    """Why the current shell does not report, or not all."""
    socket: str = ""
    listening: bool = False
    listener: str = ""
    """Who listens there."""
    outputs_kept: bool = False
    """Whether what commands print in this shell can be kept."""
    paused: bool = False
    ignore: list[str] = msgspec.field(default_factory=list[str])
    keys: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    spool: str = ""
    spool_files: int = 0
    spool_bytes: int = 0
    problems: list[str] = msgspec.field(default_factory=list[str])


def status(*, as_json: bool) -> int:
    """Print the facts; returns the exit code."""
    from gshtui.headless.called_here import load_settings

    loaded = load_settings()
    tell_plugins()
    facts = inspect_shells(loaded)
    if as_json:
        streams.result_json(msgspec.to_builtins(facts))
    else:
        streams.result(status_text(facts))
    return exits.DONE


def inspect_shells(loaded: Loaded) -> ShellFacts:
    """Collect the facts. Blocks while zsh starts."""
    settings = loaded.settings
    facts = ShellFacts(plugin=plugin.path(_shell_here()), this_shell=os.environ.get("GSH_SHELL_ID", ""))
    _look_at_this_shell(facts)
    facts.ignore = list(settings.shell.ignore)
    facts.keys = {name: settings.keybindings.get(name, "") for name in plugin_files.KEYS}
    facts.outputs_kept = bool(os.environ.get("TMUX")) and settings.context.include_stdout
    facts.paused = plugin_files.is_paused()
    _look_at_files(facts)
    _look_at_zsh(facts)
    _look_at_bash(facts)
    _look_at_socket(facts, settings.general.socket_path)
    _look_at_spool(facts)
    return facts


def _shell_here() -> str:
    """The shell in which the command was typed, else the person's own; zsh where that has no plugin."""
    import psutil

    with contextlib.suppress(psutil.Error):
        parents = [process.name().lstrip("-") for process in psutil.Process().parents()]
        if found := next((name for name in parents if name in plugin.SHELLS), ""):
            return found
    name = Path(os.environ.get("SHELL", "")).name
    return name if name in plugin.SHELLS else "zsh"


OUTPUTS_LOST = "not kept in this shell: run it in tmux (`shell install --in-tmux`), or commands by `gsh run -- COMMAND`"


def status_text(facts: ShellFacts) -> str:
    installed = ", ".join(facts.installed.values()) or "not in any start-up file (`gsh-tui shell install`)"
    spool = f"{facts.spool_files} files, {facts.spool_bytes:,} bytes" if facts.spool_files else "empty"
    listening = f"{facts.listener} listens" if facts.listening else "nobody listens: shells use the spool"
    rows = [
        ("plugin", facts.plugin),
        ("installed", installed),
        ("this shell", f"reports as {facts.this_shell}" if facts.this_shell else f"does not report: {facts.silent}."),
        ("outputs", "kept, since this shell is in tmux" if facts.outputs_kept else OUTPUTS_LOST),
        ("recording", "paused (`gsh-tui shell resume`)" if facts.paused else "on"),
        ("ignored", ", ".join(facts.ignore) or "commands that start with a space"),
        ("zsh", facts.zsh or "not found"),
        ("bash", facts.bash or "not found"),
        ("socket", f"{facts.socket} ({listening})"),
        ("spool", f"{spool} in {facts.spool}"),
        ("keys", "  ".join(f"{key} {name}" for name, key in facts.keys.items() if key)),
    ]
    lines = [f"{name:12} {value}" for name, value in rows]
    return "\n".join([*lines, *(f"! {problem}" for problem in facts.problems)])


_SILENT = {
    "": "the plugin is not loaded here. Start a new shell once it is installed, or source it",
    "loaded": "its hooks are not called, because your start-up file sets PROMPT_COMMAND anew behind the plugin's line. "
    "Put that line last",
    "restricted": "it is a restricted shell, which may not write files",
    "readonly": "PROMPT_COMMAND is read-only in it. Put the plugin's line before the one that makes it so",
    "folder": "the folder of your data is not yours or cannot be written in it (see XDG_DATA_HOME)",
    "history": "its history is off (`set +o history` or HISTSIZE=0), and bash tells what was typed by nothing else",
}
"""What the plugin says about the shell it is loaded in, in GSH_SHELL_STATE."""


def _look_at_this_shell(facts: ShellFacts) -> None:
    """Both variables are inherited: the id is this shell's if the plugin that is loaded here has set it."""
    pid, _, state = os.environ.get("GSH_SHELL_STATE", "").partition(" ")
    if not facts.this_shell or (state and f"{facts.this_shell.partition('-')[0]} loaded" != f"{pid} {state}"):
        facts.this_shell, facts.silent = "", _SILENT.get(state, _SILENT[""])


def _look_at_files(facts: ShellFacts) -> None:
    for shell in plugin.SHELLS:
        try:
            file = startup_file.file_of(shell, os.environ)
            line = startup_file.has_line(file)
        except StartupError as error:
            facts.problems.append(str(error))
            continue
        if line:
            facts.installed[shell] = str(file)
        if line and line not in (plugin.line(shell), plugin.line(shell, in_tmux=True)):
            facts.problems.append(f"{file} loads another copy of the plugin; `gsh-tui shell install {shell}` fixes it.")


def _look_at_zsh(facts: ShellFacts) -> None:
    program = shutil.which("zsh")
    if program is None:
        facts.problems.append("zsh is not installed; install it, or use `gsh-tui shell install bash`.")
        return
    asked = "print -r -- $ZSH_VERSION; for m in $@; do zmodload zsh/$m 2>/dev/null || print -r -- $m; done"
    said = _said_by(program, "-f", "-c", asked, "zsh", *_MODULES)
    if said is None:
        facts.problems.append(f"cannot tell the version of {program}; run it by hand to see why.")
        return
    version, *missing = said.split() or [""]
    facts.zsh = version
    if version[:2] in ("1.", "2.", "3.", "4."):
        facts.problems.append(f"zsh {version} is too old for the plugin; it needs 5.0.")
    facts.problems += [
        f"this zsh lacks the module zsh/{name}: {_MODULES[name]}." for name in missing if name in _MODULES
    ]


def _look_at_bash(facts: ShellFacts) -> None:
    facts.bash = _bash_version()
    if "bash" in facts.installed and (why := _too_old_bash(facts.bash)):
        facts.problems.append(why)


def _bash_version() -> str:
    """The version of the bash in `PATH`; empty if there is none that says it."""
    said = _said_by("bash", "--norc", "-c", "printf %s $BASH_VERSION") or ""
    return said.partition("(")[0].strip()


def _said_by(*argv: str) -> str | None:
    """What a shell prints; `None` if it does not run or does not end."""
    try:
        ran = subprocess.run(argv, capture_output=True, timeout=_WITHIN, check=False, stdin=subprocess.DEVNULL)
        return ran.stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return None


def _too_old_bash(version: str) -> str:
    """Why the plugin does nothing in this bash; empty: it works."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
    if not numbers or numbers >= [4, 4]:
        return ""
    return f"bash {version} is too old for the plugin, which does nothing in it; it needs 4.4 (`brew install bash`)."


def _look_at_socket(facts: ShellFacts, socket: Path) -> None:
    configured, socket = socket, hub_registry.shells_socket_path(socket)
    facts.socket = str(socket)
    if socket != configured:
        facts.problems.append(
            f"[general] socket_path is {configured}, but other users could put a socket of theirs in that folder, so "
            f"shells report to {socket} instead."
        )
    try:
        info = socket.lstat()
        folder = socket.parent.lstat()
    except OSError:
        return  # nobody created it, which is normal with no window open
    if not stat.S_ISSOCK(info.st_mode):
        facts.problems.append(f"{socket} is not a socket, so the plugin uses the spool; remove that file.")
    elif info.st_uid != os.geteuid() or folder.st_uid != os.geteuid() or not stat.S_ISDIR(folder.st_mode):
        facts.problems.append(f"{socket} is not only yours, so the plugin uses the spool; set [general] socket_path.")
    elif stat.S_IMODE(folder.st_mode) & 0o022:
        facts.problems.append(f"other users can write to {socket.parent}, so the plugin uses the spool; chmod 700 it.")
    else:
        with contextlib.suppress(OSError):
            facts.listening = hub_registry.is_live(socket)
            keeper = running_keeper(paths.data_dir(create=False))
            ours = keeper is not None and hub_registry.listener_of(socket) == keeper.process.pid
            facts.listener = "the hub" if ours else "a window"


def _look_at_spool(facts: ShellFacts) -> None:
    folder = paths.data_dir(create=False) / "spool"
    facts.spool = str(folder)
    with contextlib.suppress(OSError):
        for file in folder.glob("*.jsonl"):
            size = file.lstat().st_size
            facts.spool_files += bool(size)
            facts.spool_bytes += size
    nearest = next((part for part in (folder, *folder.parents) if os.path.exists(part)), folder)  # noqa: PTH110
    if not os.access(nearest, os.W_OK):
        facts.problems.append(f"cannot write to {nearest}, so commands run while no window is open are not recorded.")

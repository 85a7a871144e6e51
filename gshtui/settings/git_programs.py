"""What a repository has git run: programs that its configuration names, and its hooks.

git itself reads the configuration, in a way that runs none of it: only the listing is asked for. The values are
untrusted text, and are shown as such.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gshtui.system.caller_environment import caller_environ
from gshtui.text.sanitise import visible

_WITHIN = 5.0
"""Seconds for git to answer."""
_MOST_BYTES = 1 << 20
"""Largest configuration, in bytes, whose keys are listed one by one."""
_LONGEST = 2000
"""Characters of a value that are shown."""
_RUNS = {
    "core": "fsmonitor hookspath sshcommand pager editor gitproxy askpass alternaterefscommand",
    "sequence": "editor",
    "diff": "external command textconv",
    "difftool": "cmd path",
    "mergetool": "cmd path",
    "guitool": "cmd",
    "merge": "driver",
    "filter": "clean smudge process",
    "hook": "command",
    "includeif": "path",
    "credential": "helper",
    "gpg": "program defaultkeycommand",
    "interactive": "difffilter",
    "trailer": "command cmd",
    "uploadpack": "packobjectshook",
    "remote": "uploadpack receivepack vcs",
    "sendemail": "smtpserver sendmailcmd tocmd cccmd headercmd",
    "imap": "tunnel",
    "browser": "cmd path",
    "man": "cmd path",
    "tar": "command",
    "init": "templatedir",
    "instaweb": "httpd",
}
"""By section, the variables whose value is a program or leads to one."""
_ADDRESSES = ("remote", "url", "submodule")
"""Sections with addresses, in which `ext::` stands before a command."""
_INTERPRETER = re.compile(
    r"(?:ba|da|z|k|a|fi)?sh|\.|source|(?:python|pypy|node|ruby|perl|php|lua)[\d.]*|deno|bun|tsx|run|make"
)
_WRAPPERS = frozenset(("exec", "env", "nice", "nohup", "time", "sudo", "command", "!", "if", "while", "until"))
_BEGIN = frozenset((*";&|(){}", "do", "then", "else", "elif"))
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}=")
_BOOLEANS = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})


class GitProgram(msgspec.Struct, frozen=True):
    """One thing that git would run there.

    Attributes:
        name: the key, or the path of the hook, as it is there; it may have any characters.
        value: the key's values, one per line; of a hook, nothing.
        file: the hook, or the configuration that is too large to be listed.
    """

    name: str
    value: str = ""
    file: Path | None = None

    @property
    def shown(self) -> str:
        """The value for a person to judge, with nothing hidden, and cut where it is very long."""
        cut = self.value[:_LONGEST]
        rest = f"\n[{len(self.value) - _LONGEST} more characters]" if len(self.value) > _LONGEST else ""
        return f"{visible(cut, counted=False)}{rest}"


def git_programs(root: Path) -> list[GitProgram]:
    """What git would run in this folder because its repository says so. Blocks for a moment; never raises.

    A repository that git refuses to read runs nothing, so it has none.
    """
    place = _git(root, "rev-parse", "--git-common-dir")
    if not place:
        return []
    common = Path(os.path.normpath(root / os.fsdecode(place.removesuffix(b"\n"))))
    hooks = common / "hooks"
    listing = _git(root, "config", "--list", "--show-scope", "--includes", "-z")
    if len(listing) > _MOST_BYTES:
        large = GitProgram("configuration", "It is too large for what it runs to be listed.", common / "config")
        return [large, *_hooks(root, hooks)]
    found: dict[str, list[str]] = {}
    for scope, entry in _scoped(root, listing):
        key, _, raw = entry.partition(b"\n")
        name, value = (part.decode("utf-8", "backslashreplace") for part in (key, raw))
        own = scope in (b"local", b"worktree")
        if name == "core.hookspath" and (own or not value.startswith(("/", "~"))):
            hooks = Path(os.path.normpath(root / _expanded(os.fsdecode(raw))))
        if own and _runs(name, value):
            found.setdefault(name, []).append(value)
    keys = [GitProgram(name, "\n".join(values)) for name, values in sorted(found.items())]
    return [*keys, *_hooks(root, hooks)]


class ConfiguredFiles(msgspec.Struct, frozen=True):
    """What git's configuration of a folder says of files.

    Attributes:
        files: from which it is read.
        hooks: the folder of hooks that it names instead of git's own.
        programs: the programs and scripts that it runs, by their paths, there or not.
    """

    files: list[Path]
    hooks: Path | None
    programs: list[Path]


def configured_files(root: Path) -> ConfiguredFiles:
    """What is configured there. Blocks for a moment; never raises. Where git cannot be asked, there is nothing."""
    fields = _git(root, "config", "--list", "--show-origin", "--includes", "-z").split(b"\0")
    files: dict[Path, None] = {}
    hooks: Path | None = None
    programs: dict[Path, None] = {}
    for origin, entry in zip(fields[::2], fields[1::2], strict=False):
        if origin.startswith(b"file:"):
            files[Path(os.path.normpath(root / os.fsdecode(origin.removeprefix(b"file:"))))] = None
        key, _, value = entry.partition(b"\n")
        if key == b"core.hookspath" and value:
            hooks = Path(os.path.normpath(root / _expanded(os.fsdecode(value))))
        elif _runs(key.decode("utf-8", "backslashreplace"), value.decode("utf-8", "backslashreplace")):
            programs |= dict.fromkeys(_paths_in(root, os.fsdecode(value)))
    return ConfiguredFiles(list(files), hooks, list(programs))


def _paths_in(root: Path, command: str) -> Iterator[Path]:
    """The programs and scripts of a command, as paths: git runs it at the top of the working tree."""
    text = re.sub(r"([;&|(){}])", r" \1 ", command[:_LONGEST].lstrip().removeprefix("!"))
    try:
        words = shlex.split(text)
    except ValueError:  # an unclosed quote
        words = text.split()
    begins, script = True, False
    for word in words:
        if word in _BEGIN:
            begins, script = True, False
        elif word.startswith("-") or (begins and (_SETTING.match(word) or word in _WRAPPERS)):
            continue
        elif begins or script:
            path = Path(os.path.normpath(root / _expanded(word.replace("\0", ""))))
            if (script or "/" in word) and not path.is_dir():
                yield path
            begins, script = False, begins and bool(_INTERPRETER.fullmatch(word.rpartition("/")[2]))


def hooks_in_force(root: Path) -> frozenset[str]:
    """Names of the hooks that git runs in this folder, wherever they are kept. Blocks for a moment; never raises."""
    folder = configured_files(root).hooks
    if folder is None:
        place = _git(root, "rev-parse", "--git-common-dir")
        folder = Path(os.path.normpath(root / os.fsdecode(place.removesuffix(b"\n")))) / "hooks"
    found = {hook.file.name for hook in _hooks(root, folder) if hook.file is not None}
    configured = _git(root, "config", "-z", "--get-regexp", r"^hook\..*\.event$")  # since git 2.54
    events = {entry.partition(b"\n")[2].decode("utf-8", "replace") for entry in configured.split(b"\0")}
    return frozenset(found | events)


def _scoped(root: Path, listing: bytes) -> list[tuple[bytes, bytes]]:
    """Each entry with its scope. A git before 2.26 cannot tell scopes: then those of the repository are asked for."""
    if listing:
        fields = listing.split(b"\0")
        return list(zip(fields[::2], fields[1::2], strict=False))
    return [(b"local", each) for each in _git(root, "config", "--list", "--local", "--includes", "-z").split(b"\0")]


def _runs(name: str, value: str) -> bool:
    """Whether this key makes git start a program of the repository's choice."""
    section, _, rest = name.partition(".")
    variable = rest.rpartition(".")[2]
    if section == "alias":
        return value.lstrip().startswith("!")
    if section == "submodule" and variable == "update":
        return value.lstrip().startswith("!")
    if "ext::" in (f"{rest} {value}" if section == "url" else value) and section in _ADDRESSES:
        return True
    if name == "protocol.ext.allow":
        return value.lower() != "never"
    if value.strip().lower() in _BOOLEANS:  # git's own, or nothing
        return False
    return section == "pager" or variable in _RUNS.get(section, "").split()


def _hooks(root: Path, folder: Path) -> list[GitProgram]:
    """The executable files in a folder of hooks."""
    found: list[GitProgram] = []
    with contextlib.suppress(OSError, ValueError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".sample") or not _is_executable(entry):
                continue
            path = Path(entry.path)
            name = path.relative_to(root) if path.is_relative_to(root) else path
            found.append(GitProgram(os.fsencode(name).decode("utf-8", "backslashreplace"), file=path))
    return found


def _is_executable(entry: os.DirEntry[str]) -> bool:
    try:
        info = entry.stat()
    except OSError:
        return False
    return stat.S_ISREG(info.st_mode) and bool(info.st_mode & 0o111)


def _expanded(path: str) -> Path:
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for an unknown user


def _git(root: Path, *question: str) -> bytes:
    """What git says to a question that makes it run nothing: at most a byte more than is read; nothing if it fails."""
    passed = {name: value for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if (value := caller_environ().get(name))}
    environ = {**passed, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        with subprocess.Popen(
            ["git", "--no-pager", *question],
            cwd=root,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            timer = threading.Timer(_WITHIN, process.kill)
            timer.start()
            try:
                assert process.stdout is not None
                said = process.stdout.read(_MOST_BYTES + 1)
                if len(said) > _MOST_BYTES:
                    process.kill()
                    return said
                return said if process.wait() == 0 else b""
            finally:
                timer.cancel()
    except OSError:
        return b""

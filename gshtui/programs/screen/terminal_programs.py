"""Which shell lines need a terminal: full-screen programs, prompts of interpreters, whatever asks before it goes on.

`needs_terminal` judges a line before it runs, by the names of its programs; `complains` an output afterwards. Both may
miss a program, and neither runs anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gshtui.guard.policy.shell_line import read
from gshtui.programs.screen.foreground import EDITORS, PAGERS

_SCREENS = """
top htop btop atop iotop nethogs glances nvtop watch tmux screen zellij mc ranger nnn lf vifm yazi ncdu fzf sk peco
lazygit gitui tig lazydocker k9s dialog whiptail nmtui alsamixer mutt neomutt aerc irssi weechat lynx w3m links elinks
visudo vipw vigr passwd chsh su telnet ftp sftp mosh gdb lldb pdb ipython
"""
SCREENS = EDITORS | PAGERS | frozenset(_SCREENS.split())
"""Programs that draw or ask."""
_ANSWER_AND_END = frozenset(("--version", "--help", "-h", "-V", "--batch", "-b", "-es"))
"""Arguments with which such a program prints something and ends."""
_PROMPTS = frozenset(
    [
        "python",
        "python3",
        "node",
        "irb",
        "bash",
        "zsh",
        "sh",
        "fish",
        "lua",
        "ghci",
        "julia",
        "R",
        "redis-cli",
        "mongosh",
    ]
)
"""Interpreters that prompt when they are given nothing to run."""
_AGENTS = frozenset(("claude", "codex", "opencode", "gemini", "vibe", "aider", "copilot", "cursor-agent", "qwen"))
_HEADLESS = frozenset(("-p", "--print", "--prompt", "exec", "run", "mcp", "login", "--message", "-m"))
_BEFORE = frozenset(("sudo", "doas", "env", "command", "exec", "time", "nice", "ionice", "setsid", "stdbuf"))
"""Programs that run the program after their options."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_MESSAGES = frozenset(
    ["-m", "-F", "-C", "--message", "--file", "--no-edit", "--fixup", "--squash", "--reuse-message", "-am", "--dry-run"]
)
_PATCH = frozenset(("-p", "--patch", "-i", "--interactive", "-e", "--edit"))


def needs_terminal(line: str) -> bool:
    """Whether a program of the line would need a terminal for its input and its screen."""
    at = 0
    for command in read(line).commands:
        start = line.find(command.source, at)
        before, after = line[:start].rstrip(), line[start + len(command.source) :].lstrip()
        at = max(at, start)
        piped_out = after[:1] in (">", "|") and not after.startswith("||")
        piped_in = (before.endswith("|") and not before.endswith("||")) or after[:1] == "<"
        if not piped_out and _needs(command.texts, piped_in=piped_in):
            return True
    return False


_COMPLAINTS = (
    "not a terminal",
    "not to a terminal",
    "not from a terminal",
    "not a tty",
    "inappropriate ioctl for device",
    "/dev/tty: no such device or address",
    "terminal is required",
    "error opening terminal",
    "cannot open terminal",
    "could not open a new tty",
    "term environment variable not set",
    "terminal is not fully functional",
    "terminals database is inaccessible",
    "failed tty get",
    "open terminal failed",
    "eoferror: eof when reading a line",
    "must be run from a terminal",
    "requires a terminal",
    "requires an interactive terminal",
)


def complains(output: str) -> bool:
    """Whether the output of a program that has failed says that it lacks a terminal."""
    text = output.lower()
    return any(words in text for words in _COMPLAINTS)


def _needs(words: Sequence[str], *, piped_in: bool) -> bool:
    rest = list(words)
    while rest and (_ASSIGNMENT.fullmatch(rest[0]) or rest[0].rpartition("/")[2] in _BEFORE):
        wrapper = rest.pop(0)
        while rest and rest[0].startswith("-"):
            if rest.pop(0) in ("-i", "-s") and wrapper in ("sudo", "doas"):
                return True
    if not rest:
        return False
    name, arguments = rest[0].rpartition("/")[2], rest[1:]
    given = set(arguments)
    if name in SCREENS:
        return not given & _ANSWER_AND_END and not (piped_in and name not in PAGERS | {"fzf", "sk", "peco"})
    if piped_in:
        return False
    if name in _PROMPTS:
        return not arguments or arguments == ["-i"]
    if name in _AGENTS:
        return not given & (_HEADLESS | _ANSWER_AND_END)
    special = _SPECIAL.get(name)
    return special is not None and special(arguments)


def _git(arguments: Sequence[str]) -> bool:
    words = set(arguments)
    action = next((word for word in arguments if not word.startswith("-")), "")
    if action == "commit":
        return not words & _MESSAGES and not any(word.startswith(("-m", "--message=")) for word in words)
    if action in ("rebase", "add", "checkout", "restore", "reset", "stash", "clean"):
        return bool(words & _PATCH)
    return action in ("mergetool", "difftool")


def _container(arguments: Sequence[str]) -> bool:
    flags = [word for word in arguments if re.fullmatch(r"-[itd]{1,3}|--tty", word)]
    return any("t" in flag for flag in flags) or arguments[:1] == ["attach"]


def _ssh(arguments: Sequence[str]) -> bool:
    """A login: a host, and no command after it."""
    words, options = 0, iter(arguments)
    for word in options:
        if word in ("-N", "-f", "-V", "-T"):
            return False
        if word.startswith("-"):
            if len(word) == 2 and word[1] in "bcDEeFIiJLlmOopQRSWw":
                next(options, None)
        else:
            words += 1
    return words == 1


def _unless(*flags: str, most: int = 9) -> Callable[[Sequence[str]], bool]:
    """A client that prompts unless one of these flags says what to do, or it is given more than `most` words."""

    def prompts(arguments: Sequence[str]) -> bool:
        return not any(word.startswith(flags) for word in arguments) and len(arguments) <= most

    return prompts


_SPECIAL: dict[str, Callable[[Sequence[str]], bool]] = {
    "git": _git,
    "docker": _container,
    "podman": _container,
    "kubectl": _container,
    "ssh": _ssh,
    "psql": _unless("-c", "-f", "-l", "--command", "--file", "--list", "--version", "--help"),
    "mysql": _unless("-e", "--execute", "--version", "--help"),
    "mariadb": _unless("-e", "--execute", "--version", "--help"),
    "sqlite3": _unless("-version", "--version", most=1),
    "crontab": lambda arguments: "-e" in arguments,
    "systemctl": lambda arguments: "edit" in arguments,
    "npm": lambda arguments: arguments == ["init"],
}

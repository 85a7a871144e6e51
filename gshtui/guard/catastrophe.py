"""Commands that are refused whoever asks, because what they destroy cannot be brought back.

A short list of well-known disasters, matched on the words of a shell line; it is a seat belt and not a policy: a
command that is not found here is not thereby safe. Pure. The approval and the `bash` tool call it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

_OPERATORS = ";&|(){}`\n"
_SUBSTITUTION = re.compile(r"\$\(([^()]{1,2000})\)|`([^`]{1,2000})`")
_LONGEST = 200_000
_DEVICE = r"/dev/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d|rdisk\d|dm-\d|mapper/|md\d|loop\d)"
_FUNCTION = re.compile(r"([\w:.!]{1,40})\s{0,9}\(\s{0,9}\)\s{0,9}\{(.{0,200})", re.DOTALL)
_TO_DEVICE = re.compile(rf">\|?\s*['\"]?{_DEVICE}")
_WRAPPERS = frozenset(
    (
        *("sudo", "doas", "env", "command", "exec", "nohup", "nice", "ionice", "time", "builtin", "setsid", "stdbuf"),
        *("xargs", "then", "do", "else", "elif", "if", "while", "until", "!"),
    )
)
"""Words that a command may stand behind."""
_EVERYTHING = re.compile(
    r"""^(?:/+|/+\*|/+\.+/*|~|~/+|~/+\*|\$HOME/*\*?|\$\{HOME\}/*\*?
    |/(?:bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var|Users|System|Library|Applications)/*\*?
    |/home/[^/]+/*\*?|/Users/[^/]+/*\*?)$""",
    re.VERBOSE,
)
_POWER = frozenset(("shutdown", "reboot", "halt", "poweroff", "telinit"))
_AGENTS = frozenset(("tmux", "gsh-tui", "init", "systemd", "sshd"))
_PARTITIONING = frozenset(("wipefs", "sgdisk", "blkdiscard"))


def catastrophe(command: str) -> str:
    """Why the command must never run, in a few words (`it deletes /`), or empty."""
    if len(command) > _LONGEST:
        return f"a command of {len(command):,} characters cannot be judged"
    if any(_calls_itself_twice(match) for match in _FUNCTION.finditer(command)):
        return "it is a fork bomb"
    if match := _TO_DEVICE.search(command):
        return f"it overwrites the disk {match.group().lstrip('>| ')}…"
    folder = ""
    for words in _simple_commands(command):
        program, arguments = _unwrapped(words)
        if program == "cd":
            folder = arguments[0] if arguments else "~"
            continue
        if why := _judged(program, arguments, folder):
            return why
    return ""


def _calls_itself_twice(match: re.Match[str]) -> bool:
    name, body = match.group(1), "".join(match.group(2).split())
    return f"{name}|{name}" in body


def _simple_commands(command: str) -> Iterator[list[str]]:
    """The words of each simple command and of those inside substitutions, by a rough reading of the grammar."""
    for match in _SUBSTITUTION.finditer(command):
        yield from _segments(match.group(1) or match.group(2))
    yield from _segments(command)


def _segments(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if word and all(character in _OPERATORS for character in word):
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:  # a quote that is never closed: what was read so far counts
        pass
    yield words


def _unwrapped(words: list[str]) -> tuple[str, list[str]]:
    """The program and its arguments, behind `sudo`, `env A=b`, `bash -c` and their like."""
    at = 0
    while at < len(words):
        name = words[at].rpartition("/")[2].lstrip("\\")
        if name in _WRAPPERS or "=" in name or (at and name.startswith("-")):
            at += 1
        else:
            return name, words[at + 1 :]
    return "", []


def _judged(program: str, arguments: list[str], folder: str) -> str:
    if program in ("bash", "sh", "zsh", "dash", "ksh", "eval", "su", "ssh"):
        inner = [argument for argument in arguments if " " in argument]
        return next((why for argument in inner if (why := catastrophe(argument))), "")
    flags, operands = _split(arguments)
    if program == "rm":
        return _deletes(flags, operands, folder)
    if program in ("chmod", "chown", "chgrp"):
        recursive = "R" in flags or "recursive" in flags
        target = next((o for o in operands[1:] if _EVERYTHING.match(_placed(o, folder))), "")
        return f"it changes the rights of everything under {target}" if recursive and target else ""
    if program == "find" and ("-delete" in arguments or "rm" in arguments):
        target = operands[0] if operands else ""
        return f"it deletes everything under {target}" if _EVERYTHING.match(target) else ""
    return _machine(program, arguments, operands)


def _machine(program: str, arguments: list[str], operands: list[str]) -> str:
    """What is done to disks, power and processes."""
    if program.startswith("mkfs") or program in _PARTITIONING:
        return f"{program} destroys a file system" if operands else ""
    if program in ("dd", "shred", "cp", "tee", "cat", "badblocks"):
        target = [a.removeprefix("of=") for a in arguments if program != "dd" or a.startswith("of=")]
        writes = target[-1:] if program == "cp" else [] if program == "cat" else target
        return next((f"it overwrites the disk {t}" for t in writes if re.match(_DEVICE, t)), "")
    if program in _POWER or (program == "init" and operands[:1] in (["0"], ["6"])):
        return "it stops the machine"
    if program == "systemctl" and set(operands) & {"poweroff", "reboot", "halt", "kexec", "emergency", "rescue"}:
        return "it stops the machine"
    if program in ("kill", "pkill", "killall", "killall5"):
        if program == "killall5" or (program == "kill" and operands[-1:] in (["1"], ["-1"])):
            return "it ends every process"
        if program == "kill" and len(arguments) > 1 and arguments[-1] == "-1":
            return "it ends every process"
        if program != "kill" and set(operands) & _AGENTS:
            return f"it ends every {operands[-1]}"
    return ""


def _deletes(flags: str, operands: list[str], folder: str) -> str:
    if not ("r" in flags or "R" in flags or "recursive" in flags):
        return ""
    target = next((o for o in operands if _EVERYTHING.match(_placed(o, folder))), "")
    return f"it deletes everything under {_placed(target, folder)}" if target else ""


def _placed(operand: str, folder: str) -> str:
    """An operand such as `*` seen from the folder that the line changed to."""
    if folder and operand in ("*", ".", "./", "./*", ".*"):
        return folder.rstrip("/") + "/*"
    return operand


def _split(arguments: list[str]) -> tuple[str, list[str]]:
    """All flags run together, and what is no flag."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    flags = "".join(argument.lstrip("-") for argument in arguments[:end] if argument.startswith("-"))
    operands = [a for a in arguments[:end] if not a.startswith("-") or a == "-"] + arguments[end + 1 :]
    return flags, operands

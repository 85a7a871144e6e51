"""What the policy refuses, whoever asks: what cannot be undone, reveals keys, or changes the guard.

It looks at every simple command that can be found in a line, including those inside substitutions, functions, `sudo`,
`bash -c` and `xargs`. `program_table.toml` says which programs it is about. It is a safety net: a command that it does
not refuse is not therefore harmless. Reads no files. Consulted by the policy alone (`shell_policy.refused`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gshtui.guard.policy import program_table, sensitive_paths, shell_line
from gshtui.guard.policy.shell_line import ShellLine
from gshtui.guard.secrets.secret_names import is_secret_name

_LONGEST = 131_000
_NESTED = 6
"""How deep `bash -c 'sudo bash -c …'` is followed."""
_DISKS = r"(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d|disk/|rdisk\d|dm-\d|mapper/|md\d|loop\d)"
_DISK = re.compile(rf"/dev/{_DISKS}")
_FUNCTION = re.compile(r"([\w:.!]{1,40}+)\s{0,9}+\(\s{0,9}+\)\s{0,9}+\{(.{0,200})", re.DOTALL)
_TO_DISK = re.compile(rf">[|&]?\s{{0,9}}+['\"]?(/(?:\.?/)*+dev/(?:\.?/)*+{_DISKS})")
"""A redirection in text that no parser has read: a script of `awk`, a line for another shell, a broken line."""
_EVERYTHING = re.compile(
    r"""^(?:/+|/+\*|/+\.+/*|~|~/+|~/+\*|\$HOME/*\*?|\$\{HOME\}/*\*?
    |/(?:bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var|Users|System|Library|Applications)/*\*?
    |/home/[^/]+/*\*?|/Users/[^/]+/*\*?)$""",
    re.VERBOSE,
)
_ABOVE = re.compile(r"^(?:\./)*\.\.(?:/+\.\.)*/*\*?$")
_EXECUTES = re.compile(
    r"""(?xi)^(?:core\.(?:hookspath|fsmonitor|sshcommand|pager|editor|gitproxy|attributesfile|worktree) | alias\..+
    | (?:filter|diff|merge|difftool|mergetool|pager|gpg|credential|guitool|man|browser|submodule|include|includeif)\..+
    | sequence\.editor | init\.templatedir | uploadpack\..+ | receive\..+ | remote\..+\.(?:uploadpack|receivepack|vcs)
    | protocol\..+ | url\..+\.(?:insteadof|pushinsteadof) | ssh\..+ | http\.(?:proxy|.*\.proxy|sslverify))$"""
)
"""Settings of git that name a program, or where it talks to."""
_ARGUMENTS = 50
_OUR_MODULE = re.compile(r"-[A-Za-z]*mgshtui(?:\.__main__)?|(?:.*/)?gshtui/__main__\.py")
_OUR_VARIABLE = re.compile(r"\bGSH_[A-Z_]{1,80}=")
_STAGE = re.compile(r"[|;()]")
"""What may stand before a command in a line of the command language."""
_WIDENING = re.compile(r"(?:agent|sandbox|providers|accounts|groups|mcp|hooks?|python|worktrees|shared|tmux|ssh)\b")
"""Settings that decide what runs, where, and what is asked."""
_LAUNCHER = re.compile(r"(?:python|pypy)[\d.]*t?|uvx?|pipx|poetry|pdm|hatch|rye")
"""Programs that run our own by its name, or as a module or script."""
_NETWORK_FILE = re.compile(r"^/dev/(?:tcp|udp)/")
_VARIABLE = re.compile(r"\$\{?[!#]?([A-Za-z_][A-Za-z0-9_]*)")


def _is(role: program_table.Role, program: str) -> bool:
    return program in program_table.role(role)


def refused_line(command: str, depth: int = 0) -> str:
    """Why the line must never run, in a few words (`it deletes everything under /`); empty if it may."""
    if len(command) > _LONGEST:
        return f"a command of {len(command):,} characters cannot be judged"
    if any(_calls_itself_twice(match) for match in _FUNCTION.finditer(command)):
        return "it is a fork bomb"
    parsed = shell_line.is_bounded(command)
    line = shell_line.read(command) if parsed else shell_line.read_roughly(command)
    if line is None:
        return f"a line of more than {shell_line.ROUGH_COMMANDS:,} commands cannot be judged"
    folder = ""
    programs: list[tuple[str, list[str]]] = []
    for simple in line.commands:
        program, arguments = _unwrapped(simple.texts)
        if program in ("cd", "pushd"):
            folder = arguments[0] if arguments else "~"
            continue
        programs += [(program, arguments), *_started(program, arguments)]
        if why := _refused_command(program, arguments, folder, depth):
            return why
    ours = any(_given_to_us(program, arguments) is not None for program, arguments in programs)
    if ours and _OUR_VARIABLE.search(command):
        return "it changes what the workbench may do without asking; only a person may do that"
    if why := next((why for redirect in line.redirects if (why := _refused_redirect(redirect, folder))), ""):
        return why
    understood = parsed and not any(rule in ("syntax", "size") for rule, _ in line.odd)
    if why := _overwrites(line) if understood else _overwritten(command):
        return why
    if any(_is("shell", program) for program, _ in programs):
        for body in line.bodies if depth < _NESTED else ():
            if why := refused_line(body, depth + 1):
                return why
    return _gives_keys(line, programs, folder)


def _overwritten(text: str) -> str:
    """Why a text must not be run as a shell line, as it writes to a disk; or empty."""
    match = _TO_DISK.search(text)
    return f"it overwrites the disk {match[1]}…" if match else ""


def _overwrites(line: ShellLine) -> str:
    """Why a text inside the line, which some program may run, writes to a disk; or empty."""
    programs = [_unwrapped(simple.texts)[0] for simple in line.commands]
    piped = any(_is("shell", program) for program in programs)  # what `echo` prints may be run there
    texts = [] if all(_is("prints_only", program) for program in programs) else list(line.bodies)
    for program, simple in zip(programs, line.commands, strict=True):
        if piped or not _is("prints_only", program):
            texts += simple.texts
    return next((why for text in texts if (why := _overwritten(text))), "")


def _calls_itself_twice(match: re.Match[str]) -> bool:
    name, body = match.group(1), "".join(match.group(2).split())
    return f"{name}|{name}" in body


def _unwrapped(words: Sequence[str]) -> tuple[str, list[str]]:
    """The program and its arguments, without a leading `sudo`, `env A=b`, `timeout 5` and the like."""
    at, behind = 0, ""
    while at < len(words):
        name = words[at].rpartition("/")[2].lstrip("\\")
        if behind and program_table.takes_next_word(behind, words[at]):
            at += 2
        elif behind == "env" and words[at] in ("-S", "--split-string") and at + 1 < len(words):
            return _unwrapped(("env", *words[at + 1].split(), *words[at + 2 :]))
        elif behind == "env" and (split := re.match(r"(?:-[iv0]*S|--split-string=)(?=.)", words[at])):
            return _unwrapped(("env", *words[at][split.end() :].split(), *words[at + 1 :]))
        elif _is("wrapper", name) or re.match(r"[A-Za-z_]\w*=", words[at]) or (at and name.startswith("-")):
            behind = name if _is("wrapper", name) else behind
            at += 1
        elif behind in ("timeout", "nice", "ionice", "chrt", "flock") and re.fullmatch(r"[\d.]+[smhd]?|\+\d+", name):
            at += 1
        else:
            return name, list(words[at + 1 :])
    # A wrapper on its own is a program too: a bare `env` prints every variable.
    return (words[0].rpartition("/")[2], list(words[1:])) if words else ("", [])


def _refused_command(program: str, arguments: list[str], folder: str, depth: int) -> str:
    if _is("shell", program) and depth < _NESTED:
        inner = (
            [" ".join(arguments)] if program == "eval" else [text for text in arguments if re.search(r"[ ;>]", text)]
        )
        return next((why for text in inner if text and (why := refused_line(text, depth + 1))), "")
    if depth < _NESTED:
        for inner_program, inner_arguments in _started(program, arguments):
            if why := _refused_command(inner_program, inner_arguments, folder, depth + 1):
                return why
    flags, operands = _split(arguments)
    if why := _named(program, arguments):
        return why
    if program == "rm" and (why := _deletes(flags, operands, folder)):
        return why
    if _changes_record(program, arguments, operands, folder):
        return f"{operands[0][:80]} is the record, which only the workbench changes"
    if program in ("chmod", "chown", "chgrp"):
        recursive = "R" in flags or "recursive" in flags
        target = next((o for o in operands[1:] if _is_everything(_placed(o, folder))), "")
        if recursive and target:
            return f"it changes the permissions of everything under {target}"
    if program == "find" and ("-delete" in arguments or "rm" in arguments):
        target = operands[0] if operands else ""
        if _is_everything(_placed(target, folder)):
            return f"it deletes everything under {target}"
    if program == "mv" and any(map(_is_everything, operands[:1])):
        return f"it moves everything under {operands[0]}"
    return _harms_machine(program, arguments, operands, folder) or _takes_hold(program, arguments, operands, folder)


def _started(program: str, arguments: list[str]) -> list[tuple[str, list[str]]]:
    """What `find` runs for each file, the first of its folders behind it."""
    flags = ("-exec", "-execdir", "-ok", "-okdir") if program == "find" else ()
    return [
        _unwrapped([*arguments[arguments.index(flag) + 1 :], *arguments[:1]]) for flag in flags if flag in arguments
    ]


def _named(program: str, arguments: list[str]) -> str:
    """Why the table refuses this program, or this subcommand of it."""
    words = [program, *(word for word in arguments if not word.startswith("-") or program == "gpg")]
    lines = [words]
    if (given := _given_to_us(program, arguments)) is not None:
        lines = [["gsh-tui", *line] for line in _lines_for_us(given)]
    return next((why for known, why in program_table.refusals() for said in lines if said[: len(known)] == known), "")


def _harms_machine(program: str, arguments: list[str], operands: list[str], folder: str) -> str:
    """Judge commands for disks, power and processes by what they are given."""
    if program.startswith("mkfs") or _is("makes_file_systems", program):
        return f"{program} destroys a file system" if operands else ""
    if program in ("dd", "shred", "cp", "tee", "badblocks"):
        target = [a.removeprefix("of=") for a in arguments if program != "dd" or a.startswith("of=")]
        writes = target[-1:] if program == "cp" else target
        if disk := next((t for t in writes if _DISK.match(_absolute(t, folder))), ""):
            return f"it overwrites the disk {disk}"
    if program == "init" and operands[:1] in (["0"], ["6"]):
        return "it stops the machine"
    if program == "systemctl" and set(operands) & {"poweroff", "reboot", "halt", "kexec", "emergency", "rescue"}:
        return "it stops the machine"
    if program == "kill" and (operands[-1:] in (["1"], ["-1"]) or (len(arguments) > 1 and arguments[-1] == "-1")):
        return "it ends every process"
    ended = [operand for operand in operands if _is("agent_program", operand) or _is("ours", operand)]
    if program in ("pkill", "killall") and ended:
        return f"it ends every {operands[-1]}"
    if program == "tmux" and "kill-server" in arguments:
        return "it ends every tmux session"
    if program == "mount" and any("remount" in word or "bind" in word for word in arguments):
        return "it changes mounts, and with them what is protected"
    if program == "sysctl" and any("=" in word or word in ("-w", "--write") for word in arguments):
        return "it changes a kernel setting"
    return ""


def _letters(option: str) -> set[str]:
    """The letters of a short option such as `-cw`; empty for any other word."""
    letters = option[1:]
    return set(letters) if option[:1] == "-" and letters.isascii() and letters.isalpha() else set()


def _takes_hold(program: str, arguments: list[str], operands: list[str], folder: str) -> str:
    """Judge commands that run something later, widen what the guard permits, or hide what was done."""
    if program == "git" and "config" in operands[:1] and not {"--get", "--list", "-l", "--unset"} & set(arguments):
        named = next((word for word in operands[1:] if _EXECUTES.match(word)), "")
        if named and (operands[-1] != named or "--replace-all" in arguments):
            return f"it sets git's {named[:60]}, which decides what git runs"
    if (given := _given_to_us(program, arguments)) is not None and _unasked(given):
        return "it changes what the workbench may do without asking; only a person may do that"
    if program == "history" and any(_letters(word) & set("cdw") for word in arguments):
        return "it removes recorded shell history"
    if program == "crontab" and arguments[:1] != ["-l"] and (operands or "-" in arguments or "-r" in arguments):
        return "it changes scheduled jobs"
    if why := next((why for place in _into(program, arguments) if (why := _refused_target(place, folder))), ""):
        return why
    if _is("writes_files", program) or (
        program in ("sed", "perl") and any(re.match(r"-[a-z]*i", a) for a in arguments)
    ):
        written = operands[-1:] if _is("writes_last_operand", program) else operands[_is("takes_script", program) :]
        return next((why for operand in written if (why := _refused_target(operand, folder))), "")
    if program == "uniq":
        return _refused_target(operands[1], folder) if len(operands) > 1 else ""
    if program in ("curl", "wget"):
        return next((why for place in _saved_to(program, arguments) if (why := _refused_target(place, folder))), "")
    if program == "dd":
        written = [word.removeprefix("of=") for word in arguments if word.startswith("of=")]
        return next((why for operand in written if (why := _refused_target(operand, folder))), "")
    return ""


def _saved_to(program: str, arguments: list[str]) -> Iterator[str]:
    """The files that a download is written to by name."""
    short, long = ("o", "--output") if program == "curl" else ("O", "--output-document")
    for at, word in enumerate(arguments):
        if word == long or re.fullmatch(rf"-[A-Za-z]*{short}", word):
            yield from arguments[at + 1 : at + 2]
        elif word.startswith(f"{long}="):
            yield word.partition("=")[2]
        elif found := re.match(rf"-[A-Za-z]*?{short}(?=[/~.$])", word):
            yield word[found.end() :]


def _into(program: str, arguments: list[str]) -> Iterator[str]:
    """What `cp -t FOLDER file` and the like write, and what they make in the folder that is named last."""
    if not _is("writes_last_operand", program) and program != "mv":
        return
    operands = _split(arguments)[1]
    folders = operands[-1:] if len(operands) > 1 else []
    for at, word in enumerate(arguments):
        if word in ("-t", "--target-directory"):
            folders += arguments[at + 1 : at + 2]
        elif word.startswith("--target-directory="):
            folders.append(word.partition("=")[2])
        elif program != "rsync" and re.match(r"-[a-su-zA-Z]*t(?=.)", word):
            folders.append(word[word.index("t") + 1 :])
    for place in folders:
        yield from (f"{place.rstrip('/') or '/'}/{operand.rstrip('/').rpartition('/')[2]}" for operand in operands)


def _lines_for_us(given: list[str]) -> list[list[str]]:
    """What our own program is told to do: its first words, and each command of a line of the language behind `run`."""
    words = _split(given)[1][:2]
    lines = [words]
    if words[:1] == ["run"]:  # in one word or in several
        rest = given[given.index("run") + 1 :]
        for at in range(min(len(rest), _ARGUMENTS)):
            stages = _STAGE.split(" ".join(rest[at:]))[:_ARGUMENTS]
            lines += [stage.lstrip("/ ").split()[:2] for stage in stages]
    return lines


def _unasked(given: list[str]) -> bool:
    """Whether our own program, with these arguments, does unasked what it would ask about, or what nobody can see."""
    modes = [given[at + 1 : at + 2] for at, word in enumerate(given) if word == "--mode"]
    modes += [[word.removeprefix("--mode=")] for word in given if word.startswith("--mode=")]
    settings = [word for at, word in enumerate(given) if word.startswith("--set=") or given[at - 1 : at] == ["--set"]]
    widens = any(_WIDENING.match(word.removeprefix("--set=")) for word in settings)
    unseen = _split(given)[1] == ["run"]  # its lines come from standard input
    return any(mode not in (["plan"], ["ask"]) for mode in modes) or "--yes" in given or widens or unseen


def _given_to_us(program: str, arguments: list[str]) -> list[str] | None:
    """The arguments of our own program, by its name or as a module or script of Python; `None`: another program."""
    if _is("ours", program):
        return arguments
    if not _LAUNCHER.fullmatch(program):
        return None
    for at, word in enumerate(arguments):
        if _is("ours", word.rpartition("/")[2]) or _OUR_MODULE.fullmatch(word):
            return arguments[at + 1 :]
    return None


def _refused_redirect(redirect: shell_line.Redirect, folder: str) -> str:
    target = redirect.target.text
    if _NETWORK_FILE.match(target):
        return "it opens a connection to the network"
    if ">" in redirect.operator:
        if _DISK.match(_absolute(target, folder)):
            return f"it overwrites the disk {target[:80]}"
        return _refused_target(target, folder)
    return ""


def _refused_target(operand: str, folder: str) -> str:
    """Why nothing may be written there, or empty."""
    path = _absolute(operand, folder)
    if sensitive_paths.controls(path.removeprefix(_HERE)):
        return f"{operand[:80]} decides what git or the workbench runs, so no shell line may change it"
    if path.startswith(_HERE):
        return ""
    if sensitive_paths.is_history(path):
        return "it removes or changes recorded shell history"
    return f"{operand[:80]} decides what runs later" if sensitive_paths.starts_later(path) else ""


def _gives_keys(line: ShellLine, programs: list[tuple[str, list[str]]], folder: str) -> str:
    """Where keys and passwords would be printed or sent."""
    sends = any(_is("sends", program) for program, _ in programs)
    touched: list[str] = [redirect.target.text for redirect in line.redirects if "<" in redirect.operator]
    for program, arguments in programs:
        if program == "printenv" and any(is_secret_name(word) for word in arguments):
            return "it prints a key from the environment"
        if _is("shows_files", program) or sends:
            touched += _files(program, arguments)
        if _is("copies_files", program):
            touched += _copied(program, arguments)
        if program in ("echo", "printf") or sends:
            names = [name for word in arguments for name in _VARIABLE.findall(word)]
            if any(name.isupper() and name not in line.assigned and is_secret_name(name) for name in names):
                return "it puts a key from the environment into a command"
    for word in touched:
        for part in {word, word.partition("=")[2], word.partition("@")[2], word.partition(":")[2]} - {""}:
            if found := _key(part, folder):
                return found
    return ""


def _files(program: str, arguments: list[str]) -> list[str]:
    """The arguments that may name files whose content is printed or sent."""
    if _is("takes_script", program) and not {"-e", "-f"} & set(arguments):
        script = next((at for at, word in enumerate(arguments) if not word.startswith("-")), 0)
        return arguments[:script] + arguments[script + 1 :]
    if program in ("ssh", "scp", "sftp", "rsync") and "-i" in arguments:
        at = arguments.index("-i")  # the key that it logs in with
        return arguments[:at] + arguments[at + 2 :]
    return arguments


def _copied(program: str, arguments: list[str]) -> list[str]:
    """What is copied or packed: not what the copy is called, which may well be `.env`."""
    operands = _split(arguments)[1]
    if not (_is("writes_last_operand", program) or program in ("mv", "ditto")):
        return [*arguments, *operands]
    names_target = any(re.match(r"-[a-su-zA-Z]*t|--target-directory", word) for word in arguments)
    return operands if names_target or len(operands) == 1 else operands[:-1]


_PUBLIC = re.compile(r"\.pub$|/\.ssh/(?:known_hosts|config|authorized_keys)[^/]*$")
_KEY_FILE = re.compile(r"\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx)$|/credentials(?:\.\w+)?$|secrets?\.\w+$")


def _key(word: str, folder: str) -> str:
    if len(word) > 4096 or "\0" in word or "\n" in word or not any(sign in word for sign in "./~_"):
        return ""
    path = _absolute(word, folder)
    kind = sensitive_paths.secret(Path(path))
    if kind.startswith("another"):
        return f"{word[:80]} holds {kind}"
    if kind != "keys or passwords" or _PUBLIC.search(path):
        return ""
    if path.startswith(_HERE) and _KEY_FILE.search(path):
        return ""  # a project's own certificates and samples are a question, not a refusal
    if re.search(r"/\.(?:mozilla|thunderbird)/|/\.config/(?:google-chrome|chromium)", path):
        return f"{word[:80]} holds {kind}"
    return f"{word[:80]} holds {kind}; no shell line may print, copy or send them"


_HERE = "/\x01"
"""Represents the folders that the line runs in; no real folder's name starts like this."""
_BELOW = _HERE + "/\x02" * 40


def _absolute(word: str, folder: str) -> str:
    """The word as a path: below the home folder, below `_HERE`, or as it is."""
    home = os.path.expanduser("~")  # noqa: PTH111 - there is always an answer
    base = _BELOW if not folder else _absolute(folder, "")
    text = _FOLDER.sub(lambda found: _FOLDERS[found[1] or found[2]], word)
    text = re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/|$)", lambda _: home, text)
    text = text if text.startswith("/") else f"{base}/{text}"
    path = os.path.normpath(text)
    return path.removeprefix("/") if path.startswith("//") else path


def _deletes(flags: str, operands: list[str], folder: str) -> str:
    if not ("r" in flags or "R" in flags or "recursive" in flags):
        return ""
    target = next((o for o in operands if _is_everything(_placed(o, folder)) or _ABOVE.match(o)), "")
    return f"it deletes everything under {_placed(target, folder)}" if target else ""


_RECORDS = ("gsh.db", "sessions.db")
_CHANGES_RECORD = re.compile(
    r"(?i)\b(?:delete|update|insert|replace|drop|alter|create|vacuum|reindex|attach|pragma)\b"
    r"|\.(?:restore|import|read|shell|system|load|clone|recover|save|backup|open)\b"
)


def _changes_record(program: str, arguments: list[str], operands: list[str], folder: str) -> bool:
    """Whether a command for databases says a statement that may change what the workbench has recorded."""
    if program not in ("sqlite3", "sqlite", "litecli", "sqlite-utils") or not any(
        _is_record(_absolute(operand, folder)) for operand in operands
    ):
        return False
    return any(_CHANGES_RECORD.search(word) for word in arguments)


def _is_record(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in _RECORDS and "gsh" in folder.split("/")


_FOLDERS = {
    "XDG_RUNTIME_DIR": "/run/user/0",
    "XDG_DATA_HOME": "~/.local/share",
    "XDG_STATE_HOME": "~/.local/state",
    "XDG_CONFIG_HOME": "~/.config",
}
"""The folders in which the workbench has its own, each with where it usually is."""
_FOLDER = re.compile(rf"^\$(?:({'|'.join(_FOLDERS)})|\{{({'|'.join(_FOLDERS)})(?::?-[^}}]*)?\}})(?=/|$)")


def _is_everything(operand: str) -> bool:
    """Whether it names all of the machine or of a home, in whatever words: `/usr/..` is `/`."""
    if _EVERYTHING.match(operand):
        return True
    rooted = operand.startswith(("/", "~", "$HOME", "${HOME}"))
    return rooted and _EVERYTHING.match(os.path.normpath(operand)) is not None


def _placed(operand: str, folder: str) -> str:
    """An operand such as `*` seen from the folder that the line changed to."""
    if folder and operand in ("*", ".", "./", "./*", ".*"):
        return folder.rstrip("/") + "/*"
    return operand


def _split(arguments: list[str]) -> tuple[str, list[str]]:
    """All flags in one string, and the other words."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    flags = "".join(argument.lstrip("-") for argument in arguments[:end] if argument.startswith("-"))
    operands = [a for a in arguments[:end] if not a.startswith("-") or a == "-"] + arguments[end + 1 :]
    return flags, operands

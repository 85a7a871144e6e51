"""The verdict on a shell line that an agent wants to run: allow, ask or deny, by which rule, and why, for each part.

It allows a line of literal words if every command is known to only read this project. Commands that build or test the
project need approval, or `--yes` (`contained`). Anything it does not understand needs approval. It looks at files only
to see where paths lead, and opens only git's configuration. Called by the `bash` tool, the shared shell and
`guard check`.
"""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
import shlex
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.commands.declaration import RuleScope
from gshtui.guard.policy import git_policy, program_table, refusal, sensitive_paths, shell_line
from gshtui.guard.policy.shell_line import ShellWord, SimpleCommand
from gshtui.system.caller_environment import caller_environ

Verdict = Literal["allow", "ask", "deny"]
_PARTS = 50
_MATCHES = 500
"""Most files that a pattern may match; with more, it is not examined."""
_PATTERNS = 3
"""Parts of a path that may be patterns: each multiplies the folders to look into."""
_WALKED = 2_000
"""Files that a search of everything may pass by."""
_LOOKED = 20_000
"""Files and folders among which keys are looked for before `rg`."""
_LEAVES_ALONE = frozenset(("redirection", "background", "compound", "heredoc"))
"""What may stand in a line without changing what its other commands are."""
_CHANGES_SHELL = frozenset(
    ("cd", "pushd", "popd", "eval", "source", ".", "alias", "exec", "export", "set", "shopt", "hash", "unset", "trap")
)
"""Commands after which the next one may be another program, or be in another folder."""
ENVIRONMENT = {
    "GIT_CONFIG_COUNT": "6",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": "/dev/null",
    "GIT_CONFIG_KEY_2": "safe.bareRepository",
    "GIT_CONFIG_VALUE_2": "explicit",
    "GIT_CONFIG_KEY_3": "log.showSignature",
    "GIT_CONFIG_VALUE_3": "false",
    "GIT_CONFIG_KEY_4": "diff.ignoreSubmodules",
    "GIT_CONFIG_VALUE_4": "all",
    "GIT_CONFIG_KEY_5": "submodule.recurse",
    "GIT_CONFIG_VALUE_5": "false",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
"""What a line that only reads is run with, so that git starts no program of the repository's."""


class Part(msgspec.Struct, frozen=True):
    """One simple command and its verdict."""

    text: str
    verdict: Verdict
    rule: str
    why: str = ""


class Judgement(msgspec.Struct, frozen=True):
    """The verdict on a line."""

    verdict: Verdict
    rule: str
    why: str
    parts: tuple[Part, ...] = ()
    contained: bool = False
    """It clearly stays inside the project: `--yes` runs it."""
    pattern: str = ""
    """What `always` would cover; empty where that is not offered."""
    programs: tuple[str, ...] = ()
    """The programs that it runs, where all of it was understood."""
    folders: tuple[Path, ...] = ()
    """Real folders that it may be in."""
    machine: bool = False
    """All of them describe the machine or the person's surroundings, which look different from within a sandbox."""
    scope: RuleScope | None = None
    """What the rule of `always` would name."""
    of_line: bool = False
    """`why` speaks of the whole line, not of one of its commands."""

    @property
    def reads(self) -> bool:
        """All that it runs are readers of this project, though its output may go to `/dev/null`."""
        return self.contained and all(part.verdict == "allow" for part in self.parts)

    @property
    def sentence(self) -> str:
        """Why it is not simply run, with the part and the rule, as the end of a sentence."""
        part = next((part for part in self.parts if part.rule == self.rule and part.verdict != "allow"), None)
        words = f"`{_short(part.text)}`" if part is not None and len(self.parts) > 1 and not self.of_line else ""
        named = f"{words}: " if words and not self.why.startswith(words) else ""
        return f"{named}{self.why} (rule {self.rule})"


def judge(command: str, folder: Path, project: Path) -> Judgement:
    """What may be done with this line for bash, run in `folder`. Blocks for a moment: it looks where paths lead."""
    if why := refused(command):
        return Judgement("deny", "catastrophe", why, _refused_parts(command, why))
    if strange := shell_line.strange_character(command):
        line, why = shell_line.read(command), f"it contains {strange}"
        parts = _parts_of(line, "character", why, folder, project, plain=True)
        return Judgement("ask", "character", why, parts, of_line=True)
    line = shell_line.read(command)
    plain = shell_line.plain_commands(command)
    parsed = tuple(tuple(simple.texts) for simple in line.commands)
    expected = set[str]()
    if plain is not None:
        expected = {rule for rule, is_so in (("redirection", plain.quiet), ("expansion", plain.has_variables)) if is_so}
    read_from = [word.target.text for word in line.redirects if "<" in word.operator and word.target.text != os.devnull]
    inputs = [word.text for words in plain.inputs for word in words] if plain is not None else []
    odd = [found for found in line.odd if found[0] not in expected]
    if (
        plain is None
        or odd
        or read_from != [name for name in inputs if name != os.devnull]
        or parsed != tuple(tuple(word.text for word in words) for words in plain.commands)
    ):
        rule, why = line.odd[0] if line.odd else ("syntax", "it is not made of literal words only")
        if not command.strip():
            rule, why = "syntax", "it is empty"
        parts = _parts_of(line, rule, why, folder, project, plain=plain is not None)
        return Judgement("ask", rule, why, parts, of_line=True)
    if len(plain.commands) > _PARTS:
        return Judgement("ask", "size", f"{len(plain.commands)} commands are too many to judge")
    ground = _MachineState(Path(os.path.realpath(folder)), Path(os.path.realpath(project)))
    judged = [
        _judged(SimpleCommand(words, source.source), join, ground, files)
        for words, join, source, files in zip(plain.commands, plain.joins, line.commands, plain.inputs, strict=True)
    ]
    parts = tuple(part for part, _ in judged)
    contained = all(inside for _, inside in judged)
    pattern, scope = (
        _pattern(plain.commands[0], judged[0][0])
        if len(parts) == 1 and not (plain.quiet or plain.has_variables)
        else ("", None)
    )
    first = next((part for part, inside in judged if not inside), None)
    first = first or next((part for part in parts if part.verdict != "allow"), None)
    if first is None:
        rule, why = "reader", "it only reads this project"
        if plain.quiet:
            rule, why = "reader", "it only reads this project, and writes only to /dev/null or a descriptor"
        readings = [program_table.read_words([word.text for word in words]) for words in plain.commands]
        return Judgement(
            "allow",
            rule,
            why,
            parts,
            True,
            pattern,
            tuple(dict.fromkeys(words[0].text for words in plain.commands)),
            ground.folders,
            all(reading is not None and reading.program.machine for reading in readings),
            scope,
        )
    return Judgement("ask", first.rule, first.why, parts, contained, pattern, scope=scope)


def _parts_of(
    line: shell_line.ShellLine, rule: str, why: str, folder: Path, project: Path, *, plain: bool
) -> tuple[Part, ...]:
    """The commands of a line that is not made of literal words only: each judged alone, if it stands alone.

    Nothing is allowed by that: the line asks. Where one command decides what another one does, none is told apart.
    """
    alone = not plain and not line.assigned and all(found in _LEAVES_ALONE for found, _ in line.odd)
    names = {simple.texts[0] for simple in line.commands if simple.texts}
    alone = alone and names.isdisjoint(_CHANGES_SHELL) and len(line.commands) <= _PARTS
    ground = _MachineState(Path(os.path.realpath(folder)), Path(os.path.realpath(project)))
    parts: list[Part] = []
    for simple in line.commands:
        own = shell_line.plain_commands(simple.source) if alone else None
        if (
            own is not None
            and not own.quiet
            and [[word.text for word in words] for words in own.commands] == [simple.texts]
        ):
            parts.append(_judged(simple, "", ground)[0])
        else:
            parts.append(Part(_short(simple.source), "ask", rule, why))
    return tuple(parts)


def refused(command: str) -> str:
    """Why the line is refused whoever asks, in a few words; empty if it is not. For what is judged in no folder."""
    return refusal.refused_line(command)


def _refused_parts(command: str, why: str) -> tuple[Part, ...]:
    sources = [simple.source for simple in shell_line.read(command).commands[:_PARTS] if simple.source]
    reasons = [refused(source) for source in sources]
    return tuple(
        Part(_short(source), "deny" if own else "ask", "catastrophe", own or why)
        for source, own in zip(sources, reasons, strict=True)
    )


def _judged(
    simple: SimpleCommand, join: str, ground: _MachineState, inputs: Sequence[ShellWord] = ()
) -> tuple[Part, bool]:
    """The part, and whether it clearly stays inside the project. `inputs`: the files that it is redirected from."""
    text = _short(simple.source)

    def asked(rule: str, why: str, *, contained: bool = False) -> tuple[Part, bool]:
        return Part(text, "ask", rule, why), contained

    words = simple.texts
    if not re.fullmatch(r"[A-Za-z0-9_.:+-]+", words[0]) or simple.source.split()[:1] != words[:1]:
        return asked("program", f"`{_short(words[0])}` is not the plain name of a program")
    if git_policy.overwrites(words):
        return asked("force", f"`{text}` overwrites or deletes what others may have fetched")
    reading = program_table.read_words(words)
    if reading is None:
        return asked("program", f"`{_short(' '.join(words[:2]))}` is not known to be harmless")
    if reading.problem[0]:
        return asked(*reading.problem)
    opened = [word for word in simple.words if not word.literal]
    if opened and (words[0] != "echo" or any(word.pattern for word in opened)):
        return asked("expansion", "it inserts a variable's value")
    if inputs and reading.program.use != "read":
        return asked("redirection", "it redirects input")
    if found := next(filter(None, (ground.problem(word, "path", "read") for word in inputs)), None):
        return asked(*found)
    for at, word in enumerate(simple.words):
        if at and word.pattern and (why := _pattern_problem(reading, at, simple.words, ground)):
            return asked("pattern", why)
    for at, kind in reading.operands:
        if kind in ("path", "rev") and (found := ground.problem(simple.words[at], kind, reading.program.use)):
            return asked(*found)
    if reading.program.use == "build" and (file := next((word for word in words[1:] if word.startswith("@")), "")):
        return asked("argument", f"{_short(file)} may be a file with more flags")
    if words[0] == "cd":
        return _changed_folder(simple, join, ground)
    if found := _looks_further(reading, simple, ground):
        return asked(*found)
    if reading.program.use == "change":
        return asked("change", f"`{reading.name}` changes things")
    if reading.program.use == "build":
        return asked("build", f"`{reading.name}` runs this project's code", contained=True)
    if not reading.program.built_in and (why := ground.brought(words[0])):
        return asked("program", why, contained=True)
    return Part(text, "allow", "reader"), True


def _changed_folder(simple: SimpleCommand, join: str, ground: _MachineState) -> tuple[Part, bool]:
    text = _short(simple.source)
    operands = [word for word in simple.words[1:] if not word.text.startswith("-") or word.text == "-"]
    if len(operands) != 1 or operands[0].text == "-" or operands[0].pattern or operands[0].home:
        return Part(text, "ask", "folder", "it changes to an unnamed folder"), False
    if join == "|" or not ground.enter(operands[0].text):
        return Part(text, "ask", "folder", f"{_short(operands[0].text)} is no folder of this project"), False
    return Part(text, "allow", "reader"), True


def _pattern_problem(
    reading: program_table.ProgramReading, at: int, words: Sequence[ShellWord], ground: _MachineState
) -> str:
    word = words[at]
    kinds = dict(reading.operands)
    if word.text[0] in "*?[" and not reading.program.globs and ShellWord("--") not in words[:at]:
        return f"{_short(word.text)} could match a file name that is read as a flag"
    if word.text.startswith("-"):
        return f"{_short(word.text)} is both a pattern and a flag"
    if kinds.get(at, "text") == "text":
        # The shell puts names in its place all the same, and they are shown or searched for: that is harmless.
        return (
            "" if reading.program.built_in else f"{_short(word.text)} is a pattern where no file is expected; quote it"
        )
    return ground.matches(word)


def _looks_further(
    reading: program_table.ProgramReading, simple: SimpleCommand, ground: _MachineState
) -> tuple[str, str] | None:
    """What a reader opens beyond its operands: a folder's secrets, a repository's configuration."""
    name, flags = reading.name, set(reading.flags)
    deep = name in ("grep", "egrep", "fgrep") and flags & {"-r", "-R", "--recursive", "--dereference-recursive"}
    deep = deep or (name == "rg" and "--files" not in flags)
    deep = deep or name == "diff"  # of two folders it compares what both hold, without being told to
    if deep:
        follows = name == "diff" or bool(flags & {"-R", "--dereference-recursive"})
        hidden = name != "rg" or bool(flags & {"-u", "--hidden", "--no-ignore", "-g", "--glob", "--iglob"})
        folders = [simple.words[at] for at, kind in reading.operands if kind == "path"] or [ShellWord(".")]
        found = (ground.holds_secrets(word, follows=follows, hidden=hidden) for word in folders)
        if why := next(filter(None, found), ""):
            return "secret", why
    if name.startswith("git ") and "version" not in name and (why := ground.git_is_controlled()):
        return "git", why
    return None


class _MachineState:
    """The folders that a line may be in, and where its paths lead from there."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.project = project
        self._folders = [folder]

    @property
    def folders(self) -> tuple[Path, ...]:
        """Those that the line may be in, up to now."""
        return tuple(self._folders)

    def enter(self, name: str) -> bool:
        """The line may be in this folder from now on; whether it is one inside the project.

        One behind a link is not: the shell leads `..` back before the link, and everything else behind it.
        """
        entered = [Path(os.path.realpath(folder / name)) for folder in self._folders]
        if entered != [Path(os.path.normpath(folder / name)) for folder in self._folders]:
            return False
        if not all(folder.is_dir() and folder.is_relative_to(self.project) for folder in entered):
            return False
        self._folders = list(dict.fromkeys([*self._folders, *entered]))
        return len(self._folders) <= 8

    def problem(self, word: ShellWord, kind: program_table.Kind, use: program_table.Use) -> tuple[str, str] | None:
        """(rule, why) for a word that leads out of the project or to a secret."""
        if word.home and word.text.partition("/")[0] != "~":
            return "outside", f"{_short(word.text)} is a folder that only the shell knows"
        text = os.path.expanduser(word.text) if word.home else word.text  # noqa: PTH111 - a word is no path yet
        if text in ("-", "/dev/null", ""):
            return None
        parts = [text]
        if kind == "rev":
            parts += [part for part in re.split(r"[:^]|\.\.\.?", text) if part]
        elif use == "build":
            parts = [part for part in (text.partition("::")[0], text.partition(":")[2]) if part]
        for part, folder in itertools.product(parts, self._folders):
            if len(part) > 4096 or "\0" in part:
                return "outside", f"{_short(part)} cannot be a path"
            real = Path(os.path.realpath(folder / part))
            lexical = Path(os.path.normpath(folder / part))
            if secret := sensitive_paths.secret(real) or sensitive_paths.secret(lexical):
                return "secret", f"{_short(word.text)} may hold {secret}"
            if not real.is_relative_to(self.project):
                if kind == "rev" and part is text and not text.startswith(("/", "~", "../")) and ".." in text:
                    continue  # a range of revisions; its ends are looked at on their own
                return "outside", f"{_short(word.text)} is outside the project"
            if ".git" in (name.casefold() for name in real.relative_to(self.project).parts):
                return "secret", f"{_short(word.text)} is one of git's own files"
        return None

    def matches(self, word: ShellWord) -> str:
        """Why the files that a pattern matches must not be read; empty if they may."""
        if sensitive_paths.secret(Path("/", word.text.replace("*", "").replace("?", ""))):
            return f"{_short(word.text)} may match files that hold keys or passwords"
        if any(part.startswith(".") and fnmatch.fnmatchcase("..", part) for part in word.text.split("/")):
            return f"{_short(word.text)} may match the folder above"
        if "[" in word.text:
            return f"{_short(word.text)} has a set of characters, which shells read in ways of their own"
        named = word.text.split("/")
        patterns = [at for at, part in enumerate(named) if "*" in part or "?" in part]
        if len(patterns) > _PATTERNS:
            return f"{_short(word.text)} has too many patterns to check"
        before = "/".join(named[: patterns[0]]) + "/" if patterns and patterns[0] else "."
        if problem := self.problem(ShellWord(before, home=word.home), "path", "read"):
            return problem[1]
        for folder in self._folders:
            found = list(itertools.islice(_expanded(folder, word.text), _MATCHES + 1))
            if len(found) > _MATCHES:
                return f"{_short(word.text)} matches too many files to check"
            for path in found:
                if problem := self.problem(ShellWord(str(path)), "path", "read"):
                    return f"{_short(word.text)} matches {_short(path.name)}, and {problem[1]}"
        return ""

    def holds_secrets(self, word: ShellWord, *, follows: bool, hidden: bool) -> str:
        """Why a search of everything below a folder may show keys, or empty.

        Args:
            follows: it also looks behind links.
            hidden: it also looks at hidden files, without being told to by a list of what to leave out.
        """
        for folder in self._folders:
            place, behind, told = folder / word.text, "", False
            for count, path in enumerate(git_policy.files_below(place, installed=hidden)):
                if count >= (_WALKED if hidden else _LOOKED):
                    return f"{_short(word.text)} has too many files to check for keys"
                if sensitive_paths.secret(path) == "keys or passwords":
                    said = f"it also searches {_short(path.name)}, which may hold keys or passwords"
                    if hidden or not any(part.startswith(".") for part in path.relative_to(place).parts):
                        return said
                    behind = behind or said
                told = told or (path.name in _LEFT_OUT and _names_exceptions(path))
                if behind and told:
                    return behind
                if follows and path.is_symlink() and self.problem(ShellWord(str(path)), "path", "read"):
                    return f"it also searches what the link {_short(path.name)} leads to"
        return ""

    def git_is_controlled(self) -> str:
        """Why git would run a program of the repository's, or empty."""
        return next((_short(why) for folder in self._folders if (why := git_policy.programs_run(folder))), "")

    def brought(self, program: str) -> str:
        """Why the program is not the system's own, or empty."""
        for entry in caller_environ().get("PATH", os.defpath).split(os.pathsep):
            place = Path(entry or ".")
            if os.access(place / program, os.X_OK):
                if not place.is_absolute():
                    return f"`{program}` would be found in the line's own folder"
                real = Path(os.path.realpath(place))
                return f"`{program}` belongs to the project" if real.is_relative_to(self.project) else ""
        return ""


def _expanded(folder: Path, pattern: str) -> Iterator[Path]:
    import glob

    for name in glob.iglob(pattern, root_dir=folder):  # noqa: PTH207 - Path.glob takes no absolute pattern
        yield folder / name


_LEFT_OUT = frozenset((".ignore", ".rgignore", ".gitignore"))
"""Lists of what `rg` leaves out; an exception in one brings a hidden file back."""
_LISTED = 1_000_000
"""Bytes of such a list that are read."""


def _names_exceptions(path: Path) -> bool:
    """Whether the list has an exception; one that is too long or no plain file counts as one."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode) or state.st_size > _LISTED:
            return True
        return any(line.lstrip().startswith(b"!") for line in path.read_bytes().split(b"\n"))
    except OSError:
        return True


_NOT_FOR_GOOD = frozenset(
    (
        *("bash", "sh", "zsh", "dash", "fish", "ksh", "env", "exec", "eval", "source", ".", "command", "builtin"),
        *("sudo", "doas", "su", "nice", "nohup", "time", "timeout", "setsid", "stdbuf", "watch", "parallel", "strace"),
        *("python", "python3", "node", "perl", "ruby", "php", "lua", "awk", "gawk", "xargs", "tmux", "screen", "ssh"),
        *("rm", "dd", "chmod", "chown", "mv", "ln", "install", "tee", "kill", "pkill", "killall", "crontab", "mount"),
        *("curl", "wget", "nc", "ncat", "telnet", "scp", "sftp", "rsync", "systemctl", "service", "find", "sed"),
        *("export", "unset", "alias", "hash", "set", "trap", "history", "printenv", "gsh", "gsh-tui", "git", "gh"),
        *("docker", "kubectl", "aws", "gcloud", "az", "npx", "uvx", "pipx", "tar", "zip", "unzip", "watch", "at"),
    )
)


def _pattern(words: Sequence[ShellWord], part: Part) -> tuple[str, RuleScope | None]:
    """What `always` would cover: the program, its subcommand and flags; or this very line, where it is not known."""
    texts = [word.text for word in words]
    exact = shlex.join(texts)
    reading = program_table.read_words(texts)
    if any(word.pattern or word.home for word in words) and part.rule not in ("reader", "build"):
        return "", None
    if reading is None:
        plain = re.fullmatch(r"[A-Za-z0-9_.+-]+(?:/[A-Za-z0-9_.+-]+)*", texts[0])
        offered = plain and texts[0] not in _NOT_FOR_GOOD and len(exact) <= 200 and part.rule == "program"
        return (exact, RuleScope(exactly=exact)) if offered else ("", None)
    if reading.problem[0] or part.rule not in ("reader", "build", "change", ""):
        return "", None
    program = reading.name.split()
    rest = texts[len(program) :]
    flags = sorted({word.partition("=")[0] for word in rest if word.startswith("-")})
    kinds = {kind for _, kind in reading.operands}
    if texts[: len(program)] != program or kinds - {"path"} or len(flags) == len(rest):
        return exact, RuleScope(exactly=exact)  # a target or a name decides what is done; a file does not
    return " ".join((reading.name, *flags, "…")), RuleScope(reading.name, tuple(flags), exactly=exact)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:119]}…"

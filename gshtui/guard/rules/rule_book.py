"""A person's own rules about calls: `rules.toml` beside the configuration, and a project's `.gsh/rules.toml`.

A rule says what to do (allow, ask, deny) with calls of a tool, a program, flags, paths or hosts. The strictest rule
that matches wins. A project's rules only tighten. A file with a mistake allows nothing; those of its rules that can be
read still ask and deny. Refuses to weaken what is always refused: that is decided before.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import msgspec
from msgspec.structs import replace

from gshtui.guard.policy import git_policy
from gshtui.guard.rules import rule_paths
from gshtui.settings.toml_file import load_toml, read_bytes
from gshtui.system.json_types import is_array, is_object
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.guard.policy.shell_line import ShellWord

Decision = Literal["allow", "ask", "deny"]
_STRICTEST: tuple[Decision, ...] = ("deny", "ask", "allow")
_HEADING = re.compile(r"(?m)^[ \t]*\[\[[ \t]*rule[ \t]*\]\]")
_LISTS = ("tool", "flags", "paths", "hosts", "examples", "not_examples")
_SINGLE = ("program", "why", "exactly", "project", "machine")
SERVER_TOOL = "__"
"""In the name of a tool of an MCP server, between the server and the tool; `SERVER__*` stands for all of a server."""
_NETWORK = frozenset(("push", "pull", "fetch", "clone", "ls-remote", "remote", "submodule", "archive"))
"""Git's commands that talk to another repository, and run its programs if it is on this machine."""


class RuleMatter(msgspec.Struct, frozen=True):
    """What a rule is matched with: one call.

    Attributes:
        commands: the words of each simple command of a shell line; empty for other tools.
        literal: the line has nothing but literal words, so that its commands are all that it runs.
        line: the shell line itself.
        inner: the words of all commands that can be found in it, those inside words too.
        open: numbers of the commands that have a pattern or a `~`, which the shell turns into other words.
        path: of a file tool; relative to the project if it is inside.
        below: the pattern of what is looked for in the folder `path`; empty if it is only about `path`.
        about: what `always` would cover, as the tool itself names it; for `exactly`.
        project: its root, which relative paths are of.
    """

    tool: str
    commands: tuple[tuple[str, ...], ...] = ()
    literal: bool = True
    path: str = ""
    line: str = ""
    inner: tuple[tuple[str, ...], ...] = ()
    open: frozenset[int] = frozenset()
    below: str = ""
    about: str = ""
    project: Path = Path()


class GuardRule(msgspec.Struct, frozen=True):
    """One rule. Empty criteria match everything.

    Attributes:
        exactly: a whole simple command, word for word; for tools that run no shell line, what they say that it covers.
        project: the root of the only project where it counts.
        machine: the only other machine where it counts. Without one, it allows nothing on another machine.
    """

    do: Decision
    file: Path
    line: int
    tool: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    exactly: str = ""
    project: str = ""
    machine: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        return f"{self.file.name}:{self.line}"

    @property
    def words(self) -> str:
        criteria = {
            "tool": self.tool,
            "program": (" ".join(self.program),),
            "flags": self.flags,
            "paths": self.paths,
            "hosts": self.hosts,
            "exactly": (self.exactly,),
            "only in": (self.project,),
            "on": (self.machine,),
        }
        said = [f"{name} {', '.join(values)}" for name, values in criteria.items() if any(values)]
        return one_line(f"{self.do} {'; '.join(said) or 'everything'}", 300)

    def matches(self, matter: RuleMatter) -> bool:
        """Whether it is about this call: for allow, about all of it; for ask and deny, about any part of it."""
        if self.tool and not self._names_tool(matter.tool):
            return False
        if not self.tool and self.do == "allow" and SERVER_TOOL in matter.tool:
            return False
        if not matter.commands:
            if self.exactly and self.exactly != matter.about:
                return False
            return not (self.program or self.flags or self.hosts) and self._about(matter)
        if self.do == "allow":
            return matter.literal and not matter.open and all(self.allows(words) for words in matter.commands)
        return any(self._touches(words, matter.project) for words in (*matter.commands, *matter.inner))

    def _names_tool(self, tool: str) -> bool:
        """Whether it is about this tool, by its name or that of its server."""
        server, separator, _ = tool.partition(SERVER_TOOL)
        return tool in self.tool or (bool(separator) and f"{server}{SERVER_TOOL}*" in self.tool)

    def _about(self, matter: RuleMatter) -> bool:
        """Whether it names the path of a file tool; for ask and deny, also by other names, or what is looked for."""
        if self.do == "allow" or not self.paths:
            return self._names(matter.path)
        wanted = os.path.join(matter.path, matter.below)  # noqa: PTH118 - it may be a pattern
        return any(rule_paths.names(one, self.paths, matter.project) for one in (matter.path, wanted) if one)

    def doubt(self, matter: RuleMatter) -> str:
        """Why it may be about a line that it does not match, as the end of a sentence; empty if it is not.

        A line whose words do not say all that it runs may hide what is asked about or denied.
        """
        if self.do == "allow" or (self.tool and not self._names_tool(matter.tool)):
            return ""
        if self.exactly and not matter.line:
            return ""
        if not matter.line:
            about = matter.below and not (self.program or self.flags or self.hosts) and self.paths
            return rule_paths.search_doubt(matter.path, matter.below, self.paths, matter.project) if about else ""
        for words in (*matter.commands, *matter.inner) if self.paths else ():
            if _runs(words, self.program) and (why := rule_paths.command_doubt(words, self.paths, matter.project)):
                return why
        from gshtui.guard.rules import rule_doubt

        exact = bool(self.flags or self.paths or self.exactly)
        program = self.program or tuple(self._exact_words[:1])
        return rule_doubt.line_doubt(matter.line) or rule_doubt.program_doubt(matter.line, program, exact=exact)

    def allows(self, words: Sequence[str], project: Path = Path()) -> bool:
        """Whether it allows this simple command: exactly its program, its flags only, and its paths and hosts only."""
        if self.exactly:
            return list(words) == self._exact_words
        count = len(self.program)
        words = git_policy.with_flags(words)
        flags = [word for word in words[count:] if word.startswith("-")]
        operands = [word for word in words[count:] if not word.startswith("-")]
        hosts = [host for word in operands for host in _hosts(word)]
        return (
            tuple(words[:count]) == self.program
            and ("*" in self.flags or all(word.partition("=")[0] in self.flags for word in flags))
            and (not self.paths or all(self._names(word) for word in operands if not _hosts(word)))
            and (bool(self.paths) or not any(_is_place(word) for word in operands))
            and all(bool(self.paths) and self._names(place) for place in _led_outside(operands, project))
            and (bool(self.paths) or not _other_repository(words, operands, project))
            and all(_fits(host, self.hosts) for host in hosts)
        )

    def _touches(self, words: Sequence[str], project: Path) -> bool:
        """Whether this command runs the program, behind whatever wrapper, with one of the flags, paths and hosts."""
        return (
            _runs(words, self.program)
            and (not self.exactly or list(words) == self._exact_words)
            and (not self.flags or any(_has_flag(git_policy.with_flags(words), flag) for flag in self.flags))
            and (not self.paths or any(rule_paths.names(part, self.paths, project) for part in rule_paths.parts(words)))
            and (not self.hosts or any(_fits(host, self.hosts) for word in words for host in _named_hosts(word)))
        )

    @property
    def _exact_words(self) -> list[str]:
        try:
            return shlex.split(self.exactly)
        except ValueError:  # an unclosed quote: no command has it
            return [self.exactly] if self.exactly else []

    @property
    def names_command(self) -> bool:
        """Whether it says which commands of a line it is about."""
        return bool(self.program or self.exactly)

    def counts_in(self, project: Path, machine: str = "") -> bool:
        """Whether it counts in this project. `machine`: another one that it is on."""
        if self.machine != machine and (self.machine or self.do == "allow"):
            return False
        return not self.project or os.path.realpath(self.project) == os.path.realpath(project)

    def _names(self, path: str) -> bool:
        if not self.paths:
            return True
        if not path:  # what has no path is in no folder
            return False
        plain = os.path.normpath(path)
        return any(fnmatch.fnmatchcase(plain, pattern) for pattern in self.paths)


class RuleMistake(msgspec.Struct, frozen=True):
    """What is wrong in a file of rules, and where."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text} Until it is corrected, this file allows nothing."


class RuleBook(msgspec.Struct, frozen=True):
    """The rules in force, and what was wrong with the files."""

    rules: tuple[GuardRule, ...] = ()
    mistakes: tuple[RuleMistake, ...] = ()
    project: Path = Path()
    """Its root: what relative paths are of."""
    machine: str = ""
    """The machine of the configuration that the project is on; empty: this one."""

    def decide(
        self, matter: RuleMatter, *, free: frozenset[int] = frozenset(), outside: frozenset[int] = frozenset()
    ) -> GuardRule | None:
        """The strictest rule that matches; `None`: none does.

        Args:
            free: numbers of the commands that need no rule, since they only read. Others may each be allowed by
                another rule.
            outside: numbers of those that touch something outside the project: only a rule that says so allows them.
        """
        matter = replace(matter, project=self.project)
        here = [rule for rule in self.rules if rule.counts_in(self.project, self.machine)]
        found = [rule for rule in here if rule.do != "allow" and rule.matches(matter)]
        if found and (strictest := min(found, key=lambda rule: _STRICTEST.index(rule.do))).do == "deny":
            return strictest
        for rule in here:
            if doubt := rule.doubt(matter):
                return replace(rule, do="ask", why=f"{doubt}, and so it may be what this rule is about: {rule.words}")
        if found:
            return found[0]
        allowing = [rule for rule in here if rule.do == "allow"]
        if not matter.commands:
            return next((rule for rule in allowing if rule.matches(matter)), None)
        fitting = [rule for rule in allowing if not rule.tool or matter.tool in rule.tool]
        away = any(_goes_away(words, self.project) for words in matter.commands)
        used: GuardRule | None = None
        for number, words in enumerate(matter.commands):
            able = () if number in matter.open else fitting
            able = () if away and words[0] == "git" else able
            able = [rule for rule in able if rule.paths or rule.exactly] if number in outside else able
            by = next((rule for rule in able if rule.names_command and rule.allows(words, self.project)), None)
            if by is None and number not in free:
                return None
            used = used or by
        return used if matter.literal else None


class RuleFiles:
    """The files of one project, read again when they change."""

    def __init__(self, own: Path, project: Path) -> None:
        """`own`: the person's file. `project`: the project's root."""
        self._files = ((own, False), (project / ".gsh" / "rules.toml", True))
        self._project = project
        self._seen: tuple[object, ...] | None = None
        self._book = RuleBook(project=project)

    def current(self) -> RuleBook:
        """The rules as they are now. Blocks for a moment."""
        seen = tuple(_state(path) for path, _ in self._files)
        if seen != self._seen:
            read = [read_rules(path, tighten=tighten) for path, tighten in self._files]
            self._book = RuleBook(
                tuple(rule for book in read for rule in book.rules),
                tuple(mistake for book in read for mistake in book.mistakes),
                self._project,
            )
            self._seen = seen
        return self._book


def read_rules(file: Path, *, tighten: bool = False) -> RuleBook:
    """The rules of a file; none if there is no file. `tighten`: it is a project's, which may only ask and deny."""
    try:
        raw = read_bytes(file)
    except OSError as error:
        return RuleBook(mistakes=(RuleMistake(file, 1, f"it cannot be read: {error.strerror or error}."),))
    return RuleBook() if raw is None else parse_rules(file, raw.decode("utf-8", "replace"), tighten=tighten)


def rule_starts(text: str) -> list[int]:
    """Where in the text of a file its rules begin."""
    return [found.start() for found in _HEADING.finditer(text)]


def parse_rules(file: Path, text: str, *, tighten: bool = False) -> RuleBook:
    """The rules in the text of a file. `tighten`: see `read_rules`."""
    starts = rule_starts(text)
    rules: list[GuardRule] = []
    seen: list[object] = []
    mistakes: list[RuleMistake] = []
    ends = [*starts[1:], len(text)] if starts else []
    if not starts or text[: starts[0]].strip():
        _check_head(file, text[: starts[0]] if starts else text, mistakes)
    for start, end in zip(starts, ends, strict=True):
        line = text.count("\n", 0, start) + 1
        try:
            table = _table(text[start:end], line)
            seen.append(dict(table))
            rules.append(_rule(file, line, table, tighten=tighten))
        except _MistakeError as error:
            mistakes.append(RuleMistake(file, error.line or line, str(error)))
            if error.rule is not None:
                rules.append(error.rule)
    rules += _unseen(file, text, seen, mistakes)
    if mistakes:
        rules = [rule for rule in rules if rule.do != "allow"]
    return RuleBook(tuple(rules), tuple(mistakes))


class _MistakeError(Exception):
    def __init__(self, text: str, line: int = 0, rule: GuardRule | None = None) -> None:
        super().__init__(text)
        self.line = line
        self.rule = rule


def _unseen(file: Path, text: str, seen: list[object], mistakes: list[RuleMistake]) -> list[GuardRule]:
    """What the file says beyond the rules that were seen, by their headings: a mistake, though it may deny."""
    try:
        whole = load_toml(text)
    except tomllib.TOMLDecodeError as error:
        if not mistakes:
            mistakes.append(RuleMistake(file, 1, f"it is not TOML: {one_line(str(error), 200)}."))
        return []
    given = whole.get("rule", [])
    found = given if is_array(given) else [given]
    if not mistakes and (found != seen or set(whole) - {"rule"}):
        mistakes.append(RuleMistake(file, 1, "each rule must begin with a line [[rule]], and hold nothing else."))
    rules: list[GuardRule] = []
    for table in found:
        if table not in seen and is_object(table):
            with contextlib.suppress(_MistakeError):
                rules.append(_rule(file, 1, dict(table), tighten=True))
    return rules


def _check_head(file: Path, text: str, mistakes: list[RuleMistake]) -> None:
    try:
        found = load_toml(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        mistakes.append(RuleMistake(file, int(at[1]) if at else 1, "it is not TOML before its first rule."))
        return
    if found:
        mistakes.append(RuleMistake(file, 1, "it holds something else than rules, which begin with [[rule]]."))


def _table(text: str, line: int) -> dict[str, Any]:
    try:
        return cast("dict[str, Any]", load_toml(text)["rule"][0])
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        at = re.search(r"\(at line (\d+)", said)
        words = said.partition(" (at ")[0]
        last = text.rstrip().count("\n")  # where the text ends too soon
        raise _MistakeError(f"{words}.", line + (int(at[1]) - 1 if at else last)) from error


def _rule(file: Path, line: int, table: dict[str, Any], *, tighten: bool) -> GuardRule:
    do = table.pop("do", None)
    if do not in get_args(Decision):
        raise _MistakeError("`do` must be allow, ask or deny.")
    program, why, exactly, project, machine = (_text(name, table.pop(name, "")) for name in _SINGLE)
    if project and not Path(project).is_absolute():
        raise _MistakeError("`project` must be the whole path of a folder.")
    lists = {name: _texts(name, table.pop(name, [])) for name in _LISTS}
    examples, others = lists.pop("examples"), lists.pop("not_examples")
    made = GuardRule(do, file, line, program=tuple(program.split()), exactly=exactly, project=project)
    made = replace(made, machine=machine)
    made = replace(made, why=one_line(why, 300), **lists)
    if table:
        raise _MistakeError(f"there is no `{one_line(str(next(iter(table))), 40)}` in a rule.")
    if do == "allow" and tighten:
        raise _MistakeError("a project's rules can only ask and deny.")
    of_servers = made.tool and all(SERVER_TOOL in tool for tool in made.tool)
    if do == "allow" and not (made.program or made.paths or made.exactly or of_servers):
        raise _MistakeError("a rule that allows must name a program or paths, or say `exactly` what.")
    for expected, given in ((True, examples), (False, others)):
        for example in given:
            if _about_example(made, example) is not expected:
                words = "does not cover its example" if expected else "covers what it must not"
                raise _MistakeError(f"the rule {words} `{one_line(example, 120)}`.", rule=made)
    return made


def _about_example(rule: GuardRule, example: str) -> bool:
    shell = rule.names_command or rule.flags or rule.hosts
    tool = rule.tool[0] if rule.tool else "bash" if shell else "write"
    return rule.matches(line_matter(tool, example) if tool == "bash" else RuleMatter(tool, path=example))


def line_matter(tool: str, command: str) -> RuleMatter:
    """A shell line as rules see it."""
    from gshtui.guard.policy import shell_line
    from gshtui.guard.rules import rule_doubt

    files = [(":", redirect.target.text) for redirect in shell_line.read(command).redirects]
    inner = (*rule_doubt.commands(command), *files)
    plain = shell_line.plain_commands(command) if not shell_line.strange_character(command) else None
    if plain is not None and not (plain.quiet or plain.has_variables) and shell_line.is_bounded(command):
        numbers = (number for number, words in enumerate(plain.commands) if any(map(_is_open, words)))
        commands = tuple(tuple(word.text for word in words) for words in plain.commands)
        return RuleMatter(tool, commands, line=command, inner=inner, open=frozenset(numbers))
    found = shell_line.read(command).commands
    commands = tuple(tuple(simple.texts) for simple in found) or ((command,),)
    return RuleMatter(tool, commands, literal=False, line=command, inner=inner)


def _is_open(word: ShellWord) -> bool:
    """Whether the shell may put other words in its place."""
    return not word.literal or word.pattern or word.home or bool(re.search(r"[=:]~|[{}]", word.text))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _MistakeError(f"`{name}` must be text.")
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value
    if not is_array(given) or not all(isinstance(item, str) for item in given):
        raise _MistakeError(f"`{name}` must be text, or a list of texts.")
    return tuple(cast("list[str]", given))


def _is_place(word: str) -> bool:
    """Whether an operand of a command names a place that a rule must name too: outside the project, or a transport."""
    plain = os.path.normpath(word)
    return plain.startswith(("/", "../")) or plain == ".." or bool(re.match(r"(?i)file:|[a-z][a-z0-9+.-]*::", word))


def _led_outside(operands: Sequence[str], project: Path) -> list[str]:
    """The places outside the project that the operands are links to: a rule is about what is touched, not its name."""
    if not project.is_absolute():
        return []
    root = os.path.realpath(project)
    named = [part for word in operands for part in (word, word.partition("=")[2]) if part and "\0" not in part]
    found = [os.path.realpath(Path(root, part)) for part in named if not _is_place(part)]
    return [place for place in found if place != root and not place.startswith(f"{root.rstrip('/')}/")]


def _other_repository(words: Sequence[str], operands: Sequence[str], project: Path) -> bool:
    """Whether git would talk to a repository that is named by a path, whose hooks and programs it runs."""
    if list(words[:1]) != ["git"] or not _NETWORK.intersection(words[1:2]):
        return False
    named = [word for word in operands if word not in words[1:2]][:1]
    return any(
        not _hosts(word) and (not re.fullmatch(r"\w[\w.-]*", word) or (project / word).is_dir()) for word in named
    )


def _goes_away(words: Sequence[str], project: Path) -> bool:
    """Whether the command changes to another folder than the project's, where git finds another configuration."""
    if words[0] not in ("cd", "pushd", "popd"):
        return False
    return len(words) != 2 or Path(os.path.normpath(project / words[1])) != project


def _runs(words: Sequence[str], program: Sequence[str]) -> bool:
    """Whether the program's words stand in this order among the words, wherever it begins."""
    if not program:
        return True
    wanted = list(program)
    for word in words:
        if word == wanted[0] or (len(wanted) == len(program) and word.rpartition("/")[2] == wanted[0]):
            del wanted[0]
            if not wanted:
                return True
    return False


def _has_flag(words: Sequence[str], flag: str) -> bool:
    cluster = len(flag) == 2 and flag[0] == "-" and flag[1] != "-"
    return any(
        word == flag
        or word.startswith(f"{flag}=")
        # A program takes the beginning of a long flag for the flag, if it is the only one that begins so.
        or (len(name := word.partition("=")[0]) > 2 and name[:2] == "--" and flag.startswith(name))
        or (cluster and word[:1] == "-" and word[1:2] != "-" and flag[1] in word)
        for word in words
    )


def _hosts(word: str) -> list[str]:
    """The hosts of the addresses in a word: `https://user@host:443/…`, `user@host:path`."""
    places = word.split("://")[1:] or ([word] if "@" in word else [])
    authorities = (re.split(r"[/?#\\]", place, maxsplit=1)[0].rpartition("@")[2] for place in places)
    hosts = (one.partition("]")[0][1:] if one.startswith("[") else one.partition(":")[0] for one in authorities)
    return [host.lower().rstrip(".") for host in hosts if host]


def _named_hosts(word: str) -> list[str]:
    """The hosts that a word may name, also without a scheme: `host/path`, `host:80`, `--url=host`."""
    parts = [word, *word.split("=")[1:]]
    bare = [re.split(r"[/?#:\\]", part.removeprefix("/dev/tcp/").rpartition("@")[2], maxsplit=1)[0] for part in parts]
    return [*_hosts(word), *(host.lower().rstrip(".") for host in bare if host), word]


def _fits(host: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(host.lower(), pattern.lower()) for pattern in patterns)


def _state(path: Path) -> object:
    try:
        state = path.stat()
    except OSError:
        return None
    return (state.st_mtime_ns, state.st_size, state.st_ino)

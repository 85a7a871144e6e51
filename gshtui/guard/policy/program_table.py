"""The table of programs: which only read, which build and test, with which flags and operands that holds, and which
are refused.

Owns `program_table.toml`, and how a command's words are read by it. A program, a subcommand or a flag that is not there
is not known, and what is not known is asked about. Raises `msgspec.ValidationError` or `ValueError` for a table that is
not well formed. Used by the policy.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.system.struct_types import learned

Kind = Literal["path", "text", "number", "rev"]
"""The kind of a word. path: inside the project, not secret. rev: a git revision or a path."""
Role = Literal[
    "agent_program",
    "copies_files",
    "makes_file_systems",
    "ours",
    "prints_only",
    "sends",
    "shell",
    "shows_files",
    "takes_script",
    "wrapper",
    "writes_files",
    "writes_last_operand",
]
"""What programs do with their words, for `refusal`; the table says what each means."""
Use = Literal["read", "build", "change"]
"""read: needs no approval. build: runs the project's own code, which `--yes` allows. change: needs approval."""


class Program(msgspec.Struct, frozen=True):
    """What is permitted of one program or subcommand."""

    use: Use
    alone: frozenset[str]
    valued: dict[str, Kind]
    """Flags whose value is the next word, or follows a short flag directly."""
    behind: dict[str, Kind]
    """Long flags whose value follows `=`."""
    first: Kind | None
    """Kind of the first operand, where it differs from the others."""
    rest: Kind | None
    """The kind of the other operands; `None`: there must be none."""
    most: int
    numbers: bool
    """`-20` is permitted."""
    words: bool
    """Flags are whole words with one dash, like those of `find` and `go`."""
    built_in: bool
    """bash's own, and no file on the PATH."""
    globs: bool
    """No file's name can be a flag that does harm: `*` may be its first letter."""
    instead: frozenset[str]
    """Flags that take the place of the first operand, as `-e` of grep does."""
    machine: bool
    """It describes the machine or who asks, which look different from within a sandbox."""
    check: Callable[[Sequence[str]], str] | None
    """Why these arguments are not permitted after all, or empty."""


class ProgramReading(msgspec.Struct):
    """A command's words, read by the table."""

    program: Program
    name: str
    """Program and subcommand."""
    flags: list[str] = msgspec.field(default_factory=list[str])
    operands: list[tuple[int, Kind]] = msgspec.field(default_factory=list[tuple[int, Kind]])
    """(place among the words, kind) of operands and of values that are paths or revisions."""
    problem: tuple[str, str] = ("", "")
    """(rule, why) of the first thing that the table does not permit."""


_FILE = Path(__file__).with_name("program_table.toml")
_NUMBER = re.compile(r"[+-]?\d{1,12}(?:[.,]\d+)?[A-Za-z%]{0,3}")
_FLAG = re.compile(r"(-[^-:=\[\s][^:=\[\s]*|--[^:=\[\s]+)(?:(\[=|=|:)(path|text|number|rev)\]?)?")


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Programs of one line of the table; its head says what the fields mean."""

    names: tuple[str, ...]
    prefixes: tuple[str, ...] = ()
    flags: str = ""
    operands: tuple[Kind, ...] = ("path",)
    use: Use = "read"
    most: int = 1_000
    words: bool = False
    built_in: bool = False
    globs: bool = False
    machine: bool = False
    instead: str = ""
    check: str = ""


class _Refused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: tuple[str, ...]
    why: str


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sets: dict[str, str]
    program: tuple[_Row, ...]
    roles: dict[Role, str] = {}
    next_word: dict[str, str] = {}
    refused: tuple[_Refused, ...] = ()


@cache
def programs() -> Mapping[str, Program]:
    """All programs and subcommands by name, read from the table at the first call."""
    return read_table(_FILE.read_text("utf-8"))


@cache
def role(name: Role) -> frozenset[str]:
    """The programs that do this with their words, read from the table at the first call."""
    return frozenset(_shipped().roles[name].split())


def takes_next_word(wrapper: str, option: str) -> bool:
    """Whether the word after this option of a wrapper is the option's value, and not the command that it runs."""
    expression = _next_word().get(wrapper)
    return expression is not None and bool(expression.fullmatch(option))


@cache
def _next_word() -> Mapping[str, re.Pattern[str]]:
    return {name: re.compile(text) for name, text in _shipped().next_word.items()}


@cache
def refusals() -> tuple[tuple[list[str], str], ...]:
    """The words of programs and subcommands that are never run, each with the reason."""
    return tuple((name.split(), row.why) for row in _shipped().refused for name in row.names)


@cache
def _shipped() -> _Table:
    return msgspec.convert(tomllib.loads(_FILE.read_text("utf-8")), learned(_Table))


def read_table(text: str) -> dict[str, Program]:
    """The programs of a table in TOML. Raises `ValueError`: it is not well formed; `msgspec.ValidationError` and
    `tomllib.TOMLDecodeError` are such.
    """
    table = msgspec.convert(tomllib.loads(text), learned(_Table))
    found: dict[str, Program] = {}
    for row in table.program:
        program = _program(row, table.sets)
        names = [f"{prefix} {name}" for prefix in row.prefixes for name in row.names] or row.names
        for name in names:
            if name in found:
                raise ValueError(f"{name} is in the table twice")
            found[name] = program
    return found


def _program(row: _Row, sets: Mapping[str, str]) -> Program:
    alone: set[str] = set()
    valued: dict[str, Kind] = {}
    behind: dict[str, Kind] = {}
    for flag in _flags(row, sets):
        match = _FLAG.fullmatch(flag)
        if match is None:
            raise ValueError(f"{row.names[0]}: {flag} is no flag of the table's form")
        name, sign, kind = match.groups()
        if sign:
            (valued if sign == ":" else behind)[name] = msgspec.convert(kind, learned(Kind))
        if sign is None or sign == "[=":
            alone.add(name)
    if len(row.operands) > 2 or (row.check and row.check not in _CHECKS):
        raise ValueError(f"{row.names[0]}: two kinds of operands at most, and a check that there is")
    return Program(
        use=row.use,
        alone=frozenset(alone),
        valued=valued,
        behind=behind,
        first=row.operands[0] if len(row.operands) == 2 else None,
        rest=row.operands[-1] if row.operands else None,
        most=row.most if row.operands else 0,
        numbers="-#" in alone,
        words=row.words,
        built_in=row.built_in,
        globs=row.globs,
        machine=row.machine,
        instead=frozenset(row.instead.split()),
        check=_CHECKS.get(row.check),
    )


def _flags(row: _Row, sets: Mapping[str, str]) -> Iterator[str]:
    for flag in row.flags.split():
        if not flag.startswith("@"):
            yield flag
        elif flag[1:] in sets:
            yield from sets[flag[1:]].split()
        else:
            raise ValueError(f"{row.names[0]}: there is no set {flag}")


def read_words(words: Sequence[str]) -> ProgramReading | None:
    """The words as the table reads them; `None` for an unlisted program or subcommand."""
    start, name = _named(words)
    program = programs().get(name)
    if program is None:
        return None
    reading = ProgramReading(program, name)
    found = next(_problems(reading, words, start), None)
    if found is None and program.check is not None and (why := program.check(words[start:])):
        found = ("argument", why)
    reading.problem = found or ("", "")
    return reading


def _named(words: Sequence[str]) -> tuple[int, str]:
    """The number of words that name the program and its subcommand, and that name."""
    table = programs()
    if words[0] == "git":
        skip = 1
        while words[skip : skip + 1] and words[skip] in ("--no-pager", "-P", "--no-optional-locks"):
            skip += 1
        for length in (2, 1):
            if (name := " ".join(("git", *words[skip : skip + length]))) in table and name != "git":
                return skip + length, name
        return skip, "git"
    for length in (4, 3, 2, 1):
        if (name := " ".join(words[:length])) in table and len(words) >= length:
            return length, name
    return 1, words[0]


def _problems(reading: ProgramReading, words: Sequence[str], start: int) -> Iterator[tuple[str, str]]:
    program, name, at, ended = reading.program, reading.name, start, False
    operands = 0
    while at < len(words):
        word = words[at]
        if not ended and word == "--":
            if program.words:  # find goes on reading its expression behind it
                yield "flag", f"`{name}` is not known to be harmless with --"
                return
            ended = True
        elif not ended and len(word) > 1 and word[0] == "-":
            at, why = _flag(reading, words, at)
            if why:
                yield "flag", f"`{name}` is not known to be harmless with {word[:60]}{why.removesuffix('.')}"
                return
            if program.instead.intersection(reading.flags):
                operands = max(operands, 1)
        else:
            operands += 1
            kind = program.first if operands == 1 and program.first else program.rest
            if kind is None or operands > program.most:
                yield "operand", f"`{name}` is only known to be harmless without {word[:60]}"
                return
            if kind == "number" and not _NUMBER.fullmatch(word):
                yield "operand", f"{word[:60]} is not a number"
                return
            reading.operands.append((at, kind))
        at += 1


def _flag(reading: ProgramReading, words: Sequence[str], at: int) -> tuple[int, str]:
    """The position of the last word that the flag takes, and why it is not permitted (empty: it is)."""
    program, word = reading.program, words[at]
    whole, sign, value = word.partition("=")
    if sign and whole in program.behind:
        reading.flags.append(whole)
        return at, _value(reading, program.behind[whole], value, at, apart=False)
    if word in program.alone:
        reading.flags.append(word)
        return at, ""
    if word in program.valued:
        reading.flags.append(word)
        if at + 1 >= len(words):
            return at, ", which lacks its value"
        return at + 1, _value(reading, program.valued[word], words[at + 1], at + 1, apart=True)
    if program.words and sign and whole in program.valued:
        reading.flags.append(whole)
        return at, _value(reading, program.valued[whole], value, at, apart=False)
    if program.numbers and re.fullmatch(r"-\d{1,9}", word):
        reading.flags.append("-#")
        return at, ""
    if word.startswith("--") or program.words:
        return at, "."
    return _cluster(reading, words, at)


def _cluster(reading: ProgramReading, words: Sequence[str], at: int) -> tuple[int, str]:
    """Letters run together, the last of them perhaps with its value."""
    program, letters = reading.program, words[at][1:]
    for place, letter in enumerate(letters):
        flag = f"-{letter}"
        if flag in program.alone:
            reading.flags.append(flag)
        elif flag in program.valued:
            reading.flags.append(flag)
            rest = letters[place + 1 :]
            if rest:
                return at, _value(reading, program.valued[flag], rest, at, apart=False)
            if at + 1 >= len(words):
                return at, ", which lacks its value"
            return at + 1, _value(reading, program.valued[flag], words[at + 1], at + 1, apart=True)
        else:
            return at, "."
    return at, ""


def _value(reading: ProgramReading, kind: Kind, value: str, at: int, *, apart: bool) -> str:
    if kind == "number" and not _NUMBER.fullmatch(value):
        return ", whose value is not a number"
    if kind in ("path", "rev"):
        if not apart:
            return ", whose path must be a separate word"
        reading.operands.append((at, kind))
    return ""


def _only_prints(arguments: Sequence[str]) -> str:
    script = next((word for word in arguments if not word.startswith("-")), "")
    printing = re.fullmatch(
        r"(?:(?:\d+|\$)(?:,(?:\d+|\$|\+\d+))?[pq=]|/[^/\\\n]+/(?:,/[^/\\\n]+/)?[pI]{1,2}|;)+", script
    )
    return "" if printing or _replaces(script) else "a sed script can write files and run commands"


def _replaces(script: str) -> bool:
    """Whether a script of sed is one substitution, such as `s/old/new/g`, whose flags neither write nor run."""
    mark = script[1:2]
    if script[:1] != "s" or mark not in ("/", "|", ",", "#") or "\n" in script or "\\" in script:
        return False
    parts = script[2:].split(mark)
    return len(parts) == 3 and len(parts[2]) <= 3 and set(parts[2]) <= set("gp0123456789I")


_PRINTF = re.compile(r"(?!-)(?:[^%\\]++|%%|%-?\d{0,4}+[sd]|\\[nt])*+")


def _format_of_printf(arguments: Sequence[str]) -> str:
    return "" if arguments and _PRINTF.fullmatch(arguments[0]) else "a printf format can set variables and escape"


def _one_test(arguments: Sequence[str]) -> str:
    if len(arguments) == 2 and re.fullmatch("-[A-Za-z]", arguments[0]) and not arguments[1].startswith("-"):
        return ""
    return "a test expression can evaluate subscripts"


def _escapes(arguments: Sequence[str]) -> str:
    risky = any("%x" in word or "%G" in word for word in arguments)
    return "a format with %x prints any byte, and one with %G runs gpg" if risky else ""


def _reads_no_environment(arguments: Sequence[str]) -> str:
    hidden = any(re.search(r"\benv\b|\bENV\b|\binput_filename\b|\b(?:import|include)\b", word) for word in arguments)
    return "a jq filter can read the environment and other files" if hidden else ""


def _shows_the_date(arguments: Sequence[str]) -> str:
    sets = any(not word.startswith(("-", "+")) for word in arguments if not re.fullmatch(r"[\w@:. +-]+ago|@\d+", word))
    return "date can set the clock" if sets else ""


_TARGETS = frozenset(
    (
        *("test", "tests", "check", "lint", "build", "all", "format", "fmt", "typecheck", "types", "unit", "unittest"),
        *("verify", "compile", "test-unit", "unit-test", "unit-tests"),
    )
)


def _named_targets(arguments: Sequence[str]) -> str:
    targets = [word for word in arguments if not word.startswith("-") and not word.isdigit()]
    if not targets:
        return "without a target it runs the project's first target"
    other = next((target for target in targets if target not in _TARGETS), "")
    return f"the target {other[:40]} is not one of those that build or test" if other else ""


_AWK_ACTS = re.compile(
    r"[|>@]|\b(?:system|getline|ARGV|ARGC|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|close|fflush|include|load)\b"
)


def _only_computes(words: Sequence[str]) -> str:
    """A program of awk's that starts nothing, writes to no file, and reads none but its operands."""
    return "the program for awk may do more than print what it reads" if any(map(_AWK_ACTS.search, words)) else ""


def _only_asks(words: Sequence[str]) -> str:
    """`git config` reads only where it is told to, before anything that is no flag."""
    flags = list(itertools.takewhile(lambda word: word.startswith("-"), words))
    reads = any(word in ("--get", "--get-all", "--get-regexp", "--list", "-l") for word in flags)
    return "" if reads else "`git config` may set something"


_CHECKS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "awk_program": _only_computes,
    "date_setting": _shows_the_date,
    "format_escapes": _escapes,
    "git_config": _only_asks,
    "jq_filter": _reads_no_environment,
    "make_targets": _named_targets,
    "printf_format": _format_of_printf,
    "sed_script": _only_prints,
    "test_expression": _one_test,
}

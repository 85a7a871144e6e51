"""Find shell lines that may hide a program named by a rule: they may run more than their words name.

A rule that asks or denies is found by the words of a line. Where the shell puts other words in their place, where a
shell reads its commands from elsewhere, or where a line is too long to parse, the words say too little. Runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from gshtui.guard.policy import program_table, shell_line
from gshtui.guard.policy.shell_line import ShellWord, SimpleCommand

_NESTED = 3
"""How deep a line inside a word (`bash -c '…'`) is read."""
_INNER = 20
_KEPT = 4
"""Lines whose reading is kept: every rule is held against the same one."""
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "fish", "rbash", "ash"))
_INTERPRETERS = re.compile(r"(?:python|perl|ruby|node|php|lua|awk|gawk|mawk)[0-9.]*")
_RENAMERS = frozenset(("alias", "hash", "enable"))
_SAYING = frozenset(("echo", "printf", "true", "false", "exit", "return", "test", "[", "[[", ":", "read", "local"))
"""They do nothing with a word but show or compare it."""


def commands(command: str) -> list[tuple[str, ...]]:
    """The words of every command that can be found in the line, those inside words too, whatever its length."""
    found = [tuple(simple.texts) for simple in _every_command(command)]
    if not shell_line.is_bounded(command):
        for part in re.split(r"[;&|\n()`]", command):
            words = tuple(word for word in re.split(r"[\s\"'<>{}]+", part) if word)
            found += [words] if words else []
    return found


def _joined(command: str) -> str:
    """The line with its words whole: the shell takes out a backslash before the end of a line."""
    return command.replace("\\\n", "")


def _all(command: str, depth: int) -> Iterator[SimpleCommand]:
    lines = [command] if _joined(command) == command else [command, _joined(command)]
    for text in lines:
        line = shell_line.read(text)
        for simple in line.commands:
            yield simple
            if depth:
                for inner in _inner(simple)[:_INNER]:
                    yield from _all(inner, depth - 1)
        if depth and any(_name(word.text) in _SHELLS for simple in line.commands for word in simple.words):
            for body in line.bodies[:_INNER]:
                yield from _all(body, depth - 1)


@lru_cache(maxsize=_KEPT)
def _every_command(command: str) -> tuple[SimpleCommand, ...]:
    return tuple(_all(command, _NESTED))


def _inner(simple: SimpleCommand) -> list[str]:
    """The words of a command that may be lines themselves."""
    texts = simple.texts
    inner = [text for text in texts if re.search(r"[\s;&|$`]", text)]
    if texts[:1] == ["eval"]:
        inner.insert(0, " ".join(texts[1:]))
    return inner


def _name(word: str) -> str:
    return word.rpartition("/")[2]


@lru_cache(maxsize=_KEPT * _INNER)
def line_doubt(command: str, depth: int = _NESTED) -> str:
    """Why the line's commands are not all known, as the end of a sentence; empty if they are."""
    if strange := shell_line.strange_character(command):
        return f"it contains {strange}"
    line = shell_line.read(_joined(command))
    if found := next((why for rule, why in line.odd if rule in ("size", "syntax")), ""):
        return found
    for simple in line.commands:
        if why := _command_doubt(simple, depth):
            return why
    return ""


def _command_doubt(simple: SimpleCommand, depth: int) -> str:
    words = simple.words
    if not words:
        return ""
    if not words[0].literal or words[0].pattern or words[0].home:
        return "the name of a program is not written out in it"
    for at, word in enumerate(words):
        name = _name(word.text)
        if name in _SHELLS and _reads_lines(words[at + 1 :]):
            return f"`{name}` runs what it reads"
    texts = simple.texts
    if texts[0] in _RENAMERS and any("=" in text or text == "-p" for text in texts[1:]):
        return f"`{texts[0]}` gives a program another name"
    if "git" in map(_name, texts) and any("alias." in text or text.startswith("--config-env") for text in texts):
        return "it gives a git command another name"
    inside = texts[0] == "eval" or any(_name(text) in _SHELLS for text in texts)
    for inner in _inner(simple)[:_INNER] if inside and depth else ():
        if why := line_doubt(inner, depth - 1):
            return why
    return ""


def _reads_lines(words: Sequence[ShellWord]) -> bool:
    """Whether a shell with these arguments takes its commands from its input."""
    flags = [word.text for word in words if word.text.startswith(("-", "+"))]
    if any(re.fullmatch(r"-[A-Za-rt-z]*+s[A-Za-z]*", flag) for flag in flags):
        return True
    return all(flag not in ("--version", "--help") for flag in flags) and len(flags) == len(words)


def program_doubt(command: str, program: Sequence[str], *, exact: bool) -> str:
    """Why the line may run this program, though its words do not say so; empty if it does not.

    Args:
        program: its words; none: any program.
        exact: the rule is also about flags, paths or hosts, so that any word counts.
    """
    for simple in _every_command(command):
        words = simple.words
        if not words or _leaves_alone(simple, program, exact=exact):
            continue
        if any(not word.literal or word.pattern or word.home for word in words[1:]):
            return f"the shell puts something else in place of words of `{_name(words[0].text)}`"
        if program and _INTERPRETERS.fullmatch(_name(words[0].text)):
            code = (re.split(r"[^\w-]+", word.text) for word in words[1:] if not re.fullmatch(r"[\w./-]+", word.text))
            if any(program[0] in named for named in code):
                return f"`{_name(words[0].text)}` runs code that names `{program[0]}`"
    return ""


def _leaves_alone(simple: SimpleCommand, program: Sequence[str], *, exact: bool) -> bool:
    """Whether, whatever its open words become, the command does not run the program."""
    texts = simple.texts
    if program and _name(texts[0]) == program[0]:
        second = simple.words[1] if len(texts) > 1 else None
        settled = second is not None and second.literal and not second.pattern and not second.text.startswith("-")
        return settled and len(program) > 1 and texts[1] != program[1]
    if texts[0] in _SAYING:
        return True
    if exact and not program:
        return False
    reading = program_table.read_words(texts)
    return reading is not None and reading.problem[0] in ("", "secret", "outside", "expansion")

"""A shell line as bash's grammar reads it: its simple commands, its redirections, and everything unusual about it.

There are two readers. `read` parses with tree-sitter and finds every command, even in substitutions, functions and
broken lines. `plain_commands` is a tiny independent reader that accepts only literal words joined by `&&`, `||`, `|`,
`;` and newlines. A line counts as understood only if both agree. Bounded in time; runs nothing. Called by the policy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 8_000
"""Characters of a line that is parsed; a longer one is not understood."""
ROUGH_COMMANDS = 8_000
"""Commands of a line that is too large for the parser; one with more is not examined."""
_NODES = 60_000
_BRACKETS = 300
_SIGNS = 1_200
"""Opening brackets and pipes, and all signs of the grammar: the parser's time grows with the square of them."""


class ShellWord(msgspec.Struct, frozen=True):
    """One word. `text`: without its quotes, but with everything that the shell would expand as written."""

    text: str
    literal: bool = True
    """The shell puts nothing else in its place, patterns and `~` aside."""
    pattern: bool = False
    """It holds an unquoted `*`, `?` or `[`."""
    home: bool = False
    """It begins with an unquoted `~`."""


class SimpleCommand(msgspec.Struct, frozen=True):
    """One simple command: a program and its arguments, as written in `source`."""

    words: tuple[ShellWord, ...]
    source: str

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words]


class Redirect(msgspec.Struct, frozen=True):
    """Where output goes or input comes from: `>`, `>>`, `<`, `&>` …"""

    operator: str
    target: ShellWord


class ShellLine(msgspec.Struct):
    """What a line contains."""

    commands: list[SimpleCommand] = msgspec.field(default_factory=list["SimpleCommand"])
    redirects: list[Redirect] = msgspec.field(default_factory=list["Redirect"])
    assigned: list[str] = msgspec.field(default_factory=list[str])
    """Names of variables that are set."""
    bodies: list[str] = msgspec.field(default_factory=list[str])
    """Texts of here-documents."""
    odd: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    """(rule, what) for everything that is not a plain command of literal words, in order of appearance."""


_PLAIN_NODES = frozenset(
    (
        *("program", "list", "pipeline", "command", "command_name", "word", "number", "raw_string"),
        *("string", "string_content", "concatenation", "comment"),
    )
)
_ODD = {
    "command_substitution": ("substitution", "it runs a command and uses its output as words"),
    "process_substitution": ("substitution", "it runs a command through a file name"),
    "simple_expansion": ("expansion", "it inserts a variable's value"),
    "expansion": ("expansion", "it inserts a variable's value"),
    "arithmetic_expansion": ("arithmetic", "it contains arithmetic, where a subscript can run a command"),
    "brace_expression": ("expansion", "it expands braces"),
    "ansi_c_string": ("quoting", "it spells characters with escapes"),
    "translated_string": ("quoting", "it contains a translated string"),
    "variable_assignment": ("assignment", "it sets a variable"),
    "variable_assignments": ("assignment", "it sets variables"),
    "declaration_command": ("assignment", "it declares variables"),
    "unset_command": ("assignment", "it unsets a variable"),
    "function_definition": ("function", "it defines a function"),
    "subshell": ("compound", "it opens a subshell"),
    "compound_statement": ("compound", "it groups commands"),
    "test_command": ("compound", "it evaluates an expression"),
    "negated_command": ("compound", "it negates a command"),
    "redirected_statement": ("redirection", "it redirects input or output"),
    "file_redirect": ("redirection", "it redirects input or output"),
    "herestring_redirect": ("redirection", "it feeds text to a command"),
    "heredoc_redirect": ("heredoc", "it contains a here-document"),
    "ERROR": ("syntax", "it cannot be parsed"),
}


@cache
def has_parser() -> bool:
    """Whether tree-sitter is installed, which has no packages yet for some Pythons; then no line is understood."""
    return find_spec("tree_sitter") is not None and find_spec("tree_sitter_bash") is not None


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


Quoting = Literal["none", "single", "double", "heredoc", "plain heredoc"]


def quoting_at(script: str, at: int) -> Quoting:
    """How the word that begins there is quoted. `heredoc`: in a here-document in which the shell expands nothing.

    A script that is broken there counts as single-quoted, where nothing may be put in a word's place.
    """
    raw = script.encode("utf-8", "replace")
    start = len(script[:at].encode("utf-8", "replace"))
    node = _parser().parse(raw).root_node.descendant_for_byte_range(start, start + 1)
    while node is not None:
        kind = node.type
        if kind in ("raw_string", "ansi_c_string", "ERROR"):
            return "single"
        if kind == "string":
            return "double"
        if kind == "heredoc_body":
            opening = (
                next((one for one in node.parent.children if one.type == "heredoc_start"), None)
                if node.parent
                else None
            )
            written = "" if opening is None or opening.text is None else opening.text.decode("utf-8", "replace")
            return "heredoc" if not written or set(written) & set("'\"\\") else "plain heredoc"
        if kind in ("command_substitution", "process_substitution", "command", "variable_assignment", "test_command"):
            return "none"
        node = node.parent
    return "none"


def is_bounded(command: str) -> bool:
    """Whether the line is short and simple enough to be understood."""
    if not has_parser():
        return False
    brackets = sum(map(command.count, "({`|"))
    return len(command) <= LONGEST and brackets <= _BRACKETS and sum(map(command.count, "&;<>=[$\"'")) <= _SIGNS


def read(command: str) -> ShellLine:
    """Every simple command of the line, up to a limit; a line beyond the limit is odd and not examined."""
    line = ShellLine()
    if not has_parser():
        line.odd.append(("size", "tree-sitter, which reads shell lines, is not installed"))
        return line
    if not is_bounded(command):
        line.odd.append(("size", f"{len(command):,} characters, or brackets nested too deeply, cannot be judged"))
        return line
    raw = command.encode("utf-8", "replace")
    root = _parser().parse(raw).root_node
    waiting: list[Node] = [root]
    count = 0
    while waiting:
        node = waiting.pop()
        count += 1
        if count > _NODES:
            line.odd.append(("size", "it has too many parts to judge"))
            break
        _note(line, node, raw)
        waiting.extend(reversed(node.children))
    if root.has_error and not any(rule == "syntax" for rule, _ in line.odd):
        line.odd.append(_ODD["ERROR"])
    return line


_TOKEN = re.compile(
    r"""[;&|(){}`\n]+|[ \t\r]+|(?:'[^']*'?|"(?:[^"\\]|\\.)*"?|\\.|[^;&|(){}`\n \t\r'"\\]+|\\)+""", re.DOTALL
)


def read_roughly(command: str) -> ShellLine | None:
    """The commands of a line that is too large for the parser; `None` if there are too many even for this."""
    line = ShellLine()
    words: list[ShellWord] = []
    for match in _TOKEN.finditer(command + "\n"):
        token = match.group()
        if token[0] in ";&|(){}`\n":
            if words:
                line.commands.append(SimpleCommand(tuple(words), ""))
                words = []
            if len(line.commands) > ROUGH_COMMANDS:
                return None
        elif token[0] not in " \t\r" and token != "$":
            words.append(unquoted(token))
    return line


def _note(line: ShellLine, node: Node, raw: bytes) -> None:
    kind = node.type
    if kind == "test_command" and (found := _BRACKETED.fullmatch(_text(node, raw))):
        words = (ShellWord("test"), ShellWord(found[1]), unquoted(found[2]))
        line.commands.append(SimpleCommand(words, f"test {found[1]} {found[2]}"))
    elif node.is_named and kind not in _PLAIN_NODES:
        odd = _ODD.get(kind)
        if odd is not None:
            line.odd.append(odd)
        elif kind.endswith(("_statement", "_clause", "_item")):
            line.odd.append(("compound", f"it contains a `{kind.partition('_')[0]}` statement"))
    elif kind == "&":
        line.odd.append(("background", "it starts something in the background"))
    if kind in ("command", "declaration_command", "unset_command"):
        line.commands.append(SimpleCommand(tuple(_words(node, raw)), _text(node, raw).strip()))
    elif kind == "variable_assignment":
        line.assigned.append(_text(node, raw).partition("=")[0])
    elif kind == "file_redirect":
        target = node.child_by_field_name("destination")
        operator = next((child.type for child in node.children if not child.is_named), "")
        if target is not None:
            line.redirects.append(Redirect(operator, unquoted(_text(target, raw))))
    elif kind in ("heredoc_body", "herestring_redirect"):
        line.bodies.append(_text(node, raw).removeprefix("<<<").strip().strip("'\""))


def _words(node: Node, raw: bytes) -> Iterator[ShellWord]:
    for child in node.children:
        if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
            continue
        if child.type == "variable_assignment" and node.type == "command":
            continue
        if child.is_named or node.type != "command":
            yield unquoted(_text(child, raw))


def _text(node: Node, raw: bytes) -> str:
    return raw[node.start_byte : node.end_byte].decode("utf-8", "replace")


_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_ANSI_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,6})|([0-7]{1,3})|(.))", re.S)


def _ansi(match: re.Match[str]) -> str:
    one, two, three, octal, other = match.groups()
    code = int(octal, 8) if octal else int(one or two or three or "0", 16)
    return (
        _ANSI.get(other, other) if other else chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
    )


def unquoted(source: str) -> ShellWord:
    """A word as written, without its quotes."""
    out: list[str] = []
    literal, pattern, at = True, False, 0
    home = source.startswith("~")
    while at < len(source):
        char = source[at]
        if char == "\\":
            if source[at + 1 : at + 2] != "\n":
                out.append(source[at + 1 : at + 2])
            at += 2
        elif char == "'":
            end = source.find("'", at + 1)
            end = len(source) if end < 0 else end
            out.append(source[at + 1 : end])
            at = end + 1
        elif source.startswith("$'", at):
            end = at + 2
            while end < len(source) and source[end] != "'":
                end += 2 if source[end] == "\\" else 1
            out.append(_ANSI_ESCAPE.sub(_ansi, source[at + 2 : end]))
            literal, at = False, end + 1
        elif char == '"':
            end = at + 1
            while end < len(source) and source[end] != '"':
                end += 2 if source[end] == "\\" else 1
            inner = source[at + 1 : end]
            literal = literal and not re.search(r"(?<!\\)(?:\\\\)*[$`]", inner)
            out.append(re.sub(r"\\([$`\"\\])|\\\n", r"\1", inner))
            at = end + 1
        else:
            literal = literal and char not in "$`{}()<>|&;\n"
            pattern = pattern or char in "*?["
            out.append(char)
            at += 1
    return ShellWord("".join(out), literal, pattern, home)


_BLANK = re.compile(r"(?:[ \t]+|(?<![^ \t\n;|&])#[^\n]*)+")
_JOIN = re.compile(r"&&|\|\||\|(?!&)|;(?!;)|\n")
_QUIET = re.compile(r"(?:[012]?>{1,2}|&>{1,2}|0?<)[ \t]*/dev/null(?=[ \t\n;|]|&&|$)|[12]?>&[12](?=[ \t\n;|]|&&|$)")
_INPUT = re.compile(r"0?<[ \t]*([A-Za-z0-9_./][A-Za-z0-9_@%+=:,./-]*)(?=[ \t\n;|]|&&|$)")
_OPEN_VARIABLE = r"\$(?:HOME|PWD|USER|LOGNAME|PATH|SHELL|LANG)(?![A-Za-z0-9_])"
"""Variables that hold no secret."""
_PIECE = re.compile(
    rf"""[A-Za-z0-9_@%+=:,./~^*?\[\]!#-]+ | '[^']*' | "(?:[^"$`\\]|\\["$`\\]|\\(?=[^\n"$`\\])|{_OPEN_VARIABLE})*"
    | \\[^\n] | [^\x00-\x7f]+ | {_OPEN_VARIABLE}""",
    re.X,
)
_BRACKETED = re.compile(r"\[[ \t]+(-[A-Za-z])[ \t]+([^\s'\"\\\[\]]+)[ \t]+\]")


class PlainCommand(msgspec.Struct, frozen=True):
    """Literal commands, and what joins each to the one before (`""` for the first)."""

    commands: tuple[tuple[ShellWord, ...], ...]
    joins: tuple[str, ...]
    quiet: bool
    """It has redirections, all of them to `/dev/null`, from one descriptor to another, or from a file."""
    inputs: tuple[tuple[ShellWord, ...], ...] = ()
    """For each command the files that it is redirected from."""

    @property
    def has_variables(self) -> bool:
        """Some word is not literal: it holds a variable that can be no secret."""
        return not all(word.literal for words in self.commands for word in words)


def plain_commands(command: str) -> PlainCommand | None:
    """The line's commands, if it consists only of literal words; otherwise `None`."""
    commands: list[tuple[ShellWord, ...]] = []
    joins: list[str] = []
    words: list[ShellWord] = []
    inputs: list[tuple[ShellWord, ...]] = []
    files: list[ShellWord] = []
    join, quiet, at, end = "", False, 0, len(command)
    while True:
        if blank := _BLANK.match(command, at):
            at = blank.end()
        joined = _JOIN.match(command, at)
        if joined or at >= end:
            found = joined.group() if joined else ""
            if words:
                commands.append(_named_test(words))
                joins.append(join)
                inputs.append(tuple(files))
                words, files, join = [], [], found
            elif files:
                return None
            elif found == "\n" or (at >= end and join in ("", ";", "\n")):
                join = join or found  # an empty line, or nothing after the last `;`
            else:
                return None
            if joined is None:
                if not commands or join not in ("", ";", "\n"):
                    return None
                return PlainCommand(tuple(commands), tuple(joins), quiet, tuple(inputs))
            at = joined.end()
        elif redirected := _QUIET.match(command, at):
            quiet, at = True, redirected.end()
        elif words and (redirected := _INPUT.match(command, at)):
            quiet, at = True, redirected.end()
            files.append(ShellWord(redirected.group(1)))
        else:
            start = at
            while piece := _PIECE.match(command, at):
                at = piece.end()
            if at == start or (at < end and command[at] not in " \t\n;|&"):
                return None
            words.append(unquoted(command[start:at]))


def _named_test(words: list[ShellWord]) -> tuple[ShellWord, ...]:
    """The words, with `test -f file` for `[ -f file ]`."""
    first, *others = words
    bracketed = len(words) == 4 and first.text == "[" and words[-1].text == "]"
    return (ShellWord("test"), *others[:2]) if bracketed else tuple(words)


_STRANGE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_PADDING = re.compile(r"[ \t]{40,}|\n{6,}")


def strange_character(command: str) -> str:
    """What in the line is deceptive (a control, invisible or look-alike character, padding); empty if nothing is."""
    if _PADDING.search(command):
        return "a long run of blanks that can push the rest out of sight"
    for char in command:
        if char < " " and char not in "\n\t":
            return f"the control character U+{ord(char):04X}"
        if char < "\x7f":
            continue
        kind = unicodedata.category(char)
        if kind in _STRANGE or kind == "Zs":
            return f"the invisible or blank character U+{ord(char):04X}"
    if not command.isascii():
        # Letters of several scripts in one word, or letters that are only another shape of ASCII, are disguises.
        for word in re.findall(r"\w+", command):
            foreign = {unicodedata.name(char, "?").split()[0] for char in word if char.isalpha()}
            if len(foreign & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"}) > 1:
                return f"the word {word[:40]!r}, which mixes alphabets"
        if unicodedata.normalize("NFKC", command) != unicodedata.normalize("NFC", command):
            return "a character that is a variant of an ordinary one"
    return ""

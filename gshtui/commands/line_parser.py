"""The parser of the command language: text becomes a syntax tree. Pure; time and depth are bounded.

- A word is bare text, `'literal'`, `"text with $name, ${name.field[0]} and $(line)"`, `$name`, `$(line)`, `<(line)`,
  `[a, b]`, or several of them side by side, which make one text. Quotes mean something only where a word begins.
- The expression in `${…}` is the name of a variable, then fields (`.name`, `["any name"]`) and indexes (`[0]`, from the
  end `[-1]`, `.0`) that lead into its data; `.text` of anything is its rendering. It computes nothing.
- A backslash takes the next character literally; in double quotes it does that for `"`, `\\` and `$`, and `\n` and
  `\t` are a new line and a tab.
- `$'caf\\xe9.txt'`, where a word or a step of a path begins, is a file's name as tools quote it: it stays as it is.
- A `$` before anything but a name, `{` or `(` is a dollar.
- A command's *verbatim* parameter takes the rest of the text as it stands when given by its position, unless it is one
  quoted word, which is then literal, too.
- `NAME --help` is `help NAME`, whatever the command takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from gshtui.commands.declaration import UsageError
from gshtui.commands.line_syntax import (
    Argument,
    Array,
    Joined,
    Node,
    Pipeline,
    Script,
    SourceSpan,
    Stage,
    Substitution,
    TextNode,
    VariableNode,
    position,
)
from gshtui.text.file_name import QUOTED

MOST_CHARACTERS = 250_000
"""Of a line."""
MOST_DEPTH = 32
"""Levels of `$(…)`, `<(…)` and `[…]` inside each other."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_FILE_NAME = re.compile(QUOTED)
_BEFORE_NAME = ("", " ", "\t", "=", "/", "[", ",", "(")
_BLANK = re.compile(r"[^\S\n]*")
_NAME = re.compile(r"[^\s|;$'\"()\[\]<>=\\/][^\s|;$'\"()\[\]<>=\\]*")
_WORD = re.compile(r"(?<![^\S\n])[^\S\n]+(['\"]?)([\w-]+)\1")
"""The second word of a group, which quotes leave a word."""
_KEY = re.compile(r"([^\W\d]\w*)=")
_OPTION = re.compile(r"--([^\W\d][\w-]*)(=|\s+(?=\S)|(?=\s*$))")
"""A parameter as a shell's option has it: `--name=value`, `--name value`, and `--name` for one that is on or off."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_BARE = {"": re.compile(r"[^\s|;$\\]+"), ")": re.compile(r"[^\s|;$\\)]+"), "]": re.compile(r"[^\s|;$\\,\]]+")}
"""Bare text by what closes the surroundings."""
_LITERAL_CHUNK = re.compile(r"[^'\"\\\s|;)]+")
_DOUBLE_CHUNK = re.compile(r"[^\"\\$]+")
_FIELD = re.compile(r"""\.([\w-]+)|\[(-?\d{1,9})\]|\["([^"\\]*)"\]|\['([^'\\]*)'\]""")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "$": "$"}
_LITERAL_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}
_OPERATORS = {
    ">": "`… | write to=FILE` writes a result to a file",
    ">>": "`… | append to=FILE` adds a result to a file",
    "<": "`$(read FILE)` gives the content of a file",
    "&&": "`;` separates commands, and one that fails stops the line",
    "&": "commands run one after the other",
}
"""Operators of other shells, and what does it here."""


class Signature(msgspec.Struct, frozen=True):
    """What the parser knows of a command."""

    positions: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    verbatim: str = ""
    """The last position, if it takes the rest of the text as it stands."""
    tail: str = ""
    """The last position, if it takes several words as one text."""
    former: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Earlier names of parameters, which `names` has too, each with the present one."""
    switches: frozenset[str] = frozenset()
    """The names of those that are on or off."""
    several: frozenset[str] = frozenset()
    """The names of lists, which can be given item by item."""
    words: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """The second words of a group, each with the name of the command that it is."""
    no_options: frozenset[str] = frozenset()
    """The names that only `name=value` gives: `--name` is an option of what the verbatim text is for."""

    def left(self, placed: set[str]) -> frozenset[str]:
        """The names of parameters, without those that a position gave already."""
        return frozenset(name for name in self.names if self.former.get(name, name) not in placed)


Signatures = Callable[[str], Signature | None]
"""A command's signature by its name; `None`: there is no such command."""
ACTION = "action"
"""The name by which a line gave the word of a group before it stood behind the group's: `agent action=ls`."""


class OpenStage(msgspec.Struct):
    """A command that was being read when the text ended, for completion."""

    start: int
    """Where its name begins."""
    name: str = ""
    named: bool = False
    """Something follows the name."""
    piped: bool = False
    """It stands behind a `|`."""
    given: list[Argument] = msgspec.field(default_factory=list[Argument])
    """Its arguments; the last one may be at the end of the text."""
    word: int = -1
    """Where the argument at the end of the text begins; -1: none has begun."""
    key: str = ""
    value: int = -1
    """Where the value of that argument begins, or of the item of its array."""


def parse_line(text: str, signatures: Signatures = lambda _: None) -> Script:
    """The syntax tree of a text. Raises `UsageError`: with its position; the text is not of the language, or too long
    or deep.
    """
    return LineParser(text, signatures).script()


class LineParser:
    """Reads one text once. After an error, `open` is what was being read."""

    def __init__(self, text: str, signatures: Signatures) -> None:
        self._text = text
        self._end = len(text)
        self._at: int = 0
        self._depth = 0
        self._signatures = signatures
        self.open: list[OpenStage] = []
        """From the outermost to the innermost command."""
        self.expects_command = False
        """A command may begin where the text ends."""

    def script(self) -> Script:
        """Read the whole text. Raises as `parse_line` does."""
        if self._end > MOST_CHARACTERS:
            raise UsageError(
                f"The line has {self._end:,} characters, and {MOST_CHARACTERS:,} is the most.",
                hint="Put the text into a file, and name the file.",
            )
        if found := _CONTROL.search(self._text):
            code = f"U+{ord(found[0]):04X}"
            raise self._error(f"The line has the control character {code} in it.", found.start(), hint="Remove it.")
        pipelines = self._pipelines("")
        if not pipelines:
            raise UsageError("The line is empty.", hint="`help` lists all commands.")
        return Script(tuple(pipelines), self._text)

    @property
    def has_read_all(self) -> bool:
        """Whether the end of the text was reached."""
        return self._at >= self._end

    def _pipelines(self, closer: str) -> list[Pipeline]:
        found: list[Pipeline] = []
        separated = True
        while True:
            self._blank(newlines=True)
            self.expects_command = separated and self._at >= self._end
            if self._at >= self._end or self._text[self._at] == closer:
                return found
            found.append(self._pipeline(closer))
            separated = self._at < self._end and self._text[self._at] in ";\n"
            if separated:
                self._at += 1

    def _pipeline(self, closer: str) -> Pipeline:
        start = self._at
        stages = [self._stage(closer, "")]
        while self._at < self._end and self._text[self._at] == "|":
            bar = self._at
            self._at += 1
            if self._text.startswith("|", self._at):
                raise self._error("There is no `||` here.", bar, bar + 2, hint=_OPERATORS["&&"].capitalize() + ".")
            self._blank(newlines=True)
            stages.append(self._stage(closer, "|"))
        return Pipeline(tuple(stages), SourceSpan(start, self._at))

    def _stage(self, closer: str, after: str) -> Stage:
        """Read a command; `after`: the operator in front of it."""
        if self._text.startswith("/", self._at):
            self._at += 1
            self._blank()
        opened = OpenStage(self._at, piped=bool(after))
        self.open.append(opened)
        start = self._at
        name = self._matched(_NAME)
        if not name:
            if self._at >= self._end:
                raise self._error(f"A command is missing after {after or '/'}.", self._at - 1)
            char = self._text[self._at]
            raise self._error(f"A command must begin with its name, not with {char!r}.", self._at, hint=_LIST)
        name = opened.name = self._group_word(name, closer)
        span = SourceSpan(start, self._at)
        if self._at < self._end and not self._at_end_of_stage(closer) and not self._text[self._at].isspace():
            char = self._text[self._at]
            raise self._error(f"{char!r} cannot stand in the name of a command.", self._at, hint=_LIST)
        arguments = self._arguments(opened, closer)
        if self._at < self._end:
            self.open.pop()
        if _asks_for_help(arguments):
            return Stage("help", (Argument("", TextNode(opened.name, span=span), span),), span)
        return Stage(opened.name, tuple(arguments), span)

    def _group_word(self, name: str, closer: str) -> str:
        """The name of the command: of a group's, with the word behind the name, which is then read, too."""
        signature = self._signatures(name)
        found = _WORD.match(self._text, self._at) if signature is not None and signature.words else None
        if signature is None or found is None or found[2] not in signature.words:
            return name
        before, self._at = self._at, found.end()
        if self._at < self._end and not self._text[self._at].isspace() and not self._at_end_of_stage(closer):
            self._at = before
            return name
        return signature.words[found[2]]

    def _arguments(self, opened: OpenStage, closer: str) -> list[Argument]:
        """Read what follows the name. It is `opened.name` then, which `action=` can change."""
        signature: Signature = self._signatures(opened.name) or Signature()
        free: list[str] = list(signature.positions)
        placed: set[str] = set()
        while True:
            opened.named = opened.named or self._at < self._end
            self._blank()
            opened.word, opened.key, opened.value = -1, "", -1
            if self._at >= self._end or self._at_end_of_stage(closer):
                return opened.given
            opened.word = opened.value = self._at
            takes_rest = bool(signature.verbatim) and free == [signature.verbatim]
            key = _KEY.match(self._text, self._at)
            in_tail = bool(signature.tail) and signature.tail not in free and not signature.verbatim
            names = signature.left(placed) if takes_rest else signature.names
            if not in_tail and (option := self._option(signature, names, opened, closer)) is not None:
                argument = option
            elif takes_rest and (key is None or key[1] not in names):
                argument = self._verbatim(names, closer)
            else:
                argument = self._argument(opened, closer)
            word = argument.value.text if isinstance(argument.value, TextNode) else ""
            if argument.name == ACTION and word in signature.words and not placed:
                opened.name = signature.words[word]
                signature = self._signatures(opened.name) or Signature()
                given = {signature.former.get(one.name, one.name) for one in opened.given}
                free = [name for name in signature.positions if name not in given]
                if self._at >= self._end:
                    return opened.given
                continue
            taken = signature.former.get(argument.name, argument.name) or (free[0] if free else "")
            if taken in free:
                free.remove(taken)
            if not argument.name:
                placed.update((taken, ACTION) if signature.words else (taken,))
            opened.given.append(argument)
            if self._at >= self._end:
                return opened.given

    def _option(self, signature: Signature, names: frozenset[str], opened: OpenStage, closer: str) -> Argument | None:
        """The parameter that is written as an option here; `None`: none is, or its value is missing."""
        start = self._at
        found = _OPTION.match(self._text, start, self._end)
        name = found[1].replace("-", "_") if found else ""
        if found is None or name not in names or name in signature.no_options:
            return None
        if name in signature.switches and found[2] != "=":
            self._at = found.end(1)
            return Argument(name, TextNode("true", span=SourceSpan(start, self._at)), SourceSpan(start, self._at))
        if found.end() >= self._end:
            return None
        self._at = opened.value = found.end()
        opened.key = name
        if self._at_end_of_stage(closer):
            self._at = start
            return None
        return Argument(name, self._value(closer, opened), SourceSpan(start, self._at))

    def _argument(self, opened: OpenStage, closer: str) -> Argument:
        start = self._at
        key = _KEY.match(self._text, start)
        name = key[1] if key else ""
        if key:
            self._at = opened.value = key.end()
            opened.key = name
        if self._at >= self._end or self._text[self._at].isspace() or self._at_end_of_stage(closer):
            return Argument(name, TextNode("", span=SourceSpan(self._at, self._at)), SourceSpan(start, self._at))
        value = self._value(closer, opened)
        word = self._text[start : self._at]
        if not name and word in _OPERATORS:
            raise self._error(
                f"There is no `{word}` here.", start, self._at, hint=f"{_OPERATORS[word]}. To mean the text, quote it."
            )
        return Argument(name, value, SourceSpan(start, self._at))

    # Verbatim

    def _verbatim(self, names: frozenset[str], closer: str) -> Argument:
        """The rest of the text as it stands; or one word, if it is quoted and nothing but parameters follows."""
        start = self._at
        if self._text[start] in "'\"":
            text = self._literal(closer)
            end = self._at
            self._blank()
            key = _KEY.match(self._text, self._at)
            if text is not None and (
                self._at >= self._end or self._at_end_of_stage(closer) or (key and key[1] in names)
            ):
                self._at = end
                span = SourceSpan(start, end)
                return Argument("", TextNode(text, quoted=True, span=span), span)
            self._at = start
        end = self._closing(start) if closer else self._end
        text = self._text[start:end].rstrip()
        self._at = end
        span = SourceSpan(start, start + len(text))
        return Argument("", TextNode(text, raw=True, span=span), span)

    def _literal(self, closer: str) -> str | None:
        """A word whose quotes interpolate nothing; `None`: a quote is not closed."""
        out: list[str] = []
        while self._at < self._end and not self._text[self._at].isspace() and not self._at_end_of_stage(closer):
            char = self._text[self._at]
            if char == "'":
                end = self._text.find("'", self._at + 1)
                if end < 0:
                    return None
                out.append(self._text[self._at + 1 : end])
                self._at = end + 1
            elif char == '"':
                text = self._double_literal()
                if text is None:
                    return None
                out.append(text)
            elif char == "\\" and self._at + 1 < self._end:
                out.append(self._text[self._at + 1])
                self._at += 2
            elif chunk := self._matched(_LITERAL_CHUNK):
                out.append(chunk)
            else:
                out.append(char)
                self._at += 1
        return "".join(out)

    def _double_literal(self) -> str | None:
        out: list[str] = []
        at = self._at + 1
        while at < self._end:
            char = self._text[at]
            if char == '"':
                self._at = at + 1
                return "".join(out)
            if char == "\\" and at + 1 < self._end:
                following = self._text[at + 1]
                out.append(_LITERAL_ESCAPES.get(following, "\\" + following))
                at += 2
            else:
                out.append(char)
                at += 1
        return None

    def _closing(self, start: int) -> int:
        """Where the parenthesis is that closes the line which a verbatim text is in."""
        depth, at, quote = 0, start, ""
        while at < self._end:
            char = self._text[at]
            if char == "\\" and quote != "'":
                at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char == "(":
                depth += 1
            elif char == ")":
                if not depth:
                    return at
                depth -= 1
            at += 1
        hint = "Inside `$(…)`, quote a text that has quotes or parentheses of its own."
        raise self._error("The `(` around this text is not closed.", start, hint=hint)

    # Values

    def _value(self, closer: str, opened: OpenStage) -> Node:
        start = self._at
        if self._text[start] == "[":
            array = self._array(opened)
            if self._at >= self._end or self._text[self._at].isspace() or self._ends_value(closer):
                return array
            self._at = opened.value = start  # such as `[a-z]+`
        if self._text.startswith("<(", start):
            value: Node = self._substitution(readable=True)
            if not (self._at >= self._end or self._text[self._at].isspace() or self._ends_value(closer)):
                raise self._error("Nothing can be joined to `<(…)`.", self._at, hint="Put a space behind it.")
            return value
        return self._word(closer)

    def _word(self, closer: str) -> Node:
        start = self._at
        parts: list[TextNode | VariableNode | Substitution] = []
        quoted = False
        may_quote = True
        while self._at < self._end and not self._text[self._at].isspace() and not self._ends_value(closer):
            char = self._text[self._at]
            if may_quote and char in "'\"":
                quoted = True
                if char == "'":
                    _append(parts, self._single())
                else:
                    self._double(parts)
            elif char == "$" and (name := self._file_name()):
                quoted = True
                _append(parts, name)
            elif char == "$" and (part := self._dollar()) is not None:
                parts.append(part)
                may_quote = True
            else:
                may_quote = False
                if char == "\\" and self._at + 1 < self._end:
                    _append(parts, self._text[self._at + 1])
                    self._at += 2
                elif chunk := self._matched(_BARE[closer]):
                    _append(parts, chunk)
                else:
                    _append(parts, char)
                    self._at += 1
        span = SourceSpan(start, self._at)
        parts = [part for part in parts if part != TextNode("")]
        if all(isinstance(part, TextNode) for part in parts):
            text = "".join(part.text for part in parts if isinstance(part, TextNode))
            return TextNode(text, quoted=quoted, span=span)
        return parts[0] if len(parts) == 1 and not quoted else Joined(tuple(parts), span)

    def _file_name(self) -> str:
        return self._matched(_FILE_NAME) if self._text[max(0, self._at - 1) : self._at] in _BEFORE_NAME else ""

    def _single(self) -> str:
        start = self._at
        end = self._text.find("'", start + 1)
        if end < 0:
            raise self._unclosed("'", start)
        self._at = end + 1
        return self._text[start + 1 : end]

    def _double(self, parts: list[TextNode | VariableNode | Substitution]) -> None:
        """Read a double-quoted text into the parts."""
        start = self._at
        self._at += 1
        while self._at < self._end:
            char = self._text[self._at]
            if char == '"':
                self._at += 1
                return
            if char == "\\" and self._at + 1 < self._end:
                following = self._text[self._at + 1]
                _append(parts, _ESCAPES.get(following, "\\" + following))
                self._at += 2
            elif char == "$" and (part := self._dollar()) is not None:
                parts.append(part)
            elif chunk := self._matched(_DOUBLE_CHUNK):
                _append(parts, chunk)
            else:
                _append(parts, char)
                self._at += 1
        raise self._unclosed('"', start)

    def _dollar(self) -> VariableNode | Substitution | None:
        """What a dollar begins here; `None`: it is one."""
        start = self._at
        if self._text.startswith("$(", start):
            return self._substitution(readable=False)
        if self._text.startswith("${", start):
            self._at += 2
            name = self._matched(_IDENTIFIER)
            path: list[str | int] = []
            while found := _FIELD.match(self._text, self._at):
                field_, index, double, single = found.groups()
                path.append(int(index) if index else field_ if field_ is not None else double or single or "")
                self._at = found.end()
            if not name or not self._text.startswith("}", self._at):
                hint = "It takes a variable and fields, such as `${last.text}` or `${files[0]}`."
                if self._at >= self._end:
                    raise self._error("The `${` is not closed.", start, start + 2, hint=hint)
                raise self._error(f"{self._text[self._at]!r} cannot stand in `${{…}}`.", self._at, hint=hint)
            self._at += 1
            return VariableNode(name, tuple(path), SourceSpan(start, self._at))
        name = _IDENTIFIER.match(self._text, start + 1)
        if name is None:
            return None
        self._at = name.end()
        return VariableNode(name[0], (), SourceSpan(start, self._at))

    def _substitution(self, *, readable: bool) -> Substitution:
        start = self._at
        self._deeper(start)
        self._at += 2
        pipelines = self._pipelines(")")
        mark = self._text[start : start + 2]
        if self._at >= self._end:
            raise self._error(f"The `{mark}` is not closed.", start, start + 2, hint="Close it by `)`.")
        if not pipelines:
            raise self._error(f"`{mark})` has no command in it.", start, self._at + 1)
        self._at += 1
        self._depth -= 1
        return Substitution(Script(tuple(pipelines), self._text), readable, SourceSpan(start, self._at))

    def _array(self, opened: OpenStage) -> Array:
        start = self._at
        self._deeper(start)
        self._at += 1
        items: list[Node] = []
        while True:
            self._blank(newlines=True)
            if self._text.startswith("]", self._at) and not items:
                break
            if self._at < self._end and self._text[self._at] in "],|;":
                raise self._error("A value is missing here.", self._at, hint="Separate the values by commas: `[a, b]`.")
            opened.value = self._at
            items.append(self._value("]", opened) if self._at < self._end else TextNode(""))
            self._blank(newlines=True)
            if self._at >= self._end or self._text[self._at] in "|;":
                hint = "Close it by `]`. To mean the text, quote it."
                raise self._error("The `[` is not closed.", start, hint=hint)
            if self._text[self._at] == "]":
                break
            if self._text[self._at] != ",":
                raise self._error("A comma is missing here.", self._at, hint="Quote a value that has spaces in it.")
            self._at += 1
        self._at += 1
        self._depth -= 1
        return Array(tuple(items), SourceSpan(start, self._at))

    def _deeper(self, start: int) -> None:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._error(
                f"The line is nested more than {MOST_DEPTH} levels deep.",
                start,
                hint="Keep a part of it in a variable: `env name=part value=$(…)`.",
            )

    # Reading

    def _matched(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _blank(self, *, newlines: bool = False) -> None:
        self._matched(_BLANK)
        while newlines and self._text.startswith("\n", self._at):
            self._at += 1
            self._matched(_BLANK)

    def _at_end_of_stage(self, closer: str) -> bool:
        char = self._text[self._at]
        return char in "|;\n" or char == closer

    def _ends_value(self, closer: str) -> bool:
        char = self._text[self._at]
        return char in "|;" or char == closer or (closer == "]" and char == ",")

    def _unclosed(self, quote: str, start: int) -> UsageError:
        return self._error(f"The quote {quote} is not closed.", start, hint=f"Close it by another {quote}.")

    def _error(self, message: str, start: int, end: int = 0, *, hint: str = "") -> UsageError:
        error = UsageError(message, hint=hint)
        error.position = position(self._text, SourceSpan(start, max(end, start + 1)))
        return error


def _asks_for_help(arguments: list[Argument]) -> bool:
    """Whether all that follows the name is `--help`, unquoted: that is never meant as a text, whatever is taken."""
    if len(arguments) != 1 or arguments[0].name:
        return False
    value = arguments[0].value
    return isinstance(value, TextNode) and value.text == "--help" and not value.quoted


_LIST = "`help` lists all commands."


def _append(parts: list[TextNode | VariableNode | Substitution], text: str) -> None:
    """Add text to the parts, joined to a text at their end."""
    if parts and isinstance(last := parts[-1], TextNode):
        parts[-1] = TextNode(last.text + text)
    else:
        parts.append(TextNode(text))

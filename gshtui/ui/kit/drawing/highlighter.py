"""Highlights code: pygments' tokens as lines of kinds; lexers are loaded when a language first appears.

Owns the lexers and a small cache, and never blocks the loop: code is shown plain until its language is loaded, and
also if its lexer, made of backtracking expressions, takes too long. Called by the Markdown and tool renderers in the
main thread; the transcript loads wanted languages in a thread.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from gshtui.system.processes.deadline import DeadlinePassed, deadline

if TYPE_CHECKING:
    from pygments.lexer import Lexer

Token = tuple[str, str]
"""Kind and text; the kind is a key of `Palette.tokens`."""

KINDS = (
    ("Token.Comment.Preproc", "builtin"),
    ("Token.Comment", "comment"),
    ("Token.Keyword.Type", "type"),
    ("Token.Keyword.Constant", "number"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Operator", "operator"),
    ("Token.Punctuation", "operator"),
    ("Token.Literal.String.Doc", "comment"),
    ("Token.Literal.String", "string"),
    ("Token.Literal", "number"),
    ("Token.Name.Class", "type"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Attribute", "name"),
    ("Token.Name.Decorator", "builtin"),
    ("Token.Name.Builtin", "builtin"),
    ("Token.Name.Exception", "type"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Heading", "type"),
    ("Token.Generic.Subheading", "keyword"),
    ("Token.Generic.Prompt", "comment"),
    ("Token.Generic.Output", "comment"),
)
"""Prefixes of pygments' token types, longer ones first, and how they are drawn."""

_CACHED = 48
_LONG_LINE = 2_000
_WITHIN = 0.1
"""Seconds of processor time allowed for a piece of code; a chunk of an answer takes a tenth."""
_NAMES = {
    "": "",
    "text": "",
    "txt": "",
    "plain": "",
    "plaintext": "",
    "none": "",
    "output": "",
    "zsh": "bash",
    "sh": "bash",
}


class Highlighter:
    """Highlights code, with one cache and one set of lexers per window."""

    def __init__(self) -> None:
        self._lexers: dict[str, Lexer | None] = {}
        self._kinds: dict[Any, str] = {}
        self._cache: OrderedDict[tuple[str, str], list[list[Token]]] = OrderedDict()
        self.wanted: set[str] = set()
        """Languages that are wanted and not loaded yet."""

    def lines(self, code: str, language: str) -> list[list[Token]]:
        """The code's lines as tokens; plain if the language is not loaded or unknown."""
        name = _name(language)
        if name and name not in self._lexers:
            self.wanted.add(name)
        lexer = self._lexers.get(name)
        if lexer is None or any(len(line) > _LONG_LINE for line in code.split("\n")):
            return _plain(code)
        key = (name, code)
        if (found := self._cache.get(key)) is not None:
            self._cache.move_to_end(key)
            return found
        try:
            with deadline(_WITHIN):
                lines = self._tokens(lexer, code)
        except DeadlinePassed:
            lines = _plain(code)
        self._cache[key] = lines
        if len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return lines

    def load(self, name: str) -> None:
        """Import the language's lexer; takes up to 0.1 s, so call it in a thread."""
        from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]  # it has no types
        from pygments.util import ClassNotFound

        try:
            lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
            list(lexer.get_tokens("x = 1\n"))  # its patterns are compiled on first use
        except ClassNotFound:
            lexer = None
        self._lexers[name] = lexer

    def _tokens(self, lexer: Lexer, code: str) -> list[list[Token]]:
        lines: list[list[Token]] = [[]]
        for kind, value in lexer.get_tokens(code):
            name = self._kinds.get(kind)
            if name is None:
                name = self._kinds[kind] = token_kind(str(kind))
            first, *others = value.split("\n")
            if first:
                lines[-1].append((name, first))
            for part in others:
                lines.append([(name, part)] if part else [])
        wanted = code.count("\n") + 1
        # A lexer may swallow or add a line end; the original lines are shown.
        return lines[:wanted] + [[] for _ in range(wanted - len(lines))]


def token_kind(token: str) -> str:
    """The kind for a pygments token type given as text."""
    for prefix, kind in KINDS:
        if token == prefix or token.startswith(prefix + "."):
            return kind
    return "text"


def _plain(code: str) -> list[list[Token]]:
    return [[("text", line)] if line else [] for line in code.split("\n")]


def _name(language: str) -> str:
    name = language.strip().lower()
    return _NAMES.get(name, name)

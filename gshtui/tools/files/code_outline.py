"""The outline of a source file by tree-sitter: its classes, functions and the like with their lines, as written.

Needs no language server and runs nothing. The grammar of a language is loaded when a file of it is first outlined.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec

from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_LONGEST = 110
"""Characters of one entry."""
_DEEPEST = 40
_SECONDS = 2.0
MOST = 400
"""Entries of one outline."""


class _Grammar(msgspec.Struct, frozen=True):
    """How a language's tree is read.

    Attributes:
        module: of its tree-sitter parser.
        names: node types that are entries.
        within: node types whose content is looked through, entries or not.
        factory: the module's function that gives the language.
    """

    module: str
    names: frozenset[str]
    within: frozenset[str]
    factory: str = "language"


def _grammar(module: str, names: str, within: str, factory: str = "language") -> _Grammar:
    return _Grammar(module, frozenset(names.split()), frozenset(within.split()), factory)


_SCRIPT_NAMES = (
    "class_declaration abstract_class_declaration function_declaration generator_function_declaration method_definition"
    " interface_declaration type_alias_declaration enum_declaration internal_module function_signature"
    " abstract_method_signature"
)
_SCRIPT_WITHIN = (
    "program export_statement class_declaration abstract_class_declaration class_body internal_module statement_block"
    " expression_statement lexical_declaration ambient_declaration"
)
_JAVASCRIPT = _grammar("tree_sitter_javascript", _SCRIPT_NAMES, _SCRIPT_WITHIN)
_TYPESCRIPT = _grammar("tree_sitter_typescript", _SCRIPT_NAMES, _SCRIPT_WITHIN, "language_typescript")
_TSX = _grammar("tree_sitter_typescript", _SCRIPT_NAMES, _SCRIPT_WITHIN, "language_tsx")
_PYTHON = _grammar(
    "tree_sitter_python",
    "class_definition function_definition",
    "module class_definition block decorated_definition if_statement else_clause try_statement",
)
_RUST = _grammar(
    "tree_sitter_rust",
    "function_item function_signature_item struct_item enum_item union_item trait_item impl_item mod_item type_item"
    " macro_definition const_item static_item",
    "source_file impl_item trait_item mod_item declaration_list",
)
_C = _grammar(
    "tree_sitter_c",
    "function_definition struct_specifier union_specifier enum_specifier type_definition",
    "translation_unit preproc_ifdef preproc_if preproc_else linkage_specification declaration_list",
)
_JAVA = _grammar(
    "tree_sitter_java",
    "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"
    " method_declaration constructor_declaration",
    "program class_declaration interface_declaration enum_declaration record_declaration class_body interface_body"
    " enum_body enum_body_declarations",
)
_GO = _grammar("tree_sitter_go", "function_declaration method_declaration type_spec", "source_file type_declaration")
_BASH = _grammar("tree_sitter_bash", "function_definition", "program if_statement")
_GRAMMARS: Mapping[str, _Grammar] = {
    **dict.fromkeys((".py", ".pyi"), _PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), _JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TYPESCRIPT),
    ".tsx": _TSX,
    ".rs": _RUST,
    ".go": _GO,
    **dict.fromkeys((".c", ".h"), _C),
    ".java": _JAVA,
    **dict.fromkeys((".sh", ".bash"), _BASH),
}
_FUNCTIONS = frozenset(("arrow_function", "function_expression", "generator_function"))
"""Of script languages: a constant with such a value is an entry."""


class SourcePart(msgspec.Struct, frozen=True):
    """One part of a file.

    Attributes:
        first: its first line, counted from 1.
        last: its last line.
        depth: how many entries it is in.
        text: its first line as it is written, sanitised.
    """

    first: int
    last: int
    depth: int
    text: str


def can_outline(name: str) -> bool:
    return _suffix(name) in _GRAMMARS and _has_parser()


def _suffix(name: str) -> str:
    return name[name.rfind(".") :].lower() if "." in name else ""


@cache
def _has_parser() -> bool:
    """tree-sitter has no packages yet for some Pythons."""
    return find_spec("tree_sitter") is not None


@cache
def _parser(grammar: _Grammar) -> Parser:
    from tree_sitter import Language, Parser

    language: Callable[[], object] = getattr(import_module(grammar.module), grammar.factory)
    return Parser(Language(language()))


def outline(name: str, text: str) -> list[SourcePart]:
    """The entries of a file in their order, `MOST` at most; none in a language without a grammar. Blocks. `name`: the
    file's, which tells the language.
    """
    grammar = _GRAMMARS.get(_suffix(name))
    if grammar is None or not _has_parser():
        return []
    raw = text.encode("utf-8", "surrogatepass")
    tree = _parser(grammar).parse(raw)
    lines = raw.split(b"\n")
    found: list[SourcePart] = []
    until = time.monotonic() + _SECONDS
    for depth, node in _entries(tree.root_node, grammar):
        first = node.start_point.row
        shares = found and found[-1].first == first + 1  # its line begins with another entry
        line = lines[first][node.start_point.column :] if shares else lines[first]
        written = line.decode("utf-8", "replace").strip().rstrip("{ ")
        found.append(SourcePart(first + 1, node.end_point.row + 1, depth, one_line(literal(written), _LONGEST)))
        if len(found) >= MOST or time.monotonic() > until:
            break
    return found


def _entries(root: Node, grammar: _Grammar) -> Iterator[tuple[int, Node]]:
    """Every entry's node with its depth, in the order of the text."""
    waiting: list[tuple[int, int, Node]] = [(0, 0, root)]
    while waiting:
        depth, level, node = waiting.pop()
        kind = node.type
        is_entry = kind in grammar.names and _has_body(node, grammar)
        if is_entry or (kind == "variable_declarator" and _is_function(node)):
            yield depth, node
        inside = depth + is_entry
        if level < _DEEPEST and (kind in grammar.within or node is root):
            waiting += [(inside, level + 1, child) for child in reversed(node.named_children)]


def _has_body(node: Node, grammar: _Grammar) -> bool:
    """Of C's types only those that are defined here count."""
    return not (grammar is _C and node.type.endswith("_specifier")) or node.child_by_field_name("body") is not None


def _is_function(node: Node) -> bool:
    value = node.child_by_field_name("value")
    return value is not None and value.type in _FUNCTIONS


def drawn(entries: Sequence[SourcePart]) -> list[str]:
    """A line for each entry: its lines in the file, and its text, indented by depth."""
    width = max((len(f"{entry.first}–{entry.last}") for entry in entries), default=0)
    return [f"{f'{one.first}–{one.last}':>{width}}│{'  ' * one.depth}{one.text}" for one in entries]


def fitting(entries: Sequence[SourcePart], size: int) -> list[str]:
    """The lines of the entries that fit so many bytes: without the inner ones, if that is not all of them, and then the
    first ones.
    """
    for deepest in sorted({entry.depth for entry in entries}, reverse=True):
        lines = drawn([entry for entry in entries if entry.depth <= deepest])
        if sum(len(line.encode()) + 1 for line in lines) <= size:
            return lines
    lines = drawn([entry for entry in entries if entry.depth == 0])
    while lines and sum(len(line.encode()) + 1 for line in lines) > size - 20:
        lines.pop()
    return [*lines, "…"] if lines else []

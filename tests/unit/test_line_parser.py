"""The parser and the formatter of the command language: what is written is what is read, whatever the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gshtui.commands.declaration import UsageError
from gshtui.commands.line_parser import MOST_CHARACTERS, MOST_DEPTH, Signature, parse_line
from gshtui.commands.line_syntax import (
    Argument,
    Array,
    Joined,
    Node,
    Pipeline,
    Script,
    Stage,
    Substitution,
    TextNode,
    VariableNode,
)
from tests.kit.line_formatter import format_line

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)
STEPS = st.one_of(NAMES, st.integers(-9, 99), st.sampled_from(["two words", "a-b", "0", "it's", 'a"b', "$", ""]))
TEXTS = st.builds(TextNode, st.text(max_size=12).filter(lambda text: not _CONTROL.search(text)))
VARIABLES = st.builds(VariableNode, NAMES, st.lists(STEPS, max_size=3).map(tuple))


def _joined(scripts: st.SearchStrategy[Script]) -> st.SearchStrategy[Joined]:
    texts = TEXTS.filter(lambda text: bool(text.text))
    parts = st.lists(
        st.tuples(st.none() | texts, st.one_of(VARIABLES, st.builds(Substitution, scripts))), min_size=1, max_size=3
    )
    return st.builds(
        lambda pairs, last: Joined(tuple(part for pair in pairs for part in pair if part) + ((last,) if last else ())),
        parts,
        st.none() | texts,
    )


def _scripts(scripts: st.SearchStrategy[Script]) -> st.SearchStrategy[Script]:
    plain = st.one_of(TEXTS, VARIABLES, _joined(scripts), st.builds(Substitution, scripts, st.booleans()))
    nodes: st.SearchStrategy[Node] = st.one_of(plain, st.builds(Array, st.lists(plain, max_size=3).map(tuple)))
    arguments = st.builds(Argument, st.just("") | NAMES, nodes)
    stages = st.builds(Stage, NAMES, st.lists(arguments, max_size=3).map(tuple))
    pipelines = st.builds(Pipeline, st.lists(stages, min_size=1, max_size=2).map(tuple))
    return st.builds(Script, st.lists(pipelines, min_size=1, max_size=2).map(tuple))


SCRIPTS = st.recursive(
    st.builds(lambda name: Script((Pipeline((Stage(name),)),)), NAMES), lambda inner: _scripts(inner), max_leaves=4
)


@given(SCRIPTS)
def test_what_is_written_is_read_again(script: Script) -> None:
    assert parse_line(format_line(script)) == script


ALPHABET = st.text(st.sampled_from(" \n\t|;$(){}[]<>'\"\\=,./ab1é日\x00&"), max_size=40)


def _verbatim(name: str) -> Signature | None:
    return Signature(("a", "b"), frozenset({"a", "b", "c"}), "b", "b") if name.startswith("a") else None


@given(ALPHABET | st.text())
@example("a $(a '$(a)'")
@example('"')
@example("/")
def test_any_text_is_read_or_refused_in_one_sentence_with_its_place(text: str) -> None:
    try:
        script = parse_line(text, _verbatim)
    except UsageError as error:
        assert error.message.endswith("."), error.message
        assert "\n" not in str(error)
        if text.strip(" \n\t\r") and error.position is not None:
            line, carets = error.position.picture.split("\n")
            assert carets.strip(" ").strip("^") == ""
            assert "^" in carets
            assert error.position.line <= text.count("\n") + 1
            assert len(line) < 200
    else:
        written = format_line(script)
        assert parse_line(format_line(parse_line(written))) == parse_line(written)


def _arguments(line: str) -> list[tuple[str, Node]]:
    stage = parse_line(line).only_stage
    assert stage is not None
    return [(one.name, one.value) for one in stage.arguments]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("plain/path-1.txt", TextNode("plain/path-1.txt")),
        ("'$x | ${y} ; \\n'", TextNode("$x | ${y} ; \\n")),
        ('"a\\tb\\"c\\$d\\e"', TextNode('a\tb"c$d\\e')),
        ("it's", TextNode("it's")),
        ('say"no"', TextNode('say"no"')),
        ("a\\ b\\|c", TextNode("a b|c")),
        ("$5", TextNode("$5")),
        ("100$", TextNode("100$")),
        ("$name", VariableNode("name")),
        ("${name}", VariableNode("name")),
        ("${last.data[0].two-three}", VariableNode("last", ("data", 0, "two-three"))),
        ('${last["a b"][-1].0}', VariableNode("last", ("a b", -1, "0"))),
        ("$dir/file", Joined((VariableNode("dir"), TextNode("/file")))),
        ('"$name"', Joined((VariableNode("name"),))),
        ('"costs $5, ${n}!"', Joined((TextNode("costs $5, "), VariableNode("n"), TextNode("!")))),
        ("$dir'/a b'", Joined((VariableNode("dir"), TextNode("/a b")))),
        ("[]", Array(())),
        ("[a, 'b, c', $d, [e]]", Array((TextNode("a"), TextNode("b, c"), VariableNode("d"), Array((TextNode("e"),))))),
        ("[a-z]+", TextNode("[a-z]+")),
        ("a[0]", TextNode("a[0]")),
        ("--flag", TextNode("--flag")),
        ("'' ", TextNode("")),
        ("a(b)", TextNode("a(b)")),
    ],
)
def test_words(word: str, value: Node) -> None:
    assert _arguments(f"echo {word}") == [("", value)]
    assert _arguments(f"echo x={word} y") == [("x", value), ("", TextNode("y"))]


def test_lines_inside_lines() -> None:
    inner = Script((Pipeline((Stage("ls", (Argument("", TextNode("a")),)), Stage("head"))),))
    assert _arguments("write to=x content=$(ls a | head)") == [("to", TextNode("x")), ("content", Substitution(inner))]
    assert _arguments('echo "n: $(ls a | head)"') == [("", Joined((TextNode("n: "), Substitution(inner))))]
    assert _arguments("diff <(ls a|head) b") == [("", Substitution(inner, readable=True)), ("", TextNode("b"))]


def test_new_lines_and_slashes_separate_as_semicolons_do() -> None:
    expected = parse_line("a 1; b 2 | c")
    assert parse_line("a 1\n b 2 |\n  c\n") == expected
    assert parse_line("/a 1\n/b 2 | /c;") == expected
    assert len(parse_line("a $(b\nc)").pipelines) == 1


@pytest.mark.parametrize(
    ("rest", "values"),
    [
        ("x ls | wc; $HOME 'a", ["x", "ls | wc; $HOME 'a"]),
        ("x $(date) # no", ["x", "$(date) # no"]),
        ('x "echo $HOME"', ["x", "echo $HOME"]),
        ("x 'a b' c=1", ["x", "a b", ("c", "1")]),
        ("x 'quoted' is a word", ["x", "'quoted' is a word"]),
        ("x c=1 FOO=2 env", ["x", ("c", "1"), "FOO=2 env"]),
        ("x line one\nline two", ["x", "line one\nline two"]),
        ("x 'a' ", ["x", "a"]),
        ("b=y x", [("b", "y"), "x"]),
    ],
)
def test_a_verbatim_parameter_takes_the_rest_as_it_stands(rest: str, values: list[str | tuple[str, str]]) -> None:
    stage = parse_line(f"a {rest}", _verbatim).only_stage
    assert stage is not None
    found = [(one.name, one.value.text) for one in stage.arguments if isinstance(one.value, TextNode)]
    assert found == [one if isinstance(one, tuple) else ("", one) for one in values]


def test_a_verbatim_text_ends_where_the_line_around_it_ends() -> None:
    script = parse_line("b x=$(a q ls (x) 'y)' | wc) z; a q | b", _verbatim)
    stage = script.pipelines[0].stages[0]
    inner = stage.arguments[0].value
    assert isinstance(inner, Substitution)
    assert inner.script.pipelines[0].stages[0].arguments[1].value == TextNode("ls (x) 'y)' | wc")
    assert stage.arguments[1].value == TextNode("z")
    assert len(script.pipelines[1].stages) == 2, "an operator before the first word is one"


@pytest.mark.parametrize(
    ("line", "said", "column"),
    [
        ("a 'b", "The quote ' is not closed.", 3),
        ('a b="c', 'The quote " is not closed.', 5),
        ("a $(b", "The `$(` is not closed.", 3),
        ("a <(b)c", "Nothing can be joined to `<(…)`.", 7),
        ("a $()", "`$()` has no command in it.", 3),
        ("a ${b!}", "'!' cannot stand in `${…}`.", 6),
        ("a ${b", "The `${` is not closed.", 3),
        ("a [b, c", "The `[` is not closed.", 3),
        ("a [b c]", "A comma is missing here.", 6),
        ("a [,b]", "A value is missing here.", 4),
        ("a |", "A command is missing after |.", 3),
        ("a | ; b", "A command must begin with its name, not with ';'.", 5),
        ("a || b", "There is no `||` here.", 3),
        ("a && b", "There is no `&&` here.", 3),
        ("a > b", "There is no `>` here.", 3),
        ("$x", "A command must begin with its name, not with '$'.", 1),
        ("a=b", "'=' cannot stand in the name of a command.", 2),
        ("a \x00", "The line has the control character U+0000 in it.", 3),
        ("a 日本 'b", "The quote ' is not closed.", 6),
    ],
)
def test_errors_say_where(line: str, said: str, column: int) -> None:
    with pytest.raises(UsageError) as caught:
        parse_line(line)
    assert caught.value.message == said
    assert caught.value.position is not None
    assert (caught.value.position.line, caught.value.position.column) == (1, column)


def test_the_picture_points_at_cells_and_cuts_long_lines() -> None:
    with pytest.raises(UsageError) as caught:
        parse_line("help\na 日本 'b")
    assert caught.value.position is not None
    assert str(caught.value.position) == "line 2, column 6"
    assert caught.value.position.picture == "a 日本 'b\n       ^"
    with pytest.raises(UsageError) as caught:
        parse_line("a " + "x" * 500 + " 'b" + "y" * 500)
    assert caught.value.position is not None
    line, carets = caught.value.position.picture.split("\n")
    assert line[len(carets) - 1] == "'"
    assert line[0] == line[-1] == "…"
    assert len(line) < 80


@pytest.mark.parametrize(
    "line",
    [
        "a " + "x" * (MOST_CHARACTERS * 10),
        "a $(" * 10_000,
        "a " + "[" * 10_000,
        "a " + "$(b " * 100 + ")" * 100,
        "a " + "<(b " * 100 + ")" * 100,
        "a " + "[b]x " * 50_000 + "'",
        'a "' + "$(b " * 10_000,
        "a " + "${" * 100_000,
        "a\n" * 100_000 + "'",
    ],
    ids=range(9),
)
def test_hostile_lines_are_refused_in_a_sentence(line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_line(line)
    assert len(str(caught.value)) < 300


def test_depth_is_bounded_and_what_is_below_it_works() -> None:
    def nested(depth: int) -> str:
        return "a " + "$(a " * depth + ")" * depth

    assert parse_line(nested(MOST_DEPTH)).only_stage is not None
    with pytest.raises(UsageError, match=f"more than {MOST_DEPTH} levels"):
        parse_line(nested(MOST_DEPTH + 1))


@pytest.mark.parametrize("unit", ["b 'c' [a]x $x \"$y\" \\ [b, c] $(a) ", "k='\\''", "; a | a "])
def test_the_longest_lines_are_read(unit: str) -> None:
    assert parse_line("a " + unit * ((MOST_CHARACTERS - 2) // len(unit))).pipelines


def test_help_is_asked_for_whatever_a_command_takes() -> None:
    assert parse_line("a --help", _verbatim) == parse_line("help a", _verbatim)
    assert parse_line("b --help | a x", _verbatim).pipelines[0].stages[0].name == "help"
    for text in ('a "--help"', "a --help me", "a x --help"):
        assert parse_line(text, _verbatim).pipelines[0].stages[0].name == "a", text

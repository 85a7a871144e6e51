"""Where Markdown is cut: the same in whatever pieces it comes, and nothing is lost or torn."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gshtui.ui.kit.transcript.markdown_splitter import LINE_LIMIT, ROWS, SIZE_LIMIT, MarkdownSplitter
from tests.kit.markdown_page import draw_chunks, make_page, parse_chunks
from tests.kit.storms import examples

LINES = st.sampled_from(
    [
        "",
        "",
        "plain words that go on for a while",
        "# heading",
        "---",
        "===",
        "***",
        "- item",
        "  - nested",
        "    deep text",
        "1. first",
        "7) seventh",
        "2. second",
        "- [ ] task",
        "> quote",
        "> - list in quote",
        "```python",
        "<python>",
        "</python>",
        "```",
        "~~~",
        "  ```",
        "    indented code",
        "| a | b |",
        "|---|:-:|",
        "| 1 | 2 |",
        "a | b",
        "**bold** `code` [link](http://x.y)",
        "\ttab",
        "ends with carriage return\r",
        "\x1b[31mred\x1b[0m and \x1b]0;title\x07 more",
        "日本語のテキスト 👩‍👩‍👧",
        "right \u202e left",
    ]
)
DOCUMENTS = st.lists(LINES, max_size=40).map("\n".join)
CUTS = st.lists(st.integers(1, 30), max_size=80)
ON = make_page(37)


def in_pieces(text: str, cuts: list[int]) -> list[str]:
    """The text in pieces of these lengths, the rest in one."""
    pieces: list[str] = []
    for cut in cuts:
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text]


@settings(max_examples=examples(300), deadline=None)
@given(DOCUMENTS | st.text(max_size=400), CUTS)
def test_a_stream_in_any_pieces_gives_what_the_whole_text_gives(text: str, cuts: list[int]) -> None:
    splitter = MarkdownSplitter()
    streamed = []
    for piece in in_pieces(text, cuts):
        streamed += splitter.feed(piece)
        splitter.tail()  # looking at the tail changes nothing
    streamed += splitter.finish()
    assert streamed == parse_chunks(text)


@settings(max_examples=examples(150), deadline=None)
@given(DOCUMENTS, CUTS)
def test_the_lines_of_a_stream_are_those_of_the_whole_text(text: str, cuts: list[int]) -> None:
    splitter = MarkdownSplitter()
    streamed = [chunk for piece in in_pieces(text, cuts) for chunk in splitter.feed(piece)] + splitter.finish()
    assert [line.segments for line in draw_chunks(streamed, ON)] == [
        line.segments for line in draw_chunks(parse_chunks(text), ON)
    ]


@settings(max_examples=examples(150), deadline=None)
@given(DOCUMENTS, CUTS)
def test_the_tail_is_what_the_text_would_give_if_it_ended_there(text: str, cuts: list[int]) -> None:
    splitter = MarkdownSplitter()
    done, so_far = [], ""
    for piece in in_pieces(text, cuts):
        done += splitter.feed(piece)
        so_far += piece
        assert done + splitter.tail() == parse_chunks(so_far)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(LINE_LIMIT - 3, 3 * LINE_LIMIT), st.sampled_from(["x", "ab ", "日", "- a "]), CUTS)
def test_a_very_long_line_is_cut_at_the_same_places(length: int, unit: str, cuts: list[int]) -> None:
    text = (unit * length)[:length] + "\nafter"
    splitter = MarkdownSplitter()
    streamed = [chunk for piece in in_pieces(text, [cut * 100 for cut in cuts]) for chunk in splitter.feed(piece)]
    assert streamed + splitter.finish() == parse_chunks(text)


@given(DOCUMENTS)
@settings(max_examples=examples(200), deadline=None)
def test_every_word_of_the_source_is_in_some_chunk(text: str) -> None:
    kept = "".join(
        "".join(chunk.text.split()) + chunk.language
        for chunk in parse_chunks(text.replace("\x1b", "").replace("\r", ""))
    )
    for word in ("plain", "heading", "nested", "quote", "seventh", "indented", "link"):
        assert kept.count(word) == text.count(word)


def test_chunks_are_bounded_whatever_comes() -> None:
    for text in (
        "x" * 1_000_000,
        "word " * 200_000,
        "line\n" * 50_000,
        "```\n" + "code\n" * 50_000,
        "- item\n" * 50_000,
    ):
        for chunk in parse_chunks(text):
            assert len(chunk.text) <= SIZE_LIMIT + LINE_LIMIT + 1
            assert chunk.text.count("\n") < ROWS * 2


def kinds(tokens: str) -> list[str]:
    """The kinds of the top-level blocks of a Markdown text, as markdown-it sees them."""
    parsed = MarkdownIt("commonmark").enable("table").parse(tokens)
    return [token.type for token in parsed if token.level == 0 and token.nesting >= 0]


def test_chunks_hold_the_blocks_that_the_whole_text_has() -> None:
    text = (
        "# One\nText *a*\nmore.\n\nTwo\n===\n\n- a\n- b\n\n  in b\n\n- c\n\ntext\n1. x\n2. y\n\n> q\n> r\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n***\n\n    indented\n\n```py\nx = 1\n\ny = 2\n```\nend\n\n"
        "* other\n\n1) paren\n"
    )
    apart = [
        kind for chunk in parse_chunks(text) for kind in (kinds(chunk.text) if chunk.kind == "markdown" else ["fence"])
    ]
    assert apart == kinds(text)


def test_a_long_ordered_list_goes_on_counting() -> None:
    made = parse_chunks("".join(f"1. item {number}\n" for number in range(40)))
    lines = [line.text for line in draw_chunks(made, make_page(40))]
    assert len(made) > 1
    assert [line.split()[0] for line in lines] == [f"{number}." for number in range(1, 41)]


def test_a_long_table_repeats_its_header() -> None:
    made = parse_chunks("| n | m |\n|---|---|\n" + "".join(f"| {number} | x |\n" for number in range(100)))
    assert len(made) == 2
    lines = [line.text for line in draw_chunks(made, make_page(40))]
    assert sum(line.startswith("n ") for line in lines) == 2
    assert sum(line.split()[1:] == ["x"] for line in lines) == 100


def test_code_keeps_its_lines_and_tabs() -> None:
    (chunk,) = parse_chunks("```make\nall:\n\tcc x.c\n\n# not a heading\n```\n")
    assert (chunk.kind, chunk.language) == ("code", "make")
    assert chunk.text == "all:\n\tcc x.c\n\n# not a heading"


def test_an_unfinished_fence_is_code() -> None:
    (chunk,) = parse_chunks("~~~\nx\n```\n")
    assert (chunk.kind, chunk.text) == ("code", "x\n```")


def test_a_block_of_python_to_be_run_is_code() -> None:
    said, code, after = parse_chunks(
        "Let me see\n<python>\nfor x in y:\n    print(x)  # *a*\n\nz</python>\nso *that*\n"
    )
    assert (said.kind, after.kind, after.text) == ("markdown", "markdown", "so *that*")
    assert (code.kind, code.language, code.text) == ("code", "python", "for x in y:\n    print(x)  # *a*\n\nz")

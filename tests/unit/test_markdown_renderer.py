"""How Markdown looks: its blocks as lines, at any width, with nothing that a terminal could obey."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.kit.markdown_page import draw_chunks, make_page, parse_chunks, shown_lines
from tests.kit.storms import examples


def test_paragraphs_wrap_at_words_and_keep_their_line_breaks() -> None:
    assert shown_lines("one two three four\nfive", 10) == ["one two", "three four", "five"]


def test_headings_differ_by_more_than_colour() -> None:
    lines = draw_chunks(parse_chunks("# Big\n\n## Less\n\nwords"), make_page(40))
    assert [line.text for line in lines] == ["Big", "━━━", "", "Less", "", "words"]
    bold = [all(segment.style and segment.style.bold for segment in line.segments) for line in lines]
    assert bold == [True, False, True, True, True, False]  # an empty line has nothing that is not bold


def test_nested_lists_tasks_and_numbers() -> None:
    text = "- a\n  - b\n    - c\n- [x] done\n- [ ] open\n\n9. nine\n10. ten"
    assert shown_lines(text) == ["• a", "  ◦ b", "    ▪ c", "☑ done", "☐ open", "", " 9. nine", "10. ten"]


def test_loose_lists_have_room() -> None:
    assert shown_lines("- a\n\n- b") == ["• a", "", "• b"]


def test_quotes_have_a_bar_on_every_line() -> None:
    assert shown_lines("> one two three\n>\n> - x", 12) == ["▎ one two", "▎ three", "▎", "▎ • x"]


def test_tables_are_aligned() -> None:
    assert shown_lines("| a | num | mid |\n|---|--:|:-:|\n| x | 1 | m |\n| yy | 22 | mmmmm |") == [
        "a   num   mid",
        "──────────────",
        "x     1    m",
        "yy   22  mmmmm",
    ]


def test_the_only_rule_of_a_table_is_below_its_header() -> None:
    rows = "".join(f"| name {n} | " + "word " * 12 + "|\n" for n in range(5))
    headed = shown_lines(f"| name | text |\n|---|---|\n{rows}", 40)
    assert [at for at, line in enumerate(headed) if "─" in line] == [1] and len(headed) > 8
    assert not [line for line in shown_lines(f"|  |  |\n|---|---|\n{rows}", 40) if "─" in line]


def test_a_wide_table_wraps_its_cells_and_a_hopeless_one_is_stacked() -> None:
    table = "| name | text |\n|---|---|\n| a | " + "word " * 12 + "|"
    lines = shown_lines(table, 30)
    assert all(cell_len(line) <= 30 for line in lines)
    assert sum(line.count("word") for line in lines) == 12
    many = (
        "|"
        + "|".join(f" h{n} " for n in range(8))
        + "|\n|"
        + "---|" * 8
        + "\n|"
        + "|".join(f" v{n} " for n in range(8))
        + "|"
    )
    assert shown_lines(many, 20)[:2] == ["h0: v0", "h1: v1"]


def test_links_show_where_they_lead() -> None:
    assert shown_lines("[here](https://evil.example/x)") == ["here (https://evil.example/x)"]
    assert shown_lines("<https://a.b/c>") == ["https://a.b/c"]
    assert shown_lines("![pic](http://a.b/c.png)") == ["[image: pic] (http://a.b/c.png)"]


def test_references_and_html_are_shown_as_they_are_written() -> None:
    assert shown_lines("[a][1]\n\n[1]: http://x.y\n\n<b onclick='x'>hi</b>") == [
        "[a][1]",
        "",
        "[1]: http://x.y",
        "",
        "<b onclick='x'>hi</b>",
    ]


def test_code_has_its_language_and_its_colours() -> None:
    lines = draw_chunks(parse_chunks("```python\ndef f(): return 1\n```"), make_page(40, "python"))
    assert [line.text.rstrip() for line in lines] == [" python", " def f(): return 1"]
    colours = {segment.text: segment.style.color for segment in lines[1].segments if segment.style}
    assert len({str(colours[word]) for word in ("def", "f", "1")}) == 3


def test_code_of_an_unknown_language_is_shown_plain() -> None:
    assert shown_lines("```nolanguage\nx = 1\n```", 40, "nolanguage") == [" nolanguage", " x = 1"]


def test_long_code_lines_wrap_and_are_copied_as_one() -> None:
    lines = draw_chunks(parse_chunks("```\n" + "x" * 50 + "\n```"), make_page(22))
    assert [line.join for line in lines] == ["\n", "", ""]
    assert "".join(line.copied for line in lines) == "x" * 50


@pytest.mark.parametrize("width", [1, 8, 17, 20, 80])
@given(text=st.text(max_size=300) | st.text("日本👩\u200d👧 aé\n|-`*#>", max_size=200))
@settings(max_examples=examples(60), deadline=None)
def test_no_line_is_wider_than_the_page_and_no_control_character_is_left(width: int, text: str) -> None:
    on = make_page(max(8, width))
    for line in draw_chunks(parse_chunks(text), on):
        assert line.cells <= on.width
        assert line.cells == cell_len(line.text)
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in line.text)


@pytest.mark.parametrize(
    "hostile",
    ["\x1b[2J", "\x1b]52;c;aGk=\x07", "\x9b31m", "&#27;[2J", "&#x1b;]0;x&#7;", "`\x1b[31m`", "[a](http://x/\x1b)"],
)
def test_escape_sequences_do_not_pass_not_even_as_entities(hostile: str) -> None:
    for text in (
        hostile,
        f"- {hostile}",
        f"> {hostile}",
        f"# {hostile}",
        f"| a |\n|---|\n| {hostile} |",
        f"```x\n{hostile}\n```",
    ):
        assert not any(letter in "".join(shown_lines(text)) for letter in "\x1b\x07\x9b\x9d")


def test_writing_direction_is_shown() -> None:
    assert "⟨U+202E⟩" in shown_lines("abc \u202e def")[0]
    assert "⟨U+202E⟩" in shown_lines("abc &#x202e; def")[0]


def test_markup_is_only_words() -> None:
    text = "[bold red]x[/] [/] [@click=app.quit]y[/]"
    assert shown_lines(text, 80) == [text]


def test_a_deep_nest_ends() -> None:
    assert shown_lines("> " * 300 + "x", 20)
    assert shown_lines("\n".join("  " * depth + "- x" for depth in range(60)), 20)

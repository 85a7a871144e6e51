"""Our own words where no Markdown is drawn."""

import pytest

from gshtui.text.markdown_table import marked_parts, unmarked


@pytest.mark.parametrize(
    ("text", "words", "names"),
    [
        ("`touch` changes things", "touch changes things", ["touch"]),
        ("**main**: `/mode auto` and `f1`", "main: /mode auto and f1", ["/mode auto", "f1"]),
        ("a ` alone, 2 ** 3\n`two\nlines`", "a ` alone, 2 ** 3\n`two\nlines`", []),
        ("", "", []),
    ],
)
def test_names_and_stress_lose_their_marks_and_nothing_else_changes(text: str, words: str, names: list[str]) -> None:
    assert unmarked(text) == words
    assert "".join(part for part, _ in marked_parts(text)) == words
    assert [part for part, is_name in marked_parts(text) if is_name] == names

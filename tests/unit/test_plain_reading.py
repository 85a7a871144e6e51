"""Markdown as it is read aloud: no mark is left, and no word or line of code is lost or changed."""

import pytest

from gshtui.text.plain_reading import PlainReading, heard

RUNS = " ".join("`" * length for length in range(1, 100))
"""Each is looked for up to the end of the line, so that a long one is passed as it is."""


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("# Why it **fails**", "Why it fails"),
        ("Use `make test` and *not* __make__.", "Use make test and not make."),
        ("**It spans\ntwo lines**, bold", "It spans\ntwo lines, bold"),
        ("```python\nx = a**b  # no **mark**\n```\nThen", "x = a**b  # no **mark**\nThen"),
        ("~~~\n```\n~~~", "```"),
        ("| name | state |\n| --- | :-: |\n| fix | `idle` |", "name: fix; state: idle"),
        ("| a | b |\n| c | |\n\nThen", "a; b\nc\n\nThen"),
        ("| lone |", "lone"),
        ("| | |\n| --- | --- |\n| model | `x` |\n| folder | |", "model: x\nfolder"),
        ("- one\n2. two\n> said", "- one\n2. two\nsaid"),
        ("2**3, a*b*c, snake_case_name, *.py and 2 * 3 * 4", "2**3, a*b*c, snake_case_name, *.py and 2 * 3 * 4"),
        ("[the guide](https://x.example/a) and `**kept**`", "the guide (https://x.example/a) and **kept**"),
        ("above\n\n---\n\nbelow", "above\n\n\nbelow"),
        ("Title\n=====", "Title"),
        ("a | b", "a | b"),
        (f"**a** {RUNS}", f"**a** {RUNS}"),
    ],
)
def test_words_are_read_without_their_marks(source: str, read: str) -> None:
    reading = PlainReading()
    lines = [line for each in source.split("\n") if (line := reading.line(each)) is not None]
    assert "\n".join([*lines, *filter(None, (reading.rest(),))]) == read


def test_columns_and_drawings_are_words() -> None:
    drawn = "| part | | tokens |\n| --- | --- | --- |\n| tools | ███▌ | 2k |\n\n   3│let  x\nclaude   no hooks\n1  a  b"
    said = "part: tools; tokens: 2k\n\n3: let: x\nclaude: no hooks\n1; a; b"
    assert heard(drawn) == said
    assert heard("```\na   b │\n```") == "a   b │"

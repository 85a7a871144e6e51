"""Lines as rows with each character in one of them, and short words whole."""

import random
from itertools import pairwise

import pytest
from rich.cells import cell_len

from gshtui.ui.context.outline import TextRows
from gshtui.ui.kit.drawing.styled_lines import kept_rows

WORDS = ("asking", "a", "of", "summary,", "日本語", "é", "e\u0301", "  ", "parser.py", "x" * 90)


@pytest.mark.parametrize("seed", range(20))
def test_each_character_is_in_one_row_and_short_words_are_whole(seed: int) -> None:
    dice = random.Random(seed)
    line = " ".join(dice.choices(WORDS[: 4 if seed < 5 else None], k=60))
    width = dice.randrange(16, 90)
    rows = kept_rows(line, width)
    assert "".join(rows) == line
    assert all(cell_len(row) <= width for row in rows)
    for row, below in pairwise(rows):
        last = row.rsplit(" ", 1)[-1]
        assert not last or below[0] == " " or cell_len(last) >= width // 2 - 2, "it had no blank near"


def test_marks_without_a_cell_make_no_empty_row() -> None:
    assert kept_rows("e\u0301 " * 8, 16) == ["e\u0301 " * 8]


def test_a_summary_is_wrapped_between_its_words() -> None:
    assert TextRows("The summary of what was asked: asking again.", 20).row(0).text == "The summary of what "

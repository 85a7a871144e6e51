"""What is new on a screen: words, and neither drawings nor words that come again and again."""

import itertools
import random

from gshtui.programs.session.program_facts import ScreenNews


def seen(*looks: list[str], apart: float = 0.4) -> float:
    """How many seconds before the last look the last news was."""
    news, now = ScreenNews(), 1000.0
    for lines in looks:
        now += apart
        news.note(lines, now)
    return now - news.at


def frames(count: int, *rows: list[str]) -> list[list[str]]:
    """Looks at rows of which each goes round."""
    return [list(rows) for rows in itertools.islice(zip(*map(itertools.cycle, rows), strict=True), count)]


def test_drawings_are_no_news() -> None:
    spinner = [f"\x1b[33m{glyph}\x1b[0m Ready" for glyph in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"]
    logo = ["▐▛███▜▌", "▝▜█████▛▘", "  ▘▘ ▝▝"]
    assert seen(*frames(100, spinner, logo, ["> "])) > 39
    chance = random.Random(1)
    stars = [["".join(chance.choice(" .*+·") for _ in range(60)) for _ in range(20)] for _ in range(100)]
    assert seen(*stars) > 39


def test_words_that_come_again_are_none_and_others_are() -> None:
    letters = ["G   ", "GS  ", "GSH ", " SH ", "  H "]
    assert seen(*frames(100, letters, ["type a message"])) > 35
    assert seen(*([f"Thinking … {number} s"] for number in range(100))) < 0.1
    text = " ".join(f"word{number}" for number in range(400))
    assert seen(*([text[: at * 8][-400:], "> "] for at in range(100))) < 0.1
    rows = [f"line {number}" for number in range(140)]
    assert seen(*(rows[at : at + 40] for at in range(100))) < 0.1


def test_what_was_there_long_ago_is_new() -> None:
    news = ScreenNews()
    news.note(["first"], 10.0)
    news.note(["second"], 11.0)
    news.note(["first"], 12.0)
    assert news.at == 11.0
    news.note(["second"], 300.0)
    assert news.at == 300.0
    news.shift(-200.0)
    news.note(["first", "more"], 101.0)
    assert news.at == 101.0


def test_a_row_that_stays_for_long_is_no_news() -> None:
    news = ScreenNews()
    for second in range(300):
        news.note(["a title", f"{'◐◓'[second % 2]} logo"], 10.0 + second)
    assert news.at == 10.0


def test_it_keeps_no_more_than_it_needs() -> None:
    news = ScreenNews()
    for number in range(1000):
        news.note([f"line {number}"] * 3, float(number) / 100)
    assert sum(map(len, news._rows.values())) <= 3 * 64  # pyright: ignore[reportPrivateUsage]
    news.note(["one"], 20.0)
    assert list(news._rows) == [0]  # pyright: ignore[reportPrivateUsage]

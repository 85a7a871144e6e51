"""What a failed program said last: the error at the end of its screen, and nothing of its banner."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.text.program_words import last_lines

BANNER = """Welcome to Claude Code v2.1.197
…………………………………………………………
     *                                       █████▓▓░
                                 *         ███▓░     ░░
            ░░░░░░                        ███▓░
"""


@pytest.mark.parametrize(
    ("screen", "said"),
    [
        (
            f"{BANNER}\n Unable to connect to Anthropic services\n\n"
            " Failed to connect to api.anthropic.com: ECONNREFUSED\n\n",
            "Unable to connect to Anthropic services · Failed to connect to api.anthropic.com: ECONNREFUSED",
        ),
        (
            f"{BANNER}\n Unable to connect to Anthropic services\n\n"
            " Failed to connect to api.anthropic.com: ECONNREFUSED\n"
            " Please check your internet connection and network settings.\n\n"
            " Note: Claude Code might not be available in your country. Check supported countries at\n"
            " https://anthropic.com/supported-countries\n",
            "Unable to connect to Anthropic services · Failed to connect to api.anthropic.com: ECONNREFUSED",
        ),
        (
            "Traceback (most recent call last):\n  x = y[0]\nIndexError: list index out of range\nbye now\n",
            "IndexError: list index out of range",
        ),
        (f"{BANNER}", "Welcome to Claude Code v2.1.197"),
        ("│ Error: no such model │\n╰──────────────────────╯\n", "Error: no such model"),
        ("exit 1\n$ \n", "exit 1"),
        ("", ""),
        ("░░░\n***\n12 34\n", ""),
    ],
)
def test_the_end_of_a_screen_in_words(screen: str, said: str) -> None:
    assert last_lines(screen) == said


@given(st.text(), st.integers(1, 3))
def test_it_is_one_line_of_what_was_there(text: str, most: int) -> None:
    said = last_lines(text, most)
    assert "\n" not in said and len(said) <= len(text) + 3 * most

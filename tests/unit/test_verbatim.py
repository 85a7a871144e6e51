"""Text as it is: nothing in it means anything, and it comes back whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.text.markdown_table import bare, fenced, outside_fences


@given(st.text(alphabet="`a \n*_", max_size=40))
def test_what_is_fenced_comes_back(text: str) -> None:
    assert bare(fenced(text)) == text


@pytest.mark.parametrize("text", ["", "plain", "```\nhalf", "a ```\nb\n``` c"])
def test_other_text_stays(text: str) -> None:
    assert bare(text) == text


def test_only_what_stands_outside_of_fenced_blocks_is_changed() -> None:
    text = "One `a`.\n\n```\ntwo `a`\n```\n\nthree `a`"
    assert outside_fences(str.upper, text) == "ONE `A`.\n\n```\ntwo `a`\n```\n\nTHREE `A`"
    assert outside_fences(str.upper, fenced("```\nx")) == fenced("```\nx")
    assert outside_fences(str.upper, "a ``` b") == "A ``` B"
    assert outside_fences(str.upper, "```\nnot closed") == "```\nnot closed"

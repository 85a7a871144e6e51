"""Text as it is: nothing in it means anything, and it comes back whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.text.verbatim import bare, fenced


@given(st.text(alphabet="`a \n*_", max_size=40))
def test_what_is_fenced_comes_back(text: str) -> None:
    assert bare(fenced(text)) == text


@pytest.mark.parametrize("text", ["", "plain", "```\nhalf", "a ```\nb\n``` c"])
def test_other_text_stays(text: str) -> None:
    assert bare(text) == text

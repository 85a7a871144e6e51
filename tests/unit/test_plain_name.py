"""Names that people and agents give: what they show is what they are, and none is a path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.text.plain_name import NameRefused, plain_name


@pytest.mark.parametrize("name", ["notes", "project-notes.v2", "größe", "記憶", "my note", ".status", "a~b"])
def test_honest_names(name: str) -> None:
    assert plain_name(name) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it is empty"),
        ("..", "it is a step in a path"),
        ("a/b", "a name has no / or"),
        ("a\\b", "a name has no / or"),
        ("~root", "~ at the beginning"),
        (" a", "begins or ends with a space"),
        ("a\0", "control characters"),
        ("a\u202eb", "control characters or invisible"),
        ("a\u200bb", "control characters or invisible"),
        ("．．", "look like others"),
        ("cl\u0430ude", "mixes alphabets (CYRILLIC, LATIN)"),
        ("x" * 101, "longer than 100"),
        ("漢" * 81, "longer than 100"),
    ],
)
def test_refused_names(name: str, why: str) -> None:
    with pytest.raises(NameRefused) as refused:
        plain_name(name, "key")
    assert why in refused.value.message and refused.value.message.endswith(".")
    assert refused.value.message.isprintable()


@given(st.text(max_size=120))
def test_any_name_is_one_step_or_refused_in_one_printable_sentence(name: str) -> None:
    try:
        assert plain_name(name) == name
    except NameRefused as refused:
        assert refused.message.isprintable()
        return
    assert name not in ("", ".", "..") and not set(name) & set("/\\\0\n\x1b")

"""Front matter: YAML, but text only, with the line of a fault, in bounded time whoever wrote it."""

from __future__ import annotations

import time

import pytest

from gshtui.text.front_matter import FrontMatterError, parse


def test_values_are_texts_or_lists_of_texts() -> None:
    front = parse(
        "---\nwhen: 2026-01-01\nyes: no\nnothing: ~\nlist: [a, 'b, c']\nmore:\n- x\n- y\nmap:\n  k: v\n"
        "long: |\n  one\n  two\nempty:\n---\nbody\n"
    )
    assert front.fields == {
        "when": "2026-01-01",
        "yes": "no",
        "nothing": "~",
        "list": ["a", "b, c"],
        "more": ["x", "y"],
        "map": ["k", "v"],
        "long": "one\ntwo",
        "empty": "",
    }
    assert (front.line["when"], front.line["long"], front.body) == (2, 11, "body")
    assert front.text("more") == "x y"


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("a: &x [1]\nb: *x", "line 2: a value may not begin with &"),
        ("a: 1\nb: !!python/object/apply:os.system [ls]", "line 3: a value may not begin with !"),
        ("- a", "line 2 is no `key: value`"),
        ("? [a, b]\n: c", "line 2 is no `key: value`"),
        ("a: \x07", "a character that YAML does not allow"),
        ("a: [1,\n  2", "line 2: expected"),
        ("a: 'x' y", "line 2: expected"),
    ],
)
def test_what_is_no_plain_front_matter_is_refused_with_its_line(head: str, why: str) -> None:
    with pytest.raises(FrontMatterError) as error:
        parse(f"---\n{head}\n---\n")
    assert why in str(error.value)


@pytest.mark.parametrize("head", ["a: " + "[" * 60_000, "a: " + "{" * 60_000, "? " * 30_000, "a: '" + "a" * 60_000])
def test_a_hostile_one_is_refused_in_bounded_time(head: str) -> None:
    start = time.process_time()
    with pytest.raises(FrontMatterError):
        parse(f"---\n{head}\n---\n")
    assert time.process_time() - start < 5

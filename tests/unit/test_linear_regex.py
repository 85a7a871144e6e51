"""Expressions of others: their dialect, and that none of them holds the program up or fills its memory."""

import pytest

from gshtui.agents.hooks.hook_set import Hook
from gshtui.text.linear_regex import LinearError, compile_linear

SLOW = [(r"(a|aa)+$", "a" * 200 + "!"), (r"(x+x+)+y", "x" * 5_000), (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 3_000)]
REFUSED = (
    *(
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        "(?>a)",
        r"(a)\1",
        r"(?P<n>a)(?P=n)",
        r"\Ka",
        r"\Ga",
        "a++",
        "a**",
        "a{2}+",
    ),
    *("(?R)", "(?|a)", "(?&n)", "(", ")", "[a", "\\", "*", "(?U)a+", r"\x{110000}", r"\xzz", "((a{100}){100}){100}"),
    *("a{1001}", "(" * 60 + ")" * 60, "a" * 20_001),
)
SAME = (
    *((r"a$", "a\n", None), (r"(?m)a$", "a\nb", "a"), (r"a\z", "ba", "a"), (r"\w+", "é", None), (r"\d", "٣", None)),
    *((r"a(?i)b|c", "aC", "C"), (r"(a(?i)b)c", "aBC", None), (r"\Qa.b\E+", "a.bb", "a.bb"), (r"\x{e9}", "é", "é")),
    *((r"a{,3}", "a{,3}", "a{,3}"), (r"[[:alpha:]]+", "ab1", "ab"), (r"[]a]+", "]a", "]a"), (r"(?P<n>a)|b", "b", "b")),
    *((r"\pL+", "éa", "éa"), (r"(?s:a.b)", "a\nb", "a\nb"), (r"a.b", "a\nb", None), (r"[\]\-z]+", "]-z", "]-z")),
)


@pytest.mark.parametrize(("pattern", "text"), SLOW)
def test_what_takes_too_long_matches_nothing_and_is_tried_once(pattern: str, text: str) -> None:
    expression = compile_linear(pattern)
    assert expression.search(text) is None and expression.slow
    assert expression.search("aay") is None, "it is not tried again"


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_backtracks_or_grows_is_refused(pattern: str) -> None:
    with pytest.raises(LinearError):
        compile_linear(pattern)


@pytest.mark.parametrize(("pattern", "text", "match"), SAME)
def test_the_dialect(pattern: str, text: str, match: str | None) -> None:
    found = compile_linear(pattern).search(text)
    assert (found[0] if found is not None else None) == match


def test_a_hook_whose_matcher_cannot_be_decided_in_time_runs() -> None:
    """It may be there to refuse."""
    assert Hook("PreToolUse", "true", matcher="(a|aa)+b").matches("a" * 100)

"""An edit finds its text whichever line ends the file has, and leaves those that it does not change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gshtui.tools.files.edit import _occurrences, _replaced

LINES = st.lists(st.tuples(st.text("ab c", max_size=4), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=6)


@given(LINES, st.data())
def test_any_run_of_lines_is_found_in_a_file_of_mixed_line_ends(
    rows: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = "".join(line + end for line, end in rows)
    first = data.draw(st.integers(0, len(rows) - 1))
    last = data.draw(st.integers(first + 1, len(rows)))
    old = "".join(f"{line}\n" for line, _ in rows[first:last])
    spans = _occurrences(text, old)
    at = sum(len(line + end) for line, end in rows[:first])
    assert any(start <= at < end for start, end in spans)
    assert _replaced(text, spans, old) == text, "what is put back is what was there"
    assert all(text[start:end].replace("\r\n", "\n") == old for start, end in spans)


def test_new_lines_end_as_those_in_their_place() -> None:
    text = "one\r\ntwo\nthree\r\n"
    assert _replaced(text, _occurrences(text, "one\ntwo\n"), "1\n2\n3\n") == "1\r\n2\n3\nthree\r\n"
    assert _replaced(text, _occurrences(text, "three"), "3\n4") == "one\r\ntwo\n3\r\n4\r\n"
    assert _replaced("a\nb\n", _occurrences("a\nb\n", "b"), "c\nd") == "a\nc\nd\n"
    assert _occurrences("a\r\nb", "b\n") == []

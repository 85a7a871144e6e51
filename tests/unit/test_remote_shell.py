"""A command for another machine means the same in every login shell, and its output begins behind the mark."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gshtui.hosts.remote_shell import MarkedOutput, new_mark, remote_line
from tests.kit.storms import examples

SHELLS = [shell for shell in ("sh", "bash", "zsh", "fish", "tcsh") if shutil.which(shell)]
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=examples(12), deadline=None)
@given(words=st.lists(TEXTS, max_size=4))
@example(words=["it's", 'a "b" $HOME `id` !! \\n \\\\', "two\nlines", "é ✓ #{pane_id} s/[|]/!/", "-n", ""])
def test_every_login_shell_gives_the_script_exactly_these_arguments(shell: str, words: list[str]) -> None:
    mark = new_mark()
    line = remote_line('for word; do printf "%s\\0" "$word"; done', words, mark)
    ran = subprocess.run([shell, "-c", line], capture_output=True, timeout=10, check=True)
    output, errors = MarkedOutput(mark), MarkedOutput(mark)
    assert output.feed(ran.stdout).split(b"\0")[:-1] == [word.encode() for word in words]
    assert errors.feed(ran.stderr) == b""
    assert output.begun
    assert errors.begun


@given(noise=st.binary(max_size=200), said=st.binary(max_size=50), sizes=st.lists(st.integers(1, 9), max_size=80))
def test_what_comes_before_the_mark_is_no_output_however_it_arrives(
    noise: bytes, said: bytes, sizes: list[int]
) -> None:
    mark = new_mark()
    whole, marked, found = noise + b"\n" + mark + b"\n" + said, MarkedOutput(mark), b""
    for size in (*sizes, len(whole) + 1):
        found += marked.feed(whole[:size])
        whole = whole[size:]
    assert (found, marked.before) == (said, noise)


def test_a_start_up_file_that_prints_without_end_is_given_up() -> None:
    marked = MarkedOutput(new_mark())
    for _ in range(20):
        assert marked.feed(b"y\n" * 50_000) == b""
    assert marked.flooded
    assert len(marked.end()) <= 4_000


def test_a_nul_and_a_line_that_is_too_long_are_refused() -> None:
    for bad in ("a\0b", "x" * 100_001):
        with pytest.raises(ValueError, match=r"NUL|long"):
            remote_line("true", [bad], new_mark())

"""Text that was written to hold the window up: what its parsers do with it is bounded, counted in calls."""

import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from gshtui.system.processes.deadline import DeadlinePassed, deadline
from gshtui.ui.kit.transcript.markdown_renderer import chunk_lines, markdown_parser
from gshtui.ui.kit.transcript.markdown_splitter import LINE_LIMIT, SIZE_LIMIT
from tests.kit.markdown_page import make_page, parse_chunks

MOST_CALLS = 250_000
"""Of functions, for a chunk: some tens of milliseconds."""


def calls(work: Callable[[], object]) -> int:
    """How many functions were called."""
    count = 0

    def seen(frame: Any, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


N = 20_000
HOSTILE = {
    **{pump: pump * N for pump in ("[", "](", "![", "[](", "[a](", "[[]", "[a][b]", "*", "*a", "_a ", "**a_", "*_~~")},
    **{pump: pump * N for pump in ("`", "`a", "~~a", "<", "<a ", ">", "> ", "- ", "1. ", "&", "&#x", "\\", "|")},
    "backticks": "".join("`" * (i % 60 + 1) + "a" for i in range(2_000)),
    "nested list": "\n".join("  " * i + "- a" for i in range(300)),
    "wide table": "|" + "a|" * 1_900 + "\n|" + "-|" * 1_900 + "\n" + "|a\n" * 300,
    "table": "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + "|a\n" * 300,
    "quoted table": "> |" + "a|" * 900 + "\n> |" + "-|" * 900 + "\n" + "> |a\n" * 300,
    "listed table": "- |" + "a|" * 900 + "\n  |" + "-|" * 900 + "\n" + "  |a\n" * 300,
    "one line": "x" * 500_000,
    "combining": "e\u0301" * N,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_chunk_of_markdown_costs_no_more_than_so_much(name: str) -> None:
    markdown_parser()
    made = parse_chunks(HOSTILE[name])
    assert all(len(chunk.text) + len(chunk.head) <= SIZE_LIMIT + 2 * LINE_LIMIT for chunk in made)
    for chunk in (*made[:3], *made[-2:]):
        assert calls(lambda chunk=chunk: chunk_lines(chunk, make_page(100))) < MOST_CALLS


@pytest.mark.parametrize("name", ["[", "*a", "x" * 100 + "\n", "|a|\n|-|\n|b|\n"])
def test_cutting_a_text_into_chunks_is_linear(name: str) -> None:
    text = HOSTILE.get(name) or name * N
    half = calls(lambda: parse_chunks(text[: len(text) // 2]))
    assert calls(lambda: parse_chunks(text)) < 2.5 * half + 200


def test_a_table_of_many_columns_is_still_a_table() -> None:
    columns = 30
    text = "\n".join(f"|{'|'.join([cell] * columns)}|" for cell in ("h", "-", *(str(n) for n in range(200))))
    made = parse_chunks(text)
    assert all(chunk.head or index == 0 for index, chunk in enumerate(made))
    assert sum(len(chunk_lines(chunk, make_page(400))) for chunk in made) >= 200


@pytest.mark.parametrize("language", ["javascript", "go", "css", "c", "java", "markdown"])
@pytest.mark.parametrize("pump", ['\\"', "`", "\n"])
def test_code_that_its_lexer_does_not_get_done_with_is_shown_plain(language: str, pump: str) -> None:
    on = make_page(100, language)
    code = "\n".join([pump * (1_900 // len(pump))] * 3)
    lines = on.code.lines(code, language)
    assert "\n".join("".join(text for _, text in line) for line in lines) == code


def test_a_deadline_ends_an_expression_that_backtracks() -> None:
    import re

    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(DeadlinePassed), deadline(0.05):
        re.match("(a|aa)+$", "a" * 60 + "!")
    with deadline(5):
        assert re.match("a+", "aaa")
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0


def test_a_deadline_is_refused_outside_the_main_thread() -> None:
    said: list[str] = []

    def elsewhere() -> None:
        try:
            with deadline(1):
                said.append("entered")
        except RuntimeError as error:
            said.append(str(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert said == ["only the main thread can be interrupted"]

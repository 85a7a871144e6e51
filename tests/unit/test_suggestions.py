"""Which earlier command a prompt suggests, and what it never puts into a line."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from gshtui.shell.log.shell_log import best_command, quoted
from gshtui.store.tables.command_history import PrefixRun

NOW = 1_800_000_000.0
DAY = 86_400.0


def run(command: str, cwd: str = "/p", days: float = 1, exit: int | None = 0, previous: str = "") -> PrefixRun:
    return PrefixRun(command, cwd, NOW - days * DAY, exit, previous)


def best(typed: str, *runs: PrefixRun, cwd: str = "/p", previous: str = "") -> str:
    return best_command(typed, cwd, previous, runs, NOW)


def test_the_folder_then_the_age_the_success_and_the_command_before_decide() -> None:
    elsewhere = [run("make all", "/other", 0.5)] * 30
    assert best("make", *elsewhere, run("make docs", days=6)) == "make docs"
    assert best("make", *elsewhere, run("make docs", "/p/sub", days=6), cwd="/q") == "make all"
    assert best("make", run("make old", days=9), run("make new", days=1)) == "make new"
    assert best("make", run("make broken", days=0.1, exit=2), run("make docs", days=9)) == "make docs"
    assert (
        best("make", run("make a", days=1), run("make b", days=9, previous="git pull"), previous="git pull") == "make b"
    )


def test_what_is_no_help_or_could_do_harm_is_not_offered() -> None:
    assert best("make", run("make")) == ""
    assert best("gti", run("gti status", exit=127)) == ""
    assert best("curl", run("curl -H [redacted] x"), run("curl \x1b[2J"), run("curl \u202ex"), run("curl a\tb")) == ""
    assert best("for", run("for x in a; do\n echo $x\ndone")) == "for x in a; do\n echo $x\ndone"


@given(st.text(alphabet='%"\\\n\u00e9a25C0A', max_size=40))
def test_a_quoted_text_needs_no_json_parser(text: str) -> None:
    sent = quoted(text)
    assert json.dumps(sent, ensure_ascii=False) == f'"{sent}"'
    for code, letter in (("%0A", "\n"), ("%5C", "\\"), ("%22", '"'), ("%25", "%")):
        sent = sent.replace(code, letter)
    assert sent == text

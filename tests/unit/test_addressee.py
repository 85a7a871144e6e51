"""Who gets what is typed, in words: the input's frame and its placeholder."""

from typing import Any

import pytest
from rich.cells import cell_len

from gshtui.ui.prompt.prompt_routing import Addressee


def test_the_frame_names_the_agent_its_model_and_its_mode() -> None:
    assert Addressee("main").title().plain == "to main"
    named = Addressee("0001", "fix", "Claude Sonnet 4.5", "ask", mail=True)
    assert named.title().plain == "to fix · Claude Sonnet 4.5 · ask"


def test_names_are_no_markup_and_one_line() -> None:
    title = Addressee("0001", "[red]fix[/red]\nrm", "m\x1b[31m").title()
    assert title.plain.startswith("to [red]fix[/red]") and "\n" not in title.plain and "\x1b" not in title.plain


def test_the_placeholder_says_how_it_gets_there() -> None:
    assert Addressee("main").placeholder(0).startswith("Ask for anything")
    assert Addressee("0001", "fix", mail=True).placeholder(0).startswith("Ask fix for anything")
    program = Addressee("0002", "claude", mail=True, program=True).placeholder(0)
    assert program.startswith("Message claude (typed into its terminal)")
    gone = Addressee("0002", "claude", mail=True, program=True, ended=True).placeholder(0)
    assert gone.startswith("claude has ended · R in Agents restarts it")


@pytest.mark.parametrize("width", [30, 58, 78, 82, 118])
def test_the_placeholder_is_one_row(width: int) -> None:
    for kind in ({}, {"ended": True}, {"call": "audio"}, {"program": False}, {"program": False, "mail": False}):
        fields: dict[str, Any] = {"mail": True, "program": True} | kind
        words = Addressee("0001", "a-rather-long-name", **fields).placeholder(width)
        assert cell_len(words) <= width or " · " not in words

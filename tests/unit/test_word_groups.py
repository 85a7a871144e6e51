"""The help of `gsh-tui`, and of what follows a slash: every word once, in a group with a title, ten of them first."""

import re
from collections import Counter

import click
import pytest

from gshtui.cli.root import root
from gshtui.commands.known_tools import NO_TOOLS, TOOLS
from gshtui.commands.word_groups import SLASH_GROUPS, WORD_GROUPS, grouped
from gshtui.ui.window.features import slash_words

_ALIASES = {"?", "cost", "exit", "hooks", "new", "permissions", "search", "workflows"}
"""Other names of commands: lists have each command once."""


def test_every_word_is_in_one_group_with_a_title() -> None:
    counted = Counter(word for _, words in WORD_GROUPS for word in words)
    assert set(counted.values()) == {1}
    context = click.Context(root, info_name="gsh-tui")
    commands = {word: root.get_command(context, word) for word in root.list_commands(context)}
    shown = [word for word, command in commands.items() if command is not None and not command.hidden]
    assert sorted(word for _, words in grouped(shown) for word in words) == sorted(shown)
    assert "Others" not in dict(grouped(shown)) and len(WORD_GROUPS[0][1]) == 10
    text = root.get_help(context)
    lines = text.partition("Start here:")[2].partition("Exit codes")[0].split("\n")
    rows = [line for line in lines if line.startswith(" ") and line.strip()]
    assert [row for row in rows if not re.match(r"  \w.*[.…]$", row)] == [], "one row and one sentence each"
    found = [row.split()[0] for row in rows]
    assert found == [word for _, words in grouped(shown) for word in words]
    assert max(map(len, text.split("\n"))) <= 80


def test_a_word_of_no_group_is_listed_all_the_same() -> None:
    assert grouped(["zebra", "login"]) == [("Start here", ["login"]), ("Others", ["zebra"])]


def test_a_command_that_no_group_names_is_in_that_of_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NO_TOOLS, "rate", "usage")
    assert grouped(["rate", "host", "zebra"]) == [("Agents", ["host", "rate"]), ("Others", ["zebra"])]
    monkeypatch.setitem(TOOLS, "wordcount", ("files", False))
    assert grouped(["wordcount", "glob"], SLASH_GROUPS) == [("Shell and tools", ["glob", "wordcount"])]


def test_every_command_after_a_slash_is_in_one_group() -> None:
    counted = Counter(name for _, names in SLASH_GROUPS for name in names)
    assert set(counted.values()) == {1}
    assert set(counted) <= {*TOOLS, *NO_TOOLS, *(word for word, _ in slash_words())}
    assert "Others" not in dict(grouped({*TOOLS, *NO_TOOLS} - _ALIASES, SLASH_GROUPS))
    titles = [title for title, _ in SLASH_GROUPS]
    assert titles == [title for title, _ in WORD_GROUPS] and len(SLASH_GROUPS[0][1]) == 10

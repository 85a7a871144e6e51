"""The help of `gsh-tui`: every word once, in a group with a title, the ten that most people need first."""

from __future__ import annotations

import re
from collections import Counter

import click

from gshtui.cli.root import root
from gshtui.cli.word_groups import WORD_GROUPS, grouped


def test_every_word_is_in_one_group_with_a_title() -> None:
    counted = Counter(word for _, words in WORD_GROUPS for word in words)
    assert set(counted.values()) == {1}
    context = click.Context(root, info_name="gsh-tui")
    commands = {word: root.get_command(context, word) for word in root.list_commands(context)}
    shown = [word for word, command in commands.items() if command is not None and not command.hidden]
    assert sorted(word for _, words in grouped(shown) for word in words) == sorted(shown)
    assert "Others" not in dict(grouped(shown)) and len(WORD_GROUPS[0][1]) == 10
    text = root.get_help(context)
    found = [
        line.split()[0]
        for line in text.partition("Start here:")[2].partition("Exit codes")[0].split("\n")
        if re.match(r"  \w", line)
    ]
    assert found == [word for _, words in grouped(shown) for word in words]
    assert max(map(len, text.split("\n"))) <= 80


def test_a_word_of_no_group_is_listed_all_the_same() -> None:
    assert grouped(["zebra", "login"]) == [("Start here", ["login"]), ("Others", ["zebra"])]

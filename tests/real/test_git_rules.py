"""Ignore rules of any form mean what git takes them for, and none of them takes long."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from gshtui.shell.git_rules import IgnoreRules, ignored, rules_in
from gshtui.text.glob_pattern import compile_glob, compile_ignore_rule

PIECES = (
    "a",
    "b",
    "ab",
    "*",
    "**",
    "?",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[[:alpha:]]",
    "\\*",
    "\\!",
    ".",
    "*a",
    "a*b",
    "*a*b",
)
NAMES = ("a", "b", "ab", "aab", "abab", "c", "*", "!", ".a", "a.b", "ba")
HOSTILE = ("*a" * 30 + "c", "**/" + "a*/" * 20 + "c", "a/**/" * 25 + "c", "*" * 200 + "c", "{*a,*aa,a*}*" * 4 + "c")


def rule(chance: random.Random) -> str:
    segments = [
        "".join(chance.choices(PIECES, k=chance.choice((1, 1, 1, 2, 3)))) for _ in range(chance.choice((1, 1, 2, 3)))
    ]
    ends = chance.choice(("", "", "/")), chance.choice(("", "", "", "/")), chance.choice(("", "", "", "", " "))
    return f"{'!' if chance.random() < 0.2 else ''}{ends[0]}{'/'.join(segments)}{ends[1]}{ends[2]}"


def by_git(project: Path, files: list[str]) -> set[str]:
    """Those of the files that git ignores."""
    asked = subprocess.run(
        ["git", "-C", project, "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(files),
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode in (0, 1), asked.stderr
    return {one for one in asked.stdout.split("\0") if one}


def by_us(project: Path, files: list[str], rules: tuple[IgnoreRules, ...]) -> set[str]:
    """Those of the files that are ignored, or in an ignored folder."""
    found: set[str] = set()
    for file in files:
        parts = file.split("/")
        for end in range(1, len(parts) + 1):
            path = f"{project}/{'/'.join(parts[:end])}"
            if ignored(path, end < len(parts), rules):
                found.add(file)
                break
    return found


def test_rules_mean_what_git_takes_them_for(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for seed in range(int(os.environ.get("GSH_TEST_RULES", "40"))):
        chance = random.Random(seed)
        files = sorted({"/".join(chance.choices(NAMES, k=chance.choice((1, 2, 3, 4)))) for _ in range(60)})
        lines = [rule(chance) for _ in range(chance.choice((1, 2, 4)))]
        (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n")
        rules = tuple(rules_in(str(tmp_path), list(os.scandir(tmp_path))))
        assert by_us(tmp_path, files, rules) == by_git(tmp_path, files), (seed, lines)


@pytest.mark.parametrize("pattern", HOSTILE)
def test_no_rule_and_no_pattern_takes_for_ever(pattern: str) -> None:
    path = "/".join(["a" * 60] * 50)
    found = compile_ignore_rule(pattern)
    assert found is not None and found[0].match(path) is None
    assert compile_glob(pattern, anywhere=True).match(path) is None

"""Front matter: YAML, but text only, with the line of a fault, in bounded time whoever wrote it."""

import subprocess
import sys
from pathlib import Path

import pytest

from gshtui.text.front_matter import FrontMatterError, parse
from tests.kit.command import environment


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
        ("a: &x [1]\nb: *x", "line 2: a value that starts with & must be in quotes"),
        ("a: 1\nb: !!python/object/apply:os.system [ls]", "line 3: a value that starts with ! must be in quotes"),
        ("- a", "line 2 is not of the form `key: value`"),
        ("? [a, b]\n: c", "line 2 is not of the form `key: value`"),
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
    with pytest.raises(FrontMatterError):
        parse(f"---\n{head}\n---\n")


_VALUES = (
    "plain words",
    "2026-01-01",
    "9:30 to 10",
    "a (b), `c` [d] {e} & * ! | > ' \" % @ - ? = ~ \\n",
    "C# and http://x/#y",
    "trailing blanks  ",
    "a: b",
    "a:",
    "a :b",
    "a #b",
    "a\t#b",
    "'quoted'",
    "- x",
    "é",
    "{a: b}",
    "",
)


@pytest.mark.parametrize("key", ["name", "allowed-tools", "Two words", "1", '"k"', "a:b"])
def test_a_plain_line_reads_as_yaml_reads_it(key: str) -> None:
    """The flow sequence in the last line makes the YAML parser read all of it."""
    for value in _VALUES:
        line = f"{key}: {value}"
        assert _fields(line) == _fields(f"{line}\nlast: [x]"), line


def _fields(head: str) -> object:
    try:
        front = parse(f"---\n{head}\n---\n")
    except FrontMatterError as error:
        return str(error)
    return [(key, front.line[key], value) for key, value in front.fields.items() if key != "last"]


def test_the_built_in_skills_need_no_yaml(tmp_path: Path) -> None:
    """The parser is large, and a window reads them when it starts."""
    program = "import sys, pathlib\nfrom gshtui.agents.skills.skill_store import read_skills\n"
    program += "print(sorted(read_skills(pathlib.Path.cwd()).found), 'yaml' in sys.modules)"
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['cli-orchestration'] False"

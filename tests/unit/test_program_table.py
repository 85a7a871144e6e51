"""The table of programs: what is shipped is well formed, and what is not well formed is refused."""

from typing import get_args

import pytest

from gshtui.guard.policy.program_table import Role, programs, read_table, read_words, refusals, role


def test_the_shipped_table_is_well_formed() -> None:
    table = programs()
    assert len(table) > 300
    assert {program.use for program in table.values()} == {"read", "build", "change"}
    for name, program in table.items():
        assert name == " ".join(name.split()), name
        assert (program.rest is None) == (program.most == 0), name
        assert all(flag.startswith("-") for flag in program.instead | program.alone), name
        takes = program.alone | program.valued.keys() | program.behind.keys()
        assert program.instead <= takes, f"{name}: what takes an operand's place is a flag of it"


def test_the_shipped_roles_and_refusals_are_whole() -> None:
    assert all(role(name) for name in get_args(Role))
    assert role("writes_last_operand") <= role("writes_files") and role("takes_script") <= role("shows_files")
    refused = refusals()
    assert all(words and why for words, why in refused)
    reading = {name for name, program in programs().items() if program.use == "read"}
    assert not [words for words, _ in refused if " ".join(words) in reading], "what is refused cannot be a reader"


def test_a_line_of_the_table() -> None:
    table = read_table(
        """
        [sets]
        common = "-q --lines=number"
        [[program]]
        prefixes = ["npm run", "just"]
        names = ["test", "lint"]
        flags = "@common -n:number --color[=text] -#"
        operands = ["text", "path"]
        use = "build"
        """
    )
    assert sorted(table) == ["just lint", "just test", "npm run lint", "npm run test"]
    program = table["just lint"]
    assert program.alone == {"-q", "--color", "-#"} and program.numbers
    assert program.valued == {"-n": "number"} and program.behind == {"--lines": "number", "--color": "text"}
    assert (program.first, program.rest, program.use) == ("text", "path", "build")


@pytest.mark.parametrize(
    "row",
    [
        'names = ["x"]\nflags = "n"',
        'names = ["x"]\nflags = "-n:word"',
        'names = ["x"]\nflags = "@other"',
        'names = ["x"]\noperands = ["file"]',
        'names = ["x"]\noperands = ["text", "text", "path"]',
        'names = ["x"]\ncheck = "other"',
        'names = ["x"]\nuse = "write"',
        'names = ["x"]\nmots = 1',
        'names = ["x", "x"]',
        'flags = "-n"',
    ],
)
def test_a_table_that_is_not_well_formed_is_refused(row: str) -> None:
    with pytest.raises(ValueError):
        read_table(f"[sets]\n[[program]]\n{row}\n")


def test_words_are_read_by_the_table() -> None:
    reading = read_words(["head", "-n", "3", "--quiet", "a", "b"])
    assert reading is not None and reading.name == "head" and reading.problem == ("", "")
    assert reading.flags == ["-n", "--quiet"] and reading.operands == [(4, "path"), (5, "path")]
    assert read_words(["curl", "x"]) is None
    refused = read_words(["head", "--follow", "a"])
    assert refused is not None and refused.problem[0] == "flag"

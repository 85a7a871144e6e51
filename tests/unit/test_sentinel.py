"""A command's output on the screen, between what was typed and how it ended."""

import pytest

from gshtui.fleet.terminal_tools import sentinel

TYPED = sentinel.line("cat <<E\nline $((1+1))\nE", "abc123", "sh")
ECHO = TYPED.split("\n")
END = ["", "[gsh abc123 exit 0]"]
PROMPTS = sentinel.prompted(TYPED, "sh")


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        ([ECHO[0], *(f"> {line}" for line in ECHO[1:]), "line 2"], ("line 2",)),
        ([*ECHO, "> > > line 2"], ("line 2",)),
        ([ECHO[0], f"> {ECHO[1]}", *ECHO[2:], "> > line 2", "> two"], ("line 2", "> two")),
        ([ECHO[0], *(f"> {line}" for line in ECHO[1:]), "> quoted"], ("> quoted",)),
        ([*ECHO, "> > > > quoted"], ("> quoted",)),
        ([*ECHO, "> > >"], ()),
        (ECHO, ()),
    ],
)
def test_prompts_of_a_shell_without_an_editor_are_no_output(shown: list[str], output: tuple[str, ...]) -> None:
    found = sentinel.found(["$ ls", *shown, *END], "abc123", PROMPTS)
    assert found is not None
    assert (found.code, found.lines, found.whole) == (0, output, True)


@pytest.mark.parametrize("shell", ["zsh", "bash", "fish"])
def test_an_editor_shows_them_where_they_belong(shell: str) -> None:
    assert sentinel.prompted(sentinel.line("a\nb", "abc123", shell), shell) == ()
    found = sentinel.found([*sentinel.line("a", "abc123", shell).split("\n"), "> quoted", *END], "abc123")
    assert found is not None and found.lines == ("> quoted",)


def test_what_has_scrolled_away() -> None:
    found = sentinel.found(["> one", "two", *END], "abc123", PROMPTS)
    assert found is not None
    assert (found.lines, found.whole) == (("> one", "two"), False)
    assert sentinel.found(ECHO, "abc123", PROMPTS) is None

"""Where a submitted text goes."""

from __future__ import annotations

import pytest

from gshtui.commands.language import tokens
from gshtui.ui.prompt.prompt_routing import NothingToSend, Route, ToAgent, ToLanguage, ToLog, route

COMMANDS = {
    "read": frozenset({"path", "start"}),
    "model": frozenset({"name"}),
    "help": frozenset({"topic"}),
    "quit": frozenset[str](),
}


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("fix the tests", ToAgent("fix the tests")),
        ("  keep my indent\n", ToAgent("  keep my indent\n")),
        ("/model name=opus", ToLanguage("model name=opus")),
        ("/ model opus", ToLanguage("model opus")),
        ("/modle opus", ToLanguage("modle opus")),
        ("/etc/hosts looks wrong", ToAgent("/etc/hosts looks wrong")),
        ("//not a command", ToAgent("/not a command")),
        ("help", ToLanguage("help")),
        ("quit ", ToLanguage("quit")),
        ("read path=a.py", ToLanguage("read path=a.py")),
        ("read  start=3 path=a.py", ToLanguage("read  start=3 path=a.py")),
        ("read the file a.py", ToAgent("read the file a.py")),
        ("read colour=red", ToAgent("read colour=red")),
        ("help me", ToAgent("help me")),
        ("quit\nnow", ToAgent("quit\nnow")),
        ("  ", NothingToSend()),
        ("", NothingToSend()),
    ],
)
def test_where_a_text_goes(text: str, target: Route) -> None:
    assert route(text, COMMANDS) == target


@pytest.mark.parametrize("text", ["/", "/  ", "!", "! "])
def test_half_a_thing_says_what_is_missing(text: str) -> None:
    target = route(text, COMMANDS)
    assert isinstance(target, NothingToSend)
    assert target.why.endswith(".")


@pytest.mark.parametrize(
    "command",
    ["ls -la | wc -l", "echo 'it''s'", "echo \"a\\tb\" 'c'", "a=1 b", "printf 'x\\n'\nls", 'echo \\\\ "\'"', "true"],
)
def test_a_shell_command_arrives_as_it_was_written(command: str) -> None:
    target = route(f"! {command}", COMMANDS)
    assert isinstance(target, ToLanguage)
    name, argument = tokens(target.line)
    assert (name.text, argument.key, argument.text) == ("bash", "command", command)


def test_a_line_with_a_hash_is_a_note() -> None:
    assert route("# the build is slow ", {}) == ToLog("the build is slow")
    assert route("# A heading\n\nand a text", {}) == ToAgent("# A heading\n\nand a text")
    assert route("#hashtag", {}) == ToAgent("#hashtag")

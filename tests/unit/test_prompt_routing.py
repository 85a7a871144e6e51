"""Where a submitted text goes, and what goes along with it."""

from pathlib import Path

import pytest

from gshtui.agents.loop import attachment_blocks
from gshtui.bus.agent_data import ProgramCommand
from gshtui.commands.line_parser import parse_line
from gshtui.commands.line_syntax import Argument, TextNode
from gshtui.media.mentions import MOST_ATTACHED, attachments, dropped, mentions, missing
from gshtui.providers.port import ProviderError
from gshtui.ui.kit.widget_messages import CommandLine, OpenTerminal
from gshtui.ui.prompt.prompt_routing import (
    Addressee,
    NothingToSend,
    Route,
    ToAgent,
    ToLanguage,
    ToLog,
    ToShell,
    route,
    sent_as,
)
from tests.kit.png import png

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


def test_a_shell_command_goes_as_a_line_and_is_named_as_it_was_typed() -> None:
    target = route("!sleep 6; echo hi", COMMANDS)
    assert isinstance(target, ToLanguage)
    sent = sent_as(target, Addressee("main"), Path())
    assert isinstance(sent, CommandLine)
    assert (sent.line, sent.typed) == ("bash command='sleep 6; echo hi'", "sleep 6; echo hi")


def test_a_command_of_the_agents_program_is_a_prompt_unless_we_have_one_of_its_name() -> None:
    commands = (ProgramCommand("tidy", "Tidies up."), ProgramCommand("model"), ProgramCommand("memory show"))
    program = Addressee("0012", commands=commands).offers
    assert route("/tidy the loft", COMMANDS, program) == ToAgent("/tidy the loft")
    assert route("/memory show", COMMANDS, program) == ToAgent("/memory show")
    assert route("/model opus", COMMANDS, program) == ToLanguage("model opus")
    assert route("//model opus", COMMANDS, program) == ToAgent("/model opus")
    assert route("/tidies", COMMANDS, program) == ToLanguage("tidies")


@pytest.mark.parametrize("text", ["exit", "usage", "model name=opus"])
def test_a_bare_name_that_is_typed_into_a_program_is_the_programs(text: str) -> None:
    commands = {"exit": frozenset[str](), "usage": frozenset[str](), "model": frozenset({"name"})}
    assert route(text, commands) == ToLanguage(text)
    assert route(text, commands, typed=True) == ToAgent(text)
    assert route(f"/{text}", commands, typed=True) == ToLanguage(text)


def test_a_command_that_needs_a_terminal_goes_to_the_shared_shell() -> None:
    target = route("! vim a.txt", COMMANDS)
    assert target == ToShell("vim a.txt")
    assert isinstance(target, ToShell)
    opened = sent_as(target, Addressee("main"), Path("/"))
    assert isinstance(opened, OpenTerminal)
    assert (opened.agent, opened.command, opened.enter) == (OpenTerminal.SHARED, "vim a.txt", True)
    assert isinstance(route("!!vim a.txt", COMMANDS), ToLanguage), "the sandbox has no terminal"


@pytest.mark.parametrize("text", ["/", "/  ", "!", "! ", "!!", "!! "])
def test_half_a_thing_says_what_is_missing(text: str) -> None:
    target = route(text, COMMANDS)
    assert isinstance(target, NothingToSend)
    assert target.why.endswith(".")


def _arguments(line: str) -> tuple[Argument, ...]:
    """What the line gives to `bash`."""
    stage = parse_line(line).only_stage
    assert stage is not None and stage.name == "bash"
    return stage.arguments


@pytest.mark.parametrize(
    "command",
    ["ls -la | wc -l", "echo 'it''s'", "echo \"a\\tb\" 'c'", "a=1 b", "printf 'x\\n'\nls", 'echo \\\\ "\'"', "true"],
)
def test_a_shell_command_arrives_as_it_was_written(command: str) -> None:
    target = route(f"! {command}", COMMANDS)
    assert isinstance(target, ToLanguage)
    (argument,) = _arguments(target.line)
    assert (argument.name, argument.value) == ("command", TextNode(command))


def test_two_marks_run_it_in_the_sandbox() -> None:
    target = route("!!make 'a b' sandbox=false", COMMANDS)
    assert isinstance(target, ToLanguage)
    argument, where = _arguments(target.line)
    assert (argument.value, where.name, where.value) == (
        TextNode("make 'a b' sandbox=false"),
        "sandbox",
        TextNode("true"),
    )


def test_a_line_with_a_hash_is_a_note() -> None:
    assert route("# the build is slow ", {}) == ToLog("the build is slow")
    assert route("# A heading\n\nand a text", {}) == ToAgent("# A heading\n\nand a text")
    assert route("#hashtag", {}) == ToAgent("#hashtag")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @a.py and @b/c.py.", ["a.py", "b/c.py"]),
        ('see @"my file.png", please', ["my file.png"]),
        ("see @'two words.txt', please", ["two words.txt"]),
        ("(@x.md) @x.md", ["x.md"]),
        ("me@example.org", []),
        ("@", []),
    ],
)
def test_mentions(text: str, found: list[str]) -> None:
    assert mentions(text) == found


def test_pictures_and_documents_go_along(tmp_path: Path) -> None:
    for name in ("shot.PNG", "my plan.pdf", "code.py"):
        (tmp_path / name).write_text("x")
    (tmp_path / "folder.png").mkdir()
    text = '@shot.PNG @"my plan.pdf" @code.py @missing.png @folder.png @../../etc/passwd'
    assert attachments(text, tmp_path) == (str(tmp_path / "shot.PNG"), str(tmp_path / "my plan.pdf"))
    assert missing(f"{text} @a\0b.png @gone.py", tmp_path / "elsewhere", tmp_path) == ["missing.png", "a\0b.png"]


def test_not_more_than_a_model_takes(tmp_path: Path) -> None:
    for n in range(30):
        (tmp_path / f"{n}.png").write_text("x")
    given = attachments(" ".join(f"@{n}.png" for n in range(30)), tmp_path)
    assert len(given) == MOST_ATTACHED + 1
    with pytest.raises(ProviderError, match="more than 20 pictures"):  # not the first of them, in silence
        attachment_blocks(given)


def test_a_name_that_no_system_takes(tmp_path: Path) -> None:
    assert attachments(f"@{'x' * 5_000}.png @a\0b.png", tmp_path) == ()


def test_the_path_of_a_dropped_picture_becomes_its_mention(tmp_path: Path) -> None:
    (tmp_path / "my shot.png").write_bytes(png())
    (tmp_path / "plain").write_bytes(png())
    (tmp_path / "words.png").write_text("words")
    spaced, mention = f"{tmp_path}/my shot.png", f'@"{tmp_path}/my shot.png" '
    for text in (
        spaced,
        f"'{spaced}' ",
        f'"{spaced}"',
        spaced.replace(" ", "\\ "),
        f"file://{tmp_path}/my%20shot.png\n",
    ):
        assert dropped(text) == mention, text
    assert dropped(f"{tmp_path}/plain") == f"@{tmp_path}/plain "
    assert attachments(dropped(spaced) + "what is it", tmp_path) == (spaced,)
    for text in (
        f"{tmp_path}/words.png",
        "/nowhere.png",
        "for ever",
        f"{spaced}\nmore",
        f"/etc {spaced}",
        "'",
        "~",
        "",
    ):
        assert dropped(text) == "", text

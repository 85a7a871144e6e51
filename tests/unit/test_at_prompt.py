"""`gsh` at the prompt: which words are commands, what a key means, which conversation goes on."""

import os
import time
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui import __version__
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.cli.prompt import command_of
from gshtui.cli.root import run
from gshtui.features.workflows import workflow_process
from gshtui.features.workflows.workflow_process import WorkflowOptions
from gshtui.guard.approval.answer_keys import KeyChosen
from gshtui.headless.shells.recorded_run import HEAD, TAIL, Printed
from gshtui.headless.streams import LINE_FACE
from gshtui.headless.turns import approval_prompt
from gshtui.headless.turns.gsh_prompt import PromptSession
from gshtui.shell import plugin

COMMANDS = {
    "show 12": "agent show 12",
    "show fix": "agent show fix",
    "attach 3": "agent attach 3",
    "agents": "agent ls",
    "agents ls --json": "agent ls --json",
    "agents --all": "agent ls --all",
    "agents kill 3": "agent kill 3",
    "sessions": "session ls",
    "sessions show latest": "session show latest",
    "config": "config show",
    "config path": "config path",
    "logs": "logs",
    "note the key is old": "note the key is old",
    "logs --json": "logs --json",
    "prompt what is this": "prompt what is this",
    "chat": "",
    "dashboard": "--continue --pane timeline",
    "dashboard --new": "--pane timeline --new",
    "chat --new": "--new",
}
QUESTIONS = [
    "fix the failing test",
    "show me the log",
    "show",
    "config the linter please",
    "agents are what",
    "sessions of yesterday",
    "logs of the web server",
    "note",
    "chat about the design",
    "run the tests",
    "attach the debugger to it",
    "",
]


@pytest.mark.parametrize("words", list(COMMANDS))
def test_words_that_are_commands(words: str) -> None:
    assert command_of(words.split()) == COMMANDS[words].split()


@pytest.mark.parametrize("words", QUESTIONS)
def test_words_that_are_a_question(words: str) -> None:
    assert command_of(words.split()) is None


RULE = '[[rule]]\ndo = "allow"\ntool = "bash"\nexactly = "make …"\n'


def request(**more: Any) -> ApprovalRequested:
    fields = {"approval": "a", "agent": "main", "session": "s", "call": "c", "tool": "bash", "effect": "execute"}
    return ApprovalRequested(subject="make", **{**fields, **more})  # type: ignore[arg-type]


def answered(request: ApprovalRequested, *pieces: str, gap: float = 1.0) -> KeyChosen | None:
    """What pieces of input mean, a gap between them, the first a gap after the answers were shown."""
    reader = approval_prompt.KeyReader(request, lambda _: None)
    reader.show(0.0)
    found = (reader.feed(piece, gap * number) for number, piece in enumerate(pieces, 1))
    return next((chosen for chosen in found if chosen is not None), None)


def test_a_key_means_what_is_offered() -> None:
    plain, with_pattern = request(), request(pattern="make …", rule=RULE)
    said = [answered(plain, key) for key in ("1", "2", "3", "4", "\x1b", *"ysnaqYN", "\r", " ", "11", "1\r", "\x1b[A")]
    assert [chosen.choice if chosen else "" for chosen in said] == ["once", "session", "", "deny", "deny", *[""] * 12]
    assert answered(with_pattern, "3") is None, "its rule is shown first"
    assert answered(with_pattern, "3", "\r") == KeyChosen("a", "always", rule=RULE)
    assert answered(with_pattern, "3", "\r", gap=0.3) is None, "nobody has read the rule"
    assert answered(with_pattern, "3", "1", "x", "\x1b[A", "\x1b", "4") == KeyChosen("a", "deny")
    assert "3 always … (no rule fits this call)" in approval_prompt.key_hints(plain)
    assert "make …" not in approval_prompt.question_text(plain)
    assert approval_prompt.key_hints(with_pattern).endswith("reason\n  always allow would add: make …\nAnswer: ")


def test_what_is_no_answer_is_told_once_a_run() -> None:
    """A key that came with enter is none either: it says why, and what to do."""
    for pieces, said in ((("1\r",), 1), (("yes\r",), 1), ((*"yes", "\r"), 1), (("1",), 0), (("\x1b",), 0)):
        told: list[str] = []
        reader = approval_prompt.KeyReader(request(), told.append)
        reader.show(0.0)
        for number, piece in enumerate(pieces):
            reader.feed(piece, 1.0 + 0.1 * number)
        assert told == ["\nOne key answers, without enter: wait a second, then press it.\nAnswer: "] * said


@pytest.mark.parametrize("gap", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("pieces", [("5", *"try 1 way", "\r"), ("5try 1", " ", "way\r"), ("5", "try x\x7f1 way\r")])
def test_a_reason_is_never_taken_for_answers(pieces: tuple[str, ...], gap: float) -> None:
    assert answered(request(), *pieces, gap=gap) == KeyChosen("a", "deny", "try 1 way")


def test_words_are_no_answer_and_a_digit_in_them_is_none() -> None:
    assert answered(request(), *"what is 1?", gap=0.1) is None
    assert answered(request(), "w", "1", "4", gap=0.3) is None
    assert answered(request(), "w", "1", gap=0.5) == KeyChosen("a", "once")


def test_a_question_is_bounded_and_complete() -> None:
    text = approval_prompt.question_text(
        request(diff="\n".join(f"+{n}" for n in range(500)), warnings=("reaches out",))
    )
    assert "+59" in text
    assert "+60" not in text
    assert "440 more lines" in text
    assert "⚠ reaches out" in text


def test_our_words_are_broken_to_be_heard_and_a_command_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((61, 20)))
    command = "cd build && echo aaaa bbbb cccc   dddd && make all check install && rm -rf ~"
    shown = " ".join(command.split())
    why = "Could run sandboxed with /mode auto: no network; writes only to the project and /tmp, not to .git."
    rule = f'[[rule]]\ndo = "allow"\ntool = "bash"\nexactly = "{command}"\n'
    asked = request(detail=f"{why}\n{command}", warnings=(why,), beside=why, rule=rule)
    asked = replace(asked, subject=command, pattern=command)

    def in_lines() -> tuple[list[str], list[str], str]:
        LINE_FACE.set(True)
        question, keys = approval_prompt.question_text(asked), approval_prompt.key_hints(asked)
        return question.split("\n"), keys.split("\n"), approval_prompt.rule_text(rule)

    question, keys, saved = copy_context().run(in_lines)
    assert question.count(f"  {command}") == 1 and f"  {why}" in question, "the detail is the command's own"
    assert f'exactly = "{command}"' in saved and any(line.endswith(shown) for line in keys)
    assert f"⚠ {why}" in " ".join(question) and why in " ".join(keys)
    assert sum(len(line) > 61 for line in question) == 2 and sum(len(line) > 61 for line in keys) == 1


def test_a_conversation_goes_on_by_shell_and_project(tmp_path: Path) -> None:
    os.environ["GSH_SHELL_ID"] = "one"
    talk = PromptSession(tmp_path)
    assert talk.session() == ""
    talk.keep("1m7y41sg2y3abf")
    assert PromptSession(tmp_path).session() == "1m7y41sg2y3abf"
    (tmp_path / "other" / ".git").mkdir(parents=True)
    assert PromptSession(tmp_path / "other").session() == ""
    os.environ["GSH_SHELL_ID"] = "two"
    assert PromptSession(tmp_path).session() == ""


def test_an_old_conversation_or_rubbish_does_not_go_on(tmp_path: Path) -> None:
    talk = PromptSession(tmp_path)
    talk.keep("1m7y41sg2y3abf")
    (file,) = talk._file.parent.iterdir()
    old = time.time() - 9 * 86_400
    os.utime(file, (old, old))
    assert talk.session() == ""
    file.write_text("../../etc\x1b[2J")
    assert talk.session() == ""


def test_output_keeps_its_beginning_and_its_end() -> None:
    printed = Printed()
    printed.add(b"begin\r\n" + b"a" * (HEAD + 10))
    for _ in range(200):
        printed.add(b"b" * 10_000)
    printed.add(b"\x1b[31mend\x1b[0m")
    text = printed.text()
    assert text.startswith("begin\na")
    assert text.endswith("end")
    assert "bytes omitted" in text
    assert len(text) < HEAD + TAIL + 20_000


def test_a_full_screen_program_prints_nothing_to_keep() -> None:
    printed = Printed()
    printed.add(b"before\x1b[?1049hscreen\x1b[?1049l")
    assert printed.text() == ""


def test_the_line_reads_the_same_in_any_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "__file__", "/a b/it's/plugin.py")
    assert plugin.line("zsh") == (
        "[[ ! -r '/a b/it'\\''s/gsh.plugin.zsh' ]] || source '/a b/it'\\''s/gsh.plugin.zsh'  # gsh-tui shell install"
    )


@pytest.mark.parametrize("words", [["gsh", "--version"], ["gsh", "-V"], ["-V"], ["--version"], ["version"]])
def test_the_version_is_told_however_it_is_asked_for(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    assert capsys.readouterr().out == f"gsh-tui {__version__}\n"


@pytest.mark.parametrize(
    ("option", "command"),
    [
        ("--list-workflows", "gsh-tui workflow ls"),
        ("--list-prompts", "gsh-tui prompts ls"),
        ("--list-sessions", "gsh-tui session ls"),
        ("--show-session", "gsh-tui session show"),
    ],
)
def test_options_that_are_commands_name_them(option: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gsh", option]) == 2
    said = capsys.readouterr().err
    assert command in said and said.startswith("Usage: gsh [OPTIONS]")
    assert run([*command.split()[1:], "--help"]) == 0


@pytest.mark.parametrize("before", [["--json"], ["--model", "x", "--yes"], ["--mode=plan"], []])
def test_options_of_a_workflow_stand_before_its_name_or_behind_it(
    before: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[WorkflowOptions] = []
    monkeypatch.setattr(workflow_process, "run_workflow", lambda options: seen.append(options) or 0)
    for words in ([*before, "explain-failure"], ["explain-failure", *before]):
        assert run(["workflow", "run", *words, "--command", "make"]) == 0, capsys.readouterr().err
    assert seen[0] == seen[1] and seen[0].json == ("--json" in before)

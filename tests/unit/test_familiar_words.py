"""First words and options of other programs: what is taken, and which right one a wrong one names."""

import click
import pytest

from gshtui.cli.by_hand import command_words
from gshtui.cli.familiar_words import MEANT, OPTIONS, our_words
from gshtui.cli.root import root, run


@pytest.mark.parametrize(
    ("typed", "ours"),
    [
        ("-p hi", "prompt hi"),
        ("--print hi", "prompt hi"),
        ("-p hi --output-format json", "prompt hi --output-format json"),
        ("--model sonnet -p hi", "prompt --model sonnet hi"),
        ("-c -p hi", "prompt -c hi"),
        ("--resume 12 -p hi", "prompt --resume 12 hi"),
        ("--verbose --output-format stream-json -p hi", "prompt --verbose --output-format stream-json hi"),
        ("exec hi", "prompt hi"),
        ("exec --json hi", "prompt --output-format=codex hi"),
        ("exec -m sonnet hi", "prompt -m sonnet hi"),
        ("exec --skip-git-repo-check hi", "prompt hi"),
        ("exec resume --last hi", "prompt --session latest hi"),
        ("exec resume 12 hi", "prompt --session 12 hi"),
        ("exec --json resume --last hi", "prompt --output-format=codex --session latest hi"),
        ("exec resume --json 12 hi", "prompt --output-format=codex --session 12 hi"),
        ("exec resume -m x 12 hi", "prompt -m x --session 12 hi"),
        ("exec resume -m x --last hi", "prompt --session latest -m x hi"),
        ("exec resume 12 -m x hi", "prompt --session 12 -m x hi"),
        ("exec resume 12 --last", "prompt --session latest 12"),  # as Codex takes it
        ("exec resume --json", "prompt resume --output-format=codex"),
        ("exec resume -m", "prompt resume -m"),
        ("exec resume 12 -m", "prompt --session 12 -m"),
        ("exec resume -- 12", "prompt resume -- 12"),
        ("exec -- resume 12", "prompt -- resume 12"),
        ("exec -m resume hi", "prompt -m resume hi"),
        ("exec resume", "prompt resume"),
        ("resume", "session resume latest"),
        ("resume --last", "session resume latest"),
        ("resume 12", "session resume 12"),
        ("upgrade", "update"),
        ("agents", "agent ls"),
        ("agents show 12", "agent show 12"),
        ("sessions", "session ls"),
        ("prompt -p hi", "prompt -p hi"),
        ("run glob", "run glob"),
        ("note -p", "note -p"),
        ("--model -p", "--model -p"),
        ("-- -p", "-- -p"),
        ("", ""),
    ],
)
def test_words_of_other_programs(typed: str, ours: str) -> None:
    assert our_words(typed.split()) == ours.split()


def test_what_a_wrong_word_names_is_there() -> None:
    for word, ours in MEANT.items():
        assert word not in command_words(), word
        words = ours.split()
        found: click.Command = root
        if ours.startswith("-"):
            assert ours in {name for option in root.params for name in option.opts}, (word, ours)
            continue
        while words and isinstance(found, click.Group):
            sub = found.get_command(click.Context(found), words.pop(0))
            assert sub is not None or ours.startswith("exec"), (word, ours)
            if sub is None:
                break
            found = sub
    prompt = root.get_command(click.Context(root), "prompt")
    assert prompt is not None
    options = {name for option in prompt.params for name in option.opts}
    for option, ours in OPTIONS.items():
        assert option not in options, option
        if ours.startswith("--"):
            assert ours.split()[0].rstrip(",") in options, (option, ours)


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("chat", "`gsh-tui`"),
        ("auth", "gsh-tui login"),
        ("modles", "models"),
        ("new", "`gsh-tui --new`"),
        ("memory", "gsh-tui run memory"),
        ("feedback", "gsh-tui report"),
        ("prompt -C /tmp hi", "`cd FOLDER`"),
        ("prompt -s read-only hi", "--mode"),
        ("commit", "gsh-tui workflow run create-git-commit"),
        ("prompt -o out hi", "`> FILE`"),
        ("prompt hi --append-system-prompt x", "--agent NAME"),
        ("prompt hi --add-dir /x", "asked about"),
        ("spawn x", "gsh-tui agent spawn"),
        ("kill 12", "gsh-tui agent kill"),
        ("config gte", "get"),
        ("config nonsense", "unset"),
        ("mcp qqq", "There are"),
        ("agent atach", "attach"),
        ("prompt --dangerously-skip-permissions hi", "--mode yolo"),
        ("prompt --allowedTools Bash hi", "guard rules"),
        ("prompt --session x --continue hi", "choose one"),
        ("prompt --json --output-format json hi", "choose one"),
    ],
)
def test_a_wrong_word_names_the_right_one(typed: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(typed.split()) == 2
    assert named in capsys.readouterr().err


def test_a_question_without_a_command_says_how_to_ask_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain this code"]) == 2
    assert "gsh-tui prompt" in capsys.readouterr().err

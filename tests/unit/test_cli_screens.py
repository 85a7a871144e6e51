"""The status rules and the reading of drafts, held against the screens of the real programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gshtui.agents.cli import profile as profiles
from gshtui.agents.cli.reading import read
from gshtui.agents.cli.screen import plain, undimmed
from gshtui.agents.cli.spool import parse
from gshtui.agents.cli.status import WORKING, Facts, decide

SCREENS = Path(__file__).parents[1] / "fixtures" / "screens"
LOADED = profiles.load(Path("/nonexistent"))


def shots() -> list[Any]:
    """Every recorded screen."""
    found: list[Any] = []
    for meta in sorted(SCREENS.glob("*/*/screens.json")):
        data = json.loads(meta.read_text("utf-8"))
        for shot in data["shots"]:
            name = f"{data['program']}-{data['version']}-{shot['file']}"
            found.append(pytest.param(data["program"], meta.parent / shot["file"], shot, id=name))
    return found


SHOTS = shots()


def test_the_four_programs_are_recorded_in_every_state() -> None:
    states: dict[str, set[str]] = {}
    for shot in SHOTS:
        states.setdefault(shot.values[0], set()).add(shot.values[2]["status"])
    assert set(states) == {"claude", "codex", "gemini", "opencode"}
    for program, seen in states.items():
        assert seen >= {"idle", "thinking", "tool", "waiting", ""}, program


@pytest.mark.parametrize(("program", "file", "shot"), SHOTS)
def test_a_screen_says_what_the_program_does(program: str, file: Path, shot: dict[str, Any]) -> None:
    profile = LOADED.get(program)
    lines = file.read_text("utf-8").split("\n")
    reading = read(profile, lines, shot["title"], (shot["cursor"][0], shot["cursor"][1]))
    facts = Facts(
        dead=shot["dead"],
        exit_status=shot["exit_status"],
        title=shot["title"],
        started=1.0,
        moved=1.0,
        reading=reading,
        since=1.0,
        ready=True,
    )
    known = decide(profile, None, facts, 1000.0)
    if shot["status"] in WORKING:
        assert known.status in WORKING
    elif shot["status"]:
        assert known.status == shot["status"]
    else:
        assert known.status in ("done", "failed")
        assert known.source == "process"
    assert bool(reading.draft) == shot["draft"], reading.draft
    assert known.sure


@pytest.mark.parametrize("program", ["claude", "codex", "gemini", "opencode"])
def test_the_hooks_of_a_program_tell_its_turns(program: str) -> None:
    """The recorded reports: every one is understood, and a turn goes from idle over work to idle."""
    (recorded,) = SCREENS.glob(f"{program}/*/hooks.jsonl")
    profile = LOADED.get(program)
    events = [event for line in recorded.read_bytes().split(b"\n") if (event := parse(line, profile)) is not None]
    assert all(event.status for event in events), [event for event in events if not event.status]
    statuses = [event.status for event in events]
    assert {"idle", "thinking", "tool", "waiting"} <= set(statuses)
    ids = {event.conversation for event in events if event.conversation}
    assert len(ids) == 1
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_the_approved_command_is_what_the_agent_is_doing() -> None:
    (recorded,) = SCREENS.glob("claude/*/hooks.jsonl")
    profile = LOADED.get("claude")
    doing = [event.doing for line in recorded.read_bytes().split(b"\n") if (event := parse(line, profile))]
    assert "Bash touch made.txt" in doing


def test_styles_are_taken_out_and_dim_text_is_a_hint() -> None:
    assert plain("\x1b[38;5;2mgreen\x1b[0m \x1b]8;;x\x07link") == "green link"
    assert undimmed(["\x1b[1m›\x1b[0m \x1b[2mhint\x1b[0m typed"]) == ["›      typed"]
    assert undimmed(["\x1b[2mone", "two\x1b[22mthree"]) == ["", "   three"], "attributes go on over lines"
    assert undimmed(["\x1b[38;5;2mgreen", "\x1b[38;2;2;2;2mdark"]) == ["green", "dark"], "a colour's number is no style"


def test_a_numbered_list_in_an_answer_is_no_question() -> None:
    rule = "─" * 60
    screen = [
        "● Which one?",
        "  ❯ 1. Yes, do it",
        "  2. No",
        "  Esc to cancel",
        "",
        rule,
        "❯ ",
        rule,
        "  ? for shortcuts",
    ]
    assert read(LOADED.get("claude"), screen).status == "idle"


def test_words_about_interrupting_in_an_answer_are_no_work() -> None:
    rule = "─" * 60
    screen = ["● Press it:", "  esc to interrupt", "✻ Baked for 2s", "", rule, "❯ ", rule, "  ? for shortcuts"]
    assert read(LOADED.get("claude"), screen).status == "idle"


def test_a_draft_of_several_lines_is_seen_whole() -> None:
    rule = "─" * 60
    screen = [rule, "❯ first", "  second", rule, "  ? for shortcuts"]
    assert read(LOADED.get("claude"), screen).draft == "first\nsecond"


@pytest.mark.parametrize(
    ("line", "status", "draft"),
    [
        (">>> ", "idle", ""),
        (">>> half", "idle", "half"),
        ("postgres=# ", "idle", ""),
        ("me@host:~$ ls -l", "idle", "ls -l"),
        ("sqlite> ", "idle", ""),
        ("me@host's password: ", "waiting", ""),
        ("Are you sure you want to continue connecting (yes/no/[fingerprint])? ", "waiting", ""),
        ("Compiling 12 of 100", "", ""),
        ("Waiting > 5 seconds", "", ""),
    ],
)
def test_prompts_of_other_programs(line: str, status: str, draft: str) -> None:
    reading = read(LOADED.get("repl"), ["some output", line], "", (len(line), 1))
    assert (reading.status, reading.draft) == (status, draft)

"""Modes of other vendors' programs: which arguments stand for ours, what is refused, what their screens show."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from gshtui.bus.agent_data import AgentRow, GuardMode, ProgramMode, QuestionChoice, SpawnRequest
from gshtui.fleet.core.ports import FleetError, LaunchTerms
from gshtui.fleet.lifecycle.agent_command_lines import CommandLines
from gshtui.guard.modes import MODES
from gshtui.programs.acp.acp_commands import KNOWN
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles import program_modes
from gshtui.programs.screen.screen_reading import read_screen
from tests.kit.record import ROOT

LOADED = profiles.load(Path("/nonexistent"))
RULE = "─" * 80
SHOWN: list[tuple[str, Sequence[str], str, str]] = [
    ("claude", (RULE, "❯ ", RULE, "  ⏵⏵ auto mode on (shift+tab to cycle) · esc to interrupt"), "auto mode", "auto"),
    ("claude", (RULE, "❯ ", RULE, "  ⏸ plan mode on (shift+tab to cycle) · ← for agents"), "plan mode", "plan"),
    ("claude", (RULE, "❯ ", RULE, "  ⏸ manual mode on · ? for shortcuts"), "manual mode", "ask"),
    ("claude", (RULE, "❯ ", RULE, "  ? for shortcuts · ← for agents"), "manual mode", "ask"),
    ("claude", (RULE, "❯ ", RULE, "  esc to interrupt"), "manual mode", "ask"),
    ("claude", (RULE, "❯ ", RULE, "  ⏵⏵ accept edits on (shift+tab to cycle)"), "accept edits", "edit"),
    ("claude", (RULE, "❯ ", RULE, "  ⏵⏵ bypass permissions on (shift+tab to cycle)"), "bypass permissions", "yolo"),
    ("claude", (RULE, "❯ ", RULE, "  ⏵⏵ don't ask on (shift+tab to cycle)"), "don't ask", ""),
    (
        "qwen",
        (RULE, ">   Type your message", RULE, "  ➜ a · fake", "  Auto mode (shift + tab to cycle)"),
        "auto mode",
        "auto",
    ),
    (
        "qwen",
        (RULE, ">   Type your message", RULE, "  ⏸ Ask permissions (shift + tab to cycle)"),
        "ask permissions",
        "ask",
    ),
    ("qwen", (RULE, ">   Type your message", RULE, "  ? for shortcuts"), "ask permissions", "ask"),
    ("qwen", (RULE, "*   Type your message", RULE, "  YOLO mode (shift + tab to cycle)"), "YOLO mode", "yolo"),
    ("gemini", (RULE, " plan Shift+Tab to manual", "", " >   Type your message or @path/to/file"), "plan", "plan"),
    ("gemini", (RULE, " Shift+Tab to accept edits", "", " >   Type your message or @path/to/file"), "manual", "ask"),
    ("gemini", (RULE, " auto-accept edits Shift+Tab to plan", "", " >   Type"), "auto-accept edits", "edit"),
    ("gemini", (RULE, " YOLO Ctrl+Y", "", " *   Type your message or @path/to/file"), "YOLO", "yolo"),
    ("vibe", ("─" * 60 + " ask ─", ">", RULE), "ask", "ask"),
    ("vibe", ("─" * 60 + " accept edits ─", ">", RULE), "accept edits", "edit"),
    ("vibe", ("─" * 60 + " auto approve ─", ">", RULE), "auto approve", "yolo"),
    ("opencode", ("  ┃", '  ┃  Ask anything… "Fix a TODO"', "  ┃", "  ┃  Plan · fake Loop", "  ╹▀▀▀▀"), "plan", "plan"),
    ("opencode", ("  ┃", "  ┃  Build · fake Loop", "  ╹▀▀▀▀"), "build", ""),
]


@pytest.mark.parametrize(("name", "rows", "mode", "like"), SHOWN)
def test_a_screen_shows_the_mode(name: str, rows: Sequence[str], mode: str, like: str) -> None:
    profile = LOADED.get(name).started_by((name, "--exclude-tools", "agent"))
    shown = read_screen(profile, ["Some words.", "", *rows]).mode
    assert shown == ProgramMode(mode, msgspec.convert(like, GuardMode) if like else "")


def test_what_is_said_or_typed_shows_none() -> None:
    """A model or a draft that writes a footer's words is not the footer."""
    claude = LOADED.get("claude")
    footer = "  ⏵⏵ bypass permissions on"
    for rows in (
        (footer, RULE, "❯ ", RULE, "  ? for shortcuts"),
        (RULE, f"❯ one\n{footer}", RULE, "  ? for shortcuts"),
    ):
        lines = "\n".join(rows).split("\n")
        assert read_screen(claude, lines).mode == ProgramMode("manual mode", "ask"), lines


def test_one_that_starts_shows_none_yet() -> None:
    """Vibe shows its default until it has read its arguments."""
    rows = [" ⢰ Initializing…", "", "─" * 60 + " accept edits ─", ">", RULE]
    assert read_screen(LOADED.get("vibe"), rows).mode is None


@pytest.mark.parametrize(
    ("limit", "asked", "modes"),
    [
        ("plan", "yolo", "plan"),
        ("ask", "", "ask"),
        ("edit", "plan", "plan"),
        ("auto", "yolo", "auto"),
        ("auto", "", "auto"),
        ("ask", "auto", "ask"),
    ],
)
async def test_of_starter_and_wish_the_strictest_holds(
    tmp_path: Path, limit: GuardMode, asked: GuardMode, modes: str
) -> None:
    """Whoever starts it: one of ours, or another vendor's program, by what it was started in or shows."""
    request = SpawnRequest(cli=("claude",), mode=asked, host="elsewhere")
    starters = (
        AgentRow(id="0001", name="a", kind="cli", held_to=limit),
        AgentRow(id="0001", name="a", kind="cli", held_to="auto", program_mode=ProgramMode("its own", limit)),
    )
    for row in starters:
        agreed = await CommandLines(tmp_path, LaunchTerms()).agreed(request, {"0001": row})
        assert agreed.mode == modes
    terms = LaunchTerms(mode_of=lambda _: limit)
    assert (await CommandLines(tmp_path, terms).agreed(request, {"main": None})).mode == modes


@pytest.mark.parametrize("mode", MODES)
async def test_a_mode_is_passed_or_refused_in_a_sentence(tmp_path: Path, mode: GuardMode) -> None:
    for name in LOADED.profiles:
        await _passed_or_refused(tmp_path, name, mode)


async def _passed_or_refused(tmp_path: Path, name: str, mode: GuardMode) -> None:
    profile = LOADED.get(name)
    lines = CommandLines(tmp_path, LaunchTerms())
    request = SpawnRequest(cli=profile.argv or (name,), profile=name, mode=mode, host="elsewhere")
    has = any(rule.like == mode and (rule.arguments or rule.environment) for rule in profile.modes.each)
    if has:
        assert (await lines.agreed(request, {})).mode == mode
        return
    with pytest.raises(FleetError) as refused:
        await lines.agreed(request, {})
    assert refused.value.message.endswith(".")
    assert mode in refused.value.message or "has no modes" in refused.value.message
    # Where none is asked for, it starts, in what it has that is no wider than ours, or as it is.
    default = (await lines.agreed(msgspec.structs.replace(request, mode=""), {})).mode
    assert default in ("", "ask")


@pytest.mark.parametrize(
    "line",
    [
        "claude --permission-mode auto",
        "claude --permission-mode=plan",
        "claude --dangerously-skip-permissions",
        "codex -s workspace-write",
        "codex -c approval_policy=never",
        "codex --yolo",
        "qwen -y",
        "gemini --approval-mode auto_edit",
        "opencode --agent build",
        "vibe --agent mine",
        "codex login",
    ],
)
async def test_a_command_line_that_chooses_is_left_alone_and_no_agent_may(tmp_path: Path, line: str) -> None:
    argv = tuple(line.split())
    lines = CommandLines(tmp_path, LaunchTerms())
    assert (await lines.agreed(SpawnRequest(cli=argv), {})).mode == ""
    with pytest.raises(FleetError, match="chooses"):
        await lines.agreed(SpawnRequest(cli=argv, mode="plan"), {})
    if "=plan" not in line:
        with pytest.raises(FleetError, match="no wider than plan"):
            await lines.agreed(
                SpawnRequest(cli=argv, parent="0001"),
                {"0001": AgentRow(id="0001", name="a", held_to="plan", kind="cli")},
            )


@pytest.mark.parametrize(
    "line",
    [
        "claude --allowedTools Bash",
        "claude --allowed-tools=Bash(*)",
        "claude --settings mine.json",
        "claude --mcp-config mine.json",
        "codex -c mcp_servers.x.command=sh",
        "codex --config=projects./src.trust_level=trusted",
        "qwen --allowed-tools run_shell_command",
        "gemini --policy mine.toml",
        "vibe --trust",
        "copilot --allow-tool=shell",
        "aider --yes-always",
        "aider --test-cmd make",
    ],
)
async def test_an_agent_allows_a_program_nothing_beside_its_mode(tmp_path: Path, line: str) -> None:
    argv = tuple(line.split())
    lines = CommandLines(tmp_path, LaunchTerms())
    above = AgentRow(id="0001", name="a", held_to="auto", kind="cli")
    with pytest.raises(FleetError, match=r"more than its mode does; .* held to auto\."):
        await lines.agreed(SpawnRequest(cli=argv, parent="0001"), {"0001": above})
    await lines.agreed(SpawnRequest(cli=argv, host="elsewhere"), {})  # a person may
    alone = SpawnRequest(cli=(argv[0],), parent="0001", host="elsewhere")
    await lines.agreed(alone, {"0001": above})


def test_arguments_go_before_a_double_dash() -> None:
    rule = program_modes.passed_rule(LOADED.get("claude"), "plan")
    assert rule is not None
    assert program_modes.with_arguments(("claude", "--", "x"), rule.arguments) == (
        "claude",
        "--permission-mode",
        "plan",
        "--",
        "x",
    )


def test_a_row_says_that_more_is_done_unasked_than_asked_for() -> None:
    row = AgentRow(id="1", name="a", kind="cli", held_to="ask")
    assert (row.mode_words, row.exceeds) == ("started in ask mode", False)
    row = msgspec.structs.replace(row, program_mode=ProgramMode("auto mode", "auto"))
    assert (row.mode_words, row.exceeds) == ("auto mode, not ask!", True)
    row = msgspec.structs.replace(row, program_mode=ProgramMode("plan mode", "plan"))
    assert (row.mode_words, row.exceeds) == ("plan mode", False)
    row = msgspec.structs.replace(row, program_mode=ProgramMode("build"))
    assert (row.mode_words, row.exceeds) == ("build, ask", False)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("qwen --approval-mode auto", "ask permissions, but its helpers edit unasked, not ask!"),
        ("qwen --exclude-tools agent --approval-mode plan", "ask permissions"),
        ("qwen --exclude-tools=task,agent", "ask permissions"),
        ("env A=1 qwen --exclude-tools agents", "ask permissions, but its helpers edit unasked, not ask!"),
        ("qwen -i 'say --exclude-tools agent please'", "ask permissions, but its helpers edit unasked, not ask!"),
        ("qwen -i 'say\n--exclude-tools\nagent'", "ask permissions, but its helpers edit unasked, not ask!"),
    ],
)
def test_a_mode_that_a_command_line_does_not_hold_is_called_what_it_is(line: str, words: str) -> None:
    rows = [RULE, ">   Type your message", RULE, "  ⏸ Ask permissions (shift + tab to cycle)"]
    argv = tuple(shlex.split(line))
    for profile in (LOADED.for_argv(argv), LOADED.of_process(argv), LOADED.get("qwen").started_by(argv)):
        shown = read_screen(profile, rows).mode
        row = AgentRow(id="1", name="a", kind="cli", held_to="ask", program_mode=shown)
        assert row.mode_words == words


def test_what_holds_a_mode_is_passed_in_each_from_which_its_key_leads_there() -> None:
    """Qwen's helpers edit unasked where it asks."""
    qwen = LOADED.get("qwen")
    for mode in MODES:
        rule = program_modes.passed_rule(qwen, mode)
        assert rule is not None and ("agent" in rule.arguments) is (mode in ("plan", "ask", "edit"))
    assert all("agent" in way for way in KNOWN["qwen"])


@pytest.mark.parametrize(
    ("folder", "leads"),
    [
        ("claude/2.1.332", ["", "ask", ""]),
        ("qwen/0.24.4", ["ask", "", "ask", ""]),
    ],
)
def test_an_answer_to_a_plan_lets_it_into_that_mode_alone(folder: str, leads: list[str]) -> None:
    profile = LOADED.get(folder.partition("/")[0])
    lines = next((ROOT / "tests/fixtures/screens" / folder / "plan-120x35").glob("0?-plan.txt")).read_text("utf-8")
    read = read_screen(profile, lines.split("\n")).read
    assert read is not None
    asked = read.question
    assert [program_modes.approved(profile, asked, asked.id, one.key) for one in asked.choices] == leads
    key = asked.choices[leads.index("ask")].key
    each = tuple(msgspec.structs.replace(rule, approved="^Yes") for rule in profile.modes.each)
    wide = msgspec.structs.replace(profile, modes=msgspec.structs.replace(profile.modes, each=each))
    assert program_modes.approved(wide, asked, asked.id, key) == "ask", "never a wider one"
    assert not program_modes.approved(profile, asked, "another", key)
    assert not program_modes.approved(profile, None, asked.id, key)
    models = (*asked.choices, QuestionChoice("9", "Type something."))  # a model asks with the same words
    assert not program_modes.approved(profile, msgspec.structs.replace(asked, choices=models), asked.id, key)

"""Hooks: shown before, put in and taken out as shown; what they report, and what is done with nonsense."""

import asyncio
import json
import shlex
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Never

import pytest

from gshtui.commands.declaration import Access, Caller, CommandError, Invocation, Outcome, UsageError
from gshtui.commands.evaluation import run_line
from gshtui.commands.registry import Registry
from gshtui.programs import commands as cli_commands
from gshtui.programs import report_hook
from gshtui.programs.hooks import hook_reports, hooks
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.status.status import HookEvent
from gshtui.settings.loader import load
from tests.kit.home import Home

LOADED = profiles.load(Path("/nonexistent"))
CLAUDE = LOADED.get("claude")


def test_an_installation_is_what_was_shown_and_goes_without_a_trace(tmp_path: Path, home: Home) -> None:
    plan = hooks.plan(CLAUDE, folder=tmp_path)
    (change,) = plan.changes
    assert change.before is None
    assert not list(tmp_path.iterdir()), "a plan changes nothing"
    assert hooks.apply_plan(plan) == []
    assert plan.file.read_text("utf-8") == change.after
    added = [line[1:] for line in plan.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added == (change.after or "").splitlines()
    assert stat.S_IMODE(plan.file.stat().st_mode) == 0o600
    assert hooks.state(CLAUDE, tmp_path) == "installed"
    (backup,) = hooks.apply_plan(hooks.plan(CLAUDE, remove=True, folder=tmp_path))
    assert backup.read_text("utf-8") == change.after
    assert hooks.state(CLAUDE, tmp_path) == "absent"


def test_an_extension_goes_with_its_folders(tmp_path: Path) -> None:
    gemini = LOADED.get("gemini")
    hooks.apply_plan(hooks.plan(gemini, folder=tmp_path / "extensions"))
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2
    assert hooks.state(gemini, tmp_path / "extensions") == "installed"
    hooks.apply_plan(hooks.plan(gemini, remove=True, folder=tmp_path / "extensions"))
    assert list((tmp_path / "extensions").iterdir()) == []


def test_what_changed_after_it_was_shown_is_not_overwritten(tmp_path: Path) -> None:
    plan = hooks.plan(CLAUDE, folder=tmp_path)
    plan.file.write_text("{}", "utf-8")
    with pytest.raises(hooks.HooksError, match="has changed in the meantime"):
        hooks.apply_plan(plan)
    assert plan.file.read_text("utf-8") == "{}"
    assert hooks.state(CLAUDE, tmp_path) == "outdated"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine", "utf-8")
    (tmp_path / "claude.json").symlink_to(elsewhere)
    assert hooks.state(CLAUDE, tmp_path) == "unreadable"
    with pytest.raises(hooks.HooksError):
        hooks.plan(CLAUDE, folder=tmp_path)
    assert elsewhere.read_text("utf-8") == "mine"


def test_qwen_reports_unless_its_system_has_settings_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    qwen, name = LOADED.get("qwen"), "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
    file, own = tmp_path / "qwen.json", tmp_path / "system-defaults.json"
    monkeypatch.setattr(hooks, "_QWEN_DEFAULTS", (own,))
    assert hooks.hook_setup(qwen, file, ("qwen",), {}).environment == {name: str(file)}
    assert not hooks.hook_setup(qwen, file, ("qwen",), {name: "/theirs.json"}).reports
    own.touch()
    assert not hooks.hook_setup(qwen, file, ("qwen",), {}).reports


def test_a_turn_of_codex_does_not_wait_for_our_report_of_its_end(tmp_path: Path) -> None:
    codex = LOADED.get("codex")
    file = tmp_path / "codex.json"
    file.write_text(hooks.hook_files(codex)[file.name], "utf-8")
    given = tomllib.loads("\n".join(hooks.hook_setup(codex, file, ("codex",), {}).arguments[1::2]))["hooks"]
    assert [event for event, (group,) in given.items() if group["hooks"][0].get("async")] == ["Stop"]


def run_hook(path: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
    """The hook as the program runs it: through a shell."""
    environment = {hook_reports.VARIABLE: path} if path else {}
    return subprocess.run(
        ["/bin/sh", "-c", hooks.hook_command(CLAUDE)], input=given, env=environment, capture_output=True, timeout=20
    )


def test_a_hook_writes_one_short_line_and_says_nothing(tmp_path: Path) -> None:
    path = hook_reports.open_spool(tmp_path, "0001")
    huge = {"hook_event_name": "PostToolUse", "session_id": "s" * 8, "tool_name": "Bash"}
    huge |= {"tool_input": {"command": "x" * 100_000}, "tool_response": {"stdout": "y" * 1_000_000}}
    ran = run_hook(str(path), json.dumps(huge).encode())
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    written = path.read_bytes()
    assert written.count(b"\n") == 1
    assert len(written) < 2_000
    event = hook_reports.parse_report(written, CLAUDE)
    assert event is not None
    assert (event.status, event.conversation) == ("thinking", "s" * 8)


@pytest.mark.parametrize("given", [b"", b"not json", b"[1]", b'"x"', b"\xff\xfe", b'{"hook_event_name": 7}'])
def test_a_hook_never_fails(tmp_path: Path, given: bytes) -> None:
    path = hook_reports.open_spool(tmp_path, "0001")
    ran = run_hook(str(path), given)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_hook_without_a_hub_or_with_a_link_writes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.touch()
    link = tmp_path / "link"
    link.symlink_to(target)
    for path in ("", str(link), str(tmp_path / "missing"), "relative"):
        assert run_hook(path, b'{"hook_event_name": "Stop"}').returncode == 0
    assert target.read_bytes() == b""
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    "line", [b"", b"x", b"[]", b"{}", b'{"at": "now", "event": "Stop"}', b'{"at": 1, "event": 2}', b"[" * 100_000]
)
def test_what_is_no_report_is_passed_over(line: bytes) -> None:
    assert hook_reports.parse_report(line, CLAUDE) is None


def test_a_report_cannot_bring_control_characters_to_the_sidebar() -> None:
    line = json.dumps({"at": 1, "event": "PreToolUse", "tool": "Bash", "subject": "a\x1b]52;c;x\x07\nb"}).encode()
    event = hook_reports.parse_report(line, CLAUDE)
    assert event is not None
    assert "\x1b" not in event.doing
    assert "\n" not in event.doing


_STARTS = {"startup": "idle", "resume": "idle", "clear": "idle"}
_COMPACTED = {"compact": "said"}  # in the middle of a turn, too
_COMPACTS = {
    "PreCompact": {"manual": "thinking", "auto": "thinking"},
    "PostCompact": {"manual": "idle", "auto": "thinking"},
}


@pytest.mark.parametrize(
    ("program", "kind", "events"),
    [
        ("claude", "source", {"SessionStart": _STARTS | _COMPACTED}),
        ("codex", "source", {"SessionStart": _STARTS | _COMPACTED | {"fork": "idle"}}),
        ("gemini", "source", {"SessionStart": _STARTS}),
        ("qwen", "source", {"SessionStart": _STARTS | _COMPACTED}),
        ("claude", "trigger", _COMPACTS),
        ("qwen", "trigger", _COMPACTS),
        ("claude", "notification_type", {"Notification": {"idle_prompt": "said"}}),
        ("gemini", "notification_type", {"Notification": {"ToolPermission": "waiting", "other": "said"}}),
        ("claude", "reason", {"SessionEnd": {"clear": "ended"}}),
    ],
)
def test_what_an_event_says_depends_on_what_led_to_it(
    program: str, kind: str, events: dict[str, dict[str, str]]
) -> None:
    profile = LOADED.get(program)
    for event, kinds in events.items():
        assert event in next(iter(hooks.hook_files(profile).values())), "it is not asked for"
        for value, status in kinds.items():
            told = hook_reports.parse_report(
                report_hook.line({"hook_event_name": event, kind: value}, program, 1.0), profile
            )
            assert told is not None and told.status == status, f"{event} {value}"


async def test_a_feed_tells_of_what_was_and_what_comes(tmp_path: Path) -> None:
    path = hook_reports.open_spool(tmp_path, "0001")
    with path.open("ab") as file:
        file.write(b'{"at": 1, "event": "SessionStart"}\n{"at": 2, "event": "Us')
    seen: list[HookEvent] = []
    more = asyncio.Event()

    def take(event: HookEvent) -> None:
        seen.append(event)
        more.set()

    feed = hook_reports.HookFeed(tmp_path)
    try:
        await feed.subscribe("0001", CLAUDE, take)
        assert [event.event for event in seen] == ["SessionStart"], "half a line is none yet"
        more.clear()
        with path.open("ab") as file:
            file.write(b'erPromptSubmit"}\n')
        while len(seen) < 2:
            await asyncio.wait_for(more.wait(), 30)
            more.clear()
            if len(seen) < 2:  # the watch of the folder may have begun after the writing
                path.touch()
        assert [event.event for event in seen] == ["SessionStart", "UserPromptSubmit"]
    finally:
        await feed.close()


async def look(_agent: str) -> Never:
    raise CommandError("There are no agents here.")


def registry() -> Registry:
    made = Registry()
    for command in cli_commands.commands(load(Path("/")), look, lambda: LOADED):
        made.register(command)
    return made


async def run(line: str, home: Home, *, agent: bool = False) -> Outcome:
    caller = Caller("scout", True) if agent else Caller()
    return await run_line(registry(), line, Invocation(caller=caller, cwd=Path("/tmp"), project=Path("/tmp")))


async def test_the_command_shows_first_and_installs_on_consent(home: Home) -> None:
    shown = await run("hooks install claude", home)
    assert "+" in shown.diff
    assert "program_hooks install claude yes" in shown.text
    assert f"```\n{shown.diff}\n```" in shown.text, "the window shows the text as Markdown"
    assert "```" not in shown.plain
    assert "absent" in json.dumps((await run("hooks", home)).data)
    done = await run("hooks install claude yes", home)
    assert done.data["done"]
    assert (await run("hooks status", home)).data["claude"]["state"] == "installed"
    removed = await run("hooks remove claude yes", home)
    assert removed.data["backups"]
    assert (await run("hooks", home)).data["claude"]["state"] == "absent"


async def test_an_agent_cannot_decide_about_hooks(home: Home) -> None:
    hooks_command = registry().get("hooks")
    assert hooks_command is not None
    assert hooks_command.access is Access.HUMAN_ONLY
    with pytest.raises(CommandError):
        await run("hooks install claude yes", home, agent=True)
    assert (await run("hooks", home)).data["claude"]["state"] == "absent"


async def test_profiles_are_listed_and_shown(home: Home) -> None:
    listed = await run("profiles", home, agent=True)
    assert [row["name"] for row in listed.data["profiles"]] == sorted(LOADED.profiles)
    shown = await run("profiles show codex", home)
    assert "resumed by: resume {id}" in shown.text
    for line in ("profiles show", "profiles show nothing", "hooks install"):
        with pytest.raises(UsageError):
            await run(line, home)
    with pytest.raises(CommandError, match="knows no hooks of"):
        await run("hooks install repl", home)


def test_the_hooks_command_survives_a_folder_with_blanks() -> None:
    assert shlex.split(hooks.hook_command(CLAUDE))[-1] == "claude"

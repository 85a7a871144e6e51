"""The mode that a program's own settings choose, and that nothing wider is passed: programs × settings × ours."""

import fnmatch
import json
import random
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from gshtui.bus.agent_data import AgentRow, GuardMode, ProgramMode
from gshtui.guard.modes import MODES
from gshtui.programs.opencode import opencode_settings
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.settings_files import content_of, json_of
from gshtui.programs.session.own_modes import own_mode, passed_mode
from tests.kit.storms import seeds

LOADED = profiles.load(Path("/nonexistent"))
CLAUDE = {"permissions": {"defaultMode": "MODE"}}
PLAN, ASK, EDIT, AUTO = (["--permission-mode", each] for each in ("plan", "default", "acceptEdits", "auto"))
READ, WRITE = ["-s", "read-only", "-a", "on-request"], ["-s", "workspace-write", "-a", "on-request"]
NEVER = ["-s", "read-only", "-a", "never"]
UNTRUSTED = 'approval_policy = "untrusted"\n'
Files = dict[str, Any]


def claude(mode: str, file: str = "home/.claude/settings.json") -> Files:
    return {file: {"permissions": {"defaultMode": mode}}}


def codex(text: str, file: str = "home/.codex/config.toml") -> Files:
    return {file: text}


TABLE: list[tuple[str, Files, GuardMode, GuardMode, list[str] | None, str]] = [
    # program, its settings, ours → the mode, what is passed (None: what its profile has for that), the file that holds
    ("claude", {}, "ask", "ask", ASK, ""),
    ("claude", claude("plan"), "ask", "plan", PLAN, "home/.claude/settings.json"),
    ("claude", claude("plan"), "plan", "plan", PLAN, ""),
    ("claude", claude("default"), "auto", "ask", ASK, "home/.claude/settings.json"),
    ("claude", claude("acceptEdits"), "ask", "ask", ASK, ""),
    ("claude", claude("acceptEdits"), "auto", "edit", EDIT, "home/.claude/settings.json"),
    ("claude", claude("bypassPermissions"), "ask", "ask", ASK, ""),
    ("claude", claude("of another version"), "ask", "ask", ASK, ""),
    ("claude", claude("dontAsk"), "ask", "ask", [], "home/.claude/settings.json"),
    ("claude", claude("dontAsk"), "edit", "ask", [], "home/.claude/settings.json"),
    ("claude", claude("dontAsk"), "plan", "plan", PLAN, ""),
    ("claude", claude("plan", "work/.claude/settings.json"), "ask", "plan", PLAN, "work/.claude/settings.json"),
    (
        "claude",
        claude("auto") | claude("plan", "work/.claude/settings.local.json"),
        "ask",
        "plan",
        PLAN,
        "work/.claude/settings.local.json",
    ),
    ("claude", claude("plan") | claude("acceptEdits", "work/.claude/settings.json"), "ask", "ask", ASK, ""),
    ("claude", claude("plan", "other/settings.json"), "ask", "ask", ASK, ""),
    ("claude", {"home/.claude/settings.json": "{broken"}, "ask", "ask", ASK, ""),
    ("claude", {"home/.claude/settings.json": "[]"}, "ask", "ask", ASK, ""),
    ("codex", {}, "ask", "ask", READ, ""),
    (
        "codex",
        codex('sandbox_mode = "read-only"\napproval_policy = "on-request"\n'),
        "auto",
        "ask",
        [],
        "home/.codex/config.toml",
    ),
    (
        "codex",
        codex('sandbox_mode = "read-only"\napproval_policy = "never"\n'),
        "ask",
        "plan",
        [],
        "home/.codex/config.toml",
    ),
    ("codex", codex('sandbox_mode = "danger-full-access"\napproval_policy = "never"\n'), "ask", "ask", READ, ""),
    ("codex", codex(f'{UNTRUSTED}sandbox_mode = "read-only"\n'), "ask", "ask", [], "home/.codex/config.toml"),
    (
        "codex",
        codex(f'{UNTRUSTED}sandbox_mode = "workspace-write"\n'),
        "ask",
        "ask",
        ["-s", "read-only"],
        "home/.codex/config.toml",
    ),
    ("codex", codex(f'{UNTRUSTED}sandbox_mode = "workspace-write"\n'), "auto", "ask", [], "home/.codex/config.toml"),
    ("codex", codex(UNTRUSTED), "plan", "plan", NEVER, ""),
    (
        "codex",
        codex('profile = "mine"\n[profiles.mine]\nsandbox_mode = "read-only"\n'),
        "auto",
        "ask",
        [],
        "home/.codex/config.toml",
    ),
    ("codex", codex('[projects."WORK"]\ntrust_level = "untrusted"\n'), "auto", "ask", [], "home/.codex/config.toml"),
    (
        "codex",
        codex('[projects."WORK"]\ntrust_level = "untrusted"\n'),
        "ask",
        "ask",
        ["-s", "read-only"],
        "home/.codex/config.toml",
    ),
    ("codex", codex('[projects."WORK"]\ntrust_level = "trusted"\n'), "ask", "ask", READ, ""),
    (
        "codex",
        codex('sandbox_mode = "read-only"\n', "work/.codex/config.toml"),
        "auto",
        "ask",
        [],
        "work/.codex/config.toml",
    ),
    (
        "codex",
        codex('default_permissions = "mine"\n[permissions.mine]\nextends = ":read-only"\n'),
        "auto",
        "ask",
        [],
        "home/.codex/config.toml",
    ),
    ("codex", codex('default_permissions = "a"\n[permissions.a]\nextends = "a"\n'), "ask", "ask", READ, ""),
    ("codex", codex("broken ="), "ask", "ask", READ, ""),
    (
        "gemini",
        {"home/.gemini/settings.json": '{"general": {"defaultApprovalMode": "plan"} /* , */}'},
        "ask",
        "plan",
        None,
        "home/.gemini/settings.json",
    ),
    (
        "gemini",
        {"work/.gemini/settings.json": {"general": {"defaultApprovalMode": "auto_edit"}}},
        "ask",
        "ask",
        None,
        "",
    ),
    (
        "qwen",
        {"home/.qwen/settings.json": {"tools": {"approvalMode": "plan"}}},
        "ask",
        "plan",
        None,
        "home/.qwen/settings.json",
    ),
    ("qwen", {"home/.qwen/settings.json": {"tools": {"approvalMode": "yolo"}}}, "ask", "ask", None, ""),
    ("vibe", {"home/.vibe/config.toml": 'default_agent = "plan"\n'}, "ask", "plan", [], "home/.vibe/config.toml"),
    ("vibe", {"home/.vibe/config.toml": 'default_agent = "auto-approve"\n'}, "ask", "ask", None, ""),
    ("opencode", {}, "ask", "ask", [], ""),
    (
        "opencode",
        {"work/opencode.json": {"default_agent": "plan"}},
        "ask",
        "plan",
        ["--agent", "plan"],
        "work/opencode.json",
    ),
    (
        "opencode",
        {"home/.config/opencode/opencode.jsonc": '{// mine\n"permission": {"edit": "ask", "bash": "deny",},}'},
        "edit",
        "ask",
        [],
        "home/.config/opencode/opencode.jsonc",
    ),
    ("opencode", {"work/.opencode/opencode.json": {"permission": "allow"}}, "edit", "edit", [], ""),
    ("aider", {"home/.aider.conf.yml": "yes: true"}, "ask", "ask", [], ""),
]


def written(tmp_path: Path, files: Files) -> dict[str, str]:
    (tmp_path / "work/.git").mkdir(parents=True)
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text.replace("WORK", str(tmp_path / "work")), "utf-8")
    return {"HOME": str(tmp_path / "home")}


@pytest.mark.parametrize(("name", "files", "ours", "mode", "arguments", "by"), TABLE)
def test_the_stricter_of_both_holds(
    tmp_path: Path, name: str, files: Files, ours: GuardMode, mode: GuardMode, arguments: list[str] | None, by: str
) -> None:
    environ, profile = written(tmp_path, files), LOADED.get(name)
    own = own_mode(profile, (name,), environ, tmp_path / "work")
    made = passed_mode(profile, ours, own)
    assert (made.mode, made.by) == (mode, f"{tmp_path}/{by}" if by else "")
    assert MODES.index(made.mode) <= MODES.index(ours)
    rule = next((each for each in profile.modes.each if each.like == mode), None)
    expected = list(rule.arguments) if arguments is None and rule is not None else arguments
    assert list(made.arguments) == (expected or [])


def test_settings_that_a_command_line_names_count_first(tmp_path: Path) -> None:
    environ = written(tmp_path, claude("acceptEdits") | claude("plan", "work/mine.json"))
    own = own_mode(LOADED.get("claude"), ("claude", "--settings", "mine.json"), environ, tmp_path / "work")
    assert own is not None and (own.like, own.file) == ("plan", str(tmp_path / "work/mine.json"))


def test_those_of_folders_above_count_within_their_repository(tmp_path: Path) -> None:
    environ = written(tmp_path, claude("plan", ".claude/settings.json"))
    below = tmp_path / "work/below"
    below.mkdir()
    assert own_mode(LOADED.get("claude"), ("claude",), environ, below) is None
    (tmp_path / "work/.claude").mkdir()
    (tmp_path / "work/.claude/settings.json").write_text(json.dumps(CLAUDE).replace("MODE", "plan"), "utf-8")
    assert own_mode(LOADED.get("claude"), ("claude",), environ, below) is not None
    elsewhere = {**environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    assert own_mode(LOADED.get("claude"), ("claude",), elsewhere, tmp_path) is not None, "outside of one, it alone"


@pytest.mark.parametrize(("file", "counts"), [("settings.json", False), ("settings.local.json", True)])
def test_a_linked_worktree_has_the_local_settings_of_the_main_checkout(tmp_path: Path, file: str, counts: bool) -> None:
    """What git has is in the worktree itself."""
    environ = written(tmp_path, claude("plan", f"work/.claude/{file}"))
    kept, other = tmp_path / "work/.git/worktrees/other", tmp_path / "other"
    kept.mkdir(parents=True)
    (kept / "HEAD").write_text("ref: refs/heads/other\n", "utf-8")
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {kept}\n", "utf-8")
    assert (own_mode(LOADED.get("claude"), ("claude",), environ, other) is not None) == counts


def test_a_row_says_which_holds() -> None:
    row = AgentRow(id="0001", name="it", kind="cli", held_to="plan", held_by="/home/.claude/settings.json")
    row = msgspec.structs.replace(row, program_mode=ProgramMode("plan mode", "plan"))
    assert row.mode_words == "plan mode, by its own settings"
    assert msgspec.structs.replace(row, held_by="person").mode_words == "plan mode"
    assert msgspec.structs.replace(row, program_mode=ProgramMode("auto mode", "auto")).mode_words == (
        "auto mode, not plan!"
    )


# -- OpenCode's permissions, as it lays them over one another and evaluates them ---------------------------------------

ACTIONS = ("deny", "ask", "allow")


def laid_over(below: Any, above: Any) -> Any:
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    old, new = cast("dict[str, Any]", below), cast("dict[str, Any]", above)
    return {**old, **{name: laid_over(old.get(name), value) for name, value in new.items()}}


def action(permission: dict[str, Any], tool: str, what: str) -> str:
    found = "allow"
    for name, value in permission.items():
        if fnmatch.fnmatchcase(tool, name):
            for pattern, each in (value if isinstance(value, dict) else {"*": value}).items():
                found = each if fnmatch.fnmatchcase(what, pattern) else found
    return found


@pytest.mark.parametrize("seed", seeds(60))
def test_each_action_is_no_wider_than_its_own_and_ours(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    tools, lines = ("edit", "bash", "webfetch", "read"), ("git status", "rm -rf x", "ls", "git push")
    patterns = ("*", "git *", "rm *", "git status", "l?")

    def some() -> Any:
        if chance.random() < 0.4:
            return chance.choice(ACTIONS)
        return {each: chance.choice(ACTIONS) for each in chance.sample(patterns, chance.randint(1, len(patterns)))}

    def table() -> dict[str, Any]:
        return {each: some() for each in chance.sample((*tools, "*"), chance.randint(0, 5))}

    files = {
        "home/.config/opencode/opencode.json": {"permission": table()},
        "work/opencode.json": {"permission": table()},
    }
    environ = written(tmp_path, files)
    named = table() if chance.random() < 0.5 else {}
    environ |= {"OPENCODE_PERMISSION": json.dumps(named)} if named else {}
    ours = {"edit": chance.choice(ACTIONS), "bash": "ask", "webfetch": "ask"}
    own = opencode_settings.read(environ, tmp_path / "home", tmp_path / "work")
    said = {"OPENCODE_PERMISSION": json.dumps(ours)}
    made = json.loads(
        opencode_settings.narrowed(said, own.permissions)["OPENCODE_PERMISSION"] if own else json.dumps(ours)
    )
    kept = laid_over(*(each["permission"] for each in files.values()))
    for tool in tools:
        for line in lines:
            its, now = action(laid_over(kept, named), tool, line), action(laid_over(kept, made), tool, line)
            limit = min(its, ours.get(tool, "allow"), key=ACTIONS.index)
            assert ACTIONS.index(now) <= ACTIONS.index(limit), (tool, line, kept, named, ours, made)
            if its == "allow" and ours.get(tool) == "ask":
                assert now != "allow"
    assert isinstance(made.get("webfetch", "ask"), str) or "webfetch" in {**kept, **named}


def test_a_file_that_is_none_has_no_content(tmp_path: Path) -> None:
    for name, raw in (("a.json", b"\xff{"), ("b.toml", b"x ="), ("c.json", b'"{}"'), ("d.json", b"{" * 20000)):
        (tmp_path / name).write_bytes(raw)
        assert content_of(tmp_path / name) == {}
    assert content_of(tmp_path) == content_of(tmp_path / "none.json") == {}
    assert json_of('{"a": "// no /* comment */,]", /* one\n*/ "b": [1, 2,], // two\n}') == {
        "a": "// no /* comment */,]",
        "b": [1, 2],
    }

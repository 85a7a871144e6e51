"""Exact command lines: minted ids, resumed ones, and nothing that a stranger could put there."""

import json
import stat
import time
import tomllib
import uuid
from pathlib import Path

import msgspec
import pytest

from gshtui.programs.hooks import hook_reports, hooks
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import HookRules, Profile
from gshtui.programs.session import launch

LOADED = profiles.load(Path("/nonexistent"))
CLAUDE, CODEX, GEMINI, OPENCODE = (LOADED.get(name) for name in ("claude", "codex", "gemini", "opencode"))
ID = "11111111-2222-4333-8444-555555555555"


async def test_a_conversations_id_is_minted_where_the_program_allows(tmp_path: Path) -> None:
    made = await launch.first_launch(CLAUDE, ["claude"], agent="0001", data=tmp_path, environ={}, folder=tmp_path)
    assert made.argv == ("claude", "--session-id", made.external_id)
    assert uuid.UUID(made.external_id).version == 4
    assert not made.hooked
    other = await launch.first_launch(OPENCODE, [], agent="0002", data=tmp_path, environ={}, folder=tmp_path)
    assert (other.argv, other.external_id) == (("opencode",), "")


async def test_a_chosen_conversation_is_left_alone(tmp_path: Path) -> None:
    made = await launch.first_launch(
        CLAUDE, ["claude", "--resume", ID], agent="0001", data=tmp_path, environ={}, folder=tmp_path
    )
    assert (made.argv, made.external_id) == (("claude", "--resume", ID), "")


async def test_a_program_goes_on_where_it_was(tmp_path: Path) -> None:
    rollout(tmp_path / "elsewhere")
    environ = {"HOME": str(tmp_path / "home")}
    words = ["/usr/bin/env", f"CODEX_HOME={tmp_path / 'elsewhere'}", "codex", "--model", "x"]
    made = await launch.next_launch(CODEX, words, ID, agent="0001", data=tmp_path, environ=environ, folder=tmp_path)
    assert made.argv == (*words[:3], "resume", ID, "--model", "x")
    assert (made.external_id, made.blank, made.how) == (ID, False, "resumed its conversation")


async def test_one_with_an_id_of_the_programs_own_starts_anew_where_nobody_has_said_anything(tmp_path: Path) -> None:
    environ, since = {"HOME": str(tmp_path)}, time.time()

    async def again(external_id: str) -> launch.Launch:
        return await launch.next_launch(
            CODEX,
            ["codex"],
            external_id,
            agent="0001",
            data=tmp_path,
            environ=environ,
            folder=tmp_path,
            cwd="/work",
            since=since,
        )

    for id in (ID, ""):
        made = await again(id)
        assert (made.argv, made.external_id, made.blank) == (("codex",), "", False)
        assert made.how == "had no conversation yet; started anew"
    rollout(tmp_path / ".codex")
    assert (await again(ID)).argv == ("codex", "resume", ID)
    unknown = await again("")
    assert unknown.blank, "there is a conversation in its folder, and nobody knows whether it is the agent's"
    assert unknown.how.startswith("started anew, since the id of its conversation is unknown")


def rollout(root: Path) -> Path:
    """Codex's transcript of a conversation in the folder /work."""
    file = root / "sessions" / "2026" / "11" / "22" / f"rollout-2026-11-22T10-44-00-{ID}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Good day"}]}
    records = [
        {"type": "session_meta", "payload": {"id": ID, "cwd": "/work", "timestamp": time.time()}},
        {"type": "response_item", "payload": said},
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return file


def said(home: Path, words: str) -> Path:
    """Claude's transcript of a conversation in some folder."""
    file = home / ".claude" / "projects" / "-some-folder" / f"{ID}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    record = {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": words}}
    file.write_text(json.dumps({"type": "mode"}) + "\n" + (json.dumps(record) + "\n" if words else ""), "utf-8")
    return file


async def test_one_that_was_never_spoken_to_begins_under_the_same_id(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home")}

    async def words() -> tuple[str, ...]:
        made = await launch.next_launch(
            CLAUDE, ["claude"], ID, agent="0001", data=tmp_path, environ=environ, folder=tmp_path
        )
        assert (made.argv[2], made.blank) == (made.external_id, False)
        return made.argv

    assert await words() == ("claude", "--session-id", ID)
    said(tmp_path / "home", "")
    option, other = (await words())[1:]
    assert option == "--session-id"
    assert uuid.UUID(other) != uuid.UUID(ID), "the id is taken, by a transcript in which nobody has said anything"
    said(tmp_path / "home", "Good day")
    assert await words() == ("claude", "--resume", ID)
    environ["CLAUDE_CONFIG_DIR"] = str(tmp_path / "elsewhere")
    assert await words() == ("claude", "--session-id", ID), "its files are where its environment says"


async def test_words_of_the_programs_own_are_nobodys(tmp_path: Path) -> None:
    """Gemini writes down, as it ends, what it tells its model of the folder; it does not go on with that."""
    file = tmp_path / ".gemini" / "tmp" / "project" / "chats" / f"session-2026-11-22T10-44-{ID[:8]}.jsonl"
    file.parent.mkdir(parents=True)
    context = {"id": "1", "type": "user", "content": [{"text": "<session_context>\nToday is Sunday."}]}
    file.write_text(json.dumps({"sessionId": ID, "kind": "main"}) + "\n" + json.dumps(context) + "\n", "utf-8")

    async def words() -> tuple[str, ...]:
        environ = {"HOME": str(tmp_path)}
        made = await launch.next_launch(
            GEMINI, ["gemini"], ID, agent="1", data=tmp_path, environ=environ, folder=tmp_path
        )
        return made.argv

    option, other = (await words())[1:]
    assert (option, other == ID) == ("--session-id", False)
    with file.open("a") as more:
        more.write(json.dumps({"id": "2", "type": "user", "content": [{"text": "Good day"}]}) + "\n")
    assert await words() == ("gemini", "--resume", ID)


async def test_what_cannot_be_looked_up_is_gone_on_with(tmp_path: Path) -> None:
    """A profile of the person's own may mint ids for a program whose transcripts are not known here."""
    own = msgspec.structs.replace(CLAUDE, name="mine", hooks=HookRules())
    environ = {"HOME": str(tmp_path)}
    made = await launch.next_launch(own, ["mine"], ID, agent="0001", data=tmp_path, environ=environ, folder=tmp_path)
    assert made.argv == ("mine", "--resume", ID)


@pytest.mark.parametrize(
    ("name", "external", "why"),
    [
        ("claude", "", "is unknown"),
        ("claude", "--dangerously-skip-permissions", "is not valid"),
        ("claude", "a; rm -rf /", "is not valid"),
        ("aider", ID, "cannot be started with an earlier conversation"),
    ],
)
async def test_where_history_was_expected_a_blank_start_says_so(
    tmp_path: Path, name: str, external: str, why: str
) -> None:
    profile = LOADED.get(name)
    made = await launch.next_launch(profile, [name], external, agent="0001", data=tmp_path, environ={}, folder=tmp_path)
    assert made.blank
    assert why in made.why
    assert external not in made.argv or not external


async def test_what_must_not_be_inherited_is_left_out(tmp_path: Path) -> None:
    made = await launch.first_launch(CLAUDE, ["claude"], agent="0001", data=tmp_path, environ={}, folder=tmp_path)
    assert made.environment({"CLAUDECODE": "1", "PATH": "/bin"}) == {"PATH": "/bin"}


def install(profile: Profile, folder: Path) -> None:
    hooks.apply_plan(hooks.plan(profile, folder=folder))


async def test_hooks_are_given_to_the_start_and_nowhere_else(tmp_path: Path) -> None:
    own, data = tmp_path / "own", tmp_path / "data"
    for profile in (CLAUDE, CODEX, GEMINI, OPENCODE):
        install(profile, own)
    claude = await launch.first_launch(CLAUDE, ["claude"], agent="0001", data=data, environ={}, folder=own)
    assert claude.argv[-2:] == ("--settings", str(own / "claude.json"))
    file = Path(claude.env[hook_reports.VARIABLE])
    assert file == data / "hooks" / "0001.jsonl"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    codex = await launch.first_launch(CODEX, ["codex"], agent="0002", data=data, environ={}, folder=own)
    overrides = [word for word, before in zip(codex.argv[1:], codex.argv, strict=False) if before == "-c"]
    parsed = tomllib.loads("\n".join(overrides))
    assert set(parsed["hooks"]) == {name.partition(".")[0] for name in CODEX.hooks.events}
    assert parsed["hooks"]["Stop"][0]["hooks"][0]["command"].endswith("report_hook.py codex")
    gemini = await launch.first_launch(GEMINI, ["gemini"], agent="0003", data=data, environ={}, folder=own)
    assert (gemini.argv[0], gemini.hooked) == ("gemini", True), "it finds its extension by itself"
    opencode = await launch.first_launch(OPENCODE, ["opencode"], agent="0004", data=data, environ={}, folder=own)
    assert (own / "opencode.js").as_uri() in opencode.env["OPENCODE_CONFIG_CONTENT"]


async def test_a_users_own_settings_are_not_displaced_by_hooks(tmp_path: Path) -> None:
    own = tmp_path / "own"
    for profile in (CLAUDE, OPENCODE):
        install(profile, own)
    mine = ["claude", "--settings", "mine.json"]
    made = await launch.first_launch(CLAUDE, mine, agent="0001", data=tmp_path, environ={}, folder=own)
    assert made.argv.count("--settings") == 1
    assert not made.hooked
    environ = {"OPENCODE_CONFIG_CONTENT": "{}"}
    other = await launch.first_launch(OPENCODE, ["opencode"], agent="0002", data=tmp_path, environ=environ, folder=own)
    assert dict(other.env) == {}


async def test_a_broken_recipe_keeps_nothing_from_starting(tmp_path: Path) -> None:
    install(CODEX, tmp_path)
    (tmp_path / "codex.json").write_text("{", "utf-8")
    made = await launch.first_launch(CODEX, ["codex"], agent="0001", data=tmp_path, environ={}, folder=tmp_path)
    assert (made.argv, made.hooked) == (("codex",), False)


async def test_a_persons_own_arguments_stay_before_those_of_the_conversation(tmp_path: Path) -> None:
    words = ["claude", "--model", "opus"]
    made = await launch.first_launch(CLAUDE, words, agent="0001", data=tmp_path, environ={}, folder=tmp_path)
    assert made.argv == (*words, "--session-id", made.external_id)
    bare = await launch.first_launch(OPENCODE, ["opencode"], agent="0002", data=tmp_path, environ={}, folder=tmp_path)
    assert bare.argv == ("opencode",)


async def test_an_argument_is_given_only_where_the_program_knows_it(tmp_path: Path) -> None:
    for name, helps in (("new", "  --no-daemon  Run alone"), ("old", "  --model")):
        folder = tmp_path / name
        folder.mkdir()
        program = folder / "codex"
        program.write_text(f"#!/bin/sh\necho '{helps}'\n", "utf-8")
        program.chmod(0o755)
        environ = {"PATH": "/usr/bin:/bin"}
        made = await launch.first_launch(
            CODEX, [str(program)], agent="1", data=tmp_path, environ=environ, folder=tmp_path
        )
        assert ("--no-daemon" in made.argv) == (name == "new")

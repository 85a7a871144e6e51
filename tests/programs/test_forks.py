"""A fork of a real program: it goes on from a copy of the conversation in a worktree of its own, and so does a restart.

The original knows nothing of it, and its files and conversation stay as they are.
"""

import json
import re
from pathlib import Path

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.fleet.core.agent_calls import ForkAgent
from tests.kit.home import Home
from tests.programs.stage import Stage
from tests.real.test_worktree import run_git
from tests.real.test_worktree_lineage import files_of, state_of


def trusted(home: Home, program: str, folder: Path) -> None:
    """Have the program trust a folder, as a person does who is asked."""
    if program == "claude":
        file = home.path / ".claude.json"
        known = json.loads(file.read_text())
        known["projects"][str(folder)] = {"hasTrustDialogAccepted": True, "projectOnboardingSeenCount": 3}
        file.write_text(json.dumps(known))
    if program == "gemini":
        file = home.path / ".gemini" / "trustedFolders.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {str(folder): "TRUST_FOLDER"}))


@pytest.mark.programs("claude", "codex", "gemini")
async def test_a_fork_goes_on_from_a_copy(stage: Stage, home: Home) -> None:
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "one")):
        run_git(stage.folder, *words)
    (stage.folder / "readme.txt").write_text("Changed.\n")
    (stage.folder / "new.txt").write_text("New.\n")
    await stage.status("idle")
    await stage.say("The word is raspberry")
    await stage.shows(r"I am here\.")
    await stage.status("idle")
    before = files_of(stage.folder), state_of(stage.folder)
    place = stage.folder.parent / "project-try"
    trusted(home, stage.program.name, place)
    made = await stage.hub.call(ForkAgent(agent=stage.id, branch="try"))
    assert made.how == "goes on from a copy of the conversation"
    fork = Stage(stage.program, stage.hub, stage.provider, place, id=made.row.id)
    assert (fork.row.worktree, fork.row.fork) == (str(place), stage.id)
    assert files_of(place) == before[0]
    assert state_of(place) == before[1]
    await fork.status("idle")
    if stage.program.name == "codex":
        assert "--remote" in fork.row.argv, fork.row.argv
        row = await fork.until(fork.look, lambda row: row.status_source == "protocol" and row.program_mode)
        assert row.mode_words == stage.row.mode_words
    await fork.say("What was the word?")
    await fork.hears("The word is raspberry", "What was the word?")  # its conversation went on
    await fork.status("idle")
    assert await fork.bound() not in ("", await stage.bound())
    await stage.say("And you?")
    await stage.hears("raspberry", "And you?")
    assert not stage.heard("What was the word?", "And you?"), "the original's went on by itself"
    await stage.status("idle")
    assert (files_of(stage.folder), state_of(stage.folder)) == before
    spoken = await fork.look()
    back = await stage.fleet.restart(fork.id)
    assert back.how == "resumed its conversation"
    await fork.started_anew(spoken)
    await fork.say("Still there?")
    await fork.hears("raspberry", "What was the word?", "Still there?")


@pytest.mark.programs("claude", "codex", "opencode", "gemini")
async def test_a_fork_that_was_never_spoken_to_is_restarted_as_one(stage: Stage, home: Home) -> None:
    await stage.status("idle")
    await stage.say("The word is raspberry")
    await stage.shows(r"I am here\.")
    await stage.status("idle")
    made = await stage.hub.call(ForkAgent(agent=stage.id, here=True))
    fork = Stage(stage.program, stage.hub, stage.provider, stage.folder, id=made.row.id)
    first = await fork.status("idle")
    await stage.fleet.restart(fork.id)
    await fork.started_anew(first)
    await fork.say("What was the word?")
    await fork.hears("The word is raspberry", "What was the word?")


@pytest.mark.programs("codex")
@pytest.mark.parametrize("words", ["-s workspace-write -a on-request", ""])
async def test_neither_its_own_words_nor_its_mode_are_lost(words: str, stage: Stage, home: Home) -> None:
    """Codex takes the wider one of its settings for a conversation that goes on by a server."""
    config = home.path / ".codex" / "config.toml"
    wide = config.read_text().replace('"read-only"', '"danger-full-access"').replace('"on-request"', '"never"')
    config.write_text(wide)
    request = SpawnRequest(name="limited", cli=(*stage.program.argv, *words.split()), mode="" if words else "auto")
    row = await stage.fleet.spawn(request, by_person=True)
    limited = Stage(stage.program, stage.hub, stage.provider, stage.folder, id=row.id)

    def sandbox(text: str) -> str:
        """That which the model was told with this text."""
        asked = next(one for one in stage.provider.chats if text in str(one.body))
        return re.findall(r"sandbox_mode` is `([\w-]+)`", str(asked.body))[-1]

    await limited.status("idle")
    await limited.say("The word is raspberry")
    await limited.hears("The word is raspberry")
    assert sandbox("The word is raspberry") == "workspace-write"
    before = await limited.until(
        limited.look, lambda row: row.external_id and row.program_mode and row.status == "idle"
    )
    made = await stage.hub.call(ForkAgent(agent=limited.id, here=True))
    fork = Stage(stage.program, stage.hub, stage.provider, stage.folder, id=made.row.id)
    await fork.status("idle")
    await fork.say("What was the word?")
    await fork.hears("The word is raspberry", "What was the word?")
    assert sandbox("What was the word?") == "workspace-write"
    await stage.fleet.restart(limited.id)
    await limited.started_anew(before)
    await limited.say("Still there?")
    await limited.hears("raspberry", "Still there?")
    assert sandbox("Still there?") == "workspace-write"


@pytest.mark.programs("aider", "opencode", "vibe")
async def test_a_program_that_cannot_says_so_before_anything_is_made(stage: Stage) -> None:
    run_git(stage.folder, "init", "-q", "-b", "main")
    run_git(stage.folder, "add", ".")
    run_git(stage.folder, "commit", "-q", "-m", "one")
    await stage.status("idle")
    await stage.say("The word is raspberry")
    await stage.shows(r"I am here\.")
    with pytest.raises(Exception, match="cannot be forked with its conversation") as told:
        await stage.hub.call(ForkAgent(agent=stage.id, branch="try"))
    assert "--anew" in getattr(told.value, "hint", "")
    assert run_git(stage.folder, "branch", "--list") == "* main"
    assert len(stage.fleet.rows()) == 1
    made = await stage.hub.call(ForkAgent(agent=stage.id, branch="try", anew=True))
    assert made.how == "started without the conversation"
    assert Path(made.row.worktree).is_dir()

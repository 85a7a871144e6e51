"""The guide to profiles: its own example, written down as it stands, makes its program an agent that is read right, and
`profiles test` tells of each screen what it reads.
"""

import re
import shlex
import sys
from pathlib import Path

import msgspec
import pytest

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.hub.command_sources import agent_screen
from gshtui.programs.check.profile_trials import ScreenTrial, TryProfile, trial_action
from gshtui.programs.profiles import profile as structures
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import GENERIC, ProfileKeys, ProgramModeRule
from tests.kit.fleet_harness import FleetHarness, wait_for_status, wait_for_text
from tests.kit.home import Home
from tests.kit.record import ROOT
from tests.kit.tmux import eventually
from tests.real.test_fleet import harness

__all__ = ["harness"]

GUIDE = (ROOT / ".github" / "guides" / "profiles.md").read_text("utf-8")
OVERLAY, EXAMPLE = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
MINNOW = (sys.executable, str(ROOT / "tests" / "kit" / "minnow.py"))


async def tried(fleet: Fleet, agent: str) -> tuple[ScreenTrial, str]:
    """What `profiles test minnow` finds, and prints."""
    action = trial_action(profiles.load, agent_screen(lambda: fleet))
    invocation = Invocation(Caller(), Path.cwd(), Path.cwd())
    found = await action.run(invocation, TryProfile(name="minnow", agent=agent))
    return found, action.render(invocation, found).text


async def test_its_example_reads_its_program_in_every_state(harness: FleetHarness, home: Home) -> None:
    folder = home.config / "gsh" / "profiles"
    async with harness.start_hub() as fleet:
        folder.mkdir(parents=True)
        (folder / "minnow.toml").write_text(EXAMPLE, "utf-8")
        assert profiles.load().problems == ()
        row = await fleet.spawn(SpawnRequest(cli=MINNOW, name="fish", profile="minnow"))

        async def sure() -> AgentRow | None:
            now = fleet.get(row.id)
            return now if now is not None and (now.status, now.status_source) == ("idle", "screen") else None

        await eventually(sure)
        found, text = await tried(fleet, row.id)
        assert (found.reading.status, found.reading.draft, found.input_row) == ("idle", "", 4)
        assert "by the rule rest" in text and "footer: esc to stop" in text
        await fleet.terminals.server(row.socket).type_bytes(row.pane, b"half a thought")
        await wait_for_text(harness, row, "half a thought")
        found, text = await tried(fleet, row.id)
        assert found.reading.draft == "half a thought" and "'half a thought'" in text
        await fleet.terminals.server(row.socket).send_keys(row.pane, "C-u")
        await fleet.send(row.id, "work")
        await wait_for_status(fleet, row.id, "thinking")
        await fleet.interrupt(row.id)
        await wait_for_status(fleet, row.id, "idle")
        await fleet.send(row.id, "ask")
        asking = await wait_for_status(fleet, row.id, "waiting")
        found, text = await tried(fleet, row.id)
        assert found.reading.doing == "Remove notes.txt?" and "1 Yes · 4 No" in text
        question = await eventually(lambda: fleet.question(row.id))
        assert asking.needs_you and [one.label for one in question.choices] == ["Yes", "No"]
        await fleet.answer(row.id, "4", question=question.id)
        await wait_for_text(harness, row, "answered 2")
        await fleet.kill(row.id, now=True)
        with pytest.raises(CommandError, match=f"fish \\({row.id}\\) has no terminal now"):
            await tried(fleet, row.id)


async def test_a_profile_that_is_written_while_its_program_runs_makes_it_known(
    harness: FleetHarness, home: Home, tmp_path: Path
) -> None:
    folder, program = home.config / "gsh" / "profiles", tmp_path / "minnow"
    program.write_text(f"#!/bin/sh\nexec {shlex.join(MINNOW)}\n", "utf-8")
    program.chmod(0o700)
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(SpawnRequest(cli=(str(program),), name="fish"))
        assert row.profile == GENERIC
        folder.mkdir(parents=True)
        (folder / "minnow.toml").write_text(EXAMPLE, "utf-8")

        async def known() -> bool:
            now = fleet.get(row.id)
            return now is not None and (now.profile, now.status, now.status_source) == ("minnow", "idle", "screen")

        await eventually(known)


def test_its_overlay_is_one(home: Home) -> None:
    folder = home.config / "gsh" / "profiles"
    folder.mkdir(parents=True)
    (folder / "claude.toml").write_text(OVERLAY, "utf-8")
    loaded = profiles.load()
    assert loaded.problems == ()
    names = [rule.name for rule in loaded.get("claude").rules]
    assert names[names.index("survey") + 1] == "dialog" and "tool" not in names


def test_its_table_has_every_key() -> None:
    known = set(re.findall(r"[a-z_.]+", GUIDE.partition("## All keys")[2].partition("\n## ")[0]))
    tables = [kind for kind in vars(structures).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    assert ProgramModeRule in tables and ProfileKeys in tables
    read = [table for table in tables if table.__struct_config__.forbid_unknown_fields]
    keys = {name for table in read for name in table.__struct_fields__}
    assert keys - known == set(), "the guide explains each key"

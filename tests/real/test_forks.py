"""Forks of agents on a real tmux server, a real record and real repositories; what fails half-way leaves nothing."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.fleet_events import AgentSpawnFailed
from gshtui.fleet.core.agent_calls import ForkAgent
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.native.spec import ToolLimit, read_spec, spec_path, write_spec
from gshtui.store.record.store import Store
from tests.kit.command import ROOT
from tests.kit.endings import closing_async
from tests.kit.fleet_harness import FleetHarness, echo_program, wait_for_text
from tests.kit.resident import resident
from tests.kit.running_hub import heard_hub
from tests.kit.tmux import private_server
from tests.real.test_worktree import project, run_git
from tests.real.test_worktree_lineage import files_of, state_of

__all__ = ["project", "resident"]


@pytest.fixture
async def harness(project: Path, tmp_path: Path) -> AsyncGenerator[FleetHarness]:
    (project / ".gitignore").write_text("data/\n")
    run_git(project, "add", ".gitignore")
    run_git(project, "commit", "-q", "-m", "ignore")
    (project / "deep").mkdir()
    (project / "deep" / "new").write_text("new")
    async with private_server() as server:
        yield FleetHarness(project, server)


PARROT = """
title = "parrot"
programs = ["parrot"]
argv = ["{program}"]
ai = false
[[rules]]
status = "idle"
all = ['^ready']
[conversation]
mint = ["--id={id}"]
resume = ["--again={id}"]
fork = ["--copy={id}", "--id={new}"]
"""


@pytest.fixture
def parrot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs = tmp_path / "configs"
    (configs / "gsh" / "profiles").mkdir(parents=True)
    program = tmp_path / "parrot"
    program.write_text("#!/bin/sh\necho ready\nexec cat\n")
    program.chmod(0o755)
    (configs / "gsh" / "profiles" / "parrot.toml").write_text(PARROT.replace("{program}", str(program)))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(configs))


async def everything(harness: FleetHarness, fleet: Any) -> tuple[Any, ...]:
    """All that a fork that fails might leave behind."""
    async with closing_async(await Store.open(harness.home / "data" / "gsh.db")) as store:
        sessions = [info.id for info in await store.sessions.find_all(empty=True)]
    return (
        [row.id for row in fleet.rows()],
        [pane.pane for pane in await harness.server.panes()],
        run_git(harness.home, "for-each-ref"),
        run_git(harness.home, "worktree", "list"),
        sorted(path.name for path in harness.home.parent.iterdir()),
        sessions,
        {name: file for name, file in files_of(harness.home).items() if not name.startswith("data/")},
        state_of(harness.home),
    )


@pytest.mark.usefixtures("parrot")
async def test_a_fork_has_the_program_the_files_and_the_conversation(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        asked = SpawnRequest(profile="parrot", name="poll", cwd=str(harness.home / "deep"), model="big")
        row = await fleet.spawn(asked, by_person=True)
        await wait_for_text(harness, row, "ready")
        made = await fleet.fork(SpawnRequest(fork=row.id, prompt="say it"))
        fork, place = made.row, harness.home.parent / "project-poll-fork"
        assert made.how == "goes on from a copy of the conversation"
        assert (fork.name, fork.fork, fork.worktree, fork.cwd) == ("poll-fork", row.id, str(place), str(place / "deep"))
        assert (fork.model, fork.parent) == ("big", "")
        assert fork.argv[-2:] == (f"--copy={row.external_id}", f"--id={fork.external_id}")
        assert fork.external_id not in ("", row.external_id)
        await wait_for_text(harness, fork, "say it")
        assert {name: file for name, file in files_of(harness.home).items() if "data" not in name} == files_of(place)
        again = await fleet.fork(SpawnRequest(fork=fork.id))
        assert (again.row.name, again.row.worktree) == ("poll-fork-fork", f"{place}-fork")
        assert run_git(Path(again.row.worktree), "config", "branch.poll-fork-fork.gshbase") == "poll-fork"
        beside = (await fleet.fork(SpawnRequest(fork=row.id, here=True, name="beside"))).row
        assert (beside.worktree, beside.cwd) == ("", row.cwd)


@pytest.mark.usefixtures("parrot")
@pytest.mark.parametrize("fault", ["worktree", "row", "start", "terminal", "cancelled"])
async def test_a_fork_that_fails_half_way_leaves_nothing(
    harness: FleetHarness, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(SpawnRequest(profile="parrot", name="poll"), by_person=True)
        await wait_for_text(harness, row, "ready")
        before = await everything(harness, fleet)
        context: Any = fleet._context  # pyright: ignore[reportPrivateUsage]
        change = context.rows.change

        async def fail(*_: Any, **fields: Any) -> Any:
            if fault in ("row", "terminal") and ("worktree" if fault == "row" else "pane") not in fields:
                return await change(*_, **fields)
            raise asyncio.CancelledError if fault == "cancelled" else FleetError("failed", "It broke.")

        where: dict[str, tuple[Any, str]] = {
            "worktree": (context.launcher, "fork_worktree"),
            "row": (context.rows, "change"),
            "start": (context.launcher, "start"),
            "terminal": (context.rows, "change"),
            "cancelled": (context.launcher, "start"),
        }
        with monkeypatch.context() as patched:
            patched.setattr(*where[fault], fail)
            with pytest.raises((FleetError, asyncio.CancelledError)):
                await fleet.fork(SpawnRequest(fork=row.id))
        assert await everything(harness, fleet) == before
        if fault != "cancelled":
            assert len(harness.published(AgentSpawnFailed)) == 1


@pytest.mark.usefixtures("parrot")
async def test_what_cannot_be_forked_is_refused_before_anything_is_made(harness: FleetHarness, tmp_path: Path) -> None:
    async with harness.start_hub() as fleet:
        echo = await fleet.spawn(SpawnRequest(cli=echo_program(), name="echo"), by_person=True)
        own = await fleet.spawn(SpawnRequest(cli=("sh", "--resume"), profile="parrot"), by_person=True)
        away = await fleet.spawn(SpawnRequest(profile="parrot", cwd=str(tmp_path)), by_person=True)
        child = await fleet.spawn(SpawnRequest(profile="parrot", parent="main"))
        before = await everything(harness, fleet)
        for wish, why, hint in (
            (SpawnRequest(fork=echo.id), "cannot start with a copy of a conversation", "--anew"),
            (SpawnRequest(fork=own.id), "its command line chooses a conversation by itself", "--anew"),
            (SpawnRequest(fork=away.id), "not a git repository", "--here"),
            (SpawnRequest(fork=child.id, worktree="main"), "already a branch main", "another name"),
            (SpawnRequest(fork=child.id, worktree="-x"), "not a valid branch name", "letters"),
            (SpawnRequest(fork=child.id, parent="other"), "was not started by you", "you started"),
            (SpawnRequest(fork="99"), "no agent", ""),
        ):
            with pytest.raises(FleetError, match=why) as told:
                await fleet.spawn(wish, by_person=not wish.parent)
            assert hint in told.value.hint
        assert await everything(harness, fleet) == before
        anew = await fleet.fork(SpawnRequest(fork=echo.id, anew=True))
        assert anew.how == "started without the conversation"
        await wait_for_text(harness, anew.row, "ready")
        assert (await fleet.spawn(SpawnRequest(fork=child.id, parent="main"))).parent == "main"


@pytest.mark.usefixtures("resident")
async def test_our_own_agent_goes_on_from_a_copy_within_the_same_limits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "one")):
        run_git(folder, *words)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    async with heard_hub(folder) as (hub, heard):
        assert hub.fleet is not None and hub.store is not None
        asked = SpawnRequest(provider="offline", prompt="The word is raspberry", name="first", tools=("read",))
        row = await hub.fleet.spawn(asked, by_person=True)
        await heard.wait_for(TurnFinished, agent=row.id)
        data = hub.store.path.parent
        spec = read_spec(spec_path(data, row.id))
        limit = ToolLimit(read_only=True)
        write_spec(
            type(spec)(
                **{**{name: getattr(spec, name) for name in spec.__struct_fields__}, "limits": (*spec.limits, limit)}
            )
        )
        made = await hub.call(ForkAgent(agent=row.id, message="And now?"))
        fork: AgentRow = made.row
        done: Event = await heard.wait_for(TurnFinished, agent=fork.id)
        assert done
        assert fork.session not in ("", row.session)
        texts = [one.message.text for one in await hub.store.messages.read(fork.session)]
        old = [one.message.text for one in await hub.store.messages.read(row.session)]
        assert texts[: len(old)] == old and texts[len(old)] == "And now?" and len(texts) > len(old) + 1
        assert "And now?" not in old
        assert set(read_spec(spec_path(data, fork.id)).limits) == {ToolLimit(("read",)), limit}
        assert Path(fork.worktree).is_dir()
        (pinned,) = [info for info in await hub.store.sessions.find_all() if info.id == fork.session]
        assert pinned.messages == len(texts)

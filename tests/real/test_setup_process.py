"""A worktree's set-up command in the sandbox: it prepares its worktree, and reaches nothing else."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.commands.declaration import Caller, Invocation
from gshtui.fleet.commands.agent_commands import commands
from gshtui.fleet.core.agent_calls import ShowAgent
from gshtui.guard.approval.gate import Gate
from gshtui.guard.rules.rule_book import parse_rules
from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.tools.git import setup_record, worktree_setup
from gshtui.tools.git.worktree_create import create_worktree
from gshtui.tools.git.worktree_setup import consent_by_gate, run_teardown
from tests.kit.fleet_harness import FleetHarness, echo_program
from tests.kit.home import Home
from tests.kit.tmux import private_server
from tests.real.test_worktree import project

__all__ = ["project"]


async def agree(_argv: tuple[str, ...], _folder: Path, refused: tuple[str, ...] = ()) -> bool:
    return not refused


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "key").write_text("canary-own\n", "utf-8")
    return Path(os.path.realpath(tmp_path / "state"))


def sandboxes(own: Path, **settings: object) -> Sandboxes:
    return Sandboxes(SandboxSettings(**settings), (own,))  # pyright: ignore[reportArgumentType]


async def test_it_writes_its_worktree_only_and_reads_no_secret(
    project: Path, home: Home, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "canary-variable")
    (home.path / ".netrc").write_text("canary-netrc\n", "utf-8")
    hook, outside = project / ".git" / "hooks" / "post-checkout", tmp_path / "outside"
    outside.mkdir()
    line = (
        f"echo built >made; echo x >{outside}/x; echo x >{project}/a.txt; echo x >{home.path}/.bashrc; mkdir -p "
        f"{hook.parent}; echo x >{hook}; echo gitdir: /tmp >.git; git config core.fsmonitor evil; "
        f"cat {home.path}/.netrc {own}/key; env; echo evil >.envrc; true"
    )
    kept = tmp_path / "kept"
    tree = await create_worktree(
        project, "x", setup=("sh", "-c", line), consent=agree, output=kept, sandboxes=sandboxes(own)
    )
    place = Path(tree.path)
    assert (place / "made").read_text() == "built\n"
    assert list(outside.iterdir()) == []
    assert (project / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert not hook.exists()
    assert not (home.path / ".bashrc").exists()
    assert "fsmonitor" not in (project / ".git" / "config").read_text()
    assert (place / ".git").read_text().startswith(f"gitdir: {project}")
    record = setup_record.find(kept, place)
    assert record is not None
    assert record.code == 0
    assert "canary" not in Path(record.output).read_text()
    assert record.sandbox.startswith("It ran in the sandbox: no network; writes only to the project")
    assert not (place / ".envrc").exists()
    (moved,) = record.refused
    assert moved.startswith(".envrc is not left in the worktree")
    assert moved in tree.notes[-1]


async def test_what_it_was_refused_is_said_with_the_setting_that_allows_it(
    project: Path, own: Path, tmp_path: Path
) -> None:
    wanted = tmp_path / "cache"
    wanted.mkdir()
    argv = ("curl", "-sSf", "http://evil.example/")
    tree = await create_worktree(
        project, "x", setup=argv, consent=agree, sandboxes=sandboxes(own, hosts=["pypi.org"], writable_paths=["."])
    )
    note = tree.notes[-1]
    assert 'no way to evil.example:80: `[sandbox] hosts = ["evil.example"]` allows it' in note
    assert "failed with exit code 22. It ran in the sandbox: network to the named hosts only" in note
    assert note.index("The sandbox: no way") < note.index("Its last output: ")
    tree = await create_worktree(
        project,
        "y",
        setup=("touch", str(wanted / "new")),
        consent=agree,
        sandboxes=sandboxes(own, writable_paths=[".", str(wanted)]),
    )
    assert "succeeded." in tree.notes[-1]
    assert (wanted / "new").exists()


async def test_what_the_sandbox_refused_runs_once_more_outside_where_a_person_allows_it(
    project: Path, own: Path, tmp_path: Path
) -> None:
    outside, asked = tmp_path / "outside", list[tuple[str, ...]]()
    outside.touch()

    async def answer(_argv: tuple[str, ...], _folder: Path, refused: tuple[str, ...] = ()) -> bool:
        asked.append(refused)
        return True

    # In the sandbox, /tmp is another one.
    argv = ("sh", "-c", f"[ -e {outside} ] || curl -sSf http://evil.example/")
    kept, own_hosts = tmp_path / "kept", sandboxes(own, hosts=["pypi.org"])
    tree = await create_worktree(project, "x", setup=argv, consent=agree, sandboxes=own_hosts)
    assert "failed with exit code 22" in tree.notes[-1], "nobody allowed it"
    tree = await create_worktree(project, "y", setup=argv, consent=answer, output=kept, sandboxes=own_hosts)
    assert asked[0] == () and len(asked) == 2 and "no way to evil.example:80" in " ".join(asked[1])
    assert "succeeded." in tree.notes[-1] and "once more, outside the sandbox" in tree.notes[-1]
    record = setup_record.find(kept, Path(tree.path))
    assert record is not None and (record.code, record.refused) == (0, ())
    failing = ("sh", "-c", "exit 4")
    await create_worktree(project, "z", setup=failing, consent=answer, sandboxes=sandboxes(own))
    assert asked[2:] == [()], "it failed by itself"


async def test_what_was_always_allowed_is_asked_about_outside_the_sandbox(project: Path, own: Path) -> None:
    bus = Bus()
    asked: list[ApprovalRequested] = []

    def answer(batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, ApprovalRequested):
                asked.append(event)
                bus.publish(ApprovalAnswered(approval=event.approval, decision="session"))

    bus.subscribe(answer, ApprovalRequested, name="answer")
    text = '[[rule]]\ntool = "worktree_setup"\nexactly = "make deps"\ndo = "allow"\n'
    book = replace(parse_rules(Path("rules.toml"), text), project=project)
    assert book.rules and not book.mistakes
    gate = Gate(bus, respondent="person", auto_approve=frozenset(), rules=lambda: book)
    consent = consent_by_gate(gate, "main", sandboxes=lambda: sandboxes(own))
    assert await consent(("make", "deps"), project) and not asked, "the rule allows it"
    for count in (1, 2):
        assert await consent(("make", "deps"), project, ("The sandbox: no way to x:443.",))
        assert len(asked) == count and "no way to x:443" in asked[-1].detail, "each time"
        assert "outside the sandbox" in " ".join(asked[-1].warnings)
    await gate.close()
    await bus.close()


async def test_where_no_sandbox_works_it_runs_as_it_was_agreed_to(project: Path, own: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    kept = tmp_path / "kept"
    off = sandboxes(own, enabled=False)
    tree = await create_worktree(project, "x", setup=("touch", str(outside)), consent=agree, output=kept, sandboxes=off)
    assert outside.exists()
    record = setup_record.find(kept, Path(tree.path))
    assert record is not None
    assert record.sandbox == "It ran outside the sandbox: the sandbox is switched off."


async def test_one_that_makes_its_own_sandbox_runs_in_that_alone(project: Path, own: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "gsh-tui"
    program.write_text('#!/bin/sh\necho "own: $*"\n', "utf-8")
    program.chmod(0o755)
    argv = (str(program), "sandbox", "--", "make")
    done = await worktree_setup.run_process(argv, project, 10, sandboxes(own))
    assert (done.code, done.printed) == (0, b"own: sandbox -- make\n")
    said = "the command makes its own, and there is none within another"
    assert done.sandbox == f"It ran outside the sandbox: {said}."
    assert (await worktree_setup.place_of(argv, project, sandboxes(own))).endswith(f"outside the sandbox: {said}.")


async def test_the_question_says_where_the_command_runs(project: Path, own: Path) -> None:
    for given, said in (
        (sandboxes(own), "It runs in the sandbox: no network; writes only to the project and /tmp"),
        (sandboxes(own, enabled=False), "It runs with all your rights, outside the sandbox: the sandbox is switched"),
    ):
        bus = Bus()
        asked: list[ApprovalRequested] = []

        def answer(batch: Sequence[Event], bus: Bus = bus, asked: list[ApprovalRequested] = asked) -> None:
            for event in batch:
                if isinstance(event, ApprovalRequested):
                    asked.append(event)
                    bus.publish(ApprovalAnswered(approval=event.approval, decision="deny"))

        bus.subscribe(answer, ApprovalRequested, name="answer")
        gate = Gate(bus, respondent="person", auto_approve=frozenset())
        consent = consent_by_gate(gate, "main", sandboxes=lambda given=given: given)
        assert not await consent(("make", "deps"), project)
        assert said in asked[0].detail.replace("\n", " "), asked[0].detail
        await gate.close()
        await bus.close()


async def test_a_tear_down_command_runs_in_the_sandbox_too(project: Path, own: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    done = await run_teardown(("touch", str(outside)), project, agree, sandboxes=sandboxes(own))
    assert not outside.exists()
    assert done.ok and done.sandbox.startswith("It ran in the sandbox: ")


async def test_one_that_takes_too_long_ends_with_all_it_started(project: Path, own: Path) -> None:
    line = "(setsid sleep 300 &) ; echo started; sleep 300"
    done = await worktree_setup.run_process(("sh", "-c", line), project, 3, sandboxes(own))
    assert (done.code, done.printed) == (None, b"started\n")


async def test_the_agents_page_says_whether_it_ran_in_the_sandbox(project: Path, own: Path) -> None:
    async with private_server() as server:
        harness = FleetHarness(project, server)
        setup = ("sh", "-c", "echo no >.mcp.json; exit 2")
        async with harness.start_hub(setup=setup, sandboxes=sandboxes(own)) as fleet:
            row = await fleet.spawn(SpawnRequest(cli=echo_program(), worktree="x"))
            show = next(one for one in commands(fleet) if one.name == "agent").words["show"]
            invocation = Invocation(Caller(), cwd=project, project=project)
            shown = await show.handler(invocation, ShowAgent(agent=row.id))
    assert "failed with exit code 2. It ran in the sandbox: no network" in shown.text
    assert ".mcp.json is not left in the worktree" in shown.text
    assert shown.data["setup"]["sandbox"].startswith("It ran in the sandbox: ")
    assert len(shown.data["setup"]["refused"]) == 1

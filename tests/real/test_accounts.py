"""Accounts and groups of agents, on real tmux: each agent gets its variables, and no secret is left anywhere."""

import shlex
import sys
import types
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.commands.execution import call
from gshtui.commands.registry import Registry
from gshtui.fleet.commands.agent_commands import commands
from gshtui.fleet.commands.spawn_command import SpawnAgent
from gshtui.fleet.core import accounts as accounts_module
from gshtui.fleet.core.accounts import Accounts
from gshtui.fleet.core.agent_calls import ForkAgent, RestartAgent
from gshtui.settings.loader import load
from tests.kit.configuration import made_project, project_file, user_file
from tests.kit.fleet_harness import FleetHarness, wait_for_text
from tests.kit.home import Home
from tests.kit.tmux import private_server

SAYS = """
import hashlib, os, sys
told = lambda name: hashlib.sha256(os.environ[name].encode()).hexdigest()[:8] if os.environ.get(name) else "none"
print("ready", os.environ.get("PLACE"), os.environ.get("TEAM"), told("FIRST_KEY"), told("SECOND_KEY"), flush=True)
for line in sys.stdin: pass
"""
"""Says what it was given, and of secrets no more than that they are the right ones."""
LINE = f"{sys.executable} -c {shlex.quote(SAYS)}"


def told(secret: str) -> str:
    """A secret as `SAYS` tells it."""
    import hashlib

    return hashlib.sha256(secret.encode()).hexdigest()[:8]


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncGenerator[FleetHarness]:
    project = made_project(tmp_path / "project")
    async with private_server() as server:
        yield FleetHarness(project, server)


def configured(home: Home, harness: FleetHarness, text: str) -> Accounts:
    user_file(home, text)
    settings = load(harness.home).settings
    return Accounts(settings.accounts, settings.groups)


def asking(harness: FleetHarness, by: str = "") -> Invocation:
    caller = Caller(by, is_agent=True) if by else Caller()
    return Invocation(caller=caller, cwd=harness.home, project=harness.home, agent="main", session="")


async def test_an_agent_gets_its_accounts_variables_and_each_start_fetches_the_secrets_anew(
    harness: FleetHarness, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.write_text("made-up-first\nand a second line\n")
    monkeypatch.setenv("FROM_HERE", "made-up-second")
    accounts = configured(
        home,
        harness,
        f"""
        [accounts.work.env]
        PLACE = "~/work"
        TEAM = "all"
        FIRST_KEY = {{ command = "cat {kept}" }}
        SECOND_KEY = {{ env = "FROM_HERE" }}
        [groups.red]
        account = "work"
        env = {{ TEAM = "red", PLACE = "/nowhere" }}
        """,
    )
    async with harness.start_hub(accounts=accounts) as fleet:
        known, around = Registry(commands(fleet)), asking(harness)
        row = await call(known, SpawnAgent(cli=LINE, account="work", name="a"), around)
        first, second, third = map(told, ("made-up-first", "made-up-second", "made-up-third"))
        await wait_for_text(harness, row, f"ready {home.path}/work all {first} {second}")
        kept.write_text("made-up-third")
        await call(known, RestartAgent(agent="a"), around)
        await wait_for_text(harness, await fleet.find("a"), f"ready {home.path}/work all {third} {second}")
        fork = (await call(known, ForkAgent(agent="a", here=True, anew=True), around)).row
        await wait_for_text(harness, fork, f"ready {home.path}/work all {third} {second}")
        assert (fork.account, fork.group) == ("work", "")
        row = await call(known, SpawnAgent(cli=LINE, group="red", env=("TEAM=mine",), name="b"), around)
        await wait_for_text(harness, row, f"ready {home.path}/work mine {third} {second}")
        assert (row.account, row.group) == ("work", "red")
        row = await call(known, SpawnAgent(cli=LINE, name="c"), around)
        await wait_for_text(harness, row, "ready None None none none")
        assert "made-up" not in repr(fleet.rows()), "in no row"
        for shown in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = shown.read_bytes()
            except OSError:
                continue
            assert b"made-up-" not in words, f"in no command line: {words!r}"
    assert "made-up" not in repr(harness.events), "in no event"
    for file in home.path.rglob("*"):
        if file.is_file() and file.name != "config.toml":
            assert b"made-up-" not in file.read_bytes(), file
    for file in (harness.home / "data").rglob("*"):
        assert not file.is_file() or b"made-up-" not in file.read_bytes(), file


REFUSED = {
    "there is none": ("", r"There is no account 'work'"),
    "no variables": ("[accounts.work]", "sets no variables"),
    "unset": ('[accounts.work.env]\nA_KEY = { env = "NOT_SET_HERE" }', "the variable NOT_SET_HERE is not set"),
    "fails": (
        "[accounts.work.env]\nA_KEY = { command = \"sh -c 'echo secret; exit 3'\" }",
        "sh failed with exit",
    ),
    "nothing": ('[accounts.work.env]\nA_KEY = { command = "true" }', "true printed nothing"),
    "no program": ('[accounts.work.env]\nA_KEY = { command = ["/no/such"] }', "/no/such cannot be started"),
    "no line": ('[accounts.work.env]\nA_KEY = { command = "a \'b" }', "not a valid command line"),
    "hangs": ('[accounts.work.env]\nA_KEY = { command = "sleep 60" }', "did not finish within 0.3 s"),
    "binary": ('[accounts.work.env]\nA_KEY = { command = "printf \\"\\\\\\\\377\\"" }', "did not print text"),
    "keyring": ('[accounts.work.env]\nA_KEY = { keyring = "gsh/none" }', "the keyring has no gsh/none"),
    "plain": ('[accounts.work.env]\nA_KEY = "sk-0123456789abcdef0123"', "sets no variables"),
    "a password": ('[accounts.work.env]\nA_TOKEN = "correct horse"', "A_TOKEN looks like a secret"),
    "two places": ('[accounts.work.env]\nA_KEY = { env = "A", keyring = "b" }', "sets no variables"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_an_agent_is_not_started_without_its_accounts_variables(
    harness: FleetHarness, home: Home, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    text, why = REFUSED[case]
    monkeypatch.setattr(accounts_module, "FETCHED_WITHIN", 0.3 if case == "hangs" else 20.0)
    ring = types.ModuleType("keyring")
    ring.get_password = lambda service, user: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", ring)
    async with harness.start_hub(accounts=configured(home, harness, text)) as fleet:
        with pytest.raises(CommandError, match=why) as said:
            await call(Registry(commands(fleet)), SpawnAgent(cli=LINE, account="work"), asking(harness))
        assert "echo secret" not in f"{said.value} {said.value.hint}"
        assert "horse" not in f"{said.value} {said.value.hint}"
        assert "0123" not in f"{said.value} {said.value.hint}"
        assert fleet.rows() == []


async def test_the_systems_keyring_is_asked_for_an_entry(
    harness: FleetHarness, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = types.ModuleType("keyring")
    ring.get_password = lambda service, user: f"made-up {service} {user}"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", ring)
    text = '[accounts.work.env]\nFIRST_KEY = { keyring = "gsh/me" }'
    async with harness.start_hub(accounts=configured(home, harness, text)) as fleet:
        row = await call(Registry(commands(fleet)), SpawnAgent(cli=LINE, account="work"), asking(harness))
        await wait_for_text(harness, row, f"ready None None {told('made-up gsh me')} none")


async def test_only_a_person_starts_agents_under_an_account(harness: FleetHarness, home: Home) -> None:
    text = '[accounts.work.env]\nPLACE = "x"\n[groups.red]\naccount = "work"'
    async with harness.start_hub(accounts=configured(home, harness, text)) as fleet:
        for wanted in (SpawnAgent(cli=LINE, account="work"), SpawnAgent(cli=LINE, group="red")):
            with pytest.raises(CommandError, match="Only a person"):
                await call(Registry(commands(fleet)), wanted, asking(harness, by="0001"))
        with pytest.raises(CommandError, match="There is no group 'blue'"):
            await call(Registry(commands(fleet)), SpawnAgent(cli=LINE, group="blue"), asking(harness))
        assert fleet.rows() == []


def test_a_project_sets_no_account_and_no_secret_of_one_is_repeated(home: Home, tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    project_file(project, '[accounts.work.env]\nA = { command = "rm -rf x" }\n[groups.red]\naccount = "work"\n')
    user_file(home, '[accounts.mine.env]\nA_KEY = "sk-0123456789abcdef0123"\n[accounts.good.env]\nB = "c"\n')
    loaded = load(project)
    assert set(loaded.settings.accounts) == {"mine", "good"}
    assert loaded.settings.accounts["good"].env == {"B": "c"}
    assert loaded.settings.accounts["mine"].env == {}, "an account with a mistake has none of its variables"
    assert loaded.settings.groups == {}
    said = "\n".join(map(str, loaded.problems))
    assert "a project cannot set `accounts.work.env`" in said
    assert "`accounts.mine.env`" in said
    assert "0123" not in said

"""The keeper as a process of its own on a real tmux: it starts by itself, and does its work without a window."""

import asyncio
import json
import os
import plistlib
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from pydantic import BaseModel

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.letter import Letter
from gshtui.client.window_link import WindowLink
from gshtui.client.window_protocol import OpenRequest
from gshtui.fleet.keeper import keeper_unit
from gshtui.fleet.keeper.keeper import KeeperState, keeper_environment, running_keeper, stop_keeper
from gshtui.fleet.mail.outbox import Address, Addresses, MailOutbox
from gshtui.headless.servers.keeper_process import after_change
from gshtui.settings.loader import Loaded, load
from gshtui.settings.paths import config_file, data_dir
from gshtui.store.record.store import Store
from gshtui.system.caller_environment import MARK
from gshtui.system.ids import new_id
from gshtui.system.processes import process_tree
from gshtui.ui.window.app import Workbench
from tests.kit.command import ROOT, command, environment
from tests.kit.configuration import made_project
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Say
from tests.kit.loopback.server import Asked
from tests.kit.record import latest_session, texts_of
from tests.kit.running_hub import running_hub
from tests.kit.shells import Shell
from tests.kit.tmux import end_server, eventually, short_folder
from tests.kit.warm_program import run_gsh, start_gsh

pytestmark = pytest.mark.tmux

SCREENS = ROOT / "tests" / "fixtures" / "screens" / "claude" / "2.1.197"
CLAUDE = shlex.join([sys.executable, "-m", "tests.kit.fake_agent", "--screens", str(SCREENS), "--work", "0.3"])

KEEPER = """
import json, sys
from gshtui.cli.entry import main
code = main(["hub", "run"])
print(json.dumps([name for name, module in sys.modules.items() if module is not None]))
sys.exit(code)
"""
NOT_IN_KEEPER = {
    "anthropic",
    "asyncssh",
    "google",
    "httpx",
    "httpx2",
    "jinja2",
    "keyring",
    "mcp",
    "openai",
    "rich",
    "textual",
    "tree_sitter",
    "watchfiles",
    "yaml",
    "difflib",
    "plistlib",
    "xml",
    "gshtui.guard.policy.shell_policy",
    "gshtui.hub.parts.agents_part",
    "gshtui.ui",
}


class Place:
    """A person's project, whose record and keeper the test looks at."""

    def __init__(self, project: Path, store: Store) -> None:
        self.project = project
        self.store = store

    def run(self, *words: str) -> str:
        """What a command printed; it must succeed."""
        ran = run_gsh(*words, cwd=self.project)
        assert ran.code == 0, ran.err
        return ran.out

    async def keeper(
        self, until: Callable[[KeeperState | None], object] = lambda state: state is not None and state.ready
    ) -> KeeperState:
        """The keeper, once it is so; before it is ready, what stands there is of whoever starts it."""

        async def look() -> KeeperState | None:
            return await asyncio.to_thread(running_keeper, data_dir())

        found = await eventually(look, until=until)
        assert found is not None
        return found

    async def row(self, until: Callable[[AgentRow], object], id: str = "0001") -> AgentRow:
        """An agent's row in the record, once it is so."""

        async def look() -> AgentRow:
            return await self.store.agents.find(id)

        return await eventually(look, until=until)

    async def post(self, text: str, to: AgentRow) -> Letter:
        """A message as another agent's process leaves it in the record: queued."""
        outbox = MailOutbox(Bus(), self.store, Addresses(self.store, lambda _: ""))
        letter = await outbox.post("main", Address(to.id, to.name, row=to), text, kind="say", defer=True)
        outbox.close()
        return letter

    async def letter(self, id: str, until: Callable[[Letter], object]) -> Letter:
        """A message, once it is so."""

        async def look() -> Letter:
            return await self.store.mail.find(id)

        return await eventually(look, until=until)


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    with short_folder() as folder:
        monkeypatch.setenv("TMUX_TMPDIR", str(folder))
        store = await Store.open(data_dir() / "gsh.db")
        try:
            yield Place(made_project(tmp_path / "project"), store)
        finally:
            await stop_keeper(data_dir())
            await store.close()
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


async def test_the_first_agent_brings_a_keeper_which_delivers_and_tells_the_truth(place: Place) -> None:
    assert "No hub runs" in place.run("hub", "status")
    place.run("agent", "spawn", "--cli", CLAUDE, "--profile", "claude", "--name", "cc")
    keeper = await place.keeper()
    row = await place.row(lambda row: row.owner == keeper.process.pid and row.status == "idle")
    letter = await place.post("what is the time?", row)
    await place.letter(letter.id, lambda letter: letter.state in ("submitted", "acted"))
    assert (await place.row(lambda row: "time" in row.report or row.unread)).status_source != "spawn"
    shown = json.loads(place.run("hub", "status", "--json"))
    assert (shown["running"], shown["pid"], shown["keep"]) == (True, keeper.process.pid, "auto")
    assert [one["name"] for one in json.loads(place.run("agent", "ls", "--json"))] == ["cc"], "the keeper is no agent"


async def test_it_loads_only_what_it_works_with(place: Place) -> None:
    """Half of its memory is code; what it does for agents, shells and commands needs none of this."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KEEPER), cwd=place.project, env=environment(), stdout=asyncio.subprocess.PIPE
    )
    try:
        keeper = await place.keeper()
        assert keeper.process.pid == process.pid
        place.run("agent", "spawn", "--cli", CLAUDE, "--profile", "claude", "--name", "cc")
        row = await place.row(lambda row: row.owner == process.pid and row.status == "idle")
        shell = await asyncio.to_thread(lambda: Shell(program="bash", editor=False))
        try:
            assert await asyncio.to_thread(shell.run, "no-such-command-here") == 127
        finally:
            await asyncio.to_thread(shell.close)
        letter = await place.post("what is the time?", row)
        await place.letter(letter.id, lambda letter: letter.state in ("submitted", "acted"))
        for words in (("agent", "ls"), ("agent", "show", "cc")):
            place.run(*words)
    finally:
        await asyncio.to_thread(place.run, "hub", "stop")
        said, _ = await process.communicate()
    loaded = set(json.loads(said))
    assert {"gshtui.fleet.lifecycle.follower", "gshtui.shell.log.shell_log", "regex"} <= loaded, "it has done something"
    assert loaded & NOT_IN_KEEPER == set()


async def test_the_first_question_at_the_prompt_brings_one_too(place: Place) -> None:
    place.run("gsh", "what", "is", "here")
    keeper = await place.keeper()
    assert str(keeper.process.pid) in place.run("hub", "status")


async def test_a_killed_keeper_is_back_with_the_next_call_and_nothing_is_lost(place: Place) -> None:
    place.run("agent", "spawn", "--cli", CLAUDE, "--profile", "claude", "--name", "cc")
    first = await place.keeper()
    row = await place.row(lambda row: row.owner == first.process.pid and row.status == "idle")
    os.kill(first.process.pid, signal.SIGKILL)
    await place.row(lambda row: row.owner == 0)
    letter = await place.post("still there?", row)
    place.run("agent", "ls")
    second = await place.keeper(lambda state: state is not None and state.process != first.process)
    await place.letter(letter.id, lambda letter: letter.state in ("submitted", "acted"))
    assert (await place.row(lambda row: row.owner)).owner == second.process.pid


async def test_it_outlives_its_tmux_server_and_looks_after_the_next_agent(place: Place) -> None:
    place.run("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "a")
    keeper = await place.keeper()
    await place.row(lambda row: row.owner == keeper.process.pid)
    await asyncio.to_thread(end_server, Path(os.environ["TMUX_TMPDIR"]) / f"tmux-{os.getuid()}" / "gsh")
    await place.row(lambda row: row.status in ("failed", "lost"))
    place.run("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "b")
    await place.row(lambda row: row.owner == keeper.process.pid, id="0002")
    assert (await place.keeper()).process == keeper.process


async def test_a_window_takes_its_folders_agents_over_and_gives_them_back(place: Place) -> None:
    place.run("agent", "spawn", "--cli", CLAUDE, "--profile", "claude", "--name", "cc")
    elsewhere = made_project(place.project.parent / "elsewhere")
    run_gsh("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "far", cwd=elsewhere)
    keeper = await place.keeper()
    for id in ("0001", "0002"):
        await place.row(lambda row: row.owner == keeper.process.pid, id=id)
    async with running_hub(place.project, visiting=True) as brief:
        assert brief.fleet is not None
        await brief.fleet.refresh()
        assert brief.fleet.get("0001") == await place.store.agents.find("0001"), "a question at the prompt looks only"
        assert (await place.store.agents.find("0001")).owner == keeper.process.pid
    async with running_hub(place.project) as window:
        assert window.failed == {}
        row = await place.row(lambda row: row.owner == os.getpid())
        assert (await place.store.agents.find("0002")).owner == keeper.process.pid, "that one is of another folder"
        letter = await place.post("to the window's agent", row)
        await place.letter(letter.id, lambda letter: letter.state in ("submitted", "acted"))
    await place.row(lambda row: row.owner == keeper.process.pid)
    assert (await place.keeper()).process == keeper.process


async def test_of_many_that_start_at_once_one_stays(place: Place) -> None:
    starts = [
        await asyncio.create_subprocess_exec(
            *command(("hub", "start", "--json")), stdout=asyncio.subprocess.PIPE, env=environment(), cwd=place.project
        )
        for _ in range(4)
    ]
    told = [json.loads((await process.communicate())[0]) for process in starts]
    keeper = await place.keeper()
    assert {one["pid"] for one in told} == {keeper.process.pid}
    assert place.run("hub", "run") == "", "one that comes later leaves at once"
    assert (await place.keeper()).process == keeper.process


async def test_it_ends_when_there_is_nothing_left_to_do(place: Place) -> None:
    with start_gsh("hub", "run", "--idle", "0.4", cwd=place.project) as process:
        assert await asyncio.to_thread(process.wait, 20) == 0
    assert running_keeper(data_dir()) is None
    place.run("hub", "start")
    assert place.run("hub", "stop") == "The hub was stopped.\n"
    place.run("agent", "spawn", "--cli", "sh -c 'until test -e end; do sleep 0.05; done'", "--name", "a")
    assert (
        place.run("hub", "stop")
        == "The hub was stopped. Programs in terminals keep running; our own agents wait for the next one.\n"
    )
    with start_gsh("hub", "run", "--idle", "0.4", cwd=place.project) as process:
        keeper = await place.keeper()
        assert keeper.process.pid == process.pid
        await place.row(lambda row: row.owner == process.pid)
        (place.project / "end").touch()
        assert await asyncio.to_thread(process.wait, 20) == 0
    assert (await place.store.agents.find("0001")).status == "done"


async def test_it_starts_anew_with_changed_settings_and_ends_when_none_is_wanted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GSH_HUB__KEEP")  # it would go before the file
    file = config_file()
    assert not file.parent.exists(), "the first settings of all are learned as well"
    with start_gsh("hub", "run", cwd=place.project) as process:
        first = await place.keeper()
        file.parent.mkdir(parents=True)
        file.write_text("[budget]\nagent_tokens = 5\n")
        second = await place.keeper(lambda state: state is not None and state.since > first.since)
        assert second.process == first.process
        file.write_text('[hub]\nkeep = "alone"\n')
        assert await asyncio.to_thread(process.wait, 60) == 0
    with start_gsh("hub", "run", "--idle", "0.4", cwd=place.project) as process:
        await place.keeper()  # whoever starts it all the same is meant
        assert await asyncio.to_thread(process.wait, 60) == 0


def changed(loaded: Loaded, table: str, **fields: object) -> Loaded:
    """The same with some fields of one table changed."""
    value = getattr(loaded.settings, table).model_copy(update=fields)
    return replace(loaded, settings=loaded.settings.model_copy(update={table: value}))


def test_every_setting_counts_for_one_that_runs(tmp_path: Path) -> None:
    before = changed(load(tmp_path), "hub", keep="auto")
    tables = {name: getattr(before.settings, name) for name in type(before.settings).model_fields}
    for name, table in tables.items():
        if not isinstance(table, BaseModel):
            settings = before.settings.model_copy(update={name: {"other": "other"}})
            assert after_change(before, replace(before, settings=settings)) == "anew", name
            continue
        for field in type(table).model_fields:
            wanted = "go on" if (name, field) == ("general", "session_dir") else "anew"
            assert after_change(before, changed(before, name, **{field: "other"})) == wanted, f"{name}.{field}"
    alone = changed(before, "hub", keep="alone")
    assert after_change(before, alone) == "stop"
    assert after_change(alone, alone) == "go on", "whoever started it all the same is meant"


def test_a_file_that_is_being_edited_changes_nothing(tmp_path: Path) -> None:
    before = load(tmp_path)
    config_file().parent.mkdir(parents=True, exist_ok=True)
    config_file().write_text("[tmux]\nsocket_name = 'oth")
    assert after_change(before, before.again()) == "go on"


async def test_an_older_program_makes_way(place: Place) -> None:
    place.run("hub", "start")
    first = await place.keeper()
    for older in ({"version": "0.0.1"}, {"installed": 1}):
        state = msgspec.structs.replace(first, **older)
        (data_dir() / "keeper.json").write_bytes(msgspec.json.encode(state))
        place.run("hub", "start")
        second = await place.keeper(lambda state, first=first: state is not None and state.process != first.process)
        assert (second.version, second.installed) == (first.version, first.installed)
        first = second


async def test_a_newer_one_takes_over_at_the_end_of_a_turn_and_starts_and_loses_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was sent meanwhile waits for the turn, and is answered once and in its order by whoever delivers it then."""

    def choose(asked: Asked) -> Answer:
        last = str(asked.body["messages"][-1])
        works = "NOW" in last and "tool_result" not in last
        return [Call("bash", {"command": "until test -e go; do sleep 0.1; done"})] if works else [Say("well")]

    async with loopback("anthropic", choose=choose) as server:

        async def chats(number: int) -> None:
            while len(server.chats) < number:
                server.asked.clear()
                await server.asked.wait()

        async def run(*words: str) -> str:
            return await asyncio.to_thread(place.run, *words)

        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        await run("agent", "spawn", "--name", "worker", "--provider", "anthropic", "--mode", "yolo")
        row = await place.row(lambda row: row.status == "idle")
        await run("agent", "send", "worker", "NOW")
        await chats(1)
        for text in ("Q1", "Q2"):
            await place.store.mail.add(Letter(id=new_id(), recipient=row.id, text=text, kind="send"))
        first = await place.keeper()
        older = msgspec.structs.replace(first, version="0.0.1")
        (data_dir() / "keeper.json").write_bytes(msgspec.json.encode(older))
        await run("hub", "start")
        assert len(server.chats) == 1
        (place.project / "go").touch()
        await chats(4)
        await place.keeper(lambda state: state is not None and state.process != first.process)
        await place.row(lambda row: row.status == "idle")
        assert texts_of(latest_session()) == ["NOW", "Q1", "Q2"]
        assert len(server.chats) == 4
        await run("agent", "kill", "worker", "--yes")


@pytest.mark.parametrize("program", ["zsh", "bash"])
async def test_what_is_typed_while_only_the_keeper_runs_is_in_the_record(place: Place, program: str) -> None:
    place.run("hub", "start")
    await place.keeper()
    shell = await asyncio.to_thread(lambda: Shell(program=program, editor=program == "zsh"))
    try:
        assert await asyncio.to_thread(shell.run, "no-such-command-here") == 127

        async def logged() -> str:
            return place.run("shell", "log", "--json")

        assert "no-such-command-here" in await eventually(logged, until=lambda out: "no-such-command-here" in out)
    finally:
        await asyncio.to_thread(shell.close)


async def test_alone_means_that_none_stays(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "alone")
    place.run("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "a")
    place.run("agent", "ls")
    assert "`hub.keep` is alone" in place.run("hub", "status")
    assert running_keeper(data_dir()) is None


async def test_never_ends_it_with_the_last_face_whatever_goes_on(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "never")
    place.run("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "a")
    keeper = await place.keeper()
    await place.row(lambda row: row.owner == keeper.process.pid)
    app = Workbench(OpenRequest(place.project))
    async with app.run_test():
        assert isinstance(await app.bridge.running(), WindowLink)
        place.run("gsh", "what", "is", "here")
        assert (await place.keeper()).process == keeper.process, "a window and two commands share one"
    await eventually(lambda: asyncio.to_thread(running_keeper, data_dir()), until=lambda state: state is None)
    assert process_tree.runs((row := await place.store.agents.find("0001")).pid, row.pid_started)


def test_it_gets_no_keys_and_nothing_of_a_terminal_or_a_call() -> None:
    its_own = {"HOME": "/h", "LANG": "C", "TMUX_TMPDIR": "/t", "GSH_HUB__KEEP": "auto"}
    others = {"ANTHROPIC_API_KEY": "sk-1", "GSH_TOKEN": "t", "TMUX": "/s,1,0", "TERM": "x", "GSH_AGENT": "0001"}
    others |= {MARK: "1m8hfnamk216ks", "GSH_SHELL_ID": "7"}
    assert keeper_environment(its_own | others) == its_own


def test_what_is_wrong_with_its_folder_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    ran = run_gsh("hub", "start", env={"GSH_GENERAL__SESSION_DIR": str(file)})
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert str(file) in ran.err
    itself = run_gsh("hub", "run", env={"GSH_GENERAL__SESSION_DIR": str(file)})
    assert (itself.code, itself.err.count("gsh-tui:")) == (1, 1)
    assert str(file) in itself.err


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_unit_for_the_system(platform: str) -> None:
    words = ["/a b/python", "-m", "gshtui", "hub", "run"]
    unit = keeper_unit.planned(words, platform)
    if platform == "darwin":
        assert plistlib.loads(unit.content)["ProgramArguments"] == [*words, "--idle", "0"]
    else:
        assert b'ExecStart="/a b/python" -m gshtui hub run --idle 0\n' in unit.content
    assert all(str(unit.file.stem) in "".join(lines) for lines in (unit.after_writing, unit.after_removing))
    assert not unit.installed
    keeper_unit.write(unit)
    assert unit.file.read_bytes() == unit.content
    assert keeper_unit.planned(words, platform).installed
    assert not keeper_unit.planned(["other"], platform).installed
    link = unit.file.parent / "default.target.wants" / unit.file.name  # made by `systemctl enable`
    link.parent.mkdir()
    link.symlink_to(unit.file)
    for _ in range(2):
        keeper_unit.remove(unit)
        assert not unit.file.exists()
        assert not link.is_symlink()


def test_install_shows_the_unit_writes_it_after_a_yes_and_says_what_to_run_next() -> None:
    refused = run_gsh("hub", "install")
    assert (refused.code, "--yes" in refused.err) == (4, True)
    ran = run_gsh("hub", "install", "--yes", "--json")
    assert ran.code == 0
    assert ran.json["changed"]
    assert Path(ran.json["file"]).exists()
    assert ran.json["commands"]
    again = run_gsh("hub", "install", "--json")  # nothing to ask
    assert (again.code, again.json["changed"]) == (0, False)
    assert run_gsh("hub", "install", "--remove").code == 4
    assert run_gsh("hub", "install", "--remove", "--yes", "--json").json["removed"] is True
    assert not Path(ran.json["file"]).exists()
    assert run_gsh("hub", "install", "--remove", "--json").json["changed"] is False

"""Beside a hub that does not answer, or declines, every word ends with one sentence and writes nothing; when it goes
on, it does nothing for those who have left.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import signal
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from gshtui.cli.by_hand import MODULES
from gshtui.cli.declared_forms import COMMANDS, CommandForm
from gshtui.client.hub_greeting import greeted, surroundings
from gshtui.fleet.keeper.keeper import running_keeper, stop_keeper
from gshtui.hub.faces.turn_request import TurnRequest
from gshtui.settings.paths import KEEPER_STATE, data_dir
from tests.kit.command import CommandResult
from tests.kit.pty_child import WarmPtyChild
from tests.kit.tmux import eventually, named_servers
from tests.kit.warm_program import run_gsh

__all__ = ["named_servers"]

pytestmark = [pytest.mark.tmux, pytest.mark.usefixtures("named_servers"), pytest.mark.timeout(120)]
GIVEN = {"agent": "0001", "session": "latest", "choice": "history", "file": "README.md"}
BY_HAND = {
    "prompt": ("hello",),
    "gsh": ("hello",),
    "run": ("usage",),
    "workflow run": ("create-git-commit",),
    "workflow resume": ("moss",),
    "mcp serve": (),
    "acp": (),
}
"""Those that need the record, with what is typed behind them."""
NEED_NONE = {
    *("shell", "completion", "doctor", "sandbox", "help", "version", "login", "logout", "update", "uninstall"),
    *("agent run", "config edit", "report", "replay", "serve", "hub run"),
}
"""Those that do without it, look only, or are asked for below."""
MORE = (
    ("gsh", "--background", "hello"),
    ("run", "--yes", "usage"),
    ("run", "--as", "main", "usage"),
    ("run", "--timeout", "5", "usage"),
    ("agent", "wait", "0001", "--timeout", "3"),
    ("agent", "send", "0001", "moss", "--wait"),
    ("agent", "ls", "--json"),
    ("shell", "log"),
    ("shell", "export"),
    ("shell", "import", "jsonl", "moss.jsonl"),
    ("mcp", "serve", "--http"),
    ("hub", "start"),
)
WAY_OUT = "`gsh-tui hub stop` ends it, and the next call starts another.\n"


def typed(form: CommandForm) -> tuple[str, ...]:
    """The word with all that it must be given."""
    words = form.name.split()
    for value in form.values:
        if value.required:
            words.append(value.choices[0] if value.choices else GIVEN.get(value.kind, "moss"))
        elif value.file:
            words.append("moss")
    return tuple(words)


def all_words() -> list[tuple[str, ...]]:
    declared = [typed(form) for form in COMMANDS if form.brings_keeper]
    return [*declared, *((*name.split(), *rest) for name, rest in BY_HAND.items()), *MORE]


@contextlib.contextmanager
def stopped(pid: int) -> Generator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def record() -> str:
    """What is in it."""
    return hashlib.sha256(b"".join((data_dir() / name).read_bytes() for name in ("gsh.db", "gsh.db-wal"))).hexdigest()


async def started() -> int:
    """The hub, with a conversation; gives its process."""
    ran = await asyncio.to_thread(run_gsh, "prompt", "--provider", "offline", "--yes", "run echo moss")
    holder = running_keeper(data_dir())
    assert ran.code == 0 and holder is not None, ran.err
    return holder.process.pid


def test_each_word_that_is_written_by_hand_is_tried_or_needs_no_hub() -> None:
    assert {*BY_HAND, *NEED_NONE} == {*MODULES}


async def test_each_word_ends_with_one_sentence_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    (tmp_path / "README.md").write_text("moss\n")
    (tmp_path / "moss.jsonl").write_text('{"command": "ls"}\n')
    pid = await started()
    monkeypatch.chdir(tmp_path)

    def tried(words: tuple[str, ...]) -> tuple[str, int, str, str]:
        ran = run_gsh(*words, cwd=tmp_path, stdin=b"")
        return " ".join(words), ran.code, ran.out, ran.err

    words = all_words()
    with stopped(pid), ThreadPoolExecutor(len(words)) as at_once:
        before = record()
        ends = await asyncio.to_thread(lambda: list(at_once.map(tried, words)))
        assert record() == before
    wrong = [end for end in ends if end[1:3] != (1, "") or end[3].count("\n") != 1 or not end[3].endswith(WAY_OUT)]
    assert not wrong
    rows = json.loads((await asyncio.to_thread(run_gsh, "agent", "ls", "--json")).out)
    assert rows == []
    await stop_keeper(data_dir())


async def test_one_that_declines_is_told_of_and_nothing_goes_on_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    (tmp_path / "moss.jsonl").write_text('{"command": "ls"}\n')
    await started()
    monkeypatch.setenv("GSH_TMUX__SOCKET_NAME", "another")
    words = [("session", "ls"), ("workflow", "run", "create-git-commit"), *(one for one in MORE if one[0] != "hub")]
    with ThreadPoolExecutor(len(words)) as at_once:
        ends = await asyncio.to_thread(lambda: list(at_once.map(lambda one: run_gsh(*one, cwd=tmp_path), words)))
    monkeypatch.setenv("GSH_AGENT", "0001")
    by_agent = await asyncio.to_thread(run_gsh, "session", "ls", cwd=tmp_path)
    assert by_agent.err.endswith("are not the hub's. Ask the person to run `gsh-tui hub stop`.\n"), by_agent.err
    for name in ("GSH_AGENT", "GSH_TMUX__SOCKET_NAME"):
        monkeypatch.delenv(name)
    for listed, count in ((("agent", "ls"), 0), (("session", "ls", "--all"), 1)):
        assert len((await asyncio.to_thread(run_gsh, *listed, "--json")).json) == count
    assert {(end.code, end.out, end.err.endswith(WAY_OUT), end.err.count("\n")) for end in ends} == {(1, "", True, 1)}
    await stop_keeper(data_dir())


async def test_an_older_one_that_rests_makes_way_for_who_starts_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    await started()
    state = running_keeper(data_dir())
    assert state is not None
    older = msgspec.structs.replace(state, version="0.0.1")
    (data_dir() / KEEPER_STATE).write_bytes(msgspec.json.encode(older))
    ran = await asyncio.to_thread(run_gsh, "shell", "log", cwd=tmp_path)
    assert (ran.code, ran.err, "echo moss" in ran.out) == (0, "", True)
    await stop_keeper(data_dir())


async def test_what_needs_no_record_says_that_the_hub_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    pid = await started()

    async def ran(*words: str) -> CommandResult:
        return await asyncio.to_thread(run_gsh, *words, cwd=tmp_path)

    with stopped(pid):
        shown, told, looked, kept = await asyncio.gather(
            ran("hub", "status"), ran("hub", "status", "--json"), ran("doctor"), ran("gsh", "run", "--", "echo", "hi")
        )
    assert (shown.code, shown.err, shown.out.endswith(WAY_OUT)) == (1, "", True)
    assert f"(pid {pid}) has been running since" in shown.out and "and does not answer." in shown.out
    assert (told.json["running"], told.json["answers"]) == (True, False)
    assert looked.code == 1 and "and does not answer." in looked.out
    assert (kept.code, kept.out) == (0, "hi\n")
    assert kept.err.startswith("gsh-tui: this run was not recorded: ") and kept.err.endswith(WAY_OUT)
    assert (await ran("hub", "status")).code == 0
    await stop_keeper(data_dir())


async def test_the_face_for_screen_readers_says_it_and_goes_on_once_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    pid = await started()
    with contextlib.closing(WarmPtyChild(["--screen-reader", "--provider", "offline"], tmp_path)) as child:

        def said(words: bytes, typed: bytes = b"") -> None:
            before = len(child.output)
            child.write(typed)
            child.read_until(lambda: words in child.output[before:])

        child.go()
        with stopped(pid):
            await asyncio.to_thread(said, b"does not answer")
            await asyncio.to_thread(said, b"does not answer", b"run echo fern\n")
        await asyncio.to_thread(said, b"fern\r\n", b"run echo fern\n")
        child.write(b"/quit\n")
        assert child.wait() == 0
    await stop_keeper(data_dir())


async def test_the_hub_of_another_record_may_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They share the folder of sockets."""
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    with stopped(await started()):
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        ran = await asyncio.to_thread(run_gsh, "session", "ls", cwd=tmp_path)
        assert (ran.code, ran.err) == (0, "")
        await stop_keeper(data_dir())
    monkeypatch.delenv("XDG_DATA_HOME")
    await stop_keeper(data_dir())


async def test_one_that_goes_on_takes_no_turn_of_a_face_that_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after its greeting: the face was told that it does not answer."""
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    pid = await started()
    request = TurnRequest(text="run echo fern", provider="offline", respondent="policy")
    opening = {"turn": msgspec.to_builtins(request), **surroundings(str(tmp_path))}
    before = len((await asyncio.to_thread(run_gsh, "session", "ls", "--all", "--json")).json)
    for connected in greeted("turn", 5.0):
        with stopped(pid), connected:
            connected.sendall(json.dumps(opening).encode() + b"\n")
    await eventually(lambda: asyncio.to_thread(run_gsh, "hub", "status"), until=lambda ran: ran.code == 0)
    assert len((await asyncio.to_thread(run_gsh, "session", "ls", "--all", "--json")).json) == before
    await stop_keeper(data_dir())

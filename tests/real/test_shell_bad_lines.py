"""What a shell says wrongly costs that line alone: in the spool and at the socket, with every field of every kind."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.bus import Bus
from gshtui.settings import paths
from gshtui.shell import spool
from gshtui.shell.log.shell_log import ShellLog, ShellLogOptions
from gshtui.store.record.store import Store
from tests.kit.storms import some
from tests.kit.tmux import eventually

HUGE = 10**400
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**31,
    2**53,
    2**63,
    2**64,
    -(2**63) - 1,
    HUGE,
    1.5,
    1e308,
    "",
    "\0",
    "a\0b",
    "/a\0b",
    "../../x",
    "/",
    "\x1b]0;x\x07",
    "\U0010ffff",
    "x" * 5_000,
    "/x" * 3_000,
    [],
    [[]],
    [HUGE],
    {},
)
"""For each field of each kind of line."""
RAW: tuple[bytes, ...] = (
    b"hello",
    b"\xff\xfe",
    b"\0",
    b"{}",
    b"[]",
    b"null",
    b"1",
    b'{"v":1',
    b'{"v":1,"type":"ShellStarted","at":1,"shell":"SHELL","pid":',
    b'{"v":1,"type":"ShellNoted","at":1,"shell":"SHELL","text":"\xff"}',
    b'{"v":1,"type":"ShellNoted","at":1,"shell":"SHELL","text":"\\ud800"}',
    b'{"v":1,"type":"ShellNoted","at":1,"shell":"\\udc80","text":"x"}',
    b'{"v":1,"type":"ShellNoted","at":NaN,"shell":"SHELL","text":"x"}',
    b'{"v":1,"type":"ShellNoted","at":-Infinity,"shell":"SHELL","text":"x"}',
    b'{"v":1,"type":"ShellNoted","at":1e999,"shell":"SHELL","text":"x"}',
    b'{"v":1,"type":"ShellNoted","at":1,"shell":"SHELL","text":"x"}}',
    b'{"type":"Unheard","at":%d}' % HUGE,
    b'{"v":%d,"type":"Unheard"}' % HUGE,
    b'{"v":{},"type":"Unheard"}',
    b'{"v":1,"type":"AgentAdded","agent":"0001","name":"forged"}',
    b'{"v":1,"type":"ShellRecorded","record":{"shell":"SHELL","number":1,"command":"forged"}}',
    b"[" * 10_000,
    b'{"v":1,"type":"ShellNoted","shell":"SHELL","text":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    b'{"v":1,"type":"ShellNoted","shell":"SHELL","text":"x","beyond":' + b'{"a":' * 900 + b"1" + b"}" * 901,
    b'{"v":1,"type":"Unheard","deep":' + b"[" * 900 + b"]" * 900 + b"}",
)
LARGE = (b"x" * (10 << 20), b'{"v":1,"type":"ShellNoted","shell":"s","text":"' + b"x" * (10 << 20) + b'"}')


def _line(kind: str, shell: str, seq: int, **fields: Any) -> dict[str, Any]:
    return {"v": 1, "type": kind, "at": time.time(), "shell": shell, "seq": seq, **fields}


def _samples(shell: str, seq: int) -> list[dict[str, Any]]:
    """A line of each kind with all its fields."""
    command = {"number": seq, "cwd": "/p"}
    return [
        _line("ShellEnded", shell, seq),
        _line(
            "ShellStarted",
            shell,
            seq,
            pid=os.getpid(),
            program="zsh",
            version="5",
            tty="t",
            pane="%1",
            socket="/s",
            host="h",
            cwd="/p",
            parent="p",
        ),
        _line(
            "ShellCommandStarted", shell, seq, command="bad", expanded="x", tty="t", pane="%1", cut=0, pid=1, **command
        ),
        _line("ShellCommandFinished", shell, seq, exit=0, pipestatus=[0, 1], duration=0.1, **command),
        _line("ShellFolderChanged", shell, seq, old="/", new="/p"),
        _line("ShellNoted", shell, seq, text="a note", cwd="/p"),
    ]


def _bad_lines() -> list[tuple[str, bytes]]:
    """Each with a name; `SHELL` stands for the shell's id."""
    found = [(f"raw {raw[:60]!r}", raw) for raw in RAW]
    for sample in _samples("SHELL", 2):
        kind = sample["type"]
        for name in sample:
            missing = {key: value for key, value in sample.items() if key != name}
            found.append((f"{kind} without {name}", json.dumps(missing).encode()))
            found += [
                (f"{kind}.{name} = {repr(value)[:40]}", json.dumps({**sample, name: value}).encode())
                for value in VALUES
            ]
    return found


def _good(shell: str, number: int) -> list[bytes]:
    began = _line("ShellCommandStarted", shell, 10 + number, number=number, command=f"good {number}", cwd="/p")
    ended = _line("ShellCommandFinished", shell, 20 + number, number=number, exit=0, duration=0.1, cwd="/p")
    return [json.dumps(each).encode() for each in (began, ended)]


BAD = some(_bad_lines())
MOST = len(BAD) * 2 // 3
"""Some are lines of a kind that is not known, and some values are right: neither is wrong."""


@pytest.fixture
async def faults() -> list[str]:
    """What failed inside the program."""
    seen: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: seen.append(f"{context['message']}: {context.get('exception')!r}")
    )
    return seen


@pytest.fixture
async def log(store: Store, faults: list[str]) -> AsyncIterator[ShellLog]:
    bus = Bus()
    options = ShellLogOptions(paths.runtime_dir() / "gsh.sock", paths.data_dir(), Path("/p"), 0, output_lines=20)
    made = ShellLog(bus, store, options, str)
    await made.start()

    async def listens() -> object:
        return made.listens

    await eventually(listens)
    yield made
    await made.stop()
    await bus.close()


async def _missing(store: Store, shells: dict[str, str]) -> list[str]:
    """The bad lines whose neighbours are not in the record as they were said."""
    rows = await store.shells.find_all(limit=100_000)
    known = {(row.shell, row.number): row for row in rows}
    return [
        what
        for shell, what in shells.items()
        if [getattr(known.get((shell, number)), "command", "") for number in (100, 101)] != ["good 100", "good 101"]
    ]


async def test_a_bad_line_in_the_spool_costs_that_line(store: Store, log: ShellLog, faults: list[str]) -> None:
    where = spool.folder(paths.data_dir())
    where.mkdir(mode=0o700, exist_ok=True)
    shells: dict[str, str] = {}
    for number, (what, bad) in enumerate([*BAD, *[("10 MB", raw) for raw in LARGE]]):
        shell = f"s{number}"
        shells[shell] = what
        lines = [*_good(shell, 100), bad.replace(b"SHELL", shell.encode()), *_good(shell, 101)]
        part = where / f"{shell}.part"
        part.write_bytes(b"\n".join(lines) + b"\n")
        part.rename(where / f"{shell}.jsonl")

    while spool.files(where):
        await log._intake.read_now()
    assert log._intake.spools.bad_lines >= MOST
    await log._intake.close_shells(set(log._intake.pairing.shells))  # whatever their names
    assert faults == []
    assert await _missing(store, shells) == []
    assert log.listens


async def test_a_bad_line_at_the_socket_costs_that_line(store: Store, log: ShellLog, faults: list[str]) -> None:
    shells: dict[str, str] = {}
    bad = [*BAD, ("10 MB", LARGE[0]), ("10 MB of a note", LARGE[1])]
    for start in range(0, len(bad), 20):  # many bad lines end a connection
        reader, writer = await asyncio.open_unix_connection(paths.runtime_dir() / "gsh.sock")
        writer.write(json.dumps({"hello": "shell", "pid": os.getpid()}).encode() + b"\n")
        await reader.readline()
        for number, (what, raw) in enumerate(bad[start : start + 20], start):
            shell = f"t{number}"
            shells[shell] = what
            lines = [*_good(shell, 100), raw.replace(b"SHELL", shell.encode()), *_good(shell, 101)]
            writer.write(b"\n".join(lines) + b"\n")
            await writer.drain()
        last = json.dumps(_line("ShellNoted", f"last{start}", 2**52, text="last")).encode()
        writer.write(last + b"\n")
        answers: list[dict[str, Any]] = []
        while not answers or answers[-1].get("ack") != 2**52:
            answers.append(json.loads(await reader.readline()))
        writer.close()
    assert log._listener is not None
    assert log._listener.counts.bad_lines >= MOST
    await log._intake.close_shells(set(log._intake.pairing.shells))  # whatever their names
    assert faults == []
    assert await _missing(store, shells) == []

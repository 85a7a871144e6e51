"""A real record for a test: opened in the test's own home, closed at its end, its notices collected.

Also the child processes that tests kill, starve or lock out. Used by `tests/real/test_store_*.py`.
"""

import asyncio
import contextlib
import os
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from gshtui.bus.messages import Message, user_message
from gshtui.settings import paths
from gshtui.store.record.store import Store
from tests.kit.endings import closing_async
from tests.kit.tmux import eventually

ROOT = Path(__file__).resolve().parents[2]


class Notices(list[tuple[str, str]]):
    """What a store told a person. `wait_for` waits for a notice that holds some words."""

    def __init__(self) -> None:
        super().__init__()
        self._more = asyncio.Event()

    def __call__(self, text: str, hint: str) -> None:
        self.append((text, hint))
        self._more.set()

    async def wait_for(self, words: str) -> tuple[str, str]:
        """The first notice with these words, as soon as there is one."""
        async with asyncio.timeout(30):
            while True:
                for notice in self:
                    if words in notice[0]:
                        return notice
                self._more.clear()
                await self._more.wait()


@contextlib.asynccontextmanager
async def open_record(
    path: Path, notices: Notices | None = None, *, retry_every: float = 0.05
) -> AsyncGenerator[Store]:
    """The record at `path`, closed at the end whatever happens."""
    async with closing_async(
        await Store.open(path, on_notice=notices if notices is not None else Notices(), retry_every=retry_every)
    ) as store:
        yield store


async def wait_until(holds: Callable[[], bool], store: Store) -> None:
    """Wait for something that a background task of the store does, by asking the store for other things."""

    async def look() -> bool:
        await store.sessions.find_all(limit=1)
        return holds()

    await eventually(look)


def numbered_prompt(number: int, words: str = "") -> Message:
    """A prompt that is told apart by its number."""
    return user_message(words or f"message {number}", id=f"m{number}")


def bound_by_permissions() -> None:
    """Give up root's right to pass over permissions, where a process has it. For children, before any thread."""
    if os.geteuid() != 0:
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice 32 bits
    if libc.capget(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    for at in (0, 1):
        sets[at] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")


@contextlib.asynccontextmanager
async def python_child(program: str, *arguments: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A Python process that runs `program`, with pipes on both ends; killed and reaped at the end."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environ,
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()  # closes the pipes, too


async def read_line(process: asyncio.subprocess.Process) -> str:
    """The child's next line, without its end; empty when it is gone."""
    assert process.stdout is not None
    async with asyncio.timeout(30):
        return (await process.stdout.readline()).decode().rstrip("\n")


async def no_sync() -> None:
    """There are no shells: the record has everything."""


def texts_of(session: str) -> list[str]:
    """The prompts in a conversation of the test's own record, then those that wait in it."""
    return [text for texts in texts_apart(session) for text in texts]


def texts_apart(session: str) -> tuple[list[str], list[str]]:
    """The prompts in a conversation of the test's own record, and those that wait in it."""
    with contextlib.closing(sqlite3.connect(f"file:{paths.data_dir() / 'gsh.db'}?mode=ro", uri=True)) as record:
        sent = record.execute(
            "SELECT json_extract(data, '$.blocks[0].text') FROM messages WHERE session = ? AND role = 'user'"
            " ORDER BY seq",
            (session,),
        ).fetchall()
        waits = record.execute(
            "SELECT json_extract(data, '$.text') FROM queued_prompts WHERE session = ? ORDER BY number", (session,)
        ).fetchall()
    return [str(text) for (text,) in sent], [str(text) for (text,) in waits]


def latest_session() -> str:
    """The conversation of the newest message of the test's own record."""
    with contextlib.closing(sqlite3.connect(f"file:{paths.data_dir() / 'gsh.db'}?mode=ro", uri=True)) as record:
        return str(record.execute("SELECT session FROM messages ORDER BY id DESC LIMIT 1").fetchone()[0])

"""Locks over all processes: had by one at a time, given back, and removed where they are for one occasion."""

import asyncio
import os
from pathlib import Path

import pytest

from gshtui.system.files.file_lock import LockHeld, blocking_lock, file_lock, try_lock


def test_one_has_it_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    held = try_lock(path)
    assert held is not None
    assert try_lock(path) is None
    os.close(held)
    with blocking_lock(path):
        assert try_lock(path) is None


async def test_who_waits_too_long_is_told_what_for(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    async with file_lock(path, note="typing", within=0):
        with pytest.raises(LockHeld) as held:
            async with file_lock(path, within=0):
                pass
        assert held.value.note == "typing"
    assert path.exists()


async def test_a_lock_that_is_not_kept_leaves_no_file_and_is_still_one(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    inside = 0
    most = 0

    async def turn() -> None:
        nonlocal inside, most
        async with file_lock(path, within=30, every=0, keep=False):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(turn() for _ in range(40)))
    assert (most, path.exists()) == (1, False)


async def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.lock").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="lock"):
        try_lock(tmp_path / "a.lock")
    assert not (tmp_path / "other").exists()

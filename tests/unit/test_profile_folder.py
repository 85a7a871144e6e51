"""The profiles of a process that stays follow their folder, wherever it is in its life."""

import asyncio
from pathlib import Path

from gshtui.programs.profiles.profile_files import LoadedProfiles
from gshtui.programs.profiles.profile_folder import ProfileFolder

OVERLAY = 'extends = "claude"\n[timing]\nstart = {}\n'


async def test_a_change_is_told_from_a_folder_that_comes_to_one_that_goes(tmp_path: Path) -> None:
    place = tmp_path / "gsh" / "profiles"
    folder, told = ProfileFolder(place), asyncio.Queue[LoadedProfiles]()
    shipped = (await folder.current()).get("claude")
    end = folder.watch(told.put_nowait)
    try:
        await asyncio.sleep(0)
        place.mkdir(parents=True)
        for seconds in ("31", "32"):
            (place / "claude.toml").write_text(OVERLAY.format(seconds), "utf-8")
            while (await told.get()).get("claude").timing.start != float(seconds):
                pass
        (place / "claude.toml").write_text(OVERLAY.format("'soon'"), "utf-8")
        while not (now := await told.get()).problems:
            pass
        assert now.get("claude").timing.start == 32, "the last good one"
        assert str(place / "claude.toml") in now.problems[0]
        assert "`$.timing.start`" in now.problems[0]
        (place / "claude.toml").unlink()
        while (await told.get()).get("claude") != shipped:
            pass
    finally:
        await end()

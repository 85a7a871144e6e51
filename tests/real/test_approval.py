"""What was always allowed in a project is listed, and taken back: then the next call is asked about again."""

from __future__ import annotations

from pathlib import Path

import pytest

from gshtui.commands.declaration import Assessment, Caller, CommandError, Effect, UsageError
from gshtui.guard.approval import Call
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from tests.kit.home import Home


def call() -> Call:
    return Call("main", "s", "c", "bash", {"command": "make test"})


ASSESSMENT = Assessment(Effect.EXECUTE, "make test", key="make test", pattern="make …")


async def test_what_was_always_allowed_is_listed_and_taken_back(home: Home, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    loaded = load(tmp_path)
    hub = Hub(HubOptions(cwd=tmp_path, loaded=loaded, parts=frozenset({"store", "guard"}), approvals="refuse"))
    await hub.start()
    try:
        assert hub.failed == {} and hub.store is not None and hub.gate is not None
        assert "Nothing was always allowed here." in (await hub.run("approvals")).text
        await hub.store.grants.add(str(hub.project), "write", "write in src")
        await hub.store.grants.add(str(hub.project), "bash", "make …")
        await hub.store.grants.add("/elsewhere", "bash", "rm …")
        listed = await hub.run("/permissions")
        assert "1. write in src (write, since " in listed.text and "2. make … (bash, since " in listed.text
        assert "rm …" not in listed.text
        assert listed.data["always"][1] == {"number": 2, "tool": "bash", "pattern": "make …"}
        assert (await hub.gate.review(call(), ASSESSMENT)).allowed
        taken = await hub.run("approvals revoke 2")
        assert "again from now on: make …" in taken.text
        assert not (await hub.gate.review(call(), ASSESSMENT)).allowed
        assert [one["pattern"] for one in (await hub.run("approvals")).data["always"]] == ["write in src"]
        assert len(await hub.store.grants.find_all("/elsewhere")) == 1
        with pytest.raises(CommandError, match="There is no number 7"):
            await hub.run("approvals revoke 7")
        with pytest.raises(UsageError, match="Give the number"):
            await hub.run("approvals revoke")
        with pytest.raises(UsageError, match="for people only"):
            await hub.run("approvals", Caller("main", is_agent=True))
    finally:
        await hub.stop()

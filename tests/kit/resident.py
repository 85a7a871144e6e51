"""A resident hub for tests of faces, and tests that run with one and without."""

import json
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from watchfiles import watch

from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.settings import paths
from gshtui.shell.hub_registry import is_live
from tests.kit.tmux import end_server, short_folder
from tests.kit.warm_program import SDKS, WarmProcess, shared, start_gsh


@contextmanager
def resident_hub(monkeypatch: pytest.MonkeyPatch, loaded: Sequence[str] = SDKS) -> Generator[None]:
    """A hub that takes the turns of faces. `loaded`: what it need not load."""
    words, warm = ("hub", "run", "--idle", "0"), shared(*loaded)
    with short_folder() as folder, start_gsh(*words, env={"TMUX_TMPDIR": str(folder)}, warm=warm) as process:
        monkeypatch.setenv("TMUX_TMPDIR", str(folder))
        for _ in watch(paths.runtime_dir(), yield_on_timeout=True, debounce=10, step=5, rust_timeout=100):
            assert process.poll() is None, process.communicate()
            found = running_keeper(paths.data_dir())
            if found is not None and found.ready and is_live(paths.keeper_sockets()[0]):
                break
        try:
            yield
        finally:
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


@pytest.fixture
def resident(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with resident_hub(monkeypatch):
        yield


@pytest.fixture
def beside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Alone, or with a resident hub, which need not load what the module names as `LOADED`."""
    if request.param == "alone":
        yield "alone"
        return
    with resident_hub(monkeypatch, getattr(request.module, "LOADED", SDKS)):
        yield "resident"


def keeper_pid() -> int:
    found = running_keeper(paths.data_dir())
    assert found is not None
    return found.process.pid


def events_until(process: WarmProcess, kind: str) -> dict[str, Any]:
    """Read the process's JSON lines up to the first event of this type."""
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == kind:
            return event
    raise AssertionError(f"it ended without {kind}")

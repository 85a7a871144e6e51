"""Fixtures of several files with real processes, stores and terminals."""

from collections.abc import AsyncGenerator
from pathlib import Path
from zlib import crc32

import pytest

from gshtui.settings import paths
from gshtui.store.record.store import Store
from gshtui.tmux.server import TmuxServer
from tests.kit.command import ROOT
from tests.kit.home import Home
from tests.kit.storms import FULL
from tests.kit.tmux import kill_server


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of `beside`: each with a resident hub, and every second one alone, as those of other modules are."""
    says_itself = any("beside" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "beside" in metafunc.fixturenames and not says_itself:
        both = FULL or crc32(metafunc.function.__name__.encode()) % 2
        metafunc.parametrize("beside", ["alone", "resident"] if both else ["resident"], indirect=True)


@pytest.fixture
def path(home: Home) -> Path:
    """Where the record is."""
    return home.data / "gsh" / "gsh.db"


@pytest.fixture
async def store() -> AsyncGenerator[Store]:
    """The record, open."""
    opened = await Store.open(paths.data_dir() / "gsh.db")
    yield opened
    await opened.close()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder of ours that a sandbox must not show."""
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


@pytest.fixture
async def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Path]:
    """A project; the tmux server that its agents live on is ended after the test."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    yield tmp_path
    server = TmuxServer("gsh")
    await kill_server(server)
    await server.close()

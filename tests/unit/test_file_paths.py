"""Whatever path is written: no file command reaches beyond the shared folders by a path below them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gshtui.commands.declaration import Caller, Invocation
from gshtui.system.expected_error import ExpectedError
from gshtui.tools.commands import commands
from gshtui.tools.files.file_paths import FilePaths, RealPath
from gshtui.tools.files.workspace import ToolConfig
from gshtui.vfs import FileSystem
from tests.kit.storms import examples

STEPS = st.sampled_from(
    ["..", ".", "", "~", "docs", "project", "in.txt", "out.txt", "up", "deep", "round", "secret.txt", "a\0", "/", "*"]
)
PATHS = st.tuples(st.sampled_from(["/shared/docs", "/shared/project", "/shared"]), st.lists(STEPS, max_size=6)).map(
    lambda parts: "/".join((parts[0], *parts[1]))
)


@dataclass
class World:
    """A secret beside two shared folders that are full of links to it."""

    top: Path

    def __post_init__(self) -> None:
        self.project, self.docs = self.top / "project", self.top / "docs"
        (self.top / "secret.txt").write_text("hidden")
        (self.top / "outside").write_text("")
        for folder in (self.project, self.docs):
            (folder / "deep").mkdir(parents=True)
            (folder / "in.txt").write_text("open")
            (folder / "out.txt").symlink_to(self.top / "secret.txt")
            (folder / "up").symlink_to("..")
            (folder / "deep/up").symlink_to("../..")
            (folder / "deep/round").symlink_to("../deep")
        paths = FilePaths(FileSystem(), {"docs": self.docs})
        self.paths = paths
        self.commands = {one.name: one for one in commands(ToolConfig(os.environ), paths)}

    async def run(self, name: str, **arguments: object) -> str:
        invocation = Invocation(Caller(), self.project, self.project)
        command = self.commands[name]
        try:
            return (await command.handler(invocation, command.parameters.model_validate(arguments))).text
        except ExpectedError as error:
            assert error.message.isprintable(), error.message
            return ""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with TemporaryDirectory() as folder:
        yield World(Path(folder).resolve())


@given(PATHS)
@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_nothing_below_a_shared_folder_leads_out_of_it(world: World, path: str) -> None:
    async def every() -> list[str]:
        reads = [await world.run(name, path=path) for name in ("cat", "read", "head", "tail")]
        await world.run("append", path=path, content="written")
        await world.run("write", path=path, content="open")
        await world.run("rm", path=f"{path}/none")
        listed = await world.run("ls", path=path)
        return [*reads, listed]

    *reads, listed = asyncio.run(every())
    assert not any("hidden" in text for text in reads)
    assert "outside" not in listed
    assert (world.top / "secret.txt").read_text() == "hidden"
    assert sorted(one.name for one in world.top.iterdir()) == ["docs", "outside", "project", "secret.txt"]


def test_honest_paths_are_the_real_ones(world: World) -> None:
    invocation = Invocation(Caller(), world.project, world.project)
    found = world.paths.resolve(invocation, "/shared/docs/deep/in.txt")
    assert isinstance(found, RealPath)
    assert (found.asked, found.invocation.within) == (str(world.docs / "deep/in.txt"), world.docs)
    same = world.paths.resolve(invocation, "deep/in.txt")
    assert isinstance(same, RealPath) and same.invocation == invocation

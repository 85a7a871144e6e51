"""Changes of a project's files on a real disk: told in batches, without what git ignores, through every mishap."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.events.shell_events import FileChange, FilesChanged
from gshtui.hub.parts.shell_part import ProjectFiles
from gshtui.shell import file_watch
from gshtui.shell.file_watch import NAMED, FileWatch, find_folders, refusal, sifted
from gshtui.store.record.store import Store
from tests.kit.home import Home


class Told:
    """What a watch told, and who waits for it."""

    def __init__(self) -> None:
        self.events: list[FilesChanged] = []
        self.notices: list[str] = []
        self.rows: list[str] = []
        self._more = asyncio.Event()

    def tell(self, event: FilesChanged) -> None:
        self.events.append(event)
        self._more.set()

    def notice(self, text: str, hint: str) -> None:
        self.notices.append(text)
        self.rows.append(f"{text} {hint}")
        self._more.set()

    @property
    def changes(self) -> set[tuple[str, str]]:
        return {(change.path, change.kind) for event in self.events for change in event.changes}

    async def has(self, *wanted: tuple[str, str]) -> None:
        """Wait until these were told."""
        while not set(wanted) <= self.changes:
            self._more.clear()
            await self._more.wait()

    async def noticed(self) -> None:
        while not self.notices:
            self._more.clear()
            await self._more.wait()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a folder, and one that git ignores."""
    root = tmp_path / "project"
    for folder in (".git", "src", "node_modules/x"):
        (root / folder).mkdir(parents=True)
    (root / ".gitignore").write_text("node_modules/\n*.log\n")
    (root / "src" / "a.py").write_text("1")
    return root


@asynccontextmanager
async def watching(root: Path, **options: Any) -> AsyncGenerator[tuple[Told, FileWatch]]:
    told = Told()
    watch = FileWatch(root, told.tell, told.notice, **options)
    task = asyncio.create_task(watch.run())
    try:
        async with asyncio.timeout(30):
            if root.is_dir() and not options:
                await watch.watched.wait()
            yield told, watch
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_files_are_told_and_what_git_ignores_is_not(project: Path) -> None:
    async with watching(project) as (told, _):
        (project / "src" / "a.log").write_text("x")
        (project / "node_modules" / "x" / "b.js").write_text("x")
        (project / ".git" / "index").write_text("x")
        (project / "src" / "a.py").write_text("2")
        (project / "src" / "new.py").write_text("1")
        (project / "src" / ".a.py.swp").write_text("1")
        await told.has(("src/a.py", "modified"), ("src/new.py", "added"))
        (project / "src" / "new.py").unlink()
        await told.has(("src/new.py", "deleted"))
        assert {path for path, _ in told.changes} == {"src/a.py", "src/new.py"}


async def test_an_editor_that_replaces_a_file_modifies_it(project: Path) -> None:
    async with watching(project) as (told, _):
        (project / "src" / "a.py~").write_text("2")
        (project / "src" / "a.py").unlink()
        (project / "src" / "a.py~").rename(project / "src" / "a.py")
        await told.has(("src/a.py", "modified"))
        assert {path for path, _ in told.changes} == {"src/a.py"}


async def test_a_file_renamed_over_another_modifies_it_and_one_of_a_new_name_is_added(project: Path) -> None:
    async with watching(project) as (told, _):
        for name in ("a.py", "new.py"):
            (project / "src" / "x.tmp").write_text("2")
            (project / "src" / "x.tmp").rename(project / "src" / name)
        await told.has(("src/a.py", "modified"), ("src/new.py", "added"))
        told.events.clear()
        (project / "src" / "x.tmp").write_text("3")
        (project / "src" / "x.tmp").rename(project / "src" / "new.py")
        await told.has(("src/new.py", "modified"))


async def test_new_folders_are_watched_and_their_files_told(project: Path) -> None:
    async with watching(project) as (told, watch):
        (project / "lib" / "deep").mkdir(parents=True)
        (project / "lib" / "deep" / "one.py").write_text("1")
        await told.has(("lib/deep/one.py", "added"))
        await watch.watched.wait()
        (project / "lib" / "deep" / "two.py").write_text("1")
        await told.has(("lib/deep/two.py", "added"))


async def test_rules_that_change_hold_from_then_on(project: Path) -> None:
    async with watching(project) as (told, watch):
        (project / ".gitignore").write_text("node_modules/\n*.py\n")
        await told.has((".gitignore", "modified"))
        await watch.watched.wait()
        (project / "src" / "a.py").write_text("3")
        (project / "src" / "a.log").write_text("3")
        await told.has(("src/a.log", "added"))
        assert "src/a.py" not in {path for path, _ in told.changes}


async def test_a_project_that_goes_and_comes_back(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "LOOK_AGAIN", 0.02)
    async with watching(project) as (told, watch):
        shutil.rmtree(project)
        await told.has(("src/a.py", "deleted"))
        project.mkdir()
        await watch.watched.wait()
        (project / "again.py").write_text("1")
        await told.has(("again.py", "added"))


async def test_a_project_that_is_not_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "LOOK_AGAIN", 0.02)
    async with watching(tmp_path / "later") as (told, watch):
        (tmp_path / "later").mkdir()
        await watch.watched.wait()
        (tmp_path / "later" / "a").write_text("1")
        await told.has(("a", "added"))


def limited(most: int) -> Any:
    """A system that watches so many folders at most."""

    async def watch(*paths: str, **options: Any) -> AsyncIterator[set[Any]]:
        if len(paths) > most:
            raise OSError('OS file watch limit reached. about ["/x"]')
        async for changes in file_watch._native()(*paths, **options):  # pyright: ignore[reportPrivateUsage]
            yield changes

    return watch


async def test_a_limit_of_the_system_leaves_the_nearest_folders(project: Path) -> None:
    for number in range(40):
        (project / f"many{number}").mkdir()
    async with watching(project, watch=limited(20), most=40) as (told, watch):
        await watch.watched.wait()
        (project / "top.py").write_text("1")
        await told.has(("top.py", "added"))
        assert len(told.notices) == 1
        assert "limit of watched folders" in told.notices[0] and "OS file" not in told.notices[0]


async def test_where_nothing_can_be_watched_it_is_said_and_ends(project: Path) -> None:
    told = Told()
    async with asyncio.timeout(30):
        await FileWatch(project, told.tell, told.notice, watch=limited(0), most=64).run()
    assert len(told.notices) == 1, "one cause, one notice"


async def test_a_home_folder_is_refused(home: Home) -> None:
    told = Told()
    async with asyncio.timeout(30):
        await FileWatch(home.path, told.tell, told.notice).run()
        await FileWatch(home.path.parent, told.tell, told.notice).run()
        await FileWatch(Path("/"), told.tell, told.notice).run()
    above, root = told.rows
    assert above == "File changes are not shown: this folder holds your home. Start in a project."
    assert "the root folder" in root and max(map(len, told.rows)) <= 76, "one row of 80 columns says what to do"
    assert refusal(home.path, home.path)
    assert refusal(Path("/"), home.path)
    assert refusal(home.path.parent, home.path)
    assert refusal(home.path / "src", home.path) == ""


def test_folders_are_bounded_and_the_nearest_come_first(project: Path) -> None:
    for number in range(30):
        (project / f"f{number:02}" / "deep").mkdir(parents=True)
    found = find_folders(project, 20)
    assert found.cut and len(found.rules) == 20
    assert not any(path.endswith("deep") for path in found.rules)
    (project / "link").symlink_to(project)
    assert str(project / "link") not in find_folders(project).rules


def test_a_flood_is_sifted_and_named_in_part(project: Path) -> None:
    folders = find_folders(project)
    changes = [(1, str(project / "src" / f"{number}.py")) for number in range(5_000)]
    for _, path in changes[:3_000]:
        Path(path).touch()
    changes += [(3, path) for _, path in changes[3_000:]]
    told, again = sifted(folders, changes)
    assert len(told) == 3_000 and not again
    events: list[FilesChanged] = []
    FileWatch(project, events.append, Told().notice)._publish(folders, told)  # pyright: ignore[reportPrivateUsage]
    assert (len(events[0].changes), events[0].more) == (NAMED, 3_000 - NAMED)


def test_a_name_that_is_no_text(project: Path) -> None:
    path = os.fsdecode(os.fsencode(project) + b"/src/caf\xe9.py")
    Path(path).touch()
    told: list[FilesChanged] = []
    folders = find_folders(project)
    FileWatch(project, told.append, Told().notice)._publish(folders, [FileChange(path, "added")])  # pyright: ignore[reportPrivateUsage]
    assert told[0].changes[0].path == "src/caf?.py"


async def test_the_log_keeps_each_line_once_however_many_windows_watch(project: Path, tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "gsh.db")
    windows = [(Told(), bus, ProjectFiles(bus, store, project)) for bus in (Bus(), Bus())]

    def hear(told: Told, bus: Bus) -> None:
        async def take(batch: Any) -> None:
            for event in batch:
                told.tell(event)

        bus.subscribe(take, FilesChanged, name="test")

    try:
        async with asyncio.timeout(30):
            for told, bus, window in windows:
                hear(told, bus)
                window.start(after=0)
                await window.watch.watched.wait()
            (project / "src" / "a.py").write_text("2")
            for told, _, _ in windows:
                await told.has(("src/a.py", "modified"))
            notes = await store.shells.notes(kind="file")
            assert [(note.text, note.cwd) for note in notes] == [("src/a.py", str(project))]
    finally:
        for _, bus, window in windows:
            await window.stop()
            await bus.close()
        await store.close()

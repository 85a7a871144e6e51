"""The index of a project's files, and what is offered of it."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from gshtui.bus.agent_data import ProgramCommand
from gshtui.commands.completion import Completion
from gshtui.commands.completion import complete as completions
from gshtui.commands.declaration import Caller
from gshtui.commands.registry import Registry
from gshtui.ui.prompt.completion_sources import (
    CommandSource,
    FileIndex,
    FileSource,
    LineCompletion,
    ProgramCommandSource,
    WindowView,
    walk_project,
)
from gshtui.ui.window.features import slash_words
from tests.kit.running_hub import running_hub
from tests.kit.shell_forms import PARTS


def tree(root: Path, *files: str) -> Path:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return root


def paths(root: Path) -> set[str]:
    return set(walk_project(root, threading.Event()))


def test_gitignore_holds_at_every_level(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "a.pyc", "build/x", "sub/build/y", "sub/keep.log", "sub/drop.log", "sub/deep/only.tmp")
    tree(tmp_path, ".git/config", "node_modules/m/index.js", "top.log", "excluded.txt")
    (tmp_path / ".gitignore").write_text("*.pyc\n/build/\nnode_modules\n*.log\n# comment\n\n")
    (tmp_path / "sub" / ".gitignore").write_text("!keep.log\ndeep/*.tmp\n")
    tree(tmp_path, ".git/info/exclude")
    (tmp_path / ".git/info/exclude").write_text("excluded.txt\n")
    assert paths(tmp_path) == {
        ".gitignore",
        "a.py",
        "sub/",
        "sub/.gitignore",
        "sub/build/",
        "sub/build/y",
        "sub/deep/",
        "sub/keep.log",
    }


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    outside = tree(tmp_path / "outside", "secret")
    project = tree(tmp_path / "project", "a")
    (project / "link").symlink_to(outside)
    (project / "round").symlink_to(project)
    assert paths(project) == {"a", "link", "round"}


def test_a_folder_that_cannot_be_read_costs_itself_alone(tmp_path: Path) -> None:
    project = tree(tmp_path, "a", "closed/b")
    (project / "odd.gitignore").write_text("")
    (project / ".gitignore").mkdir()
    (project / "closed").chmod(0)
    try:
        assert "a" in paths(project)
    finally:
        (project / "closed").chmod(0o700)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff\xfe.txt", os.O_CREAT | os.O_WRONLY))
    assert len(paths(tmp_path)) == 1


async def test_the_index_is_bounded(tmp_path: Path) -> None:
    tree(tmp_path, *(f"f{n:03}" for n in range(50)))
    index = FileIndex(tmp_path, most=20)
    await index.refresh()
    assert len(index.paths) == 20 and not index.complete
    whole = FileIndex(tmp_path)
    await whole.refresh()
    assert len(whole.paths) == 50 and whole.complete


async def test_a_fresh_index_is_not_built_again(tmp_path: Path) -> None:
    index = FileIndex(tree(tmp_path, "a"))
    await index.refresh()
    tree(tmp_path, "b")
    await index.refresh()
    assert index.paths == ["a"]


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("look at @main", "@src/main.py"),
        ("@space", '@"with space/my notes.md"'),
        ('@"with sp', '@"with space/'),
        ("(@main", "@src/main.py"),
    ],
)
async def test_what_is_offered(tmp_path: Path, written: str, first: str) -> None:
    source = FileSource(FileIndex(tree(tmp_path, "src/main.py", "with space/my notes.md", "x.py")))
    start = source.start(written, 0)
    assert start is not None
    found = await source.candidates(written, start)
    assert first in [candidate.insert for candidate in found][:2]


@pytest.mark.parametrize("written", ["mail me@example.org", "no mention", "a@b", "@done "])
def test_no_mention_no_offer(tmp_path: Path, written: str) -> None:
    assert FileSource(FileIndex(tmp_path)).start(written, 0) is None


@pytest.mark.parametrize(
    ("typed", "used", "offered"),
    [
        ("/", (), ["model", "agents", "usage"]),
        ("/", ("usage", "gone", "model"), ["usage", "model", "agents"]),
        ("/model", ("models",), ["model", "models"]),
    ],
)
async def test_commands_that_were_used_come_first_but_for_the_one_that_is_written(
    typed: str, used: tuple[str, ...], offered: list[str]
) -> None:
    async def complete(line: str, cursor: int) -> list[Completion]:
        names = ["model", "models"] if len(line) > 1 else ["agents", "model", "usage"]
        return [Completion(name, 1, cursor, "command") for name in names]

    source = CommandSource(complete, lambda: used)
    found = await source.candidates(typed, source.start(typed, 0) or 0)
    assert [item.insert for item in found] == offered


async def test_every_word_that_works_after_a_slash_is_offered_by_each_of_its_beginnings(tmp_path: Path) -> None:
    views = {word: WindowView(key, key) for word, key in slash_words()}
    async with running_hub(tmp_path, parts=PARTS, visiting=True) as hub:

        async def complete(line: str, cursor: int) -> Sequence[LineCompletion]:
            return await completions(hub.registry, hub.invocation(Caller()), line, cursor)

        source = CommandSource(complete, views=views)
        commands = hub.registry.visible(Caller())
        words = {name for one in commands for name in (one.name, *one.aliases)} | views.keys()
        assert words > {"settings", "theme", "new", "exit", "permissions", "model"}
        missing: list[str] = []
        for word in words:
            for end in range(1, len(word) + 1):
                typed = f"/{word[:end]}"
                offered = [item.insert for item in await source.candidates(typed, source.start(typed, 0) or 0)]
                if not any(one == word or _same(hub.registry, one, word) for one in offered):
                    missing.append(typed)
                if end == len(word) and offered[0] != word:
                    missing.append(f"{typed} first")
        assert not missing


def _same(registry: Registry, one: str, other: str) -> bool:
    return one in registry and other in registry and registry.get(one) is registry.get(other)


async def test_the_commands_of_an_agents_program_are_offered() -> None:
    offered = [ProgramCommand("tidy", "Tidies up.", "what"), ProgramCommand("model")]
    source = ProgramCommandSource(lambda: offered, lambda: {"model", "help"})
    assert source.start("/ti", 0) == 0 and source.start("/ti", 1) is None and source.start("a", 0) is None
    assert [(one.insert, one.detail) for one in await source.candidates("/ti", 0)] == [("/tidy", "what · Tidies up.")]
    assert [one.insert for one in await source.candidates("//mo", 0)] == ["//model"]
    assert ProgramCommandSource(list, dict).start("/ti", 0) is None

"""Going back in a conversation, with the files as they were; going on from any message; undoing it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from gshtui.agents.rewind import FilePlan, Rewinder
from gshtui.bus.messages import Message, Text
from gshtui.settings import paths
from gshtui.store.session_table import SessionInfo
from gshtui.store.store import Store
from gshtui.tools import shadow_repository
from gshtui.tools.shadow_repository import ShadowError, ShadowRepository
from tests.kit.storms import seeds
from tests.kit.warm_program import run_gsh

COVERS = (
    "gshtui.agents.checkpoints",
    "gshtui.agents.rewind_commands",
    "gshtui.store.checkpoint_table",
    "gshtui.tools.shadow_repository",
)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def files(folder: Path) -> dict[str, bytes | str]:
    """Every file and link, with its bytes or target, and whether it can be run."""
    found: dict[str, bytes | str] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*names, *(one for one in folders if Path(place, one).is_symlink())):
            path = Path(place, name)
            told = (
                str(path.readlink()) if path.is_symlink() else path.read_bytes() + bytes([path.stat().st_mode >> 6 & 1])
            )
            found[str(path.relative_to(folder))] = told
    return found


async def restored(shadow: ShadowRepository, tree: str) -> list[str]:
    now = await shadow.record_files()
    return await shadow.restore(tree, now, await shadow.changes(now, tree))


async def test_whatever_happened_to_the_files_a_restore_brings_them_back(project: Path) -> None:
    """Files, links, folders in the place of files and the other way round, odd names, foreign bytes, modes."""
    chance = random.Random(7)
    shadows = [ShadowRepository(project), ShadowRepository(project)]  # those of two processes
    (project / ".gitattributes").write_text("*.txt text eol=crlf ident\n*.bin filter=none\n")
    names = ["a.txt", "b/c.txt", "b/d/e.bin", "ü \n'\"x.txt", "-f", "b", "b/d", "link", "run.sh"]
    seen: list[tuple[str, dict[str, bytes | str]]] = []
    for _ in range(12):
        for name in chance.sample(names, 4):
            path = project / name
            above = [one for one in path.parents if project in one.parents]
            if any(one.is_symlink() or one.is_file() for one in above):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
            match chance.randrange(4):
                case 0:
                    continue
                case 1:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.symlink_to("/nowhere")
                case _:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(chance.randbytes(40) + b"\r\n\n$Id$\n")
                    path.chmod(chance.choice((0o644, 0o755)))
        seen.append((await chance.choice(shadows).record_files(), files(project)))
    for tree, expected in chance.sample(seen, len(seen)):
        assert await restored(chance.choice(shadows), tree) == []
        assert files(project) == expected
    assert git(project, "log", "--format=%s").strip() == "first" and not (project / ".git" / "refs" / "gsh").exists()


async def test_what_is_not_covered_stays_as_it_is(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow_repository, "MOST_BYTES", 1_000)
    shadow = ShadowRepository(project)
    (project / "later-large").write_text("small\n")
    inner = project / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "own.txt").write_text("theirs\n")
    tree = await shadow.record_files()
    (project / "x.log").write_text("ignored\n")
    (project / "large").write_bytes(b"x" * 2_000)
    (project / "later-large").write_bytes(b"y" * 2_000)
    (inner / "own.txt").write_text("changed\n")
    (project / ".git" / "info" / "exclude").write_text("mine.txt\n")
    (project / "mine.txt").write_text("mine\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    left = await restored(shadow, tree)
    assert left == ["later-large was left alone: the file there is ignored or too large to be kept."]
    kept = ("x.log", "large", "later-large", "mine.txt")
    assert all((project / name).exists() for name in kept) and (inner / "own.txt").read_text() == "changed\n"
    # A link in the place of a folder leads nobody out.
    (project / "sub").mkdir()
    (project / "sub" / "f").write_text("in\n")
    tree = await shadow.record_files()
    (project / "sub" / "f").unlink()
    (project / "sub").rmdir()
    (project / "sub").symlink_to(outside)
    await restored(shadow, tree)
    assert list(outside.iterdir()) == []


async def test_too_much_is_refused_in_one_sentence(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow_repository, "MOST_NEW", 10)
    with pytest.raises(ShadowError, match="too much for a checkpoint"):
        await ShadowRepository(project).record_files()
    monkeypatch.setattr(shadow_repository, "MOST_FILES", 1)
    [kept] = (paths.data_dir() / shadow_repository.FOLDER).iterdir()
    half = kept / "objects" / "ab" / "tmp_obj_x"  # what git leaves where the disk is full
    half.parent.mkdir(exist_ok=True)
    half.touch()
    with pytest.raises(ShadowError, match="too many for a checkpoint"):
        await ShadowRepository(project).record_files()
    assert not half.exists()


async def test_trees_that_nothing_uses_are_forgotten_and_what_a_kill_leaves_does_no_harm(project: Path) -> None:
    shadow = ShadowRepository(project)
    first = await shadow.record_files()
    (project / "a.txt").write_text("two\n")
    with (project / "disk.img").open("wb") as image:
        image.truncate(10_000_000_000)  # sparse: nothing reads it
    second = await shadow.record_files()
    assert await shadow.record_files() == second
    await shadow.tidy({second})
    [kept] = (paths.data_dir() / shadow_repository.FOLDER).iterdir()
    damaged = ("index.lock", "restore-1", "restore-1.lock", "HEAD", "index", *kept.glob("sharedindex.*"))
    assert len(damaged) > 5
    for damage in damaged:
        for half, another in (("half of it", shadow), ("", ShadowRepository(project))):
            (kept / damage).write_text(half)
            assert await another.record_files() == second
    for gone in kept.glob("*index*"):
        gone.unlink()
    assert await shadow.record_files() == second
    assert git(kept, "--git-dir=.", "fsck", "--full", "--strict") == ""
    assert await shadow.changes(second, second) == []
    with pytest.raises(ShadowError):
        await shadow.changes(first, second)


async def test_a_fork_has_the_messages_up_to_any_of_them_and_outlives_the_original(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "gsh.db")

    async def said(session: str) -> list[str]:
        return [one.message.text for one in await store.messages.read(session)]

    async def say(session: str, *words: str) -> None:
        for word in words:
            await store.messages.append(session, Message(f"{session}-{word}", "user", (Text(word),)))

    first = await store.sessions.create(cwd="/x", agent="main")
    await say(first.id, "a", "b", "c", "d")

    async def fork(session: str, upto: int) -> SessionInfo:
        return await store.sessions.fork(session, cwd="/x", agent="main", title="t", parent="", upto=upto)

    second = await fork(first.id, 3)
    await say(second.id, "e", "f")
    third = await fork(second.id, 4)
    low = await fork(third.id, 2)
    await say(first.id, "g")
    assert await said(second.id) == ["a", "b", "c", "e", "f"] and await said(third.id) == ["a", "b", "c", "e"]
    assert await said(low.id) == ["a", "b"]
    page = await store.messages.read(third.id, before=4, limit=2)
    assert [one.seq for one in page] == [2, 3]
    assert [one.seq for one in await store.messages.read_after(third.id, 1, 2)] == [2, 3]
    assert (await store.sessions.find(third.id)).messages == 4
    again = Message(f"{first.id}-b", "user", (Text("b"),))
    assert await store.messages.append(third.id, again) == 2  # known already: it is not said twice
    for gone, left in ((second.id, third.id), (first.id, third.id), (third.id, low.id)):
        before = await said(left)
        await store.sessions.delete(gone)
        assert await said(left) == before
    assert await said(low.id) == ["a", "b"]
    # One that is being written: a fork has what was there at some moment, and no gap.
    growing = await store.sessions.create(cwd="/x", agent="main")
    await say(growing.id, "0")
    made = await asyncio.gather(
        *(fork(growing.id, 99) for _ in range(3)), say(growing.id, *"123456"), fork(growing.id, 99)
    )
    whole = await said(growing.id)
    for one in made:
        assert one is None or whole[: one.messages] == await said(one.id) != []
    await store.close()


@pytest.mark.parametrize("seed", seeds(12))
async def test_after_any_chain_of_rewinds_redos_and_forks_the_folder_goes_on_where_its_person_is(
    seed: int, tmp_path: Path
) -> None:
    """The newest conversation, everywhere where one is not named, is the one that the last step led to."""
    chance = random.Random(seed)
    store = await Store.open(tmp_path / "gsh.db")
    rewinder = Rewinder(store, tmp_path)
    first = await store.sessions.create(cwd="/x", agent="main")
    now = first.id
    said: dict[str, list[str]] = {now: []}
    left: dict[str, str] = {}
    for step in range(40):
        here = said[now]
        match chance.choice(("say", "say", "rewind", "redo", "fork", "another agent")):
            case "say":
                await store.messages.append(
                    now, Message(f"m{step}", "user", (Text(f"{step}"),), at=step, agent="person")
                )
                here.append(f"{step}")
            case "rewind" if here:
                number = chance.randint(1, len(here))
                prompt = await rewinder.prompt(now, number)
                made = (await rewinder.rewind(now, prompt, None)).session.id
                said[made], left[made] = here[: len(here) - number], now
                now = made
            case "redo" if now in left:
                assert (await rewinder.undo(now, FilePlan())).session.id == left[now]
                now = left[now]
            case "fork" if here:
                at = chance.randint(1, len(here))
                upto = [one.seq for one in await store.messages.read(now)][at - 1]
                made = await store.sessions.fork(now, cwd="/x", agent="main", title="", parent="", upto=upto)
                now, said[made.id] = made.id, here[:at]
            case "another agent" if here:
                other = await store.sessions.create(cwd="/x", agent="helper", parent=first.id)
                await store.messages.append(other.id, Message(f"o{step}", "user", (Text("x"),), at=step))
            case _:
                continue
        latest = await store.sessions.latest("/x")
        assert (latest.id if latest else first.id) == now
        assert [one.message.text for one in await store.messages.read(now)] == said[now]
    await store.close()


def test_rewind_restores_what_the_shell_changed_asks_about_yours_and_can_be_undone(project: Path) -> None:
    def ask(words: str) -> None:
        done = run_gsh("prompt", "--yes", "--session", session or "new", words, cwd=project)
        assert done.code == 0, done.err

    session = ""
    ask("run echo two > a.txt; echo new > n.txt; echo log > x.log")
    session = run_gsh("session", "ls", "--json", cwd=project).json[0]["id"]
    ask("run echo three > a.txt")
    listed = run_gsh("rewind", "--json", cwd=project).json
    assert [one["text"][:16] for one in listed] == ["run echo three >", "run echo two > a"]
    (project / "n.txt").write_text("mine\n")
    refused = run_gsh("rewind", "2", cwd=project)
    assert refused.code == 1 and "changed between turns: n.txt" in refused.err
    assert (project / "a.txt").read_text() == "three\n"
    done = run_gsh("rewind", "2", "--overwrite", "--json", cwd=project)
    assert sorted(done.json["restored"]) == ["a.txt", "n.txt"] and done.json["prompt"].startswith("run echo two")
    assert (project / "a.txt").read_text() == "one\n" and not (project / "n.txt").exists()
    assert (project / "x.log").exists()  # ignored
    assert run_gsh("session", "show", "latest", "--json", cwd=project).json["messages"] == []
    back = run_gsh("redo", "--json", cwd=project)
    assert back.json["session"] == session
    shown = [run_gsh("session", "show", name, "--json", cwd=project).json["session"]["id"] for name in ("latest", "1")]
    assert shown == [session, session]
    assert ((project / "a.txt").read_text(), (project / "n.txt").read_text()) == ("three\n", "mine\n")


def test_a_fork_can_have_a_worktree_with_the_files_of_that_moment(project: Path) -> None:
    for words in ("run echo two > a.txt", "run echo three > a.txt"):
        which = "new" if "two" in words else "latest"
        assert run_gsh("prompt", "--yes", "--session", which, words, cwd=project).code == 0
    shown = run_gsh("session", "show", "--json", cwd=project).json
    messages, session = shown["messages"], shown["session"]["id"]
    second = next(n for n in range(2, len(messages) + 1) if messages[n - 1]["message"]["role"] == "user")
    made = run_gsh("fork", str(second - 1), "--worktree", "side", "--json", cwd=project).json
    ids = [one["message"]["id"] for one in messages]
    calls = next(n for n in range(second) if messages[n + 1]["message"]["role"] == "tool")
    for at, ends in ((0, 0), (second - 1, second - 1), (calls, calls + 2), (second - 2, second - 1)):
        forked = run_gsh("fork", "--message", ids[at], "--session", session, "--json", cwd=project)
        assert forked.code == 0 and forked.json["at"] == ends, (at, forked.err)
    unknown = run_gsh("fork", "--message", "nobody", "--session", session, cwd=project)
    assert unknown.code == 1 and "not in this conversation" in unknown.err
    assert (Path(made["worktree"]) / "a.txt").read_text() == "two\n" and made["files_as_then"]
    assert (project / "a.txt").read_text() == "three\n"
    wrong = run_gsh("fork", "99", cwd=project)
    assert wrong.code == 2 and "There is no message 99" in wrong.err

"""Going back in a conversation, with the files as they were; going on from any message; undoing it."""

import asyncio
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from gshtui.agents import checkpoints as checkpoints_module
from gshtui.agents.checkpoints import Checkpoints
from gshtui.agents.commands import rewind_commands
from gshtui.agents.commands.rewind import FilePlan, Rewinder
from gshtui.agents.commands.rewind_commands import RewindConversation
from gshtui.bus.messages import Message, Text
from gshtui.commands.declaration import Caller, Invocation, Question
from gshtui.commands.execution import call, question, run_asked
from gshtui.commands.registry import Registry
from gshtui.settings import paths
from gshtui.store.record.store import Store
from gshtui.store.tables.session_table import SessionInfo
from gshtui.tools.git import shadow_repository, shadow_seed
from gshtui.tools.git.shadow_repository import ShadowError, ShadowRepository
from tests.kit.storms import seeds
from tests.kit.warm_program import run_gsh


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


@pytest.mark.parametrize("seed", seeds(15))
async def test_a_shadow_that_begins_with_the_persons_own_index_has_the_same_files_as_one_that_reads_them_all(
    seed: int, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever git's own index says of them: line ends, filters, flags, conflicts, edits within one tick of a clock."""
    chance = random.Random(seed)
    git(project, "config", "filter.turn.clean", "tr a-y b-z")
    git(project, "config", "filter.turn.smudge", "tr b-z a-y")
    git(project, "config", "core.autocrlf", chance.choice(("true", "false", "input")))
    (project / ".gitattributes").write_text("*.f filter=turn\n*.u working-tree-encoding=UTF-16LE\n*.i ident\n")
    names = [f"{folder}{number}.{kind}" for folder in ("", "d/", "d/e/") for number in range(3) for kind in "tfiub"]
    for name in names:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        data = b"a\x00b\x00" * chance.randrange(9) if name.endswith(".u") else b"line\r\n$Id$\n" * chance.randrange(9)
        (project / name).write_bytes(data)
    git(project, "-c", "core.safecrlf=false", "add", "-A")
    git(project, "commit", "-qm", "second")
    for name in chance.sample(names, 12):
        match chance.randrange(9):
            case 0:
                git(project, "update-index", "--assume-unchanged", name)
                (project / name).write_bytes(b"unseen")
            case 1:
                git(project, "update-index", "--skip-worktree", name)
                (project / name).unlink()
            case 2:
                (project / name).unlink()
            case 3:
                (project / name).write_bytes((project / name).read_bytes()[::-1])  # as long, in the same moment
            case 4:
                git(project, "rm", "-q", "--cached", name)
            case 5:
                (project / name).unlink()
                (project / name).symlink_to("a.txt")
            case 6:
                (project / name).chmod(0o755)
            case 7:
                (project / name).write_bytes(b"ab" * 1_000)
                git(project, "add", name)
            case _:
                (project / f"{name}.new").write_bytes(b"new")
                git(project, "add", "-N", f"{name}.new")
    monkeypatch.setattr(shadow_repository, "MOST_BYTES", 1_500)
    monkeypatch.setattr(shadow_seed, "_FEWEST", 10**9)
    whole = await ShadowRepository(project).record_files()
    shutil.rmtree(paths.data_dir() / shadow_repository.FOLDER)
    monkeypatch.setattr(shadow_seed, "_FEWEST", 0)
    taken: list[bool] = []
    begin = shadow_seed.seed

    async def seen(*given: Any) -> bool:
        taken.append(await begin(*given))
        return taken[-1]

    monkeypatch.setattr(shadow_seed, "seed", seen)
    shadow = ShadowRepository(project)
    assert (await shadow.record_files(), taken) == (whole, [True])
    # What the person's repository loses afterwards is still there.
    shutil.rmtree(project / ".git")
    (tmp_path / "then").mkdir()
    await shadow.export(whole, tmp_path / "then")


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


class Turns:
    """Turns of an agent whose calls change files while the checkpoints before them are still being taken."""

    def __init__(self, project: Path, chance: random.Random, checkpoints: Checkpoints) -> None:
        self.project, self.chance, self.checkpoints = project, chance, checkpoints
        self.told: list[str] = []

    async def call(self, *, named: bool) -> None:
        """A call that changes one file, which it names, or any of them."""
        path = self.project / f"d{self.chance.randrange(4)}" / f"{self.chance.randrange(5)}.txt"
        if self.chance.random() < 0.2:
            path = self.project / self.chance.choice(("new.txt", "new.log", "build/new.txt", "d0/new/a.txt"))
        await self.checkpoints.ready([str(path)] if named else None, self.told.append)
        for one in [path] if named else [path, *self.project.glob(f"d{self.chance.randrange(4)}/*.txt")]:
            if one.exists() and self.chance.random() < 0.3:
                one.unlink()
            else:
                one.parent.mkdir(parents=True, exist_ok=True)
                one.write_bytes(self.chance.randbytes(8))
                one.chmod(self.chance.choice((0o644, 0o755)))

    def kept(self) -> dict[str, bytes | str]:
        """The files as they are, as far as a checkpoint has them."""
        return {
            name: told
            for name, told in files(self.project).items()
            if not name.endswith(".log") and "build" not in name
        }


@pytest.mark.parametrize("seed", seeds(30))
async def test_a_rewind_restores_what_was_there_before_a_prompt_whatever_changed_while_its_checkpoint_was_taken(
    seed: int, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow_repository, "_PART", 3)
    chance = random.Random(seed)
    for number in range(20):
        (project / f"d{number % 4}").mkdir(exist_ok=True)
        (project / f"d{number % 4}" / f"{number // 4}.txt").write_bytes(chance.randbytes(8))
    store = await Store.open(tmp_path / "gsh.db")
    session = (await store.sessions.create(cwd=str(project), agent="main")).id
    notices: list[tuple[str, str, str]] = []
    checkpoints = Checkpoints(project, store.checkpoints, lambda *notice: notices.append(notice))
    turns = Turns(project, chance, checkpoints)
    before: dict[str, dict[str, bytes | str]] = {}
    for turn in range(4):
        before[f"p{turn}"] = turns.kept()
        checkpoints.begin(session, f"p{turn}")
        for _ in range(chance.randrange(4)):
            for _ in range(chance.choice((0, 0, 1, 4))):  # the checkpoints go on meanwhile, so or so far
                await asyncio.to_thread(git, project, "version")
            await turns.call(named=chance.random() < 0.8)
        checkpoints.end()
    after = turns.kept()
    await checkpoints.settled()
    found = {(one.message, one.kind): one.tree for one in await store.checkpoints.find_all(session, str(project))}
    assert not notices
    for prompt, kept in before.items():
        assert await restored(checkpoints.shadow, found[(prompt, "before")]) == []
        assert turns.kept() == kept, prompt
    if after != before["p3"]:
        assert await restored(checkpoints.shadow, found[("p3", "after")]) == []
        assert turns.kept() == after
    await store.close()


async def test_a_call_waits_only_so_long_for_a_checkpoint_and_what_is_late_is_not_kept(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await Store.open(tmp_path / "gsh.db")
    session = (await store.sessions.create(cwd=str(project), agent="main")).id
    notices: list[tuple[str, str, str]] = []
    told: list[str] = []
    checkpoints = Checkpoints(project, store.checkpoints, lambda *notice: notices.append(notice))
    goes_on = asyncio.Event()
    record_files = checkpoints.shadow.record_files

    async def slow(heard: Callable[[int, int], None]) -> str:
        heard(0, 100_000)
        await goes_on.wait()
        return await record_files(heard)

    monkeypatch.setattr(checkpoints.shadow, "record_files", slow)
    monkeypatch.setattr(checkpoints_module, "_LONGEST", 0.05)
    checkpoints.begin(session, "p1")
    await checkpoints.ready([str(project / "a.txt")], told.append)
    assert told == []
    await checkpoints.ready(None, told.append)
    assert told == ["the files are being kept for `rewind`: 0 of 100,000"]
    checkpoints.end()
    checkpoints.begin(session, "p2")  # the next prompt waits for nothing either
    goes_on.set()
    await checkpoints.settled()
    assert [(level, text) for level, text, _ in notices] == [
        ("info", "100,000 files of this folder are being kept for `rewind`, beside the work."),
        (
            "warning",
            "The checkpoint of this folder takes long: 0 of 100,000 files are kept, so the work goes on without it.",
        ),
    ]
    kept = [(one.message, one.kind) for one in await store.checkpoints.find_all(session, str(project))]
    assert kept == [("p1", "after"), ("p2", "before")]
    await store.close()


async def test_what_a_long_checkpoint_has_taken_in_stays_when_it_is_ended(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow_repository, "_PART", 10)
    for number in range(100):
        (project / f"{number}.txt").write_text(f"{number}\n")
    task: asyncio.Task[str]

    def end_in_the_middle(done: int, total: int) -> None:
        if done >= 50:
            task.cancel()

    task = asyncio.ensure_future(ShadowRepository(project).record_files(end_in_the_middle))
    with pytest.raises(asyncio.CancelledError):
        await task
    heard: list[tuple[int, int]] = []
    tree = await ShadowRepository(project).record_files(lambda done, total: heard.append((done, total)))
    assert heard[0][1] <= 60
    await ShadowRepository(project).export(tree, tmp_path)
    assert (tmp_path / "99.txt").read_text() == "99\n"


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


async def test_going_back_says_so_and_overwrites_what_was_asked_and_no_more(project: Path, tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "gsh.db")
    session = await store.sessions.create(cwd=str(project), agent="main")
    await store.messages.append(session.id, Message("p1", "user", (Text("p one"),), at=1.0, agent="person"))
    shadow = ShadowRepository(project)
    await store.checkpoints.add(session.id, "p1", "before", str(project), await shadow.record_files())
    await store.checkpoints.add(session.id, "", "after", str(project), await shadow.record_files())
    settled: Any = AsyncMock()
    registry = Registry(rewind_commands.commands(store, lambda agent: False, settled, settled))
    invocation = Invocation(Caller(), project, project)
    back = RewindConversation(message="p1", session=session.id, asks=True)
    asked: list[Question] = []

    async def agree(question: Question) -> bool:
        asked.append(question)
        if len(asked) < 3:  # while the question waits
            (project / f"{len(asked)}.txt").write_text("mine\n")
        return True

    assert await run_asked(registry, back, invocation, agree) is not None
    assert [one.title for one in asked] == ["Go back to before “p one”?"] * 3
    named = [one.text.partition(": ")[2] for one in asked]
    assert named == ["", "1.txt.", "1.txt, 2.txt."] and all("as they were then" in one.text for one in asked)
    assert sorted(one.name for one in project.glob("*.txt")) == ["a.txt"]
    (project / "1.txt").write_text("mine\n")
    typed = RewindConversation(number=1, session=session.id)
    found = await question(registry, typed, invocation)
    assert found is not None and found.title == asked[0].title and found.text.endswith("between turns: 1.txt.")
    (project / "1.txt").unlink()
    assert await question(registry, typed, invocation) is None
    await store.close()


async def test_the_list_of_prompts_says_how_many_files_each_turn_changed(project: Path, tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "gsh.db")
    session = await store.sessions.create(cwd=str(project), agent="main")
    shadow = ShadowRepository(project)
    for prompt, written in (("p1", "12"), ("p2", ""), ("p3", "3"), ("p4", "")):
        await store.messages.append(session.id, Message(prompt, "user", (Text(prompt),), at=1.0, agent="person"))
        await store.checkpoints.add(session.id, prompt, "before", str(project), await shadow.record_files())
        for name in written:
            (project / f"{name}.txt").write_text("written\n")
        if written:
            await store.checkpoints.add(session.id, prompt, "after", str(project), await shadow.record_files())
        (project / "mine.txt").write_text(f"after {prompt}\n")
    settled: Any = AsyncMock()
    registry = Registry(rewind_commands.commands(store, lambda agent: False, settled, settled))
    done = await call(registry, RewindConversation(session=session.id), Invocation(Caller(), project, project))
    assert [(one.text, one.changed) for one in done.prompts] == [
        *(("p4", ""), ("p3", " · 1 file"), ("p2", ""), ("p1", " · 2 files")),
    ]
    await store.close()


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

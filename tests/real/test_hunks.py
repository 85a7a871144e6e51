"""Single changes of real repositories: staged, discarded and rewritten, whatever the file is like."""

import random
import subprocess
from pathlib import Path

import pytest

from gshtui.commands import execution
from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.commands.registry import Registry
from gshtui.tools.git import worktree_changes
from gshtui.tools.git.hunk_commands import DiscardHunk, EditHunk, ListHunks, ShowHunk, StageHunk, commands
from gshtui.tools.git.hunks import Hunk
from tests.kit.home import Home
from tests.kit.storms import seeds
from tests.real.test_git_worktree import WHO

ODD = 'a "b"\té'


def run_git(folder: Path, *arguments: str) -> str:
    """What git says, which is not always UTF-8."""
    done = subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


@pytest.fixture
def project(tmp_path: Path, home: Home) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "config", "core.quotePath", "true")
    return folder


class Hunks:
    """The commands in one repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry = Registry(commands(20))
        self.invocation = Invocation(Caller(), folder, folder)

    async def list(self) -> list[Hunk]:
        return (await execution.call(self.registry, ListHunks(), self.invocation)).hunks

    async def stage(self, hunk: Hunk) -> None:
        await execution.call(
            self.registry, StageHunk(file=hunk.shown, number=hunk.number, mark=hunk.mark), self.invocation
        )

    async def discard(self, hunk: Hunk) -> str:
        call = DiscardHunk(file=hunk.shown, number=hunk.number, mark=hunk.mark)
        return (await execution.call(self.registry, call, self.invocation)).kept

    async def text(self, hunk: Hunk) -> str:
        call = ShowHunk(file=hunk.shown, number=hunk.number, mark=hunk.mark)
        return (await execution.call(self.registry, call, self.invocation)).text

    async def edit(self, hunk: Hunk, text: str) -> None:
        call = EditHunk(file=hunk.shown, number=hunk.number, mark=hunk.mark, text=text)
        await execution.call(self.registry, call, self.invocation)


def committed(folder: Path, content: bytes) -> Hunks:
    (folder / ODD).write_bytes(content)
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-q", "-m", "one")
    return Hunks(folder)


def changed_lines(diff: str) -> list[str]:
    return [line for line in diff.split("\n") if line[:1] in "+-" and not line.startswith(("+++", "---"))]


@pytest.mark.parametrize("seed", seeds(4, by=2))
async def test_each_change_by_itself_and_all_of_them_together(project: Path, seed: int) -> None:
    dice = random.Random(seed)
    end, last = (b"\r\n", b"") if seed % 2 else (b"\n", b"\n")
    lines = [b"line %d" % number for number in range(90)]
    git = committed(project, end.join(lines) + last)
    fresh = list(lines)
    for at in sorted(dice.sample(range(0, 90, 10), 5), reverse=True):
        what = dice.choice(("put", "drop", "swap"))
        fresh[at : at + (what != "put")] = [] if what == "drop" else [b"new", b"\xff" * dice.randint(1, 3)]
    (project / ODD).write_bytes(end.join(fresh) + last)
    hunks = await git.list()
    one = dice.choice(hunks)
    await git.stage(one)
    assert changed_lines(run_git(project, "diff", "--cached", "-a")) == changed_lines("\n".join(one.lines[1:]))
    with pytest.raises(CommandError, match="staged or committed"):
        await git.stage(one)
    for hunk in hunks:
        if hunk is not one:
            await git.stage(hunk)
    assert not run_git(project, "diff")
    kept = [await git.discard(hunk) for hunk in hunks]  # each is found by its mark, whatever its number is by now
    assert (project / ODD).read_bytes() == end.join(lines) + last
    assert run_git(project, "cat-file", "-s", kept[0]) == str(len(end.join(fresh) + last))


@pytest.mark.parametrize(("end", "last"), [(b"\n", b"\n"), (b"\r\n", b"\r\n"), (b"\n", b"")])
async def test_lines_are_edited_in_place(project: Path, end: bytes, last: bytes) -> None:
    git = committed(project, end.join([b"one", b"two", b"three"]) + last)
    (project / ODD).write_bytes(end.join([b"one", b"\t2", b"three"]) + last)
    (hunk,) = await git.list()
    assert await git.text(hunk) == "one\n\t2\nthree"
    await git.edit(hunk, "one\n\t2\n2a\nthree")
    assert (project / ODD).read_bytes() == end.join([b"one", b"\t2", b"2a", b"three"]) + last
    with pytest.raises(CommandError, match="another one by now"):
        await git.edit(hunk, "one")


async def test_new_files_that_are_too_large_are_listed_and_not_read(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktree_changes, "MOST_NEW", 9_000_000)
    git = committed(project, b"one\n")
    for name, size in (("disk.img", 10_000_000_000), (ODD + ".img", 20_000_000), ("small", 100)):
        with (project / name).open("wb") as file:
            file.truncate(size)  # sparse
    hunks = {hunk.file.path: hunk for hunk in await git.list()}
    assert hunks["disk.img"].lines[0] == "A new file of 10,000 MB: too large to be compared."
    assert hunks[ODD + ".img"].file.too_large == 20_000_000 and not hunks["small"].file.too_large
    with pytest.raises(CommandError, match="too large to be kept"):
        await git.discard(hunks["disk.img"])
    (project / "disk.img").write_bytes(b"another")
    with pytest.raises(CommandError, match="another one by now"):
        await git.discard(hunks["disk.img"])
    assert (project / "disk.img").exists()


async def test_what_has_no_lines_is_one_change_of_the_whole_file(project: Path) -> None:
    """Binary content, another mode, another name, and empty files, new and deleted."""
    binary = bytes(range(256))
    for name, content in (("picture", binary), ("gone", b"\0gone"), ("script", b"x\n"), ("old", b"a\nb\nc\n")):
        (project / name).write_bytes(content)
    git = committed(project, b"one\n")
    (project / "picture").write_bytes(binary[::-1])
    (project / "gone").unlink()
    (project / "script").chmod(0o755)
    (project / "empty").touch()
    (project / "old").rename(project / "name")
    run_git(project, "add", "-N", "name")
    hunks = {hunk.file.path: hunk for hunk in await git.list()}
    assert all(hunk.whole and hunk.number == 1 for hunk in hunks.values())
    said = {path: hunk.lines[0] for path, hunk in hunks.items()}
    assert said["picture"].startswith("Binary file")
    assert said["script"] == "Only its mode changed: 644 → 755."
    assert said["empty"] == "An empty file."
    assert said["gone"].startswith("Binary file")
    assert said["name"] == "Only its name changed."
    for name in ("picture", "script"):
        await git.stage(hunks[name])
    assert run_git(project, "diff", "--cached", "--name-only").split() == ["picture", "script"]
    with pytest.raises(CommandError, match="has no lines"):
        await git.text(hunks["picture"])
    with pytest.raises(CommandError, match="was old"):
        await git.discard(hunks["name"])
    kept = await git.discard(hunks["picture"])
    assert (project / "picture").read_bytes() == binary
    assert run_git(project, "cat-file", "-s", kept) == "256"
    assert "picture" in run_git(project, "diff", "--cached", "--name-only"), "what is staged stays staged"
    for name in ("script", "empty", "gone"):
        await git.discard(hunks[name])
    assert not (project / "script").stat().st_mode & 0o111
    assert (project / "gone").read_bytes() == b"\0gone" and not (project / "empty").exists()
    (project / "picture").write_bytes(b"\0other")
    with pytest.raises(CommandError, match="another one by now"):
        await git.discard(hunks["picture"])
    assert (project / "picture").read_bytes() == b"\0other"


async def test_new_and_deleted_files_and_what_is_refused(project: Path) -> None:
    git = committed(project, b"one\n")
    (project / ODD).chmod(0o755)
    run_git(project, "commit", "-qam", "two")
    (project / ODD).unlink()
    (project / "new").write_bytes(b"esc \x1b[31m\n")
    (project / "link").symlink_to("/etc/passwd")
    hunks = {hunk.file.path: hunk for hunk in await git.list()}
    with pytest.raises(CommandError, match="can't be shown as they are"):
        await git.text(hunks["new"])
    with pytest.raises(CommandError, match="no regular file"):
        await git.edit(hunks["link"], "/etc/shadow")
    with pytest.raises(CommandError, match="is deleted"):
        await git.text(hunks[ODD])
    await git.discard(hunks[ODD])
    assert (project / ODD).stat().st_mode & 0o111
    await git.discard(hunks["new"])
    assert not (project / "new").exists()
    (project / "new").write_text("other\n")
    with pytest.raises(CommandError, match="another one by now"):
        await git.discard(hunks["new"])
    assert (project / "new").read_text() == "other\n"
    await git.stage(hunks["link"])
    assert run_git(project, "diff", "--cached", "--name-only") == "link"

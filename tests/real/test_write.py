"""Writing and editing real files: nothing half done, nobody's change lost, no link followed astray."""

import os
import stat
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError, Effect
from gshtui.tools.files import file_access
from tests.kit.tool_harness import ToolHarness
from tests.real.test_bash import tools

__all__ = ["tools"]


async def test_a_new_file_and_its_folders(tools: ToolHarness) -> None:
    outcome = await tools.run("write", path="a/b/c.txt", content="one\ntwo\n")
    assert (tools.project / "a/b/c.txt").read_text() == "one\ntwo\n"
    assert outcome.text == "Created a/b/c.txt: 2 lines, 8 bytes; created the folder a"
    assert "+one" in outcome.diff
    assert [entry.name for entry in (tools.project / "a/b").iterdir()] == ["c.txt"]


async def test_what_was_not_read_is_not_replaced(tools: ToolHarness) -> None:
    file = tools.write_file("a.txt", "precious\n")
    with pytest.raises(CommandError, match="have not read it"):
        await tools.run("write", path="a.txt", content="x")
    await tools.run("read", path="a.txt", agent="other")
    with pytest.raises(CommandError, match="have not read it"):
        await tools.run("write", path="a.txt", content="x")
    assert file.read_text() == "precious\n"
    await tools.run("read", path="a.txt")
    file.chmod(0o755)
    assert "(+1 −1)" in (await tools.run("write", path="a.txt", content="new\n")).text
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    await tools.run("write", path="a.txt", content="newer\n")
    assert file.read_text() == "newer\n"


async def test_what_changed_since_is_not_replaced(tools: ToolHarness) -> None:
    file = tools.write_file("a.txt", "one\n")
    await tools.run("read", path="a.txt")
    file.write_text("two\n")
    for name, arguments in (("write", {"content": "x"}), ("edit", {"old_text": "two", "new_text": "x"})):
        with pytest.raises(CommandError, match="changed since you last read"):
            await tools.run(name, path="a.txt", **arguments)
    assert file.read_text() == "two\n"
    await tools.run("read", path="a.txt")
    os.utime(file, (1, 1))
    await tools.run("edit", path="a.txt", old_text="two", new_text="three")
    assert file.read_text() == "three\n"


@pytest.mark.parametrize(
    "path",
    [
        *(".", "", "src/", ".git/config", ".git/hooks/pre-commit", ".GIT/x", ".gsh/config.toml", "a/" * 3000 + "f"),
        *("~/.local/share/gsh/agents/0002.json", "~/.local/share/gsh/trusted.json", "~/.config/gsh/rules.toml"),
    ],
)
async def test_where_nothing_is_written(tools: ToolHarness, path: str) -> None:
    before = sorted(tools.project.rglob("*"))
    with pytest.raises(CommandError):
        await tools.run("write", path=path, content="x")
    with pytest.raises(CommandError):
        await tools.assess("write", path=path, content="x")
    assert sorted(tools.project.rglob("*")) == before


async def test_a_link_out_of_the_project_is_not_written_through(tools: ToolHarness, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tools.project / "d").symlink_to(outside)
    with pytest.raises(CommandError, match="leads outside the project"):
        await tools.run("write", path="d/x", content="x")
    assert list(outside.iterdir()) == []
    named = await tools.assess("write", path=str(outside / "x"), content="x")
    assert (named.inside, named.effect) == (False, Effect.WRITE)
    assert "outside the project" in named.warnings


async def test_a_link_inside_is_kept_and_its_target_written(tools: ToolHarness) -> None:
    target = tools.write_file("real.txt", "a\n")
    (tools.project / "link").symlink_to("real.txt")
    assessment = await tools.assess("edit", path="link", old_text="a", new_text="b")
    assert assessment.subject == "real.txt"
    assert any("through a link" in warning for warning in assessment.warnings)
    await tools.run("edit", path="link", old_text="a", new_text="b")
    assert target.read_text() == "b\n"
    assert (tools.project / "link").is_symlink()


async def test_a_file_swapped_for_a_link_after_the_question(tools: ToolHarness, tmp_path: Path) -> None:
    victim = tmp_path / "rc"
    victim.write_text("mine\n")
    await tools.assess("write", call="c1", path="f", content="evil")
    (tools.project / "f").symlink_to(victim)
    with pytest.raises(CommandError):
        await tools.run("write", call="c1", path="f", content="evil")
    assert victim.read_text() == "mine\n"


async def test_a_link_swapped_after_the_question_about_an_edit(tools: ToolHarness, tmp_path: Path) -> None:
    tools.write_file("a/f", "one\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "f").write_text("one\n")
    (tools.project / "d").symlink_to("a")
    await tools.run("read", path="d/f")
    edit = {"path": "d/f", "old_text": "one", "new_text": "two"}
    await tools.assess("edit", call="c1", **edit)
    (tools.project / "d").unlink()
    (tools.project / "d").symlink_to(tmp_path / "b")
    with pytest.raises(CommandError):
        await tools.run("edit", call="c1", **edit)
    assert (tmp_path / "b" / "f").read_text() == "one\n"


def test_a_folder_swapped_for_a_link_at_the_last_moment(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "d").symlink_to(tmp_path / "outside")
    with pytest.raises(CommandError, match="appeared in the path"):
        file_access.replace(tmp_path / "d" / "x", b"evil")
    (tmp_path / "f").symlink_to(tmp_path / "outside" / "y")
    with pytest.raises(CommandError, match="appeared in the path"):
        file_access.replace(tmp_path / "f", b"evil")
    with pytest.raises(CommandError, match="appeared in the path"):
        file_access.open_regular(tmp_path / "f")
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_hard_link_is_not_written_through(tools: ToolHarness, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("a\n")
    (tools.project / "f").hardlink_to(other)
    with pytest.raises(CommandError, match="a hard link"):
        await tools.run("append", path="f", content="more")
    assert other.read_text() == "a\n"
    await tools.run("edit", path="f", old_text="a", new_text="b")
    await tools.run("append", path="f", content="more")  # it is a file of its own now
    assert other.read_text() == "a\n"


async def test_a_failed_write_leaves_all_as_it_was(tools: ToolHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tools.write_file("a.txt", "one\n")
    await tools.run("read", path="a.txt")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CommandError, match=r"^Cannot write a\.txt: the disk is full\.$"):
        await tools.run("write", path="a.txt", content="two\n")
    assert file.read_text() == "one\n"
    assert [entry.name for entry in tools.project.iterdir()] == ["a.txt"]


async def test_half_a_character_is_refused(tools: ToolHarness) -> None:
    with pytest.raises(CommandError, match="surrogate"):
        await tools.run("write", path="a.txt", content="\ud800")
    assert not (tools.project / "a.txt").exists()


async def test_an_edit_is_exact_and_unique(tools: ToolHarness) -> None:
    file = tools.write_file("a.py", "x = 1\ny = 1\nz = 2\n")
    outcome = await tools.run("edit", path="a.py", old_text="z = 2", new_text="z = 3\nw = 4")
    assert file.read_text() == "x = 1\ny = 1\nz = 3\nw = 4\n"
    assert outcome.text == "Edited a.py, at line 3 (+2 −1)"
    with pytest.raises(CommandError, match="2 times, at lines 1, 2"):
        await tools.run("edit", path="a.py", old_text="= 1", new_text="= 2")
    outcome = await tools.run("edit", path="a.py", old_text="= 1", new_text="= 2", replace_all=True)
    assert outcome.data == {"path": "a.py", "replaced": 2}
    with pytest.raises(CommandError, match="nothing to change"):
        await tools.run("edit", path="a.py", old_text="x", new_text="x")
    with pytest.raises(CommandError, match="empty"):
        await tools.run("edit", path="a.py", old_text="", new_text="x")
    with pytest.raises(CommandError, match=r"Similar names: a\.py"):
        await tools.run("edit", path="b.py", old_text="x", new_text="y")


async def test_a_missed_edit_says_what_is_near_before_anyone_is_asked(tools: ToolHarness) -> None:
    tools.write_file("a.py", "def f():\n\treturn 1\n")
    with pytest.raises(CommandError, match="the file has 1 tab, old_text has 4 spaces"):
        await tools.assess("edit", path="a.py", old_text="    return 1", new_text="x")


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x", b"x\r\n"),
        (b"a\nb\nc\r\n", "a\nb", "x\ny", b"x\ny\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        ("é à\n".encode("latin-1"), "é", "ü", "ü à\n".encode("latin-1")),
        ("\ufeffé\n".encode("utf-16-le"), "é", "日", "\ufeff日\n".encode("utf-16-le")),
        (b"no end", "no end", "still none", b"still none"),
        (b"\x0ca\n", "a", "b", b"\x0cb\n"),
    ],
)
async def test_an_edit_keeps_every_other_byte(
    tools: ToolHarness, before: bytes, old: str, new: str, after: bytes
) -> None:
    file = tools.write_file("f", before)
    await tools.run("edit", path="f", old_text=old, new_text=new)
    assert file.read_bytes() == after


async def test_what_the_encoding_cannot_hold_is_refused(tools: ToolHarness) -> None:
    file = tools.write_file("f", "é\n".encode("latin-1"))
    with pytest.raises(CommandError, match=r"U\+65E5"):
        await tools.run("edit", path="f", old_text="é", new_text="日")
    assert file.read_bytes() == b"\xe9\n"
    tools.write_file("bin", bytes(range(256)))
    with pytest.raises(CommandError, match="is not text"):
        await tools.run("edit", path="bin", old_text="a", new_text="b")


async def test_the_question_shows_diff_and_real_path(tools: ToolHarness) -> None:
    tools.write_file("src/a.py", "x = 1\n")
    tools.write_file("package.json", "{}\n")
    edit = await tools.assess("edit", path="src/a.py", old_text="1", new_text="2\x1b[2J")
    assert "-x = 1\n+x = 2␛[2J\n" in edit.diff
    assert edit.pattern == "edit files in src"
    again = await tools.assess("edit", path="src/a.py", old_text="1", new_text="3")
    assert edit.key != again.key
    package = await tools.assess("edit", path="package.json", old_text="{}", new_text="[]")
    assert package.pattern == "edit package.json"
    assert any("decides what other programs run" in warning for warning in package.warnings)
    assert (await tools.assess("write", path="src/.env", content="K=1")).pattern == ""

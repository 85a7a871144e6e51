"""Reading real files: ranges, sizes, encodings, kinds, and what is not there."""

import os
import tracemalloc
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError, Effect
from tests.kit.tool_harness import ToolHarness
from tests.real.test_bash import tools

__all__ = ["tools"]


async def test_lines_have_numbers_and_ranges(tools: ToolHarness) -> None:
    tools.write_file("a.txt", "one\ntwo\nthree\nfour\n")
    assert (await tools.run("read", path="a.txt")).text == "     1│one\n     2│two\n     3│three\n     4│four"
    assert (await tools.run("read", path="a.txt", start_line=2, end_line=3)).text == "     2│two\n     3│three"
    assert (await tools.run("read", path="a.txt", start_line=-1)).text == "     4│four"
    assert "no line 9: the file has 4 lines" in (await tools.run("read", path="a.txt", start_line=9)).text
    with pytest.raises(CommandError, match="before start_line"):
        await tools.run("read", path="a.txt", start_line=3, end_line=2)
    assert (await tools.run("read", path="a.txt", start_line=None)).text.startswith("     1│")


async def test_a_long_file_says_how_to_go_on(tools: ToolHarness) -> None:
    tools.write_file("long.txt", "".join(f"line {n}\n" for n in range(1, 10_001)))
    text = (await tools.run("read", path="long.txt")).text
    assert " of 10,000 are left out; continue with start_line=" in text
    assert text.endswith("\n  9999│line 9999\n 10000│line 10000")
    assert 25_000 < len(text.encode()) <= 30_000
    following = int(text.rpartition("start_line=")[2].partition("]")[0])
    assert f"\n{following - 1:>6}│line {following - 1}\n[lines {following:,}–" in text
    assert (await tools.run("read", path="long.txt", start_line=following)).text.startswith(
        f"{following:>6}│line {following}\n"
    )


async def test_a_huge_file_is_not_loaded(tools: ToolHarness) -> None:
    file = tools.write_file("huge.log", "")
    with file.open("wb") as out:
        for n in range(3_000):
            out.write(b"%08d %s\n" % (n, b"x" * 40_000))
    tracemalloc.start()
    try:
        text = (await tools.run("read", path="huge.log", start_line=2_900, end_line=2_901)).text
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "  2900│00002899 xxx" in text
    assert "a line of 40,010 bytes" in text
    assert peak < 16 << 20


async def test_one_endless_line(tools: ToolHarness) -> None:
    tools.write_file("one.json", b"[" + b"1," * 3_000_000 + b"1]\nlast\n")
    text = (await tools.run("read", path="one.json")).text
    assert "a line of 6,000,004 bytes" in text
    assert text.endswith("     2│last")


@pytest.mark.parametrize(
    ("content", "shown", "note"),
    [
        ("\ufeffcafé\n".encode(), "     1│café", ""),
        ("café\n".encode("latin-1"), "     1│café", "read as Latin-1"),
        ("\ufeffcafé\nb\n".encode("utf-16-le"), "     1│café\n     2│b", "UTF-16-LE"),
        (b"a\r\nb\r\n", "     1│a\n     2│b", "line ends: CRLF"),
        (b"a\r\nb\nc\n", "     1│a\n     2│b\n     3│c", "mixed"),
        (b"\x1b[31mred\x1b]0;x\x07\n", "     1│␛[31mred␛]0;x␇", ""),
        ("x\u202ey\u2028z\n".encode(), "     1│x⟨U+202E⟩y⟨U+2028⟩z", ""),
        (b"no newline", "     1│no newline", ""),
        (b"", "(the file is empty)", ""),
    ],
)
async def test_encodings(tools: ToolHarness, content: bytes, shown: str, note: str) -> None:
    tools.write_file("f", content)
    text = (await tools.run("read", path="f")).text
    assert text.startswith(shown)
    assert note in text


async def test_what_is_no_text_is_described(tools: ToolHarness) -> None:
    tools.write_file("p.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x20\x08\x06\0\0\0" + b"\0" * 100)
    assert (await tools.run("read", path="p.png")).text == (
        "[p.png: PNG image, 16×32 pixels, 129 bytes; not text, so it is not shown]"
    )
    os.mkfifo(tools.project / "pipe")
    for path, kind in (("pipe", "a pipe"), ("/dev/zero", "a device")):
        with pytest.raises(CommandError, match=kind):
            await tools.run("read", path=path)


async def test_folders_are_listed(tools: ToolHarness) -> None:
    tools.write_file("src/a.py", "x")
    tools.write_file("b\x1b[2Jad", "x")
    (tools.project / "link").symlink_to("src")
    assert (await tools.run("read", path=".")).text == "link/ -> src\nsrc/\nb␛[2Jad  (1 bytes)"


async def test_names_that_are_no_utf8(tools: ToolHarness) -> None:
    (Path(os.fsdecode(os.fsencode(tools.project) + b"/caf\xe9.txt"))).write_text("x\n")
    listing = await tools.run("read", path=".")
    assert "caf" in listing.text
    listing.text.encode()
    name = os.fsdecode(b"caf\xe9.txt")
    assert (await tools.run("read", path=name)).text == "     1│x"
    (await tools.assess("read", path=name)).subject.encode()


async def test_what_is_missing_names_what_is_near(tools: ToolHarness) -> None:
    tools.write_file("src/settings.py", "")
    with pytest.raises(CommandError, match=r"src/setings\.py does not exist\. Similar names: src/settings\.py"):
        await tools.run("read", path="src/setings.py")
    with pytest.raises(CommandError, match="Similar names: src"):
        await tools.run("read", path="scr/settings.py")


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "x" * 5000, "a/" * 3000])
async def test_paths_that_cannot_be_meant(tools: ToolHarness, path: str) -> None:
    with pytest.raises(CommandError):
        await tools.run("read", path=path)


async def test_circles_of_links(tools: ToolHarness) -> None:
    (tools.project / "a").symlink_to("b")
    (tools.project / "b").symlink_to("a")
    with pytest.raises(CommandError):
        await tools.run("read", path="a")


async def test_a_read_inside_needs_no_question(tools: ToolHarness) -> None:
    tools.write_file("a.txt", "x")
    inside = await tools.assess("read", path="./x/../a.txt")
    assert (inside.effect, inside.subject, inside.inside, inside.warnings) == (Effect.READ, "a.txt", True, ())


async def test_a_read_outside_or_of_a_secret_is_a_question(tools: ToolHarness, tmp_path: Path) -> None:
    (tmp_path / "project-evil").mkdir()
    (tmp_path / "project-evil" / "x").write_text("x")
    (tools.project / "link").symlink_to(tmp_path / "project-evil" / "x")
    tools.write_file(".env", "KEY=1")
    beside = await tools.assess("read", path="../project-evil/x")
    linked = await tools.assess("read", path="link")
    secret = await tools.assess("read", path=".env")
    environ = await tools.assess("read", path="/proc/self/environ")
    assert not beside.inside
    assert not linked.inside
    assert linked.subject == str(tmp_path / "project-evil" / "x")
    assert any("through a link" in warning for warning in linked.warnings)
    assert not secret.inside
    assert secret.pattern == ""
    assert not environ.inside


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("grep", {"pattern": "x", "path": "d"}),
        ("glob", {"pattern": "d/*"}),
        ("glob", {"pattern": "*", "path": "d"}),
        ("read", {"path": "d"}),
    ],
)
async def test_a_folders_link_that_changes_after_the_question(
    tools: ToolHarness, tmp_path: Path, tool: str, arguments: dict[str, str]
) -> None:
    tools.write_file("safe/x.txt", "x")
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "x.txt").write_text("x")
    (tools.project / "d").symlink_to("safe")
    await tools.assess(tool, call="c1", **arguments)
    (tools.project / "d").unlink()
    (tools.project / "d").symlink_to(tmp_path / "keys")
    with pytest.raises(CommandError, match="when it was approved"):
        await tools.run(tool, call="c1", **arguments)


async def test_a_link_that_changes_after_the_question(tools: ToolHarness, tmp_path: Path) -> None:
    tools.write_file("safe.txt", "safe")
    (tmp_path / "secret.txt").write_text("secret")
    (tools.project / "f").symlink_to("safe.txt")
    await tools.assess("read", call="c1", path="f")
    (tools.project / "f").unlink()
    (tools.project / "f").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(CommandError, match="when it was approved"):
        await tools.run("read", call="c1", path="f")

"""Finding files and text in them."""

import os
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.tool_harness import ToolHarness


def made(tmp_path: Path, config: ToolConfig) -> ToolHarness:
    (tmp_path / "project").mkdir()
    tools = ToolHarness(tmp_path / "project", config)
    tools.write_file("src/app.py", "import os\n\n\ndef run():\n    return os.name  # café\n")
    tools.write_file("src/lib/deep.py", "def run():\n    pass\n")
    tools.write_file("README.md", "# run it\n")
    tools.write_file(".github/ci.yml", "run: tests\n")
    tools.write_file(".gitignore", "build/\n*.log\n!keep.log\n")
    tools.write_file("src/.gitignore", "/generated.py\n")
    for ignored in ("build/out.py", "x.log", "src/generated.py", ".git/config", "node.env", "certs/server.key"):
        tools.write_file(ignored, "def run(): secret\n")
    tools.write_file("keep.log", "run\n")
    tools.write_file("blob.bin", b"run\0\1\2")
    return tools


@pytest.fixture
def tools(tmp_path: Path) -> ToolHarness:
    return made(tmp_path, ToolConfig(os.environ))


def found(text: str) -> set[str]:
    return {line for line in text.splitlines() if line and not line[0].isspace() and not line.startswith("[")}


async def test_matches_by_file_with_context(tools: ToolHarness) -> None:
    outcome = await tools.run("grep", pattern=r"def \w+\(", context_lines=1)
    assert outcome.text == (
        "src/app.py\n     3│\n     4:def run():\n     5│    return os.name  # café\n\n"
        "src/lib/deep.py\n     1:def run():\n     2│    pass"
    )
    assert outcome.data["count"] == 2


async def test_what_is_ignored_secret_or_binary_is_passed_by(tools: ToolHarness) -> None:
    text = (await tools.run("grep", pattern="run", context_lines=0)).text
    assert found(text) >= {"src/app.py", "src/lib/deep.py", "README.md", ".github/ci.yml"}
    assert not found(text) & {"src/generated.py", "build/out.py", ".git/config", "certs/server.key", "blob.bin"}
    assert "secret" not in (await tools.run("grep", pattern="secret")).text.partition("No match for secret")[2]
    assert (await tools.run("grep", pattern="secret", path="certs/server.key")).data["count"] == 1
    assert (await tools.run("grep", pattern="secret", path="build")).data["count"] == 1


async def test_file_patterns(tools: ToolHarness) -> None:
    assert found((await tools.run("grep", pattern="run", file_pattern="*.md")).text) == {"README.md"}
    assert found((await tools.run("grep", pattern="run", file_pattern="src/*.py")).text) == {"src/app.py"}
    assert found((await tools.run("grep", pattern="run", file_pattern="**/deep.*")).text) == {"src/lib/deep.py"}
    assert found((await tools.run("grep", pattern="run", file_pattern="*.{md,yml}")).text) == {
        "README.md",
        ".github/ci.yml",
    }


async def test_kinds_of_patterns(tools: ToolHarness) -> None:
    tools.write_file("p.txt", "--flag\n-e x\n$HOME\nA.B\ncafé日本\nfoo\nbar\n")

    async def lines(pattern: str) -> list[int]:
        outcome = await tools.run("grep", pattern=pattern, path="p.txt", context_lines=0)
        return [match["line"] for match in outcome.data["matches"]]

    assert await lines("--flag") == [1]
    assert await lines("-e x") == [2]
    assert await lines(r"\$HOME") == [3]
    assert await lines("(?i)a.b") == [4]
    assert await lines(r"caf\w日") == [5]
    assert await lines("foo\\nbar") == [6, 7]
    assert await lines("foo(?=$)") == [6]
    assert await lines(r"o\s*bar") == []


async def test_a_pattern_that_is_none(tools: ToolHarness) -> None:
    with pytest.raises(CommandError, match=r"The search was refused: .*Escape literal characters"):
        await tools.run("grep", pattern="foo(")
    with pytest.raises(CommandError, match="empty"):
        await tools.run("grep", pattern="")
    with pytest.raises(CommandError, match=r"nope does not exist"):
        await tools.run("grep", pattern="x", path="nope")


async def test_output_is_sanitised_and_capped(tools: ToolHarness) -> None:
    tools.write_file("e.txt", "hit \x1b]0;x\x07 end\n" + "hit " + "x" * 9_000 + "\n")
    tools.write_file("many.txt", "hit me\n" * 5_000)
    text = (await tools.run("grep", pattern="hit", path="e.txt")).text
    assert "hit ␛]0;x␇ end" in text
    assert "(9,004 characters)" in text
    many = await tools.run("grep", pattern="hit", path="many.txt")
    assert len(many.text.encode()) <= 30_000
    assert "stopped at 1,000 matches" in many.text
    assert many.data["complete"] is False


async def test_names_and_lines_that_are_no_utf8(tools: ToolHarness) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (tools.project / name).write_bytes(b"needle caf\xe9\n")
    outcome = await tools.run("grep", pattern="needle")
    assert "needle café" in outcome.text or "needle caf" in outcome.text
    outcome.text.encode()
    assert outcome.data["count"] == 1


async def test_a_huge_line_is_passed_by(tools: ToolHarness) -> None:
    tools.write_file("min.js", b"x" * 6_000_000 + b"needle\n")
    tools.write_file("small.js", "needle\n")
    outcome = await tools.run("grep", pattern="needle", context_lines=0)
    assert "small.js" in outcome.text


async def test_a_search_without_end_is_ended(tmp_path: Path) -> None:
    tools = made(tmp_path, ToolConfig(os.environ, search_timeout_s=0.5))
    os.mkfifo(tmp_path / "project/endless")
    outcome = await tools.run("grep", pattern="run", path="endless")
    assert "stopped after 0.5 s" in outcome.text


async def test_without_ripgrep_it_says_what_to_install(tmp_path: Path) -> None:
    tools = made(tmp_path, ToolConfig(os.environ, ripgrep="no-ripgrep-here"))
    with pytest.raises(CommandError, match=r"ripgrep \(rg\), which this tool needs, is not installed") as refused:
        await tools.run("grep", pattern="run")
    assert "Install the package `ripgrep`" in str(refused.value)


async def test_ripgrep_obeys_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = made(tmp_path, ToolConfig(os.environ))
    rc = tmp_path / "rc"
    rc.write_text(f"--pre={tmp_path / 'evil'}\n")
    (tmp_path / "evil").write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\n")
    (tmp_path / "evil").chmod(0o755)
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(rc))
    await tools.run("grep", pattern="run")
    await tools.run("grep", pattern=f"--pre={tmp_path / 'evil'}")
    assert not (tmp_path / "owned").exists()


@pytest.fixture
def files(tmp_path: Path) -> ToolHarness:
    return made(tmp_path, ToolConfig(os.environ))


async def test_files_newest_first_without_the_ignored(files: ToolHarness) -> None:
    os.utime(files.project / "src/app.py", (1_000, 1_000))
    os.utime(files.project / "src/lib/deep.py", (2_000, 2_000))
    outcome = await files.run("glob", pattern="**/*.py")
    assert outcome.text == "src/lib/deep.py\nsrc/app.py"
    assert (await files.run("glob", pattern="*.log")).text == "keep.log"
    assert (await files.run("glob", pattern="*.py", path="build")).text == "build/out.py"
    assert (await files.run("glob", pattern=".github/*")).text == ".github/ci.yml"
    assert (await files.run("glob", pattern=f"{files.project}/src/*.py")).text == "src/app.py"


async def test_files_that_are_not_there(files: ToolHarness) -> None:
    text = (await files.run("glob", pattern="*.py")).text
    assert text == "No file matches *.py in the project's folder.\n2 files in deeper folders match: use **/*.py"
    with pytest.raises(CommandError, match="does not exist"):
        await files.run("glob", pattern="*.py", path="scr")
    with pytest.raises(CommandError, match="is a file"):
        await files.run("glob", pattern="*", path="README.md")
    with pytest.raises(CommandError, match="choices"):
        await files.run("glob", pattern="{a,b}" * 20)


async def test_many_files_are_counted(files: ToolHarness) -> None:
    for number in range(250):
        files.write_file(f"many/{number}.txt", "")
    outcome = await files.run("glob", pattern="many/*.txt")
    assert "[the newest 200 of 250; narrow the pattern to see others]" in outcome.text
    assert outcome.data["count"] == 250


async def test_a_broken_ignore_file_and_circles_of_links(files: ToolHarness) -> None:
    files.write_file("odd/.gitignore", "***a\n!\n[z-a]\n[[:alpha:]]x\n*.tmp\n")
    (files.project / "odd" / os.fsdecode(b"caf\xe9.tmp")).touch()
    files.write_file("odd/x.tmp", "")
    files.write_file("odd/y.txt", "")
    (files.project / "odd/circle").symlink_to(files.project)
    text = (await files.run("glob", pattern="odd/**/*")).text
    assert set(text.splitlines()) == {"odd/.gitignore", "odd/circle", "odd/y.txt"}


async def test_searching_outside_is_a_question(files: ToolHarness) -> None:
    assert (await files.assess("grep", pattern="x")).inside
    assert (await files.assess("glob", pattern="src/**")).inside
    assert not (await files.assess("grep", pattern="x", path="..")).inside
    assert not (await files.assess("glob", pattern="../*")).inside
    assert not (await files.assess("glob", pattern="/etc/*")).inside
    assert not (await files.assess("grep", pattern="KEY", path="node.env")).inside

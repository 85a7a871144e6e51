"""A name that anything gives out can be given back: to tools, commands, prompts and a shell."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gshtui.commands.line_parser import parse_line
from gshtui.commands.line_syntax import TextNode, quote
from gshtui.media.mentions import mentions
from gshtui.text.file_name import read_name, written_name
from gshtui.text.sanitise import literal, one_line
from gshtui.ui.prompt.completion_sources import _file_mention
from tests.kit.storms import examples
from tests.kit.tool_harness import ToolHarness

ODD = [
    *("caf\udce9.txt", "tab\there.txt", " in front", "behind ", "two  blanks", "line\nbreak", "\x1b[31mred", "~"),
    *("~root", "$'quoted'", "$HOME", "a'b", 'a"b', "back\\slash", "\\", "*", "a?[b]{c}", "-f", "--help", "a=b.txt"),
    *(
        "#",
        "é",
        "e\u0301",
        "\u202egpj.exe",
        "zero\u200bwidth",
        "\u00a0",
        "日本語",
        "👩\u200d👩",
        "\x7f",
        "\udcff\udcfe",
    ),
    *("a;b", "a|b", "a b", "(x)", "[x]", "x]", "x)", "@x", "a/b", "con.", "...", "\ufeffbom", "a\rb", "n\x85l"),
    *("$(ls)", "`ls`", "$'"),
]
NAMES = st.one_of(
    st.sampled_from(ODD),
    st.text(min_size=1, max_size=12),
    st.binary(min_size=1, max_size=12).map(os.fsdecode),
    st.lists(st.sampled_from([*"ab \t\n\\'\"$~*/-=", "\udce9", "\u200b", "é"]), min_size=1, max_size=8).map("".join),
).filter(lambda name: name_is_possible(name))


def name_is_possible(name: str) -> bool:
    steps = name.split("/")
    if "\0" in name or any(step in ("", ".", "..") for step in steps):
        return False
    try:
        return all(0 < len(os.fsencode(step)) <= 200 for step in steps)
    except UnicodeEncodeError:
        return False


@settings(max_examples=examples(600))
@given(NAMES)
def test_what_is_written_is_seen_whole_and_read_back(name: str) -> None:
    written = written_name(name)
    assert one_line(literal(written), 10_000) == written
    assert os.path.normpath(read_name(written)) == os.path.normpath(name)
    assert written_name(read_name(written).removeprefix("./")) == written
    # As one word of a line of commands, as it is and quoted.
    for word in (quote(written), *([written] if written != name else [])):
        [pipeline] = parse_line(f"read {word}").pipelines
        [argument] = pipeline.stages[0].arguments
        assert isinstance(argument.value, TextNode) and (argument.name, argument.value.text) == ("", written)
    # In a prompt.
    if '"' not in name or written != name:
        [mentioned] = mentions(f"look at {_file_mention(name)} please")
        assert os.path.normpath(mentioned) == os.path.normpath(name)
    # As a step of a path.
    if "/" not in name:
        assert read_name(f"d/{written}") == f"d/{name}" or written == name


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_reads_it_alike(shell: str) -> None:
    quoted = [name for name in ODD if written_name(name) != name]
    line = "printf '%s\\0' " + " ".join(map(written_name, quoted))
    said = subprocess.run([shell, "-c", line], capture_output=True, check=True).stdout
    assert said.split(b"\0")[:-1] == [os.fsencode(name) for name in quoted]


@settings(max_examples=examples(60))
@given(NAMES)
@example("caf\udce9.txt")
@example("~root/tab\there.txt")
@example("$'a'/ b ")
def test_any_file_that_a_tool_lists_is_read_edited_and_written_by_that_name(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_use(ToolHarness(Path(folder).resolve()), name))


async def _use(tools: ToolHarness, name: str) -> None:
    file = tools.write_file(name, "needle one\n")
    assert file.exists()

    async def data(tool: str, **arguments: Any) -> Any:
        done = await tools.run(tool, **arguments)
        assert not done.is_error, done.text
        return done.data

    [globbed] = (await data("glob", pattern="**/*"))["files"]
    listed = ""
    for _ in name.split("/"):
        [entry] = (await data("ls", path=listed or ".", all=True))["entries"]
        listed = f"{listed}/{entry['name']}".lstrip("/")
    names = [globbed, listed]
    if not name.startswith(".") and "/." not in name:
        names += [one["path"] for one in (await data("grep", pattern="needle"))["matches"]]
    for number, path in enumerate(names):
        assert "needle" in (await tools.run("read", path=path)).text
        await tools.run("edit", path=path, old_text="needle", new_text=f"needle {number}")
        assert file.read_text().startswith(f"needle {number}")
        assert (await tools.assess("write", path=path, content="x")).inside
        await tools.run("write", path=path, content="needle\n")
        assert file.read_text() == "needle\n"
    assert len(list(file.parent.iterdir())) == 1

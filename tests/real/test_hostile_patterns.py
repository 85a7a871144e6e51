"""Patterns that would take minutes by backtracking, given to the tools in a process that can be killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import source
from tests.kit.storms import some

CHILD = """
import asyncio, json, pathlib, sys
from tests.kit.tool_harness import ToolHarness

async def main(project, name, arguments):
    print((await ToolHarness(pathlib.Path(project)).run(name, **json.loads(arguments))).text)

asyncio.run(main(*sys.argv[1:]))
"""
NAMES = ("a" * 200, "a" * 150 + "!", "ab" * 100)


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    some(
        [
            ("glob", '{"pattern": "*a*a*a*a*b"}', "ab"),
            ("glob", '{"pattern": "*a*a*a*a*a*a*a*a*c"}', "No file matches"),
            ("glob", '{"pattern": "**/*a*a*a*a*a*a*a*a*c"}', "No file matches"),
            ("glob", '{"pattern": "{*a,*aa,a*}*{*a,*aa,a*}*{*a,*aa,a*}*c"}', "No file matches"),
            ("grep", '{"pattern": "needle", "file_pattern": "*a*a*a*a*a*a*a*a*c"}', "No match"),
            ("grep", '{"pattern": "needle", "file_pattern": "aa/**/*a*a*a*a*a*a*a*a*c"}', "No match"),
            ("grep", '{"pattern": "(a|aa)+$"}', "aaaa"),
        ],
        2,
    ),
)
def test_no_pattern_takes_for_ever(tmp_path: Path, tool: str, arguments: str, answer: str) -> None:
    (tmp_path / "aa").mkdir()
    for name in NAMES:
        (tmp_path / name).write_text(f"{name}\n")
        (tmp_path / "aa" / name).write_text("needle\n")
    (tmp_path / ".gitignore").write_text("*a*a*a*a*a*a*a*a*a*c\n")
    ran = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), tool, arguments],
        capture_output=True,
        text=True,
        timeout=25,
        cwd=source.ROOT,
    )
    assert answer in ran.stdout, ran.stderr

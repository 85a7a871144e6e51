"""What a release is made of: files for other programs as the command line is now, and recipes that are whole."""

from __future__ import annotations

import re
import subprocess

import pytest

import gshtui
from tests.kit import packaged_files, source

FOLDER = source.ROOT / "packaging"


@pytest.mark.parametrize("name", packaged_files.files())
def test_what_is_packaged_says_what_the_command_line_knows(name: str) -> None:
    assert (FOLDER / name).read_text() == packaged_files.files()[name], "run `python -m tests.kit.packaged_files`"


def test_the_changelog_has_this_version_first() -> None:
    versions = re.findall(r"^## (\S+)", (source.ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == gshtui.__version__


def test_a_tag_of_another_version_makes_no_release(tmp_path: str) -> None:
    ran = subprocess.run([FOLDER / "release", tmp_path, "v99"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and f"gshtui/__init__.py says {gshtui.__version__}" in ran.stderr


@pytest.mark.parametrize("recipe", ["gsh-tui.rb", "PKGBUILD", "gsh-tui.nix"])
def test_a_recipe_leaves_open_only_what_a_release_fills_in(recipe: str) -> None:
    text = (FOLDER / f"{recipe}.in").read_text()
    assert set(re.findall(r"@[A-Z0-9_]+@", text)) == {"@VERSION@", "@WHEEL_SHA256@", "@LOCK_SHA256@"}
    if recipe == "PKGBUILD":
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_the_man_page_has_only_what_every_reader_of_man_pages_knows() -> None:
    page = (FOLDER / "gsh-tui.1").read_text()
    assert page.isascii()
    assert set(re.findall(r"^\.(\w+)", page, re.MULTILINE)) <= {
        *("TH", "SH", "TP", "B", "BR", "br", "RS", "RE", "nf", "fi")
    }

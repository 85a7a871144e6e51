"""What a release is made of: files for other programs as the command line is now, and recipes that are whole."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import gshtui
from tests.kit import packaged_files, source

FOLDER = source.ROOT / ".github" / "packaging"


@pytest.mark.parametrize("name", packaged_files.files())
def test_what_is_packaged_says_what_the_command_line_knows(name: str) -> None:
    assert (FOLDER / name).read_text() == packaged_files.files()[name], "run `python -m tests.kit.packaged_files`"


def test_the_changelog_has_this_version_first() -> None:
    versions = re.findall(r"^## (\S+)", (source.ROOT / ".github" / "CHANGELOG.md").read_text(), re.MULTILINE)
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


def test_debians_programs_find_what_a_deb_brings(tmp_path: Path) -> None:
    """Made of a wheel with nothing but what it shares, without the packages that an index would have to give."""
    if shutil.which("dpkg-deb") is None:
        return  # no system that has such packages
    wheel = tmp_path / "gsh_tui-9-py3-none-any.whl"
    shared = tomllib.loads((source.ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, place in shared["shared-data"].items():
            archive.write(source.ROOT / file, f"gsh_tui-9.data/data/{place}")
        archive.writestr("gsh_tui-9.dist-info/METADATA", "Metadata-Version: 2.1\nName: gsh-tui\nVersion: 9\n")
        archive.writestr("gsh_tui-9.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("gsh_tui-9.dist-info/RECORD", "")
        archive.writestr("gshtui/__init__.py", "")
    lock = source.ROOT / ".ci" / "requirements.txt"
    alone = os.environ | {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
    subprocess.run([FOLDER / "deb", wheel, lock, tmp_path, sys.executable], check=True, env=alone, capture_output=True)
    (made,) = tmp_path.glob("*.deb")
    listed = subprocess.run(["dpkg-deb", "-c", made], check=True, capture_output=True, text=True).stdout
    files = {line.split("./", 1)[1] for line in listed.splitlines()}
    assert files >= {
        *("usr/bin/gsh-tui", "usr/bin/gsh", "usr/share/man/man1/gsh-tui.1.gz"),
        *("usr/share/zsh/vendor-completions/_gsh-tui", "usr/share/bash-completion/completions/gsh-tui"),
        *("usr/share/fish/vendor_completions.d/gsh-tui.fish", "usr/lib/gsh-tui/gshtui/__init__.py"),
    }
    subprocess.run(["dpkg-deb", "-x", made, tmp_path / "root"], check=True)
    launcher = (tmp_path / "root" / "usr" / "bin" / "gsh-tui").read_text()
    assert launcher.startswith(f"#!/usr/bin/python3.{sys.version_info.minor} -P\n")


def test_the_man_page_has_only_what_every_reader_of_man_pages_knows() -> None:
    page = (FOLDER / "gsh-tui.1").read_text()
    assert page.isascii()
    assert set(re.findall(r"^\.(\w+)", page, re.MULTILINE)) <= {
        *("TH", "SH", "TP", "B", "BR", "br", "RS", "RE", "nf", "fi")
    }

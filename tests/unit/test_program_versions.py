"""The version of a program: by its package, by its own answer, and in the order of versions."""

import asyncio
import os
import random
import sys
import venv
from pathlib import Path

import pytest

from gshtui.programs.profiles.profile import Profile
from gshtui.programs.profiles.profile_files import load
from gshtui.programs.profiles.program_versions import ProgramVersions
from gshtui.text.version_order import is_within, newest, oldest, order, version_in
from tests.kit.home import Home

PROFILE = Profile(name="fix", title="Fix", programs=("fix",), version_flag="--version", seen=("1.2.3",))
LADDER = (
    *("0.9", "0.10.0-alpha.2", "0.10.0-alpha.10", "0.10.0-beta", "0.10.0rc1", "0.10.0", "0.10.1"),
    *("2.1.99", "2.1.100", "2.1.197", "2.1.332", "2.2", "2.10.0", "2.10.0.post1", "2025.9.18", "2025.11.2"),
)


def test_versions_are_in_their_order() -> None:
    shuffled = random.Random(3).sample(LADDER, len(LADDER))
    assert sorted(shuffled, key=lambda each: order(each) or ((), 0, ())) == list(LADDER)
    assert (oldest(shuffled), newest(shuffled)) == (LADDER[0], LADDER[-1])
    assert order("1.2") == order("1.2.0") == order("v1.2.0+build.5")


@pytest.mark.parametrize(
    ("version", "seen", "knows"),
    [
        ("2.1.197", ("2.1.197",), True),
        ("2.1.332", ("2.1.197",), False),
        ("2.1.100", ("2.1.197",), False),
        ("2.1.200", ("2.1.197", "2.1.332"), True),
        ("2.1.99", ("2.1.100", "2.1.332"), False),
        ("2.10.0", ("2.9.0", "2.11.0"), True),
        ("2.1.332-beta.1", ("2.1.332",), False),
        ("nightly", ("2.1.332",), False),
        ("1.0", (), False),
        ("", ("2.1.197",), True),
    ],
)
def test_a_profile_knows_what_lies_between_the_versions_it_has_seen(
    version: str, seen: tuple[str, ...], knows: bool
) -> None:
    assert Profile(name="fix", title="Fix", seen=seen).knows(version) is knows
    assert is_within(version, seen) is knows or not version


def test_the_nearest_version_seen_is_the_one_that_it_is_beyond() -> None:
    profile = Profile(name="fix", title="Fix", seen=("2.1.332", "2.1.100"))
    assert profile.seen_nearest("2.1.400") == "2.1.332"
    assert profile.seen_nearest("2.1.7") == "2.1.100"


@pytest.mark.parametrize("text", ["", "latest", "1", "1.2.3; rm", "1.2\n3", "../1.2.3", "1.2" * 30, "\x1b[1m1.2.3"])
def test_what_is_no_version_is_none(text: str) -> None:
    assert version_in(text) == ""


def _script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho x >>{path.parent}/ran\n{body}\n")
    path.chmod(0o755)
    return path


def _package(folder: Path, manifest: str) -> Path:
    file = _script(folder / "cli.js", "echo 9.9.9")
    (folder / "package.json").write_text(manifest)
    return file


def _ran(folder: Path) -> int:
    return len((folder / "ran").read_text().splitlines()) if (folder / "ran").exists() else 0


async def _find(home: Home, folder: Path, profile: Profile = PROFILE, **given: object) -> str:
    environ = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return await ProgramVersions(home.path / "versions.json").find(profile, ("fix",), environ)


async def test_a_package_tells_the_version_of_its_program_without_running_it(home: Home, tmp_path: Path) -> None:
    for scope in ("@owner/fix", "fix"):
        file = _package(
            tmp_path / "node_modules" / scope, '{"name": "x", "version": "2.1.332", "bin": {"fix": "cli.js"}}'
        )
        (place := tmp_path / scope.replace("/", "-")).mkdir()
        (place / "fix").symlink_to(file)
        assert await _find(home, place) == "2.1.332"
        assert _ran(file.parent) == 0


@pytest.mark.parametrize(
    "place", ["share/fix/versions/2.1.332", "Cellar/fix/2.1.332/bin/fix", "Caskroom/f/2.1.332/fix"]
)
async def test_an_installer_tells_the_version_by_the_name_of_a_file_or_folder(
    home: Home, tmp_path: Path, place: str
) -> None:
    file = _script(tmp_path / place, "echo 9.9.9")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "fix").symlink_to(file)
    assert await _find(home, tmp_path / "bin") == "2.1.332"
    assert _ran(file.parent) == 0


async def test_a_package_of_another_program_tells_nothing(home: Home, tmp_path: Path) -> None:
    """A script of the person's own project, whatever its version is."""
    for number, folder in enumerate((tmp_path / "node_modules" / "tool", tmp_path / "project")):
        file = _package(folder, '{"name": "tool", "version": "0.0.1", "bin": {"tool": "cli.js"}}')
        (place := tmp_path / str(number)).mkdir()
        (place / "fix").symlink_to(file)
        assert await _find(home, place) == "9.9.9"


async def test_an_environment_of_python_tells_the_version_of_its_script(home: Home, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    (site,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    for name, version in (("other", "7.7.7"), ("fix", "0.86.2")):
        (info := site / f"{name}_chat-{version}.dist-info").mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-chat\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[console_scripts]\n{name} = {name}.main:main\n")
    script = tmp_path / "venv" / "bin" / "fix"
    script.write_text(f"#!{sys.executable}\nraise SystemExit('it was run')\n")
    script.chmod(0o755)
    assert await _find(home, script.parent) == "0.86.2"


async def test_a_program_is_asked_once_and_again_when_it_was_exchanged(home: Home, tmp_path: Path) -> None:
    file = _script(tmp_path / "fix", "echo 'fix-cli 2.1.332'")
    assert [await _find(home, tmp_path) for _ in range(3)] == ["2.1.332"] * 3
    assert _ran(tmp_path) == 1
    _script(file, "echo 'v2.2.0 (Fix Code)'")
    assert await _find(home, tmp_path) == "2.2.0"
    assert _ran(tmp_path) == 2


async def test_of_several_starts_at_once_one_asks(home: Home, tmp_path: Path) -> None:
    _script(tmp_path / "fix", "echo 1.2.3")
    versions = ProgramVersions(home.path / "versions.json")
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    found = await asyncio.gather(*(versions.find(PROFILE, ("fix",), environ) for _ in range(8)))
    assert found == ["1.2.3"] * 8
    assert _ran(tmp_path) == 1


@pytest.mark.parametrize(
    "body",
    [
        "exit 3",
        "echo no version here",
        "cat",
        "yes 1.2.3.4.5.6.7.8.9 | tr -d '\\n'",
        "echo Node 20.1.0 is too old for me",
    ],
)
async def test_what_prints_no_version_has_none(home: Home, tmp_path: Path, body: str) -> None:
    """`cat` reads: it is given nothing. `yes` prints for ever: no more than a little is read."""
    _script(tmp_path / "fix", body)
    assert await _find(home, tmp_path) == ""


async def test_a_program_is_never_run_for_its_version_unless_its_profile_says_how(home: Home, tmp_path: Path) -> None:
    _script(tmp_path / "fix", "echo 1.2.3")
    silent = Profile(name="fix", title="Fix", programs=("fix",))
    other = Profile(name="fix", title="Fix", programs=("another",), version_flag="--version")
    assert [await _find(home, tmp_path, each) for each in (silent, other)] == ["", ""]
    assert _ran(tmp_path) == 0


async def test_a_file_of_versions_that_cannot_be_read_or_written_is_no_obstacle(home: Home, tmp_path: Path) -> None:
    (home.path / "versions.json").write_text("{]")
    _script(tmp_path / "fix", "echo 1.2.3")
    assert await _find(home, tmp_path) == "1.2.3"
    versions = ProgramVersions(Path("/dev/null/versions.json"))
    assert [versions.note("fix", "1.2.3"), versions.note("fix", "1.2.3"), versions.note("fix", "1.2.4")] == [
        True,
        False,
        True,
    ]


def test_every_profile_of_a_program_that_thinks_says_how_its_version_is_asked_for() -> None:
    assert [one.name for one in load().profiles.values() if one.ai and not one.version_flag] == []

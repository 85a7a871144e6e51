"""Drafts on disk: whole or not at all, one for each window, safe from other users."""

import subprocess
import sys
from pathlib import Path

import pytest

from gshtui.ui.prompt.drafts import DraftFile, DraftKeeper, PromptDraft
from tests.kit.home import Home

PROJECT = Path("/some/project")


def opened(tmp_path: Path) -> DraftFile:
    return DraftFile.open(tmp_path / "drafts", PROJECT)


def test_a_draft_comes_back_as_it_was(tmp_path: Path) -> None:
    file = opened(tmp_path)
    draft = PromptDraft("two\nlines [pasted #1 · 1 line · 3 B] \ud800 é", {1: "a\u2028b" * 5_000})
    drafts = {"": draft, "0002": PromptDraft("[pasted #1 · 1 line · 3 B]", {1: "another"}, "review")}
    file.write(drafts)
    file.close()
    again = opened(tmp_path)
    assert again.read() == drafts
    assert again.path.stat().st_mode & 0o777 == 0o600
    assert again.path.parent.stat().st_mode & 0o777 == 0o700
    again.remove()
    assert again.read() == {}
    assert not [p for p in again.path.parent.iterdir() if p.suffix != ".lock"]
    again.close()


def test_two_windows_have_two_drafts(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    first.write({"": PromptDraft("first")})
    second.write({"": PromptDraft("second")})
    assert (first.read(), second.read()) == ({"": PromptDraft("first")}, {"": PromptDraft("second")})
    first.close()
    third = opened(tmp_path)  # the slot of the window that has gone
    assert third.read() == {"": PromptDraft("first")}
    second.close()
    third.close()


def test_projects_do_not_share(tmp_path: Path) -> None:
    opened(tmp_path).write({"": PromptDraft("here")})
    assert DraftFile.open(tmp_path / "drafts", Path("/another")).read() == {}


def test_a_killed_window_leaves_its_draft(tmp_path: Path) -> None:
    program = f"""
import os, signal
from pathlib import Path
from gshtui.ui.prompt.drafts import PromptDraft, DraftFile
file = DraftFile.open(Path({str(tmp_path / "drafts")!r}), Path({str(PROJECT)!r}))
file.write({{"": PromptDraft("what I was writing")}})
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=20, check=False).returncode < 0
    assert opened(tmp_path).read() == {"": PromptDraft("what I was writing")}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"drafts": {"": {"text": 5}}}', b"\xff\xfe"])
def test_a_damaged_draft_is_set_aside(tmp_path: Path, damage: bytes) -> None:
    file = opened(tmp_path)
    file.path.write_bytes(damage)
    assert file.read() == {}
    assert file.path.with_suffix(".corrupt").read_bytes() == damage
    file.write({"": PromptDraft("new")})
    assert file.read() == {"": PromptDraft("new")}


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    file = opened(tmp_path)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    file.path.symlink_to(precious)
    file.write({"": PromptDraft("text")})
    assert precious.read_text() == "mine"


async def test_the_newest_draft_wins(home: Home) -> None:
    keeper = DraftKeeper(PROJECT, pytest.fail)
    assert await keeper.restore() == {}
    for n in range(50):
        keeper.keep({"": PromptDraft(f"text {n}")})
    await keeper.close()
    again = DraftKeeper(PROJECT, pytest.fail)
    assert await again.restore() == {"": PromptDraft("text 49")}
    again.keep({"": PromptDraft("")})
    await again.close()
    last = DraftKeeper(PROJECT, pytest.fail)
    assert await last.restore() == {}
    await last.close()


async def test_a_folder_that_cannot_be_used_is_told_once(home: Home) -> None:
    (home.state / "gsh").write_text("a file where a folder should be")
    told: list[str] = []
    keeper = DraftKeeper(PROJECT, told.append)
    assert await keeper.restore() == {}
    keeper.keep({"": PromptDraft("text")})
    keeper.keep({"": PromptDraft("more")})
    await keeper.close()
    assert len(told) == 1 and told[0].startswith("Drafts won't survive a crash")


def test_a_draft_is_kept_without_the_providers_keys_in_it(tmp_path: Path) -> None:
    draft, key = opened(tmp_path), f"sk-ant-api03-{'0123456789' * 9}"
    draft.write({"": PromptDraft(f"use {key}, please: [paste 1]", {1: f"words\nOPENAI_API_KEY={key}\nwords"})})
    assert draft.read() == {
        "": PromptDraft("use [redacted], please: [paste 1]", {1: "words\nOPENAI_API_KEY=[redacted]\nwords"})
    }
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and key.encode() in file.read_bytes()]

"""What waits for a connection: in order, once, bounded in memory, through a file and back."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.shell.hub_link import LineOutbox


def line(number: int, size: int = 10) -> bytes:
    return b'{"type":"X","n":%d,"pad":"%b"}\n' % (number, b"x" * size)


def numbers(lines: list[tuple[int, bytes]]) -> list[tuple[int, int]]:
    """(place, what was said) of each line; the place in the line is the same."""
    found: list[tuple[int, int]] = []
    for place, raw in lines:
        fields = json.loads(raw)
        assert fields["seq"] == place
        found.append((place, fields["n"]))
    return found


@given(st.lists(st.one_of(st.integers(1, 400), st.sampled_from(["send", "ack", "break"])), max_size=80))
def test_everything_arrives_once_and_in_order(steps: list[int | str]) -> None:
    """Puts of any size, sends, acknowledgements and broken connections, in any order; most of it through the file."""
    path = Path(os.environ["XDG_STATE_HOME"]) / "waiting"
    box = LineOutbox(path, in_memory=600)
    said, heard, sent = 0, 0, 0
    for step in steps:
        if isinstance(step, int):
            said += 1
            assert box.append(line(said, step)) == said
        elif step == "ack":
            box.ack(heard)
            sent = max(sent, heard)
        elif step == "break":
            sent = box.acked  # what was not acknowledged is sent again
        else:
            for place, n in numbers(box.after(sent, limit=3)):
                assert place == n
                assert place == sent + 1
                sent, heard = place, max(heard, place)
    while lines := box.after(sent, limit=7):
        assert [place for place, _ in numbers(lines)] == list(range(sent + 1, sent + 1 + len(lines)))
        sent = lines[-1][0]
        box.ack(sent)
    box.ack(sent)
    assert sent == said
    assert len(box) == 0
    box.close()
    assert not path.exists()


def test_memory_is_bounded_and_the_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "waiting"
    box = LineOutbox(path, in_memory=1_000)
    for number in range(1, 1_001):
        box.append(line(number, 100))
    assert box.spilled > 100_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert box.lost == 0
    box.close()


def test_what_fits_nowhere_is_counted_and_order_is_kept(tmp_path: Path) -> None:
    box = LineOutbox(tmp_path / "waiting", in_memory=200, on_disk=2_000)
    for number in range(1, 101):
        box.append(line(number))
    assert box.lost > 0
    got: list[int] = []
    sent = 0
    while lines := box.after(sent):
        got += [n for _, n in numbers(lines)]
        sent = lines[-1][0]
        box.ack(sent)
    assert got == list(range(1, len(got) + 1))
    assert len(got) == 100 - box.lost
    assert box.append(line(101)) == sent + 1, "there is room again"


def test_a_link_in_the_files_place_is_not_written_through(tmp_path: Path) -> None:
    target, path = tmp_path / "target", tmp_path / "waiting"
    target.write_text("mine")
    path.symlink_to(target)
    box = LineOutbox(path, in_memory=0)
    box.append(line(1))
    assert target.read_text() == "mine"
    assert [n for _, n in numbers(box.after(0))] == [1]
    box.close()


@pytest.mark.parametrize("spill", [None, Path("/proc/nowhere/waiting")])
def test_without_a_file_the_newest_are_given_up(spill: Path | None) -> None:
    box = LineOutbox(spill, in_memory=200)
    placed = [box.append(line(number)) for number in range(1, 51)]
    assert placed.count(0) == box.lost > 0
    assert [n for _, n in numbers(box.after(0))] == [number for number in placed if number]

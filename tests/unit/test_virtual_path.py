"""Virtual paths: nothing that is written as one leads out of its mount."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.vfs import ROOT, PathRefused, VirtualPath, joined, virtual_path

MOUNTS = ("agents", "calls", "context", "memory", "shared")
STEPS = st.one_of(
    st.sampled_from(["..", ".", "", "~", "main", "x.mem", "a\0b", "\u202e", "．．", "cl\u0430ude", "project", "*.msg"]),
    st.text(max_size=8),
)
TEXTS = st.lists(STEPS, max_size=8).map("/".join)


def test_what_is_virtual_and_what_is_real() -> None:
    assert virtual_path("/memory/main//x.mem/", MOUNTS) == VirtualPath(("memory", "main", "x.mem"))
    assert virtual_path("/memory/./main", MOUNTS) == VirtualPath(("memory", "main"))
    assert virtual_path("/", MOUNTS) == ROOT == virtual_path("//", MOUNTS)
    assert virtual_path("/shared/project/größe ü.txt", MOUNTS) == VirtualPath(("shared", "project", "größe ü.txt"))
    for real in ("memory/main", "./memory", "~/memory", "/etc/memory", "/Memory", "/memory2", "/ｍemory", ""):
        assert virtual_path(real, MOUNTS) is None


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/memory/../etc/passwd", "has .. in it"),
        ("/shared/project/../../etc", "has .. in it"),
        ("/memory/~root/x", "~ at the beginning"),
        ("/memory/a\0b", "control characters"),
        ("/shared/project/a\0b", "no NUL"),
        ("/memory/\x1b[2J", "control characters"),
        ("/memory/cl\u0430ude", "mixes alphabets"),
        ("/memory/．．/x", "look like others"),
        ("/memory/a\\..\\b", "no / or \\"),
        ("/memory/" + "a/" * 80, "more than 64 steps"),
        ("/memory/" + "a" * 5_000, "longer than"),
    ],
)
def test_each_refusal_is_one_sentence(path: str, why: str) -> None:
    with pytest.raises(PathRefused) as refused:
        virtual_path(path, MOUNTS)
    assert why in refused.value.message
    assert refused.value.message.isprintable() and refused.value.message.endswith(".")


@given(TEXTS)
def test_nothing_leaves_its_mount(text: str) -> None:
    for mount in MOUNTS:
        try:
            path = virtual_path(f"/{mount}/{text}", MOUNTS)
        except PathRefused as refused:
            assert refused.message.isprintable()
            continue
        assert path is not None and path.mount == mount
        assert not {"..", ".", ""} & set(path.steps) and not any("/" in step or "\0" in step for step in path.steps)
        assert virtual_path(str(path), MOUNTS) == path


@given(st.lists(st.sampled_from(["memory", "main", "a"]), max_size=4), TEXTS)
def test_a_relative_path_stays_below_the_root(start: list[str], text: str) -> None:
    try:
        path = joined(VirtualPath(tuple(start)), text)
    except PathRefused as refused:
        assert refused.message.isprintable()
        return
    assert not {"..", ".", ""} & set(path.steps)


def test_up_from_a_folder() -> None:
    here = VirtualPath(("calls", "lobby", "conversation"))
    assert str(joined(here, "../context/pinned/goals.md")) == "/calls/lobby/context/pinned/goals.md"
    assert str(joined(here, "../../../../..")) == "/"
    with pytest.raises(PathRefused, match=r"\.\. behind a name"):
        joined(here, "a/../b")

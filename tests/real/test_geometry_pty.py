"""The real driver in a pty whose size changes all the time: the window lives, takes keys, and leaves in order."""

import contextlib
import random

import pytest

from tests.kit.home import Home
from tests.kit.pty_child import frame_child


@pytest.mark.parametrize("seed", range(2))
def test_a_storm_of_sizes(home: Home, seed: int) -> None:
    chance = random.Random(seed)
    result = home.path / "typed.txt"
    with contextlib.closing(frame_child(home.path, "app", str(result))) as child:
        child.go()
        child.read_until(lambda: b"\x1b[?2004h" in child.output)
        for number in range(30):
            child.resize(chance.randint(1, 300), chance.randint(1, 100))
            if chance.random() < 0.3:
                child.write(b"ab")
            if chance.random() < 0.7:
                before = len(child.output)
                child.read_until(lambda before=before: len(child.output) > before)
            assert b"Traceback" not in child.output, number
        child.resize(100, 30)
        child.write(b"alive!")
        assert child.wait() == 0
        assert result.read_text().endswith("alive!")

"""The input line in a real terminal: a paste of a megabyte, the keys of plain terminals, an editor, a kill."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.bench.pty_probe import Probe
from tests.kit.storms import seeds
from tests.kit.terminal_bytes import DELAYS, quiet_sequence


@contextmanager
def window(out: Path, **environ: str) -> Iterator[Probe]:
    """A window whose submitted prompts go to a file."""
    argv = [sys.executable, "-m", "tests.kit.prompt_host", str(out)]
    with Probe(argv, columns=100, rows=30, environ={**os.environ, **environ}) as probe:
        probe.wait_for("line 99 of the conversation")
        probe.settle(0.2)
        yield probe


def submitted(probe: Probe, out: Path, count: int) -> list[str]:
    """The prompts, once there are so many."""
    while not out.exists() or out.read_text().count("\n") < count:  # a line without its end is still being written
        probe.read(0.05)
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_megabyte_is_pasted_and_arrives_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = "".join(f"line {n} with é and 字, and enough words to make a paste\n" for n in range(17_000))
    data = f"\x1b[200~{text.replace(chr(10), chr(13))}\x1b[201~".encode()
    with window(out) as probe:
        for at in range(0, len(data), 4_096):
            probe.write(data[at : at + 4_096])
            probe.read(0)
        probe.wait_for("[pasted #1")
        probe.write("Я")
        probe.wait_for("Я")
        probe.write("\r")
        assert submitted(probe, out, 1) == [text + "Я"]


def test_a_paste_with_escapes_is_not_typed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with window(out) as probe:
        probe.write("\x1b[200~red \x1b[31malert\x1b[0m and a return\rwhich is no key\x1b[201~")
        probe.wait_for("which is no key")
        probe.write("\r")
        assert submitted(probe, out, 1) == ["red alert and a return\nwhich is no key"]


@pytest.mark.parametrize("key", ["\x1b\r", "\n", "\x1b[13;2u"])
def test_new_lines_in_any_terminal(tmp_path: Path, key: str) -> None:
    out = tmp_path / "out"
    with window(out) as probe:
        probe.write(f"one{key}two\r")
        assert submitted(probe, out, 1) == ["one\ntwo"]


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with window(out) as probe:
        probe.write(b"a\xff\xfeb")
        probe.settle(0.2)
        probe.write("c\r")
        [text] = submitted(probe, out, 1)
        assert text[0] == "a" and text.endswith("bc")


@pytest.mark.parametrize("seed", seeds(6))
def test_sequences_that_a_network_cuts_leave_what_is_typed_as_it_is(tmp_path: Path, seed: int) -> None:
    random, out, typed = Random(seed), tmp_path / "out", ""
    with window(out) as probe:
        for number in range(20):
            sent = quiet_sequence(random)
            cut = random.randint(1, len(sent.data) - 2)
            probe.write(sent.data[:cut])
            ends = time.monotonic() + random.choice(DELAYS)
            while (left := ends - time.monotonic()) > 0:  # the network, not a wait for the window
                probe.read(min(left, 0.05))
            probe.write(sent.data[cut:])
            probe.write(f"<{number}>")
            probe.wait_for(f"<{number}>")
            typed += f"{(sent.pastes or '').strip()}<{number}>"
        probe.write("\r")
        assert submitted(probe, out, 1) == [typed.replace("\r", "\n")]


def test_what_is_typed_and_cannot_be_seen_is_sent(tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = "می\u200cخواهم a\u00a0b \u3000 s\u00adh\u2060y\u200b\u200f"
    with window(out) as probe:
        probe.write(f"{text}é")
        probe.wait_for("é")
        probe.write("\r")
        assert submitted(probe, out, 1) == [f"{text}é"]


def editor(tmp_path: Path, script: str) -> str:
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    return str(program)


def test_a_text_is_written_on_in_an_editor(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = editor(tmp_path, 'cat "$1"; printf "more from the editor\\n" >> "$1"; read key')
    with window(out, EDITOR=program) as probe:
        probe.write("begun \x1be")
        probe.wait_for("begun", after=len(probe.output) - 1)
        probe.settle(0.2)
        probe.write("\r")  # for the editor
        probe.wait_for("more from the editor")
        probe.write("\r")
        assert submitted(probe, out, 1) == ["begun more from the editor"]


def test_an_editor_that_fails_loses_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with window(out, EDITOR=editor(tmp_path, "echo gone > $1; exit 3")) as probe:
        probe.write("keep this\x1be")
        probe.wait_for("exited with")
        probe.write("\r")
        assert submitted(probe, out, 1) == ["keep this"]


def test_a_killed_window_gives_the_draft_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    state = Path(os.environ["XDG_STATE_HOME"]) / "gsh" / "drafts"
    with window(out) as probe:
        probe.write("half a thought")
        while not any("thought" in path.read_text() for path in state.glob("*.json")):
            probe.read(0.05)
        probe.kill()
    with window(out) as probe:
        probe.wait_for("half a thought")
        probe.write(" more\r")
        assert submitted(probe, out, 1) == ["half a thought more"]

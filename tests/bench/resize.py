"""A terminal whose edge is dragged: storms of sizes from 1x1 to 300x100, with everything in front, on five seeds.

First the real program in a pty, 50 to 400 ms between two sizes, idle and at work; then every scene of
`tests.kit.scenes`, idle and streaming, as fast as it goes, whose last screen must be that of a fresh draw. `SEEDS=1` in
the environment does one seed.
"""

import asyncio
import os
import random
import re
import time

from tests.bench.figures import Report, p95
from tests.bench.place import Place, ours
from tests.bench.pty_probe import Late, Probe

SEEDS = int(os.environ.get("SEEDS", "5"))
RESIZES = 60
ATTEMPTS, WITHIN = 4, 6.0
"""How often a letter is typed after a storm, and seconds in which it has to be shown."""
WORK = "run seq 1 4000\r"
FRONT = {
    "the chat": "",
    "agents": "\x1b2",
    "shell log": "\x1b3",
    "context": "\x1b4",
    "timeline": "\x1b5",
    "a zoomed pane": "\x1b5\x1bz",
    "inspector": "\x1b[18~",
    "changes": "\x1b[15~",
    "the form of a new agent": "\x1b[19~",
    "shared shell": "\x1b[20~",
    "help": "\x1bOP",
    "keys that work here": "?",
    "palette": "\x10",
    "models": "\x1bOQ",
    "conversations": "\x1bOR",
    "themes": "\x1bOS",
    "settings": "\x1bg",
    "servers": "\x1bm",
    "workflows": "\x1bx",
    "Python's variables": "\x1bv",
    "a call": "/join lobby\r",
    "a question": "run touch made\r",
    "completions": "/s",
    "earlier prompts": "\x12",
}
"""What is in front of the real program, and the keys that lead there."""


def run(report: Report, place: Place) -> None:
    """Both kinds of storms; what ends a window is a failure of the report."""
    for front, keys in FRONT.items():
        for state, first in (("idle", ""), ("at work", WORK)):
            times: list[float] = []
            lived = sum(in_a_pty(report, place, front, first + keys, seed, times) for seed in range(SEEDS))
            what = f"windows that live through {RESIZES} sizes, {state}, with {front}"
            report.add(what, lived, f"of {SEEDS}", limit=SEEDS, at_least=True)
            if times:
                report.add("  from the last size to its last frame, p95", 1e3 * p95(times), "ms")
    began, storms = time.perf_counter(), 0
    for kind in (False, True):
        storms += in_all_scenes(report, streaming=kind)
    report.add(
        "storms over all scenes that end as a fresh draw", storms, "", note=f"{time.perf_counter() - began:.0f} s"
    )


def in_a_pty(report: Report, place: Place, front: str, keys: str, seed: int, times: list[float]) -> bool:
    """One storm on the real program; whether it still takes keys afterwards."""
    chance = random.Random(f"{front} {seed}")
    with Probe(ours(), environ=place.environ, cwd=place.project, columns=120, rows=40) as probe:
        try:
            probe.first_frame()
            probe.rest(2.5)
            for part in re.findall(r"\x1b(?:\[\d+~|O.|.)|[^\x1b]+", keys):
                probe.write(part)
                probe.rest(0.3)
            for _ in range(RESIZES):
                probe.resize(chance.randint(1, 300), chance.randint(1, 100))
                if chance.random() < 0.2:
                    probe.write("a\x7f")
                probe.rest(chance.uniform(0.05, 0.4))
            for _ in range(3):  # out of a search, its dialog, and what is behind
                probe.write("\x1b")
                probe.rest(0.3)
            at = probe.resize(110, 30)
            times.append(max(0.0, probe.settle() - at))
            return takes_keys(probe)
        except Late as late:
            report.failures.append(f"resize, {front}, seed {seed}: {late}")
            return False


def takes_keys(probe: Probe) -> bool:
    """Whether a letter is shown. Two escapes open the list of prompts to go back to, which one more closes."""
    for attempt in range(ATTEMPTS):
        after = len(probe.output)
        probe.write("\x1b1¤")
        until = probe.now() + WITHIN
        while "¤".encode() not in probe.output[after:] and probe.now() < until:
            probe.read(0.1)
        if "¤".encode() in probe.output[after:]:
            return True
        probe.write("\x1b")
        probe.rest(1.0 + attempt)
    raise Late(f"no letter was shown in {ATTEMPTS} times {WITHIN:.0f} s")


def in_all_scenes(report: Report, *, streaming: bool) -> int:
    """Storms on windows without a program around them; how many ended as they should."""
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    from tests.kit.scenes import SCENES
    from tests.ui.test_geometry import storm

    good = 0
    for scene in SCENES:
        for seed in range(SEEDS):
            try:
                asyncio.run(storm(scene, seed, RESIZES, streaming=streaming))
            except Exception as error:
                report.failures.append(f"resize, {scene.name}, streaming {streaming}, seed {seed}: {error!r}")
            else:
                good += 1
    return good

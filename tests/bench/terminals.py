"""Terminal tabs in the real window: what a firehose in one costs the person who types elsewhere, and typing into one.

`yes` is compared with a quiet shell in the same tab. A program that prints other lines all the time keeps a processor
of its own and tmux's busy, so it is compared with itself in a tab that nobody sees. The floor of typing into a mirrored
shell is the same shell in tmux alone, attached from the same terminal; beside it is what the least loop over control
mode takes.
"""

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from gshtui.tmux.server import TmuxServer
from tests.bench.figures import Report, median, p95
from tests.bench.place import Place, bare, ours
from tests.bench.pty_probe import Probe
from tests.kit.tmux import short_folder

KEYS = 90
SAME = "yes all work and no play\r"
COUNTING = 'BEGIN{while(1)printf "\\033[3%dmline %d\\033[0m of all work and \\033[1;34mno play\\033[0m\\n",n%8,n++}'
SECONDS = 6.0
_F9, _ALT_1, _ESCAPE, _LEAVE, _INTERRUPT, _CLEAR = "\x1b[20~", "\x1b1", "\x1b", "\x1d", "\x03", "\x15"


def run(report: Report, place: Place) -> None:
    """A quiet tab, typing into it, `yes` in it, other lines in it, seen and unseen; then the shell without a window."""
    with short_folder() as folder:
        environ = place.also(TMUX_TMPDIR=folder, LANG="C.UTF-8", SHELL="/bin/sh", PS1="$ ")
        with window(place, environ) as probe:
            quiet = echoes(probe)
            typed = into_the_terminal(probe)
            into(probe, SAME)
            same = echoes(probe)
            into(probe, f"{_INTERRUPT}awk '{COUNTING}'\r")
            seen = echoes(probe)
            memory, used, began = probe.memory(), probe.cpu(), probe.now()
            probe.rest(SECONDS)
            busy, grown = 100 * (probe.cpu() - used) / (probe.now() - began), probe.memory() - memory
            probe.write(_ALT_1)
            probe.rest(0.5)
            unseen = echoes(probe)
        socket = folder / f"tmux-{os.getuid()}" / "gsh"
        alone = in_tmux_alone(socket, environ)
        floors = {kind: by_control_mode(kind, socket, environ) for kind in ("heard", "captured")}
    report.add("key to echo in the input, a quiet terminal tab, p95", 1e3 * p95(quiet), "ms")
    report.add("  `yes` in the tab, p95", 1e3 * p95(same), "ms", floor=1e3 * p95(quiet), limit=2.0)
    report.add("  a firehose of other lines in it, p95", 1e3 * p95(seen), "ms", floor=1e3 * p95(unseen), limit=2.0)
    report.add("  median", 1e3 * median(seen), "ms", floor=1e3 * median(quiet))
    report.add("  processor of the window meanwhile", busy, "%")
    report.add(f"  memory of the window in {SECONDS:.0f} s", grown, "MB", limit=5)
    report.add("key to echo in a mirrored shell, median", 1e3 * median(typed), "ms", floor=1e3 * median(alone))
    report.add("  p95", 1e3 * p95(typed), "ms", floor=1e3 * p95(alone), limit=3.0)
    for kind, found in floors.items():
        what = f"  a loop over control mode, written back once it is {kind}"
        note = f"p95 {1e3 * p95(found):.2f}, {p95(found) / p95(alone):.2f}x; ours: {p95(typed) / p95(found):.2f}x of it"
        report.add(what, 1e3 * median(found), "ms", floor=1e3 * median(alone), note=note)


@contextlib.contextmanager
def window(place: Place, environ: dict[str, str]) -> Generator[Probe]:
    """The window with the shared shell's tab in front, the keys in the input."""
    with Probe(ours(), environ=environ, cwd=place.project) as probe:
        probe.first_frame()
        probe.rest(2.5)
        after = len(probe.output)
        probe.write(_F9)
        probe.wait_for("enter to type into", after=after)
        probe.rest(1.0)
        probe.write(_ESCAPE)
        probe.rest(0.5)
        yield probe


def echoes(probe: Probe) -> list[float]:
    """Echoes of keys in the input, which is empty again afterwards."""
    found = probe.echoes(KEYS)
    probe.write("\x7f" * KEYS)
    probe.rest(0.5)
    return found


def into_the_terminal(probe: Probe) -> list[float]:
    """Echoes of keys that go to the mirrored shell."""
    begin(probe)
    found = probe.echoes(KEYS)
    probe.write(_CLEAR)
    end(probe)
    return found


def into(probe: Probe, text: str) -> None:
    """Type this into the mirrored shell; the keys are in the input afterwards."""
    begin(probe)
    for part in (text[:1], text[1:]):
        probe.write(part)
        probe.rest(0.5)
    end(probe)


def begin(probe: Probe) -> None:
    """Go to the tab, and type into it."""
    after = len(probe.output)
    probe.write(_F9)
    probe.rest(0.5)
    probe.write("\r")
    probe.wait_for("Typing in", after=after)
    probe.rest(0.3)


def end(probe: Probe) -> None:
    """Back to the input."""
    for key in (_LEAVE, _ESCAPE):
        probe.rest(0.5)
        probe.write(key)
    probe.rest(0.5)


def by_control_mode(kind: str, socket: Path, environ: dict[str, str]) -> list[float]:
    """Echoes of the shared shell by way of the least loop that mirrors it (`tests.bench.bare`)."""
    environ = {**environ, "BENCH_SOCKET": str(socket), "BENCH_TARGET": "gsh-main"}
    with Probe(bare(kind), environ=environ) as probe:
        probe.first_frame()
        probe.rest(1.0)
        probe.write(_CLEAR)
        probe.rest(0.5)
        return probe.echoes(KEYS)


def in_tmux_alone(socket: Path, environ: dict[str, str]) -> list[float]:
    """Echoes of the shared shell, attached without a window between."""
    server = TmuxServer(socket_path=socket)
    with Probe(["/usr/bin/env", *server.attach_command("gsh-main")], environ=environ) as probe:
        probe.rest(1.0)
        probe.write(_INTERRUPT)
        probe.rest(1.0)
        return probe.echoes(KEYS)

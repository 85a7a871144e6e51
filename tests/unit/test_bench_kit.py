"""The benchmarks' instruments: a figure that is wrong would be worse than none."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.bench.figures import Figure, Report, line, p95
from tests.bench.material import answer, turns
from tests.bench.pty_probe import Late, Probe

PROGRAM = """
import os, sys, tty
tty.setraw(0)
os.write(1, b"\\x1b[?1049h\\x1b[2J")
os.write(1, b"\\x1b[1;1Ha frame with words in it, %d wide" % os.get_terminal_size().columns)
while key := os.read(0, 64):
    if b"q" in key:
        break
    os.write(1, b"\\x1b[2;1H" + key)
os.write(1, b"leaving")
"""


def test_a_program_is_watched_from_its_first_frame_to_its_end() -> None:
    with Probe([sys.executable, "-c", PROGRAM], columns=123, rows=40, environ=os.environ) as probe:
        first = probe.first_frame()
        assert b"123 wide" in probe.output
        echoes = probe.echoes(5, gap=0)
        assert len(echoes) == 5
        assert all(0 < echo < 5 for echo in echoes)
        assert first < probe.last_output
        assert 1 < probe.memory() < 500
        assert probe.cpu() >= 0
        assert probe.accepts()[1] == 0
        probe.write("q")
        with pytest.raises(Late, match=r"'no such text' did not appear .* it ended with 0, and last wrote: .*leaving"):
            probe.wait_for("no such text", timeout=0.1)


def test_a_program_that_paints_nothing_is_said_to() -> None:
    setup_only = "import os; os.write(1, b'\\x1b[?1049h\\x1b[?25l   \\r\\n')"
    with (
        Probe([sys.executable, "-c", setup_only], environ=os.environ) as probe,
        pytest.raises(Late, match="nothing was painted"),
    ):
        probe.first_frame(timeout=0.1)


@pytest.mark.parametrize(
    ("figure", "met", "shown"),
    [
        (Figure("a", 12.0, "ms", floor=10.0, limit=1.3), True, "1.20x"),
        (Figure("a", 14.0, "ms", floor=10.0, limit=1.3), False, "OVER"),
        (Figure("a", 40.0, "ms", limit=50.0), True, "≤ 50 ms"),
        (Figure("a", 90_000.0, "events/s", limit=100_000.0, at_least=True), False, "90,000"),
        (Figure("a", 1.0, "%"), None, "a "),
    ],
)
def test_a_figure_is_compared_with_its_limit(figure: Figure, met: bool | None, shown: str) -> None:
    assert figure.met is met
    assert shown in line(figure)


def test_a_report_keeps_what_is_needed_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.add("start", 0.5, "s", floor=0.25, limit=3)
    report.write(tmp_path / "deep" / "bench.json")
    kept = json.loads((tmp_path / "deep" / "bench.json").read_text())
    assert kept["figures"][0]["ratio"] == 2.0
    assert kept["figures"][0]["met"] is True
    assert {"at", "python", "system", "load"} <= set(kept)
    assert "start" in capsys.readouterr().out


def test_percentiles_and_material_are_what_they_say() -> None:
    assert p95([float(number) for number in range(100)]) == 95.0
    assert p95([3.0]) == 3.0
    assert len(answer(200_000)) == 200_000
    assert answer(5_000) == answer(200_000)[:5_000]
    assert answer(5_000).count("```") >= 2
    assert [role for role, _ in turns(4)] == ["user", "assistant", "user", "assistant"]

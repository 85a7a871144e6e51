"""What a verdict on a shell line costs: ordinary lines, with many rules, and lines made to be slow.

The floor is bash reading the same lines without running them, in the same run.
"""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gshtui.guard.policy.shell_policy import judge
from gshtui.guard.rules.rule_book import RuleBook, line_matter, parse_rules
from tests.bench.figures import Report, median, p95
from tests.bench.place import Place

LINES = Path(__file__).parents[1] / "fixtures" / "policy" / "lines.jsonl"
ROUNDS = 5
RULES = 200
SLOW = {
    "10,000 nested substitutions": "$(" * 10_000 + ")" * 10_000,
    "1,000 nested substitutions, quoted": 'echo "' + '$("' * 1_000 + '")' * 1_000 + '"',
    "1 MB of words": "echo " + "word " * 200_000,
    "1 MB of one word": "x" * 1_000_000,
    "20,000 functions": "a() {" * 20_000,
    "120,000 characters of commands": "ls; " * 30_000,
    "8,000 characters of commands": "ls;" * 2_600,
    "8,000 characters of pipes": "cat|" * 250 + "cat",
    "400 flags": "git log " + "--oneline " * 400,
}


def run(report: Report, place: Place) -> None:
    """Judge each line some times; the best of each counts, so that a busy machine changes little."""
    folder = place.project
    lines = [json.loads(line)[1] for line in LINES.read_text("utf-8").splitlines()]
    floor = [_best(lambda line=line: _read_by_bash(line)) for line in lines[::20]]
    cost = [_best(lambda line=line: judge(line, folder, folder)) for line in lines]
    report.add("bash reads a line: median", median(floor), "ms", note="the floor")
    report.add("a verdict: median", median(cost), "ms", floor=median(floor), limit=1)
    report.add("a verdict: p95", p95(cost), "ms", floor=median(floor), limit=1)
    report.add("a verdict: p95, by the clock", p95(cost), "ms", limit=2)
    book = _rules(folder)
    ruled = [min(_timed(lambda text=text: _ruled(text, folder, book)) for text in _anew(line)) for line in lines]
    report.add(f"with {RULES} rules: p95", p95(ruled), "ms", floor=p95(cost), limit=20)
    for name, line in SLOW.items():
        report.add(name, _best(lambda line=line: judge(line, folder, folder), 2), "ms", limit=1_000)


def _rules(folder: Path) -> RuleBook:
    text = "".join(f'[[rule]]\ndo = "deny"\nprogram = "tool{number}"\nflags = ["-x"]\n' for number in range(RULES))
    return RuleBook(parse_rules(folder / "rules.toml", text).rules, project=folder)


def _anew(line: str) -> list[str]:
    """The line for each round, as one that has not been read before."""
    return [line + " " * number for number in range(ROUNDS)]


def _ruled(line: str, folder: Path, book: RuleBook) -> None:
    judge(line, folder, folder)
    book.decide(line_matter("bash", line))


def _read_by_bash(line: str) -> None:
    subprocess.run(["bash", "--norc", "-n", "-c", line], stderr=subprocess.DEVNULL, check=False)


def _best(do: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Milliseconds of the fastest of some rounds."""
    taken: Sequence[float] = [_timed(do) for _ in range(rounds)]
    return min(taken)


def _timed(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return (time.perf_counter() - began) * 1000

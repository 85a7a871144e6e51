"""What a workflow of 50 shell steps costs, against one shell that starts 50 shells for a script of the same steps.

Twice: with steps that do what steps do, for a moment, whose ratio has the limit; and with steps that do nothing, which
tell what each step costs by itself (it is judged, recorded before and after, and looked after), in milliseconds: beside
a shell that does nothing either, that is several times as much. The time before the first step, which every command
has, counts apart.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figures import Report, median
from tests.bench.place import Place

STEPS = 50
ROUNDS = 3
WORK = "for i in $(seq 300); do echo $i; done | sort -rn | head -3; sleep 0.05"


def run(report: Report, place: Place) -> None:
    """The same steps both ways."""
    folder = place.home.config / "gsh" / "workflows"
    folder.mkdir(parents=True)
    floor, taken, before = _measured(place, folder, WORK)
    report.add(f"a shell that starts {STEPS} shells", floor, "s", note="the floor")
    report.add(f"a workflow of {STEPS} shell steps", taken, "s", floor=floor, limit=1.2)
    report.add("the time before its first step", before, "s", limit=3.0)
    floor, taken, _ = _measured(place, folder, "true")
    report.add("a step that does nothing, over its shell", (taken - floor) / STEPS * 1_000, "ms", limit=15.0)


def _measured(place: Place, folder: Path, step: str) -> tuple[float, float, float]:
    """Seconds of a shell that starts a shell for each step; of the steps as a workflow; and those before them."""
    steps = "".join(f"      - shell:\n          command: |\n            {step}\n" for _ in range(STEPS))
    (folder / "many.yml").write_text(f"workflows:\n  many:\n    steps:\n{steps}")
    script = "\n".join(f"bash --norc --noprofile -c '{step}'" for _ in range(STEPS))
    floor = median([_shell(place, script) for _ in range(ROUNDS)])
    taken = [_workflow(place) for _ in range(ROUNDS)]
    return floor, median([steps for steps, _ in taken]), median([before for _, before in taken])


def _shell(place: Place, script: str) -> float:
    began = time.perf_counter()
    subprocess.run(["bash", "-c", script], cwd=place.project, env=place.environ, check=True, capture_output=True)
    return time.perf_counter() - began


def _workflow(place: Place) -> tuple[float, float]:
    """Seconds from the first step's beginning to the last one's end, and those before it."""
    command = [sys.executable, "-m", "gshtui", "workflow", "run", "many", "--mode", "yolo", "--json"]
    began = time.time()
    ran = subprocess.run(command, cwd=place.project, env=place.environ, check=True, capture_output=True)
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    first = next(event["at"] for event in events if event["type"] == "WorkflowStarted")
    last = next(event["at"] for event in events if event["type"] == "WorkflowFinished")
    assert sum(event["type"] == "WorkflowStepFinished" for event in events) == STEPS
    return last - first, first - began

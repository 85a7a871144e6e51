"""The shell's side: what the hooks cost a command, what the plugin costs a shell's start, against doing it by forks.

Each command is measured in turn with the hooks of an empty prompt, which do nothing, and costs what is more than them.

The floor is the approach that starts `date`, `jq` and `nc` from the hooks; where one of them is missing, `cat` stands
for it, which starts sooner and waits for nothing.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from gshtui.shell.plugin import quoted
from tests.bench.figures import Report, median
from tests.bench.place import Place
from tests.kit.reporting_hub import ReportingHub
from tests.kit.shells import PLUGIN, zsh

COMMANDS = 200
FORKED = 30
STARTS = 15
HOOKS = """
zmodload zsh/datetime
typeset -a took
measure() {{
    local -F began
    began=$EPOCHREALTIME
    for hook in $preexec_functions; do $hook "$1" "$1" "$1"; done
    took+=($(( (EPOCHREALTIME - began) * 1000 )))
    zselect -t 1 2>/dev/null
    began=$EPOCHREALTIME
    for hook in $precmd_functions; do $hook; done
    took[-1]=$(( took[-1] + (EPOCHREALTIME - began) * 1000 ))
    zselect -t 1 2>/dev/null
    began=$EPOCHREALTIME
    for hook in nothing; do $hook "$1" "$1" "$1"; done
    took[-1]=$(( took[-1] - (EPOCHREALTIME - began) * 1000 ))
    zselect -t 1 2>/dev/null
    began=$EPOCHREALTIME
    for hook in nothing; do $hook; done
    took[-1]=$(( took[-1] - (EPOCHREALTIME - began) * 1000 ))
    zselect -t 1 2>/dev/null
}}
nothing() {{ : }}
zmodload zsh/zselect
text={command}
for number in {{1..{count}}}; do measure "$text $number"; done
print -rl -- $took
"""
FORKS = """
_json() {{ printf '%s' "$1" | {jq} }}
_send() {{ printf '%s\\n' "$1" | {nc} }}
_pre() {{ local at=$(date +%s%3N); _send "{{\\"timestamp\\":$at,\\"command\\":$(_json "$1"),\\"tty\\":\\"$(tty)\\"}}" }}
_post() {{ local code=$? at=$(date +%s%3N); _send "{{\\"exit_code\\":$code,\\"command\\":$(_json x)}}" }}
preexec_functions=(_pre) precmd_functions=(_post)
"""


def run(report: Report, place: Place) -> None:
    """Hooks to a hub, hooks to the spool, forks; then starts."""
    os.environ.update(place.environ)
    socket = Path(place.environ["XDG_RUNTIME_DIR"]) / "gsh" / "gsh.sock"
    jq = "jq -Rs ." if shutil.which("jq") else "cat"
    nc = f"nc -U -w0 {socket}" if shutil.which("nc") else "cat >/dev/null"
    hub = ReportingHub(socket)
    forked = _milliseconds(FORKS.format(jq=jq, nc=nc), FORKED, "make test")
    live = _milliseconds(f"source {PLUGIN}", COMMANDS, "make test")
    long = _milliseconds(f"source {PLUGIN}", COMMANDS, "x" * 4_000 + "'é\"")
    hub.close()
    socket.unlink()
    spool = _milliseconds(f"source {PLUGIN}", COMMANDS, "make test")
    note = f"both hooks of a command, {jq.split()[0]} and {nc.split()[0]} as the floor"
    report.add("hooks, a window listens", median(live), "ms", floor=median(forked), limit=0.05, note=note)
    # Each line is in the spool before it is sent: two appends more than over the socket alone.
    report.add("hooks, a window listens: median", median(live), "ms", limit=1.5)
    report.add("hooks, 4,000 characters with an umlaut", median(long), "ms", limit=2.0)
    report.add("hooks, nobody listens: into the spool", median(spool), "ms", limit=1.0)
    _starts(report, place)


def _milliseconds(setup: str, count: int, command: str) -> list[float]:
    script = f"PS1=; unsetopt zle\n{setup}\n" + HOOKS.format(count=count, command=quoted(command))
    ran = subprocess.run(
        [zsh(), "-d", "-f", "-i"], input=script.encode(), capture_output=True, timeout=120, check=False
    )
    found = [
        float(line) for line in ran.stdout.split() if line.lstrip(b"-").replace(b".", b"").replace(b"e-", b"").isdigit()
    ]
    assert len(found) == count, ran.stderr[-500:]
    return found[2:]


def _starts(report: Report, place: Place) -> None:
    """A shell that only starts, with and without us; and the text that is sourced."""
    folder = place.home.path / "zsh"
    (folder / "with").mkdir(parents=True)
    (folder / "without").mkdir()
    (folder / "with" / ".zshrc").write_text(f"source {PLUGIN}\n")
    (folder / "without" / ".zshrc").write_text("\n")
    took: dict[str, list[float]] = {"with": [], "without": [], "init": [], "python": []}
    for _ in range(STARTS):
        for name in ("with", "without"):
            took[name].append(_timed([zsh(), "-d", "-i", "-c", "exit"], {"ZDOTDIR": str(folder / name)}))
        took["init"].append(_timed([sys.executable, "-m", "gshtui", "shell", "init", "zsh"], {}))
        took["python"].append(_timed([sys.executable, "-c", "pass"], {}))
    report.add(
        "start of zsh with the plugin, more than without",
        median(took["with"]) - median(took["without"]),
        "ms",
        limit=5.0,
    )
    report.add("gsh-tui shell init zsh", median(took["init"]), "ms", floor=median(took["python"]), limit=2.5)


def _timed(argv: list[str], more: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(
        argv, env=dict(os.environ) | more, capture_output=True, timeout=30, check=True, stdin=subprocess.DEVNULL
    )
    return (time.perf_counter() - began) * 1_000

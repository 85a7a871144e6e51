"""Machines that have less than usual: each works, or says in one sentence what is missing, and `doctor` names it."""

import json
import shlex
import subprocess

import pytest

from tests.kit.command import DEADLINE, ROOT, command, environment
from tests.kit.home import Home

MACHINES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "a full /tmp, no /dev/shm, few files, no language": (
        ("--size", "4096", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm", "--remount-ro", "/dev/shm"),
        "head -c 4096 /dev/zero >/tmp/full; ulimit -n 40; export LC_ALL=POSIX; ",
        "",
    ),
    "a home that is read-only": ((), "", "XDG_DATA_HOME"),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_narrow_machine_works_or_says_what_is_missing(name: str, home: Home) -> None:
    options, before, said = MACHINES[name]
    places = (home.path, home.config, home.data, home.state, home.cache)
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
    kept = [word for place in places for word in ("--ro-bind" if said else "--bind", str(place), str(place))]
    kept += ["--bind", str(home.runtime), str(home.runtime)]
    jail = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent"]
    start = [*jail, *options, *kept, "--chdir", str(ROOT), "bash", "-c"]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        line = f"{before}exec {shlex.join(command(words))}"
        return subprocess.run([*start, line], env=environment(), capture_output=True, text=True, timeout=DEADLINE)

    done = run("prompt", "read pyproject.toml 1-1")
    assert (done.returncode, "build-system" in done.stdout) == (0, True), done.stderr
    assert "inside gsh-tui" not in done.stderr and "Traceback" not in done.stderr
    found = {one["name"]: one for one in json.loads(run("doctor", "--json").stdout)["findings"]}
    if said:
        assert "this conversation will not be saved: Cannot write to the record" in done.stderr and said in done.stderr
        assert found["data folder"]["status"] == "problem"
    else:
        assert found["open files"]["status"] == "problem"
        assert found["temporary files"]["detail"] != "/tmp"

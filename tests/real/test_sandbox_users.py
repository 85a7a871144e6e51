"""The sandbox as a user without any rights, where the tests run as root: the same ways out, the same limits."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gshtui.guard.sandbox.sandbox import find_bubblewrap

NOBODY = 65534
SCRIPT = """
import asyncio, json, os, sys
from pathlib import Path
from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap
from gshtui.guard.sandbox.sandbox_watch import SandboxLimits
from gshtui.guard.sandbox.sandbox_run import SandboxRun
from gshtui.guard.sandbox.self_test import try_escapes
from gshtui.text.host_rules import HostRules

async def main():
    base = Path(sys.argv[1])
    project = base / "project"
    (project / ".git").mkdir(parents=True)
    said = {"user": os.getuid(), "escapes": await try_escapes(find_bubblewrap(), base)}
    async def run(line, **more):
        sandbox = ProjectSandbox(find_bubblewrap(), project, base / "kept", **more)
        async with SandboxRun(sandbox, ["sh", "-c", line], project, {"PATH": os.defpath}) as run:
            child = await asyncio.create_subprocess_exec(
                *run.argv, env={}, pass_fds=run.descriptors, stdout=-1, stderr=-2)
            run.started(child.pid)
            return (await asyncio.wait_for(child.communicate(), 30))[0].decode()
    said["wrote"] = await run("id -u; echo x >x && cat x; echo y 2>&1 >.git/y; echo z 2>&1 >/etc/z; ls")
    bomb = "for n in $(seq 60); do sleep 5 & done"
    said["bomb"] = await run(bomb, limits=SandboxLimits(processes=30))
    async def answer(reader, writer):
        await reader.readuntil(b"\\r\\n\\r\\n")
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\nConnection: close\\r\\n\\r\\nhello")
        await writer.drain()
        writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    said["host"] = await run(f"curl -sS http://localhost:{port}/", hosts=HostRules.parse([f"localhost:{port}"]))
    print(json.dumps(said))
asyncio.run(main())
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody may enter, with a copy of the package, and a home for nobody."""
    made = Path(tempfile.mkdtemp(prefix="gsh-nobody-", dir="/tmp"))
    try:
        made.chmod(0o755)
        ignored = shutil.ignore_patterns("__pycache__", "ui")
        shutil.copytree(Path(__file__).parents[2] / "gshtui", made / "tree" / "gshtui", ignore=ignored)
        (made / "home").mkdir(mode=0o700)
        os.chown(made / "home", NOBODY, NOBODY)
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def python_of_everybody() -> str:
    """An interpreter of this version that any user may start; empty: there is none."""
    name = f"python3.{sys.version_info.minor}"
    return next((str(path) for each in ("/usr/bin", "/usr/local/bin") if (path := Path(each, name)).exists()), "")


def test_it_holds_for_a_user_without_rights(place: Path) -> None:
    python = python_of_everybody()
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    become = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
    environ = {"PATH": os.environ["PATH"], "HOME": str(place / "home")}
    environ |= {"PYTHONPATH": f"{place / 'tree'}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"}
    if not python or not shutil.which("setpriv") or not find_bubblewrap("/usr/bin:/bin:/usr/local/bin"):
        return  # no other user can start these here
    can = subprocess.run(
        [*become, python, "-c", "import msgspec, psutil"], env=environ, capture_output=True, timeout=30
    )
    if can.returncode:
        return  # only root becomes another user, who may not read the packages
    ran = subprocess.run(
        [*become, python, "-c", SCRIPT, str(place / "home")], env=environ, capture_output=True, timeout=50, cwd="/"
    )
    assert ran.returncode == 0, ran.stderr.decode()
    said = json.loads(ran.stdout)
    assert said["user"] == NOBODY
    assert said["escapes"] == ""
    assert said["wrote"].startswith(f"{NOBODY}\nx\n")
    assert said["wrote"].endswith("\nx\n")
    assert said["wrote"].count("Read-only file system") == 2
    assert "fork" in said["bomb"] or "Resource" in said["bomb"], "the kernel limits the processes of a user"
    assert said["host"] == "hello"

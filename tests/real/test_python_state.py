"""The variables of Python over the processes of a conversation: what comes back, what does not, and where never."""

import asyncio
import base64
import os
import pickle
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui.guard.sandbox.sandbox import ProjectSandbox
from gshtui.python import interpreter, interpreters
from gshtui.python.interpreters import Confinement, KeptState
from gshtui.python.protocol import KeptValue, KeptVariables
from gshtui.settings import paths
from gshtui.store.tables import python_states
from gshtui.text.host_rules import HostRules
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import parse
from tests.kit.python_interpreters import PythonHarness
from tests.kit.warm_program import run_gsh

OWNER = ("s1", "main")
ALL = """\
import math, functools, enum, dataclasses
zz = 5
_hidden = 1
def f(): return zz + _hidden
class B:
    count = 0
    def go(self): return "B"
class C(B):
    def go(self): return super().go() + str(zz)
C.count = 7
c = C()
a = []
b = a
by_name = {"l": lambda: zz}
def outer():
    k = 3
    def inner(): return k * zz
    return inner
closure = outer()
@functools.lru_cache
def cached(n): return 1 if n == 0 else n * cached(n - 1)
class E(enum.Enum):
    A = 1
e = E.A
@dataclasses.dataclass
class D:
    x: int
d = D(3)
default = lambda x=zz: x
"""
LOOK = """\
zz = 6
(f(), C.count, c.go(), type(c) is C, a is b, by_name["l"](), closure(), cached(4), e is E.A, d == D(3), default(), \
math.floor(2.5))"""
SEEN = "(7, 7, 'B6', True, True, 6, 18, 24, True, True, 5, 2)"

Make = Callable[..., PythonHarness]


@pytest.fixture
async def make(tmp_path: Path, home: Home) -> AsyncIterator[Make]:
    """Makes what a process of the conversation has."""
    (tmp_path / "project").mkdir()
    (tmp_path / "own").mkdir()
    made: list[PythonHarness] = []

    def one(*, sandboxed: bool = True) -> PythonHarness:
        made.append(PythonHarness(Path(os.path.realpath(tmp_path / "project")), tmp_path / "own", sandboxed))
        return made[-1]

    yield one
    for each in made:
        await each.close()


async def ran(python: PythonHarness, code: str, **more: Any) -> str:
    """One process that runs one block."""
    outcome = await python.run(code, **more)
    await python.close()
    return outcome.text


@pytest.mark.parametrize("sandboxed", [True, False])
async def test_everything_comes_back_as_it_was(make: Make, *, sandboxed: bool) -> None:
    assert await ran(make(sandboxed=sandboxed), ALL) == "(no output)"
    shown = await make(sandboxed=sandboxed).do("show")
    assert {"math", "zz", "f", "C", "closure"} <= set(shown.data["kept"])
    later = make(sandboxed=sandboxed)
    first = await later.run(LOOK)
    assert first.text.startswith(f"{SEEN}\n[Python has these from before: math, functools, enum, dataclasses, zz, ")
    assert (await later.run("zz")).text == "6", "it is said once"
    assert "zz" in {one["name"] for one in (await later.do("show")).data["variables"]}
    await later.close()
    assert (await ran(make(sandboxed=sandboxed), LOOK)).startswith(SEEN), "also what had come back"


async def test_what_cannot_be_kept_costs_itself_and_is_named_once(make: Make) -> None:
    made = make()
    code = """\
import socket, sys, types
x = 1
file = open("/etc/passwd")
held = {"in": file}
line = socket.socket()
steps = (n for n in [1])
large = b"-" * 9_000_000
parts = [b"-" * 7_000_000, b"+" * 7_000_000]
one, two, three = b"1" * 7_000_000, b"2" * 7_000_000, b"3" * 7_000_000
class Exits:
    def __reduce__(self): sys.exit(3)
exits = Exits()
module = types.ModuleType("nowhere")
sys.modules["numpy_of_ours"] = gone = types.ModuleType("numpy_of_ours")
"""
    said = (await made.run(code)).text
    for part in (
        "file, an open file",
        "held, a dict (an open file)",
        "line, a socket",
        "steps, a generator",
        "large, larger than 8 MB",
        "parts, larger than 8 MB",
        "three, more than 16 MB or 2,000 values in all",
        "exits, an Exits (3)",
    ):
        assert part in said
    assert (await made.run("y = 2")).text == "(no output)"
    await made.close()
    later = await ran(make(), "x + y, len(one), 'three' in globals(), 'file' in globals()")
    assert later.startswith("(3, 7000000, False, False)\n")
    assert "not from before: gone, ModuleNotFoundError: No module named 'numpy_of_ours'" in later


async def test_a_value_that_takes_for_ever_costs_itself(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_KEEP_WITHIN", 0.5)
    made = make()
    said = (
        await made.run("class Slow:\n    def __reduce__(self):\n        while True: pass\nx = 1\nslow = Slow()")
    ).text
    assert "slow, it took too long" in said
    assert (await made.run("x")).text == "1", "the interpreter lives"
    await made.close()
    assert (await ran(make(), "x")).startswith("1\n")


async def test_a_restart_forgets_what_was_kept(make: Make) -> None:
    await ran(make(), "x = 1")
    assert "these variables are gone: x." in (await make().do("restart")).text
    assert "NameError" in await ran(make(), "x")
    assert (await ran(make(), "y = 1", session="")) == "(no output)"
    assert "NameError" in await ran(make(), "y", session=""), "outside conversations nothing is kept"


class Does:
    """A pickle that calls something when it is loaded."""

    def __init__(self, what: Any, *arguments: Any) -> None:
        self._call = (what, arguments)

    def __reduce__(self) -> Any:
        return self._call


def kept(*values: object, made: Confinement | None = None, python: str = "") -> bytes:
    """A file with these values, and `x = 1` in front."""
    texts = [base64.b64encode(pickle.dumps(value)).decode() for value in (1, *values)]
    named = [KeptValue([f"v{number}" if number else "x"], text) for number, text in enumerate(texts)]
    tag = python or sys.implementation.cache_tag or ""
    return interpreters.encode_state(KeptState(made or Confinement(), KeptVariables(tag, {}, named)))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "the file that kept them is damaged"),
        (b"\xff\xfe\x00", "the file that kept them is damaged"),
        (b"[" * 100_000, "the file that kept them is damaged"),
        (b'{"made": {}, "kept": {"python": 1}}', "the file that kept them is damaged"),
        (kept()[:-9], "the file that kept them is damaged"),
        (kept(python="cpython-27"), "they are of cpython-27, and this is cpython-3"),
        (kept(Does(os._exit, 3)), "Python starts without its earlier variables: "),
        (kept(Does(os.kill, 0, 9)), "Python starts without its earlier variables: "),
        (kept(Does(eval, "[0 for _ in iter(int, 1)]")), "Python starts without its earlier variables: "),
    ],
)
async def test_a_damaged_or_hostile_file_costs_the_variables_and_a_sentence(
    make: Make, monkeypatch: pytest.MonkeyPatch, data: bytes, why: str
) -> None:
    monkeypatch.setattr(interpreter, "_RESTORE_WITHIN", 1.0)
    monkeypatch.setattr(interpreter, "_INTERRUPT_WITHIN", 1.0)
    python_states.write(*OWNER, data)
    made = make()
    first = await made.run("'x' in globals(), 6 * 7")
    assert first.text.startswith("(False, 42)\n[Python starts without its earlier variables: ")
    assert why in first.text
    assert first.text.count("\n") == 1
    assert (await made.run("'x' in globals()")).text == "False"


async def test_values_that_fail_cost_themselves(make: Make, tmp_path: Path) -> None:
    broken = base64.b64encode(b"\x80\x05garbage").decode()
    loud, large = Does(eval, "print('-' * 200_000)"), Does(bytearray, 1 << 45)
    data = kept(Does(exec, "raise SystemExit(1)"), large, loud, Does(os.system, "touch .envrc made"))
    python_states.write(
        *OWNER, data.replace(b'"values":[', b'"values":[{"names":["bad"],"data":"' + broken.encode() + b'"},')
    )
    said = await ran(make(), "x")
    assert said.startswith("1\n[not left in the project, since other programs would obey it: .envrc")
    assert "bad, UnpicklingError: " in said
    assert "v1, SystemExit: 1; v2, MemoryError]" in said
    assert not (tmp_path / "project/.envrc").exists()
    assert (tmp_path / "project/made").exists()
    assert "-----" not in said


async def test_what_a_sandbox_made_is_never_loaded_outside(make: Make, tmp_path: Path) -> None:
    code = "import os\nclass Bad:\n    def __reduce__(self): return (os.system, ('touch made',))\nx, bad = 1, Bad()"
    await ran(make(), code)
    outside = await ran(make(sandboxed=False), "y = 2\n'x' in globals()")
    assert outside == (
        "False\n[Python starts without its earlier variables: they were made in a sandbox, and are only set again in "
        "one that allows no more]"
    )
    assert not (tmp_path / "project/made").exists()
    assert (await ran(make(), "y, 'x' in globals()")).startswith("(2, False)\n"), "what was made outside is"


def test_only_as_strict_a_sandbox_holds(tmp_path: Path) -> None:
    hosts = HostRules.parse(["example.com"])
    base = ProjectSandbox(
        "bwrap", tmp_path, tmp_path, (tmp_path / "w",), hidden=(tmp_path / "h",), visible=("v",), hosts=hosts
    )
    made, outside = Confinement.from_sandbox(base), Confinement.from_sandbox(None)
    stricter = (
        replace(base, writable=()),
        replace(base, hosts=HostRules()),
        replace(base, read_only=True),
        replace(base, visible=()),
        replace(base, hidden=(*base.hidden, tmp_path / "more")),
    )
    looser = (
        replace(base, network=True),
        replace(base, hosts=HostRules.parse(["example.com", "example.org"])),
        replace(base, writable=(*base.writable, tmp_path / "x")),
        replace(base, hidden=()),
        replace(base, visible=("v", "*.env")),
        replace(base, project=tmp_path / "other"),
        replace(base, program="sandbox-exec"),
    )
    assert made.holds(made)
    assert made.holds(outside)
    assert not outside.holds(made)
    assert all(Confinement.from_sandbox(one).holds(made) for one in stricter)
    assert not any(Confinement.from_sandbox(one).holds(made) for one in looser)
    assert not made.holds(Confinement.from_sandbox(replace(base, read_only=True)))


async def test_without_the_package_it_is_said_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_cloudpickle", lambda: None)
    made = make()
    said = (await made.run("x = 1")).text
    assert said == "(no output)\n[not kept for later: the variables, ImportError: cloudpickle is not installed]"
    assert (await made.run("x")).text == "1"


async def test_two_processes_of_a_conversation_and_its_end(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = made_project(tmp_path / "project")

    async def prompt(code: str, *words: str) -> str:
        answers = [[{"say": f"<python>\n{code}\n</python>"}], [{"say": "done"}]]
        async with loopback("anthropic", parse(answers)) as server:
            for name, value in variables("anthropic", server.url).items():
                monkeypatch.setenv(name, value)
            run = ("prompt", "--json", "--yes", "--provider", "anthropic", *words, "go on")
            result = await asyncio.to_thread(run_gsh, *run, cwd=project)
            assert result.code == 0, result.err
            return str([request.body for request in server.requests if request.kind == "chat"][-1]["messages"][-1])

    await prompt("import math\nzz = 5\ndef f(): return zz\nclass C:\n    x = 1")
    later = await prompt("print(zz, math.floor(2.5), f(), C.x)", "--session", "latest")
    assert "5 2 5 1" in later
    assert "Python has these from before: math, zz, f, C" in later
    folder = paths.data_dir(create=False) / python_states.FOLDER
    (session,) = folder.iterdir()
    (file,) = session.iterdir()
    assert (session.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    seen = await prompt(f"import os\nprint('seen', os.path.exists({str(file)!r}))", "--session", "latest")
    assert "seen False" in seen, "what runs in the sandbox finds no file of a conversation"
    removed = await asyncio.to_thread(run_gsh, "session", "rm", "latest", "--yes", cwd=project)
    assert removed.code == 0, removed.err
    assert not session.exists()

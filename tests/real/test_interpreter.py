"""Real interpreters, in a real sandbox and outside: they keep their variables, and whatever a block does costs only
its own interpreter."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gshtui.python.interpreter import (
    Interpreter,
    InterpreterError,
    InterpreterLimits,
    InterpreterOptions,
    start_interpreter,
)
from tests.kit.python_interpreters import answer_nothing, run, started, value
from tests.kit.storms import examples
from tests.kit.tmux import DEADLINE, eventually
from tests.kit.tool_harness import processes_mentioning


async def soon(look: Callable[[], object]) -> None:
    """Wait until it is so."""

    async def looked() -> object:
        return look()

    await eventually(looked)


def is_alive(process: psutil.Process) -> bool:
    """Whether it runs; it may end while it is looked at."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


both = pytest.mark.parametrize("sandboxed", [True, False], ids=["sandbox", "outside"])


@pytest.fixture
async def python(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Interpreter]:
    made = await started(tmp_path / "project", sandboxed=getattr(request, "param", True))
    yield made
    await made.close()


async def test_variables_and_imports_stay(python: Interpreter) -> None:
    await run(python, "import math\nx = 20\ndef double(n):\n    return 2 * n")
    end, _ = await run(python, "double(x) + math.floor(2.5)")
    assert value(end) == "42"
    assert python.names == ["x", "double"]


async def test_it_starts_without_the_modules_of_its_folder(tmp_path: Path) -> None:
    project, ran = tmp_path / "project", tmp_path / "ran"
    project.mkdir()
    for module in ("contextlib", "functools", "types", "warnings"):
        (project / f"{module}.py").write_text(f"open({str(ran)!r}, 'a').write(__name__)")
    await (await started(project, sandboxed=False)).close()
    assert not ran.exists()


async def test_output_comes_in_order_also_of_subprocesses(python: Interpreter) -> None:
    code = (
        "import sys\nprint('1', end=' ')\nsubprocess.run('echo 2; echo 3 >&2', shell=True)\nprint('4', file=sys.stderr)"
    )
    _, printed = await run(python, code)
    assert printed == "1 2\n3\n4\n"


async def test_an_error_names_the_line_and_shows_only_the_block(python: Interpreter) -> None:
    end, printed = await run(python, "print('before')\ndef f():\n    return 1 / 0\nf()")
    assert printed == "before\n"
    assert end.done is not None
    assert (end.done.ok, end.done.kind, end.done.message, end.done.line) == (
        False,
        "ZeroDivisionError",
        "division by zero",
        4,
    )
    assert "return 1 / 0" in end.done.trace
    assert "worker" not in end.done.trace
    bad, _ = await run(python, "x = 1\ndef f(:\n")
    assert bad.done is not None
    assert (bad.done.kind, bad.done.line) == ("SyntaxError", 2)
    assert "ast.py" not in bad.done.trace


@both
async def test_a_block_that_takes_too_long_is_interrupted_and_keeps_the_variables(
    tmp_path: Path, sandboxed: bool
) -> None:
    python = await started(tmp_path / "project", sandboxed=sandboxed)
    await run(python, "kept = 7")
    end, printed = await run(python, "print('in it')\nimport signal\nsignal.pause()", limit=0.5)
    assert (end.state, end.alive, printed) == ("timeout", True, "in it\n")
    assert end.done is not None and end.done.kind == "KeyboardInterrupt"
    slow, _ = await run(python, "import os\nos.system('sleep 60')", limit=0.5)
    assert (slow.state, slow.alive) == ("timeout", True), "what it waits for is interrupted, too"
    assert value((await run(python, "kept"))[0]) == "7"
    await python.close()


@both
@pytest.mark.parametrize(
    "code",
    [
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
        "import signal\nwhile True:\n    try:\n        while True: signal.pause()\n    except BaseException: pass",
        "import re\nre.match(r'(a|aa)+$', 'a' * 60 + 'b')",
    ],
    ids=["ignores the signal", "catches it", "never looks"],
)
async def test_an_ignored_interrupt_ends_the_interpreter(tmp_path: Path, sandboxed: bool, code: str) -> None:
    python = await started(tmp_path / "project", sandboxed=sandboxed)
    end, _ = await run(python, code, limit=0.3)
    assert (end.state, end.alive) == ("timeout", False)
    with pytest.raises(InterpreterError, match="ended"):
        await python.variables()
    await python.close()


@both
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os\nos._exit(3)", "exit code 3"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("import ctypes\nctypes.string_at(0)", "signal 11"),
        ("import os\nos.closerange(3, 4096)", "closed its connection|exit code|signal"),
    ],
    ids=["exits", "kills itself", "crashes", "closes everything"],
)
async def test_the_end_of_the_interpreter_is_told(tmp_path: Path, sandboxed: bool, code: str, why: str) -> None:
    python = await started(tmp_path / "project", sandboxed=sandboxed)
    await run(python, "gone = 1")
    end, _ = await run(python, code, limit=10)
    assert (end.state, end.alive) == ("ended", False)
    assert __import__("re").search(why, end.why), end.why
    assert python.names == ["gone"]
    await python.close()


async def test_what_it_does_to_its_streams_is_mended_for_the_next_block(python: Interpreter) -> None:
    for code in (
        "import os\nos.close(1)",
        "import sys\nsys.stdout.close()",
        "import sys\nsys.stdout = None",
        "import os\nos.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
    ):
        end, _ = await run(python, code)
        assert end.alive
        assert (await run(python, "print('still here')"))[1] == "still here\n", code
    end, _ = await run(python, "input()")
    assert end.done is not None and end.done.kind == "EOFError"
    assert (await run(python, "exit(3)"))[0].alive


async def test_a_fork_in_a_block_does_not_answer_for_it(python: Interpreter) -> None:
    end, printed = await run(
        python,
        "import os\npid = os.fork()\nos.write(1, b'child ' if pid == 0 else b'parent ')\n"
        "pid and os.waitpid(pid, 0)\npid > 0",
    )
    assert value(end) == "True"
    assert sorted(printed.split()) == ["child", "parent"]
    assert value((await run(python, "1 + 1"))[0]) == "2"


@both
async def test_a_process_that_is_stopped_alone_at_the_start_goes_on(tmp_path: Path, sandboxed: bool) -> None:
    """As happens to one that is being forked just when everything is continued."""
    python = await started(tmp_path / "project", sandboxed=sandboxed)
    code = (
        "import os, signal\npid = os.fork()\n"
        "pid or os.kill(os.getpid(), signal.SIGSTOP)\n"
        "pid and os.waitpid(pid, 0)\npid > 0"
    )
    assert value((await run(python, code, limit=DEADLINE))[0]) == "True"
    await python.close()


@both
async def test_a_fork_bomb_costs_only_the_interpreter(tmp_path: Path, sandboxed: bool) -> None:
    python = await started(tmp_path / "project", sandboxed=sandboxed, limits=InterpreterLimits(processes=40))
    mark = f"bomb-{os.getpid()}-{sandboxed}"
    code = f"import os, signal\nmark = {mark!r}\nfor _ in range(7):\n    os.fork()\nsignal.pause()"
    end, _ = await run(python, code, limit=30)
    assert (end.state, end.alive) == ("ended", False)
    assert "more than 40 processes" in end.why
    assert not [child for child in psutil.Process().children(recursive=True) if child.pid == python.pid]
    await python.close()


@both
async def test_memory_is_limited(tmp_path: Path, sandboxed: bool) -> None:
    limits = InterpreterLimits(memory=300 << 20)
    python = await started(tmp_path / "project", sandboxed=sandboxed, limits=limits)
    end, _ = await run(python, "held = []\nwhile True:\n    held.append(bytearray(1 << 24))")
    assert end.done is not None and end.done.kind == "MemoryError"
    assert end.alive
    await run(python, "held = []")
    forked = (
        "import os, signal\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        x = os.urandom(1 << 27)\n"
        "        signal.pause()\n"
        "signal.pause()"
    )
    many, _ = await run(python, forked)
    assert (many.state, many.alive) == ("ended", False)
    assert "MB of memory" in many.why
    await python.close()


async def test_files_are_limited(tmp_path: Path) -> None:
    python = await started(tmp_path / "project", sandboxed=True, limits=InterpreterLimits(file=1 << 20))
    end, _ = await run(python, "with open('big', 'wb') as file:\n    while True: file.write(bytes(1 << 16))")
    assert end.done is not None and end.done.kind == "OSError"
    assert (tmp_path / "project" / "big").stat().st_size <= 1 << 20
    await python.close()


async def test_a_hundred_megabytes_are_printed(python: Interpreter) -> None:
    end, printed = await run(python, "for _ in range(100): print('x' * (1 << 20))", limit=40)
    assert end.state == "done"
    assert len(printed) == 100 * ((1 << 20) + 1)


@both
async def test_it_stands_still_between_blocks(tmp_path: Path, sandboxed: bool) -> None:
    python = await started(tmp_path / "project", sandboxed=sandboxed)
    code = (
        "import threading, subprocess\n"
        "count = 0\n"
        "def go():\n"
        "    global count\n"
        "    while True: count += 1\n"
        "threading.Thread(target=go, daemon=True).start()\n"
        "child = subprocess.Popen(['sleep', '300'])"
    )
    await run(python, code)
    top = psutil.Process(python.pid)

    def stopped() -> bool:
        below = top.children(recursive=True)
        last = [one for one in below if one.name() == "sleep"]
        return bool(last) and all(one.status() == psutil.STATUS_STOPPED for one in last)

    await soon(stopped)
    spent = sum(one.cpu_times().user for one in top.children(recursive=True))
    first, _ = await run(python, "count")
    assert int(value(first)) > 0
    await soon(stopped)
    assert sum(one.cpu_times().user for one in top.children(recursive=True)) - spent < 1
    assert value((await run(python, "child.poll() is None"))[0]) == "True"
    await python.close()
    assert not top.is_running() or top.status() == psutil.STATUS_ZOMBIE


OWNER = """
import asyncio, pathlib, sys
from tests.kit.python_interpreters import started, run
async def main():
    python = await started(pathlib.Path(sys.argv[1]), sandboxed=sys.argv[2] == "yes")
    code = "import subprocess\\nchild = subprocess.Popen(['sleep', %r], start_new_session=True)"
    await run(python, code % sys.argv[3])
    print("started", flush=True)
    async with python.turn:
        await python.run("import signal\\nsignal.pause()", "<block>", 1000)
asyncio.run(main())
"""


@both
async def test_it_ends_with_its_owner_also_after_kill_9(tmp_path: Path, sandboxed: bool) -> None:
    seconds = f"9{int.from_bytes(os.urandom(3), 'big'):08d}"
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OWNER,
        str(tmp_path / "project"),
        "yes" if sandboxed else "no",
        seconds,
        stdout=asyncio.subprocess.PIPE,
    )
    assert owner.stdout is not None
    assert await asyncio.wait_for(owner.stdout.readline(), 30) == b"started\n"
    below = psutil.Process(owner.pid).children(recursive=True)
    assert processes_mentioning(seconds)
    owner.send_signal(signal.SIGKILL)
    await owner.wait()
    await soon(lambda: not processes_mentioning(seconds))
    await soon(lambda: not [one for one in below if is_alive(one)])


async def test_the_sandbox_holds_it(tmp_path: Path) -> None:
    python = await started(tmp_path / "project", sandboxed=True)
    outside = tmp_path / "outside.txt"
    outside.write_text("outside", "utf-8")
    await run(python, f"write_file({str(outside)!r}, 'changed')")
    assert outside.read_text("utf-8") == "outside"
    end, _ = await run(
        python,
        "write_file('inside/a.txt', 'a'); append_file('inside/a.txt', 'b')\n"
        "read_file('inside/a.txt'), list_files('**/*.txt')",
    )
    assert value(end) == "('ab', ['inside/a.txt'])"
    end, _ = await run(python, "write_file('.envrc', 'echo obeyed')")
    assert end.moved and ".envrc" in end.moved[0]
    assert not (tmp_path / "project" / ".envrc").exists()
    end, _ = await run(python, "http_get('http://127.0.0.1:9/')['error']")
    assert "[sandbox] allow_network = true" in value(end)
    await python.close()


async def test_it_cannot_reach_into_its_supervisor(tmp_path: Path) -> None:
    python = await started(tmp_path / "project", sandboxed=True)
    tried = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
worked = []
if libc.ptrace(16, 1, None, None) == 0:
    worked.append("ptrace")
if libc.syscall(438, os.pidfd_open(1), 3, 0) >= 0:
    worked.append("pidfd_getfd")
for name in ("mem", "environ"):
    try:
        os.close(os.open("/proc/1/" + name, os.O_RDONLY if name == "environ" else os.O_RDWR))
        worked.append(name)
    except OSError:
        pass
os.close(os.open("/proc/self/mem", os.O_RDWR))
worked
"""
    end, _ = await run(python, tried)
    assert value(end) == "[]"
    await python.close()


async def test_commands_have_the_form_that_models_know(python: Interpreter) -> None:
    end, _ = await run(python, "run_cmd('echo out; echo err >&2; exit 3')")
    assert value(end) == str({"stdout": "out\n", "stderr": "err\n", "returncode": 3, "success": False})
    end, _ = await run(python, "run_cmd('sleep 60', timeout=1)")
    assert value(end) == str({"stdout": "", "stderr": "Command timed out after 1s", "returncode": -1, "success": False})
    _, printed = await run(python, "output({'a': [1]}); output('text')")
    assert printed == '{\n  "a": [\n    1\n  ]\n}\ntext\n'
    end, _ = await run(python, "os.sep, json.dumps([]), pathlib.Path('a').name, List[int], sys.version_info > (3,)")
    assert value(end).startswith("('/', '[]', 'a', typing.List[int], True")


async def test_questions_go_to_the_hub_and_its_refusal_is_an_error(tmp_path: Path) -> None:
    async def answer(what: str, more: dict[str, object]) -> object:
        if more["prompt"] == "no":
            raise InterpreterError("The budget is used up.")
        return f"{what}: {more['prompt']}"

    python = await started(tmp_path / "project", sandboxed=True, answer=answer)
    assert value((await run(python, "llm_call('yes')"))[0]) == "'llm: yes'"
    end, _ = await run(python, "llm_call('no')")
    assert end.done is not None
    assert (end.done.kind, end.done.message) == ("RuntimeError", "The budget is used up.")
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    found = list(pool.map(llm_call, 'abcd'))\n"
        "found"
    )
    assert value((await run(python, code))[0]) == "['llm: a', 'llm: b', 'llm: c', 'llm: d']"
    await python.close()


async def test_an_interrupt_from_outside(python: Interpreter) -> None:
    running = asyncio.create_task(run(python, "import signal\nsignal.pause()"))
    await soon(lambda: python.busy)
    assert python.interrupt()
    end, _ = await running
    assert (end.state, end.alive) == ("interrupted", True)
    assert not python.interrupt()
    cancelled = asyncio.create_task(run(python, "import signal\nx = 1\nsignal.pause()"))
    await soon(lambda: python.busy)
    cancelled.cancel()
    await asyncio.wait([cancelled], timeout=10)
    assert cancelled.cancelled()
    assert (await run(python, "1"))[0].alive


async def test_what_comes_from_the_process_is_checked(python: Interpreter) -> None:
    forge = (
        "import socket, struct, os\n"
        "for n in range(3, 1024):\n"
        "    try:\n"
        "        s = socket.socket(fileno=os.dup(n))\n"
        "        s.sendall(struct.pack('>I', {size}) + {data!r})\n"
        "    except OSError: pass"
    )
    await run(python, forge.format(size=10, data=b"not json!!"), limit=5)
    end, _ = await run(python, "1")
    assert (end.state, end.alive) == ("ended", False)


async def test_an_interpreter_that_does_not_start_says_why(tmp_path: Path) -> None:
    for program, said in ((str(tmp_path / "none"), "Cannot start"), ("/bin/false", "does not start")):
        with pytest.raises(InterpreterError, match=said):
            await start_interpreter(InterpreterOptions(program, tmp_path), answer_nothing)


async def test_variables_are_described(python: Interpreter) -> None:
    code = (
        "numbers = list(range(1000))\n"
        "text = 'a' * 500\n"
        "class Odd:\n"
        "    def __repr__(self): raise ValueError('no')\n"
        "    def __len__(self): raise ValueError('no')\n"
        "odd = Odd()\n"
        "import math"
    )
    await run(python, code)
    found = {one.name: one for one in await python.variables()}
    assert set(found) == {"numbers", "text", "Odd", "odd"}
    assert (found["numbers"].type, found["numbers"].size) == ("list", "1,000")
    assert found["numbers"].preview.startswith("[0, 1, 2")
    assert len(found["text"].preview) <= 120
    assert "Odd" in found["odd"].preview


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from("abc"), st.integers(-5, 5)),
        st.tuples(st.just("fail"), st.sampled_from("abc"), st.integers(-5, 5)),
        st.tuples(st.just("syntax"), st.sampled_from("abc"), st.integers(-5, 5)),
        st.tuples(st.just("exit"), st.sampled_from("abc"), st.integers(-5, 5)),
        st.tuples(st.just("delete"), st.sampled_from("abc"), st.integers(-5, 5)),
    ),
    max_size=12,
)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_variables_persist_whatever_the_blocks_do(tmp_path: Path, steps: list[tuple[str, str, int]]) -> None:
    async def play() -> None:
        python = await started(tmp_path / "project", sandboxed=False)
        model: dict[str, int] = {}
        for what, name, number in steps:
            code = {
                "set": f"{name} = {number}",
                "fail": f"{name} = {number}\nraise ValueError",
                "syntax": f"{name} = {number}\ndef (",
                "exit": f"{name} = {number}\nexit()",
                "delete": f"globals().pop({name!r}, None)",
            }[what]
            await run(python, code)
            if what in ("set", "fail", "exit"):
                model[name] = number
            elif what == "delete":
                model.pop(name, None)
            end, _ = await run(python, "json.dumps({n: globals()[n] for n in 'abc' if n in globals()})")
            assert json.loads(value(end).strip("'")) == model
        await python.close()

    asyncio.run(play())

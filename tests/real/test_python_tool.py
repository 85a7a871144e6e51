"""The `python` command as agents and people call it, on real interpreters: what results look like, who shares what."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import ToolFinished, TurnStarted
from gshtui.commands.declaration import CommandError, Effect
from gshtui.python.interpreter import InterpreterError
from gshtui.settings.settings_tables import Python as PythonSettings
from tests.kit.markers import cut_of
from tests.kit.png import png
from tests.kit.python_interpreters import BASE, PythonHarness, in_sandbox
from tests.kit.tmux import eventually


@pytest.fixture
async def python(tmp_path: Path) -> AsyncIterator[PythonHarness]:
    (tmp_path / "project").mkdir()
    (tmp_path / "own").mkdir()
    made = PythonHarness(Path(os.path.realpath(tmp_path / "project")), tmp_path / "own")
    yield made
    await made.close()


async def test_results_and_errors(python: PythonHarness) -> None:
    good = await python.run("print('hello')\n6 * 7")
    assert (good.text, good.is_error) == ("hello\n42", False)
    assert good.data["value"] == "42"
    assert good.data["sandboxed"]
    assert "".join(python.live) == "hello\n"
    assert (await python.run("x = 1")).text == "(no output)"
    bad = await python.run("print('so far')\n1 / 0")
    assert bad.is_error
    assert bad.text.startswith("Error: ZeroDivisionError: division by zero (line 2)\nOutput before error: \nso far\n")
    assert bad.text.endswith("ZeroDivisionError: division by zero")
    assert (await python.run("y")).text.startswith(
        "Error: NameError: name 'y' is not defined (line 1)\nOutput before error: (none)\n"
    )


async def test_long_output_is_cut_and_whole(python: PythonHarness) -> None:
    outcome = await python.run("for n in range(20_000): print('line', n)\n'the value'")
    assert len(outcome.text.encode()) <= 30_000
    head, omitted, tail = cut_of(outcome.text)
    assert head.startswith("line 0\n")
    assert tail.endswith("'the value'")
    assert outcome.full.count("\n") >= 20_000
    assert len(head.encode()) + omitted + len(tail.encode()) == outcome.bytes


async def test_hostile_output_and_values_are_sanitised(python: PythonHarness) -> None:
    code = "print('\\x1b]0;title\\x07\\x1b[31mred')\nclass E(Exception):\n    __name__ = 'x'\n'\\u202e'"
    outcome = await python.run(code)
    assert "\x1b" not in outcome.text
    assert outcome.text.startswith("red")
    bad = await python.run("raise ValueError('\\x1b[2J\\x9b1m\\x07')")
    assert "\x1b" not in bad.text + str(bad.data)
    assert "\x9b" not in bad.text


async def test_tables(python: PythonHarness) -> None:
    outcome = await python.run("[{'name': 'a', 'size': 1}, {'name': 'b|c', 'size': 22.5}]")
    assert outcome.text.split("\n") == ["name  size", "──────────", "a     1", "b¦c   22.5"]
    long = await python.run("[{'n': n} for n in range(100)]")
    assert long.text.endswith("… 70 more rows")


FAKE_PLOTS = """
import sys, types
plots = types.ModuleType("matplotlib.pyplot")
class Line:
    def get_xydata(self): return [(x, x * x) for x in range(10)]
class Axes:
    collections, patches = [], []
    def get_title(self): return "Squares"
    def get_lines(self): return [Line()]
    def get_xlim(self): return (0, 9)
    def get_ylim(self): return (0, 81)
class Figure:
    axes = [Axes()]
    def savefig(self, file, **more): file.write(PNG)
shown = [1]
plots.get_fignums = lambda: list(shown)
plots.figure = lambda number: Figure()
plots.close = lambda which: shown.clear()
sys.modules["matplotlib.pyplot"] = plots
"""


async def test_figures_are_kept_and_drawn_in_text(python: PythonHarness) -> None:
    outcome = await python.run(f"PNG = {png()!r}\n{FAKE_PLOTS}")
    (line,) = outcome.data["figures"]
    assert line.startswith("[figure Squares: ")
    path = Path(line.removeprefix("[figure Squares: ").removesuffix("]"))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "81 │" in outcome.text
    assert line in outcome.notes
    assert (await python.run("1")).data["figures"] == [], "each is shown once"


async def test_two_conversations_and_two_agents_do_not_see_each_other(python: PythonHarness) -> None:
    await python.run("secret = 1")
    for more in ({"session": "s2"}, {"agent": "other"}):
        assert "NameError" in (await python.run("secret", **more)).text
    assert (await python.run("secret")).text == "1"


async def test_a_person_shares_the_interpreter_of_the_agent_in_front(python: PythonHarness) -> None:
    empty = await python.do("show")
    assert empty.data == {"alive": False, "variables": [], "kept": []}
    await python.run("numbers = [1, 2, 3]")
    shown = await python.do("show")
    assert shown.data["variables"] == [{"name": "numbers", "type": "list", "size": "3", "preview": "[1, 2, 3]"}]
    assert "| numbers | list | 3 | [1, 2, 3] |" in shown.text
    assert (await python.do("run", code="sum(numbers)")).text == "6"
    assert python.command.bare == "python show"


async def test_a_restart_says_what_went(python: PythonHarness) -> None:
    assert (await python.do("restart")).text == "There was no interpreter: the next block starts one."
    await python.run("a = 1\nb = 2")
    done = await python.do("restart")
    assert done.text == "Python starts anew with the next block; these variables are gone: a, b."
    await python.run("c = 3")
    again = await python.run("d = 4", restart=True)
    assert again.text == "(no output)\n[Started anew; these variables are gone: c.]"
    assert again.data["variables"] == ["d"]


async def test_the_end_of_the_interpreter_is_said_and_the_next_block_has_a_new_one(python: PythonHarness) -> None:
    await python.run("kept = 1\nfile = open('/etc/hostname')")
    died = await python.run("import os\nnew = 1\nos._exit(7)")
    assert died.is_error
    assert "[Python has ended: it ended with exit code 7; the next one has the variables as they were" in died.text
    again = (await python.run("kept, 'new' in globals()")).text
    assert again.startswith("(1, False)\n[The interpreter had ended; these variables are gone: file.]")
    assert "[Python has these from before: kept]" in again


async def test_an_interrupt_by_a_person(python: PythonHarness) -> None:
    assert (await python.do("interrupt")).text == "No block is running."
    running = asyncio.create_task(python.run("import signal\nprint('go')\nsignal.pause()"))

    async def live() -> str:
        return "".join(python.live)

    await eventually(live)
    busy = await python.do("show")
    assert busy.data["busy"]
    assert (await python.do("interrupt")).text == "The block was told to stop."
    outcome = await running
    assert outcome.data["state"] == "interrupted"
    assert "its variables are kept" in outcome.text


async def test_a_time_limit(python: PythonHarness) -> None:
    outcome = await python.run("import signal\nsignal.pause()", timeout=0.3)
    assert outcome.timed_out
    assert outcome.notes.endswith("[timed out after 0.3 s and was interrupted; its variables are kept]")


async def test_what_failed_is_not_tried_blindly(python: PythonHarness) -> None:
    await python.run("nothing")
    with pytest.raises(CommandError, match="This very block failed already, with NameError in line 1"):
        await python.run("nothing")
    await python.run("nothing_1")
    await python.run("nothing_2")
    with pytest.raises(CommandError, match="3 blocks failed in a row"):
        await python.run("nothing_3")
    python.bus.publish(ToolFinished(agent="main", session="s1", call="c", tool="read", status="ok"))
    await python.bus.drained()
    assert "NameError" in (await python.run("nothing_3")).text
    await python.run("nothing_4")
    await python.run("nothing_5")
    python.bus.publish(TurnStarted(agent="main", session="s1", turn="t", prompt="p", text="again"))
    await python.bus.drained()
    assert "NameError" in (await python.run("nothing_3")).text, "a person has said something"


async def test_the_question_shows_the_whole_block_and_where_it_runs(python: PythonHarness) -> None:
    found = await python.assess("first()\nsecond('\u202e')")
    assert (found.effect, found.inside, found.sandbox, found.pattern) == (
        Effect.EXECUTE,
        False,
        True,
        "any Python in the sandbox",
    )
    assert found.subject == "first() (+1 lines)"
    assert "no network" in found.detail
    assert "⟨U+202E⟩" in found.detail
    assert (await python.assess("", restart=True)).effect is Effect.READ


async def test_without_a_sandbox_each_block_asks_and_none_slips_out(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "own").mkdir()
    python = PythonHarness(tmp_path / "project", tmp_path / "own", sandboxed=False)
    found = await python.assess("1")
    assert (found.sandbox, found.pattern) == (False, "")
    assert "the sandbox is switched off" in found.warnings[0]
    allowed = in_sandbox(python.invocation())
    with pytest.raises(CommandError, match="allowed in the sandbox only"):
        await python.command.handler(allowed, python.command.parameters(code="1"))
    outside = await python.run("1")
    assert (outside.text, outside.data["sandboxed"]) == ("1", False)
    await python.close()


async def test_questions_to_the_model_are_the_callers(python: PythonHarness) -> None:
    assert (await python.run("llm_call('why?')", agent="helper")).text == "'answer to why?'"
    assert python.asked == [("helper", "why?")]


async def test_sessions_with_programs_are_calls_of_the_terminal_tool(python: PythonHarness) -> None:
    code = (
        "session = CliSession('opencode', pattern='> $')\n"
        "shown = session.start()\n"
        "answer = session.send('write a test')\n"
        "session.interrupt()\n"
        "session.exit('/exit')\n"
        "shown, answer"
    )
    assert (await python.run(code)).data["value"] == "('the screen', 'the screen')"
    assert {(agent, tool) for agent, tool, _ in python.used} == {("main", "tmux")}
    steps = [(given["action"], given.get("text") or given.get("keys") or "") for _, _, given in python.used]
    assert steps == [
        ("send", "opencode"),
        ("wait_ready", ""),
        ("send", "write a test"),
        ("wait_ready", ""),
        ("read", ""),
        ("read", ""),
        ("keys", ["C-c"]),
        ("send", "/exit"),
    ]
    assert "RuntimeError: no terminal" in (await python.run("CliSession('bad').start()")).text


async def test_what_cannot_be_run(python: PythonHarness) -> None:
    with pytest.raises(CommandError, match="no code"):
        await python.run(" \n")
    with pytest.raises(CommandError, match="longer than"):
        await python.run("#" * 300_000)


async def test_a_wrong_interpreter_is_named(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    python = PythonHarness(tmp_path, tmp_path / "own", settings=PythonSettings(interpreter="/no/such/python"))
    with pytest.raises(InterpreterError, match="There is no Python at '/no/such/python'"):
        await python.run("1")
    await python.close()


async def test_an_environment_in_a_hidden_folder_is_used(tmp_path: Path) -> None:
    for name in ("project", "own"):
        (tmp_path / name).mkdir()
    environment = tmp_path / "own" / "python-venv"
    made = await asyncio.create_subprocess_exec(BASE, "-m", "venv", "--without-pip", str(environment))
    assert await made.wait() == 0
    settings = PythonSettings(venv_path=environment)
    python = PythonHarness(Path(os.path.realpath(tmp_path / "project")), tmp_path / "own", settings=settings)
    outcome = await python.run("import os, sys\nsys.prefix, os.listdir(os.path.dirname(sys.prefix))")
    assert outcome.text == str((str(environment), ["python-venv"])), "and nothing else of that folder is seen"
    await python.close()


async def test_few_live_at_once(python: PythonHarness) -> None:
    for number in range(9):
        await python.run(f"mine = {number}", session=f"s{number}")
    first = await python.run("mine", session="s0")
    assert first.text.startswith("0\n[The interpreter was ended to make room for others; its variables are there")
    assert (await python.run("mine", session="s8")).text == "8"

"""Real shells: what they print, how they end, and that nothing of them is left behind."""

import asyncio
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from gshtui.commands.declaration import CommandError, Effect
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.markers import cut_of
from tests.kit.tool_harness import ToolHarness, processes_mentioning


@pytest.fixture
def tools(tmp_path: Path) -> ToolHarness:
    (tmp_path / "project").mkdir()
    return ToolHarness(tmp_path / "project")


def seconds_that_are_nobody_elses() -> str:
    """A number to sleep for by which a process is found again."""
    return f"9{int.from_bytes(os.urandom(3), 'big'):08d}"


async def test_output_errors_and_exit_code(tools: ToolHarness) -> None:
    outcome = await tools.run("bash", command="echo out; echo err >&2; exit 3")
    assert outcome.text == "out\nerr\n[exit code: 3]"
    assert outcome.is_error
    assert outcome.data["exit_code"] == 3
    good = await tools.run("bash", command="true")
    assert (good.text, good.is_error) == ("(no output)", False)
    assert (await tools.run("bash", command="kill -SEGV $$")).text == "(no output)\n[exit code: 139, ended by SIGSEGV]"
    assert "syntax error" in (await tools.run("bash", command="if then")).text


async def test_no_terminal_no_input_no_start_up_files_no_secrets(
    tools: ToolHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rc").write_text("echo started\n")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "rc"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-value")
    monkeypatch.setenv("TMUX", "/tmp/x,1,0")
    outcome = await tools.run("bash", command="cat; env; tty; echo $PAGER $TERM; (echo x >/dev/tty) 2>&1 | tail -c 40")
    assert "canary-value" not in outcome.text
    assert "TMUX=" not in outcome.text
    assert "started" not in outcome.text
    assert "not a tty" in outcome.text
    assert "cat dumb" in outcome.text
    assert "No such device" in outcome.text


async def test_escape_sequences_do_not_get_through(tools: ToolHarness) -> None:
    outcome = await tools.run("bash", command=r"printf '\e]52;c;eA==\a\e[2J10%%\r\e[31m100%%\e[0m\n\xff\x9b\n'")
    assert outcome.text == "100%\n\ufffd\ufffd"
    assert "\x1b" not in "".join(tools.live)


async def test_binary_output_is_described(tools: ToolHarness) -> None:
    outcome = await tools.run("bash", command="head -c 200000 /dev/urandom")
    assert outcome.text.startswith("[binary output: ")
    assert "200,000 bytes" in outcome.text
    assert outcome.bytes == 200_000


async def test_fifty_megabytes(tools: ToolHarness) -> None:
    line = "this is a line of forty characters or so"
    command = f"yes '{line}' | head -c 25000000; echo 'fatal: the one that matters'; yes '{line}' | head -c 27000000"
    outcome = await tools.run("bash", command=command)
    assert outcome.bytes == 52_000_028
    assert len(outcome.text.encode()) <= 30_000
    assert outcome.text.startswith(line)
    head, omitted, tail = cut_of(outcome.text)
    assert len(head.encode()) + omitted + len(tail.encode()) == outcome.bytes
    assert "\n\n… (2,000,028 bytes omitted) …\n\n" in outcome.full
    assert 50_000_000 <= len(outcome.full) <= 50_000_200
    assert sum(map(len, tools.live)) < 10_000_000


async def test_the_error_in_the_middle_is_kept(tools: ToolHarness) -> None:
    command = "seq 100000; echo 'src/x.c:3: error: no such thing'; seq 100000; echo the end"
    outcome = await tools.run("bash", command=command)
    assert "100001│src/x.c:3: error: no such thing" in outcome.text
    assert outcome.text.endswith("the end\n")
    assert outcome.full.count("\n") == 200_002


async def test_output_comes_while_it_runs(tools: ToolHarness) -> None:
    seen = asyncio.Event()
    tools.live = []
    fifo = tools.project / "go"
    os.mkfifo(fifo)

    async def watch() -> None:
        await seen.wait()
        await asyncio.to_thread(fifo.write_text, "go\n")

    invocation = tools.invocation()
    bash = tools.commands["bash"]

    def shown(text: str) -> None:
        tools.live.append(text)
        if "waiting" in "".join(tools.live):
            seen.set()

    invocation = replace(invocation, output=shown)
    watcher = asyncio.create_task(watch())
    outcome = await bash.handler(invocation, bash.parameters(command="printf waiting; cat go", timeout_ms=9_000))
    await watcher
    assert outcome.text == "waitinggo"
    assert "".join(tools.live) == "waitinggo\n"


async def test_a_command_that_never_ends(tools: ToolHarness) -> None:
    mark = seconds_that_are_nobody_elses()
    outcome = await tools.run("bash", command=f"echo begun; sleep {mark} & sleep {mark}", timeout_ms=400)
    assert outcome.timed_out
    assert outcome.is_error
    assert outcome.text.startswith("begun\n[timed out after 0.4 s and was ended; ended with it: sleep")
    assert processes_mentioning(mark) == []


async def test_one_that_ignores_being_asked(tools: ToolHarness) -> None:
    mark = seconds_that_are_nobody_elses()
    outcome = await tools.run("bash", command=f"trap '' TERM INT HUP; while :; do sleep {mark}; done", timeout_ms=300)
    assert outcome.timed_out
    assert processes_mentioning(mark) == []


async def test_one_that_prints_without_end(tools: ToolHarness) -> None:
    outcome = await tools.run("bash", command="yes", timeout_ms=500)
    assert outcome.timed_out
    assert outcome.text.startswith("y\ny\n")


async def test_daemons_do_not_get_away_from_a_time_limit(tools: ToolHarness) -> None:
    mark = seconds_that_are_nobody_elses()
    daemon = f"(setsid setsid sleep {mark} </dev/null >/dev/null 2>&1 &)"
    outcome = await tools.run("bash", command=f"{daemon}; {daemon}; sleep {mark}", timeout_ms=500)
    assert outcome.timed_out
    assert processes_mentioning(mark) == []


async def test_background_jobs_end_with_the_call_and_detached_ones_are_named(tools: ToolHarness) -> None:
    jobs, apart = seconds_that_are_nobody_elses(), seconds_that_are_nobody_elses()
    command = f"sleep {jobs} & setsid sleep {apart} >/dev/null 2>&1 & "
    for seconds in (jobs, apart):  # each is its program's by then, and no longer a copy of the shell
        command += f"until pgrep -f '^sleep {seconds}' >/dev/null; do :; done; "
    command += "echo done"
    try:
        outcome = await tools.run("bash", command=command, timeout_ms=9_000)
        assert outcome.text.startswith("done\n")
        assert f"background jobs ended with the call: sleep {jobs}" in outcome.text
        assert f"still running, detached: sleep {apart}" in outcome.text
        assert processes_mentioning(jobs) == []
        assert processes_mentioning(apart) != []
    finally:
        await tools.run("bash", command=f"pkill -f '^sleep {apart}'")


async def test_a_job_that_holds_the_output_open(tools: ToolHarness) -> None:
    mark = seconds_that_are_nobody_elses()
    outcome = await asyncio.wait_for(tools.run("bash", command=f"setsid sleep {mark} & echo out"), 30)
    try:
        assert outcome.text.startswith("out\n")
    finally:
        await tools.run("bash", command=f"pkill -f '^sleep {mark}'")


@pytest.mark.parametrize("way", ["event", "task"])
async def test_cancelling_leaves_nothing(tools: ToolHarness, way: str) -> None:
    mark = seconds_that_are_nobody_elses()
    begun = asyncio.Event()
    invocation = replace(tools.invocation(), output=lambda text: begun.set())
    bash = tools.commands["bash"]
    daemon = f"(setsid sleep {mark} </dev/null >/dev/null 2>&1 &)"
    command = bash.parameters(command=f"{daemon}; trap '' TERM; echo begun; sleep {mark}; sleep {mark}")
    task = asyncio.ensure_future(bash.handler(invocation, command))
    await begun.wait()
    if way == "event":
        tools.cancelled.set()
        outcome = await task
        assert "[cancelled after" in outcome.text
        assert outcome.data["cancelled"]
    else:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert processes_mentioning(mark) == []


async def test_no_descriptor_and_no_file_is_left(tools: ToolHarness) -> None:
    await tools.run("bash", command="true")
    before = len(list(Path("/dev/fd").iterdir()))
    for command in ("true", "exit 3", "yes | head -c 3000000"):
        await tools.run("bash", command=command)
    await tools.run("bash", command="sleep 9", timeout_ms=100)
    assert len(list(Path("/dev/fd").iterdir())) == before


async def test_a_command_that_deletes_its_own_folder(tools: ToolHarness) -> None:
    outcome = await tools.run("bash", command='rm -rf "$PWD"; echo gone')
    assert "gone" in outcome.text
    with pytest.raises(CommandError, match=r"does not exist \(any more\)"):
        await tools.run("bash", command="ls")
    with pytest.raises(CommandError, match="does not exist"):
        await tools.assess("bash", command="ls")


async def test_the_working_folder(tools: ToolHarness, tmp_path: Path) -> None:
    (tools.project / "sub").mkdir()
    tools.write_file("file", "")
    assert (await tools.run("bash", command="pwd", working_dir="sub")).text == str(tools.project / "sub")
    (tools.project / "out").symlink_to(tmp_path)
    with pytest.raises(CommandError, match="leads outside the project"):
        await tools.run("bash", command="pwd", working_dir="out")
    with pytest.raises(CommandError, match="is not a folder"):
        await tools.run("bash", command="pwd", working_dir="file")
    assert not (await tools.assess("bash", command="pwd", working_dir="..")).inside


@pytest.mark.parametrize("command", ["", "   ", "echo \0", "echo " + "x" * 140_000, "rm -rf /", "sudo rm -rf ~"])
async def test_commands_that_are_refused(tools: ToolHarness, command: str) -> None:
    with pytest.raises(CommandError):
        await tools.run("bash", command=command)


@pytest.mark.parametrize("line", ["cat f", "tac f; wc -l < f", "cp f out"], ids=["free", "asked about", "copies"])
async def test_a_link_swapped_after_the_line_was_allowed(tools: ToolHarness, tmp_path: Path, line: str) -> None:
    """Whether the policy or a person allowed it: what it would reach now is not what they allowed."""
    tools.write_file("safe.txt", "safe\n")
    (tmp_path.parent / "secret.txt").write_text("secret\n")
    (tools.project / "f").symlink_to("safe.txt")
    await tools.assess("bash", call="c1", command=line)
    assert "secret" not in (await tools.run("bash", call="c1", command=line)).text
    (tools.project / "f").unlink()
    (tools.project / "f").symlink_to(tmp_path.parent / "secret.txt")
    with pytest.raises(CommandError, match=r"has changed since it was allowed: .*secret\.txt"):
        await tools.run("bash", call="c1", command=line)
    await tools.assess("bash", call="c2", command=line)
    assert not (await tools.run("bash", call="c2", command=line)).is_error, "a person was asked with the new target"


async def test_a_line_that_only_read_and_no_longer_does_is_not_run(tools: ToolHarness) -> None:
    """Git's configuration was changed between the verdict and the run."""
    await tools.run("bash", command="git init -q")
    config = tools.write_file(".git/config", "[core]\n")
    assert (await tools.assess("bash", call="c1", command="git status")).inside
    config.write_text("[core]\n\tfsmonitor = touch evil\n")
    with pytest.raises(CommandError, match="git's configuration here runs programs"):
        await tools.run("bash", call="c1", command="git status")
    assert not (tools.project / "evil").exists()


async def test_no_bash(tmp_path: Path) -> None:
    tools = ToolHarness(tmp_path, ToolConfig(os.environ, bash="bash-that-is-not-there"))
    with pytest.raises(CommandError, match="Cannot start"):
        await tools.run("bash", command="ls")


async def test_the_question(tools: ToolHarness) -> None:
    assessment = await tools.assess("bash", command="git commit -m 'x'")
    assert assessment.effect is Effect.EXECUTE
    assert not assessment.inside and "git commit" in assessment.why
    assert (await tools.assess("bash", command="git status")).inside
    assert assessment.pattern == "git commit -m …"
    assert assessment.subject == "git commit -m 'x'"
    other = await tools.assess("bash", command="git commit -m 'y'")
    assert other.pattern == assessment.pattern
    assert other.key != assessment.key


async def test_many_at_once(tools: ToolHarness) -> None:
    outcomes = await asyncio.gather(*(tools.run("bash", command=f"echo {n}; sleep 0.05; exit {n}") for n in range(12)))
    assert [outcome.data["exit_code"] for outcome in outcomes] == list(range(12))

"""`gsh-tui workflow` as a process: real shells, a real repository, a provider on loopback, a record that survives."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from tests.kit.command import DEADLINE, ROOT
from tests.kit.configuration import user_file
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.mcp_turns import agent_with
from tests.kit.tool_harness import processes_mentioning
from tests.kit.warm_program import WarmProcess, run_gsh, start_gsh
from tests.real.test_keeper import Place, place

__all__ = ["place"]


def workflow(home: Home, steps: str, parameters: str = "", *, name: str = "made") -> None:
    """The person's own workflow of this name."""
    folder = home.config / "gsh" / "workflows"
    folder.mkdir(parents=True, exist_ok=True)
    head = f"workflows:\n  {name}:\n{'    parameters:' if parameters else ''}\n{parameters}    steps:\n"
    (folder / "made.yml").write_text(head + steps, encoding="utf-8")


def last(ran: Any) -> dict[str, Any]:
    """The end of a run with `--json`."""
    end = ran.lines[-1]
    assert end["type"] == "WorkflowFinished"
    return end


def results(ran: Any) -> list[dict[str, Any]]:
    return [event["result"] for event in ran.lines if event["type"] == "WorkflowStepFinished"]


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


async def test_a_commit_is_made_from_what_is_staged_where_the_sandbox_cannot_write_to_git(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    await asyncio.to_thread(git, tmp_path, "init", "-q", "repository")
    (repository / "a.txt").write_text("hello\n", encoding="utf-8")
    await asyncio.to_thread(git, repository, "add", "-A")
    (repository / "b.txt").write_text("not staged\n", encoding="utf-8")
    words = ("workflow", "run", "create-git-commit", "--yes")
    async with loopback("anthropic", [[Say("Greet\n\n$(touch pwned) `touch pwned`; touch pwned")]] * 2) as server:
        env = variables("anthropic", server.url)
        ran = await asyncio.to_thread(run_gsh, *words, cwd=repository, env=env)
        assert (ran.code, "Committed, now at" in ran.err) == (0, True), ran.err
        asked = server.requests[-1].body
        assert "+hello" in str(asked)
        said = await asyncio.to_thread(git, repository, "log", "--format=%B", "--name-only")
        assert said.rstrip() == "Greet\n\n$(touch pwned) `touch pwned`; touch pwned\n\n\na.txt"
        assert not (repository / "pwned").exists()
        again = await asyncio.to_thread(run_gsh, *words, cwd=repository)
        assert again.code == 1
        assert "No staged changes to commit!" in again.err
        await asyncio.to_thread(git, repository, "add", "-A")
        hook = repository / ".git" / "hooks" / "pre-commit"
        hook.write_text("#!/bin/sh\ntouch hooked\n", encoding="utf-8")
        hook.chmod(0o755)
        refused = await asyncio.to_thread(run_gsh, *words, cwd=repository, env=env)
    assert (refused.code, "the repository's pre-commit would not run" in refused.err) == (4, True), refused.err
    assert not (repository / "hooked").exists()


async def test_a_step_asks_an_agent_by_its_persona_or_its_name(project: Path, home: Home) -> None:
    (home.config / "gsh" / "agents").mkdir(parents=True)
    (home.config / "gsh" / "agents" / "committer.md").write_text("You commit, in rhymes.\n", encoding="utf-8")
    user_file(home, "[agents.fix]\nprovider = 'anthropic'\npersona = 'committer'\n")
    workflow(
        home,
        "      - llm: {agent: committer, prompt: {user: one, system: Be brief.}}\n"
        "      - llm: {agent: fix, prompt: two}\n",
    )
    async with loopback("anthropic", [[Say("first")], [Say("second")]]) as server:
        env = variables("anthropic", server.url)
        ran = await asyncio.to_thread(run_gsh, "workflow", "run", "made", cwd=project, env=env)
        bodies = [str(one.body) for one in server.requests if one.kind == "chat"]
    assert (ran.code, ran.out) == (0, "second\n"), ran.err
    assert "in rhymes" in bodies[0] and "Be brief." in bodies[0]
    assert "in rhymes" in bodies[1] and "Be brief." not in bodies[1]


@pytest.mark.parametrize("command", ["make test", "echo hello"])
async def test_what_was_not_allowed_is_no_failure_to_explain(project: Path, home: Home, command: str) -> None:
    async with loopback("anthropic", [[Say("invented")]]) as server:
        env = variables("anthropic", server.url)
        words = ("workflow", "run", "explain-failure", "--command", command)
        ran = await asyncio.to_thread(run_gsh, *words, cwd=project, env=env)
        assert (ran.code, server.requests) == (4, []), ran.err
    logged = run_gsh("logs", "--type", "approval", cwd=project)
    asked = f"bash: command='{command}'; bash -c \"$command\" 2>&1 -> nobody by guard"
    assert asked in logged.out, "what would have run, before the line that names it"


def test_a_step_that_was_not_allowed_ends_the_run_whatever_it_says_of_failures(project: Path, home: Home) -> None:
    for failure in ("continue", "ask", "retry", "exit"):
        workflow(
            home,
            f"      - {{on_failure: {failure}, shell: {{command: touch made.txt}}}}\n"
            "      - shell: {command: touch after}\n",
        )
        ran = run_gsh("workflow", "run", "made", cwd=project)
        assert ran.code == 4, (failure, ran.err)
    assert not (project / "made.txt").exists() and not (project / "after").exists()


def test_nothing_runs_unasked_without_a_person(project: Path, home: Home) -> None:
    workflow(home, "      - shell: {command: 'touch made.txt'}\n")
    ran = run_gsh("workflow", "run", "made", cwd=project)
    assert ran.code == 4
    assert "nobody is there to ask" in ran.err
    assert not (project / "made.txt").exists()
    assert run_gsh("workflow", "run", "made", "--mode", "plan", cwd=project).code == 4
    assert run_gsh("run", "workflow run made", cwd=project).code == 4
    unknown = run_gsh("workflow", "cancel", "x", cwd=project)
    assert (unknown.code, unknown.err.count("There is no run 'x'")) == (1, 1) and "Error:" not in unknown.err
    allowed = run_gsh("workflow", "run", "made", "--yes", cwd=project)
    assert allowed.code == 0, allowed.err
    assert (project / "made.txt").exists()


def test_parameters_are_options_and_variables(project: Path, home: Home) -> None:
    parameters = (
        "      amend: {type: bool, default: false}\n      level: {type: enum, choices: [low, high], default: low}\n"
        "      dry-run-it: {type: string}\n"
    ).replace("dry-run-it", "dry_run")
    workflow(home, "      - shell: {command: 'echo $amend $level $dry_run {{ params.amend }}'}\n", parameters)
    ran = run_gsh(
        "workflow", "run", "made", "--mode", "yolo", "--amend", "--level", "high", "--dry-run", "x y", cwd=project
    )
    assert (ran.code, ran.out) == (0, "1 high x y true\n"), ran.err
    assert run_gsh("workflow", "run", "made", "--level", "middle", cwd=project).code == 2
    assert "--amend / --no-amend" in run_gsh("workflow", "run", "made", "--help", cwd=project).out
    listed = run_gsh("workflow", "ls", "--json", cwd=project).json["workflows"]
    made = next(one for one in listed if one["name"] == "made")
    assert [one["name"] for one in made["parameters"]] == ["amend", "level", "dry_run"]


def test_a_missing_variable_is_one_sentence_before_anything_runs(project: Path, home: Home) -> None:
    steps = """\
      - shell: {command: 'touch made.txt'}
      - when: params.who == 'nobody'
        shell: {command: 'echo {{ env.LEFT_OUT }}'}
      - id: tell
        shell: {command: "echo {{ env.NOT_HERE | default: 'nothing' }} {{ env.NOWHERE_SET }}"}
"""
    workflow(home, steps, "      who: {type: string, required: true}\n")
    without = run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project)
    assert (without.code, without.out) == (2, "") and "made needs the parameter who" in without.err
    ran = run_gsh("workflow", "run", "made", "--mode", "yolo", "--who", "me", cwd=project)
    assert ran.code == 2 and ran.err.count("\n") <= 2, ran.err
    assert "made.yml, line" in ran.err and "'tell' cannot run" in ran.err and "NOWHERE_SET" in ran.err
    assert not (project / "made.txt").exists()


def test_steps_feed_each_other_skip_retry_and_go_on(project: Path, home: Home) -> None:
    workflow(
        home,
        """\
      - {id: out, artifacts: ['*.txt'], shell: {command: 'echo words; echo bad >&2; echo x > made.txt'}}
      - {id: never, when: "step['out'].exit_code == 9", shell: {command: 'touch never'}}
      - {id: soft, on_failure: continue, shell: {command: 'exit 3'}}
      - id: tries
        on_failure: retry
        retry: {max: 3, backoff: {base_ms: 1, jitter_ms: 0}}
        shell: {command: 'echo . >> tries; [ $(wc -l < tries) -eq 3 ]'}
      - id: code
        python: {code: "import sys\\nprint(step['out']['stdout'].upper(), sys.stdin.read(), params)", stdin: "in"}
      - {id: tool, tool: {name: read, args: {path: "{{ step['out'].artifacts | first }}"}}}
      - {shell: {command: cat, stdin: "{{ step.tool.stdout }}{{ step[-2].exit_code }}{{ step.soft.exit_code }}"}}
""",
    )
    ran = run_gsh("workflow", "run", "made", "--mode", "yolo", "--json", cwd=project)
    assert last(ran)["state"] == "done", ran.out[-600:]
    found = results(ran)
    assert found[0]["stdout"] == "words\n"
    assert found[0]["stderr"] == "bad\n"
    assert found[0]["artifacts"] == ["made.txt"]
    assert found[1]["state"] == "skipped"
    assert (found[2]["exit_code"], found[2]["continued"]) == (3, True)
    assert found[3]["attempts"] == 3
    assert found[4]["stdout"] == "WORDS\n in {}\n"
    assert "x" in found[5]["stdout"]
    assert found[6]["stdout"].endswith("03")
    assert not (project / "never").exists()


def test_steps_that_do_not_wait_for_each_other_run_side_by_side(project: Path, home: Home) -> None:
    """Each waits until the other has begun, so one after the other would never end."""
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.01; done"
    steps = "".join(
        f"      - {{id: {mine}, needs: [], timeout_seconds: 20, shell: {{command: '{meet.format(mine, other)}'}}}}\n"
        for mine, other in (("a", "b"), ("b", "a"))
    )
    workflow(home, steps + "      - shell: {command: 'echo {{ step.a.exit_code }}{{ step.b.exit_code }}'}\n")
    ran = run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project)
    assert (ran.code, ran.out) == (0, "00\n"), ran.err


def test_a_step_that_forks_and_hangs_ends_with_its_limit(project: Path, home: Home) -> None:
    mark = f"hang-{os.getpid()}"
    command = f'(exec -a {mark} sleep 600) & setsid bash -c "exec -a {mark} sleep 600" & wait'
    workflow(home, f"      - {{timeout_seconds: 0.5, shell: {{command: '{command}'}}}}\n")
    ran = run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project)
    assert ran.code == 124
    assert "took longer than 0.5 s" in ran.err
    assert processes_mentioning(mark) == []


def test_the_exit_code_is_the_failed_steps(project: Path, home: Home) -> None:
    workflow(home, "      - shell: {command: 'exit 42'}\n      - shell: {command: 'touch after'}\n")
    assert run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project).code == 42
    assert not (project / "after").exists()
    workflow(home, "      - tool: {server: nowhere, name: x}\n")
    assert run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project).code == 3
    workflow(home, "      - tool: {name: read, args: {pth: x}}\n")
    assert run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project).code == 2
    workflow(home, "      - llm: {prompt: hello}\n")
    assert run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project).code == 3
    workflow(home, "      - llm: {prompt: hello, agent: nobody-like-this}\n")
    assert run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project).code == 2
    workflow(home, "      - shel: {command: x}\n")
    broken = run_gsh("workflow", "run", "made", cwd=project)
    assert broken.code == 2
    assert "made.yml, line" in broken.err


def test_a_step_calls_an_action_of_a_group(project: Path, home: Home) -> None:
    steps = "".join(
        f"      - tool: {{name: python, args: {args}}}\n"
        for args in ("{action: run, code: 'print(6 * 7)'}", "{action: '{{ params.what }}'}")
    )
    workflow(home, steps, "      what: {type: string, default: show}\n")
    ran = run_gsh("workflow", "run", "made", "--mode", "yolo", "--json", cwd=project)
    assert last(ran)["state"] == "done", ran.out
    for tool, said in (
        ("python, args: {action: sing}", "python has no action 'sing'. It has run, "),
        ("python, args: {action: run, cod: x}", "no argument 'cod'. Did you mean code?"),
        ("python, args: {action: install, packages: [six]}", "python install is for people only"),
        ("git_worktree, args: {}", "`git_worktree` is incomplete"),
    ):
        workflow(home, f"      - shell: {{command: touch begun}}\n      - tool: {{name: {tool}}}\n")
        ran = run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project)
        assert (ran.code, ran.err.count(said), (project / "begun").exists()) == (2, 1, False), ran.err
    workflow(home, "      - tool: {name: session, args: {action: search, target: zebra}}\n")  # its former name
    assert run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project).code == 0


def test_a_step_calls_a_tool_of_a_server(project: Path, home: Home) -> None:
    user_file(
        home,
        f"[mcp.servers.kit]\ncommand = {sys.executable!r}\nargs = ['-m', 'tests.kit.mcp_server']\nsandbox = false\n"
        f"[mcp.servers.kit.env]\nPYTHONPATH = '{ROOT}'\n",
    )
    workflow(
        home,
        "      - tool: {server: kit, name: add, args: {a: 2, b: '{{ params.n }}'}}\n",
        "      n: {type: int, default: 3}\n",
    )
    ran = run_gsh("workflow", "run", "made", "--mode", "yolo", "--json", cwd=project)
    assert last(ran).get("state") == "done", ran.out[-500:] + ran.err
    assert "5" in results(ran)[0]["stdout"]
    workflow(home, "      - tool: {server: kit, name: subtract}\n")
    missing = run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project)
    assert (missing.code, "There is no tool" in missing.err) == (3, True)


def test_a_question_after_a_failure_needs_a_person(project: Path, home: Home) -> None:
    workflow(home, "      - {on_failure: ask, shell: {command: exit 7}}\n      - shell: {command: touch after}\n")
    ran = run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project)
    assert ran.code == 7
    assert not (project / "after").exists()


def test_a_python_module_is_a_step(project: Path, home: Home) -> None:
    (project / "mine.py").write_text("import sys\nprint(__name__, step['one']['stdout'].strip(), sys.argv)\n")
    workflow(home, "      - {id: one, shell: {command: echo x}}\n      - python: {module: mine}\n")
    ran = run_gsh("workflow", "run", "made", "--mode", "yolo", cwd=project)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("__main__ x ")


def until_begun(process: WarmProcess, step: int) -> str:
    """Read events until this step begins; returns the run."""
    import json

    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "WorkflowStepStarted" and event["step"] == step:
            return str(event["run"])
    raise AssertionError("it ended before")


def test_after_kill_9_it_goes_on_and_runs_no_finished_step_again(project: Path, home: Home) -> None:
    mark = f"left-{os.getpid()}"
    workflow(
        home,
        """\
      - {id: first, shell: {command: 'echo once >> log; echo result'}}
      - shell: {command: 'echo begun >> log; [ -e go ] || exec -a MARK sleep 600'}
      - shell: {command: 'echo {{ step.first.stdout }} >> log'}
""".replace("MARK", mark),
    )
    arguments = ("workflow", "run", "made", "--mode", "yolo", "--json")
    with start_gsh(*arguments, cwd=project) as process:
        run = until_begun(process, 2)
        process.send_signal(signal.SIGKILL)
        process.wait(DEADLINE)
    rows = run_gsh("workflow", "runs", "--json", cwd=project).json
    assert [(row["id"], row["state"]) for row in rows] == [(run, "interrupted")]
    assert "how far it got is not known" in run_gsh("workflow", "show", run, cwd=project).out
    refused = run_gsh("workflow", "resume", run, cwd=project)
    assert refused.code == 4
    assert "which had begun" in refused.err
    (project / "go").touch()
    # With `--yes` it may run again; what it does still needs the guard's word.
    ended = run_gsh("workflow", "resume", run[:10], "--yes", cwd=project)
    assert ended.code == 0, ended.err
    assert processes_mentioning(mark) == [], "what the dead process left ran beside its repetition"
    lines = (project / "log").read_text(encoding="utf-8").split()
    assert lines.count("once") == 1
    assert lines[-1] == "result"
    again = run_gsh("workflow", "resume", run, cwd=project)
    assert (again.code, "is done" in again.err) == (1, True)


def test_an_interrupt_ends_the_run_and_what_it_started(project: Path, home: Home) -> None:
    mark = f"interrupted-{os.getpid()}"
    workflow(home, f"      - shell: {{command: 'exec -a {mark} sleep 600'}}\n")
    with start_gsh("workflow", "run", "made", "--mode", "yolo", "--json", cwd=project) as process:
        run = until_begun(process, 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 130
    assert processes_mentioning(mark) == []
    rows = run_gsh("workflow", "runs", "--json", cwd=project).json
    assert [(row["id"], row["state"]) for row in rows] == [(run, "cancelled")]


def test_another_process_ends_a_run(project: Path, home: Home) -> None:
    mark = f"cancelled-{os.getpid()}"
    steps = f"      - shell: {{command: 'exec -a {mark} sleep 600'}}\n      - shell: {{command: 'touch never'}}\n"
    workflow(home, steps)
    with start_gsh("workflow", "run", "made", "--mode", "yolo", "--json", cwd=project) as process:
        run = until_begun(process, 1)
        ended = run_gsh("workflow", "cancel", run[:8], cwd=project)
        assert (ended.code, "is ending" in ended.out) == (0, True), ended.err
        assert process.wait(DEADLINE) == 130
    assert not (project / "never").exists()
    assert processes_mentioning(mark) == []
    again = run_gsh("workflow", "cancel", run, cwd=project)
    assert (again.code, "it is cancelled" in again.err) == (1, True)


@pytest.mark.parametrize("step", ["{shell: {command: 'exit 7'}}", "{shell: {command: 'false'}, on_failure: ask}"])
async def test_a_run_that_waits_for_a_person_is_cancelled_at_once(
    project: Path, home: Home, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    workflow(home, f"      - {step}\n      - shell: {{command: 'touch never'}}\n")
    async with agent_with(project, monkeypatch, [[Say("nothing")]]) as (hub, _, _):
        run = asyncio.create_task(hub.run("workflow made"))
        question = await hub.bus.wait_for(ApprovalRequested, timeout=DEADLINE)
        if question.tool == "bash" and "ask" in step:
            following = hub.bus.wait_for(ApprovalRequested, timeout=DEADLINE)
            hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="once"))
            question = await following
        settled = hub.bus.wait_for(ApprovalSettled, timeout=DEADLINE)
        await hub.run("workflow cancel")
        assert (await settled).approval == question.approval
        assert "cancelled" in (await run).text
    assert not (project / "never").exists()


def test_a_variable_that_steers_programs_is_never_unasked(project: Path, home: Home) -> None:
    """`git status` runs unasked with --yes; with a variable of the workflow that changes what git runs, it does not."""
    workflow(home, "      - shell: {command: 'git --version', env: {GIT_EXEC_PATH: ./evil, PATH: './evil:$PATH'}}\n")
    shown = run_gsh("workflow", "run", "made", "--yes", "--json", "--set", "sandbox.enabled=false", cwd=project)
    assert last(shown)["exit_code"] == 4
    asked = next(event for event in shown.lines if event["type"] == "ApprovalSettled")
    assert "it sets GIT_EXEC_PATH, PATH" in asked["reason"]


@pytest.mark.tmux
async def test_the_agent_of_a_step_is_named_as_far_as_a_name_goes(place: Place, home: Home) -> None:
    name = "prepare-the-release-notes-of-the-frontend"
    workflow(home, "      - id: summarise\n        llm: {prompt: one, terminal: true}\n", name=name)
    async with loopback("anthropic", [[Say("first")]]) as server:
        env = variables("anthropic", server.url)
        words = ("workflow", "run", name, "--yes", "--json")
        ran = await asyncio.to_thread(run_gsh, *words, cwd=place.project, env=env)
    assert [result["stdout"] for result in results(ran)] == ["first"], ran.err
    (row,) = await place.store.agents.find_all()
    assert row.name == name[:40]


@pytest.mark.tmux
async def test_the_answer_of_a_last_step_in_a_terminal_is_what_is_printed(place: Place, home: Home) -> None:
    workflow(home, "      - llm: {prompt: one, terminal: true}\n")
    async with loopback("anthropic", [[Say("first\nsecond")]]) as server:
        env = variables("anthropic", server.url)
        ran = await asyncio.to_thread(run_gsh, "workflow", "run", "made", "--yes", cwd=place.project, env=env)
    assert (ran.code, ran.out) == (0, "first\nsecond\n"), ran.err
    assert "works in" in ran.err

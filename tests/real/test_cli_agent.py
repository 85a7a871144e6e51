"""`gsh-tui agent …` as processes of its own on a real tmux: the public contract, with and without a window."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.hub.hub import Hub
from gshtui.programs.check.check_results import CheckedStep, CheckResult, keep_result
from gshtui.programs.profiles.profile_files import load as load_profiles
from gshtui.tmux.attach_client import words_for
from gshtui.tmux.server import TmuxServer
from tests.kit.command import ROOT
from tests.kit.configuration import made_project, user_file
from tests.kit.home import Home
from tests.kit.pty_child import WarmPtyChild
from tests.kit.running_hub import running_hub
from tests.kit.tmux import end_server, eventually, kill_server, named_servers, short_folder
from tests.kit.warm_program import run_gsh

__all__ = ["named_servers"]

pytestmark = pytest.mark.tmux

KEYS = {
    "id",
    "name",
    "kind",
    "runtime",
    "status",
    "status_source",
    "status_age_s",
    "session_name",
    "pane",
    "parent",
    "cwd",
    "tokens",
    "cost",
}
ECHO = "sh -c 'echo ready; while read -r line; do echo got:$line; [ $line = end ] && exit 3; done'"


@pytest.fixture
def project(tmp_path: Path, named_servers: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project; its agents live on a server that is ended after the test."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return made_project(tmp_path / "project")


@pytest.fixture
async def window(project: Path) -> AsyncIterator[Hub]:
    async with running_hub(project) as hub:
        assert hub.failed == {}
        yield hub


def test_consent_to_a_set_up_command_is_given_with_the_worktree(project: Path, home: Home, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    subprocess.run(["git", "-C", str(project), "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    user_file(home, "[worktrees]\nsetup = ['sh', '-c', 'pwd > made.txt']\n")
    spawn = ("agent", "spawn", "--cli", ECHO, "--worktree")
    without = run_gsh(*spawn, "a", cwd=project)
    assert (without.code, without.out) == (0, "0001\n")
    assert "was not run: nobody approved it" in without.err
    assert "--setup" in without.err
    made = tmp_path / "project-a" / "made.txt"
    assert not made.exists()
    again = run_gsh(*spawn, "a", "--setup", cwd=project)  # where the worktree is there, too
    assert (again.code, again.out) == (0, "0002\n")
    assert ("The set-up command" in again.err, made.read_text().strip()) == (True, str(made.parent))
    fork = run_gsh("agent", "fork", "2", "--anew", "--setup", "--branch", "b", cwd=project)
    assert fork.code == 0, fork.err
    assert (tmp_path / "project-b" / "made.txt").exists()
    nowhere = run_gsh("agent", "spawn", "--cli", ECHO, "--setup", cwd=project)
    assert (nowhere.code, "worktree" in nowhere.err) == (2, True)


def test_a_person_at_a_terminal_is_asked_about_the_set_up_command(project: Path, home: Home, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    subprocess.run(["git", "-C", str(project), "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    user_file(home, "[worktrees]\nsetup = ['sh', '-c', 'pwd > made.txt']\n")

    def start(branch: str, *words: str, answer: bytes = b"") -> str:
        with contextlib.closing(WarmPtyChild(["agent", *words], project)) as child:
            child.go()
            if answer:
                child.read_until(lambda: b"[y/N]" in child.output)
                child.write(answer)
            assert child.wait() == 0
        assert (tmp_path / f"project-{branch}").is_dir()
        return child.output.decode()

    spawn = ("spawn", "--cli", ECHO, "--worktree")
    asked = start("a", *spawn, "a", answer=b"n\n")
    assert "sh -c 'pwd > made.txt'" in asked and "Run it there?" in asked
    assert "0001" in asked, "the agent starts all the same"
    assert not (tmp_path / "project-a" / "made.txt").exists()
    assert "[y/N]" not in start("a", *spawn, "a"), "it is not run in a worktree that is there"
    start("b", *spawn, "b", answer=b"y\n")
    assert (tmp_path / "project-b" / "made.txt").exists()
    assert "[y/N]" not in start("c", *spawn, "c", "--yes")
    assert (tmp_path / "project-c" / "made.txt").exists()
    start("d", "fork", "1", "--anew", "--branch", "d", answer=b"y\n")
    assert (tmp_path / "project-d" / "made.txt").exists()


def test_a_program_from_spawn_to_its_end(project: Path) -> None:
    spawned = run_gsh("agent", "spawn", "--cli", ECHO, "--name", "Echo", cwd=project)
    assert (spawned.code, spawned.out, spawned.err) == (0, "0001\n", "")
    (listed,) = run_gsh("agent", "ls", "--json", cwd=project).json
    assert set(listed) >= KEYS
    assert (listed["name"], listed["kind"], listed["session_name"]) == ("echo", "cli", "gsh-agent-0001")
    menu = run_gsh("shell", "menu", cwd=project)
    assert menu.code == 0 and menu.out.startswith("0001\t0001  echo  ") and menu.out.count("\n") == 1
    assert run_gsh("agent", "send", "1", "--now", "hello", "there", cwd=project).code == 0
    assert run_gsh("agent", "send", "echo", "--now", "-", stdin=b"end\n", cwd=project).code == 0
    waited = run_gsh("agent", "wait", "1", "--status", "failed", "--timeout", "20", "--json", cwd=project)
    assert (waited.code, waited.json["exit_status"]) == (0, 3)
    shown = run_gsh("agent", "show", "1", cwd=project)
    assert "got:hello there" in shown.out
    assert run_gsh("shell", "menu", "--json", cwd=project).json == [], "what has ended is in no menu"


def test_a_script_waits_for_an_answer_and_may_send_a_file(project: Path) -> None:
    run_gsh("agent", "spawn", "--cli", "bash --norc", "--name", "sh", cwd=project)
    assert run_gsh("agent", "wait", "sh", "--timeout", "20", cwd=project).code == 0
    said = run_gsh("agent", "send", "sh", "--wait", "--timeout", "30", "echo one; sleep 1; echo two", cwd=project)
    assert (said.code, said.out) == (0, "one\ntwo\n"), "the answer alone"
    assert "from its screen" in said.err
    (project / "message.txt").write_text("echo of a file\n", "utf-8")
    by_file = ("agent", "send", "sh", "--wait", "--message-file")
    sent = run_gsh(*by_file, "message.txt", "--json", cwd=project)
    assert (sent.json["answer"], sent.json["source"]) == ("of a file", "screen")
    assert run_gsh(*by_file, "-", stdin=b"echo of a pipe\n", cwd=project).out == "of a pipe\n"
    shown = run_gsh("agent", "show", "sh", "--answer", cwd=project)
    assert (shown.out, "from its screen" in shown.err) == ("of a pipe\n", True)
    for wrong, why in (((), "either as words"), (("--message-file", "message.txt", "x"), "either as words")):
        refused = run_gsh("agent", "send", "sh", *wrong, cwd=project)
        assert (refused.code, why in refused.err) == (2, True), refused.err
    missing = run_gsh("agent", "send", "sh", "--message-file", "none.txt", cwd=project)
    assert (missing.code, "cannot read none.txt" in missing.err) == (2, True), missing.err
    for _ in range(3):
        again = run_gsh("agent", "send", "sh", "--wait", "echo the same", cwd=project)
        assert (again.code, again.out) == (0, "the same\n"), "which is no part of the prompt"
    streamed = run_gsh("agent", "send", "sh", "--stream", "echo one; sleep 1; echo two", cwd=project)
    assert (streamed.code, streamed.out, "from its screen" in streamed.err) == (0, "one\ntwo\n", True), "in one piece"
    plain = run_gsh("agent", "send", "sh", "--stream", "--json", "echo three", cwd=project)
    assert [json.loads(line)["answer"] for line in plain.out.splitlines()] == ["three"]
    late = run_gsh("agent", "send", "sh", "--stream", "--timeout", "1", "sleep 2", cwd=project)
    assert (late.code, "has not answered within 1 s" in late.out + late.err) == (124, True)
    late = run_gsh("agent", "send", "sh", "--wait", "--timeout", "2", "sleep 60", cwd=project)
    assert (late.code, "has not answered within 2 s" in late.out + late.err) == (124, True)


def test_a_question_without_a_window_is_delivered_and_answered(project: Path) -> None:
    run_gsh("agent", "spawn", "--cli", "bash --norc", "--name", "sh", cwd=project)
    assert run_gsh("agent", "wait", "sh", "--timeout", "20", cwd=project).code == 0
    asked = run_gsh("run", "--json", "talk to=sh text='sleep 1; echo $((6 * 7))' timeout_s=30", cwd=project)
    assert (asked.code, asked.json["answer"], asked.json["source"]) == (0, "42", "screen"), asked.err
    assert run_gsh("run", "say to=sh text='touch said'", cwd=project).code == 0
    assert run_gsh("agent", "send", "sh", "--wait", "ls said", cwd=project).out == "said\n"
    run_gsh("agent", "send", "sh", "cat", cwd=project)
    late = run_gsh("run", "talk to=sh text='echo no' timeout_s=2", cwd=project)
    assert (late.code, "the message is queued" in late.out) == (124, True), late.out + late.err
    letters = run_gsh("run", "--json", "mail ls", cwd=project).json
    assert ("say", "queued") in [(one["kind"], one["state"]) for one in letters], "a message like any other"


def test_the_version_of_a_program_is_told_where_it_was_never_seen(project: Path, tmp_path: Path) -> None:
    """In its row, by `agent explain`, and once in a line with a better way."""

    def install(version: str) -> str:
        """A Claude Code of this version that only waits."""
        file = tmp_path / "versions" / version
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\necho ready\nexec cat\n")
        file.chmod(0o755)
        (link := tmp_path / "bin" / "claude").parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(file)
        return str(link)

    seen = load_profiles().get("claude").seen[0]
    keep_result("claude", "0.1.2", CheckResult((CheckedStep("rest", "W"), CheckedStep("work", "N", "it is idle"))))
    said = [
        run_gsh("agent", "spawn", "--cli", install(one), cwd=project).err for one in ("99.0.1", "99.0.1", "0.1.2", seen)
    ]
    assert ["never seen" in words or "rules seen" in words for words in said] == [True, False, True, False]
    assert "Claude Code 99.0.1: rules seen to " in said[0] and "program_hooks install claude" in said[0]
    rows = json.loads(run_gsh("agent", "ls", "--json", cwd=project).out)
    assert [row["version"] for row in rows] == ["99.0.1", "99.0.1", "0.1.2", seen]
    assert [bool(row["version_seen"]) for row in rows] == [True, True, True, False]
    listed = "".join(run_gsh("agent", "explain", row["id"], cwd=project).out for row in rows)
    assert "claude 99.0.1 (rules seen to " in listed and f"claude 0.1.2 (rules seen from {seen}; " in listed
    assert [row["version_checked"] for row in rows] == ["", "", "1 W, 1 N", ""] and "; seen here: 1 W, 1 N)" in listed
    explained = run_gsh("agent", "explain", "1", "--json", cwd=project).json
    assert (explained["version"], explained["program"], explained["agent"]) == ("99.0.1", "claude", "0001")
    assert {"hook", "record", "screen"} <= {one["source"] for one in explained["silent"]}
    taken = [one["source"] for one in explained["sources"] if one["taken"]]
    assert (taken or ["spawn"]) == [explained["source"]], "on a slow machine it has only just begun"
    shown = run_gsh("agent", "explain", "1", cwd=project).out
    assert "Program: claude 99.0.1 (rules seen to " in shown
    assert explained["files"][0].endswith("profiles/claude.toml") and f"- {explained['files'][0]}" in shown


def test_what_has_ended_is_spoken_to_no_more_and_can_be_removed(project: Path) -> None:
    run_gsh("agent", "spawn", "--cli", "true", cwd=project)
    assert run_gsh("agent", "wait", "1", "--status", "done", cwd=project).code == 0
    refused = run_gsh("agent", "send", "1", "more", cwd=project)
    assert (refused.code, "has ended" in refused.err) == (1, True)
    assert run_gsh("agent", "remove", "1", cwd=project).code == 0
    assert run_gsh("agent", "ls", "--json", cwd=project).json == []


def test_a_kill_asks_and_says_what_is_unsaved(project: Path) -> None:
    run_gsh("agent", "spawn", "--cli", "sh -c 'sleep 600; true'", cwd=project)
    refused = run_gsh("agent", "kill", "1", cwd=project)
    assert refused.code == 4
    assert "sleep 600" in refused.err
    assert run_gsh("agent", "kill", "1", "--yes", cwd=project).code == 0
    (row,) = run_gsh("agent", "ls", "--json", cwd=project).json
    assert (row["status"], row["killed"], row["pane"]) == ("done", True, "")


def test_what_is_wrong_is_one_sentence(project: Path) -> None:
    for words, code, said in (
        (("show", "9"), 1, "no agent '9'"),
        (("spawn", "--cli", "no-such-program"), 1, "not on the PATH"),
        (("spawn", "--cli", "FOO=1 echo"), 1, "--env FOO=1"),
        (("spawn", "--cli", "echo 'open"), 2, "not a valid command line"),
        (("spawn", "--profile", "nope"), 1, "no profile 'nope'"),
        (("spawn", "--persona", "nope", "x"), 1, "no persona 'nope'"),
        (("wait", "9"), 1, "no agent '9'"),
    ):
        ran = run_gsh("agent", *words, cwd=project)
        assert (ran.code, ran.out) == (code, ""), words
        assert said in ran.err
        assert "Traceback" not in ran.err


def test_waiting_has_an_end_and_attaching_needs_a_terminal(project: Path) -> None:
    run_gsh("agent", "spawn", "--cli", "cat", cwd=project)
    assert run_gsh("agent", "wait", "1", "--status", "done", "--timeout", "0.5", cwd=project).code == 124
    assert run_gsh("agent", "wait", "1", "--status", "sleepy", cwd=project).code == 2
    attach = run_gsh("agent", "attach", "1", cwd=project)
    assert attach.code == 2
    assert "tmux -L gsh attach -t =gsh-agent-0001" in attach.err
    told = run_gsh("agent", "attach", "1", "--json", cwd=project).json
    assert told["argv"] == ["tmux", "-L", "gsh", "attach", "-t", "=gsh-agent-0001"]


def test_without_tmux_it_is_said_and_the_rest_runs(project: Path, tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path)}
    ran = run_gsh("agent", "spawn", "--cli", "/bin/cat", cwd=project, env=env)
    assert ran.code == 1
    assert "tmux is not installed" in ran.err
    assert run_gsh("agent", "ls", "--json", cwd=project, env=env).json == []


async def test_a_script_and_a_window_see_the_same_agents(window: Hub, project: Path) -> None:
    assert window.fleet is not None
    await asyncio.to_thread(run_gsh, "agent", "spawn", "--cli", ECHO, "--name", "echo", cwd=project)
    await window.fleet.refresh()
    (row,) = window.fleet.rows()
    assert row.owner == os.getpid()  # the window looks after what the script has started
    mine = await window.fleet.spawn(SpawnRequest(cli=("cat",), name="mine"), by_person=True)
    listed = (await asyncio.to_thread(run_gsh, "agent", "ls", "--json", cwd=project)).json
    assert {agent["name"] for agent in listed} == {"main", "echo", "mine"}
    assert set(listed[0]) > KEYS | {"title", "held_by"}
    here = (await window.run("agent ls")).data
    assert [(agent["id"], set(agent)) for agent in here] == [(agent["id"], set(agent)) for agent in listed]
    shown = (await asyncio.to_thread(run_gsh, "agent", "show", "main", "--json", cwd=project)).json
    assert (shown["runtime"], shown["held_by"], shown["report"]) == ("local", listed[0]["held_by"], "")
    table = (await asyncio.to_thread(run_gsh, "agent", "ls", cwd=project)).out
    assert table.splitlines()[0].split() == ["name", "state", "since", "task", "or", "last", "line"]
    assert "tmux" not in table and "echo " in table
    assert (await window.run("agents")).data[-1]["id"] == mine.id
    members = (await window.run("who")).data["members"]
    assert [one["you"] or one["name"] for one in members] == [True, "main", "echo", "mine"]
    await asyncio.to_thread(run_gsh, "agent", "kill", mine.id, "--yes", cwd=project)
    await window.fleet.wait(mine.id, ["done"], 10.0)


async def test_a_native_agent_is_recovered_with_its_conversation(window: Hub, project: Path) -> None:
    fleet, bus = window.fleet, window.bus
    assert fleet is not None
    row = await fleet.spawn(SpawnRequest(prompt="what failed?", provider="offline", name="scout"), by_person=True)
    idle = await fleet.wait(row.id, ["idle"], 20.0)
    assert idle.status_source == "event"
    server = fleet.terminals.server(row.socket)
    await kill_server(server)
    lost = await fleet.wait(row.id, ["lost"], 10.0)
    assert lost.session == row.session
    revived = await fleet.recover(row.id)
    assert revived.how == "resumed its conversation"
    back = revived.row
    assert (back.id, back.session, back.failures) == (row.id, row.session, 0)
    assert back.pid != row.pid
    await fleet.wait(row.id, ["idle"], 20.0)
    before = len(await window.messages(row.session))
    bus.publish(PromptSubmitted(prompt="p1", agent=row.id, text="what failed?"))

    async def said() -> int:
        return len(await window.messages(row.session))

    await eventually(said, until=lambda count: count >= before + 2)
    texts = [stored.message.text for stored in await window.messages(row.session)]
    assert texts.count("what failed?") == 2  # the first prompt was not sent again


async def test_all_that_a_killed_server_took_come_back_without_a_window(project: Path) -> None:
    run_gsh("agent", "spawn", "--name", "scout", "--provider", "offline", "what failed?", cwd=project)
    assert run_gsh("agent", "wait", "scout", "--status", "idle", "--timeout", "30", cwd=project).code == 0
    server = TmuxServer("gsh")
    await kill_server(server)
    await server.close()

    def planned() -> list[tuple[str, str, str]]:
        """Once the agent's terminal, which has hung up, has ended."""
        ran = run_gsh("agent", "recover", "all", "--dry-run", "--json", cwd=project)
        assert ran.code == 0, ran.err
        return [(one["id"], one["would"], one["why"]) for one in ran.json]

    await eventually(lambda: asyncio.to_thread(planned), until=lambda plan: plan == [("0001", "resume", "")])
    recovered = run_gsh("agent", "recover", "all", cwd=project)
    assert (recovered.code, recovered.out) == (0, "Recovered: scout (0001), which resumed its conversation.\n")
    assert run_gsh("agent", "wait", "scout", "--status", "idle", "--timeout", "30", cwd=project).code == 0


def test_attaching_inside_the_same_server_switches(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    socket.touch()
    attach = ["tmux", "-S", str(socket), "attach", "-t", "=a"]
    assert words_for(attach, {"HOME": "/h"}) == (attach, {"HOME": "/h"})
    inside = {"TMUX": f"{socket},123,0", "TMUX_PANE": "%1"}
    assert words_for(attach, inside) == (["tmux", "-S", str(socket), "switch-client", "-t", "=a"], inside)
    elsewhere = {"TMUX": "/tmp/other,123,0", "TMUX_PANE": "%1", "A": "b"}
    assert words_for(attach, elsewhere) == (attach, {"A": "b"})


async def test_attach_shows_the_agent_in_this_terminal(project: Path) -> None:
    """In a real terminal: another tmux, whose pane then shows the agent."""
    await asyncio.to_thread(run_gsh, "agent", "spawn", "--cli", ECHO, cwd=project)
    with short_folder() as folder:
        outer = ["tmux", "-S", str(folder / "s"), "-f", "/dev/null"]
        try:
            words = f"{sys.executable} -m gshtui agent attach 1"
            shown = [*outer, "new-session", "-d", "-x", "80", "-y", "20", "-c", str(project), words]
            await asyncio.to_thread(subprocess.run, shown, check=True, timeout=10)

            async def seen() -> str:
                capture = [*outer, "capture-pane", "-p"]
                return (await asyncio.to_thread(subprocess.run, capture, capture_output=True, text=True)).stdout

            await eventually(seen, until=lambda text: "ready" in text)
        finally:
            end_server(folder / "s")


ANIMATED = """
import os, select, sys, tty
tty.setcbreak(0)
typed, number = "", 0
while True:
    print(f"\\x1b[H{'◐◓◑◒'[number % 4]} Welcome\\x1b[K\\r\\nYour words: {typed} ·\\x1b[K", end="", flush=True)
    number += 1
    if select.select([0], [], [], 0.1)[0]:
        typed += os.read(0, 4096).decode()
        if "\\n" in typed:
            print(f"\\x1b[5Hgot: {typed.split(chr(10))[0]}", flush=True)
            typed = ""
"""
"""A program of which nothing is known, whose logo turns whether it works or not."""


async def test_an_unknown_program_that_only_moves_rests_and_gets_its_mail(
    window: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gshtui.programs.status.status._ANIMATED", 1.5)
    assert window.fleet is not None
    row = await window.fleet.spawn(SpawnRequest(cli=(sys.executable, "-c", ANIMATED), name="logo"), by_person=True)

    async def resting() -> AgentRow:
        assert window.store is not None
        return await window.store.agents.find(row.id)

    rests = await eventually(resting, until=lambda now: now.doing == "only an animation moves")
    assert (rests.status, rests.status_source) == ("quiet", "activity?")
    message = await window.fleet.send(row.id, "moss")

    async def shown() -> str:
        assert window.fleet is not None
        return await window.fleet.show(row.id)

    assert "moss" in await eventually(shown, until=lambda screen: "got:" in screen)

    async def state() -> str:
        assert window.store is not None
        return (await window.store.mail.find(message)).state

    assert await eventually(state, until=lambda state: state != "queued") == "submitted"


def test_where_nobody_has_seen_a_program_its_screen_is_a_guess_also_of_no_told_version(
    project: Path, tmp_path: Path
) -> None:
    goose = tmp_path / "goose"
    goose.write_text("#!/bin/sh\nprintf '( O)> '\nexec cat\n")
    goose.chmod(0o755)
    said = run_gsh("agent", "spawn", "--cli", str(goose), cwd=project).err
    assert "Goose: rules never seen, so what only its screen says is marked with `?`." in said
    run_gsh("agent", "wait", "1", "--status", "quiet,idle", "--timeout", "60", cwd=project)
    row = run_gsh("agent", "ls", "--json", cwd=project).json[0]
    assert (row["status_source"], row["version_seen"]) == ("screen?", "never")
    assert "goose (rules never seen)" in run_gsh("agent", "explain", "1", cwd=project).out

"""Commands beside a running keeper: it does them, prints the same as they would alone, and is never waited for long."""

import asyncio
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gshtui import __version__
from gshtui.cli.declared_forms import COMMANDS
from gshtui.client.hub_greeting import FOR_PEOPLE, OTHER_RECORD, HubDeclined
from gshtui.fleet.keeper.keeper import KeeperClaim, running_keeper
from gshtui.settings import paths
from gshtui.settings.paths import data_dir
from gshtui.shell.hub_registry import is_live
from gshtui.system.installation import INSTALLED_AT
from tests.kit.command import DEADLINE, CommandResult, command, environment
from tests.kit.storms import FULL, some
from tests.kit.tmux import eventually
from tests.kit.warm_program import SDKS, WarmProgram, run_gsh, shared, start_gsh
from tests.real.test_keeper import CLAUDE, Place, place

FOLDER_LINES = (
    ("session", "ls"),
    ("session", "ls", "--json"),
    ("session", "ls", "--all", "--limit", "1"),
    ("session", "show", "latest"),
    ("session", "show", "latest", "--json"),
    ("session", "show", "nobody"),
    ("session", "search", "moss"),
    ("session", "search", "moss", "--json"),
    ("session", "rename", "latest", ""),
    ("session", "rename", "latest", "ferns"),
    ("session", "rm", "nobody", "--yes"),
    ("session", "archive", "nobody"),
    ("session", "unarchive", "nobody"),
    ("usage",),
    ("usage", "--json"),
    ("usage", "--since", "yesterday"),
    ("usage", "--since", "never"),
    ("search", "history", "moss"),
    ("search", "sessions", "moss", "--json"),
    ("search", "logs", "--cwd", "sub"),
    ("logs", "-n", "2"),
    ("logs", "-n", "2", "--json"),
    ("logs", "nothing", "like", "it"),
    ("logs", "-n", "x"),
    ("guard", "rules"),
    ("guard", "rules", "--json"),
    ("guard", "log"),
    ("guard", "log", "--verdict", "allow"),
    ("prompts", "ls"),
    ("prompts", "show", "greet"),
    ("prompts", "show", "nothing"),
    ("hook", "ls"),
    ("workflow", "ls"),
    ("workflow", "runs"),
    ("workflow", "show", "create-git-commit"),
    ("workflow", "show", "x"),
    ("workflow", "cancel", "x"),
    ("mcp", "ls"),
    ("mcp", "ls", "--json"),
    ("mcp", "show", "x"),
    ("models",),
    ("models", "nobody"),
    ("people", "ls"),
    ("plugins", "ls"),
    ("plugins", "ls", "--json"),
    ("profiles", "ls"),
    ("profiles", "show", "claude"),
    ("profiles", "show", "nothing"),
    ("config", "path"),
    ("config", "show"),
    ("config", "show", "general", "--json"),
    ("config", "show", "--set", "ui.theme=x"),
    ("config", "show", "agent.mode"),
    ("config", "get", "agent.mode"),
    ("config", "schema"),
    ("context",),
    ("context", "--json"),
    ("context", "main", "--section", "history"),
    ("context", "nobody"),
    ("context", "--diff", "1", "2"),
    ("timeline",),
    ("timeline", "--limit", "2"),
    ("timeline", "--cut", "x"),
    ("code", "outline", "sub/a.py"),
    ("code", "outline", "nothing.py"),
    ("code", "servers"),
    ("code", "symbols", "moss", "sub/a.py"),
    ("code", "definition", "moss"),
    ("code", "hover", "moss", "sub/a.py"),
    ("code", "references", "moss", "sub/a.py"),
    ("code", "diagnostics", "sub/a.py"),
    ("note", "hello"),
    ("session", "summarise", "latest"),
    ("fork", "--session", "nobody"),
    ("rewind",),
    ("rewind", "3"),
    ("rewind", "1", "--session", "nobody"),
    ("redo",),
    ("prune", "nobody"),
    ("compact", "nobody"),
    ("worktree", "finish", "nobody"),
    ("host", "ls"),
    ("host", "show", "x"),
    ("config", "set", "agent.mode", "ask"),
    ("config", "set", "agent.mode", "loud"),
    ("config", "unset", "ui.theme"),
    ("config", "trust"),
    ("config", "trust", "--yes"),
    ("config", "trust", "--revoke"),
    ("guard", "check", "git log | head"),
    ("guard", "check", "rm -rf /", "--json"),
    ("hook", "accept", "nothing"),
    ("hook", "refuse", "nothing"),
    ("mcp", "accept", "nothing"),
    ("mcp", "enable", "nothing"),
    ("mcp", "import"),
    ("mcp", "rm", "nothing"),
    ("people", "allow", "amy", "no key"),
    ("people", "revoke", "nobody"),
    ("plugins", "approve", "nothing"),
    ("plugins", "off"),
    ("plugins", "on"),
    ("plugins", "revoke", "nothing"),
    ("session", "export", "latest", "--format", "jsonl"),
    ("session", "export", "nothing"),
    ("session", "resume", "latest"),
    ("session", "resume", "latest", "--json"),
    ("session", "resume", "nothing", "--json"),
    ("logs", "-n", "3"),
    ("run", "grep moss"),
    ("run", "--json", "grep moss"),
    ("run", "read path=sub/a.py"),
    ("run", "read nothing.py"),
    ("run", "glob **/*.py | echo"),
    ("run", "echo a; echo b"),
    ("run", "echo moss | write path=sub/b.txt"),
    ("run", "bash 'umask; ulimit -n; pwd; echo $AGENT_NOTE; exit 3'"),
    ("run", "nosuch"),
    ("run", "read path="),
    ("run", "echo $("),
    ("run", "session rm nothing"),
    ("run", "help"),
    ("run", "mail ls"),
    ("run", "vim sub/a.py"),
    ("run", "exec 'echo moss'"),
    ("run", "talk nobody"),
    ("run", "/usage"),
)
"""Commands about a folder, its record and its settings."""

pytestmark = pytest.mark.tmux
__all__ = ["place"]

ALONE = {"GSH_HUB__KEEP": "alone"}
"""Where no keeper runs, a command goes on alone."""
LOADED = """
import os, sys
sys.argv = ["gsh-tui", *{words!r}]
from gshtui.cli.entry import main
code = main()
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


async def made(place: Place) -> None:
    """Two agents, and a keeper that looks after them."""
    place.run("agent", "spawn", "--cli", CLAUDE, "--profile", "claude", "--name", "cc")
    place.run("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "cat")
    keeper = await place.keeper()
    await place.row(lambda row: row.owner == keeper.process.pid and row.status == "idle")
    await place.row(lambda row: row.owner == keeper.process.pid and row.status == "idle", id="0002")
    await eventually(listening, until=bool)


async def listening() -> bool:
    """Whether the keeper takes commands."""
    return is_live(paths.keeper_sockets()[0])


def settled(ran: CommandResult) -> tuple[int, str, str]:
    """What a command did, without ages and ids."""
    ages = r"\d+(\.\d+)? s\)|\"(?:status_)?age_s\": [\d.]+|\bnow\b|\b\d+ (?:s|min|ms)(?: ago)?\b|\"message\": \"\w+\""
    out = re.sub(ages, "…", ran.out)
    return ran.code, re.sub(r", *…", ", …", re.sub(r" +", " ", out)), ran.err


def run_alone(warm: WarmProgram, cwd: Path, *words: str) -> tuple[int, str, str]:
    """What a command does without a keeper, on a copy of the record."""
    with tempfile.TemporaryDirectory() as home:
        shutil.copytree(data_dir(), Path(home) / "gsh", ignore=shutil.ignore_patterns("keeper.*"))
        code, out, err = settled(warm.run(*words, cwd=cwd, env=ALONE | {"XDG_DATA_HOME": home}))
        out = out.replace(home, str(data_dir().parent))
        return code, re.sub(r"(?m)^hub\.keep = .*", 'hub.keep = "auto"  # default', out), err


@pytest.fixture
def warm() -> WarmProgram:
    return shared(*SDKS)


async def test_each_command_prints_what_it_prints_alone(place: Place, warm: WarmProgram) -> None:
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        await asyncio.to_thread(subprocess.run, ["git", *words], cwd=place.project, check=True)
    await made(place)
    place.run("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "tree", "--worktree", "side")
    (place.project.with_name(f"{place.project.name}-side") / "unsaved").touch()
    lines = [
        ("ls",),
        ("ls", "--json"),
        ("ls", "--all"),
        ("show", "cc"),
        ("show", "cc", "--json"),
        ("show", "nobody"),
        ("show", "cat", "--answer"),
        ("seen", "1"),
        ("seen", "1", "--json"),
        ("remove", "cc"),
        ("kill", "nobody"),
        ("rename", "cat", ""),
        ("rename", "cat", "cat"),
        ("send", "cat", ""),
        ("interrupt", "nobody"),
        ("ls", "--what"),
        ("send", "cat", "--message-file", "/nowhere"),
        ("kill", "tree"),
        ("ls", "--archived"),
        ("spawn", "--cli", "nosuchprogram"),
        ("spawn", "--persona", "nobody"),
        ("restart", "nobody"),
        ("fork", "cat"),
        ("recover", "--dry-run"),
        ("option", "cat"),
        ("attach", "cat"),
        ("attach", "cat", "--json"),
        ("spawn", "--attach", "--cli", "nosuchprogram"),
        ("wait", "nobody"),
        ("wait", "cat", "--status", "done", "--timeout", "0.01"),
        ("wait", "cat", "--status", "x"),
    ]
    for line in lines if FULL else lines[::2]:
        tries = 10 if line[0] in ("ls", "show", "seen") else 1  # a status may change between the two
        while True:
            alone = run_alone(warm, place.project, "agent", *line)
            beside = settled(warm.run("agent", *line, cwd=place.project))
            tries -= 1
            if beside == alone or not tries:
                break
        assert beside == alone, line
    spawned = warm.run(
        "agent", "spawn", "--cli", "sh -c 'echo $NOTE; exec cat'", env={"NOTE": "moss"}, cwd=place.project
    )
    assert re.fullmatch(r"\d{4}\n", spawned.out) and not spawned.err, spawned
    shown = await eventually(
        lambda: asyncio.to_thread(warm.run, "agent", "show", spawned.out.strip(), cwd=place.project),
        until=lambda ran: "moss" in ran.out,
    )
    assert shown.code == 0
    restarted = warm.run("agent", "restart", spawned.out.strip(), cwd=place.project)
    assert (restarted.code, "was restarted" in restarted.out) == (0, True), restarted
    asked = warm.run("agent", "kill", "tree", cwd=place.project)
    assert (asked.code, "`--yes` does it anyway" in asked.err) == (4, True)
    elsewhere = warm.run("agent", "ls", cwd=place.project.parent)
    assert (elsewhere.code, elsewhere.out.count("\n")) == (0, 1), "those of another folder are left out"
    assert "No agents here. 4 are in other folders: `gsh-tui agent ls --all`" in elsewhere.out
    assert warm.run("agent", "ls", "--all", cwd=place.project.parent).out.count("\n") == 5


async def test_a_folder_is_opened_with_what_its_caller_has(place: Place, warm: WarmProgram) -> None:
    (place.project / "sub").mkdir()
    (place.project / "sub" / "a.py").write_text("def moss(): ...\n\n\nmoss()\n")
    (place.project / "sub" / "b.txt").write_text("moss")
    (place.project / ".gsh").mkdir()
    (place.project / ".gsh" / "config.toml").write_text("[agent]\nmode = 'ask'\n")
    prompts = paths.config_file().parent / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "greet.md").write_text("Say hello.")
    for text in ("moss", "fern"):
        assert warm.run("prompt", "--provider", "offline", f"run echo {text}", "--yes", cwd=place.project).code == 0
    place.run("hub", "start")
    await eventually(listening, until=bool)
    for line in FOLDER_LINES if FULL else FOLDER_LINES[::2]:
        alone = run_alone(warm, place.project, *line)
        assert settled(warm.run(*line, cwd=place.project)) == alone, line
    mode = ("config", "show", "agent.mode", "--json")
    assert "plan" not in warm.run(*mode, cwd=place.project).out
    assert "plan" in warm.run(*mode, cwd=place.project, env={"GSH_AGENT__MODE": "plan"}).out
    assert "plan" not in warm.run(*mode, cwd=place.project).out
    assert warm.run("session", "rm", "latest", "--yes", cwd=place.project).code == 0
    assert warm.run("session", "ls", "--json", cwd=place.project).out.count('"id"') == 1


ELSEWHERE = {"host uninstall", "profiles test", "python install"}
"""What reaches another machine, an agent's screen or a network."""


def test_every_command_of_the_keeper_is_compared() -> None:
    compared = {" ".join(line[:2]) for line in FOLDER_LINES} | {line[0] for line in FOLDER_LINES}
    agents = {form.name for form in COMMANDS if form.name.startswith(("agent ", "hub "))}
    assert {form.name for form in COMMANDS if form.by_keeper} <= compared | agents | ELSEWHERE


async def test_such_a_command_loads_no_hub(place: Place) -> None:
    await made(place)
    for words in (
        ["agent", "ls"],
        ["agent", "seen", "cat"],
        ["hub", "status"],
        ["session", "ls"],
        ["usage"],
        ["models"],
    ):
        ran = await asyncio.to_thread(
            subprocess.run,
            [command(())[0], "-c", LOADED.format(words=words)],
            cwd=place.project,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert ran.returncode == 0, ran.stderr
        heavy = {"asyncio", "pydantic", "msgspec", "sqlite3", "subprocess", "gshtui.hub", "gshtui.settings.loader"}
        assert heavy.isdisjoint(ran.stderr.split()), words
    assert json.loads(place.run("hub", "status", "--json"))["pid"] == (await place.keeper()).process.pid


async def test_what_was_sent_has_arrived_when_the_command_ends(place: Place) -> None:
    await made(place)
    for number in range(5):
        place.run("agent", "send", "cat", f"leaf {number}")
        letters = await place.store.mail.find_all((), recipient="0002")
        assert letters[-1].text == f"leaf {number}"
        assert letters[-1].state in ("submitted", "acted")
    shown = [line for line in place.run("agent", "show", "cat").splitlines() if line.startswith("leaf")]
    assert shown == [f"leaf {number}" for number in range(5) for _ in "ab"], "typed and echoed, each once and in order"


async def test_it_asks_the_person_through_the_command(place: Place) -> None:
    await made(place)
    for word, code in (("n", 4), ("y", 0)):
        with on_terminal(place.project, "agent", "kill", "cat") as (process, typed, shown):
            await asyncio.to_thread(shown, "[y/N]")
            typed(word)
            assert await asyncio.to_thread(process.wait, DEADLINE) == code
        ended = (await place.store.agents.find("0002")).ended
        assert bool(ended) == (word == "y")


async def test_a_conversation_is_resumed_in_the_terminal_of_the_command(place: Place, warm: WarmProgram) -> None:
    assert warm.run("prompt", "--provider", "offline", "say moss", "--yes", cwd=place.project).code == 0
    place.run("hub", "start")
    await eventually(listening, until=bool)
    with on_terminal(place.project, "session", "resume", "latest") as (_, _, shown):
        await asyncio.to_thread(shown, "say moss")


async def test_a_line_that_goes_on_in_its_terminal_is_run_once(place: Place) -> None:
    await made(place)
    with on_terminal(place.project, "run", "append path=log.txt content=once; talk cat") as (process, typed, shown):
        await asyncio.to_thread(shown, "you> ")
        typed("")
        assert await asyncio.to_thread(process.wait, DEADLINE) == 0
    assert (place.project / "log.txt").read_text() == "once\n"


async def test_a_line_that_stops_the_hub_says_that_it_did(place: Place) -> None:
    place.run("hub", "start")
    await eventually(listening, until=bool)
    assert "was stopped" in place.run("run", "hub stop")
    assert "No hub runs" in place.run("run", "hub stop")
    assert "No hub runs" in place.run("hub", "stop")


_ASKS = """
import json
from gshtui.client.hub_greeting import greeted, line_from, surroundings
call = {"run": "agent answer", "declared": "gshtui.fleet.core.agent_calls:AnswerAgent", "values": {"agent": "cat"}}
for connected in greeted("command", 5.0):
    connected.sendall(json.dumps({**call, **surroundings(".")}).encode() + b"\\n")
    while "works" in (said := line_from(connected)):
        pass
    print(said)
"""


async def test_what_a_person_alone_may_do_is_not_done_for_an_agent(place: Place) -> None:
    await made(place)
    for env, wanted in (({}, "its folder is gone"), ({"GSH_AGENT": "0002"}, FOR_PEOPLE)):
        ran = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", _ASKS],
            env=environment() | env,
            cwd=place.project,
            capture_output=True,
            text=True,
            check=True,
        )
        assert wanted in ran.stdout, ran
    assert HubDeclined(FOR_PEOPLE).hint == "Ask the person to do it."


async def test_what_an_agents_command_starts_is_held_to_the_agents_mode(place: Place) -> None:
    await made(place)
    spawn = ("agent", "spawn", "--cli", CLAUDE, "--profile", "claude", "--mode", "edit", "--name")
    named = {"mine": None, "its": {"GSH_AGENT": "0001"}}
    for name, env in named.items():
        ran = await asyncio.to_thread(run_gsh, *spawn, name, cwd=place.project, env=env)
        assert ran.code == 0, ran.err
    deeper = shlex.join(["env", "-u", "GSH_AGENT", sys.executable, "-m", "gshtui", *spawn, "deeper"])
    place.run("agent", "spawn", "--cli", shlex.join(["sh", "-c", f"{deeper}; exec cat"]), "--name", "shell")

    async def held() -> dict[str, str]:
        rows = await place.store.agents.find_all()
        return {row.name: row.held_to for row in rows if row.name in (*named, "deeper")}

    found = await eventually(held, until=lambda found: "deeper" in found)
    assert found == {"mine": "edit", "its": "ask", "deeper": "ask"}


async def test_an_agent_is_shown_in_the_terminal_of_the_command(place: Place) -> None:
    await made(place)
    for words, id in ((("attach", "cat"), "0002"), (("spawn", "--attach", "--cli", "cat"), "0003")):
        with on_terminal(place.project, "agent", *words) as (process, _, shown):
            await asyncio.to_thread(shown, "\x1b[?1049h")  # tmux has the terminal
            detach = ("tmux", "-L", "gsh", "detach-client", "-s", f"=gsh-agent-{id}")
            await asyncio.to_thread(subprocess.run, detach, env=environment(), check=True)
            assert await asyncio.to_thread(process.wait, DEADLINE) == 0


async def test_a_keeper_that_hangs_is_told_of_and_nothing_is_done_beside_it(place: Place) -> None:
    with start_gsh("hub", "run", "--idle", "0", cwd=place.project) as process:  # tmux continues what it started
        await place.keeper()
        await made(place)
        os.kill(process.pid, signal.SIGSTOP)
        for words in (("agent", "ls", "--json"), ("agent", "send", "cat", "over here")):
            ran = run_gsh(*words, cwd=place.project)
            assert (ran.code, ran.out) == (1, "")
            assert f"(pid {process.pid}) does not answer" in ran.err
        assert "was stopped" in run_gsh("hub", "stop", cwd=place.project).out
        assert await asyncio.to_thread(process.wait, DEADLINE) == 0
    assert running_keeper(data_dir()) is None
    assert "over here" not in place.run("agent", "show", "cat")
    assert (await place.keeper()).process.pid != process.pid, "it is back with the next call"


async def test_it_does_not_act_for_other_settings_or_folders(place: Place, tmp_path: Path) -> None:
    await made(place)
    assert json.loads(place.run("agent", "ls", "--json"))
    for other in ({"GSH_GENERAL__SESSION_DIR": str(tmp_path)}, {"XDG_DATA_HOME": str(tmp_path)}):
        assert run_gsh("agent", "ls", "--json", cwd=place.project, env=other | ALONE).json == []


@contextmanager
def on_terminal(
    cwd: Path, *words: str
) -> Generator[tuple[subprocess.Popen[bytes], Callable[[str], None], Callable[[str], None]]]:
    """The command on a terminal of its own: its process, what types a line, and what waits for a text."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(words), stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=environment(), start_new_session=True
    )
    os.close(theirs)
    seen = bytearray()

    def wait_for(text: str) -> None:
        until = time.monotonic() + DEADLINE
        while text.encode() not in seen:
            assert time.monotonic() < until, seen.decode(errors="replace")
            if select.select([ours], [], [], 0.5)[0]:
                seen.extend(os.read(ours, 4096))

    def type_line(line: str) -> None:
        os.write(ours, f"{line}\n".encode())

    try:
        yield process, type_line, wait_for
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)


@contextmanager
def stand_in(*answers: dict[str, Any] | str | None) -> Generator[list[dict[str, Any]]]:
    """A keeper that answers one line after another with these, and then hangs up; `None`: it never answers.

    Gives what it was told.
    """
    told: list[dict[str, Any]] = []
    paths.runtime_dir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(paths.keeper_sockets()[0]))
        listening.listen()

        def serve() -> None:
            connected, _ = listening.accept()
            with connected, connected.makefile("rwb") as lines:
                for answer in answers:
                    told.append(json.loads(lines.readline()))
                    if answer is None:
                        lines.readline()  # until the other side has had enough
                        return
                    lines.write((answer if isinstance(answer, str) else json.dumps(answer)).encode() + b"\n")
                    lines.flush()
                lines.readline()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield told
        finally:
            thread.join(DEADLINE)


SERVES = {"welcome": "x", "serves": __version__, "installed": INSTALLED_AT}


@pytest.mark.parametrize(
    "answers",
    some(
        [
            ({"welcome": "x"},),
            (SERVES | {"serves": "0.0.1"},),
            (SERVES | {"installed": 1},),
            ({"error": "the first line must be …"},),
            ("not JSON",),
            ("[1]",),
            (SERVES, {"declined": OTHER_RECORD}),
            (SERVES, {"alone": True}),
            (SERVES, {"reads": True}),
            (SERVES, {"reads": True}, "{"),
            (SERVES, {"reads": True}, {"bye": "x"}),
        ],
        2,
    ),
)
def test_a_command_that_reads_goes_on_alone(answers: tuple[dict[str, Any] | str, ...]) -> None:
    with stand_in(*answers) as told:
        ran = run_gsh("agent", "ls")
        assert (ran.code, ran.err) == (0, "")
        assert "No agents here" in ran.out
    assert told[0]["hello"] == "command"


def test_what_is_said_before_it_begins_is_no_refusal() -> None:
    """A folder takes a while to open, and its start may warn."""
    early = '{"works": true}\n{"complain": ["Careful.", "Look."]}\n{"works": true}\n{"reads": true}'
    with stand_in(
        SERVES,
        early,
        {"text": "done there", "aside": "", "own": False, "timed_out": False, "denied": False, "is_error": False},
    ):
        ran = run_gsh("agent", "ls")
    assert (ran.code, ran.out, ran.err) == (0, "done there\n", "gsh-tui: Careful. Look.\n")


def test_one_that_acts_does_not_act_twice() -> None:
    with stand_in(SERVES, {"reads": False}) as told:
        ran = run_gsh("agent", "send", "cat", "moss", env={"PATH": "/nowhere"})
        assert (ran.code, ran.out) == (1, "")
        assert "not known whether this was done" in ran.err
    assert (told[1]["run"], told[1]["values"]["text"]) == ("agent send", "moss")
    assert told[1]["environ"]["PATH"] == "/nowhere", "the whole environment travels with the call"


@pytest.mark.parametrize("answers", [(None,), (SERVES, None)])
def test_one_that_never_answers_is_told_of(answers: tuple[Any, ...]) -> None:
    claim = KeeperClaim(data_dir(create=True))
    assert claim.acquire()
    with stand_in(*answers):
        ran = run_gsh("agent", "ls")
        assert (ran.code, ran.err.count("does not answer")) == (1, 1)
    claim.release()


def test_one_that_declines_says_why() -> None:
    with stand_in(SERVES, {"declined": "it has other settings"}):
        ran = run_gsh("agent", "ls")
        assert (ran.code, ran.out, ran.err.count("it has other settings")) == (1, "", 1)


def test_without_a_runtime_folder_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert run_gsh("agent", "ls").code == 0

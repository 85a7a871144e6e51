"""Every command that the README and its guides name is run as it stands there, in its order, by a shell, and every
slash command."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import tomlkit

from gshtui.cli.root import run as run_line
from gshtui.commands.declaration import CommandError, UsageError
from gshtui.commands.language import parse
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from tests.kit import warm_program
from tests.kit.command import ROOT, start_gsh
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.manual import MANUAL
from tests.kit.pdf import pdf
from tests.kit.png import png
from tests.kit.pty_child import PtyChild
from tests.kit.running_hub import started_hub
from tests.kit.ssh_hosts import free_port, ssh_host
from tests.kit.tmux import named_servers
from tests.real.test_context_service import Here

__all__ = ["named_servers"]

pytestmark = [pytest.mark.tmux, pytest.mark.timeout(300)]

BLOCKS = re.findall(r"^```sh\n(.*?)^```", MANUAL, re.DOTALL | re.MULTILINE)
TEXTS = re.findall(r"^```text\n(.*?)^```", MANUAL, re.DOTALL | re.MULTILINE)
"""Blocks for another machine, a friend or a room: they are run where a test has one."""
PROSE = re.sub(r"```.*?```", "", MANUAL, flags=re.DOTALL)
PARTS = 4
"""The lines in the text start a process each: so many tests share them."""
INLINE = sorted({line.strip() for line in re.findall(r"`((?:gsh-tui|gsh) [^`]+)`", PROSE)})
EXAMPLES = {"/standup"}
"""Commands that a reader's own file would make."""
OF_THE_WINDOW = {"/setup"}
"""Words of the window's own, which no hub knows."""
SLASH = sorted(set(re.findall(r"`(/[a-z]+(?: [^`]*)?)`", MANUAL)) - EXAMPLES - OF_THE_WINDOW)
SET_UP = {".ci/gsh-tui", ".ci/test"}
"""What sets the clone up: whoever runs these tests has run it."""


SPAWNED = ("gsh-tui agent spawn --cli", "gsh-tui agent spawn --persona")
"""How the README's and the guide's lines about agents begin."""
DETACH = "tmux -L gsh list-clients -F '#{client_name}' | xargs -n 1 tmux -L gsh detach-client -t"
UNDERSTOOD = {0, 1, 4}
"""The line is a right one, and perhaps there is nothing for it to do here, or nobody who may allow it."""


@dataclass
class Shop:
    """A project with a conversation, agents' terminals of its own, and `gsh-tui` and `gsh` on the PATH."""

    project: Path
    environ: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, line: str, *, code: int | set[int] = 0, stdin: str = "") -> str:
        """Run a line by bash; what it printed. Fails the test unless it ends with such a code."""
        ran = subprocess.run(
            ["bash", "-c", line],
            cwd=self.project,
            env=os.environ | self.environ,
            input=stdin,
            text=True,
            capture_output=True,
            timeout=120,
            check=False,
        )
        understood = code == UNDERSTOOD and ran.returncode == 2 and not ran.stderr.startswith("Usage")
        assert understood or ran.returncode in ({code} if isinstance(code, int) else code), (
            line,
            ran.returncode,
            ran.stderr,
        )
        assert "Traceback" not in ran.stderr, line
        return ran.stdout

    def opened(self, line: str, there: str, leave: bytes) -> None:
        """Run a line on a terminal until something is there, and leave it by a key, or by detaching from tmux."""
        os.environ.update(self.environ)
        child = PtyChild(["/bin/bash", "-c", f"exec {line}"], self.project, columns=120, rows=35)
        try:
            child.go()
            child.read_until(lambda: there.encode() in child.output)
            child.write(leave) if leave else self.run(DETACH)
            assert child.wait() == 0, line
        finally:
            child.close()


@pytest.fixture
def shop(tmp_path: Path, home: Home, named_servers: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    project = made_project(tmp_path / "project")
    (project / "README.md").write_text("A project about login.\n")
    (project / "main.py").write_text("def main():\n    pass\n")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "claude").write_text("#!/bin/sh\nexec cat\n")
    (tools / "claude").chmod(0o755)
    environ = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "EDITOR": "true"}
    (home.path / ".zshrc").write_text("")
    (home.path / ".bashrc").write_text("")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    subprocess.run(["git", "commit", "-qm", "all"], cwd=project, check=True)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for name, words in (("gsh-tui", []), ("gsh", ["gsh"])):
        line = shlex.join([*warm_program.shared(*warm_program.SDKS).argv(), *words])
        (tools / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n')
        (tools / name).chmod(0o755)
    return Shop(project, environ)


def talked(shop: Shop) -> None:
    """A conversation of eight requests, on a transaction."""
    shop.run("gsh-tui prompt 'read README.md'")
    for _ in range(3):
        shop.run("gsh-tui prompt --session latest 'find transaction'")


def block(first: str) -> list[str]:
    """The lines of the block that begins so."""
    (found,) = [text for text in BLOCKS if text.startswith(first)]
    return found.splitlines()


def test_every_block_is_run_here() -> None:
    run = {
        *SPAWNED,
        "gsh-tui shell install",
        "gsh fix",
        "gsh-tui prompt",
        "gsh-tui context",
        "gsh-tui run 'ls /'",
        "gsh-tui run 'glob",
        "gsh-tui search",
        "gsh-tui session",
        "gsh-tui workflow",
        "gsh-tui doctor",
        "gsh-tui code",
    }
    for text in BLOCKS:
        assert text.strip() in SET_UP or any(text.startswith(first) for first in run), text
    for file in SET_UP:
        assert os.access(ROOT / file, os.X_OK)


ELSEWHERE = [
    line.split(" >")[0].split(" #")[0].strip()
    for text in TEXTS
    for line in text.splitlines()
    if " gsh-tui " in f" {line}" and not line.startswith("gsh-tui 0")
]
"""Lines in those blocks. Some are only parsed: they need a phone, a browser, or an account with a vendor."""


@pytest.mark.parametrize("line", ELSEWHERE)
def test_a_line_for_another_machine_is_a_right_one(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is parsed whole, and shows the help of its command in place of running it."""
    words = shlex.split(line[line.index("gsh-tui") :])[1:]
    at = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    assert run_line([*words[:at], "--help", *words[at:]]) == 0, line
    usage = capsys.readouterr().out.split("\n")[0]
    assert at == 0 or words[0] in usage, (line, usage)


def test_pictures_and_documents(shop: Shop) -> None:
    (shop.project / "shot.png").write_bytes(png())
    (shop.project / "report.pdf").write_bytes(pdf("A report"))
    (shop.project / "server.log").write_text("GET / 500\n", encoding="utf-8")
    for line in block('gsh-tui prompt "What is wrong'):
        shop.run(line)


def test_code(shop: Shop) -> None:
    (shop.project / "src").mkdir()
    for name in ("app", "diffs"):
        (shop.project / "src" / f"{name}.py").write_text("def make_diff():\n    pass\n")
    for line in block("gsh-tui code outline"):
        # The folder is not trusted, so no language server starts.
        shop.run(line, code=0 if " outline " in line or line.endswith(" servers") else 1)


@pytest.mark.parametrize("first", SPAWNED)
def test_agents_in_terminals(shop: Shop, first: str) -> None:
    for line in block(first):
        if " attach " in line:
            shop.opened(line, "\x1b[1;35r", b"")
        elif " kill " in line:
            shop.run(line, code={0, 4})
            shop.run(f"{line} --yes", code={0, 1})
        else:
            shop.run(line, code={0, 1} if " wait " in line else 0)


def test_the_shells_line_is_shown_and_asked_for(shop: Shop, home: Home) -> None:
    (line,) = block("gsh-tui shell install")
    shop.run(line, code={0, 4}, stdin="n\n")
    shop.run(f"{line} --yes")
    assert "gsh" in (home.path / ".zshrc").read_text()


def test_gsh_at_the_prompt(shop: Shop) -> None:
    for line in block("gsh fix"):
        # There is no agent 12, and nothing to make.
        shop.run(line, code={0, 1} if line == "gsh show 12" else {0, 2} if "make" in line else 0)


def test_without_a_window(shop: Shop) -> None:
    for line in block('gsh-tui prompt "what does'):
        shop.run(line)


def test_workflows(shop: Shop) -> None:
    for line in block("gsh-tui workflow"):
        shop.run(line, code={*UNDERSTOOD, 3})  # no model is connected


def test_kept_prompts(shop: Shop, home: Home) -> None:
    kept = home.config / "gsh" / "prompts" / "explain.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("Explain $ARGUMENTS.\n")
    for line in block("gsh-tui prompts"):
        shop.run(line)


def test_the_language(shop: Shop) -> None:
    printed = [shop.run(line) for line in block("gsh-tui run 'glob")]
    assert printed[2] == "Both are the same.\n"
    assert printed[3].endswith("the first is main.py\n")
    assert printed[5] == "main.py\n"


def test_contexts(shop: Shop) -> None:
    talked(shop)
    for line in block("gsh-tui context"):
        nothing_to_do = line.startswith(("gsh-tui compact", "gsh-tui prune", "gsh-tui run undo"))
        shop.run(line, code=UNDERSTOOD if nothing_to_do else 0)


def test_everything_has_a_path(shop: Shop) -> None:
    talked(shop)
    for line in block("gsh-tui run 'ls /'"):
        shop.run(line)


def test_what_was_before_is_found(shop: Shop) -> None:
    talked(shop)
    for line in block("gsh-tui search"):
        shop.run(f"timeout --signal=INT 3 {line}", code={124, 130}) if "--follow" in line else shop.run(line)


def test_conversations(shop: Shop) -> None:
    talked(shop)
    for line in block("gsh-tui session"):
        if line == "gsh-tui --continue":
            shop.opened(line, "transaction", b"\x11")
        else:
            shop.run(line)
    assert (shop.project / "conversation.html").exists()


def test_the_doctor(shop: Shop) -> None:
    (line,) = block("gsh-tui doctor")
    shop.run(line, code={0, 1})


NEEDS_A_WORD = {"ID": "1", "COMMAND": "true", "WORDS": "what failed", "…": "hello"}


SHOWN_BY_HELP = ("gsh-tui agent", "gsh-tui code", "gsh-tui serve --ssh")
"""Groups, and a server. `profiles check` drives a real program for a minute: `tests/programs` does that."""


ASKS_NETWORK = (
    *("gsh-tui agent search", "gsh-tui agent install", "gsh-tui mcp search", "gsh-tui mcp add io."),
    "gsh-tui models update",
)
"""They ask servers that cannot be reached here."""


@pytest.mark.parametrize("part", range(PARTS))
def test_what_the_text_names(shop: Shop, part: int) -> None:
    """No usage error: 1 is a command that found nothing to do here, 4 one that wants a person."""
    lines = INLINE[part::PARTS]
    assert len(lines) > 10
    for line in lines:
        words = line
        for mark, word in NEEDS_A_WORD.items():
            words = words.replace(mark, word)
        if words.strip() in SHOWN_BY_HELP or words.startswith("gsh-tui profiles check "):
            shop.run(f"{words} --help")
        elif words.strip() == "gsh chat":
            shop.opened(words, "main", b"\x11")
        elif words.strip() in ASKS_NETWORK or words.startswith(ASKS_NETWORK[:-1]):
            shop.run(f"https_proxy=http://127.0.0.1:9 {words}", code=3)
        elif words.strip() not in ("gsh --background", "gsh --new"):  # options, which stand before words
            shop.run(words, code=UNDERSTOOD)
        else:
            shop.run(f"{words} what failed", code={0, 1, 4})


def typed(first: str) -> list[str]:
    """The lines of the block of text that begins so, without what is said behind them."""
    (found,) = [text for text in TEXTS if text.startswith(first)]
    return [re.split(r"\s{2,}", line)[0] for line in found.splitlines()]


def test_an_agent_whose_tools_act_on_another_machine(shop: Shop, home: Home) -> None:
    with ssh_host() as host:
        settings = host.settings().model_dump(mode="json", exclude_defaults=True)
        (home.config / "gsh").mkdir(parents=True)
        (home.config / "gsh" / "config.toml").write_text(tomlkit.dumps({"hosts": {"build": settings}}))
        install, spawn, kill, uninstall = typed("gsh-tui host install")
        shop.run(f"{install} --yes")
        shop.run(spawn)
        assert "What it ran on build ends with it" in shop.run(f"{kill} --yes")
        shop.run(f"{uninstall} --yes")


def test_people_over_ssh(shop: Shop, home: Home, tmp_path: Path) -> None:
    """A script of theirs, and the files that they may fetch."""
    port = free_port()
    (home.config / "gsh").mkdir(parents=True)
    (home.config / "gsh" / "config.toml").write_text(f"[ssh]\nport = {port}\n")
    (shop.project / "docs").mkdir()
    (shop.project / "docs" / "a.md").write_text("Ours\n")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    allow, serve = typed("gsh-tui people allow")
    key = (tmp_path / "key.pub").read_text().strip()
    shop.run(f"{allow.split(chr(39))[0]}'{key}' --rights all --yes")
    there = f"-i {tmp_path}/key -o StrictHostKeyChecking=no -o UserKnownHostsFile={tmp_path}/known amy@127.0.0.1"
    with start_gsh(*shlex.split(serve)[1:], "--json", cwd=shop.project) as process:
        assert process.stdout is not None and str(port) in process.stdout.readline().decode()

        def visit(line: str, stdin: str = "") -> str:
            return shop.run(re.sub(r"([pP]) 8022 your-machine", rf"\1 {port} {there}", line), stdin=stdin)

        visit("ssh -p 8022 your-machine", "create call=audio\njoin audio\n" + "say hello\n" * 8)
        said, read = typed("echo 'say done'")
        visit(said)
        assert "hello" in visit(read)
        sftp, message, docs = typed("sftp -P")
        assert "hello" in visit(f"{sftp.replace('sftp', 'sftp -b -')}; cat 007.msg", message.removeprefix("sftp> "))
        visit(sftp.replace("sftp", "sftp -b -"), docs.removeprefix("sftp> ") + " fetched")
        assert (shop.project / "fetched" / "a.md").read_text() == "Ours\n"


def test_servers_of_tools(shop: Shop) -> None:
    """The program that fetches packages stands for the server that it would fetch."""
    uvx = Path(shop.environ["PATH"].split(":")[0], "uvx")
    uvx.write_text(f"#!/bin/sh\nexec {sys.executable} -m tests.kit.mcp_server\n")
    uvx.chmod(0o755)
    git, docs, doctor = typed("gsh-tui mcp add git")
    shop.run(git.replace("add git", f"add git --env PYTHONPATH={ROOT}"))
    shop.run(docs)
    assert "tools" in shop.run(doctor)


async def test_a_room(tmp_path: Path, named_servers: Path) -> None:
    hub = build_hub(HubOptions(cwd=made_project(tmp_path / "project"), loaded=load(tmp_path / "project")))
    async with started_hub(hub):
        for line in typed("/create call=audio"):
            for words in line.replace("claude", "main").split("·"):
                if not words.strip().startswith(("/talk", "/say")):  # the model that would answer is none
                    await hub.run(words.strip())


TURNS = (("/pin", "/unpin", "/whatif"), ("/compact", "/prune"), ("/undo", "/restore"), ("/clear_context",))
"""What works on the conversation as it was, what cuts it, what takes that back, and what leaves nothing of it."""


def turn_of(line: str) -> tuple[int, str]:
    """When a slash command is run, so that there is something for it to do."""
    return next((turn for turn, names in enumerate(TURNS) if line.split()[0] in names), 1), line


async def test_slash_commands(tmp_path: Path, named_servers: Path) -> None:
    """All of them in one conversation, the cuts first and what takes them back after."""
    project = made_project(tmp_path / "project")
    for file in ("README.md", "main.py"):
        (project / file).write_text("A project about login.\n" * 200)
    hub = build_hub(HubOptions(cwd=project, loaded=load(project)))
    await hub.start()
    assert hub.failed == {}
    here = Here(hub)
    try:
        for file in ("README.md", "main.py", "main.py", "main.py"):
            await here.ask(f"read {file}")
        cut = ""
        for line in sorted(SLASH, key=turn_of):
            words = line.replace("FILE", "README.md").replace(" ID", f" {cut}").replace(" 12", " 3")
            try:
                parse(hub.registry, words)
            except UsageError as error:
                pytest.fail(f"{line}: {error}")
            if line.startswith("/workflow "):
                continue  # its steps ask, and nobody is here to answer
            try:
                await hub.run(words)
            except CommandError as error:
                assert error.message.endswith("."), line  # nothing of the kind is there to be done
            if not cut and hub.contexts is not None and (receipts := await hub.contexts.queries.receipts("main")):
                cut = receipts[-1].id
    finally:
        await hub.stop()

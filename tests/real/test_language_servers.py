"""What language servers say of agents' changes, and what bad ones cannot do; with our own server, ruff and pyright."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gshtui.features.code.code_queries import Asked, find_definitions, find_references, find_symbols, hover
from gshtui.features.code.commands import commands as code_commands
from gshtui.features.code.language_server import LanguageServer
from gshtui.features.code.language_servers import LanguageServers
from gshtui.features.code.lsp_client import LanguageServerError
from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.settings import trust
from gshtui.settings.model import Settings
from gshtui.settings.settings_tables import CodeSettings, Sandbox
from gshtui.settings.started_programs import LanguageServerSettings
from gshtui.system.expected_error import ExpectedError
from gshtui.tools.commands import commands
from gshtui.tools.files.file_paths import FilePaths
from gshtui.vfs import FileSystem
from tests.kit.configuration import made_project, user_file
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.providers import MODELS
from tests.kit.tool_harness import ToolHarness, processes_mentioning
from tests.kit.warm_program import run_gsh

PROGRAM = Path(__file__).parents[1] / "kit" / "language_server.py"
VENV = Path(sys.executable).parent


@dataclass
class CodeHarness(ToolHarness):
    """The tools of one project with its language servers."""

    servers: LanguageServers = field(default_factory=lambda: LanguageServers(Settings(), os.environ, None))

    def __post_init__(self) -> None:
        paths = FilePaths(FileSystem(), {})
        made = [*commands(self.config, paths, lambda: self.servers), *code_commands(paths, lambda: self.servers)]
        self.commands = {command.name: command for command in made}

    @property
    def server(self) -> LanguageServer:
        (one,) = self.servers._servers.values()
        return one

    @property
    def starts(self) -> int:
        file = self.project.parent / "starts"
        return len(file.read_text().splitlines()) if file.exists() else 0

    async def write(self, path: str, content: str) -> str:
        """Write a file that was read before, and return what is said of the change."""
        if (self.project / path).exists():
            await self.run("read", path=path)
        outcome = await self.run("write", path=path, content=content)
        return outcome.text.partition("\n")[2]

    async def code(self, action: str, **arguments: Any) -> str:
        command = self.commands["code"].words[action]
        return (await command.handler(self.invocation(), command.parameters(**arguments))).text


@asynccontextmanager
async def code_of(tmp_path: Path, kind: str, *, trusted: bool = True, **code: Any) -> AsyncIterator[CodeHarness]:
    """A project with our server of this kind; `code`: settings."""
    project = Path(os.path.realpath(tmp_path)) / "project"
    (project / ".git").mkdir(parents=True)
    if trusted:
        trust.trust(project, None)
    words = [sys.executable, "-I", "-S", str(PROGRAM), kind, str(tmp_path)]
    server = LanguageServerSettings(command=words, files=["*.fake"], roots=[".git"], sandbox=False)
    settings = Settings(
        code=CodeSettings.model_validate({"wait_seconds": 10.0, **code}), language_servers={"fake": server}
    )
    servers = LanguageServers(settings, os.environ, None)
    try:
        yield CodeHarness(project, servers=servers)
    finally:
        await servers.close()
    assert all(server.session is None for server in servers._servers.values())


@pytest.mark.parametrize("kind", ["usual", "unversioned", "slow"])
async def test_an_edit_is_told_what_it_brought(tmp_path: Path, kind: str) -> None:
    async with code_of(tmp_path, kind) as code:
        code.write_file("a.fake", "fine\nBAD old\n")
        assert await code.write("new.fake", "fine\n") == "No new problems (fake)."
        said = await code.write("a.fake", "one\ntwo\nBAD old\n  BAD WARN new\n")
        assert said == (
            "1 new problem, quoted from fake; 1 problem that was there before:\n"
            "│ a.fake:4:3 warning: WARN new (fake bad-line)"
        )
        assert await code.write("a.fake", "BAD old\n") == "No new problems (fake; 1 problem that was there before)."
        assert "No new problems" in await code.write("user.fake", "USES\n")
        assert "│ user.fake:1:1 error: moved (fake bad-line)" in await code.write("a.fake", "BAD moved\n")
        outcome = await code.run("bash", command="printf 'fine\\nBAD by bash\\n' >a.fake; echo x >other.fake; exit 3")
        assert outcome.text.endswith(
            "[exit code: 3]\n1 new problem, quoted from fake:\n│ a.fake:2:1 error: by bash (fake bad-line)"
        )
        assert (await code.run("bash", command="touch a.fake; echo BAD >other.fake")).text == "(no output)"
        await code.write("a.fake", "BAD moved\n")
        outcome = await code.run("edit", path="a.fake", old_text="moved", new_text="away")
        assert "│ a.fake:1:1 error: away" in outcome.text
        assert outcome.diff
        assert code.starts == 1
        assert await code.code("diagnostics", path="a.fake") == (
            "1 problem in a.fake:\n│ a.fake:1:1 error: away (fake bad-line)"
        )


async def test_questions_about_symbols(tmp_path: Path) -> None:
    async with code_of(tmp_path, "usual") as code:
        code.write_file("a.fake", "x 𝄞 thing\nthing\n")
        assert "thing" in await code.code("symbols", name="thi")  # starts it: there is a mark at the project's top
        said = await code.code("definition", name="thing", path="a.fake")
        assert said == "2 definitions of thing:\na.fake:1:1│ x 𝄞 thing\n/usr/lib/other.fake:1:1"
        assert await code.code("references", name="thing") == "1 use of thing:\na.fake:1:1│ x 𝄞 thing"
        said = await code.code("hover", name="thing", path="a.fake")
        assert '{"line": 0, "character": 5}' in said  # two columns for one character
        assert "\x1b" not in said
        for action, path, error in (
            ("definition", "/etc/hosts", "outside the project"),
            ("definition", "/shared/other", "There is no /shared/other"),
            ("outline", "gone.fake", "does not exist"),
            ("hover", "a.fake", "There is no nothing in a.fake"),
            ("diagnostics", "b.txt", "No language server for b.txt is installed"),
        ):
            code.write_file("b.txt", "")
            with pytest.raises(ExpectedError, match=error):
                await code.code(
                    action, path=path, **({} if action in ("outline", "diagnostics") else {"name": "nothing"})
                )


FAULTS = {
    "silent": "fake had no answer within 0.5 s; `code diagnostics` asks again.",
    "mute": "fake had no answer within 0.5 s; `code diagnostics` asks again.",
    "stuck": "fake had no answer within 0.5 s; `code diagnostics` asks again.",
    "die": "The language server fake is gone: it ended with exit code 9.",
    "garbage": "The language server fake is gone: it writes what is no message of the Language Server Protocol.",
    "invalid": "The language server fake is gone: it wrote ",
    "flood": "The language server fake is gone: it wrote more than 64 MB within 10 s.",
    "hungry": "MB of memory, 100 may be.",
}


@pytest.mark.parametrize("kind", FAULTS)
async def test_a_bad_server_costs_an_edit_no_more_than_its_deadline(tmp_path: Path, kind: str) -> None:
    """The file is changed in any case; the server is ended, and started again only after a pause."""
    patient = kind in ("flood", "hungry", "die", "garbage", "invalid")
    async with code_of(tmp_path, kind, wait_seconds=20.0 if patient else 0.5, memory_mb=100) as code:
        said = await code.write("a.fake", "BAD\n")
        assert (code.project / "a.fake").read_text() == "BAD\n"
        assert FAULTS[kind] in said
        if patient:
            assert code.server.state == "waiting"
            assert code.server.session is None
            assert await code.write("b.fake", "") == ""  # it was told once, and is not started yet
            assert code.starts == 1


async def test_a_server_that_is_lost_starts_again_and_is_given_up_in_the_end(tmp_path: Path) -> None:
    async with code_of(tmp_path, "die") as code:
        for start in range(1, 5):
            await code.write("a.fake", f"{start}\n")
            assert code.server._living is not None
            await asyncio.wait([code.server._living])  # it has died, also where that takes longer than an edit waits
            assert code.starts == start
            code.server._not_before = 0.0  # the pause is over
        assert code.server.state == "failed"
        await code.write("a.fake", "again\n")
        assert code.starts == 4
        assert await code.servers.restart("fake") == 1
        await code.write("a.fake", "and again\n")
        assert code.starts == 5


async def test_an_answer_of_50_mb_costs_itself_alone(tmp_path: Path) -> None:
    async with code_of(tmp_path, "huge") as code:
        code.write_file("a.fake", "thing\n")
        path = code.project / "a.fake"
        with pytest.raises(LanguageServerError, match=r"answered with 50,000,0.. bytes"):
            await find_definitions(code.servers, Asked("thing", code.project, path))
        assert len(await find_definitions(code.servers, Asked("thing", code.project, path))) == 2
        assert code.starts == 1


async def test_nothing_that_a_server_says_drives_a_terminal_or_floods_a_model(tmp_path: Path) -> None:
    async with code_of(tmp_path, "hostile") as code:
        said = await code.write("a.fake", "x\n")
        assert "error" in said
        assert "No new problems" in await code.write("a.fake", "y\n")  # it says the same of every text
        for text in (await code.write("b.fake", "x\n"), await code.code("diagnostics", path="a.fake")):
            assert not set(text) & {"\x1b", "\x07", "\u202e"}
            assert len(text) < 20_000
            assert all(line.startswith(("│", "[", "200 ")) for line in text.splitlines())


async def test_what_a_server_wants_changed_is_refused(tmp_path: Path) -> None:
    async with code_of(tmp_path, "edits") as code:
        await code.write("a.fake", "x\n")
        await code.code("hover", name="x", path="a.fake")
        assert '"applied": false' in (tmp_path / "refused").read_text()


async def test_where_no_server_may_run_an_edit_is_as_it_was(tmp_path: Path) -> None:
    """An untrusted folder, and one where they are switched off: nothing starts, and nothing is added."""
    async with code_of(tmp_path / "untrusted", "usual", trusted=False) as code:
        assert await code.write("a.fake", "BAD\n") == ""
        with pytest.raises(LanguageServerError, match="not trusted"):
            await code.code("diagnostics", path="a.fake")
        assert "This folder is not trusted" in await code.code("servers")
        assert code.starts == 0
    async with code_of(tmp_path / "off", "usual", enabled=False) as code:
        assert await code.write("a.fake", "BAD\n") == ""
        assert await code.write("a.txt", "BAD\n") == ""
        assert "switched off by `code.enabled`" in await code.code("servers")
        assert code.starts == 0


async def test_a_program_of_the_project_runs_in_the_sandbox_only(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    trust.trust(project, None)
    program = project / "bin" / "ruff"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran {project}/ran\n")
    program.chmod(0o755)
    environ = {**os.environ, "PATH": str(program.parent)}
    (project / "a.py").write_text("x\n")
    for sandbox, why in (
        (None, "may only run in the sandbox"),
        (Sandboxes(Sandbox(), (tmp_path,)).sandbox, "is gone|"),
    ):
        servers = LanguageServers(Settings(), environ, sandbox)
        with pytest.raises(LanguageServerError, match=why):
            await servers.session_with(project / "a.py", project, "hover_provider")
        await servers.close()
    assert not (tmp_path / "ran").exists()
    assert not (project / "ran").exists()


async def test_real_servers_on_a_python_project(tmp_path: Path) -> None:
    """ruff and pyright, side by side, as an agent's edits and questions meet them."""
    project = Path(os.path.realpath(tmp_path)) / "project"
    (project / ".git").mkdir(parents=True)
    (project / "pyproject.toml").write_text("")
    (project / "lib.py").write_text("def add(one: int, two: int) -> int:\n    return one + two\n")
    trust.trust(project, None)
    environ = {**os.environ, "PATH": f"{VENV}{os.pathsep}{os.environ['PATH']}"}
    outside = LanguageServerSettings(sandbox=False)
    settings = Settings(code=CodeSettings(wait_seconds=30.0), language_servers={"pyright": outside, "ruff": outside})
    code = CodeHarness(project, servers=LanguageServers(settings, environ, None))
    try:
        said = await code.write("app.py", "from lib import add\n\nprint(add(1, 2))\n")
        assert "problem" in said
        said = await code.write("app.py", 'from lib import add\n\nprint(add(1, "2"))\nprint(missing)\n')
        assert "(ruff F821)" in said
        assert "(pyright reportArgumentType)" in said
        path = project / "app.py"
        (found,) = await find_definitions(code.servers, Asked("add", project, path))
        assert (found.path.name, found.line) == ("lib.py", 1)
        uses = await find_references(code.servers, Asked("add", project, path))
        assert [(use.path.name, use.line) for use in uses] == [("app.py", 1), ("app.py", 3), ("lib.py", 1)]
        symbols = await find_symbols(code.servers, Asked("ad", project, project / "lib.py"))
        assert [one.name for one in symbols] == ["add"]
        assert "one: int" in await hover(code.servers, Asked("add", project, path))
        processes = [server.session.process.process for server in code.servers._servers.values() if server.session]
        assert len(processes) == 2
    finally:
        await code.servers.close()
    assert all(process.returncode is not None for process in processes)


async def test_a_server_that_was_just_started_finds_every_use(tmp_path: Path) -> None:
    """Without any mark of a Python project, and asked first about the file that uses nothing."""
    project = Path(os.path.realpath(tmp_path)) / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    (project / "src/diffs.py").write_text("def make_diff(a, b):\n    return a, b\n")
    for number in range(3):
        (project / f"src/app{number}.py").write_text("from diffs import make_diff\n\nprint(make_diff(1, 2))\n")
    trust.trust(project, None)
    environ = {**os.environ, "PATH": f"{VENV}{os.pathsep}{os.environ['PATH']}"}
    ruff = LanguageServerSettings(enabled=False)
    settings = Settings(language_servers={"pyright": LanguageServerSettings(sandbox=False), "ruff": ruff})
    for path in (project / "src/diffs.py", None):
        servers = LanguageServers(settings, environ, None)
        try:
            assert len(await find_references(servers, Asked("make_diff", project, path))) == 7
        finally:
            await servers.close()


async def test_edits_at_the_same_time_share_one_server(tmp_path: Path) -> None:
    async with code_of(tmp_path, "usual") as code:
        said = await asyncio.gather(*(code.write(f"{n}.fake", f"BAD {n}\n") for n in range(10)))
        assert all(f"│ {n}.fake:1:1 error: {n} (fake bad-line)" in text for n, text in enumerate(said))
        assert code.starts == 1


async def test_a_model_reads_what_its_edit_brought(tmp_path: Path, home: Home) -> None:
    """The whole way: a prompt, the agent's edit, the server, and the next request; nothing is left running."""
    project = made_project(tmp_path / "project")
    trust.trust(project, None)
    words = [sys.executable, "-I", "-S", str(PROGRAM), "usual", str(tmp_path)]
    server = f'[language_servers.fake]\ncommand = {words}\nfiles = ["*.fake"]\nsandbox = false\n'
    user_file(home, f"[code]\nwait_seconds = 20\n{server}")
    answers = [[Call("write", {"path": "a.fake", "content": f"{word}\n"})] for word in ("fine", "BAD x")]
    async with loopback("anthropic", [*answers, [Say("ok")]], models=[MODELS["anthropic"]]) as api:
        prompt = ("prompt", "--yes", "--provider", "anthropic", "--model", MODELS["anthropic"], "go")
        ran = await asyncio.to_thread(run_gsh, *prompt, cwd=project, env=variables("anthropic", api.url))
    assert ran.code == 0, ran.err
    told = [json.dumps(chat.body["messages"][-1], ensure_ascii=False) for chat in api.chats]
    assert "No new problems (fake)." in told[1]
    assert "1 new problem, quoted from fake:\\n│ a.fake:1:1 error: x (fake bad-line)" in told[2]
    assert processes_mentioning(str(tmp_path)) == []

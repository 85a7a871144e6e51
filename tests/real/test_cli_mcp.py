"""`gsh-tui mcp …` as a process: the configuration it writes, and servers that it really starts."""

import json
import sys
import tomllib
from pathlib import Path

from gshtui.commands import execution
from gshtui.commands.declaration import Caller, Invocation
from gshtui.commands.registry import Registry
from gshtui.mcp_client.commands import commands
from gshtui.mcp_client.mcp_calls import RemoveServer
from gshtui.settings import paths, trust
from gshtui.settings.loader import load
from tests.kit.command import ROOT
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.warm_program import run_gsh

SERVER = (sys.executable, "-m", "tests.kit.mcp_server", "tools")


def written() -> dict[str, object]:
    return tomllib.loads(paths.config_file().read_text("utf-8"))["mcp"]["servers"]


def test_a_server_is_added_tried_shown_and_removed(tmp_path: Path) -> None:
    added = run_gsh("mcp", "add", "kit", "--env", f"PYTHONPATH={ROOT}", "--outside", "--", *SERVER, cwd=tmp_path)
    assert (added.code, added.err) == (0, "")
    assert written() == {
        "kit": {"command": SERVER[0], "args": [*SERVER[1:]], "env": {"PYTHONPATH": str(ROOT)}, "sandbox": False}
    }
    tried = run_gsh("mcp", "doctor", "kit", "--json", cwd=tmp_path)
    assert tried.code == 0, tried.err
    assert tried.json[0]["ok"] is True
    shown = run_gsh("mcp", "show", "kit", cwd=tmp_path).out
    assert "kit__add" in shown and "Add two whole numbers." in shown
    removed = run_gsh("mcp", "rm", "kit", cwd=tmp_path)
    assert SERVER[2] in removed.out
    assert run_gsh("mcp", "ls", "--json", cwd=tmp_path).json == []


def test_a_secret_is_never_written(tmp_path: Path) -> None:
    key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    for words in (
        ("--env", f"TOKEN={key}", "--", "x"),
        ("--header", f"Authorization=Bearer {key}", "--", "https://a.example"),
        ("--", "x", key),
    ):
        refused = run_gsh("mcp", "add", "kit", *words, cwd=tmp_path)
        assert refused.code == 2
        assert key not in refused.err
    assert not paths.config_file().exists()


def test_a_server_that_does_not_start_is_told_with_what_it_said(tmp_path: Path) -> None:
    line = (sys.executable, "-c", "import sys; print('no such database', file=sys.stderr); sys.exit(5)")
    assert run_gsh("mcp", "add", "bad", "--outside", "--", *line, cwd=tmp_path).code == 0
    assert run_gsh("mcp", "add", "gone", "--outside", "--", "/no/such/program", cwd=tmp_path).code == 0
    tried = run_gsh("mcp", "doctor", cwd=tmp_path)
    assert tried.code == 1
    said = tried.out + tried.err
    assert "exit code 5" in said and "no such database" in said
    assert "/no/such/program: No such program" in said
    assert "Traceback" not in said


def test_import_shows_before_it_writes(tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"shared": {"command": "b"}}}), "utf-8")
    asked = run_gsh("mcp", "import", cwd=project)
    assert asked.code == 4 and "shared: b" in asked.err and "Add 1 server to" in asked.err
    assert not paths.config_file().exists()
    assert "Added 1 server:\n- shared" in run_gsh("mcp", "import", "claude", "--yes", cwd=project).out
    assert written() == {"shared": {"command": "b"}}


def test_a_server_that_is_used_from_where_it_stands_can_be_imported(tmp_path: Path, home: Home) -> None:
    (home.path / ".claude.json").write_text(json.dumps({"mcpServers": {"mine": {"command": "b"}}}), "utf-8")
    assert "mine" in run_gsh("mcp", "ls", cwd=tmp_path).out
    assert "Added 1 server:\n- mine" in run_gsh("mcp", "import", "--yes", cwd=tmp_path).out
    assert written() == {"mine": {"command": "b"}}
    assert "there is one of this name" in run_gsh("mcp", "import", cwd=tmp_path).out


def test_a_folders_server_runs_only_once_a_person_accepted_exactly_that(tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    (project / ".gsh").mkdir(exist_ok=True)
    file = project / ".gsh" / "config.toml"

    def bring(mark: str) -> None:
        lines = [
            "[mcp.servers.brought]",
            f"command = {sys.executable!r}",
            f"args = {['-m', *SERVER[2:]]!r}",
            f"env = {{PYTHONPATH = {str(ROOT)!r}, MARK = {mark!r}}}",
            "sandbox = false",
        ]
        file.write_text("\n".join(lines), "utf-8")
        assert run_gsh("config", "trust", "--yes", cwd=project).code == 0

    bring("one")
    refused = run_gsh("mcp", "doctor", "brought", cwd=project)
    assert refused.code == 1
    assert "mcp accept brought" in refused.out + refused.err
    assert run_gsh("mcp", "accept", "brought", cwd=project).code == 4
    assert run_gsh("mcp", "accept", "brought", "--yes", cwd=project).code == 0
    assert run_gsh("mcp", "doctor", "brought", cwd=project).code == 0
    bring("two")
    assert run_gsh("mcp", "doctor", "brought", cwd=project).code == 1


def test_a_line_of_a_window_takes_the_options_too(tmp_path: Path) -> None:
    line = "mcp add kit --env A=b --env=C=d --outside --cwd /srv -- server --env of-its-own"
    assert run_gsh("run", line, cwd=tmp_path).code == 0
    assert written() == {
        "kit": {
            "command": "server",
            "args": ["--env", "of-its-own"],
            "env": {"A": "b", "C": "d"},
            "cwd": "/srv",
            "sandbox": False,
        }
    }
    refused = run_gsh("run", "mcp add other --evn A=b server", cwd=tmp_path)
    assert (refused.code, "there is no option --evn" in refused.err) == (2, True)


async def test_a_person_is_asked_before_a_server_is_removed(tmp_path: Path) -> None:
    assert run_gsh("mcp", "add", "kit", "--", *SERVER, cwd=tmp_path).code == 0
    registry = Registry(commands(load(tmp_path)))
    invocation = Invocation(Caller(), tmp_path, tmp_path)
    question = await execution.question(registry, RemoveServer(name="kit"), invocation)
    assert question is not None
    assert (SERVER[2] in question.quoted, question.yes) == (True, "Remove")


def test_servers_of_other_programs_are_used_where_they_are(tmp_path: Path, home: Home) -> None:
    """One question for all of them; a project's file counts once it is trusted as it is; a key stays in its file."""
    key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    project = made_project(tmp_path / "project").resolve()
    env = {"PYTHONPATH": str(ROOT), "KIT_TOKEN": key}
    mine = {"kit": {"command": SERVER[0], "args": [*SERVER[1:]], "env": env}}
    (home.path / ".claude.json").write_text(json.dumps({"mcpServers": mine}), "utf-8")
    brought = project / ".mcp.json"
    brought.write_text(json.dumps({"mcpServers": {"theirs": {"command": "touch", "args": ["ran"]}}}), "utf-8")

    def listed() -> dict[str, str]:
        return {row["name"]: row["status"] for row in run_gsh("mcp", "ls", "--json", cwd=project).json}

    assert listed() == {"kit": "not accepted"}, "nobody trusts the project's file"
    untrusted = "The servers of .mcp.json are used once you trust this folder: `gsh-tui config trust`."
    assert untrusted in run_gsh("mcp", "ls", cwd=project).out
    ran = run_gsh("prompt", "--provider", "offline", "hi", cwd=project)
    assert (ran.code, ran.err) == (0, ""), "what waits asks nothing and costs nothing"
    trust.trust(project, None)
    assert listed() == {"kit": "not accepted", "theirs": "not accepted"}
    assert untrusted not in run_gsh("mcp", "ls", cwd=project).out
    asked = run_gsh("mcp", "accept", cwd=project)
    assert asked.code == 4 and "theirs, from" in asked.err and str(brought) in asked.err and "touch ran" in asked.err
    assert key not in asked.err and "${KIT_TOKEN}" in asked.err
    assert run_gsh("mcp", "accept", "--yes", cwd=project).code == 0
    assert set(listed()) == {"kit", "theirs"} and "not accepted" not in listed().values()
    assert not (project / "ran").exists(), "accepting starts nothing"
    other = made_project(tmp_path / "other").resolve()
    (row,) = run_gsh("mcp", "ls", "--json", cwd=other).json
    assert (row["name"], row["status"] != "not accepted") == ("kit", True), "yours is agreed to for all folders"
    tried = run_gsh("mcp", "doctor", "kit", "--json", cwd=other)
    assert tried.json[0]["ok"] is True, tried.out
    brought.write_text(json.dumps({"mcpServers": {"theirs": {"command": "touch", "args": ["evil"]}}}), "utf-8")
    assert set(listed()) == {"kit"}, "it has changed since it was trusted"
    assert run_gsh("mcp", "accept", cwd=project).out.strip() == untrusted
    trust.trust(project, None)
    assert listed()["theirs"] == "not accepted", "trusted, but another command"
    assert key not in run_gsh("mcp", "show", "kit", "--json", cwd=project).out
    assert not paths.config_file().exists()

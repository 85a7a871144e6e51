"""Claude Code and Codex as clients of `gsh-tui mcp serve`: they start it, see what it offers, and call it in a turn."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit.command import ROOT, environment, run_gsh
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Answer, Call, Say
from tests.kit.loopback.server import Asked
from tests.kit.real_programs import Program
from tests.programs.stage import strings

WITHIN = 100.0
NEEDLE = "the needle of the haystack"
_WAIT, _SEARCH, _MOST_WAITS = "WaitForMcpServers", "ToolSearch", 5
"""Claude Code's own tools: to wait for servers, and, in newer versions, to be offered what they have."""
_OURS = (("", "mcp__gsh__search"), ("mcp__gsh", "search"))
"""Our command as Claude Code and Codex name it, behind the name of their group of tools."""
ARGUMENTS = {"source": "sessions", "query": "needle"}


def _named(tools: Any) -> list[tuple[str, str]]:
    """(tool, namespace) of all that a request offers."""
    found: list[tuple[str, str]] = []
    for tool in tools if isinstance(tools, list) else ():
        name, inner = str(tool.get("name", "")), tool.get("tools")
        found += [(str(one.get("name", "")), name) for one in inner] if isinstance(inner, list) else [(name, "")]
    return found


class _Model:
    """Calls our `search` once it is offered, and then says that it is done."""

    def __init__(self) -> None:
        self.offered: set[str] = set()
        self.called = False
        self.waits = 0

    def choose(self, asked: Asked) -> Answer:
        body = asked.body if isinstance(asked.body, dict) else {}
        tools = _named(body.get("tools"))
        self.offered |= {f"{space}{name}" for name, space in tools}
        ours = next(((name, space) for name, space in tools if (space, name) in _OURS), None)
        names = {name for name, _ in tools}
        if ours is None and self.waits < _MOST_WAITS:  # it starts servers while the first turn begins
            for tool, given in ((_WAIT, {}), (_SEARCH, {"query": f"select:{_OURS[0][1]}"})):
                if tool in names:
                    self.waits += 1
                    return [Call(tool, given, id=f"call_{self.waits:08}")]
        if ours is None or self.called:
            return [Say("I am done.")]
        self.called = True
        return [Call(ours[0], dict(ARGUMENTS), id="call_00000099", namespace=ours[1])]


def _command(program: Program, home: Path, folder: Path) -> list[str]:
    """The program's command line for one turn, with our server configured as its own commands would do it."""
    server = [sys.executable, "-m", "gshtui", "mcp", "serve"]
    env = {
        name: value for name, value in environment(None).items() if name.startswith(("XDG_", "GSH_", "HOME", "PYTHON"))
    }
    env["PYTHONPATH"] = str(ROOT)
    if program.name == "claude":
        file = folder.parent / "mcp.json"
        entry = {"type": "stdio", "command": server[0], "args": server[1:], "env": env}
        file.write_text(json.dumps({"mcpServers": {"gsh": entry}}), "utf-8")
        return [
            str(program.path),
            "-p",
            "Search for the needle.",
            "--mcp-config",
            str(file),
            "--strict-mcp-config",
            "--allowedTools",
            "mcp__gsh__search",
        ]
    config = home / ".codex" / "config.toml"
    table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in env.items())
    config.write_text(
        f"{config.read_text('utf-8')}\n[mcp_servers.gsh]\ncommand = {json.dumps(server[0])}\n"
        f"args = {json.dumps(server[1:])}\nstartup_timeout_sec = 60\nrequired = true\n"
        f'default_tools_approval_mode = "approve"\n[mcp_servers.gsh.env]\n{table}\n',
        "utf-8",
    )
    return [str(program.path), "exec", "--skip-git-repo-check", "Search for the needle."]


@pytest.mark.programs("claude", "codex")
async def test_a_program_calls_our_server_in_a_turn(
    program: Program, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made_project(tmp_path / "project")
    (folder / "note.txt").write_text(NEEDLE, "utf-8")
    assert (await asyncio.to_thread(run_gsh, "prompt", "read note.txt", cwd=folder)).code == 0
    model = _Model()
    async with loopback(program.api, choose=model.choose, strict=False) as provider:
        for name, value in program.prepare(home.path, folder, provider.url).items():
            monkeypatch.setenv(name, value)
        process = await asyncio.create_subprocess_exec(
            *_command(program, home.path, folder),
            cwd=folder,
            env=os.environ | {"HOME": str(home.path)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(WITHIN):
                printed, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        said = printed.decode("utf-8", "replace")
        assert model.called, f"{sorted(model.offered)}\n{said}"
        heard = [text for asked in provider.requests for text in strings(asked.body)]
        # Codex shows its model the data of a result, and Claude Code its text.
        assert any("note.txt" in text and ("Session" in text or '"session"' in text) for text in heard), said
        assert process.returncode == 0, said

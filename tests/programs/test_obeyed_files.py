"""Real programs on what a sandboxed command has left in their folder: they run none of it."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.kit.home import Home
from tests.kit.real_programs import Program
from tests.kit.warm_program import run_gsh


@pytest.mark.programs("opencode")
@pytest.mark.parametrize("name", ["opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc"])
async def test_a_server_that_was_left_in_its_configuration_is_not_started(
    program: Program, home: Home, tmp_path: Path, name: str
) -> None:
    folder, ran = tmp_path / "project", tmp_path / "ran"
    (folder / "sub").mkdir(parents=True)
    variables = program.prepare(home.path, folder, "http://127.0.0.1:9")
    server = {"type": "local", "command": ["sh", "-c", f"touch {ran}"], "enabled": True}
    text = json.dumps({"mcp": {"x": server}})

    async def list_servers() -> None:
        environ = {**os.environ, **variables, "HOME": str(home.path)}
        listed = await asyncio.create_subprocess_exec(
            str(program.path),
            "mcp",
            "list",
            cwd=folder / "sub",
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        await listed.communicate()

    line = f"mkdir -p \"$(dirname {name})\" && printf '%s' '{text}' >{name}"
    left = await asyncio.to_thread(run_gsh, "sandbox", "--", "sh", "-c", line, cwd=folder)
    assert left.code == 0 and "is not left in the project" in left.err
    await list_servers()
    assert not ran.exists()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    await list_servers()
    assert ran.exists(), "it would have been started"

"""The registry of ACP agents: searched, and an agent of it installed at exactly its version, once a person agrees."""

import asyncio
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from gshtui import __version__
from gshtui.fleet.core.agent_programs import find_program
from gshtui.fleet.core.fleet_context import FleetError
from gshtui.programs.acp import agent_registry
from gshtui.programs.acp.acp_commands import command_for, kept_agents, program_name
from gshtui.programs.acp.agent_registry import AgentPlan, RegistryError, install, plan, search, this_machine
from gshtui.settings import paths
from tests.kit.warm_program import run_gsh

PROGRAM = b"#!/bin/sh\necho it speaks\n"
OURS = Path(__file__).parents[2] / ".github" / "packaging" / "agent.json.in"


def tarred(name: str, data: bytes = PROGRAM, **about: Any) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        for key, value in about.items():
            setattr(member, key, value)
        archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def zipped(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, PROGRAM)
    return out.getvalue()


def entry(**distribution: Any) -> dict[str, Any]:
    return {"name": "Kit\x1b[31m", "version": "1.2.3", "description": "A\nkit", "distribution": distribution}


def binary(archive: str, cmd: str = "./bin/kit", **more: Any) -> dict[str, Any]:
    return entry(binary={this_machine(): {"archive": archive, "cmd": cmd, **more}, "windows-x86_64": {}})


GOOD: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "npm": (entry(npx={"package": "@a/kit", "args": ["--acp"]}), ("npx", "-y", "@a/kit@1.2.3", "--acp")),
    "npm-own": (entry(npx={"package": "@a/kit@2.0.0"}), ("npx", "-y", "@a/kit@2.0.0")),
    "npm-cmd": (entry(npx={"package": "kit", "cmd": "kit-acp"}), ("npx", "-y", "--package", "kit@1.2.3", "kit-acp")),
    "py": (entry(uvx={"package": "kit==0.4.0", "args": ["serve"]}), ("uvx", "kit@0.4.0", "serve")),
    "py-cmd": (entry(uvx={"package": "kit[acp]", "cmd": "kit"}), ("uvx", "--from", "kit[acp]@1.2.3", "kit")),
    "env": (entry(npx={"package": "kit", "env": {"KIT_MODE": "a b"}}), ("npx", "-y", "kit@1.2.3")),
    "program": (binary("https://a.example/kit.tar.gz", args=["acp"]), ("bin/kit", "acp")),
}
BAD: dict[str, dict[str, Any]] = {
    "none": entry(),
    "range": entry(npx={"package": "kit@^1.0.0"}),
    "latest": entry(npx={"package": "kit@latest"}),
    "option": entry(npx={"package": "--registry=https://evil"}),
    "address": entry(uvx={"package": "git+https://evil/x"}),
    "line": entry(npx={"package": "kit", "args": ["a\nb"]}),
    "words": entry(npx={"package": "kit", "args": "rm"}),
    "variable": entry(npx={"package": "kit", "env": {"A B": "x"}}),
    "command": entry(uvx={"package": "kit", "cmd": "sh -c"}),
    "plain": binary("http://a.example/kit.tar.gz"),
    "outside": binary("https://a.example/kit.tar.gz", "../../bin/sh"),
    "root": binary("https://a.example/kit.tar.gz", "/bin/sh"),
    "sums": binary("https://a.example/kit.tar.gz", sha256="abc"),
    "elsewhere": entry(binary={"windows-x86_64": {"archive": "https://a.example/kit.zip", "cmd": "kit"}}),
    "odd": entry(npx=7, uvx=[], binary={this_machine(): "x"}),
    "unversioned": entry(npx={"package": "kit"}) | {"version": "newest"},
}


class Registry(BaseHTTPRequestHandler):
    """The registry's one file, and archives."""

    files: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        agents = {name: about for name, (about, _) in GOOD.items()} | BAD
        listed: list[Any] = [{"id": name, **about} for name, about in agents.items()]
        whole = json.dumps({"version": "1.0.0", "agents": [*listed, {"id": "../x"}, 7, {"id": "UPPER"}]})
        body = whole.encode() if self.path == "/registry.json" else self.files.get(self.path)
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def registry() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/registry.json"
    server.shutdown()
    server.server_close()


def test_a_search_finds_by_words_and_shows_nothing_that_could_harm(registry: str) -> None:
    found = asyncio.run(search(registry, ""))
    assert {one.name for one in found} == {*GOOD, *BAD}
    assert all("\x1b" not in one.title and "\n" not in one.about for one in found)
    assert [one.name for one in asyncio.run(search(registry, "KIT npm-own"))] == ["npm-own"]


@pytest.mark.parametrize("name", GOOD)
def test_what_would_be_run_is_exactly_a_version(registry: str, name: str) -> None:
    planned = asyncio.run(plan(registry, name))
    assert planned.argv == GOOD[name][1]
    assert all(line.isprintable() for line in planned.lines)
    assert any("no checksum" in line for line in planned.lines) == bool(planned.archive)


@pytest.mark.parametrize("name", BAD)
def test_nothing_is_made_of_what_is_not_exact(registry: str, name: str) -> None:
    with pytest.raises(RegistryError) as caught:
        asyncio.run(plan(registry, name))
    assert "\n" not in str(caught.value) and caught.value.hint


def archive(base: str, name: str, data: bytes, **more: Any) -> AgentPlan:
    Registry.files[f"/{name}"] = data
    return AgentPlan("kit", "Kit", "1.2.3", ("bin/kit", "acp"), archive=base.replace("registry.json", name), **more)


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "a.tar.gz": lambda: tarred("bin/kit"),
    "a.zip": lambda: zipped("bin/kit"),
    "kit": lambda: PROGRAM,
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_program_is_unpacked_beside_the_record_and_removed(registry: str, name: str) -> None:
    data = ARCHIVES[name]()
    sums = hashlib.sha256(data).hexdigest()
    kept = asyncio.run(install(archive(registry, name, data, sha256=sums, env=(("A", "b c"),))))
    program = paths.data_dir() / "acp-agents" / "kit" / "1.2.3" / "bin" / "kit"
    assert kept.argv == ("env", "A=b c", str(program), "acp")
    assert program.read_bytes() == PROGRAM and program.stat().st_mode & 0o100
    assert (command_for(["kit"]), program_name(kept.argv)) == (kept.argv, "kit")
    agent_registry.remove("kit")
    assert (kept_agents(), program.exists(), command_for(["kit"])) == ({}, False, ("kit",))


SPOILT: dict[str, Callable[[], bytes]] = {
    "up.tar.gz": lambda: tarred("../../../evil"),
    "link.tar.gz": lambda: tarred("bin/kit", b"", type=tarfile.SYMTYPE, linkname="/bin/sh"),
    "device.tar.gz": lambda: tarred("bin/kit", b"", type=tarfile.CHRTYPE),
    "none.tar.gz": lambda: tarred("other"),
    "text.tar.gz": lambda: b"no archive",
    "cut.zip": lambda: zipped("bin/kit")[:40],
}


@pytest.mark.parametrize("name", SPOILT)
def test_an_archive_that_is_wrong_leaves_nothing(registry: str, name: str) -> None:
    data = SPOILT[name]()
    with pytest.raises(RegistryError) as caught:
        asyncio.run(install(archive(registry, name, data)))
    assert "Nothing was installed." in str(caught.value)
    assert kept_agents() == {} and not (paths.data_dir() / "acp-agents" / "kit").exists()
    assert not list(paths.data_dir().parent.glob("**/evil"))


def test_another_checksum_is_refused(registry: str) -> None:
    with pytest.raises(RegistryError, match="checksum differs"):
        asyncio.run(install(archive(registry, "b.tar.gz", tarred("bin/kit"), sha256="0" * 64)))
    assert kept_agents() == {}


def test_it_is_asked_about_then_started_by_its_name(registry: str) -> None:
    told = {"GSH_PROGRAMS__ACP_REGISTRY": registry}
    listed = run_gsh("agent", "search", "npm", env=told)
    assert listed.code == 0 and "npm-own" in listed.out, listed.err
    refused = run_gsh("agent", "install", "npm-own", env=told)
    assert refused.code == 4 and "npx -y @a/kit@2.0.0" in refused.err and kept_agents() == {}
    done = run_gsh("agent", "install", "npm-own", "--yes", env=told)
    assert done.code == 0 and "agent spawn --acp npm-own" in done.out, done.err
    assert command_for(["npm-own"]) == ("npx", "-y", "@a/kit@2.0.0")
    with pytest.raises(FleetError, match=r"is not on the PATH.*--acp npm-own.*acp=npm-own"):
        find_program("npm-own", Path("/"))
    assert run_gsh("agent", "install", "npm-own", "--remove", env=told).code == 0
    assert kept_agents() == {}
    away = run_gsh("agent", "search", "x", env={"GSH_PROGRAMS__ACP_REGISTRY": "http://127.0.0.1:9/r"})
    assert away.code == 3 and away.err.count("\n") == 1


def test_our_own_entry_has_what_the_registry_asks_for() -> None:
    ours = json.loads(OURS.read_text().replace("@VERSION@", __version__))
    assert {"id", "name", "version", "description", "authors", "license", "license_url", "distribution"} <= ours.keys()
    assert ours["distribution"]["uvx"] == {"package": f"gsh-tui=={__version__}", "cmd": "gsh-tui", "args": ["acp"]}

"""The MCP registry: searched, and a server of it added by name with exactly its version, once a person agrees."""

import asyncio
import json
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import pytest

from gshtui.mcp_client.mcp_calls import AddServer
from gshtui.mcp_client.server_definition import McpError
from gshtui.mcp_client.server_registry import _LARGEST, UnreachableError, is_registry_name, search, server_of
from gshtui.settings import paths
from tests.kit.warm_program import run_gsh


def package(kind: str = "npm", name: str = "@a/kit", version: str = "1.2.3", **more: Any) -> dict[str, Any]:
    found = {"registryType": kind, "identifier": name, "version": version, "transport": {"type": "stdio"}, **more}
    return {"packages": [found]}


GOOD: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "io.a/npm": (package(), ["npx", "-y", "@a/kit@1.2.3"], []),
    "io.a/py": (package("pypi", "mcp-kit", "0.4.0"), ["uvx", "mcp-kit@0.4.0"], []),
    "io.a/words": (
        package(
            packageArguments=[
                {"type": "positional", "value": "serve"},
                {"type": "named", "name": "--port", "default": "1"},
                {"type": "named", "name": "--more", "valueHint": "x"},
            ],
            environmentVariables=[
                {"name": "KIT_TOKEN", "isRequired": True, "isSecret": True},
                {"name": "KIT_MODE", "default": "fast"},
                {"name": "KIT_OTHER"},
            ],
        ),
        ["npx", "-y", "@a/kit@1.2.3", "serve", "--port", "1"],
        ["KIT_TOKEN=${KIT_TOKEN}", "KIT_MODE=fast"],
    ),
    "io.a/far": (
        {
            "remotes": [
                {"type": "sse", "url": "https://a/s"},
                {"type": "streamable-http", "url": "https://a.example/mcp"},
            ]
        },
        ["https://a.example/mcp"],
        [],
    ),
}
BAD: dict[str, dict[str, Any]] = {
    "io.a/none": {},
    "io.a/latest": package(version="latest"),
    "io.a/range": package(version="^1.0.0"),
    "io.a/option": package(name="--registry=https://evil"),
    "io.a/line": package(name="a\nb"),
    "io.a/elsewhere": package(registryBaseUrl="https://evil.example"),
    "io.a/oci": package("oci", "docker.io/a/b", "1.0.0"),
    "io.a/asks": package(packageArguments=[{"type": "positional", "valueHint": "folder", "isRequired": True}]),
    "io.a/http": package(transport={"type": "streamable-http", "url": "http://localhost:1"}),
    "io.a/plain": {"remotes": [{"type": "streamable-http", "url": "http://a.example/mcp"}]},
    "io.a/odd": {"packages": "x", "remotes": [3]},
    "io.a/badname": package(environmentVariables=[{"name": "A B", "isRequired": True}]),
}


class Registry(BaseHTTPRequestHandler):
    """The registry's own two addresses."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if (status := self.path.split("/")[1]).isdigit():
            self.send_response(int(status))
            self.end_headers()
            with suppress(OSError):  # it is hung up on
                self.wfile.write(b" " * (_LARGEST + 1 if status == "200" else 1))
            return
        parts = urlsplit(self.path).path.split("/")
        servers = {name: about for name, (about, _, _) in GOOD.items()} | BAD
        body: object = None
        if parts[1:] == ["v0.1", "servers"]:
            body = {
                "servers": [
                    {"server": {"name": name, "version": "1\x1b[31m", "description": "A\nkit", **about}}
                    for name, about in servers.items()
                ]
                + [{"server": {"name": "no name"}}, 7]
            }
        elif parts[1:3] == ["v0.1", "servers"] and parts[4:] == ["versions", "latest"]:
            about = servers.get(unquote(parts[3]))
            body = None if about is None else {"server": {"name": unquote(parts[3]), **about}}
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def registry() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_search_finds_names(registry: str) -> None:
    found = asyncio.run(search(registry, "kit & more"))
    assert {one.name for one in found} == {*GOOD, *BAD}
    assert "search=kit%20%26%20more" in Registry.asked[-1]
    assert all("\x1b" not in one.version and "\n" not in one.about for one in found)
    assert next(one.ways for one in found if one.name == "io.a/py") == "pypi"


@pytest.mark.parametrize("name", GOOD)
def test_a_server_is_added_in_exactly_its_version(name: str, registry: str) -> None:
    _, argv, env = GOOD[name]
    found = asyncio.run(server_of(registry, name))
    assert isinstance(found, AddServer) and (found.argv, found.env) == (argv, env)
    assert found.name == name.partition("/")[2]


@pytest.mark.parametrize("name", [*BAD, "io.a/nobody"])
def test_what_is_not_exact_is_not_made_into_anything(name: str, registry: str) -> None:
    with pytest.raises(McpError):
        asyncio.run(server_of(registry, name))


def test_names() -> None:
    assert is_registry_name("io.github.a/b-c") and not is_registry_name("git") and not is_registry_name("a/../b/c")


def test_a_registry_that_is_not_there_is_said() -> None:
    with pytest.raises(UnreachableError, match="cannot be reached"):
        asyncio.run(search("http://127.0.0.1:9", "x"))


@pytest.mark.parametrize(
    ("status", "unreachable"), [(400, False), (403, False), (404, False), (500, True), (503, True), (200, False)]
)
def test_one_that_answers_is_there(status: int, unreachable: bool, registry: str) -> None:
    """One that answers with more than is read is there as well."""
    with pytest.raises(McpError) as told:
        asyncio.run(search(f"{registry}/{status}", "x"))
    assert isinstance(told.value, UnreachableError) == unreachable, told.value.message


def test_it_is_shown_and_asked_about_first(registry: str, tmp_path: Path) -> None:
    assert run_gsh("config", "set", "mcp.registry", registry, cwd=tmp_path).code == 0
    assert "io.a/words" in run_gsh("mcp", "search", "kit", cwd=tmp_path).out
    asked = run_gsh("mcp", "add", "io.a/words", cwd=tmp_path)
    assert asked.code == 4 and "npx -y @a/kit@1.2.3 serve --port 1" in asked.err and "${KIT_TOKEN}" in asked.err
    assert "servers" not in tomllib.loads(paths.config_file().read_text("utf-8"))["mcp"]
    assert run_gsh("mcp", "add", "io.a/words", "--yes", cwd=tmp_path).code == 0
    servers = tomllib.loads(paths.config_file().read_text("utf-8"))["mcp"]["servers"]
    assert servers["words"]["args"] == ["-y", "@a/kit@1.2.3", "serve", "--port", "1"]
    refused = run_gsh("mcp", "add", "io.a/latest", "--yes", cwd=tmp_path)
    assert refused.code == 1 and "exact name and version" in refused.err

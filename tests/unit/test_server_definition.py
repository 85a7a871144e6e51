"""A server's settings: what they may say, whose they are, and the variables in them."""

from pathlib import Path

import pytest

from gshtui.mcp_client.configured_servers import configured_servers
from gshtui.mcp_client.server_definition import McpError, ServerDefinition
from gshtui.settings import paths, trust
from gshtui.settings.loader import load
from gshtui.settings.started_programs import McpServer


def written(text: str) -> None:
    (paths.config_dir(create=True) / "config.toml").write_text(text, encoding="utf-8")


def test_a_mistake_in_one_server_costs_no_other(tmp_path: Path) -> None:
    written(
        '[mcp.servers.good]\ncommand = "a"\n[mcp.servers.bad__name]\ncommand = "b"\n'
        '[mcp.servers.odd]\ncommand = "c"\nargz = []\ntimeout = "soon"\n'
        '[mcp.servers.leaky]\ncommand = "d"\nenv = {KEY = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}\n'
    )
    loaded = load(tmp_path, environ={})
    assert set(loaded.settings.mcp.servers) == {"good", "odd", "leaky"}
    told = "\n".join(str(problem) for problem in loaded.problems)
    assert "bad__name" in told and "args" in told and "mcp.servers.odd.timeout" in told
    assert "${NAME}" in told and "ghp_" not in told
    assert loaded.settings.mcp.servers["leaky"].env == {}


def test_a_project_brings_servers_but_changes_none_of_yours(tmp_path: Path) -> None:
    (tmp_path / ".gsh").mkdir()
    file = tmp_path / ".gsh" / "config.toml"
    file.write_text('[mcp.servers.mine]\nargs = ["--evil"]\n[mcp.servers.theirs]\ncommand = "x"\n', encoding="utf-8")
    written('[mcp.servers.mine]\ncommand = "a"\n')
    assert set(load(tmp_path, environ={}).settings.mcp.servers) == {"mine"}
    trust.trust(tmp_path, file.read_bytes())
    loaded = load(tmp_path, environ={})
    servers = {one.name: one for one in configured_servers(loaded)}
    assert (servers["mine"].settings.args, servers["mine"].brought) == ([], False)
    assert servers["theirs"].brought
    assert any("the server" in problem.text and "is yours" in problem.text for problem in loaded.problems)


@pytest.mark.parametrize(
    ("text", "value"),
    [("${A}", "1"), ("x${A}y${env:B}", "x1y2"), ("${NONE:-d}", "d"), ("$A ${", "$A ${"), ("${NONE:-}", "")],
)
def test_variables_are_put_in(tmp_path: Path, text: str, value: str) -> None:
    definition = ServerDefinition("one", McpServer(command="x", args=[text]), tmp_path)
    assert definition.resolved({"A": "1", "B": "2"}).argv == ("x", value)


def test_a_variable_that_is_not_set_is_told_by_its_name(tmp_path: Path) -> None:
    definition = ServerDefinition("one", McpServer(url="https://a.example", headers={"X": "${NONE}"}), tmp_path)
    with pytest.raises(McpError, match="NONE"):
        definition.resolved({})


def test_what_is_agreed_to_is_everything_that_decides_what_runs(tmp_path: Path) -> None:
    def digest(**settings: object) -> str:
        return ServerDefinition("one", McpServer.model_validate({"command": "x", **settings}), tmp_path).digest

    changes = [
        {"args": ["a"]},
        {"env": {"A": "b"}},
        {"cwd": "/x"},
        {"sandbox": False},
        {"hosts": ["a.example"]},
        {"writable": ["."]},
        {"command": "y"},
    ]
    assert len({digest(), *(digest(**one) for one in changes)}) == len(changes) + 1
    assert digest() == digest(timeout=5, enabled=False)


@pytest.mark.parametrize(
    ("command", "hosts"),
    [
        ("/usr/bin/uvx", ["a.example", "pypi.org", "files.pythonhosted.org"]),
        ("npx", ["a.example", "registry.npmjs.org"]),
        ("python3", ["a.example"]),
    ],
)
def test_a_launcher_reaches_the_registry_that_it_fetches_from(tmp_path: Path, command: str, hosts: list[str]) -> None:
    one = ServerDefinition("one", McpServer(command=command, hosts=["a.example"]), tmp_path)
    assert one.hosts == hosts
    assert one.start_seconds(20.0) == (120.0 if len(hosts) > 1 else 20.0)

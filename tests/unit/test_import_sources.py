"""Servers of other programs' configurations: found, made ours, and none of their secrets copied."""

import json
from pathlib import Path
from typing import Any

import pytest

from gshtui.mcp_client.import_sources import found_servers, without_comments
from gshtui.mcp_client.mcp_calls import PROGRAMS
from gshtui.settings.server_files import AT_HOME, IN_PROJECT, has_server_files
from tests.kit.home import Home

KEY = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home / ".codex", home / ".gemini", project / ".vscode", project / ".cursor"):
        folder.mkdir(parents=True)
    return home, project


def test_each_programs_servers_are_found(places: tuple[Path, Path]) -> None:
    home, project = places
    (home / ".claude.json").write_text(
        json.dumps(
            {
                "mcpServers": {"everywhere": {"command": "a"}},
                "projects": {str(project): {"mcpServers": {"here": {"type": "http", "url": "https://a.example/mcp"}}}},
            }
        )
    )
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"shared": {"command": "b", "args": ["-x"]}}}))
    (home / ".codex/config.toml").write_text(
        '[mcp_servers.docs]\nurl = "https://d.example"\nbearer_token_env_var = "DOCS"\n'
    )
    (home / ".gemini/settings.json").write_text(json.dumps({"mcpServers": {"g": {"httpUrl": "https://g.example"}}}))
    (project / ".vscode/mcp.json").write_text('{"servers": {"v": {"command": "c", "args": ["${workspaceFolder}"],}}}')
    (project / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"cursor one": {"command": "d"}}}))
    found, skipped = found_servers("all", home, project)
    assert skipped == []
    assert {one.name: one.values for one in found} == {
        "everywhere": {"command": "a"},
        "here": {"url": "https://a.example/mcp"},
        "shared": {"command": "b", "args": ["-x"]},
        "docs": {"url": "https://d.example", "headers": {"Authorization": "Bearer ${DOCS}"}},
        "g": {"url": "https://g.example"},
        "v": {"command": "c", "args": ["."]},
        "cursor-one": {"command": "d"},
    }
    assert [one.name for one in found_servers("codex", home, project)[0]] == ["docs"]


OPENCODE = """{// a comment
  "mcp": {"local": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"TOKEN": "{env:MINE}"}},
          "remote": {"type": "remote", "url": "https://o.example",
                     "headers": {"X": "a {env:MINE}"}, "enabled": false}}}"""
ALIKE = {"mcpServers": {"one": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}}}}
ONE = {"one": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}}}
FILES: dict[str, tuple[str, bool, object, dict[str, Any]]] = {
    f"{program}: {path} {number}": (path, at_home, content, ONE if wanted is None else wanted)
    for number, (program, path, at_home, content, wanted) in enumerate(
        [
            *(
                (
                    "opencode",
                    path,
                    at_home,
                    OPENCODE,
                    {
                        "local": {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${MINE}"}},
                        "remote": {"url": "https://o.example", "headers": {"X": "a ${MINE}"}, "enabled": False},
                    },
                )
                for at_home, path in [
                    (True, ".config/opencode/opencode.json"),
                    (True, ".config/opencode/opencode.jsonc"),
                    (False, "opencode.json"),
                    (False, "opencode.jsonc"),
                    (False, ".opencode/opencode.json"),
                ]
            ),
            *(("qwen", ".qwen/settings.json", at_home, ALIKE, None) for at_home in (True, False)),
            ("copilot", ".copilot/mcp-config.json", True, ALIKE, None),
            ("windsurf", ".codeium/windsurf/mcp_config.json", True, ALIKE, None),
            *(
                ("crush", path, at_home, {"mcp": {"one": {"type": "stdio", **ALIKE["mcpServers"]["one"]}}}, None)
                for at_home, path in [(True, ".config/crush/crush.json"), (False, "crush.json"), (False, ".crush.json")]
            ),
            *(
                (
                    "zed",
                    path,
                    at_home,
                    {"context_servers": {"one": {"source": "custom", "command": command}}},
                    {"one": {"command": "npx", **more}},
                )
                for at_home, path in [(True, ".config/zed/settings.json"), (False, ".zed/settings.json")]
                for command, more in [
                    ({"path": "npx", "args": ["-y", "x"], "env": {"A": "1"}}, {"args": ["-y", "x"], "env": {"A": "1"}}),
                    ("npx", {}),
                ]
            ),
        ]
    )
}


@pytest.mark.parametrize("case", FILES)
def test_each_file_of_each_program_is_read_where_it_stands(places: tuple[Path, Path], case: str) -> None:
    home, project = places
    path, at_home, content, wanted = FILES[case]
    file = (home if at_home else project) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    assert has_server_files(home, project)
    found, skipped = found_servers(case.partition(":")[0], home, project)
    assert ({one.name: one.values for one in found}, skipped) == (wanted, [])
    assert [one.source for one in found_servers("all", home, project)[0]] == [str(file)] * len(wanted)


@pytest.mark.parametrize(
    ("variable", "path"),
    [
        ("XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("CODEX_HOME", "config.toml"),
        ("CLAUDE_CONFIG_DIR", ".claude.json"),
    ],
)
def test_a_home_that_a_variable_names_is_where_the_file_is(
    home: Home, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, path: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "moved"))
    file = tmp_path / "moved" / path
    file.parent.mkdir(parents=True)
    server = {"command": ["a"]} if "opencode" in path else {"command": "a"}
    key = "mcp" if "opencode" in path else "mcpServers"
    file.write_text(
        '[mcp_servers.one]\ncommand = "a"\n' if path.endswith("toml") else json.dumps({key: {"one": server}})
    )
    assert [(one.name, one.source) for one in found_servers("all", home.path, project)[0]] == [("one", str(file))]


def test_the_names_that_can_be_asked_for_are_those_whose_files_are_known() -> None:
    known = {one.program for one in (*IN_PROJECT, *AT_HOME)}
    assert set(PROGRAMS) == known


def test_no_secret_is_copied(places: tuple[Path, Path]) -> None:
    home, project = places
    servers = {
        "header": {"url": "https://a.example", "headers": {"Authorization": f"Bearer {KEY}"}},
        "variable": {"command": "a", "env": {"GITHUB_TOKEN": KEY, "LEVEL": "2", "ASKED": "${input:my-key}"}},
        "argument": {"command": "a", "args": ["--key", KEY]},
    }
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    found, skipped = found_servers("claude", home, project)
    values = {one.name: one.values for one in found}
    assert KEY not in json.dumps([values, skipped])
    assert values["header"]["headers"] == {"Authorization": "Bearer ${HEADER_AUTHORIZATION}"}
    assert values["variable"]["env"] == {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LEVEL": "2", "ASKED": "${MY_KEY}"}
    assert ["argument" in line and "key" in line for line in skipped] == [True]
    assert any("GITHUB_TOKEN" in note for one in found for note in one.notes)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"type": "sse", "url": "https://a.example"}, "SSE"),
        ({}, "neither a command nor an address"),
        ({"url": "ftp://a.example"}, "left out"),
        ({"command": ["", "x"], "cwd": 3}, "left out"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_said(places: tuple[Path, Path], entry: object, why: str) -> None:
    home, project = places
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"bad": entry, "good": {"command": "a"}}}))
    found, skipped = found_servers("claude", home, project)
    if why in "".join(skipped):
        assert [one.name for one in found] == ["good"]
    else:
        assert "bad" in {one.name for one in found}


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b'{"mcpServers": 3}', b"[" * 100_000])
def test_a_damaged_file_gives_nothing(places: tuple[Path, Path], content: bytes) -> None:
    home, project = places
    (project / ".mcp.json").write_bytes(content)
    assert found_servers("claude", home, project) == ([], [])


def test_comments_are_left_out_but_not_those_in_texts() -> None:
    text = '{"a": "// no /* comment", /* one */ "b": [1, 2,], // two\n "c": "\\"//",\n}'
    assert json.loads(without_comments(text)) == {"a": "// no /* comment", "b": [1, 2], "c": '"//'}

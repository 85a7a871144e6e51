"""Servers of other programs' configurations: found, made ours, and none of their secrets copied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gshtui.mcp_client.import_sources import found_servers, without_comments

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

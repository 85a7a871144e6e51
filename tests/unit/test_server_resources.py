"""Which resources of servers a person's words name."""

import pytest

from gshtui.mcp_client.server_resources import mentioned_resources


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("see @git:log://head.", [("git", "log://head")]),
        ("see @mcp:git:log://head, (@git:log://head)", [("mcp", "git:log://head"), ("git", "log://head")]),
        ("@mcp:plain", [("mcp", "plain")]),
        ("a@git:x @git @ git:x", []),
    ],
)
def test_names(text: str, named: list[tuple[str, str]]) -> None:
    assert mentioned_resources(text) == named

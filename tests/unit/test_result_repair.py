"""A result of a server is valid after its repair, and nothing good in it is lost."""

from __future__ import annotations

import json
from typing import Any

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.mcp_client.message_filter import repair_result

TOOL: dict[str, Any] = {"name": "good", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
TEXT = {"type": "text", "text": "good"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
TOOL_FIELDS = (
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "icons",
    "execution",
    "_meta",
)
ODD_TOOL = st.fixed_dictionaries({}, optional=dict.fromkeys(TOOL_FIELDS, JSON)) | JSON
BLOCK_FIELDS = ("type", "text", "data", "mimeType", "resource", "uri", "name", "annotations", "_meta")
ODD_BLOCK = st.fixed_dictionaries({}, optional=dict.fromkeys(BLOCK_FIELDS, JSON)) | JSON
LISTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "tools": (mcp_types.ListToolsResult, TOOL),
    "prompts": (mcp_types.ListPromptsResult, {"name": "good"}),
    "resources": (mcp_types.ListResourcesResult, {"name": "good", "uri": "a:b"}),
    "resourceTemplates": (mcp_types.ListResourceTemplatesResult, {"name": "good", "uriTemplate": "a:{b}"}),
    "contents": (mcp_types.ReadResourceResult, {"uri": "a:b", "text": "good"}),
}


@pytest.mark.parametrize("field", LISTS)
@given(before=st.lists(ODD_TOOL | ODD_BLOCK, max_size=3), after=st.lists(ODD_TOOL | ODD_BLOCK, max_size=3))
def test_the_good_items_of_a_list_stay(field: str, before: list[Any], after: list[Any]) -> None:
    kind, good = LISTS[field]
    left_out: list[str] = []
    result: dict[str, Any] = {field: [*before, good, *after]}
    repair_result(result, left_out.append)
    valid = kind.model_validate(result, by_name=False)
    assert any(good.items() <= item.items() for item in result[field])
    assert len(result[field]) + len(left_out) == len(before) + 1 + len(after)
    assert len(valid.model_dump(by_alias=True)[field]) == len(result[field])


@given(blocks=st.lists(ODD_BLOCK, max_size=4), structured=JSON, failed=JSON)
def test_a_call_keeps_its_texts(blocks: list[Any], structured: Any, failed: Any) -> None:
    result: dict[str, Any] = {"content": [*blocks, TEXT], "structuredContent": structured, "isError": failed}
    repair_result(result, lambda _: None)
    valid = mcp_types.CallToolResult.model_validate(result, by_name=False)
    assert any(getattr(block, "text", "") == "good" for block in valid.content)
    if structured is not None:
        assert json.dumps(structured, ensure_ascii=False) in json.dumps(result, ensure_ascii=False) or any(
            getattr(block, "text", "") == json.dumps(structured, ensure_ascii=False) for block in valid.content
        )


@given(about=JSON, offers=JSON, instructions=JSON)
def test_a_greeting_lacks_what_it_may(about: Any, offers: Any, instructions: Any) -> None:
    result = {
        "protocolVersion": "2025-06-18",
        "serverInfo": about,
        "capabilities": offers,
        "instructions": instructions,
    }
    repair_result(result, lambda _: None)
    mcp_types.InitializeResult.model_validate(result, by_name=False)

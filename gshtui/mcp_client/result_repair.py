"""Makes a server's result valid, item by item: one bad item costs itself, not the list that it stands in.

Servers take more liberties than the protocol allows, and the SDK refuses a whole result for one of them. Of a listed
tool, prompt or resource only the fields that are used here are kept. Output schemas are not among them: their regular
expressions are the server's own and would be run here without a limit.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any, cast

import mcp_types
from pydantic import TypeAdapter, ValidationError

from gshtui.system.json_types import is_array, is_object

Item = dict[str, Any]
_TEXTS = ("name", "title", "description", "uri", "uriTemplate", "mimeType")
_CALL_FIELDS = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})


def repair_result(result: Item, note: Callable[[str], None]) -> None:
    """Repair a result in place. What it answers is told by its fields. `note`: called with each item that was left out,
    as a phrase.
    """
    for field, named, repair in _LISTS:
        if isinstance(items := result.get(field), list):
            result[field] = _kept(cast("list[object]", items), named, repair, note)
            for name, default in (("resultType", "complete"), ("ttlMs", 0), ("cacheScope", "private")):
                result.setdefault(name, default)
    if isinstance(result.get("protocolVersion"), str):
        _repair_handshake(result)
    elif result.get("resultType") != "input_required" and (
        "content" in result or "structuredContent" in result or result.keys() <= _CALL_FIELDS
    ):
        _repair_answer(result, note)
    if isinstance(messages := result.get("messages"), list):
        listed = cast("list[object]", messages)
        result["messages"] = [_message(one, note) for one in listed if is_object(one)]


def _kept(
    items: list[object], named: str, repair: Callable[[Item], Item | None], note: Callable[[str], None]
) -> list[Item]:
    kept: list[Item] = []
    for item in items:
        repaired = repair(item) if is_object(item) else None
        if repaired is not None:
            kept.append(repaired)
            continue
        name = item.get("name") if is_object(item) else None
        note(f"the {named} {name}" if isinstance(name, str) and name else f"a {named} without a name")
    return kept


def _texts(item: Item) -> Item:
    return {name: item[name] for name in _TEXTS if isinstance(item.get(name), str)}


def _tool(item: Item) -> Item | None:
    made = _texts(item)
    if not made.get("name"):
        return None
    schema = item.get("inputSchema")
    made["inputSchema"] = {**(schema if is_object(schema) else {}), "type": "object"}
    for field in ("properties", "required"):  # each counts only in the form that the schema's meaning needs
        if not isinstance(made["inputSchema"].get(field, []), dict if field == "properties" else list):
            made["inputSchema"].pop(field, None)
    notes = item.get("annotations")
    reads = notes.get("readOnlyHint") if is_object(notes) else None
    if isinstance(reads, bool):
        made["annotations"] = {"readOnlyHint": reads}
    return made


def _prompt(item: Item) -> Item | None:
    made = _texts(item)
    if not made.get("name"):
        return None
    arguments = item.get("arguments")
    named = [
        {"name": one["name"], **({"required": one["required"]} if isinstance(one.get("required"), bool) else {})}
        for one in cast("list[Item]", arguments if isinstance(arguments, list) else [])
        if isinstance(one, dict) and isinstance(one.get("name"), str)
    ]
    return {**made, "arguments": named}


def _resource(item: Item) -> Item | None:
    made = _texts(item)
    return {**made, "name": made.get("name") or made["uri"]} if made.get("uri") else None


def _template(item: Item) -> Item | None:
    made = _texts(item)
    return {**made, "name": made.get("name") or made["uriTemplate"]} if made.get("uriTemplate") else None


def _contents(item: Item) -> Item | None:
    kept = {name: item[name] for name in (*_TEXTS, "text", "blob") if isinstance(item.get(name), str)}
    return kept if kept.get("uri") and ("text" in kept or "blob" in kept) else None


_LISTS: tuple[tuple[str, str, Callable[[Item], Item | None]], ...] = (
    ("tools", "tool", _tool),
    ("prompts", "prompt", _prompt),
    ("resources", "resource", _resource),
    ("resourceTemplates", "template", _template),
    ("contents", "part of a resource", _contents),
)


def _repair_handshake(result: Item) -> None:
    about = result.get("serverInfo")
    result["serverInfo"] = {
        "name": "unnamed",
        "version": "",
        **_texts(about if is_object(about) else {}),
    }
    if is_object(about) and isinstance(version := about.get("version"), str | int | float):
        result["serverInfo"]["version"] = str(version)
    offers = result.get("capabilities")
    named = offers if is_object(offers) else {}
    result["capabilities"] = {
        name: one if isinstance(one, dict) else {} for name, one in named.items() if one not in (None, False)
    }
    if not isinstance(result.get("instructions", ""), str):
        del result["instructions"]


def _repair_answer(result: Item, note: Callable[[str], None]) -> None:
    """A call's answer. Nothing but `{}` tells a ping's apart, which takes more fields without harm."""
    content = result.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    elif is_object(content) or content is None:
        content = [content] if content else []
    if not is_array(content):
        return
    result["content"] = [_block(item, note) for item in content]
    structured = result.get("structuredContent")
    if structured is None:
        result.pop("structuredContent", None)
    elif not isinstance(structured, dict):  # earlier versions of the protocol know objects alone
        result["content"].append(
            {"type": "text", "text": json.dumps(result.pop("structuredContent"), ensure_ascii=False)}
        )
    if not isinstance(result.get("isError", False), bool):
        result["isError"] = bool(result["isError"])
    result.setdefault("resultType", "complete")


def _message(item: Item, note: Callable[[str], None]) -> Item:
    role = item.get("role")
    return {"role": role if role in ("user", "assistant") else "user", "content": _block(item.get("content"), note)}


def _block(item: object, note: Callable[[str], None]) -> object:
    try:
        _blocks().validate_python(item, by_name=False)
    except (ValidationError, RecursionError):
        kind = item.get("type") if is_object(item) else type(item).__name__
        text = item.get("text") if is_object(item) else item
        if isinstance(text, str):
            return {"type": "text", "text": text}
        note(f"content of the type {kind}")
        return {"type": "text", "text": f"[Content of the type {kind} cannot be read here and was left out.]"}
    return item


@functools.cache
def _blocks() -> TypeAdapter[Any]:
    return TypeAdapter(mcp_types.ContentBlock)

"""What an agent program reports in its session, as plain data of ours: words, calls, plans, options, figures.

Pure. Everything that people will read is sanitised here, and cut to a bound; what is unknown is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from gshtui.bus.agent_data import ProgramCommand, ProgramOption, ProgramValue
from gshtui.bus.messages import ResultStatus, Usage
from gshtui.system.json_types import is_array, is_object, objects, string
from gshtui.text import unified_diff
from gshtui.text.sanitise import literal, one_line, plain

_ARGUMENT, _ITEMS, _NAMES = 20_000, 100, 50
"""Characters of a text among the arguments of a call, items of a list, and names, that are kept."""
TITLE = 4_000
"""Characters of a call's title that are kept; some programs tell a command only there."""
_TEXT = 1_000_000
"""Characters of one piece of text, one call's output or one diff that are kept."""
_DIFFED = 2_000_000
"""Characters of a file, before and after, whose differences are worked out."""
_DIFF = 400_000
"""Characters of one diff that are shown."""
_COMMANDS = 200
"""Commands of a program that are kept."""
_VALUES = 300
"""Values of one option that are kept; some programs offer every model that there is."""
Json = Mapping[str, Any]


class Words(msgspec.Struct, frozen=True):
    """A piece of an answer, of a thought, or of a prompt that the program repeats."""

    kind: Literal["answer", "thought", "prompt"]
    text: str


class CallReport(msgspec.Struct, frozen=True):
    """What is new about a tool call; `None`: as before."""

    id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    arguments: dict[str, Any] | None = None
    text: str | None = None
    """Its output so far."""
    diff: str | None = None
    paths: tuple[str, ...] | None = None
    cut: bool = False
    """Something of its title or of its arguments was left out."""
    terminals: tuple[str, ...] = ()


class PlanReport(msgspec.Struct, frozen=True):
    """The program's whole plan: (text, state) of each entry."""

    entries: tuple[tuple[str, Literal["open", "active", "done"]], ...]


class OptionsReport(msgspec.Struct, frozen=True):
    """The program's own settings; `mode`: only that one is told, by its value."""

    options: tuple[ProgramOption, ...] = ()
    mode: str = ""


class WindowReport(msgspec.Struct, frozen=True):
    """How full the model's window is, in tokens, and what the session has cost, in US dollars."""

    used: int
    size: int
    cost: float | None = None


class TokenReport(msgspec.Struct, frozen=True):
    """The tokens of one request to the model, of a program that tells each."""

    usage: Usage


class TitleReport(msgspec.Struct, frozen=True):
    """The program named the conversation."""

    title: str


class CommandsReport(msgspec.Struct, frozen=True):
    """The commands that the program offers in prompts: all of them."""

    commands: tuple[ProgramCommand, ...]


Report = Words | CallReport | PlanReport | OptionsReport | WindowReport | TokenReport | TitleReport | CommandsReport
_BY_REQUEST: tuple[tuple[Literal["mode", "model"], str, str, str, str], ...] = (
    ("mode", "modes", "currentModeId", "availableModes", "id"),
    ("model", "models", "currentModelId", "availableModels", "modelId"),
)
"""Options that are set by requests of their own: where the answer has them, the current one, all, and their ids."""
_STATES: dict[str, Literal["open", "active", "done"]] = {
    "pending": "open",
    "in_progress": "active",
    "completed": "done",
}
_CHUNKS: dict[str, Literal["answer", "thought", "prompt"]] = {
    "agent_message_chunk": "answer",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "prompt",
}


def report_of(update: Json) -> Report | None:
    """One `session/update`; `None` for what is not shown. Raises nothing, whatever is in it."""
    kind = update.get("sessionUpdate")
    if kind in _CHUNKS:
        if text := content_text(update.get("content")):
            return Words(_CHUNKS[kind], text)
        meta = update.get("_meta")
        usage = meta.get("usage") if is_object(meta) else None
        return TokenReport(_with_cache_inside(_usage(usage))) if is_object(usage) else None
    match kind:
        case "tool_call" | "tool_call_update":
            return call_report(update)
        case "plan":
            return _plan(update)
        case "current_mode_update":
            return OptionsReport(mode=_word(update.get("currentModeId")))
        case "config_option_update":
            return OptionsReport(options_of(update))
        case "usage_update":
            return _window(update)
        case "session_info_update":
            title = one_line(string(update.get("title")), 80)
            return TitleReport(title) if title else None
        case "available_commands_update":
            return CommandsReport(_commands(update))
        case _:
            return None


def call_report(update: Json) -> CallReport | None:
    """A tool call, or what is new about one; `None` without an id."""
    id = _word(update.get("toolCallId"))
    if not id:
        return None
    content = objects(update.get("content"))
    texts = [content_text(item.get("content")) for item in content if item.get("type") == "content"]
    diffs = [_diff(item) for item in content if item.get("type") == "diff"]
    terminals = tuple(_word(item.get("terminalId")) for item in content if item.get("type") == "terminal")
    told = "content" in update and update["content"] is not None
    text = "\n".join(filter(None, texts))
    raw, title = update.get("rawInput"), one_line(literal(string(update.get("title"))), _TEXT)
    lost: list[object] = [*title[TITLE:]]
    return CallReport(
        id,
        title=one_line(title, TITLE) if update.get("title") else None,
        kind=_word(update.get("kind")) or None,
        status=_word(update.get("status")) or None,
        arguments=_clean(raw, 0, lost) if is_object(raw) else None,
        text=(text or _raw_output(update.get("rawOutput"))) if told or update.get("rawOutput") else None,
        diff="".join(diffs) if diffs else None,
        paths=_paths(update, content) or None,
        cut=bool(lost),
        terminals=tuple(filter(None, terminals)),
    )


def content_text(content: object) -> str:
    """The text of a block of content; for what is no text, a word about it in brackets."""
    if not is_object(content):
        return ""
    match content.get("type"):
        case "text":
            return plain(string(content.get("text"))[:_TEXT])
        case "image" | "audio":
            return f"[{content['type']}: {one_line(string(content.get('mimeType')), 40)}]"
        case "resource_link":
            return f"[{one_line(string(content.get('uri')), 300)}]"
        case "resource":
            resource = content.get("resource")
            inner: Json = resource if is_object(resource) else {}
            return plain(string(inner.get("text"))[:_TEXT]) or f"[{one_line(string(inner.get('uri')), 300)}]"
        case _:
            return ""


def options_of(answer: Json) -> tuple[ProgramOption, ...]:
    """The settings in the answer to a new or loaded session: its options, else its modes and models."""
    found = [_option(item) for item in objects(answer.get("configOptions"))]
    options = [option for option in found if option is not None]
    ids = {option.id for option in options} | {option.category for option in options}
    for id, key, current, available, value in _BY_REQUEST:
        state = answer.get(key)
        if id in ids or not is_object(state):
            continue
        values = _values(objects(state.get(available)), value)
        options.append(ProgramOption(id, id, _word(state.get(current)), values, id, way=id))
    return tuple(options)


def usage_of(answer: Json) -> Usage:
    """The tokens in the answer to a prompt, where the program counts them."""
    usage = answer.get("usage")
    if is_object(usage):
        return _usage(usage)
    meta = answer.get("_meta")
    quota = meta.get("quota") if is_object(meta) else None
    count = quota.get("token_count") if is_object(quota) else None
    if is_object(count):  # Gemini CLI counts there
        return Usage(input=_number(count.get("input_tokens")), output=_number(count.get("output_tokens")))
    return Usage()


def _usage(held: Json) -> Usage:
    return Usage(
        input=_number(held.get("inputTokens")),
        output=_number(held.get("outputTokens")),
        cache_read=_number(held.get("cachedReadTokens")),
        cache_write=_number(held.get("cachedWriteTokens")),
        reasoning=_number(held.get("thoughtTokens")),
    )


def _with_cache_inside(usage: Usage) -> Usage:
    """The usage of Qwen Code, which counts what was read from the cache as input, too."""
    return msgspec.structs.replace(usage, input=max(0, usage.input - usage.cache_read))


def status_of(status: str) -> ResultStatus | None:
    """How a call ended, by the program's word for it; `None`: it has not."""
    ends: dict[str, ResultStatus] = {"completed": "ok", "failed": "error"}
    return ends.get(status)


def _plan(update: Json) -> PlanReport:
    entries: list[tuple[str, Literal["open", "active", "done"]]] = []
    for item in objects(update.get("entries")):
        text = one_line(string(item.get("content")), 400)
        if text:
            entries.append((text, _STATES.get(string(item.get("status")), "open")))
    return PlanReport(tuple(entries[:100]))


def _commands(update: Json) -> tuple[ProgramCommand, ...]:
    found: list[ProgramCommand] = []
    for item in objects(update.get("availableCommands"))[:_COMMANDS]:
        name = _word(item.get("name")).removeprefix("/")
        given = item.get("input")
        hint = string(given.get("hint")) if is_object(given) else ""
        if name:
            about = one_line(string(item.get("description")), 120)
            found.append(ProgramCommand(one_line(name, 60), about, one_line(hint, 60)))
    return tuple(found)


def _window(update: Json) -> WindowReport:
    cost = update.get("cost")
    held: Json = cost if is_object(cost) else {}
    amount: object = held.get("amount") if held.get("currency") == "USD" else None
    known = float(amount) if isinstance(amount, int | float) and not isinstance(amount, bool) else None
    return WindowReport(_number(update.get("used")), _number(update.get("size")), known)


def _option(item: Json) -> ProgramOption | None:
    id = _word(item.get("id"))
    if not id:
        return None
    category = item.get("category")
    kind = one_line(category, 40) if isinstance(category, str) else ""
    name = one_line(string(item.get("name")), 80) or id
    if item.get("type") == "boolean":
        value = "true" if item.get("currentValue") is True else "false"
        return ProgramOption(id, name, value, (ProgramValue("true"), ProgramValue("false")), kind, way="boolean")
    flat: list[Json] = []
    for one in objects(item.get("options")):
        flat += objects(one.get("options")) if "options" in one else [one]
    return ProgramOption(id, name, _word(item.get("currentValue")), _values(flat, "value"), kind, way="select")


def _values(items: Sequence[Json], key: str) -> tuple[ProgramValue, ...]:
    found = (ProgramValue(_word(item.get(key)), one_line(string(item.get("name")), 80)) for item in items[:_VALUES])
    return tuple(value for value in found if value.value)


def _diff(item: Json) -> str:
    name = one_line(string(item.get("path")), 400)
    before, after = item.get("oldText"), string(item.get("newText"))
    old = before if isinstance(before, str) else ""
    if len(old) + len(after) > _DIFFED:
        return unified_diff.sizes_alone(old, after, name)
    diff = unified_diff.make_diff(old, after, name, new=before is None)
    return diff if len(diff) <= _DIFF else unified_diff.sizes_alone(old, after, name)


def _paths(update: Json, content: Sequence[Json]) -> tuple[str, ...]:
    """The files that a call names, those of the changes that it shows too."""
    changed = (item for item in content if item.get("type") == "diff")
    found = (string(item.get("path")) for item in (*objects(update.get("locations")), *changed))
    return tuple(dict.fromkeys(filter(None, found)))


def _raw_output(value: object) -> str:
    if value is None:
        return ""
    if is_object(value) and isinstance(output := value.get("output"), str):
        return plain(output[:_TEXT])
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return plain(text[:_TEXT])


def _clean(value: object, depth: int, lost: list[object]) -> Any:
    """Arguments with the text in them sanitised and cut; `lost` gets what is left out."""
    if isinstance(value, str):
        lost += value[_ARGUMENT:][:1]
        return literal(value[:_ARGUMENT])
    if isinstance(value, bool | int | float) or value is None:
        return value
    if depth <= 4 and is_array(value):
        lost += value[_ITEMS:][:1]
        return [_clean(item, depth + 1, lost) for item in value[:_ITEMS]]
    if depth <= 4 and is_object(value):
        names = {name: one_line(name, 80) for name in value}
        lost += [*names][_NAMES:] + [name for name, shown in names.items() if shown != name]
        return {names[name]: _clean(value[name], depth + 1, lost) for name in [*names][:_NAMES]}
    lost.append(value)
    return "…"


def _word(value: object) -> str:
    """An identifier: kept exactly, unless it could not be shown; then it is none."""
    return value if isinstance(value, str) and 0 < len(value) <= 300 and value.isprintable() else ""


def _number(value: object) -> int:
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0

"""The conversation in a form that every API accepts: alternating turns, paired calls and results, nothing empty.

Pure. Repairs only the form, and only of what is sent; the log stays unchanged. The loop keeps histories valid, but one
mistake would block a conversation permanently, so this is the last check before the wire. Called by the adapters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui.bus.messages import Audio, Block, Document, Image, Medium, Message, Text, Thinking, ToolCall, ToolResult
from gshtui.media import media_files
from gshtui.media.media_tokens import MediaRule
from gshtui.providers.port import Capabilities, Request, estimate
from gshtui.providers.wire import media_notes
from gshtui.providers.wire.wire_text import ToolNames, data, identifier, text

NO_OUTPUT = "(no output)"
_PYTHON = "[Python output]:"
"""The result of a `<python>` block says itself what it is."""


class WireTurn(msgspec.Struct, frozen=True):
    """Everything one side says in a row. In a user turn the results come first, in the order of their calls."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


def turns(messages: Sequence[Message], provider: str, abilities: Capabilities) -> list[WireTurn]:
    """The messages as alternating turns, starting and ending with a user's. Only the reasoning of `provider` is among
    them, and a note for each image or document that the model does not accept.
    """
    return _whole(_paired(_merged(messages, provider, abilities), set()))


def _whole(out: list[WireTurn]) -> list[WireTurn]:
    if not out or out[0].role == "assistant":
        out.insert(0, WireTurn("user", (Text("(The conversation goes on from here.)"),)))
    if out[-1].role == "assistant":
        out.append(WireTurn("user", (Text("Continue."),)))
    return out


def _merged(messages: Sequence[Message], provider: str, abilities: Capabilities) -> list[WireTurn]:
    out: list[WireTurn] = []
    if not abilities.tools:
        messages = [_without_calls(message) for message in messages]
    media = [b for message in messages for b in message.blocks if isinstance(b, Image | Document | Audio)]
    over = {id(media[place]): why for place, why in media_notes.beyond_limits(media, abilities).items()}
    for message in messages:
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        kept = tuple(fit for block in message.blocks if (fit := _fitting(block, provider, abilities, over)) is not None)
        if not kept:
            continue
        if out and out[-1].role == role:
            out[-1] = WireTurn(role, out[-1].blocks + kept)
        else:
            out.append(WireTurn(role, kept))
    return out


def _fitting(block: Block, provider: str, abilities: Capabilities, over: Mapping[int, str]) -> Block | None:
    if type(block) is ToolResult:
        return block
    match block:
        case Text():
            words = text(block.text)
            if not block.opaque:
                return None if not words or words.isspace() else block if words is block.text else Text(words)
            mine = _mine(block.opaque, provider)
            return Text(words, mine) if words.strip() or mine else None
        case Thinking():
            mine = _mine(block.opaque, provider)
            return Thinking(text(block.text), mine) if mine else None
        case Image() | Document() | Audio():
            return _medium(block, abilities, over.get(id(block), ""))
        case ToolCall():
            arguments: dict[str, Any] = {} if block.broken else data(block.arguments)
            return ToolCall(block.id, block.name, arguments, "", _mine(block.opaque, provider))
        case _:
            return block


def _without_calls(message: Message) -> Message:
    """The message for a model that knows no tools: calls and results as text, as far as they are not in it already."""
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolCall):
            if not _is_in_text(block, message):
                blocks.append(Text(f"[called {text(block.name)} with {data(block.arguments)}]"))
        elif isinstance(block, ToolResult):
            said = block.content if block.content.startswith(_PYTHON) else f"Result of {block.name}:\n\n{block.content}"
            blocks.append(Text(text(said)))
        else:
            blocks.append(block)
    return Message(message.id, message.role, tuple(blocks), provider=message.provider, model=message.model)


def _is_in_text(call: ToolCall, message: Message) -> bool:
    """Whether the call is made of code that the answer's text contains."""
    code = call.arguments.get("code")
    return isinstance(code, str) and code[:200] in message.text


def _mine(opaque: dict[str, Any], provider: str) -> dict[str, Any]:
    return {provider: opaque[provider]} if provider in opaque else {}


def _left_out(sentence: str) -> Text:
    """A note in place of what would make the provider refuse this and every later request."""
    return Text(f"[{sentence}]")


def _medium(block: Medium, abilities: Capabilities, over: str) -> Block:
    """The block with its bytes, or what is sent instead. `over`: why it does not fit; empty: it does."""
    name = text(block.name)
    if isinstance(block, Document) and media_notes.is_text(block):
        words = text(media_files.content(block).decode("utf-8", "replace"))
        return Text(f"Document {name}:\n\n{words if words.strip() else '(empty)'}")
    instead = media_notes.instead_of(block, abilities) or over
    if instead and isinstance(block, Document) and block.text:
        words = text(media_files.read(block.text).decode("utf-8", "replace"))
        return Text(f"[{instead}]\n\n{words or '(its text is not kept any more)'}")
    if instead:
        return _left_out(instead)
    if not (data := media_files.encoded(block)):
        what = "image" if isinstance(block, Image) else "sound" if isinstance(block, Audio) else "document"
        return _left_out(f"The {what}{f' {name}' if name else ''} was left out: its data is damaged.")
    match block:
        case Image():
            return Image(block.media_type, data, block.name)
        case Document():
            return Document(block.media_type, data, block.name)
        case Audio():
            return Audio(block.media_type, data, block.name)


def _paired(found: list[WireTurn], used: set[str]) -> list[WireTurn]:
    """Every call with one result in the next turn, every result with its call; ids unique and valid everywhere.

    `used`: the ids of earlier calls; those of these are added.
    """
    out: list[WireTurn] = []
    waiting: dict[str, ToolCall] = {}
    for turn in found:
        if turn.role == "user":
            out.append(_answered(turn.blocks, waiting))
            waiting = {}
            continue
        waiting = {}
        blocks: list[Block] = []
        for block in turn.blocks:
            if isinstance(block, ToolCall):
                renamed = ToolCall(_unique(block.id, used), block.name, block.arguments, "", block.opaque)
                waiting[block.id if block.id not in waiting else renamed.id] = renamed
                block = renamed
            blocks.append(block)
        out.append(WireTurn("assistant", tuple(blocks)))
    if waiting:
        out.append(_answered((), waiting))
    return [turn for turn in out if turn.blocks]


def _answered(blocks: Sequence[Block], waiting: dict[str, ToolCall]) -> WireTurn:
    results: dict[str, ToolResult] = {}
    others: list[Block] = []
    for block in blocks:
        if not isinstance(block, ToolResult):
            others.append(block)
        elif block.call_id not in waiting:
            others.append(Text(f"Result of an earlier call of {text(block.name)}:\n\n{text(block.content)}"))
        elif block.call_id not in results:
            results[block.call_id] = block
    ordered: list[Block] = []
    for key, call in waiting.items():
        given = results.get(key)
        content = text(given.content) if given is not None else "No result: the call was lost."
        status = given.status if given is not None else "lost"
        ordered.append(ToolResult(call.id, call.name, content if content.strip() else NO_OUTPUT, status))
    return WireTurn("user", (*ordered, *others))


def _unique(call_id: str, used: set[str]) -> str:
    base = candidate = identifier(call_id)
    count = 2
    while candidate in used:
        candidate = identifier(f"{base}-{count}-{call_id}")
        count += 1
    used.add(candidate)
    return candidate


def without_opaque(request: Request, provider: str) -> Request:
    """The request without what the provider signed: for when it no longer accepts that."""

    def bare(block: Block) -> Block:
        match block:
            case Text():
                return Text(block.text, _others(block.opaque, provider))
            case Thinking():
                return Thinking(block.text, _others(block.opaque, provider))
            case ToolCall():
                opaque = _others(block.opaque, provider)
                return ToolCall(block.id, block.name, block.arguments, block.broken, opaque)
            case _:
                return block

    messages = tuple(
        Message(m.id, m.role, tuple(bare(block) for block in m.blocks), provider=m.provider, model=m.model)
        for m in request.messages
    )
    return replace(request, messages=messages)


def _others(opaque: dict[str, Any], provider: str) -> dict[str, Any]:
    return {name: value for name, value in opaque.items() if name != provider}


def tool_names(request: Request) -> ToolNames:
    """The names of all tools, those offered first, so that they keep their names when history has odd ones."""
    return ToolNames([*(tool.name for tool in request.tools), *_called(request.messages)])


def _called(messages: Sequence[Message]) -> dict[str, None]:
    return {b.name: None for m in messages for b in m.blocks if type(b) is ToolCall or type(b) is ToolResult}


class WiredRequest(msgspec.Struct, frozen=True):
    """A request's history in an API's form, and what its other parts depend on."""

    turns: list[WireTurn]
    rendered: list[dict[str, Any]]
    """Each turn as the API has it. The dictionaries are shared with later requests: copy one to change it."""
    names: ToolNames
    tokens: int
    """The house's estimate of the whole request."""


class _Beginning(msgspec.Struct, frozen=True, eq=False):
    """The beginning of a request's history, up to where nothing later changes what was made of it."""

    messages: Sequence[Message]
    abilities: Capabilities
    turns: list[WireTurn]
    rendered: list[dict[str, Any]]
    used: set[str]
    called: dict[str, None]
    names: dict[str, str]
    bytes: int


class WireHistory:
    """The histories of one provider's requests, each made from where the one before it ended.

    A beginning is known by its very messages, which never change: what is made of it is what would be made anew.
    """

    def __init__(self, provider: str, render: Callable[[WireTurn, ToolNames], dict[str, Any]]) -> None:
        self._provider = provider
        self._render = render
        self._known: deque[_Beginning] = deque(maxlen=_CONVERSATIONS)

    def wired(self, request: Request, abilities: Capabilities) -> WiredRequest:
        """The request's history. `abilities` as in `turns`."""
        known = self._beginning(request, abilities)
        called = known.called | _called(request.messages[len(known.messages) :])
        names = ToolNames([*(tool.name for tool in request.tools), *called])
        known = self._extended(known, request.messages, names)
        rest = request.messages[len(known.messages) :]
        made = _paired(_merged(rest, self._provider, abilities), set(known.used))
        whole = _whole([*known.turns, *made])
        shown = [*known.rendered, *(self._render(turn, names) for turn in made)]
        first = known.turns[0] if known.turns else made[0] if made else None
        if whole[0] is not first:
            shown.insert(0, self._render(whole[0], names))
        if len(whole) > len(shown):
            shown.append(self._render(whole[-1], names))
        size = known.bytes + sum(map(_message_bytes, rest))
        return WiredRequest(whole, shown, names, _estimate(request, size))

    def _beginning(self, request: Request, abilities: Capabilities) -> _Beginning:
        messages = request.messages
        for known in self._known:
            count = len(known.messages)
            same = count <= len(messages) and messages[count - 1] is known.messages[-1] and abilities == known.abilities
            if same and all(map(is_, known.messages, messages)):
                return known
        return _Beginning((), abilities, [], [], set(), {}, {}, 0)

    def _extended(self, known: _Beginning, messages: Sequence[Message], names: ToolNames) -> _Beginning:
        """The beginning up to the last prompt that follows an answer without calls; kept for later requests."""
        start = len(known.messages)
        rendered = known.rendered
        if not known.names.items() <= names.known.items():
            rendered = [self._render(turn, names) for turn in known.turns]
        end = next((at for at in range(len(messages) - 1, start, -1) if _is_settled(messages, at)), start)
        more, used = messages[start:end], set(known.used)
        made = _paired(_merged(more, self._provider, known.abilities), used)
        media = any(isinstance(block, Image | Document | Audio) for one in messages[start:] for block in one.blocks)
        if media or not known.abilities.tools or not made or made[-1].role != "assistant":
            return replace(known, rendered=rendered)
        extended = _Beginning(
            messages[:end],
            known.abilities,
            [*known.turns, *made],
            [*rendered, *(self._render(turn, names) for turn in made)],
            used,
            known.called | _called(more),
            dict(names.known),
            known.bytes + sum(map(_message_bytes, more)),
        )
        self._known = deque([*(one for one in self._known if one is not known), extended], maxlen=_CONVERSATIONS)
        return extended


_CONVERSATIONS = 4
"""Conversations whose beginnings are kept."""


def _is_settled(messages: Sequence[Message], at: int) -> bool:
    """Whether a turn begins here whatever comes before or after it."""
    message, before = messages[at], messages[at - 1]
    return (
        message.role == "user"
        and any(isinstance(block, Text) and block.text.strip() for block in message.blocks)
        and before.role == "assistant"
        and not before.calls
        and any(isinstance(block, Text) and block.text.strip() for block in before.blocks)
    )


def system(request: Request) -> list[str]:
    """The system blocks that say something."""
    return [text(block) for block in request.system if block.strip()]


_RULE = MediaRule("anthropic")


def size(request: Request) -> int:
    """The house's estimate of the request's tokens."""
    return _estimate(request, sum(map(_message_bytes, request.messages)))


def _estimate(request: Request, history: int) -> int:
    fixed = sum(_bytes(block) for block in request.system)
    fixed += sum(len(f"{tool.name}{tool.description}{tool.schema}") for tool in request.tools)
    return estimate(fixed + history, len(request.messages))


def _message_bytes(message: Message) -> int:
    total = 0
    for block in message.blocks:
        match block:
            case Text() | Thinking():
                total += _bytes(block.text)
            case ToolCall():
                total += len(block.name) + len(str(block.arguments))
            case ToolResult():
                total += _bytes(block.content)
            case Image() | Document() | Audio():
                total += 4 * _RULE.tokens(block)
    return total


def _bytes(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode("utf-8", "replace"))


def function_tools(request: Request, names: ToolNames) -> list[dict[str, Any]]:
    """The tools as OpenAI's chat completions have them, and all that speak like it."""
    return [
        {
            "type": "function",
            "function": {
                "name": names.to_wire(tool.name),
                "description": text(tool.description),
                "parameters": data(tool.schema),
            },
        }
        for tool in request.tools
    ]

"""`/calls`: the shared rooms as files: what each is, its documents, its messages one file each, and who is in it.

People write instructions and pinned documents; an agent pins one in a call that it is in, if a person agrees. A guest
or an agent reads the calls that it is in, and the lobby; an agent asks before it reads another.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

from gshtui.bus.call_data import LOBBY, CallInfo, CallMessage, CallToolUse, MessageHead, Pin, tool_calls_json
from gshtui.calls.call_service import CallService
from gshtui.commands.declaration import Caller
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.call_table import CallTable
from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line
from gshtui.vfs import (
    CALLS,
    CURRENT,
    FileError,
    Node,
    Right,
    appended,
    as_file_error,
    is_file,
    is_folder,
    missing,
    whole_path,
)

_META, _CONTEXT, _PROMPT, _PINNED = ".call", "context", "system.prompt", "pinned"
_CONVERSATION, _MEMBERS, _SUFFIX = "conversation", "members", ".msg"
_MOST_DIGITS = 18
_MOST = 20_000
"""Most messages that are listed: the newest."""


class CallMount:
    """See the module. `service`: the calls of this hub, made when one is first used."""

    def __init__(self, service: Callable[[], CallService], calls: CallTable) -> None:
        self._service = service
        self._calls = calls

    async def right(self, caller: Caller, steps: tuple[str, ...], *, writes: bool) -> Right:
        """An agent asks before it pins a document in its call, and before it reads another; it writes nothing else."""
        if writes:
            if len(steps) != 4 or steps[1:3] != (_CONTEXT, _PINNED):
                return "never"
            return "ask" if self._is_in(caller, await self._call(caller, steps[0])) else "never"
        if not steps or steps[0] == LOBBY:
            return "free"
        return "free" if self._is_in(caller, await self._call(caller, steps[0])) else "ask"

    async def stat(self, caller: Caller, steps: tuple[str, ...]) -> Node:
        if not steps:
            return Node("calls", "folder")
        call = await self._call(caller, steps[0])
        if steps == (CURRENT,):
            return Node(CURRENT, "link", target=f"/{CALLS}/{call.name}")
        match steps[1:]:
            case ():
                return _call_node(call)
            case (("context" | "conversation" | "members"),) | ("context", "pinned"):
                return Node(steps[-1], "folder")
            case ("members", name):
                return _found(await self.list(caller, steps[:2]), name, steps)
            case ("conversation", name):
                message, used = await self._message(call, name, steps)
                text = message.text if used is None else used.result
                return Node(name, size=len(text.encode()), at=message.at)
            case _:
                return _found(await self.list(caller, steps[:-1]), steps[-1], steps)

    async def list(self, caller: Caller, steps: tuple[str, ...]) -> list[Node]:
        """The entries of a folder, messages by their numbers."""
        if not steps:
            calls = await self._all()
            return [_call_node(call) for call in calls if not caller.is_guest or self._is_in(caller, call)]
        call = await self._call(caller, steps[0])
        match steps[1:]:
            case ():
                return [Node(_META), *(Node(name, "folder") for name in (_CONTEXT, _CONVERSATION, _MEMBERS))]
            case ("context",):
                return [Node(_PROMPT, size=len(call.instructions.encode())), Node(_PINNED, "folder")]
            case ("context", "pinned"):
                return [Node(pin.name, size=len(pin.text.encode()), at=pin.at) for pin in await self._pins(call)]
            case ("conversation",):
                try:
                    heads = await self._calls.message_heads(call.name, _MOST)
                except StoreError as error:
                    raise as_file_error(error) from error
                return [node for head in heads for node in _message_nodes(head, _digits(call))]
            case ("members",):
                names = [one.name or one.member for one in call.members]
                return [Node(one_line(name, 60), "link", target=f"/agents/{name}") for name in names]
            case _:
                raise is_file("calls", steps)

    async def read(self, caller: Caller, steps: tuple[str, ...]) -> str:
        """A file's text."""
        if not steps:
            raise is_folder("calls", steps)
        call = await self._call(caller, steps[0])
        match steps[1:]:
            case (".call",):
                return _described(call)
            case ("context", "system.prompt"):
                return call.instructions
            case ("context", "pinned", name):
                found = next((pin for pin in await self._pins(call) if pin.name == name), None)
                if found is None:
                    raise missing("calls", steps)
                return found.text
            case ("conversation", name):
                message, used = await self._message(call, name, steps)
                return _written(message) if used is None else _result_written(message, used)
            case () | (("context" | "conversation" | "members"),) | ("context", "pinned"):
                raise is_folder("calls", steps)
            case _:
                raise missing("calls", steps)

    async def write(self, caller: Caller, steps: tuple[str, ...], content: str, *, append: bool) -> None:
        """Write the instructions of a call, or a pinned document."""
        self._refuse(caller, steps)
        call = await self._call(caller, steps[0])
        if caller.is_agent and steps[1:3] != (_CONTEXT, _PINNED):
            raise self._refused()
        service = self._service()

        def changed(before: str) -> str:
            return appended(before, content)

        try:
            who = await service.principal(caller)
            match steps[1:]:
                case ("context", "system.prompt"):
                    await service.instruct(call.name, changed if append else content, who)
                case ("context", "pinned", name):
                    await service.pin(call.name, name, changed if append else content, who)
                case ("conversation", *_):
                    raise FileError("refused", "What was said stays as it was said.", "`say` adds a message.")
                case _:
                    hint = f"Write {_CONTEXT}/{_PROMPT}, or {_CONTEXT}/{_PINNED}/NAME."
                    raise FileError("refused", f"{whole_path('calls', steps)} cannot be written.", hint)
        except FileError:
            raise
        except ExpectedError as error:
            raise as_file_error(error) from error

    async def make_folder(self, caller: Caller, steps: tuple[str, ...]) -> None:
        """Refused: a call is made by `create`."""
        raise FileError("refused", "A folder here is a call.", "`create call=NAME` makes one.")

    async def remove(self, caller: Caller, steps: tuple[str, ...]) -> None:
        self._refuse(caller, steps)
        match steps[1:]:
            case ("context", "pinned", name):
                service = self._service()
                try:
                    await service.unpin(
                        (await self._call(caller, steps[0])).name, name, await service.principal(caller)
                    )
                except ExpectedError as error:
                    raise as_file_error(error) from error
            case ():
                raise FileError("refused", "A call is not a file.", f"`calls rm {one_line(steps[0], 40)}` removes it.")
            case _:
                raise FileError("refused", f"{whole_path('calls', steps)} cannot be removed.")

    def _refuse(self, caller: Caller, steps: tuple[str, ...]) -> None:
        if caller.is_guest or not steps:
            raise self._refused()

    def _refused(self) -> FileError:
        return FileError("refused", "Only the person at the keyboard writes here.", "`say` adds a message.")

    async def _all(self) -> list[CallInfo]:
        try:
            return await self._service().all()
        except ExpectedError as error:
            raise as_file_error(error) from error

    async def _call(self, caller: Caller, name: str) -> CallInfo:
        """A call that the caller may see. Raises `FileError`."""
        service = self._service()
        here = name == CURRENT
        try:
            call = await service.find("" if here else name, await service.principal(caller))
        except ExpectedError as error:
            raise missing("calls", (name,)) from error
        if here and call.name == LOBBY:
            raise FileError(
                "missing",
                "You are in no call whose context this could be.",
                "`join NAME` enters one; the lobby's is /calls/lobby/context.",
            )
        if (call.name != name and not here) or (caller.is_guest and not self._is_in(caller, call)):
            raise missing("calls", (name,))
        return call

    def _is_in(self, caller: Caller, call: CallInfo) -> bool:
        return call.name == LOBBY or call.member(caller.name) is not None

    async def _pins(self, call: CallInfo) -> list[Pin]:
        try:
            return await self._calls.pins(call.name)
        except StoreError as error:
            raise as_file_error(error) from error

    async def _message(
        self, call: CallInfo, name: str, steps: tuple[str, ...]
    ) -> tuple[CallMessage, CallToolUse | None]:
        """The message of a file: `007.msg`, or `007.01.msg`, the result of the first tool that was used for it."""
        number, dot, result = name.removesuffix(_SUFFIX).partition(".")
        if not name.endswith(_SUFFIX) or not _is_number(number) or (dot and not _is_number(result)):
            raise missing("calls", steps)
        if number not in (f"{int(number):03}", f"{int(number):0{_digits(call)}}"):
            raise missing("calls", steps)
        try:
            message = await self._calls.message(call.name, int(number))
        except StoreError as error:
            raise missing("calls", steps) from error
        if not result:
            return message, None
        if result != f"{int(result):02}" or not 1 <= int(result) <= len(message.tools):
            raise missing("calls", steps)
        return message, message.tools[int(result) - 1]


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS


def _message_nodes(head: MessageHead, digits: int) -> list[Node]:
    """The files of a message: the results of the tools that were used for it, and what was said then."""
    number = f"{head.seq:0{digits}}"
    results = [Node(f"{number}.{at + 1:02}{_SUFFIX}", at=head.at) for at in range(head.tools)]
    return [*results, Node(f"{number}{_SUFFIX}", size=head.bytes, at=head.at)]


def _call_node(call: CallInfo) -> Node:
    about = {"members": len(call.members), "messages": call.messages}
    return Node(call.name, "folder", at=call.created, type="call", about=about)


def _digits(call: CallInfo) -> int:
    """Of the names of its messages, so that they sort by their numbers; names of three stay valid."""
    return max(3, len(str(call.messages - 1)))


def _found(nodes: list[Node], name: str, steps: tuple[str, ...]) -> Node:
    found = next((node for node in nodes if node.name == name), None)
    if found is None:
        raise missing("calls", steps)
    return found


def _described(call: CallInfo) -> str:
    """A call's facts, as YAML."""
    facts: dict[str, object] = {
        "topic": call.topic,
        "owner": call.owner_name,
        "created": _time(call.created),
        "members": [one.name or one.member for one in call.members],
        "messages": call.messages,
    }
    if call.branched_from:
        facts |= {"branch_of": call.branched_from, "branched_at": call.branched_at}
    return "".join(f"{name}: {_scalar(value)}\n" for name, value in facts.items())


def _written(message: CallMessage) -> str:
    """A message: its facts as YAML between rules, then its text."""
    facts: dict[str, object] = {
        "role": message.role,
        "agent": message.author_name or message.author,
        "timestamp": _time(message.at),
        "tokens": message.tokens,
    }
    if message.in_reply_to >= 0:
        facts["in_reply_to"] = f"{message.in_reply_to:03}"
    if message.role == "assistant":
        facts["tool_calls"] = tool_calls_json(message)
    head = "".join(f"{name}: {_scalar(value)}\n" for name, value in facts.items())
    return f"---\n{head}---\n{message.text}\n"


def _result_written(message: CallMessage, used: CallToolUse) -> str:
    """What a tool gave to the agent that used it, as a message."""
    facts: dict[str, object] = {
        "role": "tool_result",
        "agent": message.author_name or message.author,
        "timestamp": _time(message.at),
        "tokens": used.tokens,
        "tool_call_id": used.id,
        "name": used.name,
        "status": used.status,
    }
    head = "".join(f"{name}: {_scalar(value)}\n" for name, value in facts.items())
    return f"---\n{head}---\n{used.result}\n"


def _scalar(value: object) -> str:
    """A value as YAML: JSON is a part of it."""
    bare = value.replace("-", "").replace("_", "") if isinstance(value, str) else ""
    plain = bare.isascii() and bare.isalnum() and not str(value)[0].isdecimal()
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""

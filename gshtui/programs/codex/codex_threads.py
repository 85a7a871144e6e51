"""What a Codex app-server has said of its conversations: which one its screen is in, what that does, asks and answered.

Pure: messages in, facts out. A conversation is a thread there; those of helpers belong to the one that started them,
and those that make a title, or that nobody keeps, belong to nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from gshtui.programs.codex.app_server_connection import RequestId, ServerMessage
from gshtui.programs.codex.codex_questions import CHANGE, CodexRequest, command_line, request_of
from gshtui.programs.codex.thread_modes import Permissions, permissions_told
from gshtui.programs.transcripts.program_transcript import number
from gshtui.system.json_types import obj, objects, string, strings
from gshtui.text.sanitise import one_line, plain

_DOING = 160
_MOST_THREADS, _MOST_REQUESTS, _MOST_ITEMS, _MOST_SAID = 200, 50, 100, 1_000_000
"""What is kept at most: threads, open requests, changes of files of a turn, characters of an answer."""
Activity = Literal["", "thinking", "tool", "waiting", "idle"]


class CodexThread(msgspec.Struct):
    """One conversation. `joined`: its requests and its items come to us."""

    id: str
    parent: str = ""
    active: bool = False
    waits: bool = False
    since: float = 0.0
    """Since when it has been active, or at rest; seconds since 1970."""
    turn: str = ""
    """The turn under way, if it is known."""
    running: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Commands and other calls under way: item → what it is about."""
    changes: dict[str, list[dict[str, Any]]] = msgspec.field(default_factory=dict[str, list[dict[str, Any]]])
    """Changes of files that were proposed: item → its changes."""
    said: str = ""
    """The last message of its turn."""
    trouble: str = ""
    """Why its last turn failed."""
    joined: bool = False
    heard: bool = False
    """It was told of itself what it does, beside how it was described."""
    permissions: Permissions | None = None
    """What it may do unasked; `None`: not told yet."""


class CodexThreads:
    """See the module. `main` is the thread that its screen is in; empty while there is none."""

    def __init__(self) -> None:
        self.threads: dict[str, CodexThread] = {}
        self.main = ""
        self.unknown: dict[str, tuple[Mapping[str, Any], float]] = {}
        """Threads that were mentioned and never described → the status that was told of each last, and when."""
        self.strangers: set[str] = set()
        """Those of them that the server did not describe when it was asked."""
        self.requests: dict[RequestId, tuple[ServerMessage, CodexRequest]] = {}
        """Those that are open, the oldest first."""

    # -- what comes in ---------------------------------------------------------------------------------------------

    def add(self, thread: Mapping[str, Any], now: float) -> None:
        """A thread as the server describes it."""
        id = string(thread.get("id"))
        told = self._told_of(id)
        if not id or thread.get("ephemeral") is True or string(thread.get("threadSource")) == "thread_title":
            return
        if id not in self.threads and len(self.threads) >= _MOST_THREADS:
            self._forget(next(one for one in self.threads if one != self.main))
        new = id not in self.threads
        found = self.threads.setdefault(id, CodexThread(id))
        found.parent = string(thread.get("parentThreadId"))
        if new:  # what it says of itself from then on is newer than how it is described
            self._status(found, obj(thread.get("status")), min(number(thread.get("updatedAt")) or now, now))
        if told is not None:
            self._hear(found, *told)  # it came while it was being described

    def open(self, thread: Mapping[str, Any], now: float) -> None:
        """A thread that a screen has just opened."""
        self.add(thread, now)
        found = self.threads.get(string(thread.get("id")))
        if found is not None and not found.parent:
            self.main = found.id

    def begin(self, listed: list[Mapping[str, Any]], begun: float, now: float) -> None:
        """The threads that are loaded at the start: its screen is in the one that was used last. `begun`: when the
        server began; what an earlier one was at work on is over since then.
        """
        mentioned = set(self.unknown)
        for thread in listed:
            if (id := string(thread.get("id"))) not in self.threads:  # what came meanwhile is newer
                self.add(thread, now)
                if (added := self.threads.get(id)) is not None and not added.active:
                    added.since = max(added.since, min(begun, now))
        self.unknown |= {id: ({}, now) for id in mentioned}
        roots = [
            one for one in listed if (found := self.threads.get(string(one.get("id")))) is not None and not found.parent
        ]
        newest = max(roots, key=lambda one: (number(one.get("recencyAt")), number(one.get("createdAt"))), default=None)
        if newest is not None and not self.main:
            self.main = string(newest.get("id"))

    def add_message(self, message: ServerMessage, now: float) -> None:
        """One message of the server's."""
        at = min(message.at, now) or now
        params = message.params
        if message.id is not None:
            self._ask(message)
        elif message.method == "thread/started":
            self.open(obj(params.get("thread")), at)
        elif message.method == "serverRequest/resolved":
            over = params.get("requestId")
            self.requests.pop(over if isinstance(over, int | str) else "", None)
        elif (thread_id := string(params.get("threadId"))) in self.threads:
            self._about(self.threads[thread_id], message, at)
        elif message.method == "thread/status/changed":
            if len(self.unknown) >= _MOST_THREADS:
                self._told_of(next(iter(self.unknown)))
            self.unknown[thread_id] = obj(params.get("status")), at

    def _told_of(self, id: str) -> tuple[Mapping[str, Any], float] | None:
        self.strangers.discard(id)
        return self.unknown.pop(id, None)

    def _about(self, thread: CodexThread, message: ServerMessage, at: float) -> None:
        params, item = message.params, obj(message.params.get("item"))
        match message.method:
            case "thread/status/changed":
                was = thread.active
                self._hear(thread, obj(params.get("status")), at)
                if thread.active and not was and not thread.parent:
                    self.main = thread.id  # only what is on the screen, and what we send, begins a turn
            case "thread/goal/cleared" | "thread/goal/updated" if not thread.parent:
                self.main = thread.id  # told to everybody whenever a screen opens a conversation
            case "thread/closed" | "thread/deleted" | "thread/archived":
                self._forget(thread.id)
            case "turn/started":
                thread.turn = string(obj(params.get("turn")).get("id"))
                thread.said = thread.trouble = ""
                self._work(thread, at)
            case "turn/completed":
                self.complete(thread.id, obj(params.get("turn")), at)
            case "item/started":
                self._begin_item(thread, item)
            case "item/fileChange/patchUpdated":
                thread.changes[string(params.get("itemId"))] = objects(params.get("changes"))
            case "item/completed":
                thread.running.pop(string(item.get("id")), None)
                if string(item.get("tool")) == "spawnAgent" and string(item.get("type")) == "collabAgentToolCall":
                    self._adopt(thread, strings(item.get("receiverThreadIds")), at)
                if string(item.get("type")) == "agentMessage" and string(item.get("text")):
                    thread.said = plain(string(item.get("text"))[:_MOST_SAID])
            case "thread/settings/updated":
                thread.permissions = permissions_told(obj(params.get("threadSettings"))) or thread.permissions
            case "error":
                if params.get("willRetry") is not True:
                    thread.trouble = one_line(string(obj(params.get("error")).get("message")), _DOING)
            case _:
                pass

    def complete(self, id: str, turn: Mapping[str, Any], at: float) -> None:
        """A turn is over."""
        thread = self.threads.get(id)
        if thread is None:
            return
        for item in objects(turn.get("items")):
            if string(item.get("type")) == "agentMessage" and string(item.get("text")):
                thread.said = plain(string(item.get("text"))[:_MOST_SAID])
        if string(turn.get("status")) == "interrupted":
            thread.said = ""  # it is no answer
        if trouble := string(obj(turn.get("error")).get("message")):
            thread.trouble = one_line(trouble, _DOING)
        over = string(turn.get("id"))
        self.requests = {key: one for key, one in self.requests.items() if one[1].turn != over}
        if thread.turn in ("", over):
            self._rest(thread, at)

    def under_way(self, id: str, turn: Mapping[str, Any]) -> None:
        """A turn whose beginning was missed."""
        thread = self.threads.get(id)
        if thread is None or not thread.active:
            return
        thread.turn = thread.turn or string(turn.get("id"))
        for item in objects(turn.get("items")):
            if string(item.get("status")) == "inProgress" and string(item.get("id")) not in thread.changes:
                self._begin_item(thread, item)

    def missed(self, id: str, turn: Mapping[str, Any], since: float) -> None:
        """A turn was over before its items came to us; it counts if it ended after `since` (seconds since 1970)."""
        thread = self.threads.get(id)
        if thread is not None and number(turn.get("completedAt")) >= int(since):
            self.complete(id, turn, thread.since)

    def join(self, id: str, told: Mapping[str, Any]) -> None:
        """Its requests and its items come to us from now on; `told`: what the server said to that."""
        if (thread := self.threads.get(id)) is not None:
            thread.joined = True
            thread.permissions = permissions_told(told) or thread.permissions

    def permit(self, id: str, permissions: Permissions) -> None:
        """The server has taken these; of a thread that is not joined, it does not tell that."""
        if (thread := self.threads.get(id)) is not None:
            thread.permissions = permissions

    def prompted(self, id: str, turn: str, now: float) -> None:
        """A prompt of ours was taken, in this turn."""
        if (thread := self.threads.get(id)) is not None:
            if thread.turn != turn:
                thread.turn, thread.said, thread.trouble = turn, "", ""
            self._work(thread, now)

    def _hear(self, thread: CodexThread, status: Mapping[str, Any], at: float) -> None:
        thread.heard = thread.heard or bool(status)
        self._status(thread, status, at)

    def _status(self, thread: CodexThread, status: Mapping[str, Any], at: float) -> None:
        kind = string(status.get("type"))
        if kind == "active":
            self._work(thread, at)
            thread.waits = bool(strings(status.get("activeFlags")))
        elif kind in ("idle", "systemError", "notLoaded"):
            self._rest(thread, at)

    @staticmethod
    def _work(thread: CodexThread, at: float) -> None:
        if not thread.active:
            thread.active, thread.since = True, at

    @staticmethod
    def _rest(thread: CodexThread, at: float) -> None:
        if thread.active or not thread.since:
            thread.since = at
        thread.active = thread.waits = False
        thread.turn = ""
        thread.running.clear()
        thread.changes.clear()

    def _adopt(self, thread: CodexThread, helpers: Sequence[str], at: float) -> None:
        """It has started these: they are its helpers, at work, before anybody has described them, and maybe longer than
        its turn lasts.
        """
        for id in helpers:
            if id not in self.threads and len(self.threads) < _MOST_THREADS:
                self.threads[id] = CodexThread(id, parent=thread.id)
                if (told := self._told_of(id)) is not None:
                    self._hear(self.threads[id], *told)
            if (helper := self.threads.get(id)) is not None and not helper.heard:
                self._work(helper, at)

    def _begin_item(self, thread: CodexThread, item: Mapping[str, Any]) -> None:
        kind, id = string(item.get("type")), string(item.get("id"))
        if kind == "fileChange" and len(thread.changes) < _MOST_ITEMS:
            thread.changes[id] = objects(item.get("changes"))
            thread.running[id] = ", ".join(string(change.get("path")) for change in thread.changes[id])
            self._ask_again(id)
        elif kind in ("commandExecution", "mcpToolCall", "dynamicToolCall", "collabAgentToolCall", "webSearch"):
            about = (
                command_line(string(item.get("command")))
                or string(item.get("tool"))
                or string(item.get("query"))
                or kind
            )
            if len(thread.running) < _MOST_ITEMS:
                thread.running[id] = one_line(about, _DOING)

    def _ask(self, message: ServerMessage) -> None:
        thread = self.threads.get(string(message.params.get("threadId")))
        changes = thread.changes.get(string(message.params.get("itemId")), []) if thread is not None else []
        request = request_of(message, changes)
        if thread is None or request is None or len(self.requests) >= _MOST_REQUESTS:
            return
        self.requests[request.id] = (message, request)

    def _ask_again(self, item: str) -> None:
        """The changes of an item have become known, about which there is a question already."""
        for message, _ in list(self.requests.values()):
            if message.method == CHANGE and string(message.params.get("itemId")) == item:
                self._ask(message)

    def _forget(self, id: str) -> None:
        self.threads.pop(id, None)
        self.requests = {key: one for key, one in self.requests.items() if one[1].thread != id}
        if self.main == id:
            self.main = next((one.id for one in reversed(self.threads.values()) if not one.parent), "")

    # -- what is known ---------------------------------------------------------------------------------------------

    def family(self) -> list[CodexThread]:
        """The thread of its screen, and those of its helpers."""
        found: dict[str, CodexThread] = {}
        for thread in self.threads.values():  # a helper comes after the one that started it
            if thread.id == self.main or thread.parent in found:
                found[thread.id] = thread
        return list(found.values())

    @property
    def asked(self) -> CodexRequest | None:
        """The question that is open; of several, the first. A helper's is answered on its screen, which would go on to
        show one that is answered here.
        """
        return next((request for _, request in self.requests.values() if request.thread == self.main), None)

    @property
    def asks(self) -> bool:
        """Whether a question is about to be known."""
        main = self.threads.get(self.main)
        return main is not None and main.waits

    def find(self, question: str) -> CodexRequest | None:
        return next((request for _, request in self.requests.values() if request.question.id == question), None)

    @property
    def activity(self) -> Activity:
        """What it does now; empty while its screen is in no conversation."""
        family = self.family()
        if not family:
            return ""
        working = [thread for thread in family if thread.active]
        if any(thread.waits for thread in working) or self.asked is not None:
            return "waiting"
        return "tool" if any(thread.running for thread in working) else "thinking" if working else "idle"

    @property
    def since(self) -> float:
        """Since when it works or rests; seconds since 1970."""
        family = self.family()
        working = [thread.since for thread in family if thread.active]
        return min(working) if working else max((thread.since for thread in family), default=0.0)

    @property
    def doing(self) -> str:
        """What it does, in a few words."""
        if self.activity == "waiting":
            return self.asked.question.subject if self.asked is not None else ""
        running = [about for thread in self.family() for about in thread.running.values()]
        main = self.threads.get(self.main)
        return running[-1] if running else main.trouble if main is not None and not main.active else ""

    @property
    def permissions(self) -> Permissions | None:
        """What the conversation of its screen may do unasked."""
        main = self.threads.get(self.main)
        return main.permissions if main is not None else None

    @property
    def answer(self) -> str:
        """What it said last in the turn that is over; empty while it works."""
        main = self.threads.get(self.main)
        return main.said if main is not None and self.activity == "idle" else ""

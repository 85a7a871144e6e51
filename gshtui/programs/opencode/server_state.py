"""What an OpenCode server has said of its conversations: which work, what they ask, and in which its screen is.

Pure: answers and events in, facts out. The conversations of helpers belong to the one that started them; what they do
and ask counts as well. All of one server belong to one screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from gshtui.programs.opencode.server_questions import ServerRequest, permission_request, question_request
from gshtui.programs.transcripts.program_transcript import (
    seconds,
)
from gshtui.system.json_types import obj, seq, string
from gshtui.text.sanitise import one_line

_MOST_SESSIONS, _MOST_REQUESTS = 300, 60
_TAKEN_UP = 15.0
"""Seconds within which a prompt that the server has taken leads to work."""
Activity = Literal["thinking", "tool", "waiting", "idle"]


class _Session(msgspec.Struct):
    """One conversation."""

    parent: str = ""
    works: bool = False
    doing: str = ""
    running: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Calls under way: part → what it is about."""
    prompted: float = 0.0
    """When it got the prompt that it has yet to take up; 0: there is none."""


class ServerState(msgspec.Struct):
    """See the module. `since`: since when it does what it does, seconds since 1970."""

    sessions: dict[str, _Session] = msgspec.field(default_factory=dict[str, _Session])
    requests: dict[str, ServerRequest] = msgspec.field(default_factory=dict[str, ServerRequest])
    """What waits for an answer, the oldest first."""
    conversation: str = ""
    """The one that was given a prompt last; empty: none was."""
    since: float = 0.0

    # -- what comes in ---------------------------------------------------------------------------------------------

    def begin(self, statuses: object, permissions: object, questions: object, now: float) -> None:
        """Everything as it stands now, in place of what was known."""
        before = self.activity(now)
        for session in self.sessions.values():
            session.works, session.running, session.prompted = False, {}, 0.0
        for id, status in obj(statuses).items():
            self._status(id, obj(status), now)
        self.requests.clear()
        for each in seq(permissions):
            self._ask(permission_request(obj(each), self._call_of(each), now))
        for each in seq(questions):
            self._ask(question_request(obj(each), now))
        if self.activity(now) != before or not self.since:
            self.since = now

    def handle_event(self, event: Mapping[str, Any], now: float) -> None:
        """One event."""
        before = self.activity(now), self.asked
        self._handle(string(event.get("type")), obj(event.get("properties")), now)
        if (self.activity(now), self.asked) != before:
            self.since = now

    def answered_in_part(
        self, request: ServerRequest, given: Sequence[Sequence[str]], chosen: Sequence[str] = ()
    ) -> None:
        """Of several questions in one, the first ones have answers, or of several answers to one some are chosen: the
        rest is asked."""
        rest = question_request(request.told, request.at, given, chosen)
        if request.id in self.requests and rest is not None:
            self.requests[request.id] = rest

    def prompted(self, session: str, now: float) -> None:
        """A prompt was given that it has yet to take up."""
        self._session(session).prompted = now
        self.conversation = session
        self.since = now

    def _handle(self, kind: str, told: dict[str, Any], now: float) -> None:
        id = string(told.get("sessionID"))
        match kind:
            case "session.created" | "session.updated":
                info = obj(told.get("info"))
                if id := string(info.get("id")):
                    self._session(id).parent = string(info.get("parentID"))
            case "session.deleted":
                gone = string(obj(told.get("info")).get("id")) or id
                self.sessions.pop(gone, None)
                self.requests = {name: each for name, each in self.requests.items() if each.session != gone}
            case "session.status":
                self._status(id, obj(told.get("status")), now)
            case "session.idle":
                self._status(id, {"type": "idle"}, now)
            case "message.updated":
                self._message(id, obj(told.get("info")), now)
            case "message.part.updated":
                self._part(obj(told.get("part")))
            case "permission.asked":
                self._ask(permission_request(told, self._call_of(told), now))
            case "question.asked":
                self._ask(question_request(told, now))
            case "permission.replied" | "question.replied" | "question.rejected":
                self.requests.pop(string(told.get("requestID")), None)
            case _:
                pass

    def _session(self, id: str) -> _Session:
        if id not in self.sessions and len(self.sessions) >= _MOST_SESSIONS:
            rests = next((one for one, each in self.sessions.items() if not each.works), next(iter(self.sessions)))
            del self.sessions[rests]
        return self.sessions.setdefault(id, _Session())

    def _status(self, id: str, status: Mapping[str, Any], now: float) -> None:
        if not id:
            return
        session = self._session(id)
        kind = string(status.get("type"))
        session.works = kind in ("busy", "retry")
        session.prompted = 0.0
        session.doing = one_line(f"tries again: {string(status.get('message'))}", 160) if kind == "retry" else ""
        if not session.works:
            session.running.clear()
        elif not session.parent:
            self.conversation = id

    def _message(self, id: str, info: Mapping[str, Any], now: float) -> None:
        """A prompt that has just been taken; the same message is told again later."""
        created = seconds(obj(info.get("time")).get("created"))
        session = self._session(id) if id else None
        if session is None or info.get("role") != "user" or session.works or abs(now - created) > _TAKEN_UP:
            return
        if not obj(info.get("summary")):  # it is told with one once its turn is over
            session.prompted = now

    def _part(self, part: Mapping[str, Any]) -> None:
        session = self.sessions.get(string(part.get("sessionID")))
        id, state = string(part.get("id")), obj(part.get("state"))
        if session is None or part.get("type") != "tool" or not id:
            return
        if string(state.get("status")) == "running":
            given = obj(state.get("input"))
            about = next((string(given.get(name)) for name in _ABOUT if string(given.get(name))), "")
            session.running[id] = one_line(f"{string(part.get('tool'))} {about}".strip(), 160)
        elif string(state.get("status")) in ("completed", "error"):
            session.running.pop(id, None)

    def _call_of(self, asked: object) -> str:
        """The session of a helper's request has a parent: whose helper asks is part of the question."""
        id = string(obj(asked).get("sessionID"))
        session = self.sessions.get(id)
        return "one of its helpers" if session is not None and session.parent else ""

    def _ask(self, request: ServerRequest | None) -> None:
        if request is not None and len(self.requests) < _MOST_REQUESTS:
            self.requests.setdefault(request.id, request)

    # -- what is known ---------------------------------------------------------------------------------------------

    @property
    def asked(self) -> ServerRequest | None:
        """The oldest open request."""
        return next(iter(self.requests.values()), None)

    def find(self, question: str) -> ServerRequest | None:
        """The open request with the question of this id."""
        return next((each for each in self.requests.values() if each.question.id == question), None)

    def working(self) -> Sequence[str]:
        """The conversations that work, helpers last."""
        works = [id for id, each in self.sessions.items() if each.works]
        return sorted(works, key=lambda id: bool(self.sessions[id].parent))

    def activity(self, now: float) -> Activity:
        """What it does."""
        if self.requests:
            return "waiting"
        works = [each for each in self.sessions.values() if each.works]
        if any(each.running for each in works):
            return "tool"
        return "thinking" if works or self.expects_work(now) else "idle"

    def expects_work(self, now: float) -> float:
        """Seconds for which a prompt may yet lead to work; 0: there is none."""
        newest = max((each.prompted for each in self.sessions.values()), default=0.0)
        return max(0.0, newest + _TAKEN_UP - now)

    @property
    def doing(self) -> str:
        """What it does, in a few words."""
        if self.asked is not None:
            return self.asked.question.subject
        works = [each for each in self.sessions.values() if each.works]
        running = [about for each in works for about in each.running.values()]
        return running[-1] if running else next((each.doing for each in works if each.doing), "")


_ABOUT = ("command", "filePath", "description", "pattern", "url", "query", "path")
"""What says what a call of a tool is about."""

"""What a server has refused, and is not sent again: signatures of earlier answers, and fields of requests.

One for each adapter, so it is remembered for as long as the process has this server; refused fields for some days, by
all processes, once a request without them was answered. What another model has signed is left out from the first
request on. The windows that models really have are learnt from refusals, too; their file is in the state folder, and
whoever cannot read or write it goes without.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from gshtui.bus.messages import Message, Text, Thinking, ToolCall
from gshtui.providers.port import ProviderError, Request
from gshtui.providers.wire import wire_history
from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.system.json_types import is_object

FILE = "model-windows.json"
_KEPT = 7 * 86_400.0
"""Seconds after which it is learnt anew: servers are set up anew, too."""
_MOST = 500


class LearntWindows:
    """The windows by model (`provider/model`), in tokens."""

    def __init__(self) -> None:
        self._own: dict[str, int] = {}
        self._shared: dict[str, int] | None = None
        """What was learnt before, also by others."""
        self._suspected: dict[str, int] = {}

    def window_of(self, key: str, *, known: bool) -> int:
        """The window of a model; 0: nothing smaller was learnt. `known`: the catalog or the provider names its window:
        then only what this process has seen counts.
        """
        if window := self._suspected.get(key) or self._own.get(key):
            return window
        if known:
            return 0
        if self._shared is None:
            self._shared = {name: window for name, (window, _) in _read().items()}
        return self._shared.get(key, 0)

    def learn(self, key: str, window: int) -> None:
        """A server has said that it is smaller."""
        self._suspected.pop(key, None)
        self._own[key] = window
        _keep({key: window})

    def suspect(self, key: str, window: int) -> None:
        """It may be smaller: this counts until `confirm` or `forget`."""
        self._suspected[key] = window

    def confirm(self, key: str) -> None:
        """The model has answered a request of a suspected window."""
        if key in self._suspected:
            self.learn(key, self._suspected[key])

    def forget(self, key: str) -> None:
        self._suspected.pop(key, None)


class RefusedFields:
    """The fields that a server has refused for a model.

    Args:
        server: its address and API; kept as a hash, since an address may hold a password.
    """

    def __init__(self, server: str) -> None:
        self._server = hashlib.blake2b(server.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def known(self, model: str) -> set[str]:
        """Those that were refused before, also to others. Reads a file."""
        start = self._key(model, "")
        return {name.removeprefix(start) for name in _read() if name.startswith(start)}

    def learn(self, model: str, fields: Iterable[str]) -> None:
        """A request was refused with them, and answered without."""
        _keep({self._key(model, field): 1 for field in fields})

    def _key(self, model: str, field: str) -> str:
        return f"without {self._server} {model} {field}"


def _keep(learnt: dict[str, int]) -> None:
    now = time.time()
    entries = {**_read(), **{name: (value, now) for name, value in learnt.items()}}
    newest = sorted(entries.items(), key=lambda item: item[1][1])[-_MOST:]
    with contextlib.suppress(OSError, paths.FolderError):
        private_files.write_whole(paths.state_dir() / FILE, json.dumps(dict(newest)).encode())


def _read() -> dict[str, tuple[int, float]]:
    try:
        found: Any = json.loads((paths.state_dir(create=False) / FILE).read_text("utf-8"))
        entries = found.items() if is_object(found) else ()
        read = {name: (int(window), float(at)) for name, (window, at) in entries}
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
    now = time.time()
    return {name: (window, at) for name, (window, at) in read.items() if window > 0 and now - _KEPT < at <= now + 60}


class Refusals:
    """See the module's text.

    Args:
        server: whose refusals these are: its address and API.
        api: the key of the signatures; empty: this API has none.
        fields: those of a body that a server may not know, each with the name to send instead; empty: none.
        signs: words of a refusal for signatures.
    """

    def __init__(self, server: str, api: str, fields: Mapping[str, str], signs: tuple[str, ...] = ()) -> None:
        self._api = api
        self._fields = fields
        self._signs = signs
        self._messages: set[str] = set()
        """Ids of the messages whose signatures were refused."""
        self._bare: dict[str, tuple[Message, Message]] = {}
        self._refused: dict[str, set[str]] = {}
        """Model → the fields that its server has refused."""
        self._learning: dict[str, set[str]] = {}
        """Those of them without which nothing was answered yet."""
        self._kept = RefusedFields(server)

    def usable(self, request: Request) -> Request:
        """The request without signatures that are of another model, or were refused."""
        if not self._api:
            return request
        model = _name(request.model)
        kept = tuple(
            message if self._holds(message, model) else self._unsigned(message) for message in request.messages
        )
        return (
            replace(request, messages=kept)
            if any(a is not b for a, b in zip(kept, request.messages, strict=True))
            else request
        )

    def _holds(self, message: Message, model: str) -> bool:
        same = not message.model or _name(message.model) == model
        return (
            message.role != "assistant" or (same and message.id not in self._messages) or not self._is_signed(message)
        )

    def _is_signed(self, message: Message) -> bool:
        return any(isinstance(b, Text | Thinking | ToolCall) and self._api in b.opaque for b in message.blocks)

    def _unsigned(self, message: Message) -> Message:
        known = self._bare.get(message.id)
        if known is None or known[0] is not message:
            request = Request("", (), (message,))
            known = self._bare[message.id] = (message, wire_history.without_opaque(request, self._api).messages[0])
        return known[1]

    def fitted(self, model: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body without the fields that the server has refused for this model."""
        refused = self._of(model)
        if not refused:
            return body
        names = {name: self._fields[name] if name in refused else name for name in body}
        return {names[name]: value for name, value in body.items() if names[name]}

    def relieve(self, error: ProviderError, request: Request, body: dict[str, Any]) -> Request | None:
        """Note what the error refuses. Returns the request to send instead; `None`: the error names nothing."""
        if error.kind != "bad_request":
            return None
        said = error.message.lower()
        refused = self._of(request.model)
        named = [name for name in self._fields if name in body and name in said and name not in refused]
        if any(sign in said for sign in self._signs):
            signed = {message.id for message in request.messages if self._is_signed(message)}
            if signed:
                self._messages |= signed
                return self.usable(request)
        learning = self._learning.setdefault(request.model, set())
        if not named:  # what was left out was not it
            refused -= learning
            learning.clear()
            return None
        learning.add(max(named, key=len))
        refused |= learning
        return request

    def answered(self, model: str) -> None:
        """A request was answered: what it was sent without is kept."""
        if learning := self._learning.pop(model, None):
            self._kept.learn(model, learning)

    def _of(self, model: str) -> set[str]:
        if model not in self._refused:
            self._refused[model] = self._kept.known(model) & self._fields.keys() if self._fields else set()
        return self._refused[model]


def _name(model: str) -> str:
    return model.removeprefix("models/")

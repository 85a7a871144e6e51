"""What servers' refusals show of their models, kept for a while, so that each is learnt once: the windows that models
really have, and the fields of requests that are not known there.

A file of the state folder; whoever cannot read or write it goes without. Never raises.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterable
from typing import Any

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

"""A provider's key from the system's keyring, for `[providers.*] keyring`. Read only: nothing is ever written there.

The package `keyring` is optional (`pip install 'gsh-tui[keyring]'`) and imported when a key is wanted. The keyring may
ask the person to unlock it, or not answer at all, so the wait has a limit, after which there is no key.
"""

from __future__ import annotations

import functools
import importlib
import threading
from typing import Any

_WITHIN = 20.0
"""Seconds in which a person can unlock the keyring."""


@functools.lru_cache(maxsize=32)
def keyring_key(service: str, name: str) -> str:
    """The password of this name of a service; empty: there is none, or no keyring that answers. Blocks.

    Args:
        service: as the keyring calls it, such as `gsh-tui`.
        name: the user name in it: the variable that would hold the key otherwise.
    """
    found: list[str] = []
    reading = threading.Thread(target=_read, args=(service, name, found), name="keyring", daemon=True)
    reading.start()
    reading.join(_WITHIN)
    return found[0] if found else ""


def _read(service: str, name: str, found: list[str]) -> None:
    try:
        keyring: Any = importlib.import_module("keyring")
        found.append(str(keyring.get_password(service, name) or "").strip())
    except Exception:  # noqa: S110 - its back ends raise whatever they like: there is no key then, which is said
        pass

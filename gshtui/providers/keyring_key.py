"""Entries of the system's keyring: a provider's key for `[providers.*] keyring`, a value of an account of agents.

Read only: nothing is ever written there. The package `keyring` is optional (`pip install 'gsh-tui[keyring]'`) and
imported when an entry is wanted. The keyring may ask the person to unlock it, or not answer at all, so the wait has a
limit.
"""

from __future__ import annotations

import functools
import importlib
import threading
from dataclasses import dataclass
from typing import Any, Literal

_WITHIN = 20.0
"""Seconds in which a person can unlock the keyring for a provider's key."""


@dataclass(frozen=True, slots=True)
class KeyringEntry:
    """What the keyring has of a name.

    `trouble`: absent: the package is not installed; failed: it raised an error; silent: it did not answer in time.
    """

    text: str = ""
    trouble: Literal["", "absent", "failed", "silent"] = ""
    error: str = ""
    """The type of the error that it raised."""


def read_keyring(service: str, name: str, within: float) -> KeyringEntry:
    """The password of this name of a service, empty where there is none. Blocks for at most `within` seconds."""
    found: list[KeyringEntry] = []
    reading = threading.Thread(target=_read, args=(service, name, found), name="keyring", daemon=True)
    reading.start()
    reading.join(within)
    return found[0] if found else KeyringEntry(trouble="silent")


@functools.lru_cache(maxsize=32)
def keyring_key(service: str, name: str) -> str:
    """A provider's key; empty: there is none, or no keyring that answers. Blocks.

    Args:
        service: as the keyring calls it, such as `gsh-tui`.
        name: the user name in it: the variable that would hold the key otherwise.
    """
    return read_keyring(service, name, _WITHIN).text.strip()


def _read(service: str, name: str, found: list[KeyringEntry]) -> None:
    try:
        keyring: Any = importlib.import_module("keyring")
    except ImportError:
        found.append(KeyringEntry(trouble="absent"))
        return
    except Exception as error:
        found.append(KeyringEntry(trouble="failed", error=type(error).__name__))
        return
    try:
        found.append(KeyringEntry(str(keyring.get_password(service, name) or "")))
    except Exception as error:  # each system's keyring has errors of its own
        found.append(KeyringEntry(trouble="failed", error=type(error).__name__))

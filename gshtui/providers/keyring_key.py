"""Entries of the system's keyring: a provider's key for `[providers.*] keyring`, a value of an account of agents.

Only `gsh-tui login` and `logout` write there. The package `keyring` is optional (`pip install keyring`) and
imported when an entry is wanted. The keyring may ask the person to unlock it, or not answer at all, so the wait has a
limit.
"""

from __future__ import annotations

import functools
import importlib
import threading
from typing import Any, Literal

import msgspec

_WITHIN = 20.0
"""Seconds in which a person can unlock the keyring for a provider's key."""


class KeyringEntry(msgspec.Struct, frozen=True):
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


def write_keyring(service: str, name: str, text: str | None, within: float) -> str:
    """Keep a password under this name of a service, or with `None` remove it; returns why it was not, or nothing.

    Blocks for at most `within` seconds.
    """
    found: list[str] = []
    writing = threading.Thread(target=_write, args=(service, name, text, found), name="keyring", daemon=True)
    writing.start()
    writing.join(within)
    return found[0] if found else f"the keyring did not answer within {within:g} s"


def _write(service: str, name: str, text: str | None, found: list[str]) -> None:
    try:
        keyring: Any = importlib.import_module("keyring")
        if text is not None:
            keyring.set_password(service, name, text)
        elif keyring.get_password(service, name) is not None:
            keyring.delete_password(service, name)
        found.append("")
    except ImportError:
        found.append("the package keyring is not installed beside gsh-tui (`pip install keyring`)")
    except Exception as error:  # each system's keyring has errors of its own; none of their words is shown
        found.append(f"the system has no keyring that works ({type(error).__name__})")


@functools.lru_cache(maxsize=32)
def keyring_key(service: str, name: str) -> str:
    """A provider's key, under the variable that would hold it otherwise; empty: none, or no keyring answers. Blocks."""
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

"""The base of every event: an immutable, typed record of a fact or an intent, with plain data only.

Facts are named in the past tense, intents `…Requested`, `…Submitted` or `…Answered`. Each family has a file in
`events/`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type", omit_defaults=True):
    """Base of all events. The class name is the type's name on the wire."""

    at: float = 0.0
    """Seconds since the epoch, stamped when published if it is 0."""
    beyond: dict[str, Any] = {}
    """Fields from a newer version, kept so that a relay passes them on."""

    def merge_key(self) -> Hashable | None:
        """Events with the same key may be merged when a subscriber falls behind; `None`: never merged."""
        return None

    def merged_with(self, newer: Event) -> Event:
        """Merge with a `newer` event of the same key. For states, the newer one wins."""
        return newer


class Unknown(Event, frozen=True, kw_only=True):
    """An event of a type unknown to this version; `fields` holds all its data."""

    name: str
    fields: dict[str, Any] = {}

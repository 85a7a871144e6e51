"""What every event is: an immutable, typed record of a fact or an intent, plain data only.

Facts are named in the past tense, intents `…Requested`, `…Submitted` or `…Answered`. Each family has a file in
`events/`. Nothing here knows who listens.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type", omit_defaults=True):
    """Base of all events. The type's name on the wire is the class's name."""

    at: float = 0.0
    """Seconds since the epoch, stamped when published if it is 0."""
    beyond: dict[str, Any] = {}
    """Fields that a newer version sent: kept, so that a relay passes them on."""

    def merge_key(self) -> Hashable | None:
        """Events with the same key may be merged when a subscriber falls behind; `None`: never merged."""
        return None

    def merged_with(self, newer: Event) -> Event:
        """One event in place of this one and a `newer` one of the same key. States: the newer one wins."""
        return newer


class Unknown(Event, frozen=True, kw_only=True):
    """An event of a type that this version does not know; `fields` is all it said."""

    name: str
    fields: dict[str, Any] = {}

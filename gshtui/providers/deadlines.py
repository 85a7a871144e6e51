"""How long a provider may take to connect, to begin and to go on. Plain data, no I/O.

Refuses nothing; `transport.py` keeps the deadlines. Made by `select.py`, shorter by tests.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds. A server's keep-alive bytes count as bytes, so a long thought is not a hang."""

    connect: float = 10.0
    """To a connection, with TLS."""
    first_byte: float = 120.0
    """From the request to the first byte of the answer's body."""
    between: float = 120.0
    """Between two pieces of the answer."""

"""How two ends of a connection show each other that they know a secret without saying it.

Pure. A process that merely may connect can neither speak for an agent nor answer its questions. Called by listener and
link.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Literal


def nonce() -> str:
    """A fresh challenge."""
    return secrets.token_hex(16)


def proof(secret: str, side: Literal["hub", "client"], challenge: str) -> str:
    """The answer to the other side's challenge. `side` is part of it: no answer can be sent back as one's own."""
    return hmac.new(secret.encode(), f"gsh {side} {challenge}".encode(), hashlib.sha256).hexdigest()


def holds(secret: str, side: Literal["hub", "client"], challenge: str, answer: object) -> bool:
    """Whether the answer is the right one. Never without a secret or a challenge."""
    if not secret or not challenge or not isinstance(answer, str):
        return False
    return hmac.compare_digest(proof(secret, side, challenge).encode(), answer.encode("utf-8", "replace"))

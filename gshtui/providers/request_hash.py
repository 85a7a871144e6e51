"""The bytes of a request: their hash, and whether a body rendered later is what went out.

Pure. Owns the two ways in which the SDKs write JSON. Called by the rooms when they send, and by the context when
somebody wants to read a request exactly.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def hash_of(content: bytes) -> str:
    """What identifies the bytes of a request: 32 hexadecimal digits, a millisecond a megabyte."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def hash_of_response(response: Any) -> str:
    """The hash of what was sent to get this response; empty where its client did not keep that."""
    content = getattr(getattr(response, "request", None), "content", None)
    return hash_of(content) if isinstance(content, bytes) else ""


def encodings(body: dict[str, Any]) -> tuple[bytes, ...]:
    """The body as the SDKs may write it: `httpx`'s way, and Python's own."""
    compact = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return compact.encode("utf-8", "replace"), json.dumps(body).encode()


def hash_of_body(body: dict[str, Any]) -> str:
    """The hash of a request of which no answer can tell: it failed, or was interrupted. Empty for what is no JSON."""
    try:
        return hash_of(encodings(body)[0])
    except (TypeError, ValueError):
        return ""


def was_sent(body: dict[str, Any], sent: str) -> bool:
    """Whether this body, byte for byte, is what has this hash."""
    return bool(sent) and any(hash_of(content) == sent for content in encodings(body))


def text_of(body: dict[str, Any]) -> str:
    """The body as JSON for people: what is sent, with the white space of an outline."""
    return json.dumps(body, ensure_ascii=False, indent=2)

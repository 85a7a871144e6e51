"""Hashes the bytes of a request, and checks whether a body rendered later is identical to what was sent.

Pure. Knows the ways in which we and the SDKs write JSON. Called by the adapters when they send, and by the context when
somebody reads a request exactly.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec


def hash_of(content: bytes) -> str:
    """What identifies the bytes of a request: 32 hexadecimal digits, a millisecond a megabyte."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def hash_of_response(response: Any) -> str:
    """The hash of the request behind this response; empty if its client did not keep it."""
    content = getattr(getattr(response, "request", None), "content", None)
    return hash_of(content) if isinstance(content, bytes) else ""


def encoded(body: dict[str, Any]) -> bytes:
    """The body as our own adapters write it: seven times as fast as Python's own way, on which it falls back."""
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, OverflowError):
        return _compact(body)


def encodings(body: dict[str, Any]) -> tuple[bytes, ...]:
    """The body as we and the SDKs may write it: `httpx`'s way, Python's own, and ours."""
    return _compact(body), json.dumps(body).encode(), encoded(body)


def _compact(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")


def hash_of_body(body: dict[str, Any]) -> str:
    """The hash of a request that failed or was interrupted, so that no response has it. Empty if it is not JSON."""
    try:
        return hash_of(_compact(body))
    except (TypeError, ValueError):
        return ""


def was_sent(body: dict[str, Any], sent: str) -> bool:
    """Whether this body, byte for byte, is what has this hash."""
    return bool(sent) and any(hash_of(content) == sent for content in encodings(body))


def text_of(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2)

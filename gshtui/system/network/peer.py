"""Who is at the other end of a Unix socket: user and process from the kernel, and proof of a shared secret.

Never sends the secret itself.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path
from typing import Literal, NamedTuple

_LOCAL_PEERCRED, _LOCAL_PEERPID, _SOL_LOCAL = 0x001, 0x002, 0
"""macOS's constants, which Python lacks."""


class Peer(NamedTuple):
    """The process at the other end; `pid` is 0 if the system does not tell."""

    uid: int
    pid: int = 0

    @property
    def is_us(self) -> bool:
        return self.uid == os.getuid()


_NAMESPACES = ("mnt", "net", "pid", "user")
"""What decides which files, addresses, processes and rights a process sees."""
_RESTRICTIONS = frozenset({"NoNewPrivs", "Seccomp"})
"""What a sandbox without namespaces sets, such as one of Landlock; larger: more is forbidden."""


def sees_the_same(peer: Peer) -> bool:
    """Whether the peer sees the files, addresses and processes that this process sees, and no sandbox forbids it more.

    False where that cannot be told. Only Linux has namespaces.
    """
    if not sys.platform.startswith("linux"):
        return True
    try:
        if not all(Path("/proc/self/ns", name).samefile(Path(f"/proc/{peer.pid}/ns", name)) for name in _NAMESPACES):
            return False
        ours, theirs = _restrictions("self"), _restrictions(peer.pid)
        return all(theirs.get(name, 0) <= ours.get(name, 0) for name in _RESTRICTIONS)
    except (OSError, ValueError):
        return False


def _restrictions(pid: int | str) -> dict[str, int]:
    """Raises `OSError`, `ValueError`."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return {name: int(text) for name, _, text in (line.partition(":") for line in lines) if name in _RESTRICTIONS}


def peer_of(connected: socket.socket) -> Peer:
    """Who connected, or who listens. Raises `OSError`: the system does not tell; the connection must not be used."""
    if sys.platform.startswith("linux"):
        size = struct.calcsize("3i")
        pid, uid, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        return Peer(uid, pid)
    raw = connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
    _version, uid = struct.unpack_from("<Ii", raw)
    try:
        (pid,) = struct.unpack("<i", connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
    except OSError:
        pid = 0
    return Peer(uid, pid)


def nonce() -> str:
    import secrets  # most connections prove nothing

    return secrets.token_hex(16)


def proof(secret: str, side: Literal["hub", "client"], challenge: str) -> str:
    """The answer to the other side's challenge. It includes `side`, so that an answer cannot be sent back as one's
    own.
    """
    import hashlib
    import hmac

    return hmac.new(secret.encode(), f"gsh {side} {challenge}".encode(), hashlib.sha256).hexdigest()


def holds(secret: str, side: Literal["hub", "client"], challenge: str, answer: object) -> bool:
    """Whether the answer is right. False without a secret or a challenge."""
    import hmac

    if not secret or not challenge or not isinstance(answer, str):
        return False
    return hmac.compare_digest(proof(secret, side, challenge).encode(), answer.encode("utf-8", "replace"))

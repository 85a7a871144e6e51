"""Who may see the window in a browser: whoever has the token, from a page of ours, under an address of ours. Pure.

A token makes the owner, another one a viewer, who sees and cannot type. Any page of the web can send requests to this
machine, and any name can be made to mean it: so the token alone is not enough, and a missing one is never told apart
from a wrong one.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["owner", "viewer"]
_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class WebAccess:
    """The tokens of one run of the server, and the addresses under which it may be asked."""

    port: int
    owner: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    viewer: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def hosts(self) -> frozenset[str]:
        """What the `Host` of a request may be."""
        return frozenset(f"{name}:{self.port}" for name in _NAMES)

    def cookie(self, role: Role) -> str:
        """The cookie's name: a browser sends the cookies of all ports alike."""
        return f"gsh-{self.port}-{role}"

    def token(self, role: Role) -> str:
        """The token that makes somebody this."""
        return self.owner if role == "owner" else self.viewer

    def is_token(self, given: str, role: Role) -> bool:
        """Whether it is the token; takes as long for any wrong one of its length."""
        return hmac.compare_digest(given.encode(errors="replace"), self.token(role).encode())

    def is_ours(self, headers: Mapping[str, str], *, needs_origin: bool = False) -> bool:
        """Whether a request names this server, and comes from no page of another one.

        Args:
            needs_origin: it must say where it comes from, as browsers do for a websocket.
        """
        host = headers.get("Host", "")
        if host not in self.hosts:
            return False
        origin = headers.get("Origin")
        if origin is None:
            return not needs_origin
        return origin == f"http://{host}"


def is_loopback(host: str) -> bool:
    """Whether an address to listen on reaches this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"

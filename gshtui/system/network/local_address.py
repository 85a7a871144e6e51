"""What a server on this machine may be asked as: its own names with its own port, by no page of another server. Pure.

Any page of the web can send requests to this machine, any name can be made to mean it, and a page that another port of
it serves counts as the same site to a browser. So `Host` and `Origin` are compared whole, port included.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

import msgspec


class LocalAddress(msgspec.Struct, frozen=True):
    """Where a server on this machine listens."""

    host: str
    """An address, or `localhost`; with or without brackets."""
    port: int

    @property
    def authority(self) -> str:
        """Its own name, as a URL has it."""
        bare = self.host.strip("[]")
        return f"{f'[{bare}]' if ':' in bare else bare}:{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What the `Host` of a request may be."""
        return frozenset({self.authority, f"localhost:{self.port}"})

    def is_ours(self, headers: Mapping[str, str], *, needs_origin: bool = False) -> bool:
        """Whether a request names this server, and comes from no page of another one. `needs_origin`: it must say where
        it comes from, as browsers do for a websocket.
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

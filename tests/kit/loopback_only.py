"""No test reaches the network: sockets of this process connect to loopback and Unix addresses only.

A refused attempt looks to the program like a network that is down, and is kept: the fixture in `tests/conftest.py`
fails the test for it, so that code which swallows the error is found as well.
"""

import contextlib
import errno
import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest

_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "", socket.gethostname()})


def is_local(address: Any) -> bool:
    """Whether a socket address stays on this machine."""
    if not isinstance(address, tuple) or not address:
        return True  # a Unix socket's path, or a family that has no network
    host = address[0]
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host in _LOCAL_NAMES:
        return True
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified


@contextlib.contextmanager
def loopback_only() -> Iterator[list[str]]:
    """Refuse everything else; yields the list of what was refused, as it grows."""
    refused: list[str] = []

    def check(what: str, address: Any) -> None:
        if not is_local(address):
            refused.append(f"{what} {address!r}")
            raise OSError(errno.ENETUNREACH, f"tests may not reach the network: {what} {address!r}")

    connect, connect_ex, sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto
    getaddrinfo = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        check("connect", address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        check("connect", address)
        return connect_ex(self, address)

    def guarded_sendto(self: socket.socket, *args: Any) -> int:
        check("send to", args[-1])
        return sendto(self, *args)

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            check("look up", (host,))
        except OSError as error:
            raise socket.gaierror(socket.EAI_AGAIN, str(error)) from error
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket.socket, "sendto", guarded_sendto)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield refused

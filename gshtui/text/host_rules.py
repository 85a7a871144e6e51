"""Hosts: how one is named in a rule and asked for by a program, and whether the rules cover it. Pure.

A name is read once, in the form that is then looked up, and whatever could be read in two ways is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import msgspec

WEB_PORTS = (80, 443)
"""What a rule without a port covers."""
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
"""A last label of which a resolver makes an address (`127.1`, `0x7f000001`)."""
_PORT = re.compile(r"[0-9]{1,5}")
_LONGEST = 253
_LOCAL = "localhost"
Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class NetworkTarget(msgspec.Struct, frozen=True):
    """What a program wants to reach: a name in lower case or an address, and a port."""

    name: str
    port: int

    def __str__(self) -> str:
        shown = f"[{self.name}]" if ":" in self.name else self.name
        return f"{shown}:{self.port}"


class HostRule(msgspec.Struct, frozen=True):
    """Hosts that may be reached: one by name, all below a name, or a network of addresses.

    Attributes:
        name: in lower case; empty for addresses.
        below: it covers the hosts below the name, and not that of the name itself.
        network: the addresses.
        port: 0 covers those of the web, and -1 all.
    """

    name: str = ""
    below: bool = False
    network: Network | None = None
    port: int = 0

    def covers_port(self, port: int) -> bool:
        return port == self.port or self.port < 0 or (self.port == 0 and port in WEB_PORTS)

    def covers_name(self, name: str) -> bool:
        return name.endswith(f".{self.name}") if self.below else name == self.name


def target(text: str, port: int = 0) -> NetworkTarget:
    """What `host:port` or, with `port` as the default, `host` names. Raises `ValueError`: it is none, or could be read
    in two ways; the message says why.
    """
    host, given = _without_port(text)
    number = _port(given) if given else port
    if not number:
        raise ValueError("it names no port")
    address = _address(host)
    return NetworkTarget(str(address) if address else _name(host), number)


def host_rule(text: str) -> HostRule:
    """The rule written as `pypi.org`, `*.github.com`, `registry.example:8443`, `10.1.2.3` or `10.0.0.0/8`.
    Raises `ValueError`: it is none; the message says why.
    """
    network = _network(text)
    if network is not None:
        return HostRule(network=network, port=-1)
    host, given = _without_port(text.lower())
    port = _port(given) if given else 0
    if address := _address(host):
        return HostRule(network=ip_network(address), port=port)
    below = host.startswith("*.")
    name = _name(host[2:] if below else host)
    if below and "." not in name:
        raise ValueError("it covers too much: name a domain below the top one, such as *.example.org")
    return HostRule(name, below, port=port)


def _network(text: str) -> Network | None:
    if "/" not in text:
        return None
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError("it must be a host or a network of addresses, such as 10.0.0.0/8") from error


def _without_port(text: str) -> tuple[str, str]:
    """(host, port or nothing); an address of version 6 is in brackets where a port follows."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or ":" not in host or (rest and not rest.startswith(":")) or rest == ":":
            raise ValueError("its brackets hold no address")
        return host, rest[1:]
    if text.count(":") > 1:
        return text, ""
    host, colon, port = text.partition(":")
    if colon and not port:
        raise ValueError("its port is missing")
    return host, port


def _port(text: str) -> int:
    if not _PORT.fullmatch(text) or not 0 < int(text) < 65536:
        raise ValueError("its port is no number from 1 to 65535")
    return int(text)


def _address(host: str) -> Address | None:
    if "%" in host:
        raise ValueError("it names an interface")
    try:
        return ip_address(host)
    except ValueError:
        return None


def _name(host: str) -> str:
    name = host.lower() if host.isascii() else ""
    labels = name.split(".")
    if not name or len(name) > _LONGEST or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("it is no name of a host (only a-z, 0-9, - and dots between them)")
    if _NUMBER.fullmatch(labels[-1]):
        raise ValueError("it is a number that could be read as another address")
    return name


def is_public(address: Address) -> bool:
    """Whether it is one of the internet, also where it is wrapped in one of version 6."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is None and any(address in network for network in _TRANSLATED):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))


class HostRules(msgspec.Struct, frozen=True):
    """Which hosts may be reached. A name that leads to an address of a private network needs a rule for that, too."""

    rules: tuple[HostRule, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> HostRules:
        """The rules as written. Raises `ValueError` for one that is none."""
        return cls(tuple(dict.fromkeys(host_rule(text) for text in texts)))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def __or__(self, other: HostRules) -> HostRules:
        return HostRules(tuple(dict.fromkeys((*self.rules, *other.rules))))

    def covers(self, wanted: NetworkTarget) -> bool:
        """Whether a rule names this host, by its name or its address, and the port."""
        try:
            address = ip_address(wanted.name)
        except ValueError:
            return any(
                rule.covers_port(wanted.port) and rule.covers_name(wanted.name) for rule in self.rules if rule.name
            )
        return self._names(address, wanted.port)

    def covers_address(self, wanted: NetworkTarget, address: Address) -> bool:
        """Whether a covered host may be reached at this address."""
        if is_public(address):
            return True
        if wanted.name == _LOCAL and address.is_loopback:
            return True
        return self._names(address, wanted.port)

    def covers_loopback(self) -> bool:
        """Whether a rule names servers of this machine itself."""
        return any(
            rule.name == _LOCAL or (rule.network is not None and rule.network.is_loopback) for rule in self.rules
        )

    def _names(self, address: Address, port: int) -> bool:
        return any(
            rule.covers_port(port) and address.version == rule.network.version and address in rule.network
            for rule in self.rules
            if rule.network is not None
        )

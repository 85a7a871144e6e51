"""The way to an address on the network, as the environment describes it: the proxy, and the certificates that count.

Pure, apart from looking at the files that are named. NO_PROXY decides first, and this machine is never asked through a
proxy. What is wrong with a variable is an `EnvironmentFaultError`, which names it, and is raised only for an address
that needs the variable.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from gshtui.system.expected_error import ExpectedError

_SCHEMES = {"http": "http", "https": "https", "socks5": "socks5", "socks5h": "socks5h", "socks": "socks5h"}
"""How proxies are named, and what the HTTP library calls them. Desktops write `socks`."""
_SYSTEM = "the system's network settings"


class EnvironmentFaultError(ExpectedError):
    """A variable of the environment, or what it names, cannot be used."""


class ProxyRoute(msgspec.Struct, frozen=True):
    """How a request gets to its address."""

    proxy: str = ""
    """The proxy's URL; empty: directly."""
    variable: str = ""
    """What names the proxy."""

    def __str__(self) -> str:
        return f"through the proxy {without_credentials(self.proxy)} of {self.variable}" if self.proxy else "directly"


def without_credentials(url: str) -> str:
    """The URL as it may be shown."""
    head, mark, tail = url.rpartition("@")
    return _printable(f"{head.partition('://')[0]}://***@{tail}" if mark and "://" in head else tail)


def _printable(value: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in value[:300])


def route_to(url: str, environ: Mapping[str, str]) -> ProxyRoute:
    """The way to this address. Raises `EnvironmentFaultError` where the proxy for it cannot be used."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ProxyRoute()  # no address: whoever connects says so
    if not host or is_this_machine(host) or _is_exempt(host, port or (443 if parts.scheme == "https" else 80), environ):
        return ProxyRoute()
    value, variable = _proxy(parts.scheme, host, environ)
    return ProxyRoute(_checked(value, variable), variable) if value else ProxyRoute()


def is_this_machine(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _variable(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Value and name of a variable that is written in small or in large letters; the small ones win."""
    for written in (name, name.upper()):
        if written in environ:
            return environ[written].strip(), written
    return "", ""


def _proxy(scheme: str, host: str, environ: Mapping[str, str]) -> tuple[str, str]:
    for name in (f"{scheme}_proxy", "all_proxy"):
        value, variable = _variable(name, environ)
        if value:
            return value, variable
    if sys.platform == "darwin":
        from urllib.request import getproxies, proxy_bypass

        if not proxy_bypass(host) and (value := getproxies().get(scheme, "")):
            return value, _SYSTEM
    return "", ""


def _checked(value: str, variable: str) -> str:
    """The proxy's URL in the HTTP library's words."""
    scheme, mark, rest = value.partition("://")
    if not mark:
        scheme, rest = "http", value
    known = _SCHEMES.get(scheme.lower())
    unset = "" if variable == _SYSTEM else f", or `unset {variable}`"
    if known is None:
        raise EnvironmentFaultError(
            f"{variable} names the proxy {without_credentials(value)}, but {_printable(scheme)} proxies do not work",
            f"Use http://, https:// or socks5://{unset}.",
        )
    url = f"{known}://{rest}"
    try:
        parts = urlsplit(url)
        usable = (
            bool(parts.hostname) and (parts.port is None or parts.port > 0) and url.isprintable() and " " not in url
        )
    except ValueError:
        usable = False
    if not usable:
        raise EnvironmentFaultError(
            f"{variable} is “{without_credentials(value)}”, which is not the address of a proxy",
            f"Write it as in {variable}=http://proxy.example:3128{unset}.",
        )
    return url


def _is_exempt(host: str, port: int, environ: Mapping[str, str]) -> bool:
    """Whether NO_PROXY names the host: by name or domain, address or network, with or without a port; `*` is all."""
    value, _ = _variable("no_proxy", environ)
    address = _address(host)
    return any(_names(entry, host.lower(), address, port) for entry in value.replace(",", " ").split())


def _names(entry: str, host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, port: int) -> bool:
    entry = entry.lower().rpartition("://")[2]
    if entry == "*":
        return True
    if "/" in entry:
        try:
            network = ipaddress.ip_network(entry.replace("[", "").replace("]", ""), strict=False)
        except ValueError:
            return False
        return address is not None and address in network
    if (exact := _address(entry)) is not None:
        return exact == address
    name, mark, number = entry.rpartition(":")
    if mark:
        if not number.isdecimal() or int(number) != port:
            return False
        entry = name
    if (exact := _address(entry)) is not None:
        return exact == address
    domain = entry.removeprefix("*").strip(".")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def check_certificates(environ: Mapping[str, str]) -> None:
    """Look at the certificates that the environment names. Raises `EnvironmentFaultError`."""
    if file := environ.get("SSL_CERT_FILE", ""):
        try:
            ssl.create_default_context(cafile=file)
        except ssl.SSLError as error:
            raise _unusable("SSL_CERT_FILE", file, "holds no certificate that can be read") from error
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", "") or str(error)
            raise _unusable("SSL_CERT_FILE", file, f"cannot be read: {why}") from error
    elif folder := environ.get("SSL_CERT_DIR", ""):
        parts = folder.split(os.pathsep)
        if not any(os.path.isdir(part) and os.access(part, os.R_OK | os.X_OK) for part in parts):  # noqa: PTH112
            raise _unusable("SSL_CERT_DIR", folder, "is no folder that can be read")


def certificates_named(environ: Mapping[str, str]) -> str:
    """The variable and the place of the certificates, if the environment names one: `SSL_CERT_FILE=/a.pem`."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if value := environ.get(name, ""):
            return f"{name}={_printable(value)}"
    return ""


def _unusable(variable: str, value: str, why: str) -> EnvironmentFaultError:
    hint = f"Name the certificates of the authorities that you trust, or `unset {variable}`."
    return EnvironmentFaultError(f"{variable} names {_printable(value)}, which {why}", hint)


def faults(environ: Mapping[str, str]) -> list[EnvironmentFaultError]:
    """Whatever is wrong with the variables, whether or not an address needs them."""
    found: list[EnvironmentFaultError] = []
    for name in ("https_proxy", "http_proxy", "all_proxy"):
        value, variable = _variable(name, environ)
        try:
            if value:
                _checked(value, variable)
        except EnvironmentFaultError as error:
            found.append(error)
    try:
        check_certificates(environ)
    except EnvironmentFaultError as error:
        found.append(error)
    return found


def proxies(environ: Mapping[str, str]) -> list[ProxyRoute]:
    """The proxies that the variables name and that can be used, each once."""
    found: dict[str, ProxyRoute] = {}
    for name in ("https_proxy", "http_proxy", "all_proxy"):
        value, variable = _variable(name, environ)
        try:
            if value:
                url = _checked(value, variable)
                found.setdefault(url, ProxyRoute(url, variable))
        except EnvironmentFaultError:
            continue  # which `faults` says
    return list(found.values())


def in_use(environ: Mapping[str, str]) -> list[str]:
    """The variables that name proxies and certificates, each with its value: `HTTPS_PROXY=http://127.0.0.1:8080`."""
    named = [_variable(name, environ) for name in ("https_proxy", "http_proxy", "all_proxy", "no_proxy")]
    out = [f"{variable}={without_credentials(value)}" for value, variable in named if value]
    return [*out, certificates] if (certificates := certificates_named(environ)) else out

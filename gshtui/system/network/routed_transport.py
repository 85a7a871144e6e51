"""The transport under every HTTP client of ours: each request goes the way that the environment describes for it.

Imported where a client is made, because `httpx2` is slow to load. Raises `EnvironmentFaultError` for a variable that
cannot be used, and `httpx2` errors, which name the proxy that the request went through.
"""

from __future__ import annotations

import asyncio

import httpx2

from gshtui.system.caller_environment import caller_environ
from gshtui.system.network.proxy_routes import ProxyRoute, certificates_named, check_certificates, route_to


class RoutedTransport(httpx2.AsyncBaseTransport):
    """Connections, made when an address first needs them: a fault in a variable costs those that depend on it."""

    def __init__(self) -> None:
        self._environ = caller_environ()
        self._made: dict[tuple[bool, str], httpx2.AsyncHTTPTransport] = {}

    def prepare(self, url: str) -> None:
        """Make what requests to this address take; it may read files. Raises `EnvironmentFaultError`."""
        self._transport(url.lower().startswith("https://"), route_to(url, self._environ))

    def _transport(self, secure: bool, route: ProxyRoute) -> httpx2.AsyncHTTPTransport:
        key = (secure, route.proxy)
        if (known := self._made.get(key)) is None:
            # Without TLS no certificates are read: a model on this machine answers whatever they are.
            verify = secure or route.proxy.startswith("https://")
            if verify:
                check_certificates(self._environ)
            context = httpx2.create_ssl_context(verify=verify)
            known = self._made[key] = httpx2.AsyncHTTPTransport(verify=context, proxy=route.proxy or None)
        return known

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        route = route_to(str(request.url), self._environ)
        secure = request.url.scheme == "https"
        transport = self._made.get((secure, route.proxy))
        if transport is None:
            transport = await asyncio.to_thread(self._transport, secure, route)
        try:
            return await transport.handle_async_request(request)
        except httpx2.ConnectError as error:
            raise httpx2.ConnectError(self._explained(error, route), request=request) from error
        except httpx2.TransportError as error:
            if not route.proxy or isinstance(error, httpx2.TimeoutException):
                raise
            raise type(error)(self._explained(error, route), request=request) from error

    def _explained(self, error: Exception, route: ProxyRoute) -> str:
        why = str(error) or "no connection"
        if "CERTIFICATE_VERIFY_FAILED" in why and (named := certificates_named(self._environ)):
            why += f" (trusted are the certificates of {named})"
        return f"{why} ({route})" if route.proxy else why

    async def aclose(self) -> None:
        made = list(self._made.values())
        self._made.clear()
        for transport in made:
            await transport.aclose()

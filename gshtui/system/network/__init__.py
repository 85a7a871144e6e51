"""Addresses of this machine, the peer of a socket, and routes through proxies."""

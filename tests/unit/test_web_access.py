"""Who may see the window in a browser: tokens, names and origins."""

from __future__ import annotations

import pytest

from gshtui.web.web_access import WebAccess, is_loopback

ACCESS = WebAccess(8_000)


def test_each_token_makes_one_role() -> None:
    assert ACCESS.is_token(ACCESS.owner, "owner") and ACCESS.is_token(ACCESS.viewer, "viewer")
    assert not ACCESS.is_token(ACCESS.viewer, "owner") and not ACCESS.is_token(ACCESS.owner, "viewer")
    for wrong in ("", "x", ACCESS.owner[:-1], ACCESS.owner + "x", "\udcff", "ä" * 43):
        assert not ACCESS.is_token(wrong, "owner")
    assert len(ACCESS.owner) >= 43 and WebAccess(8_000).owner != ACCESS.owner
    assert ACCESS.owner not in repr(ACCESS)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
def test_its_own_names_are_ours(host: str) -> None:
    assert ACCESS.is_ours({"Host": host})
    assert ACCESS.is_ours({"Host": host, "Origin": f"http://{host}"}, needs_origin=True)
    assert not ACCESS.is_ours({"Host": host}, needs_origin=True)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": ""},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:8001"},
        {"Host": "evil.example:8000"},
        {"Host": "127.0.0.1:8000.evil.example"},
        {"Host": "127.0.0.1:8000", "Origin": "http://evil.example"},
        {"Host": "127.0.0.1:8000", "Origin": "null"},
        {"Host": "127.0.0.1:8000", "Origin": "https://127.0.0.1:8000"},
        {"Host": "127.0.0.1:8000", "Origin": "http://localhost:8000"},
        {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8001"},
    ],
)
def test_other_names_and_pages_are_not(headers: dict[str, str]) -> None:
    assert not ACCESS.is_ours(headers)


def test_only_this_machine_s_addresses_are_loopback() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.1", "example.com", ""))

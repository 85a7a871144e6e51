"""Who may see the window in a browser, and what a server on this machine may be asked as."""

import pytest

from gshtui.features.web.web_server import Role, WebAccess
from gshtui.system.network.local_address import LocalAddress, is_loopback

HERE = LocalAddress("127.0.0.1", 8_000)


@pytest.mark.parametrize("role", ["owner", "viewer"])
def test_a_link_opens_one_tab_which_comes_back(role: Role) -> None:
    access = WebAccess()
    other: Role = "viewer" if role == "owner" else "owner"
    link, others = access.link(role), access.link(other)
    for wrong in ([], [""], ["x"], [link[:-1]], [link + "x"], ["\udcff"], ["\xe4" * 43], [others]):
        assert not access.open(wrong, role)
    assert access.link(role) == link, "what is wrong uses nothing up"
    tab = access.open(["gsh-tui", link], role)
    assert tab and access.open(["gsh-tui", tab], role) == tab == access.open([tab], role)
    assert not access.open([link], role) and not access.open([tab], other)
    again = access.link(role)
    assert again not in (link, tab) and access.open([again], role) not in ("", tab)
    assert access.link(other) == others
    assert access.open([tab, access.link(role)], role) == tab, "a tab that comes back uses no link up"
    assert len(link) >= 43 and WebAccess().link(role) != link


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000"])
def test_its_own_names_are_ours(host: str) -> None:
    assert HERE.is_ours({"Host": host})
    assert HERE.is_ours({"Host": host, "Origin": f"http://{host}"}, needs_origin=True)
    assert not HERE.is_ours({"Host": host}, needs_origin=True)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": ""},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:8001"},
        {"Host": "127.0.0.1:1"},
        {"Host": "[::1]:8000"},
        {"Host": "evil.example:8000"},
        {"Host": "127.0.0.1:8000.evil.example"},
        {"Host": "127.0.0.1:8000", "Origin": "http://evil.example"},
        {"Host": "127.0.0.1:8000", "Origin": "null"},
        {"Host": "127.0.0.1:8000", "Origin": "https://127.0.0.1:8000"},
        {"Host": "127.0.0.1:8000", "Origin": "http://localhost:8000"},
        {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8001"},
        {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:1"},
        {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1"},
    ],
)
def test_other_names_and_pages_are_not(headers: dict[str, str]) -> None:
    assert not HERE.is_ours(headers)


def test_another_address_has_its_own_name() -> None:
    for address in ("::1", "[::1]"):
        assert LocalAddress(address, 8_000).is_ours({"Host": "[::1]:8000", "Origin": "http://[::1]:8000"})
        assert not LocalAddress(address, 8_000).is_ours({"Host": "127.0.0.1:8000"})
    assert LocalAddress("127.8.8.8", 1).is_ours({"Host": "127.8.8.8:1"})


def test_only_this_machine_s_addresses_are_loopback() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.1", "example.com", ""))

"""Hosts that a sandboxed command may reach: how they are written, and that no name is read in two ways."""

from ipaddress import ip_address

import pytest

from gshtui.text.host_rules import HostRules, host_rule, is_public, target

RULES = HostRules.parse(
    ["pypi.org", "*.github.com", "registry.example:8443", "10.1.2.3", "[fd00::1]:9000", "192.168.0.0/16"]
)


@pytest.mark.parametrize(
    ("asked", "covered"),
    [
        ("pypi.org:443", True),
        ("PyPI.org:443", True),
        ("pypi.org:80", True),
        ("pypi.org:22", False),
        ("files.pypi.org:443", False),
        ("pypi.org.evil.example:443", False),
        ("evilpypi.org:443", False),
        ("api.github.com:443", True),
        ("a.b.github.com:443", True),
        ("github.com:443", False),
        ("evilgithub.com:443", False),
        ("registry.example:8443", True),
        ("registry.example:443", False),
        ("10.1.2.3:443", True),
        ("10.1.2.4:443", False),
        ("[fd00::1]:9000", True),
        ("[FD00:0::0:1]:9000", True),
        ("[fd00::1]:443", False),
        ("192.168.7.7:5000", True),
    ],
)
def test_a_rule_covers_what_it_names(asked: str, covered: bool) -> None:
    assert RULES.covers(target(asked)) is covered


@pytest.mark.parametrize(
    "asked",
    [
        "pypi.org\0.evil.example:443",
        "pypi.org .evil.example:443",
        "pypi.org.:443",
        "pypi.org..:443",
        ".pypi.org:443",
        "user@pypi.org:443",
        "user:word@pypi.org:443",
        "pypi.org:443@evil.example",
        "pypi.org%00:443",
        "pypi.org#x:443",
        "pypi.org:0",
        "pypi.org:65536",
        "pypi.org:+443",
        "pypi.org:44 3",
        "pypi.org:",
        "pypi.org",
        "pypi.org:４４３",
        "2130706433:80",
        "127.1:80",
        "0x7f000001:80",
        "0x7f.0.0.1:80",
        "0177.0.0.1:80",
        "127.0.0.1.:80",
        "1.2.3.4.5:80",
        "[::1]evil:80",
        "[::1:80",
        "[pypi.org]:443",
        "[fe80::1%eth0]:80",
        "fe80::1%eth0",
        "pypi.org/x:443",
        "pypi.org\\x:1",
        "ｐypi.org:443",
        "pypi。org:443",
        "xn--\u00e9.org:443",
        "-pypi.org:443",
        "pypi-.org:443",
        "a" * 64 + ".org:443",
        ":443",
        "*.github.com:443",
        "pypi.org\r\nHost: x:443",
        "pypi.org\t:443",
        ("a." * 127) + "org:443",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(asked: str) -> None:
    with pytest.raises(ValueError, match=r"^(it|its) "):
        target(asked)


@pytest.mark.parametrize(
    "text", ["*", "*.com", "*.", "**.x.org", "a.*.org", "10.0.0.1/8", "http://x.org", "", "x.org:0"]
)
def test_what_is_no_rule_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(it|its) "):
        host_rule(text)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        *((address, False) for address in ("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254")),
        *((address, False) for address in ("100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1")),
        *(
            (address, False)
            for address in ("::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::7f00:1")
        ),
        *((address, False) for address in ("64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:10.0.0.1", "64:ff9b::a00:1")),
    ],
)
def test_addresses_of_private_networks_are_known_also_where_they_are_wrapped(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public


def test_a_name_leads_to_a_private_address_only_if_a_rule_names_that_too() -> None:
    wanted = target("pypi.org:443")
    assert RULES.covers_address(wanted, ip_address("151.101.0.223"))
    assert not RULES.covers_address(wanted, ip_address("127.0.0.1"))
    assert not RULES.covers_address(wanted, ip_address("169.254.169.254"))
    assert RULES.covers_address(wanted, ip_address("10.1.2.3"))
    local = HostRules.parse(["localhost:3000"])
    assert local.covers_address(target("localhost:3000"), ip_address("127.0.0.1"))
    assert not local.covers_address(target("localhost:3000"), ip_address("10.1.2.3"))
    assert not local.covers(target("127.0.0.1:3000"))
    assert local.covers_loopback()
    assert not RULES.covers_loopback()

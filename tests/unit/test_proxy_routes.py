"""The way to an address, as variables of the environment describe it: a table of what desktops and companies set."""

from __future__ import annotations

from pathlib import Path

import certifi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.system.network.proxy_routes import (
    EnvironmentFaultError,
    ProxyRoute,
    check_certificates,
    faults,
    in_use,
    route_to,
)

AWAY = "https://api.example.com/v1/messages"
P = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("environ", "url", "proxy", "variable"),
    [
        ({}, AWAY, "", ""),
        ({"HTTPS_PROXY": P}, AWAY, P, "HTTPS_PROXY"),
        ({"https_proxy": P, "HTTPS_PROXY": "http://other:1"}, AWAY, P, "https_proxy"),
        ({"https_proxy": "", "HTTPS_PROXY": P}, AWAY, "", ""),
        ({"HTTP_PROXY": P}, AWAY, "", ""),
        ({"HTTP_PROXY": P}, "http://api.example.com", P, "HTTP_PROXY"),
        ({"ALL_PROXY": P}, AWAY, P, "ALL_PROXY"),
        ({"ALL_PROXY": "http://other:1", "HTTPS_PROXY": P}, AWAY, P, "HTTPS_PROXY"),
        ({"HTTPS_PROXY": "proxy.example:3128"}, AWAY, P, "HTTPS_PROXY"),
        ({"ALL_PROXY": "socks5://10.0.0.1:1080"}, AWAY, "socks5://10.0.0.1:1080", "ALL_PROXY"),
        ({"ALL_PROXY": "socks://10.0.0.1:1080/"}, AWAY, "socks5h://10.0.0.1:1080/", "ALL_PROXY"),
        ({"ALL_PROXY": "SOCKS5H://10.0.0.1:1080"}, AWAY, "socks5h://10.0.0.1:1080", "ALL_PROXY"),
        ({"HTTPS_PROXY": "http://u:p%40@proxy.example:3128"}, AWAY, "http://u:p%40@proxy.example:3128", "HTTPS_PROXY"),
    ],
)
def test_which_proxy_an_address_has(environ: dict[str, str], url: str, proxy: str, variable: str) -> None:
    assert route_to(url, environ) == ProxyRoute(proxy, variable)


HERE = ("127.0.0.1:11434", "localhost:8080", "[::1]:80", "127.8.8.8", "0.0.0.0:1", "x.localhost", "[::ffff:127.0.0.1]")


@pytest.mark.parametrize("host", HERE)
@pytest.mark.parametrize("value", [P, "socks5://127.0.0.1:9", "gopher://x", "::::"])
def test_this_machine_is_asked_directly_whatever_the_proxy(host: str, value: str) -> None:
    assert route_to(f"http://{host}/api", {"HTTP_PROXY": value, "ALL_PROXY": value}) == ProxyRoute()


@pytest.mark.parametrize(
    ("no_proxy", "url", "exempt"),
    [
        ("*", AWAY, True),
        ("api.example.com", AWAY, True),
        ("example.com", AWAY, True),
        (".example.com", AWAY, True),
        ("*.example.com", AWAY, True),
        ("API.Example.COM.", AWAY, True),
        ("ple.com", AWAY, False),
        ("com", AWAY, True),
        ("api.example.com:443", AWAY, True),
        ("api.example.com:80", AWAY, False),
        ("other.org, example.com", AWAY, True),
        ("other.org example.com", AWAY, True),
        ("https://api.example.com", AWAY, True),
        ("", AWAY, False),
        (",,", AWAY, False),
        ("10.0.0.0/8", "http://10.2.3.4:1/v1", True),
        ("10.0.0.0/33", "http://10.2.3.4:1/v1", False),
        ("10.0.0.0/8", AWAY, False),
        ("10.2.3.4", "http://10.2.3.4:1/v1", True),
        ("10.2.3.4:1", "http://10.2.3.4:1/v1", True),
        ("10.2.3.4:2", "http://10.2.3.4:1/v1", False),
        ("fd00::1", "http://[fd00::1]:8080/", True),
        ("[fd00::1]", "http://[fd00::1]:8080/", True),
        ("[fd00::1]:8080", "http://[fd00::1]:8080/", True),
        ("fd00::/8", "http://[fd00::1]:8080/", True),
        ("fd00::2", "http://[fd00::1]:8080/", False),
    ],
)
@pytest.mark.parametrize("proxy", [P, "gopher://no-such-kind:1"])
def test_no_proxy_decides_first(no_proxy: str, url: str, exempt: bool, proxy: str) -> None:
    environ = {"http_proxy": proxy, "https_proxy": proxy, "NO_PROXY": no_proxy}
    if exempt:
        assert route_to(url, environ) == ProxyRoute()
    elif proxy == P:
        assert route_to(url, environ).proxy == P
    else:
        with pytest.raises(EnvironmentFaultError, match="_proxy names"):
            route_to(url, environ)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("gopher://x:1", "gopher proxies do not"),
        ("socks4://x:1", "socks4 proxies do not"),
        ("://x", "proxies do not"),
        ("http://", "not the address of a proxy"),
        ("http://x:99999", "not the address of a proxy"),
        ("http://x:port", "not the address of a proxy"),
        ("http://[::1", "not the address of a proxy"),
        ("my proxy", "not the address of a proxy"),
        ("http://x\x1b[31m", "not the address of a proxy"),
    ],
)
def test_what_is_no_proxy_is_named_with_its_variable(value: str, why: str) -> None:
    for variable in ("HTTPS_PROXY", "all_proxy"):
        with pytest.raises(EnvironmentFaultError) as failed:
            route_to(AWAY, {variable: value})
        assert failed.value.message.startswith(f"{variable} ")
        assert why in failed.value.message
        assert f"unset {variable}" in failed.value.hint
        assert failed.value.message.isprintable()
        assert [fault.message for fault in faults({variable: value})] == [failed.value.message]


def test_the_password_of_a_proxy_is_never_shown() -> None:
    for value in ("http://me:secret@proxy.example:1", "gopher://me:secret@x", "http://me:secret@x:port"):
        environ = {"ALL_PROXY": value}
        texts = [*in_use(environ), *(str(fault) for fault in faults(environ))]
        try:
            texts.append(str(route_to(AWAY, environ)))
        except EnvironmentFaultError as error:
            texts.append(str(error))
        assert not any("secret" in text for text in texts), texts


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_any_values_are_a_way_or_one_sentence(proxy: str, no_proxy: str, host: str) -> None:
    for url in (AWAY, f"https://{host}/"):
        try:
            route_to(url, {"ALL_PROXY": proxy, "NO_PROXY": no_proxy})
        except EnvironmentFaultError as error:
            assert error.message.startswith("ALL_PROXY ")
            assert str(error).isprintable()


def test_certificates_that_cannot_be_used_are_named_with_their_variable(tmp_path: Path) -> None:
    absent, broken = str(tmp_path / "absent"), tmp_path / "broken.pem"
    broken.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    (empty := tmp_path / "empty.pem").touch()
    for variable, value in [
        ("SSL_CERT_FILE", f"{absent}/ca.pem"),
        ("SSL_CERT_FILE", str(broken)),
        ("SSL_CERT_FILE", str(empty)),
        ("SSL_CERT_FILE", str(tmp_path)),
        ("SSL_CERT_FILE", "a\x1b"),
        ("SSL_CERT_DIR", absent),
        ("SSL_CERT_DIR", str(broken)),
        ("SSL_CERT_DIR", f"{absent}:/neither"),
    ]:
        with pytest.raises(EnvironmentFaultError) as failed:
            check_certificates({variable: value})
        assert failed.value.message.startswith(f"{variable} names {value.replace(chr(27), '�')}")
    for environ in [
        {},
        {"SSL_CERT_FILE": certifi.where()},
        {"SSL_CERT_DIR": str(tmp_path)},
        {"SSL_CERT_DIR": f"{absent}:{tmp_path}"},
        {"SSL_CERT_FILE": certifi.where(), "SSL_CERT_DIR": absent},
        {"REQUESTS_CA_BUNDLE": "/nonexistent/ca.pem"},  # which we do not read
    ]:
        check_certificates(environ)

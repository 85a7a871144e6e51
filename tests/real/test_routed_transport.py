"""Proxies and certificates that the environment names, under everything of ours that asks an address over HTTP."""

import os
from pathlib import Path

import pytest

from gshtui.headless.program.diagnosis import examine_network
from gshtui.mcp_client.server_connection import ConnectionOptions, ServerConnection
from gshtui.mcp_client.server_definition import McpError, ServerDefinition
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.providers.port import ProviderError
from gshtui.providers.wire import http_client
from gshtui.settings.started_programs import McpServer
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Say
from tests.kit.mcp_turns import NobodyAnswers
from tests.kit.providers import APIS, make_provider, make_request, provider_with_loopback, receive_stream
from tests.kit.proxies import proxy_to

EVERY = pytest.mark.parametrize("api", APIS)
AWAY = "https://model.example"
FAULTS = [
    ("ALL_PROXY", "gopher://127.0.0.1:9"),
    ("all_proxy", "socks4://127.0.0.1:9"),
    ("HTTPS_PROXY", "http://127.0.0.1:port"),
    ("https_proxy", "::::"),
    ("SSL_CERT_FILE", "/nonexistent/ca.pem"),
    ("SSL_CERT_FILE", __file__),
    ("SSL_CERT_DIR", "/nonexistent/certs"),
]


@EVERY
@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h", "socks"])
async def test_an_answer_comes_through_the_proxy(api: str, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    async with (
        loopback(api, [[Say("from afar")]]) as server,
        proxy_to("http" if scheme == "http" else "socks5", server.port, asked) as address,
    ):
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://{address}")
        provider = make_provider(api, "http://model.example")
        heard = await receive_stream(provider, make_request(api))
        await provider.close()
    assert heard.text == "from afar"
    assert asked
    assert all("model.example" in host for host in asked)


@EVERY
async def test_no_variable_keeps_us_from_this_machine(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in [*FAULTS, ("HTTP_PROXY", "socks5://127.0.0.1:9"), ("REQUESTS_CA_BUNDLE", "/nonexistent")]:
        monkeypatch.setenv(variable, value)
    async with provider_with_loopback(api, [[Say("here")]]) as (provider, _):
        assert (await receive_stream(provider, make_request(api))).text == "here"


@EVERY
@pytest.mark.parametrize(("variable", "value"), FAULTS)
async def test_a_fault_of_the_environment_is_one_sentence_that_names_the_variable(
    api: str, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    provider = make_provider(api, AWAY)
    with pytest.raises(ProviderError) as failed:
        await receive_stream(provider, make_request(api))
    await provider.close()
    error = failed.value
    assert (error.kind, error.retryable) == ("missing", False)
    assert f"{variable} " in error.message
    assert value.rpartition("//")[2] in error.message
    assert "Error" not in f"{error}"
    assert f"`unset {variable}`" in error.hint
    finding = (await examine_network(os.environ))[0]
    assert finding.status == "problem"
    assert finding.detail in error.message


@EVERY
async def test_a_dead_proxy_is_named(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("http://me:secret@127.0.0.1:9", "socks5://127.0.0.1:9"):
        monkeypatch.setenv("HTTPS_PROXY", value)
        provider = make_provider(api, AWAY)
        with pytest.raises(ProviderError) as failed:
            await receive_stream(provider, make_request(api))
        await provider.close()
        assert failed.value.kind == "network"
        assert "127.0.0.1:9 of HTTPS_PROXY" in failed.value.message
        assert "secret" not in str(failed.value)
        (finding,) = await examine_network(os.environ)
        assert finding.status == "problem" and "127.0.0.1:9 of HTTPS_PROXY: " in finding.detail
        assert "secret" not in f"{finding}"


@EVERY
@pytest.mark.parametrize("fault", [ValueError("what the library does not like"), OSError(24, "Too many open files")])
async def test_whatever_keeps_a_client_from_being_made_is_no_fault_of_ours(
    api: str, fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise fault

    monkeypatch.setattr(http_client.WatchedClient, "__init__", fails)
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@proxy.example")
    provider = make_provider(api, AWAY)
    with pytest.raises(ProviderError) as failed:
        await receive_stream(provider, make_request(api))
    assert failed.value.kind == "missing"
    assert (getattr(fault, "strerror", "") or str(fault)) in failed.value.message
    assert "HTTPS_PROXY=http://***@proxy.example" in failed.value.hint


async def test_a_server_of_tools_names_the_variable_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in FAULTS:
        with monkeypatch.context() as one:
            one.setenv(variable, value)
            definition = ServerDefinition("far", McpServer(url=f"{AWAY}/mcp"), tmp_path)
            options = ConnectionOptions(os.environ, None, NobodyAnswers(tmp_path), 20.0)
            connection = ServerConnection(definition, options)
            with pytest.raises(McpError) as failed:
                await connection.run(lambda session: session.call_tool("add", {}, lambda *_: None), ToolCaller(), 20.0)
            await connection.close()
            assert "MCP server far" in failed.value.message
            assert f"{variable} " in failed.value.message

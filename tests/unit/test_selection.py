"""The choice of provider and model from settings and environment; the catalog; the `model` command."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui.bus.messages import Usage
from gshtui.commands.declaration import Caller, Invocation, ToastView, UsageError
from gshtui.providers import model_command, selection
from gshtui.providers.adapters.anthropic import Anthropic
from gshtui.providers.adapters.gemini import Gemini
from gshtui.providers.adapters.ollama import Ollama, address
from gshtui.providers.adapters.openai_chat import OpenAIChat
from gshtui.providers.adapters.openai_responses import OpenAIResponses
from gshtui.providers.catalog import Catalog, Model
from gshtui.providers.model_command import (
    ChangeModel,
    ListedModel,
    ListModels,
    ModelChange,
    ModelInUse,
    ModelPort,
    ShowModel,
    commands,
)
from gshtui.providers.port import ProviderError
from gshtui.providers.selection import ModelChoice, choose_model
from gshtui.providers.wire.sdk_connection import Endpoint
from gshtui.settings.known_providers import KNOWN_PROVIDERS, KnownProvider
from gshtui.settings.model import Settings
from gshtui.settings.settings_tables import AgentSettings, ProviderSettings
from gshtui.ui.conversation.pickers import model_choice
from tests.kit.loopback.apis import loopback

NOWHERE = {"OLLAMA_HOST": "127.0.0.1:1"}
"""So that an Ollama on the developer's machine is not found."""


async def chosen(environ: dict[str, str], *, provider: str = "", model: str = "", **settings: Any) -> ModelChoice:
    return await choose_model(Settings(**settings), {**NOWHERE, **environ}, provider=provider, model=model)


async def refused(environ: dict[str, str], *, provider: str = "", model: str = "", **settings: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await chosen(environ, provider=provider, model=model, **settings)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("environ", "kind", "model"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, Anthropic, "claude-sonnet-5-5"),
        ({"GEMINI_API_KEY": "k"}, Gemini, "gemini-3.8-flash"),
        ({"GOOGLE_API_KEY": "k"}, Gemini, "gemini-3.8-flash"),
        ({"ANTHROPIC_API_KEY": " ", "GEMINI_API_KEY": "k"}, Gemini, "gemini-3.8-flash"),
        ({"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}, Anthropic, "claude-sonnet-5-5"),
    ],
)
async def test_a_key_is_enough(environ: dict[str, str], kind: type, model: str) -> None:
    choice = await chosen(environ)
    assert isinstance(choice.provider, kind)
    assert choice.model == model
    assert choice.label and choice.why


async def test_openai_with_a_key_and_with_an_address_of_its_own() -> None:
    assert isinstance((await chosen({"OPENAI_API_KEY": "k"})).provider, OpenAIResponses)
    gateway = await chosen({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert isinstance(gateway.provider, OpenAIChat)
    assert gateway.model == (await chosen({"OPENAI_API_KEY": "k"})).model
    named = await chosen({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, model="openai/mine")
    assert (type(named.provider), named.model) == (OpenAIChat, "mine")
    own = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://eu.api.openai.com/v1"}
    assert isinstance((await chosen(own)).provider, OpenAIResponses)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start-up waits 0.3 s for a server; what is done with its answer must not depend on the machine's pace."""
    monkeypatch.setattr(selection, "PROBE", 20.0)


@pytest.mark.usefixtures("patient")
async def test_a_server_of_ones_own_is_asked_for_its_models() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        assert asked.startswith(b"GET /v1/models ")
        writer.write(b'HTTP/1.0 200 OK\r\n\r\n{"data": [{"id": "local-7b"}, {"id": "other"}]}')
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        choice = await chosen({"OPENAI_BASE_URL": address})
    assert (type(choice.provider), choice.model) == (OpenAIChat, "local-7b")
    assert (await chosen({"OPENAI_BASE_URL": address})).model == "offline"


async def test_without_anything_it_is_offline_and_says_why() -> None:
    choice = await chosen({})
    assert (choice.provider.name, choice.model) == ("offline", "offline")
    assert "no API key" in choice.why
    assert (await chosen({"ANTHROPIC_API_KEY": "k"}, provider="offline")).model == "offline"
    assert (await chosen({"ANTHROPIC_API_KEY": "k"}, model="offline")).model == "offline"


async def test_the_preferred_provider_goes_first_where_it_can_be_used() -> None:
    both = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
    assert (await chosen(both, agent=AgentSettings(default_provider="openai"))).provider.name == "openai"
    assert (await chosen(both, agent=AgentSettings(default_provider="gemini"))).provider.name == "anthropic"
    assert (await chosen(both, agent=AgentSettings(default_provider="offline"))).provider.name == "offline"


@pytest.mark.usefixtures("patient")
async def test_a_running_ollama_is_found_and_asked() -> None:
    async with loopback("ollama", models=["qwen3:8b", "llama3.2:latest"]) as server:
        there = {"OLLAMA_HOST": server.url.removeprefix("http://")}
        found = await chosen(there)
        assert isinstance(found.provider, Ollama)
        assert (found.model, found.provider.name) == ("llama3.2:latest", "local")  # the setting's default model
        assert found.provider.capabilities(found.model).window == 16384
        assert (await chosen(there, model="qwen3")).model == "qwen3:8b"
        assert (await chosen(there, provider="ollama", model="qwen3:8b")).model == "qwen3:8b"
        missing = await refused(there, provider="ollama", model="mixtral")
        assert missing.kind == "unknown_model"
        assert "ollama pull mixtral" in missing.hint and "qwen3:8b" in missing.hint
        assert (await chosen({**there, "ANTHROPIC_API_KEY": "k"})).provider.name == "anthropic"
    gone = await refused(there, provider="ollama")
    assert (gone.kind, "ollama serve" in gone.hint) == ("network", True)


async def test_what_is_no_ollama_is_not_taken_for_one() -> None:
    async with loopback("anthropic") as server:
        assert (await chosen({"OLLAMA_HOST": server.url})).model == "offline"


@pytest.mark.parametrize(
    ("asked", "provider", "model"),
    [
        ("claude", "anthropic", "claude-sonnet-5-5"),
        ("OPUS", "anthropic", "claude-opus-5-5"),
        ("claude-opus-5-5", "anthropic", "claude-opus-5-5"),
        ("claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5-20250929"),
        ("claude-next-9", "anthropic", "claude-next-9"),
        ("gpt", "openai", "gpt-6.1-sol"),
        ("o3", "openai", "o3"),
        ("gemini", "gemini", "gemini-3.8-flash"),
        ("openai/whatever", "openai", "whatever"),
        ("google/gemini-9", "gemini", "gemini-9"),
        ("anthropic/claude-haiku-4-5", "anthropic", "claude-haiku-4-5"),
    ],
)
async def test_a_model_decides_its_provider(asked: str, provider: str, model: str) -> None:
    keys = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}
    choice = await chosen(keys, model=asked)
    assert (choice.provider.name, choice.model) == (provider, model)


async def test_what_cannot_be_used_is_said_with_what_to_do() -> None:
    keys = {"ANTHROPIC_API_KEY": "k"}
    unknown = await refused(keys, model="sonet")
    assert unknown.kind == "unknown_model" and "sonnet" in unknown.hint
    assert (await refused(keys, provider="antropic")).kind == "missing"
    no_key = await refused(keys, model="gpt-6.1-sol")
    assert no_key.kind == "missing" and "OPENAI_API_KEY" in no_key.message
    foreign = await refused(keys, provider="anthropic", model="gpt-6.1-sol")
    assert foreign.kind == "unknown_model" and "OpenAI" in foreign.message
    odd = await refused({"ANTHROPIC_API_KEY": "“k”"})
    assert odd.kind == "auth" and "ANTHROPIC_API_KEY" in odd.message and "“k”" not in odd.message


async def test_a_server_of_ones_own_takes_any_model() -> None:
    table = {"router": ProviderSettings(type="openai", base_url="https://router.example/v1", api_key_env="ROUTER_KEY")}
    keys = {"ROUTER_KEY": "k"}
    choice = await chosen(keys, provider="router", model="deepseek/deepseek-v4", providers=table)
    assert (choice.provider.name, choice.model) == ("router", "deepseek/deepseek-v4")
    assert (await chosen(keys, model="router/x/y", providers=table)).model == "x/y"
    assert (await refused(keys, provider="router", providers=table)).kind == "unknown_model"
    assert (await chosen(keys, providers=table)).model == "offline"


async def test_the_home_of_a_known_provider_is_no_server_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    home = "https://api.madeup.example/v1"
    row = KnownProvider("Made up", "MADEUP_BASE_URL", ("MADEUP_API_KEY",), home=home, chat=True)
    monkeypatch.setitem(KNOWN_PROVIDERS, "madeup", row)
    keys = {"MADEUP_API_KEY": "k"}
    assert (await chosen(keys, model="madeup/its-own")).model == "its-own"
    assert "sonnet" in (await refused(keys, model="sonet")).hint
    foreign = await refused(keys, provider="madeup", model="gpt-6.1-sol")
    assert foreign.kind == "unknown_model" and "OpenAI" in foreign.message
    moved = {**keys, "MADEUP_BASE_URL": "https://gateway.example/v1"}
    assert (await chosen(moved, model="sonet")).provider.name == "madeup"


async def test_a_retired_default_is_replaced_and_said() -> None:
    table = {"anthropic": ProviderSettings(default_model="claude-sonnet-4-20250514")}
    choice = await chosen({"ANTHROPIC_API_KEY": "k"}, providers=table)
    assert choice.model == "claude-sonnet-5-5"
    assert "no longer available" in choice.why
    named = await chosen({"ANTHROPIC_API_KEY": "k"}, model="claude-sonnet-4-20250514", providers=table)
    assert named.model == "claude-sonnet-4-20250514"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("box", "http://box:11434"),
        ("box:80", "http://box:80"),
        ("https://box.example", "https://box.example"),
        ("http://box:1/", "http://box:1"),
        ("[::1]:99", "http://[::1]:99"),
    ],
)
def test_ollama_hosts(host: str, url: str) -> None:
    assert address(host) == url


def test_the_shipped_catalog_is_whole() -> None:
    catalog = Catalog.load(Path("/nonexistent/models.toml"))
    assert catalog.problems == ()
    for provider in ("anthropic", "openai", "gemini"):
        default = catalog.default(provider)
        assert default is not None and default.default and not default.retired
        assert default.capabilities.cost is not None
    names = [(model.provider, model.name) for model in catalog.models]
    assert len(names) == len(set(names))
    for model in catalog.models:
        assert model.max_output <= model.window
        assert not model.replaced_by or catalog.find(model.replaced_by, model.provider)


def test_a_users_entries_win_and_their_mistakes_are_told(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text(
        '[[model]]\nname = "claude-sonnet-5-5"\nprovider = "anthropic"\nwindow = 500\nmax_output = 100\n'
        '[[model]]\nname = "mine"\nprovider = "openai"\naliases = ["m"]\n'
        '[[model]]\nname = "bad"\nprovider = "openai"\nwindow = "large"\n'
        '[[model]]\nprovider = "openai"\n[[model]]\nname = "typo"\nprovider = "openai"\nwindw = 5\n'
    )
    catalog = Catalog.load(file)
    found = catalog.find("claude-sonnet-5-5")
    assert found is not None and found.window == 500
    mine = catalog.find("M")
    assert mine is not None and mine.name == "mine"
    assert [("bad" in p, "windw" in p) for p in catalog.problems] == [(True, False), (False, False), (False, True)]
    file.write_text("[[model]\n")
    assert len(Catalog.load(file).problems) == 1
    assert Catalog.load(file).find("opus") is not None
    file.write_bytes(b"\xff\xfe")
    assert len(Catalog.load(file).problems) == 1
    file.write_text("model = 5\n")
    assert len(Catalog.load(file).problems) == 1


def test_an_unknown_model_gets_cautious_defaults() -> None:
    abilities = Anthropic(Endpoint(name="anthropic", catalog=Catalog.load())).capabilities("claude-next")
    assert (abilities.window, abilities.known, abilities.images) == (100_000, False, False)
    assert abilities.cost(Usage(1)) is None


@pytest.mark.parametrize(
    ("price", "said"),
    [(99.7, "100×"), (330.0, "330×"), (2.25, "2.2×"), (1.0, "as much as"), (0.998, "100% of"), (0.617, "62% of")],
)
def test_a_price_beside_another_is_a_plain_number(price: float, said: str) -> None:
    one = Model(name="one", provider="own", window=9, max_output=9, price_input=1.0, default=True)
    two = replace(one, name="two", price_input=price, default=False)
    about = model_command._about(two, Catalog.from_models([one, two]))
    assert about == f"Costs {said} one. Reads text only."


def here(tmp_path: Path) -> Invocation:
    return Invocation(Caller(), tmp_path, tmp_path, agent="main")


async def test_the_model_command_shows_lists_and_switches(tmp_path: Path) -> None:
    switched: list[tuple[str, str, str, str | None]] = []
    environ = {**NOWHERE, "ANTHROPIC_API_KEY": "k"}

    async def of_none(_agent: str, _model: str) -> ModelChange | None:
        return None

    port = ModelPort(
        Catalog.load(),
        lambda *given: switched.append(given),
        Settings(),
        environ,
        lambda agent: ModelInUse("anthropic", "claude-sonnet-5-5", "Claude Sonnet 5.5", 1_000_000),
        of_none,
    )
    command, _ = commands(port)
    shown = await command.words["show"].handler(here(tmp_path), ShowModel())
    assert "Claude Sonnet 5.5" in shown.text and "1,000,000" in shown.text
    listed = await command.words["list"].handler(here(tmp_path), ListModels())
    rows = {row["model"]: row for row in listed.data["models"]}
    assert rows["claude-sonnet-5-5"]["in_use"] and rows["claude-sonnet-5-5"]["usable"]
    assert rows["gpt-6.1-sol"]["usable"] is False and "no key" in listed.text
    assert "claude-sonnet-4" not in rows
    assert "0.10 / 0.50" in listed.text and "$2.00 / $10.00" in shown.text, "one format"
    cheap = ListedModel("a", "m", "M", price_input=0.1, price_output=0.5)
    assert "$0.10 / $0.50" in model_choice(cheap).columns
    about = {name: row["about"] for name, row in rows.items()}
    assert about["claude-sonnet-5-5"] == "Everyday work. Anthropic's default. Reads text, images and PDFs."
    assert about["claude-opus-5-5"] == "Complex work. Costs 2× Claude Sonnet 5.5. Reads text, images and PDFs."
    assert about["claude-haiku-5-5"] == "Fastest. Costs 5% of Claude Sonnet 5.5. Reads text, images and PDFs."
    assert about["gpt-5"] == ("Retires on 2026-12-11, then GPT-6.1 Terra.")
    assert all(said and len(said) <= 72 for said in about.values()), "one row at 80 columns"
    outcome = await command.handler(here(tmp_path), ChangeModel(name="opus"))
    assert switched == [("main", "anthropic", "claude-opus-5-5", None)] and "Claude Opus 5.5" in outcome.text
    assert outcome.view == ToastView(outcome.text), "the conversation says it by itself"
    with pytest.raises(UsageError) as caught:
        await command.handler(here(tmp_path), ChangeModel(name="opsu"))
    assert "opus" in caught.value.hint and len(switched) == 1
    in_tab = replace(here(tmp_path), front="0007")
    await command.handler(in_tab, ChangeModel(name="opus"))
    assert switched.pop() == ("0007", "anthropic", "claude-opus-5-5", None)
    with pytest.raises(UsageError):
        await command.words["list"].handler(here(tmp_path), ListModels(provider="nobody"))
    assert command.complete is not None
    completed = await command.complete(here(tmp_path), "name", "o")
    assert completed == ["opus", "offline"]

    async def of_program(agent: str, model: str) -> ModelChange | None:
        return ModelChange("gemini", model, f"gemini {model}") if agent == "0012" else None

    command, _ = commands(replace(port, in_use=lambda agent: None, of_program=of_program))
    over_acp = Invocation(Caller(), tmp_path, tmp_path, agent="0012")
    outcome = await command.handler(over_acp, ChangeModel(name="its-own"))
    assert outcome.text.startswith("gemini its-own is used") and len(switched) == 1
    assert command.complete is not None
    assert "anthropic" in await command.complete(here(tmp_path), "provider", "")

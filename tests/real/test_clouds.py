"""Bedrock, Vertex, Azure and OpenRouter: the vendors' own SDKs, with the variables that people have set for them."""

import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from gshtui.bus.messages import Thinking, ToolResult
from gshtui.headless.program.diagnosis import examine_providers
from gshtui.providers.adapters import claude_clouds
from gshtui.providers.port import Provider, ProviderError, Retrying
from gshtui.providers.selection import choose_model, usable
from gshtui.providers.wire.request_hash import was_sent
from gshtui.settings.loader import Loaded
from gshtui.settings.model import Settings
from tests.kit.loopback.clouds import AzureSpeech, BedrockSpeech, VertexClaudeSpeech, VertexGeminiSpeech
from tests.kit.loopback.openai_chat import ChatSpeech
from tests.kit.loopback.script import Answer, Call, Fault, Say, Think
from tests.kit.loopback.server import Loopback
from tests.kit.loopback.speech import Speech
from tests.kit.providers import make_message, make_request, receive_stream

ANSWER: Answer = [Think("Hm."), Say("Größe 😀"), Call("read", {"path": "ä b.py"})]
NOBODY = {"OLLAMA_HOST": "127.0.0.1:1"}
NO_CLOUD = {"AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"}
"""The vendors' libraries ask no machine of a cloud."""
AWS = {"AWS_ACCESS_KEY_ID": "AKIDLOOP", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session"}


class Tokens(BaseHTTPRequestHandler):
    """Where Google's library fetches its tokens."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.asked.append(self.rfile.read(int(self.headers["content-length"])).decode())
        body = json.dumps({"access_token": "ya29.loop", "expires_in": 3600, "token_type": "Bearer"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service account's file, as Google gives them out."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Tokens)
    Thread(target=server.serve_forever, daemon=True).start()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file: Path = tmp_path_factory.mktemp("google") / "account.json"
    about = {"type": "service_account", "project_id": "of-the-file", "private_key_id": "1", "client_id": "1"}
    about |= {"private_key": key.decode(), "client_email": "me@of-the-file.example"}
    file.write_text(json.dumps({**about, "token_uri": f"http://127.0.0.1:{server.server_port}/token"}))
    yield str(file)
    server.shutdown()
    server.server_close()


@dataclass(frozen=True)
class Cloud:
    """One of them: how it speaks, what people set, and the model that they ask for."""

    speech: Callable[[], Speech]
    environ: Callable[[str], dict[str, str]]
    model: str
    path: str
    sent_as: str
    signature: bool = True


CLOUDS = {
    "bedrock": Cloud(
        BedrockSpeech,
        lambda url: {**AWS, "AWS_REGION": "eu-west-1", "ANTHROPIC_BEDROCK_BASE_URL": url},
        "bedrock/us.anthropic.claude-opus-5",
        "/model/us.anthropic.claude-opus-5/invoke-with-response-stream",
        "AWS4-HMAC-SHA256 Credential=AKIDLOOP/",
    ),
    "bedrock by key": Cloud(
        BedrockSpeech,
        lambda url: {"AWS_BEARER_TOKEN_BEDROCK": "abc", "AWS_REGION": "x", "ANTHROPIC_BEDROCK_BASE_URL": url},
        "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-8",
        "/model/arn:aws:bedrock:us-east-1:1:inference-profile%2Feu.anthropic.claude-opus-4-8/"
        "invoke-with-response-stream",
        "Bearer abc",
    ),
    "vertex claude": Cloud(
        VertexClaudeSpeech,
        lambda url: {"CLOUD_ML_REGION": "europe-west4", "ANTHROPIC_VERTEX_BASE_URL": f"{url}/v1"},
        "vertex/claude-sonnet-5@20260801",
        "/v1/projects/of-the-file/locations/europe-west4/publishers/anthropic/models/"
        "claude-sonnet-5@20260801:streamRawPredict",
        "Bearer ya29.loop",
    ),
    "vertex gemini": Cloud(
        VertexGeminiSpeech,
        lambda url: {"GOOGLE_CLOUD_PROJECT": "mine", "ANTHROPIC_VERTEX_BASE_URL": f"{url}/v1"},
        "vertex/gemini-3.8-flash",
        "/v1beta1/projects/mine/locations/global/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
        "Bearer ya29.loop",
    ),
    "azure": Cloud(
        AzureSpeech,
        lambda url: {
            "AZURE_OPENAI_API_KEY": "key",
            "AZURE_OPENAI_ENDPOINT": f"{url}/",
            "OPENAI_API_VERSION": "2025-04-01",
        },
        "azure/gpt-4.1",
        "/openai/deployments/gpt-4.1/chat/completions?api-version=2025-04-01",
        "key",
    ),
    "azure without versions": Cloud(
        AzureSpeech,
        lambda url: {"AZURE_OPENAI_AD_TOKEN": "entra", "AZURE_OPENAI_ENDPOINT": url},
        "azure/my-own",
        "/openai/v1/chat/completions",
        "Bearer entra",
    ),
    "openrouter": Cloud(
        ChatSpeech,
        lambda url: {"OPENROUTER_API_KEY": "or", "OPENROUTER_BASE_URL": f"{url}/v1"},
        "openrouter/anthropic/claude-sonnet-5.5",
        "/v1/chat/completions",
        "Bearer or",
    ),
}
EACH = pytest.mark.parametrize("name", CLOUDS)


@contextlib.asynccontextmanager
async def served(
    name: str, account: str, *script: Answer, settings: Settings | None = None, **more: Any
) -> AsyncIterator[tuple[Provider, str, Loopback]]:
    cloud = CLOUDS[name]
    async with Loopback(cloud.speech(), script=script, **more) as server:
        environ = {**NOBODY, "GOOGLE_APPLICATION_CREDENTIALS": account, **cloud.environ(server.url)}
        choice = await choose_model(settings or Settings(), environ, model=cloud.model)
        try:
            yield choice.provider, choice.model, server
        finally:
            await choice.provider.close()


@EACH
async def test_an_answer_with_everything_comes_and_the_request_is_what_is_said(name: str, account: str) -> None:
    cloud = CLOUDS[name]
    async with served(name, account, ANSWER, [Say("ok")]) as (provider, model, server):
        request = make_request("openai-chat", model=model)
        received = await receive_stream(provider, request)
        assert received.text == "Größe 😀" and received.thinking == "Hm."
        (call,) = received.completed.message.calls
        assert (call.name, call.arguments) == ("read", {"path": "ä b.py"})
        assert received.completed.usage.output and received.completed.stop == "tool_use"
        assert was_sent(provider.body(request), received.completed.sent)
        asked = server.chats[0]
        assert asked.path == cloud.path
        assert asked.headers.get("api-key", asked.headers.get("authorization", "")).startswith(cloud.sent_as)
        assert provider.capabilities(model).window > 100_000 or cloud.model == "azure/my-own"
        # What was thought and called goes back as it came.
        answer = received.completed.message
        result = ToolResult(call.id, call.name, "text")
        again = make_request(
            "openai-chat", make_message("user", "Hi"), answer, make_message("user", result), model=model
        )
        assert (await receive_stream(provider, again)).text == "ok"
        assert server.refused == []
        signed = [block for block in answer.blocks if isinstance(block, Thinking) and block.opaque]
        assert bool(signed) == (name.startswith("bedrock") or name == "vertex claude")


FAULTS: dict[str, tuple[Answer, str]] = {
    "throttled": ([Fault.status(429)], "rate_limit"),
    "overloaded": ([Fault.status(503)], "overloaded"),
    "denied": ([Fault.status(403, message="no access to the model")], "auth"),
    "wrong key": ([Fault.status(401)], "auth"),
    "no such model": ([Fault.status(404)], "unknown_model"),
    "too long": ([Fault.context()], "context"),
    "cut": ([Say("some words, and more"), Fault.cut_after(1)], "network"),
    "half": ([Say("some words, and more"), Fault.half_after(1)], "truncated"),
}


@EACH
async def test_a_failure_is_of_the_same_kind_as_at_the_vendor(name: str, account: str) -> None:
    kinds: dict[str, str] = {}
    async with served(name, account, *(answer for answer, _ in FAULTS.values())) as (provider, model, server):
        for fault in FAULTS:
            error = await _first_failure(provider, model)
            assert error.message and "\n" not in error.message and error.hint
            kinds[fault] = error.kind
        assert len(server.chats) == len(FAULTS)
    assert kinds == {fault: kind for fault, (_, kind) in FAULTS.items()}


async def _first_failure(provider: Provider, model: str) -> ProviderError:
    try:
        async for delta in provider.stream(make_request("openai-chat", model=model)):
            if isinstance(delta, Retrying):
                return delta.error
    except ProviderError as error:
        return error
    raise AssertionError("it did not fail")


@pytest.mark.parametrize("name", ["bedrock", "bedrock by key"])
async def test_a_failure_within_amazons_frames_is_told(name: str, account: str) -> None:
    async with served(name, account, [Say("some words, and more"), Fault.error_after(1)]) as (provider, model, _):
        error = await _first_failure(provider, model)
        assert (error.kind, error.started) == ("rate_limit", True)
        assert "Too many tokens, please wait" in error.message


async def refused(environ: dict[str, str], model: str, *, provider: str = "") -> ProviderError:
    """Why nothing is asked, or what the first request to it says."""
    try:
        choice = await choose_model(Settings(), {**NOBODY, **environ}, model=model, provider=provider)
    except ProviderError as error:
        return error
    try:
        return await _first_failure(choice.provider, choice.model)
    finally:
        await choice.provider.close()


@pytest.mark.parametrize(
    ("name", "environ", "status", "said"),
    [
        ("bedrock", {**AWS, "AWS_REGION": "eu-x-1"}, "ok", ""),
        ("bedrock", AWS, "missing", "no AWS region is set"),
        ("bedrock", {"AWS_REGION": "x", "AWS_PROFILE": "gone"}, "missing", "config profile (gone) could not be found"),
        (
            "vertex",
            {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "x"},
            "missing",
            "credentials were not found",
        ),
        ("vertex", {"GOOGLE_APPLICATION_CREDENTIALS": "ACCOUNT", "GOOGLE_CLOUD_LOCATION": "x"}, "ok", ""),
        ("azure", {"AZURE_OPENAI_API_KEY": "k"}, "missing", "AZURE_OPENAI_ENDPOINT"),
        ("azure", {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://x.example"}, "ok", ""),
        ("openrouter", {"OPENROUTER_API_KEY": "k"}, "ok", "OPENROUTER_API_KEY is set"),
    ],
)
async def test_the_doctor_says_what_a_cloud_still_needs(
    name: str, environ: dict[str, str], status: str, said: str, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the vendors' own libraries, and without asking a cloud; a cloud that nobody set up is not named."""
    environ = {key: account if value == "ACCOUNT" else value for key, value in environ.items()}
    for key, value in {**NO_CLOUD, **environ}.items():
        monkeypatch.setenv(key, value)
    configured = Loaded(Settings.model_validate({"providers": {name: {}}}))
    found = {one.name: one for one in await examine_providers(configured, {**NOBODY, **environ})}
    assert (found[name].status, said in found[name].detail) == (status, True), found[name]
    assert bool(found[name].fix) == (status == "missing")
    assert {"bedrock", "vertex", "azure", "openrouter"} & {*found} == {name}


async def test_what_is_missing_is_said_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The clouds' libraries look into the person's home, and may ask a machine of the cloud.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(variable, raising=False)
    place = {"ANTHROPIC_BEDROCK_BASE_URL": "http://127.0.0.1:9"}
    said = {
        "no region": (await refused(AWS, "bedrock/x"), "no AWS region is set", "AWS_REGION"),
        "no credentials": (await refused({**place, "AWS_REGION": "x"}, "bedrock/x"), "credentials", "aws sso login"),
        "no profile": (
            await refused({"AWS_REGION": "x", "AWS_PROFILE": "gone"}, "bedrock/x"),
            "The config profile (gone) could not be found",
            "AWS_PROFILE",
        ),
        "no login": (await refused({}, "vertex/claude-sonnet-5"), "credentials were not found", "gcloud auth"),
        "no login, gemini": (await refused({}, "vertex/gemini-x"), "credentials were not found", "gcloud auth"),
        "no account": (
            await refused({"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere.json"}, "vertex/claude-x"),
            "/nowhere.json was not found",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ),
        "no place": (await refused({"AZURE_OPENAI_API_KEY": "k"}, "azure/x"), "the address", "AZURE_OPENAI_ENDPOINT"),
        "no key": (
            await refused({"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9"}, "azure/x"),
            "AZURE_OPENAI_API_KEY is not set",
            "AZURE_OPENAI_API_KEY",
        ),
        "no key, openrouter": (await refused({}, "openrouter/a/b"), "OPENROUTER_API_KEY is not set", "export"),
        "no model": (
            await refused(
                {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9"}, "", provider="azure"
            ),
            "azure has its own models",
            "providers.azure.default_model",
        ),
    }
    for name, (error, message, hint) in said.items():
        assert message in error.message and hint in error.hint, (name, error)
        assert "\n" not in error.message and len(error.message) < 400


async def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    error = await refused({**AWS, "AWS_REGION": "x"}, "bedrock/x")
    assert error.kind == "missing" and "boto3" in error.message and "`pip install boto3`" in error.hint


CHOSEN: dict[str, tuple[dict[str, str], dict[str, Any], str, str]] = {
    "a key of bedrock's own": ({"AWS_BEARER_TOKEN_BEDROCK": "k"}, {}, "bedrock", "AWS_BEARER_TOKEN_BEDROCK is set"),
    "as claude is told": ({"CLAUDE_CODE_USE_BEDROCK": "1"}, {}, "bedrock", "CLAUDE_CODE_USE_BEDROCK is set"),
    "as claude is told not to": ({"CLAUDE_CODE_USE_BEDROCK": "0"}, {}, "offline", "no API key"),
    "credentials alone": (AWS, {}, "offline", "no API key"),  # they are there for other things
    "a table": ({}, {"providers": {"work": {"type": "bedrock"}}}, "work", "[providers.work] names it"),
    "preferred": ({}, {"providers": {"vertex": {}}, "agent": {"default_provider": "vertex"}}, "vertex", "chosen by"),
    "vertex": ({"CLAUDE_CODE_USE_VERTEX": "true"}, {}, "vertex", "CLAUDE_CODE_USE_VERTEX is set"),
    "google's own word": ({"GOOGLE_GENAI_USE_VERTEXAI": "True"}, {}, "vertex", "GOOGLE_GENAI_USE_VERTEXAI is set"),
    "openrouter": ({"OPENROUTER_API_KEY": "k"}, {}, "openrouter", "OPENROUTER_API_KEY is set"),
    "azure without a model": (
        {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "http://a"},
        {},
        "offline",
        "no API key",
    ),
    "azure with one": (
        {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "http://a"},
        {"providers": {"azure": {"default_model": "gpt-4.1"}}},
        "azure",
        "AZURE_OPENAI_API_KEY is set",
    ),
    "the vendor's key first": (
        {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_USE_BEDROCK": "1"},
        {},
        "anthropic",
        "default_provider",
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
async def test_a_cloud_is_chosen_where_something_says_so(name: str) -> None:
    environ, tables, provider, why = CHOSEN[name]
    settings = Settings.model_validate(tables)
    choice = await choose_model(settings, {**NOBODY, **environ})
    assert choice.provider.name == provider and why in choice.why, choice
    assert (provider in {one.name for one in await usable(settings, {**NOBODY, **environ})}) == (provider != "offline")


async def test_an_alias_means_the_clouds_own_name() -> None:
    for environ, model in (
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, "global.anthropic.claude-opus-5-5"),
        ({"CLAUDE_CODE_USE_VERTEX": "1"}, "claude-opus-5-5"),
        ({"OPENROUTER_API_KEY": "k"}, "anthropic/claude-opus-5.5"),
        ({"ANTHROPIC_API_KEY": "k", "OPENROUTER_API_KEY": "k"}, "claude-opus-5-5"),
    ):
        choice = await choose_model(Settings(), {**NOBODY, **environ}, model="opus")
        assert (choice.model, choice.label) == (model, "Claude Opus 5.5")


def test_the_version_is_the_sdks() -> None:
    from anthropic import _constants

    assert claude_clouds.VERSION == _constants.ANTHROPIC_API_VERSION

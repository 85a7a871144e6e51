"""A real proxy of models, LiteLLM, with its mock models: what its streams and refusals are to our adapters."""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gshtui.providers.port import ProviderError
from tests.kit.providers import RecordedWaits, make_provider, make_request, receive_stream
from tests.kit.real_programs import installed_servers, server_path

THERE = [name for name in installed_servers() if name == "litellm"]
KEY = "sk-loopback"
WORDS = "Größe 😀 and more words"
MOCKS = {
    "words": WORDS,
    "limit": "litellm.RateLimitError",
    "window": "litellm.ContextWindowExceededError",
}
"""What each model answers; some of these words are errors that the proxy makes itself."""


@contextlib.asynccontextmanager
async def proxy(folder: Path) -> AsyncIterator[str]:
    """The proxy on this machine, once it answers."""
    listed = [
        {"model_name": name, "litellm_params": {"model": "openai/gpt-4o", "api_key": "x", "mock_response": answer}}
        for name, answer in MOCKS.items()
    ]
    config = folder / "litellm.json"  # which is YAML, too
    settings = {"model_list": listed, "litellm_settings": {"telemetry": False, "num_retries": 0}}
    config.write_text(json.dumps({**settings, "general_settings": {"master_key": KEY}}, ensure_ascii=False), "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False")
    process = await asyncio.create_subprocess_exec(
        server_path("litellm"),
        *words,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONUNBUFFERED": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=1 << 24,
    )
    assert process.stdout is not None
    said: list[bytes] = []
    while b"Uvicorn running on" not in (line := await process.stdout.readline()):
        said.append(line)
        assert line, b"".join(said)[-2_000:].decode("utf-8", "replace")
    rest = asyncio.create_task(process.stdout.read())  # a full pipe would stop it
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 20)
        except TimeoutError:
            process.kill()
            await process.wait()
        await rest


@pytest.mark.parametrize("server", THERE)
async def test_its_answers_and_refusals_are_what_they_are(server: str, tmp_path: Path) -> None:
    async with proxy(tmp_path) as url:
        for api in ("openai-chat", "anthropic"):
            provider = make_provider(api, url, key=KEY, waits=RecordedWaits())
            received = await receive_stream(provider, make_request(api, model="words"))
            assert (received.text, received.completed.stop) == (WORDS, "end")
            kinds: dict[str, str] = {}
            for model in ("limit", "window", "nowhere"):
                with pytest.raises(ProviderError) as failed:
                    await receive_stream(provider, make_request(api, model=model))
                kinds[model] = failed.value.kind
            await provider.close()
            assert kinds == {"limit": "rate_limit", "window": "context", "nowhere": "unknown_model"}, api

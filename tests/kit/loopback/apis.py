"""All APIs by name, and a server for one of them."""

from collections.abc import Callable, Sequence
from typing import Any

from tests.kit.loopback.anthropic import AnthropicSpeech
from tests.kit.loopback.gemini import GeminiSpeech
from tests.kit.loopback.ollama import OllamaSpeech
from tests.kit.loopback.openai_chat import ChatSpeech
from tests.kit.loopback.openai_responses import ResponsesSpeech
from tests.kit.loopback.script import Answer
from tests.kit.loopback.server import Loopback
from tests.kit.loopback.speech import Speech

SPEECHES: dict[str, Callable[[], Speech]] = {
    "anthropic": AnthropicSpeech,
    "openai": ResponsesSpeech,
    "openai-chat": ChatSpeech,
    "gemini": GeminiSpeech,
    "ollama": OllamaSpeech,
}


def loopback(api: str, script: Sequence[Answer] = (), **options: Any) -> Loopback:
    """A server that speaks this API; see `Loopback` for the options."""
    return Loopback(SPEECHES[api](), script=script, **options)


def base_url(api: str, url: str) -> str:
    """What to give a client as its base: OpenAI's includes the version."""
    return f"{url}/v1" if api.startswith("openai") else url


def variables(api: str, url: str) -> dict[str, str]:
    """Environment that sends gsh-tui to this server."""
    match api:
        case "anthropic":
            return {"ANTHROPIC_API_KEY": "loopback", "ANTHROPIC_BASE_URL": url}
        case "gemini":
            return {"GEMINI_API_KEY": "loopback", "GOOGLE_GEMINI_BASE_URL": url}
        case "ollama":
            return {"OLLAMA_HOST": url}
        case _:
            return {"OPENAI_API_KEY": "loopback", "OPENAI_BASE_URL": base_url(api, url)}

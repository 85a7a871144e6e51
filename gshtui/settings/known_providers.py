"""The providers that we know, a row each, in the order in which keys are searched.

Other modules name only those that need more than a row, such as an adapter.

Plain data that costs nothing to import, for the command line, the settings and `providers/`.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class KnownProvider(NamedTuple):
    """One provider."""

    label: str
    """Its name for people."""
    address: str
    """Environment variable of its address."""
    keys: tuple[str, ...] = ()
    """Environment variables of its key, the first that is set counts; none: it takes no key."""
    also: tuple[str, ...] = ()
    """Other names that people write."""
    home: str = ""
    """Its own address, where its adapter does not know it."""
    hosts: bool = False
    """It serves others' models, under names of its own."""
    chat: bool = False
    """It speaks OpenAI's chat completions: it needs no adapter."""
    begins: str = ""
    """How its keys begin."""
    models: str = ""
    """How the names of its models begin, where they show whose they are; a pattern."""
    facts: tuple[str, ...] = ()
    """Its names on models.dev."""


KNOWN_PROVIDERS: dict[str, KnownProvider] = {
    "anthropic": KnownProvider(
        "Anthropic",
        "ANTHROPIC_BASE_URL",
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        also=("claude",),
        begins="sk-ant-",
        models=r"claude-",
        facts=("anthropic",),
    ),
    "openai": KnownProvider(
        "OpenAI",
        "OPENAI_BASE_URL",
        ("OPENAI_API_KEY",),
        also=("gpt",),
        begins="sk-",
        models=r"gpt-|o\d|chatgpt-",
        facts=("openai",),
    ),
    "gemini": KnownProvider(
        "Gemini",
        "GOOGLE_GEMINI_BASE_URL",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        also=("google",),
        begins="AIza",
        models=r"(models/)?gemini-",
        facts=("google",),
    ),
    "openrouter": KnownProvider(
        "OpenRouter",
        "OPENROUTER_BASE_URL",
        ("OPENROUTER_API_KEY",),
        home="https://openrouter.ai/api/v1",
        hosts=True,
        chat=True,
        begins="sk-or-",
        facts=("openrouter",),
    ),
    "azure": KnownProvider(
        "Azure OpenAI",
        "AZURE_OPENAI_ENDPOINT",
        ("AZURE_OPENAI_API_KEY",),
        hosts=True,
        chat=True,
        facts=("azure",),
    ),
    "bedrock": KnownProvider(
        "Amazon Bedrock",
        "ANTHROPIC_BEDROCK_BASE_URL",
        ("AWS_BEARER_TOKEN_BEDROCK",),
        also=("aws", "amazon-bedrock"),
        hosts=True,
        facts=("amazon-bedrock",),
    ),
    "vertex": KnownProvider(
        "Vertex AI",
        "ANTHROPIC_VERTEX_BASE_URL",
        also=("google-vertex",),
        hosts=True,
        facts=("google-vertex", "google-vertex-anthropic"),
    ),
    "ollama": KnownProvider("Ollama", "OLLAMA_HOST", also=("local",)),
}


OTHER_NAMES = {other: name for name, known in KNOWN_PROVIDERS.items() for other in known.also}


def label_of(name: str) -> str:
    """What people call it; the name itself, if it is not one of ours."""
    return KNOWN_PROVIDERS[name].label if name in KNOWN_PROVIDERS else name


PROVIDER_NAMES = ", ".join((*KNOWN_PROVIDERS, "offline"))
"""All that a person may name, for help."""
KEY_BEGINNINGS = tuple(known.begins for known in KNOWN_PROVIDERS.values() if known.begins)
_WHOLE_KEY = re.compile(
    r"(?<![A-Za-z0-9_-])(?:sk-ant-[A-Za-z0-9_-]{80,}+|sk-or-v1-[0-9a-f]{64}|sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{48,}+"
    r"|sk-[A-Za-z0-9]{48}|AIza[A-Za-z0-9_-]{35})(?![A-Za-z0-9_-])"
)
"""What is surely a key: whole, as the providers make them."""
_AROUND_KEY = re.compile(r"(?:/?model|/?setup|export)?\s*+(?:\w++\s*+=\s*+)?[\"'`]{0,2}")
_BEGUN_KEY = re.compile(rf"{_AROUND_KEY.pattern}(?:{'|'.join(KEY_BEGINNINGS)})[A-Za-z0-9_-]*+[\"'`]{{0,2}}")


def lone_key(text: str) -> str:
    """The key that is all of this text, also as `NAME=key`, in quotes or behind `/setup`; empty: it is none."""
    found = _WHOLE_KEY.search(text)
    alone = found and _AROUND_KEY.fullmatch(f"{text[: found.start()]}{text[found.end() :]}".strip())
    return found[0] if found and alone else ""


def may_become_key(text: str) -> bool:
    """Whether all of this text begins as `lone_key` would have it: more may come, or its provider knows more forms."""
    return _BEGUN_KEY.fullmatch(text.strip()) is not None


def api_of_key(key: str) -> str:
    """The API whose keys begin like this one; empty: nobody knows."""
    fitting = [api for api, known in KNOWN_PROVIDERS.items() if known.begins and key.startswith(known.begins)]
    return max(fitting, key=lambda api: len(KNOWN_PROVIDERS[api].begins), default="")


_PASTED = [known.label for known in KNOWN_PROVIDERS.values() if known.begins]
PASTED_KEYS = f"{', '.join(_PASTED[:-1])} or {_PASTED[-1]}"
"""Those whose keys are known by how they begin, for people."""

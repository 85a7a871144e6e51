"""The known providers, with address and key: the settings and the environment combined.

Makes no network requests. Rejects a key that no server could
accept. Called by `selection` and `model_command`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from gshtui.providers.adapters.ollama import address
from gshtui.providers.catalog import Catalog
from gshtui.providers.port import Provider, ProviderError
from gshtui.providers.wire.cloud_access import CLOUDS, CloudAccess, cloud_access, no_place
from gshtui.providers.wire.provider_errors import no_key
from gshtui.providers.wire.sdk_connection import Endpoint
from gshtui.settings.known_providers import KNOWN_PROVIDERS, OTHER_NAMES

if TYPE_CHECKING:
    from gshtui.settings.model import Settings
    from gshtui.settings.settings_tables import ProviderSettings

HOSTS = tuple(name for name, known in KNOWN_PROVIDERS.items() if known.hosts)
"""Those that serve others' models, under names of their own."""
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
"""RFC 9110, section 5.1."""


@dataclass(frozen=True, slots=True)
class ProviderCandidate:
    """A provider that could be used."""

    name: str
    api: str
    key: str = ""
    key_variable: str = ""
    base_url: str = ""
    default_model: str = ""
    own_server: bool = False
    """Whether an address was configured: then the catalog may not know its models, and it may not need a key."""
    cloud: CloudAccess | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """That each request carries besides, as gateways want them."""

    @property
    def keyed(self) -> bool:
        """Can be used as far as keys go; whether an Ollama answers is another question."""
        if self.cloud is None:
            return bool(self.key) or (self.own_server and self.api == "openai")
        if self.api == "azure":
            return bool(self.base_url) and bool(self.key or self.cloud.token)
        return bool(self.key or self.cloud.chosen_by)

    @property
    def why_usable(self) -> str:
        """What of settings and environment makes it so."""
        if self.key:
            return f"{self.key_variable} is set"
        if self.cloud is None:
            return f"{self.name} has an address configured"
        if self.cloud.token:
            return "AZURE_OPENAI_AD_TOKEN is set"
        by_table = self.cloud.chosen_by.startswith("[")
        return f"{self.cloud.chosen_by} {'names it' if by_table else 'is set'}"

    def check(self) -> None:
        """Raises `ProviderError` if it cannot be asked at all. A cloud may find credentials that nobody sees here."""
        if self.api == "azure" and not self.base_url:
            raise no_place(KNOWN_PROVIDERS["azure"].address, "https://NAME.openai.azure.com")
        if not self.keyed and self.api not in ("bedrock", "vertex", "ollama"):
            raise no_key(KNOWN_PROVIDERS[self.api].label, self.key_variable)


def candidates(settings: Settings, environ: Mapping[str, str]) -> dict[str, ProviderCandidate]:
    """All providers by name: those of the settings, and those with the APIs' own names."""
    found: dict[str, ProviderCandidate] = {}
    for name, table in settings.providers.items():
        api = table.type or OTHER_NAMES.get(name, name)
        if api in KNOWN_PROVIDERS:
            found[name] = _candidate(name, api, environ, table)
    for api in KNOWN_PROVIDERS:
        if not any(candidate.api == api and not candidate.own_server for candidate in found.values()):
            found.setdefault(api, _candidate(api, api, environ, None))
    order = {api: number for number, api in enumerate(KNOWN_PROVIDERS)}
    return dict(sorted(found.items(), key=lambda item: (order[item[1].api], item[1].own_server)))


def _candidate(name: str, api: str, environ: Mapping[str, str], table: ProviderSettings | None) -> ProviderCandidate:
    known = KNOWN_PROVIDERS[api]
    variables = known.keys
    named = table.api_key_env if table is not None else ""
    if named and named not in variables:
        variables = (named,)
    variable = next((v for v in variables if environ.get(v, "").strip()), variables[0] if variables else "")
    own = table.base_url.rstrip("/") if table is not None else ""
    base = own or environ.get(known.address, "").strip().rstrip("/") or known.home
    if api == "ollama":
        base = address(base)
    key = environ.get(variable, "").strip() if variable else ""
    if variable and not key and table is not None and table.keyring:
        from gshtui.providers.keyring_key import keyring_key  # few have one

        key = keyring_key(table.keyring, variable)
    # They may hold a gateway's token, which is not for whoever else speaks the same API.
    wants_headers = api == "anthropic" and (not own or name == api)
    return ProviderCandidate(
        name=name,
        api=api,
        key=key,
        key_variable=variable,
        base_url=base,
        default_model=table.default_model if table is not None else "",
        own_server=bool(base) and base != known.home and api not in ("ollama", *HOSTS),
        cloud=cloud_access(api, environ, name, table) if api in CLOUDS else None,
        headers=_headers(environ.get("ANTHROPIC_CUSTOM_HEADERS", "")) if wants_headers else (),
    )


def _headers(text: str) -> tuple[tuple[str, str], ...]:
    """`Name: value` on each line, as Claude Code and Anthropic's SDK read it; what is none is left out."""
    lines = (line.partition(":") for line in text.splitlines())
    pairs = [(name.strip().lower(), value.strip()) for name, colon, value in lines if colon]
    return tuple(pair for pair in pairs if _HEADER_NAME.fullmatch(pair[0]) and _is_plain(pair[1]))


def _is_plain(text: str) -> bool:
    """Whether it can be put into a header."""
    return text.isascii() and text.isprintable()


def check_key(candidate: ProviderCandidate) -> None:
    """Raises `ProviderError` for a key that cannot be put into a header."""
    if candidate.key and (not _is_plain(candidate.key) or " " in candidate.key):
        raise ProviderError(
            "auth",
            f"The key in {candidate.key_variable} contains characters that cannot be part of a key",
            hint=f"Copy it again, without spaces or quotes: `export {candidate.key_variable}=…`.",
        )


def make_provider(candidate: ProviderCandidate, catalog: Catalog) -> Provider:
    """The provider. Nothing is imported or connected yet."""
    check_key(candidate)
    place = Endpoint(
        name=candidate.name,
        key=candidate.key,
        key_variable=candidate.key_variable,
        base_url=candidate.base_url,
        catalog=catalog,
        host=candidate.api if candidate.api in HOSTS else "",
        cloud=candidate.cloud or CloudAccess(),
        headers=candidate.headers,
    )
    match candidate.api:
        case "bedrock":
            from gshtui.providers.adapters.anthropic import Anthropic
            from gshtui.providers.adapters.claude_clouds import Bedrock

            return Anthropic(place, Bedrock(place))
        case "vertex":
            from gshtui.providers.adapters.vertex import Vertex

            return Vertex(place)
        case api if KNOWN_PROVIDERS[api].chat:
            from gshtui.providers.adapters.openai_chat import OpenAIChat

            return OpenAIChat(place)
        case "anthropic":
            from gshtui.providers.adapters.anthropic import Anthropic

            return Anthropic(place)
        case "gemini":
            from gshtui.providers.adapters.gemini import Gemini

            return Gemini(place)
        case "ollama":
            from gshtui.providers.adapters.ollama import Ollama

            return Ollama(place)
        case _:
            return _openai(place)


@runtime_checkable
class SlowWarmup(Protocol):
    """A provider whose SDK takes a second to load."""

    async def warm_up(self) -> None:
        """Load it, and make the client."""
        ...


async def warm(provider: Provider) -> None:
    """Load now, in a thread, what the first request would have to wait for. Does nothing that can fail visibly."""
    try:
        await warm_or_raise(provider)
    except ProviderError:
        pass  # the first request says it, to whoever asked for it


async def warm_or_raise(provider: Provider) -> None:
    """As `warm`. Raises `ProviderError` where no request can be made."""
    if isinstance(provider, SlowWarmup):
        await provider.warm_up()


def _openai(place: Endpoint) -> Provider:
    from urllib.parse import urlsplit

    host = urlsplit(place.base_url).hostname or ""
    if not place.base_url or host == "api.openai.com" or host.endswith(".api.openai.com"):
        from gshtui.providers.adapters.openai_responses import OpenAIResponses

        return OpenAIResponses(place)
    from gshtui.providers.adapters.openai_chat import OpenAIChat

    return OpenAIChat(place)

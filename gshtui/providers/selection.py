"""Selects provider and model: what was asked for, else what the settings prefer, else what is usable.

Also explains the choice. Connects only to a possible Ollama on this machine, only for a moment, and loads no library
for that. Raises
`ProviderError` with the closest names. Called by the agents and by `model`.

Providers that approved plugins bring: found by the name of their entry point, imported when one is asked for by it.

They are used only where somebody names them; no plugin becomes the provider of requests by being installed.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import msgspec

from gshtui.providers.adapters.ollama import Ollama
from gshtui.providers.candidates import HOSTS, ProviderCandidate, candidates, make_provider
from gshtui.providers.catalog import Catalog, Model
from gshtui.providers.port import Provider, ProviderError
from gshtui.settings import plugins
from gshtui.settings.known_providers import KNOWN_PROVIDERS, OTHER_NAMES, label_of
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.settings.model import Settings


class ProviderOffer(msgspec.Struct, frozen=True):
    """What an entry point `gshtui.providers` gives: the models of a provider, and how to make it."""

    make: Callable[[Mapping[str, str]], Provider]
    """Environment → the provider. May raise `ProviderError`, such as for a missing key."""
    models: Sequence[str] = ()
    """The first is used where none is named."""


def plugin_offers() -> dict[str, ProviderOffer]:
    """The offers of approved plugins by name. Raises `ProviderError` if the approvals cannot be read."""
    try:
        found = [one for one in plugins.load_contributions("providers") if isinstance(one.found, ProviderOffer)]
    except plugins.PluginError as error:
        raise ProviderError("missing", error.message, hint=error.hint) from error
    return {one.name: cast("ProviderOffer", one.found) for one in found}


def make_offered(name: str, offer: ProviderOffer, environ: Mapping[str, str]) -> Provider:
    """The provider of an offer. Raises `ProviderError`."""
    try:
        provider = offer.make(environ)
    except ProviderError:
        raise
    except Exception as error:  # whatever a plugin does wrong is one sentence
        why = one_line(f"{type(error).__name__}: {error}", 160)
        raise ProviderError("missing", f"The provider {name} of a plugin failed: {why}") from error
    if provider.name != name:
        raise ProviderError("missing", f"The provider {name} of a plugin calls itself {one_line(provider.name, 40)!r}")
    return provider


PROBE = 0.3
"""Seconds that Ollama has to answer."""
OFFLINE = "offline"


class ModelChoice(msgspec.Struct, frozen=True):
    """A provider and one of its models."""

    provider: Provider
    model: str
    label: str
    """For people: `Claude Sonnet 5.5`."""
    why: str
    """One sentence: why this one."""
    instead_of: str = ""
    """The configured model, if it is no longer available and this one replaces it."""


async def choose_model(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    provider: str = "",
    model: str = "",
    catalog: Catalog | None = None,
) -> ModelChoice:
    """Choose by name; either may be empty. `model` may be an alias (`sonnet`) or `provider/model`.

    Raises `ProviderError`: `unknown_model`, `missing` (a provider or its key), `auth` (an impossible key), `network`
    (Ollama was asked for but does not answer).
    """
    chooser = _Chooser(
        candidates(settings, environ),
        settings.agent.default_provider,
        catalog if catalog is not None else Catalog.load(),
        environ,
    )
    return await chooser.choose(provider.strip(), model.strip())


class _Chooser(msgspec.Struct):
    found: dict[str, ProviderCandidate]
    preferred: str
    catalog: Catalog
    environ: Mapping[str, str]
    installed: dict[str, list[str] | None] = msgspec.field(default_factory=dict[str, "list[str] | None"])
    """Base URL of a server → its models, or `None` if it does not answer; asked once per choice."""

    async def choose(self, provider: str, model: str) -> ModelChoice:
        if not provider and "/" in model:
            head, _, tail = model.partition("/")
            if tail and (head == OFFLINE or self._named(head) is not None or head in plugin_offers()):
                provider, model = head, tail
        if OFFLINE in (provider, model):
            return self._offline("as asked")
        if provider:
            candidate = self._named(provider)
            if candidate is None:
                return self._of_plugin(provider, model, "as asked")
            return await self._with(candidate, model, "as asked")
        if model:
            return await self._by_model(model)
        return await self._best()

    def _named(self, name: str) -> ProviderCandidate | None:
        if name in self.found:
            return self.found[name]
        api = OTHER_NAMES.get(name.lower(), name.lower())
        return next((candidate for candidate in self.found.values() if candidate.api == api), None)

    def _of_plugin(self, name: str, model: str, why: str) -> ModelChoice:
        """The provider that a plugin brings under this name. Raises `ProviderError`."""
        offer = plugin_offers().get(name)
        if offer is None:
            raise self._unknown_provider(name)
        chosen = model or next(iter(offer.models), "")
        if not chosen:
            raise ProviderError("unknown_model", f"{name} has its own models, and none is named", hint="Name one.")
        return ModelChoice(make_offered(name, offer, self.environ), chosen, chosen, why)

    def _unknown_provider(self, name: str) -> ProviderError:
        names = known_names("providers", [*self.found, *plugin_offers(), OFFLINE])
        return ProviderError("missing", f"There is no provider “{name}”", hint=names)

    async def _best(self) -> ModelChoice:
        preferred = self.found.get(self.preferred) or self._named(self.preferred)
        if preferred is not None and await self._usable(preferred):
            return await self._with(preferred, "", "chosen by agent.default_provider")
        if preferred is None and self.preferred in plugin_offers():
            return self._of_plugin(self.preferred, "", "chosen by agent.default_provider")
        if self.preferred == OFFLINE:
            return self._offline("chosen by agent.default_provider")
        for candidate in self.found.values():
            if candidate.keyed and await self._has_a_model(candidate):
                return await self._with(candidate, "", candidate.why_usable)
        for candidate in self.found.values():
            if candidate.api == "ollama" and await self._usable(candidate):
                return await self._with(candidate, "", f"Ollama is running at {candidate.base_url}")
        return self._offline("no API key is set and Ollama is not running")

    async def _has_a_model(self, candidate: ProviderCandidate) -> bool:
        if candidate.default_model or (candidate.api in HOSTS and self.catalog.default(candidate.api) is not None):
            return True
        if candidate.api in HOSTS:
            return False
        return not _serves_its_own(candidate) or bool(await self._models_of(candidate))

    async def _usable(self, candidate: ProviderCandidate) -> bool:
        if candidate.api in HOSTS:
            return candidate.keyed and await self._has_a_model(candidate)
        return candidate.keyed or (candidate.api == "ollama" and bool(await self._models_of(candidate)))

    async def _models_of(self, candidate: ProviderCandidate) -> list[str] | None:
        base = candidate.base_url
        if candidate.key:
            return None  # a server that wants a key is not asked without one
        if base not in self.installed:
            ask = ollama_models if candidate.api == "ollama" else compatible_models
            self.installed[base] = await ask(base, PROBE)
        return self.installed[base]

    async def _by_model(self, name: str) -> ModelChoice:
        """The model's own provider; one's own server where nobody knows the name."""
        entry = self.catalog.find(name)
        api = entry.provider if entry is not None else _family(name)
        if api:
            fitting = [
                candidate
                for candidate in self.found.values()
                if candidate.api == api or self.catalog.find(name, candidate.api) is not None
            ]
            fitting.sort(key=lambda candidate: (not candidate.keyed, candidate.name != self.preferred))
            if fitting:
                return await self._with(fitting[0], name, f"{name} is a model of {label_of(api)}")
        for candidate in self.found.values():
            if candidate.api == "ollama" and _among(name, await self._models_of(candidate) or []):
                return await self._with(candidate, name, f"{name} is installed in Ollama")
        preferred = self.found.get(self.preferred)
        servers = [candidate for candidate in self.found.values() if candidate.own_server and candidate.keyed]
        for candidate in [preferred, *servers]:
            if candidate is not None and candidate.own_server and candidate.keyed:
                return await self._with(candidate, name, f"{candidate.name} may serve it")
        raise self._unknown_model(name)

    def _unknown_model(self, name: str) -> ProviderError:
        near = self.catalog.near(name)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        return ProviderError(
            "unknown_model",
            f"There is no model “{name}” that I know of",
            hint=f"{meant}`model list` lists the models; `provider/model` uses a name exactly as written.",
        )

    async def _with(self, candidate: ProviderCandidate, model: str, why: str) -> ModelChoice:
        if candidate.api == "ollama":
            return await self._with_ollama(candidate, model, why)
        candidate.check()
        gone = ""
        if model:
            name = self._full_name(candidate, model)
        else:
            name, note = await self._default(candidate)
            why += note
            if name != candidate.default_model and self._gone(candidate.default_model):
                gone = candidate.default_model
        entry = self.catalog.find(name, candidate.api)
        provider = make_provider(candidate, self.catalog)
        return ModelChoice(provider, name, entry.label if entry is not None and entry.label else name, why, gone)

    def _full_name(self, candidate: ProviderCandidate, model: str) -> str:
        """An alias becomes its model; a name that belongs to another API is refused, one that nobody knows is not."""
        entry = self.catalog.find(model, candidate.api)
        if entry is not None:
            return entry.name if model.lower() in entry.aliases else model
        foreign = self.catalog.find(model)
        if foreign is not None and not candidate.own_server and candidate.api not in HOSTS:
            raise ProviderError(
                "unknown_model",
                f"{foreign.label or foreign.name} is a model of {label_of(foreign.provider)}, not of {candidate.name}",
                hint=f"Leave the provider out, or choose one of {candidate.name}'s with `model list`.",
            )
        return model

    async def _default(self, candidate: ProviderCandidate) -> tuple[str, str]:
        wanted = candidate.default_model
        if wanted:
            name = self.catalog.current(self._full_name(candidate, wanted), candidate.api)
            return name, f"; {wanted} is no longer available, so {name}" if name != wanted and self._gone(
                wanted
            ) else ""
        served = await self._models_of(candidate) if _serves_its_own(candidate) else None
        if served:
            return served[0], ", its first available model"
        first = self.catalog.default(candidate.api)
        if _serves_its_own(candidate) or first is None:  # Azure's models are named by who deploys them
            raise ProviderError(
                "unknown_model",
                f"{candidate.name} has its own models, and none is named",
                hint=f"Set providers.{candidate.name}.default_model, or use `model {candidate.name}/NAME`.",
            )
        return first.name, ""

    def _gone(self, name: str) -> bool:
        entry: Model | None = self.catalog.find(name)
        return entry is not None and bool(entry.retired)

    async def _with_ollama(self, candidate: ProviderCandidate, model: str, why: str) -> ModelChoice:
        installed = await self._models_of(candidate)
        if installed is None:
            raise ProviderError(
                "network",
                f"No answer from Ollama at {candidate.base_url}",
                hint="Start it with `ollama serve`, or set OLLAMA_HOST to its address.",
                retryable=True,
            )
        if not installed:
            raise ProviderError(
                "unknown_model",
                "Ollama has no model installed",
                hint="Install one, for example with `ollama pull qwen3`.",
            )
        name = _among(model, installed) if model else _among(candidate.default_model, installed) or installed[0]
        if not name:
            raise ProviderError(
                "unknown_model",
                f"Ollama has no model “{model}”",
                hint=f"Run `ollama pull {model}`, or use an installed one: {', '.join(installed[:8])}.",
            )
        provider = make_provider(candidate, self.catalog)
        assert isinstance(provider, Ollama)
        try:
            await provider.learn(name)
        except ProviderError:
            pass  # what the model can do is asked again with the first request, which then says what is wrong
        return ModelChoice(provider, name, f"{name} (Ollama)", why)

    def _offline(self, why: str) -> ModelChoice:
        from gshtui.providers.offline import LABEL, MODEL, OfflineProvider

        return ModelChoice(OfflineProvider(), MODEL, LABEL, why)


def _serves_its_own(candidate: ProviderCandidate) -> bool:
    """Whether this is a compatible server, for which the catalog's first choice is meaningless; not OpenAI itself."""
    gateway = candidate.name == candidate.api and bool(candidate.key)
    return candidate.own_server and candidate.api == "openai" and not gateway


def _family(name: str) -> str:
    rows = KNOWN_PROVIDERS.items()
    return next((api for api, known in rows if known.models and re.match(known.models, name.lower())), "")


def _among(name: str, installed: list[str]) -> str:
    """The installed model of that name; a name without a tag is the one tagged `latest`, or the first of its name."""
    if not name:
        return ""
    for candidate in (name, f"{name}:latest"):
        if candidate in installed:
            return candidate
    return next((model for model in installed if model.split(":", 1)[0] == name), "")


class Usable(msgspec.Struct, frozen=True):
    """A provider that can be used now, for lists."""

    name: str
    api: str
    models: tuple[str, ...] = ()
    """What an Ollama has installed, or a plugin names; the catalog speaks for the others."""


async def usable(settings: Settings, environ: Mapping[str, str]) -> list[Usable]:
    """The providers that can be used now, in the order of preference."""
    out: list[Usable] = []
    for candidate in candidates(settings, environ).values():
        if candidate.api == "ollama":
            if installed := await ollama_models(candidate.base_url, PROBE):
                out.append(Usable(candidate.name, candidate.api, tuple(installed)))
        elif candidate.keyed:
            out.append(Usable(candidate.name, candidate.api))
    return [*out, *(Usable(name, name, tuple(offer.models)) for name, offer in plugin_offers().items())]


_LARGEST = 4 << 20
"""Bytes of an answer."""


async def ollama_models(base: str, wait: float) -> list[str] | None:
    """The models installed in Ollama at this address; `None` if it does not answer within `wait` seconds."""
    return await _names(base, "/api/tags", "models", "name", wait)


async def compatible_models(base: str, wait: float) -> list[str] | None:
    """Names of the models that an OpenAI-compatible server at this address serves. Otherwise as `ollama_models`."""
    return await _names(base, "/models", "data", "id", wait)


async def _names(base: str, path: str, listed: str, named: str, wait: float) -> list[str] | None:
    try:
        async with time_limit(wait):
            found = await _get(base, path)
        return [str(model[named]) for model in found[listed]]
    except (OSError, TimeoutError, ValueError, KeyError, TypeError, asyncio.IncompleteReadError):
        return None
    except asyncio.LimitOverrunError:
        return None


async def _get(base: str, path: str) -> Any:
    url = urlsplit(base)
    secure = url.scheme == "https"
    reader, writer = await asyncio.open_connection(
        url.hostname or "127.0.0.1", url.port or (443 if secure else 80), ssl=secure or None
    )
    try:
        where = f"{url.path.rstrip('/')}{path}"
        head = f"GET {where} HTTP/1.0\r\nHost: {url.netloc}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
        writer.write(head.encode("ascii"))
        await writer.drain()
        status, _, _ = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
        if b" 200" not in status:
            raise ValueError("not this kind of server")
        body = b""
        while piece := await reader.read(1 << 16):
            body += piece
            if len(body) > _LARGEST:
                raise ValueError("not this kind of server")
        try:
            return json.loads(body)
        except RecursionError as error:
            raise ValueError("not this kind of server") from error
    finally:
        writer.close()

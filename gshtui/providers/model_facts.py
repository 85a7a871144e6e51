"""Facts about models in the form of models.dev: windows, prices, what they take. Bundled, and renewed on request.

Only what is used is kept of an update, so that reading it costs little. Servers that models.dev knows by an address are
kept under that address, so that a server of one's own that is one of them has windows and prices. Nothing is fetched
unasked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from gshtui.settings import paths
from gshtui.settings.known_providers import KNOWN_PROVIDERS
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.json_types import is_object
from gshtui.system.struct_types import learned
from gshtui.text.sanitise import one_line

FACTS_FILE = "models.json"
SOURCE = "https://models.dev/api.json"
LARGEST = 64_000_000
_MOST = 20_000
"""Models."""
_PROVIDERS = {name: ours for ours, known in KNOWN_PROVIDERS.items() for name in known.facts}
"""Its names of providers → ours."""
Places = dict[tuple[str, str], "ModelFacts"]
"""Provider and model → what is known."""


class FactsError(ExpectedError):
    """The facts cannot be used."""


class _Cost(msgspec.Struct, frozen=True):
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None


class _Limit(msgspec.Struct, frozen=True):
    context: int = 0
    output: int = 0


class _Modalities(msgspec.Struct, frozen=True):
    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ("text",)


class ModelFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """One model, in the form of models.dev, as far as it matters here."""

    id: str
    name: str = ""
    reasoning: bool = False
    temperature: bool = True
    tool_call: Any = True
    modalities: _Modalities = _Modalities()
    cost: _Cost | None = None
    limit: _Limit = _Limit()

    @property
    def known(self) -> dict[str, Any]:
        """As fields of a catalog's model; what it does not say is left out."""
        takes = self.modalities.input
        calls: Any = self.tool_call
        if is_object(calls):
            calls = calls.get("supported", True)
        found: dict[str, Any] = {
            "label": one_line(self.name, 60),
            "tools": bool(calls),
            "images": "image" in takes,
            "documents": "pdf" in takes,
            "audio": "audio" in takes,
            "temperature": self.temperature,
        }
        if self.limit.context > 0:
            found["window"] = self.limit.context
        if self.limit.output > 0:
            found["max_output"] = min(self.limit.output, self.limit.context or self.limit.output)
        if (cost := self.cost) is not None:
            for name in ("input", "output", "cache_read", "cache_write"):
                price: float | None = getattr(cost, name)
                if price is not None and 0 <= price < 1e6:
                    found[f"price_{name}"] = price
        return found


class _Provider(msgspec.Struct, frozen=True, omit_defaults=True):
    models: dict[str, msgspec.Raw]
    api: str = ""


class _Kept(msgspec.Struct, frozen=True):
    day: str
    providers: dict[str, _Provider]


class FactsUpdate(msgspec.Struct, frozen=True):
    """What an update has brought."""

    models: int
    servers: int
    """Providers and servers that they are of."""
    new: tuple[str, ...] = ()
    """Models of named providers that were not known before, as `provider/model`."""


class KnownFacts(msgspec.Struct, frozen=True):
    """The facts of one file."""

    places: Places = msgspec.field(default_factory=dict[tuple[str, str], ModelFacts])
    """Of the providers that have a name here."""
    servers: dict[str, dict[str, msgspec.Raw]] = msgspec.field(default_factory=dict[str, dict[str, msgspec.Raw]])
    """Of other servers, by their address: thousands, so each is read when it is asked for."""
    day: str = ""

    def of_server(self, address: str, name: str) -> ModelFacts | None:
        raw = self.servers.get(address.lower(), {}).get(name)
        return None if raw is None else _model(name, raw)


def read_facts(data: bytes) -> KnownFacts:
    """The facts of a file. Raises `FactsError` for one of another form; a model that is wrong is left out."""
    return _known(_decoded(data, dict[str, _Provider]), "")


def kept_facts() -> KnownFacts:
    """The facts of the last update; none where there was no update, or its file cannot be read."""
    try:
        kept = _decoded((paths.state_dir(create=False) / FACTS_FILE).read_bytes(), _Kept)
    except (OSError, FactsError):
        return KnownFacts()
    return _known(kept.providers, kept.day)


def keep_facts(data: bytes, known: Collection[tuple[str, str]]) -> FactsUpdate:
    """Keep the facts of a file for all that start from now on. Raises `FactsError`, `OSError`, `FolderError`. `known`:
    the models, by provider, that are no news.
    """
    providers = _decoded(data, dict[str, _Provider])
    kept: dict[str, Any] = {}
    count = 0
    for name, provider in providers.items():
        found = (_model(id, raw) for id, raw in provider.models.items())
        models = {facts.id: facts for facts in found if facts is not None} if _place(name, provider) else {}
        if models and count + len(models) <= _MOST:
            kept[name] = {"api": provider.api, "models": models}
            count += len(models)
    if not count:
        raise FactsError("It has no model whose window it tells.")
    private_files.write_whole(
        paths.state_dir() / FACTS_FILE, msgspec.json.encode({"day": date.today().isoformat(), "providers": kept})
    )
    new = sorted(f"{place}/{id}" for place, id in read_facts(data).places.keys() - set(known))
    return FactsUpdate(count, len(kept), tuple(new))


def forget_facts() -> bool:
    """Go back to the facts that ship. Returns whether there were others."""
    try:
        (paths.state_dir(create=False) / FACTS_FILE).unlink()
    except FileNotFoundError:
        return False
    return True


_T = TypeVar("_T")


def _decoded(data: bytes, form: type[_T]) -> _T:
    try:
        return msgspec.json.decode(data, type=learned(form))
    except (msgspec.DecodeError, RecursionError) as error:
        raise FactsError(f"It is not in the form of models.dev: {one_line(str(error), 160)}.") from error


def _place(name: str, provider: _Provider) -> str:
    """Our name of a provider, or the address of a server."""
    return _PROVIDERS.get(name) or urlsplit(provider.api).netloc.lower()


def _known(providers: Mapping[str, _Provider], day: str) -> KnownFacts:
    known = KnownFacts(day=day)
    for name, provider in providers.items():
        place = _place(name, provider)
        if name not in _PROVIDERS and place:
            known.servers.setdefault(place, provider.models)
        for id, raw in provider.models.items() if name in _PROVIDERS else ():
            if (facts := _model(id, raw)) is not None:
                known.places.setdefault((place, id), facts)
    return known


def _model(id: str, raw: msgspec.Raw) -> ModelFacts | None:
    """One model; `None`: it is wrong, writes no text, or is called what nobody can name."""
    try:
        facts = msgspec.json.decode(raw, type=learned(ModelFacts))
    except (msgspec.DecodeError, RecursionError):
        return None
    usable = facts.id == id and id.isprintable() and facts.limit.context > 0 and "text" in facts.modalities.output
    return facts if usable else None

"""What is known about models: window, maximum answer, prices, capabilities, aliases.

Reads what gsh-tui knows of models (`catalog.toml`), their facts (`models.json`, and what `models update` has kept, see
`model_facts.py`), and the user's additions in `$XDG_CONFIG_HOME/gsh/models.toml`. A wrong entry is ignored and
reported; an unknown model gets cautious defaults. Called by `selection`, `model_command` and the adapters.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from gshtui.providers.model_facts import FACTS_FILE, KnownFacts, ModelFacts, kept_facts, read_facts
from gshtui.providers.port import Capabilities
from gshtui.settings.paths import config_dir
from gshtui.settings.toml_file import load_toml, read_bytes
from gshtui.system.struct_types import learned
from gshtui.text.plain_name import similar_names

Thinking = Literal["", "adaptive", "budget", "effort", "level", "switch"]
"""How a model is told to think: `adaptive` and `budget` are Anthropic's, `effort` OpenAI's, `level` and `budget`
Gemini's, `switch` Ollama's. Empty: it does not, or nobody knows."""
_UNKNOWN = Capabilities()
USER_FILE = "models.toml"
_SNAPSHOT = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2}|default|latest)\Z")
_VERSION = re.compile(r"-v\d+(:\d+)?\Z")
"""Of a model of Bedrock."""
_REASONING: dict[str, Thinking] = {"anthropic": "adaptive", "openai": "effort", "gemini": "level"}
"""How the newest models of each vendor are told to think: for those that only an update knows."""


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry. Tokens, and US dollars per million tokens."""

    name: str
    provider: str
    label: str = ""
    suits: str = ""
    """The work that its vendor makes it for, in two words."""
    aliases: tuple[str, ...] = ()
    default: bool = False
    """What the provider uses when nobody names a model."""
    window: int = _UNKNOWN.window
    max_output: int = _UNKNOWN.max_output
    tools: bool = True
    images: bool = False
    documents: bool = False
    audio: bool = False
    thinking: Thinking = ""
    effort: bool = False
    """Takes an effort."""
    temperature: bool = True
    """Takes a temperature."""
    caching: bool = False
    price_input: float | None = None
    price_output: float | None = None
    price_cache_read: float | None = None
    price_cache_write: float | None = None
    retired: str = ""
    """Day since when, or from when on, the provider no longer serves it."""
    replaced_by: str = ""

    @property
    def capabilities(self) -> Capabilities:
        """The port's view of it."""
        return Capabilities(
            window=self.window,
            max_output=self.max_output,
            tools=self.tools,
            images=self.images,
            documents=self.documents,
            audio=self.audio,
            api=self.provider,
            thinking=bool(self.thinking),
            caching=self.caching,
            effort=self.effort or self.thinking in ("budget", "effort", "level"),
            price_input=self.price_input,
            price_output=self.price_output,
            price_cache_read=self.price_cache_read,
            price_cache_write=self.price_cache_write,
            known=True,
        )


class _File(msgspec.Struct, frozen=True):
    model: tuple[Any, ...] = ()
    facts: str = ""


def plain_name(name: str) -> str:
    """The vendor's own name of a model that others serve: of `us.anthropic.claude-opus-5-v1:0`, say, the middle."""
    name = name.lower().rsplit("/", 1)[-1]
    head, dot, tail = name.partition("anthropic.")
    if dot and (not head or head.endswith(".")):
        name = tail
    name = _SNAPSHOT.sub("", _VERSION.sub("", name))
    return name.replace(".", "-") if name.startswith("claude") else name


@dataclass(frozen=True, slots=True)
class Catalog:
    """All entries, the user's first."""

    models: tuple[Model, ...] = ()
    problems: tuple[str, ...] = ()
    """One sentence for each entry that was left out."""
    _by_name: dict[str, Model] = field(default_factory=dict[str, Model], repr=False)
    _by_place: dict[tuple[str, str], Model] = field(default_factory=dict[tuple[str, str], Model], repr=False)
    """By provider, and name or alias there."""
    _kept: KnownFacts = field(default_factory=KnownFacts, repr=False)

    @classmethod
    def load(cls, additions: Path | None = None) -> Catalog:
        """The shipped catalog with the user's additions before it. Never raises for what a user wrote. `additions`: the
        user's file; by default the one in the configuration folder.
        """
        here = Path(__file__)
        shipped = tomllib.loads(here.with_name("catalog.toml").read_text("utf-8"))
        traits, problems = _entries(shipped, "catalog.toml")
        facts = read_facts(here.with_name(FACTS_FILE).read_bytes()).places
        kept = kept_facts()
        models = _joined(traits, {**facts, **kept.places} if kept.day >= shipped["facts"] else {**kept.places, **facts})
        path = additions if additions is not None else config_dir() / USER_FILE
        mine: list[Model] = []
        try:
            mine, found = _entries(load_toml((read_bytes(path) or b"").decode("utf-8")), str(path))
            problems += found
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            problems.append(f"Cannot read {path}: {getattr(error, 'strerror', '') or error}.")
        return replace(cls.from_models([*mine, *models], problems), _kept=kept)

    @classmethod
    def from_models(cls, models: Iterable[Model], problems: Sequence[str] = ()) -> Catalog:
        """A catalog in which earlier entries win over later ones of the same name."""
        kept: dict[tuple[str, str], Model] = {}
        names: dict[str, Model] = {}
        places: dict[tuple[str, str], Model] = {}
        for model in models:
            kept.setdefault((model.provider, model.name), model)
            for name in (model.name, *model.aliases):
                names.setdefault(name.lower(), model)
                places.setdefault((model.provider, name.lower()), model)
        return cls(tuple(kept.values()), tuple(problems), names, places)

    def find(self, name: str, provider: str = "") -> Model | None:
        """The entry with this name, alias or dated snapshot; only of this provider, if given."""
        name = name.lower()
        for candidate in (name, _SNAPSHOT.sub("", name), name.removesuffix(":latest"), name.split(":", 1)[0]):
            model = self._by_place.get((provider, candidate)) if provider else self._by_name.get(candidate)
            if model is not None:
                return model
        return None

    def served(self, name: str, api: str, host: str) -> Model | None:
        """What is known of the model behind this name, as a model of this API.

        Args:
            api: empty: any.
            host: who serves it under a name of their own: a cloud, or the address of a server; empty: its vendor.
        """
        found = (self.find(name, host) or self.find(name, api)) if host else self.find(name, api)
        if found is None and host:
            found = self.find(plain_name(name), api)
        if host and (facts := self._kept.of_server(host, name)) is not None:
            found = _with_facts(found or Model(name=name, provider=api or "openai"), facts)
        return msgspec.structs.replace(found, provider=api) if found is not None and api else found

    def default(self, provider: str) -> Model | None:
        """What a provider uses when nobody names a model."""
        mine = [model for model in self.models if model.provider == provider]
        return next((model for model in mine if model.default), mine[0] if mine else None)

    def current(self, name: str, provider: str) -> str:
        """The name itself or, where its provider no longer serves it, that of its successor."""
        model = self.find(name, provider)
        return model.replaced_by if model is not None and self.is_retired(model) else name

    def is_retired(self, model: Model) -> bool:
        """Its provider no longer serves it, and there is a successor."""
        return bool(model.replaced_by) and model.retired <= _today()

    def near(self, name: str) -> list[str]:
        """Three names at most that look like it."""
        return similar_names(name.lower(), self._by_name, most=3, cutoff=0.5)


def _joined(traits: list[Model], facts: Mapping[tuple[str, str], ModelFacts]) -> list[Model]:
    """The models of both, each with what both know of it."""
    own = {(model.provider, model.name): model for model in traits}
    vendors = {model.name: model for model in reversed(traits) if model.provider in _REASONING}
    joined = [_with_facts(_as_vendors(model, vendors), facts.get(place)) for place, model in own.items()]
    for (provider, name), fact in facts.items():
        if (provider, name) not in own:
            base = vendors.get(plain_name(name))
            if base is None:
                thinking: Thinking = _REASONING.get(provider, "") if fact.reasoning else ""
                base = Model(
                    name=name,
                    provider=provider,
                    thinking=thinking,
                    effort=bool(thinking),
                    caching=provider == "anthropic",
                )
            else:
                base = msgspec.structs.replace(
                    base, name=name, provider=provider, aliases=(), default=False, retired="", replaced_by=""
                )
            joined.append(_with_facts(base, fact))
    return joined


def _as_vendors(model: Model, vendors: Mapping[str, Model]) -> Model:
    """A model that somebody else serves, told to think as its vendor's is."""
    meant = None if model.provider in (*_REASONING, "ollama") else vendors.get(plain_name(model.name))
    if meant is None:
        return model
    return msgspec.structs.replace(model, thinking=meant.thinking, effort=meant.effort, caching=meant.caching)


def _with_facts(model: Model, facts: ModelFacts | None) -> Model:
    return model if facts is None else msgspec.structs.replace(model, **facts.known)


def _today() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).date().isoformat()


def _entries(raw: Any, where: str) -> tuple[list[Model], list[str]]:
    found: list[Model] = []
    problems: list[str] = []
    try:
        items = msgspec.convert(raw, learned(_File)).model
    except msgspec.ValidationError as error:
        return [], [f"{where}: every model needs its own [[model]] table ({error})."]
    for number, item in enumerate(items, 1):
        try:
            model = msgspec.convert(item, learned(Model))
        except msgspec.ValidationError as error:
            name = item.get("name", "") if isinstance(item, dict) else ""  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            problems.append(f"{where}: model {name or number} is ignored: {error}.")
            continue
        if model.window < 1 or model.max_output < 1 or not model.name:
            problems.append(f"{where}: model {model.name or number} is ignored: it needs a name and tokens.")
            continue
        found.append(model)
    return found, problems


@cache
def label_of(name: str) -> str:
    """A model's name for people, by its id; the id itself if the catalog has none."""
    model = _loaded().find(name)
    return model.label if model is not None and model.label else name


@cache
def _loaded() -> Catalog:
    return Catalog.load()

"""What is known about models: window, maximum answer, prices, capabilities, aliases.

Reads `catalog.toml` and the user's additions in `$XDG_CONFIG_HOME/gsh/models.toml`. A wrong entry is ignored and
reported; an unknown model gets cautious defaults. Called by `selection`, `model_command` and the adapters.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from gshtui.providers.port import Capabilities
from gshtui.settings.paths import config_dir
from gshtui.settings.toml_file import load_toml, read_bytes
from gshtui.system.struct_types import learned
from gshtui.text.similar_names import similar_names

API = Literal["anthropic", "openai", "gemini", "ollama", "offline"]
Thinking = Literal["", "adaptive", "budget", "effort", "level", "switch"]
"""How a model is told to think: `adaptive` and `budget` are Anthropic's, `effort` OpenAI's, `level` and `budget`
Gemini's, `switch` Ollama's. Empty: it does not, or nobody knows."""
_UNKNOWN = Capabilities()
USER_FILE = "models.toml"
_SNAPSHOT = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2})\Z")


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry. Tokens, and US dollars per million tokens."""

    name: str
    provider: str
    label: str = ""
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


@dataclass(frozen=True, slots=True)
class Catalog:
    """All entries, the user's first."""

    models: tuple[Model, ...] = ()
    problems: tuple[str, ...] = ()
    """One sentence for each entry that was left out."""
    _by_name: dict[str, Model] = field(default_factory=dict[str, Model], repr=False)

    @classmethod
    def load(cls, additions: Path | None = None) -> Catalog:
        """The shipped catalog with the user's additions before it. Never raises for what a user wrote.

        Args:
            additions: the user's file; by default the one in the configuration folder.
        """
        shipped = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text("utf-8"))
        models, problems = _entries(shipped, "catalog.toml")
        path = additions if additions is not None else config_dir() / USER_FILE
        mine: list[Model] = []
        try:
            mine, found = _entries(load_toml((read_bytes(path) or b"").decode("utf-8")), str(path))
            problems += found
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            problems.append(f"Cannot read {path}: {getattr(error, 'strerror', '') or error}.")
        return cls.from_models([*mine, *models], problems)

    @classmethod
    def from_models(cls, models: Iterable[Model], problems: Sequence[str] = ()) -> Catalog:
        """A catalog in which earlier entries win over later ones of the same name."""
        kept: dict[tuple[str, str], Model] = {}
        names: dict[str, Model] = {}
        for model in models:
            kept.setdefault((model.provider, model.name), model)
            for name in (model.name, *model.aliases):
                names.setdefault(name.lower(), model)
        return cls(tuple(kept.values()), tuple(problems), names)

    def find(self, name: str, provider: str = "") -> Model | None:
        """The entry with this name, alias or dated snapshot; only of this provider, if given."""
        name = name.lower()
        for candidate in (name, _SNAPSHOT.sub("", name), name.removesuffix(":latest"), name.split(":", 1)[0]):
            model = self._by_name.get(candidate)
            if model is not None and provider in ("", model.provider):
                return model
        return None

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

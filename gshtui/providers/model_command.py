"""The `model` command: which model is in use, which there are, and another one from now on.

Owns the lists and their wording. Refuses a name that cannot be used, before anything changes. A switch is an intent,
published through the callable that the hub hands in. Given the catalog; the rest is optional, and says less without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.providers.candidates import ModelSettings
from gshtui.providers.catalog import Catalog, Model
from gshtui.providers.port import ProviderError
from gshtui.providers.selection import OFFLINE, Usable, choose_model, usable
from gshtui.text import markdown_table

LIST = "list"
Switch = Callable[[str, str], None]
"""(provider, model): publishes the intent."""


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """What the agent in front thinks with."""

    provider: str
    model: str
    label: str = ""
    window: int = 0


class ModelParameters(Parameters):
    """Parameters of `model`."""

    name: str = Field(
        default="",
        description="A model, an alias such as `sonnet`, `provider/model`, or `list`. Empty: the present one.",
    )
    provider: str = Field(default="", description="The provider, where the name alone does not say it.")


def commands(
    catalog: Catalog,
    switch: Switch,
    *,
    settings: ModelSettings | None = None,
    environ: Mapping[str, str] | None = None,
    in_use: Callable[[str], ModelInUse | None] = lambda agent: None,
) -> list[AnyCommand]:
    """The family `model`.

    Args:
        settings, environ: to check a name before the switch and to say which providers can be used.
        in_use: agent → what it thinks with.
    """

    async def available() -> list[Usable] | None:
        return await usable(settings, environ) if settings is not None and environ is not None else None

    async def run(invocation: Invocation, parameters: ModelParameters) -> Outcome:
        present = in_use(invocation.agent)
        if parameters.name == LIST:
            return _listed(catalog, await available(), present, parameters.provider)
        if not parameters.name and not parameters.provider:
            return _shown(catalog, present)
        if settings is None or environ is None:
            return _switched(switch, parameters.provider, parameters.name, parameters.name or parameters.provider)
        try:
            choice = await choose_model(
                settings, environ, provider=parameters.provider, model=parameters.name, catalog=catalog
            )
        except ProviderError as error:
            kind = UsageError if error.kind in ("unknown_model", "missing") else CommandError
            raise kind(f"{error.message}.", hint=error.hint, data={"kind": error.kind}) from error
        await choice.provider.close()
        return _switched(switch, choice.provider.name, choice.model, choice.label)

    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        return _completions(catalog, await available(), parameter, prefix)

    return [
        Command(
            "model",
            "Show, list or change the model",
            ModelParameters,
            run,
            access=Access.HUMAN_ONLY,
            effect=Effect.WRITE,
            positions=("name",),
            description="`model` shows the one in use, `model list` all of them, `model NAME` changes it.",
            family="agents",
            complete=complete,
            opens="models",
        )
    ]


def _switched(switch: Switch, provider: str, model: str, label: str) -> Outcome:
    switch(provider, model)
    data = {"provider": provider, "model": model, "label": label}
    return Outcome(data=data, text=f"From the next answer on: {label}.")


def _shown(catalog: Catalog, present: ModelInUse | None) -> Outcome:
    if present is None:
        return Outcome(data=None, text="No model is in use yet. `model list` shows what there is.")
    entry = catalog.find(present.model)
    data = {
        "provider": present.provider,
        "model": present.model,
        "label": present.label,
        "window": present.window or (entry.window if entry else 0),
        "price_input": entry.price_input if entry else None,
        "price_output": entry.price_output if entry else None,
    }
    parts = [f"{present.label or present.model} via {present.provider}"]
    if data["window"]:
        parts.append(f"window {data['window']:,} tokens")
    if entry is not None and (price := _price(entry)):
        parts.append(f"{price} per million tokens")
    return Outcome(data=data, text=" · ".join(parts))


def _price(model: Model) -> str:
    if model.price_input is None or model.price_output is None:
        return ""
    return (
        "free"
        if not model.price_input and not model.price_output
        else f"${model.price_input:g} / ${model.price_output:g}"
    )


def _listed(catalog: Catalog, able: list[Usable] | None, present: ModelInUse | None, provider: str) -> Outcome:
    rows: list[dict[str, Any]] = []
    for model in catalog.models:
        if catalog.gone(model):
            continue
        if model.provider != "ollama":
            rows.append(_row(model, _can(able, model.provider), present))
    for one in able or []:
        rows += [_installed(catalog, one, name, present) for name in one.models]
    rows.append({"model": OFFLINE, "provider": OFFLINE, "label": "no model", "usable": True, "in_use": False})
    rows = [row for row in rows if provider in ("", row["provider"])]
    if not rows:
        names = ", ".join(sorted({model.provider for model in catalog.models}))
        raise UsageError(f"There is no provider “{provider}”.", hint=f"There are: {names}.")
    problems = list(catalog.problems)
    return Outcome(data={"models": rows, "problems": problems}, text=_table(rows, problems))


def _can(able: list[Usable] | None, provider: str) -> bool | None:
    return None if able is None else any(one.api == provider for one in able)


def _row(model: Model, can: bool | None, present: ModelInUse | None) -> dict[str, Any]:
    return {
        "model": model.name,
        "provider": model.provider,
        "label": model.label,
        "aliases": list(model.aliases),
        "window": model.window,
        "max_output": model.max_output,
        "price_input": model.price_input,
        "price_output": model.price_output,
        "usable": can,
        "in_use": present is not None and present.model == model.name,
    }


def _installed(catalog: Catalog, one: Usable, name: str, present: ModelInUse | None) -> dict[str, Any]:
    entry = catalog.find(name, "ollama")
    mine = present is not None and (present.provider, present.model) == (one.name, name)
    label = entry.label if entry is not None else name
    free = {"price_input": 0.0, "price_output": 0.0}
    return {"model": name, "provider": one.name, "label": label, "aliases": [], **free, "usable": True, "in_use": mine}


def _table(rows: list[dict[str, Any]], problems: list[str]) -> str:
    lines: list[tuple[str, ...]] = []
    for row in rows:
        window = f"{row['window']:,}" if row.get("window") else ""
        known = row.get("price_input") is not None and row.get("price_output") is not None
        price = f"{row['price_input']:g} / {row['price_output']:g}" if known else ""
        state = "in use" if row["in_use"] else "" if row["usable"] else "no key" if row["usable"] is False else ""
        also = f" ({', '.join(row['aliases'])})" if row.get("aliases") else ""
        lines.append((f"{row['model']}{also}", row["provider"], window, price, state))
    models = markdown_table.table(("model", "provider", "window", "$ per million in / out", ""), lines, right=(2, 3))
    return "\n".join([models, *(["", *problems] if problems else [])])


def _completions(catalog: Catalog, able: list[Usable] | None, parameter: str, prefix: str) -> list[str]:
    if parameter == "provider":
        options = [one.name for one in able] if able is not None else sorted({m.provider for m in catalog.models})
        return [name for name in [*options, OFFLINE] if name.startswith(prefix)]
    if parameter != "name":
        return []
    apis = {one.api for one in able} if able is not None else {model.provider for model in catalog.models}
    names = [LIST]
    for model in catalog.models:
        if model.provider in apis and model.provider != "ollama" and not catalog.gone(model):
            names += [model.name, *model.aliases]
    names += [name for one in able or [] for name in one.models]
    return [name for name in [*names, OFFLINE] if name.startswith(prefix)]

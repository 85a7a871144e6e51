"""The commands `model` and `effort`: show the model, list all, switch to another one, and say how hard it thinks.

Code calls `ListModels`, `UpdateModels`, `ShowModel`, `ChangeModel` and `ChangeEffort`. An unusable name is rejected
before anything changes. A switch is an intent, published through a callable from the hub. Needs only the catalog; the
other parts add detail.
"""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.bus.agent_data import EffortChoice
from gshtui.commands.declaration import (
    Access,
    Action,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    ToastView,
    UsageError,
    View,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.providers.candidates import HOSTS
from gshtui.providers.catalog import Catalog, Model
from gshtui.providers.model_facts import LARGEST, SOURCE, FactsError, FactsUpdate, forget_facts, keep_facts
from gshtui.providers.port import ProviderError
from gshtui.providers.selection import OFFLINE, Usable, choose_model, usable
from gshtui.settings.known_providers import label_of
from gshtui.system.network.downloads import DownloadError, download
from gshtui.text import markdown_table, units
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line, plain

if TYPE_CHECKING:
    from gshtui.settings.model import Settings

LIST = "list"
UPDATE = "update"
_SHOWN = 12
"""New models that a result names."""
_WITHIN = 60.0
"""Seconds to fetch a file."""
EffortWord = Literal["", "low", "medium", "high", "default", "next"]
Switch = Callable[[str, str, str, EffortChoice | None], None]
"""(agent, provider, model, effort): publishes the intent."""


class ModelInUse(msgspec.Struct, frozen=True):
    """What the agent in front thinks with."""

    provider: str
    model: str
    label: str = ""
    window: int = 0
    effort: EffortChoice = ""
    """How hard it is told to think; empty: its provider decides."""
    agent: str = ""
    """Whose name it is."""


class ListedModel(msgspec.Struct, frozen=True):
    """A model that can be chosen."""

    provider: str
    model: str
    label: str
    origin: Literal["catalog", "installed", "offline"] = "catalog"
    """Where it is known from: the catalog, a model server on this machine, or the offline provider."""
    aliases: tuple[str, ...] = ()
    window: int = 0
    """Tokens; 0: not known."""
    max_output: int = 0
    price_input: float | None = None
    """US dollars per million tokens; `None`: unknown."""
    price_output: float | None = None
    usable: bool | None = None
    """Whether its provider is usable now; `None`: not checked."""
    in_use: bool = False
    effort: EffortChoice | None = None
    """How hard the one in use thinks; empty: as its provider decides, and in all others; `None`: it takes no effort."""
    about: str = ""
    """What sets it apart, in a sentence or two."""

    def plain(self) -> dict[str, Any]:
        data: dict[str, Any] = {"model": self.model, "provider": self.provider, "label": self.label}
        if self.origin != "offline":
            data["aliases"] = list(self.aliases)
        if self.origin == "catalog":
            data |= {"window": self.window, "max_output": self.max_output}
        if self.origin != "offline":
            data |= {"price_input": self.price_input, "price_output": self.price_output}
        return data | {"usable": self.usable, "in_use": self.in_use, "about": self.about}


class ModelList(msgspec.Struct, frozen=True):
    """The models, and one sentence for each problem of the catalog."""

    models: list[ListedModel]
    problems: list[str]
    agent: str = ""
    """The name of the agent whose model is the one in use; empty: not known."""


class ShownModel(msgspec.Struct, frozen=True):
    """The current model and its catalog entry. Both are `None` if no model is in use yet."""

    present: ModelInUse | None = None
    entry: Model | None = None


class ModelChange(msgspec.Struct, frozen=True):
    """What answers from now on."""

    provider: str
    model: str
    label: str
    effort: EffortChange | None = None
    """Only this was changed."""


class EffortChange(msgspec.Struct, frozen=True):
    """How hard the model thinks, from now on or as before."""

    model: str
    effort: EffortChoice
    changed: bool


_LEVELS = "How hard it thinks: low, medium, high, default (as its provider decides) or next (the one after)."
_ORDER: tuple[EffortChoice, ...] = ("", "low", "medium", "high")


class ListModels(Parameters, Returns[ModelList]):
    """List the models that can be chosen, with prices, and which of them can be used now.

    `gsh-tui models update` renews windows and prices.
    """

    COMMAND: ClassVar[str] = "model"
    WORD: ClassVar[str] = LIST
    SHELL = ShellForm(("provider",), "models", "List the models.", parts=frozenset({"providers"}))
    provider: Annotated[str, ShellOption(kind="provider")] = Field(
        default="", description="Only those of this one; empty: all."
    )


class UpdateModels(Parameters, Returns[FactsUpdate]):
    """Renew windows and prices of models from models.dev, or from a file or address in its form.

    Nothing is fetched without this command. What it brings counts for all that start from now on; your models.toml
    still wins.
    """

    COMMAND: ClassVar[str] = "model"
    WORD: ClassVar[str] = UPDATE
    SHELL = ShellForm(
        ("source",),
        "models update",
        "Renew windows and prices of models.",
        parts=frozenset({"providers"}),
        waiting="Fetching",
        examples=("gsh-tui models update", "gsh-tui models update ~/api.json", "gsh-tui models update --undo"),
        alone=True,
    )
    source: Annotated[str, ShellOption(metavar="FILE|URL")] = Field(
        default="", description=f"Where they are; empty: {SOURCE}."
    )
    undo: bool = Field(default=False, description="Go back to what gsh-tui comes with.")


class ShowModel(Parameters, Returns[ShownModel]):
    """Show the model in use."""

    COMMAND: ClassVar[str] = "model"
    WORD: ClassVar[str] = "show"


class ChangeModel(Parameters, Returns[ModelChange]):
    """Change the model, or how hard it thinks, from the next answer on."""

    COMMAND: ClassVar[str] = "model"
    WORD: ClassVar[str] = "use"
    PICKS: ClassVar[bool] = True
    name: str = Field(
        default="",
        description="A model, an alias such as `sonnet`, or `provider/model`; empty: the one in use.",
    )
    provider: str = Field(default="", description="The provider, if the name alone does not determine it.")
    effort: EffortWord = Field(default="", description=_LEVELS)


class ChangeEffort(Parameters, Returns[EffortChange]):
    """How hard the model in use thinks, from the next answer on."""

    COMMAND: ClassVar[str] = "effort"
    level: EffortWord = Field(default="", description=f"{_LEVELS} Empty: show it.")


class ModelPort(msgspec.Struct, frozen=True):
    """What the commands work on.

    Attributes:
        settings, environ: used to check a name before the switch, and to find usable providers.
        in_use: agent → its model.
        of_program: (agent, model) → has the agent's program use another of its own models; `None`: it has none.
    """

    catalog: Catalog
    switch: Switch
    settings: Settings
    environ: Mapping[str, str]
    in_use: Callable[[str], ModelInUse | None]
    of_program: Callable[[str, str], Awaitable[ModelChange | None]]


def commands(port: ModelPort) -> list[AnyCommand]:
    catalog, switch, in_use, of_program = port.catalog, port.switch, port.in_use, port.of_program
    settings, environ = port.settings, port.environ

    async def available() -> list[Usable]:
        return await usable(settings, environ)

    async def show(invocation: Invocation, _parameters: ShowModel) -> ShownModel:
        present = in_use(invocation.addressed)
        return ShownModel() if present is None else ShownModel(present, catalog.find(present.model))

    async def listed(invocation: Invocation, parameters: ListModels) -> ModelList:
        return _listed(catalog, await available(), in_use(invocation.addressed), parameters.provider)

    async def update(invocation: Invocation, parameters: UpdateModels) -> FactsUpdate:
        return await _updated(parameters, invocation.cwd, catalog)

    async def change(invocation: Invocation, parameters: ChangeModel) -> ModelChange:
        if parameters.effort and not (parameters.name or parameters.provider):
            done = await change_effort(invocation, ChangeEffort(level=parameters.effort))
            return ModelChange("", "", done.model, done)
        if (own := await of_program(invocation.addressed, parameters.name)) is not None:
            return own
        try:
            choice = await choose_model(
                settings, environ, provider=parameters.provider, model=parameters.name, catalog=catalog
            )
        except ProviderError as error:
            kind = UsageError if error.kind in ("unknown_model", "missing") else CommandError
            raise kind(f"{error.message}.", hint=error.hint, data={"kind": error.kind}) from error
        await choice.provider.close()
        done = ModelChange(choice.provider.name, choice.model, choice.label)
        effort = None
        if parameters.effort:
            label, able = done.label or done.model, catalog.find(done.model)
            effort = _level(parameters.effort, "", label, takes=able is not None and able.capabilities.effort)
        switch(invocation.addressed, done.provider, done.model, effort)
        return done

    async def change_effort(invocation: Invocation, parameters: ChangeEffort) -> EffortChange:
        present = in_use(invocation.addressed)
        if present is None:
            raise CommandError("No model is in use yet.", hint="`model list` lists the models.")
        label, entry = present.label or present.model, catalog.find(present.model)
        if not parameters.level:
            return EffortChange(label, present.effort, changed=False)
        takes = entry is not None and entry.capabilities.effort
        level = _level(parameters.level, present.effort, label, takes=takes)
        switch(invocation.addressed, "", "", level)
        return EffortChange(label, level, changed=True)

    efforts = Action(ChangeEffort, change_effort, _render_effort, shows=_toast, effect=Effect.WRITE)

    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        return _completions(catalog, await available(), parameter, prefix)

    return [
        group(
            "model",
            "Show, list or change the model",
            Action(ListModels, listed, _render_list),
            Action(UpdateModels, update, _render_update, effect=Effect.NETWORK),
            Action(ShowModel, show, _render_shown),
            Action(ChangeModel, change, _render_change, effect=Effect.WRITE, positions=("name",), shows=_toast_change),
            bare="show",
            otherwise="use",
            access=Access.HUMAN_ONLY,
            description="`model` shows the current one, `model list` all of them, `model NAME` changes it, and "
            "`model update` renews windows and prices.",
            family="agents",
            complete=complete,
            opens="models",
        ),
        Command(
            "effort",
            "Show or change how hard the model thinks",
            ChangeEffort,
            efforts.handle,
            access=Access.HUMAN_ONLY,
            effect=Effect.WRITE,
            positions=("level",),
            description="It is kept with the conversation, and sent to each provider as its API takes it.",
            family="agents",
            actions=(efforts,),
        ),
    ]


def _level(word: EffortWord, present: EffortChoice, model: str, *, takes: bool) -> EffortChoice:
    """The level that a word means. Raises `UsageError`: the model takes none."""
    if not takes and word != "default":
        raise UsageError(
            f"{model} takes no reasoning effort.",
            hint="`model list` lists others; for one of your own, models.toml can say `effort = true`.",
        )
    if word == "next":
        return _ORDER[(_ORDER.index(present) + 1) % len(_ORDER)]
    return "" if word in ("", "default") else word


async def _toast_change(invocation: Invocation, done: ModelChange) -> View | None:
    return ToastView(_render_change(invocation, done).text)


async def _toast(_invocation: Invocation, done: EffortChange) -> View | None:
    return ToastView(_said(done)) if done.changed else None


def _said(done: EffortChange) -> str:
    level = f"{done.effort} effort" if done.effort else "its provider's own effort"
    return f"{done.model} thinks with {level}{' from the next answer on' if done.changed else ''}."


def _render_effort(_invocation: Invocation, done: EffortChange) -> Outcome:
    return Outcome(data={"model": done.model, "effort": done.effort}, text=_said(done))


async def _updated(wanted: UpdateModels, cwd: Path, catalog: Catalog) -> FactsUpdate:
    """What an update has brought. Raises `CommandError`."""
    if wanted.undo:
        if not await asyncio.to_thread(forget_facts):
            raise CommandError("Windows and prices are those that gsh-tui comes with.", hint="Nothing was changed.")
        return FactsUpdate(0, 0)
    source = wanted.source or SOURCE
    shown = one_line(plain(source), 200)
    try:
        if re.match(r"https?://", source):
            data = await download(source, largest=LARGEST, within=_WITHIN, shown=shown)
        else:
            data = await asyncio.to_thread(_read, cwd / Path(source).expanduser())
        known = {(model.provider, model.name) for model in catalog.models}
        return await asyncio.to_thread(keep_facts, data, known)
    except FactsError as error:
        raise CommandError(f"{shown} is not taken. {error.message}", hint="Nothing was changed.") from error
    except DownloadError as error:
        hint = "Nothing was changed. `models update FILE` takes a file that you have fetched."
        raise CommandError(error.message, hint=hint, data={"kind": "unreachable"}) from error
    except OSError as error:
        why = error.strerror or error
        raise CommandError(f"{shown} cannot be read or kept: {why}.", hint="Nothing was changed.") from error


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "there is no such file")
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise FactsError(f"It is larger than {LARGEST // 1_000_000} MB.")
    return data


def _render_update(_invocation: Invocation, done: FactsUpdate) -> Outcome:
    if not done.models:
        return Outcome(data={"models": 0}, text="Windows and prices are again those that gsh-tui comes with.")
    lines = [
        f"Windows and prices of {units.counted(done.models, 'model')} of {units.counted(done.servers, 'provider')}."
    ]
    if done.new:
        rest = f" and {len(done.new) - _SHOWN:,} more" if len(done.new) > _SHOWN else ""
        lines.append(f"New: {', '.join(done.new[:_SHOWN])}{rest}.")
    data = {"models": done.models, "providers": done.servers, "new": list(done.new)}
    return Outcome(data=data, text="\n".join(lines))


def _render_change(invocation: Invocation, done: ModelChange) -> Outcome:
    if done.effort is not None:
        return _render_effort(invocation, done.effort)
    data = {"provider": done.provider, "model": done.model, "label": done.label}
    return Outcome(data=data, text=f"{done.label} is used from the next answer on.")


def _render_shown(_invocation: Invocation, shown: ShownModel) -> Outcome:
    present, entry = shown.present, shown.entry
    if present is None:
        return Outcome(data=None, text="No model is in use yet. `model list` lists the models.")
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
        else f"{units.money(model.price_input)} / {units.money(model.price_output)}"
    )


def _listed(catalog: Catalog, able: list[Usable] | None, present: ModelInUse | None, provider: str) -> ModelList:
    models: list[ListedModel] = []
    for model in catalog.models:
        if catalog.is_retired(model):
            continue
        can = _can(able, model.provider)
        # Hosts have hundreds, which only those want to see who use one.
        if model.provider != "ollama" and (can or provider == model.provider or model.provider not in HOSTS):
            models.append(_known(model, can, present, _about(model, catalog)))
    for one in able or []:
        models += [_installed(catalog, one, name, present) for name in one.models]
    models.append(ListedModel(OFFLINE, OFFLINE, "no model", "offline", usable=True, about=_WITHOUT))
    models = [model for model in models if provider in ("", model.provider)]
    if not models:
        names = known_names("providers", sorted({model.provider for model in catalog.models}))
        raise UsageError(f"There is no provider “{provider}”.", hint=names)
    return ModelList(models, list(catalog.problems), present.agent if present is not None else "")


def _can(able: list[Usable] | None, provider: str) -> bool | None:
    return None if able is None else any(one.api == provider for one in able)


_WITHOUT = "Commands such as run, read and find work without a model."


def _about(model: Model, catalog: Catalog) -> str:
    """What it is for, its price beside that of its provider's default, and what it reads, as far as this is known; or
    when its provider ends it.
    """
    if model.retired:
        then = catalog.find(model.replaced_by, model.provider) if model.replaced_by else None
        return f"Retires on {model.retired}{f', then {then.label}' if then is not None else ''}."
    kinds = {"text": True, "images": model.images, "PDFs": model.documents, "sound": model.audio}
    *most, last = [kind for kind, fits in kinds.items() if fits]
    reads = f"Reads {', '.join(most)} and {last}." if most else "Reads text only."
    default = next((one for one in catalog.models if one.default and one.provider == model.provider), None)
    if model.provider == "ollama":
        return f"Runs on this machine. {reads}"
    suits = f"{model.suits}. " if model.suits else ""
    if model is default:
        return f"{suits}{label_of(model.provider)}'s default. {reads}"
    share = _price_beside(model, default) if default is not None else ""
    costs = f"Costs {share} {default.label or default.name}. " if default is not None and share else ""
    return f"{suits}{costs}{reads}"


def _price_beside(model: Model, other: Model) -> str:
    """How its price compares, for its words and its answers together; empty: not known."""
    price = (model.price_input or 0) + (model.price_output or 0)
    beside = (other.price_input or 0) + (other.price_output or 0)
    if not price or not beside:
        return ""
    if price == beside:
        return "as much as"
    number, unit = (price / beside, "×") if price > beside else (100 * price / beside, "% of")
    return f"{number:{'.0f' if number >= 10 else '.2g'}}{unit}"


def _known(model: Model, can: bool | None, present: ModelInUse | None, about: str) -> ListedModel:
    mine = present is not None and (present.provider, present.model) == (model.provider, model.name)
    effort = present.effort if present is not None and mine else ""
    return ListedModel(
        model.provider,
        model.name,
        model.label,
        aliases=tuple(model.aliases),
        window=model.window,
        max_output=model.max_output,
        price_input=model.price_input,
        price_output=model.price_output,
        usable=can,
        in_use=mine,
        effort=effort if model.capabilities.effort else None,
        about=about,
    )


def _installed(catalog: Catalog, one: Usable, name: str, present: ModelInUse | None) -> ListedModel:
    entry = catalog.find(name, "ollama")
    mine = present is not None and (present.provider, present.model) == (one.name, name)
    label = entry.label if entry is not None else name
    price = 0.0 if one.api == "ollama" else None
    return ListedModel(
        one.name,
        name,
        label,
        "installed",
        price_input=price,
        price_output=price,
        usable=True,
        in_use=mine,
        about=_about(entry, catalog) if entry is not None else "",
    )


def _render_list(_invocation: Invocation, found: ModelList) -> Outcome:
    lines: list[tuple[str, ...]] = []
    for model in found.models:
        window = f"{model.window:,}" if model.window else ""
        known = model.price_input is not None and model.price_output is not None
        price = f"{model.price_input:.2f} / {model.price_output:.2f}" if known else ""
        state = "in use" if model.in_use else "no key" if model.usable is False else ""
        also = f" ({', '.join(model.aliases)})" if model.aliases else ""
        lines.append((f"{model.model}{also}", model.provider, window, price, state))
    models = markdown_table.table(("model", "provider", "window", "$ per million in / out", ""), lines, right=(2, 3))
    text = "\n".join([models, *(["", *found.problems] if found.problems else [])])
    data = {"models": [model.plain() for model in found.models], "problems": found.problems}
    return Outcome(data, text, plain=markdown_table.bare_columns(text))


def _completions(catalog: Catalog, able: list[Usable] | None, parameter: str, prefix: str) -> list[str]:
    if parameter == "provider":
        options = [one.name for one in able] if able is not None else sorted({m.provider for m in catalog.models})
        return [name for name in [*options, OFFLINE] if name.startswith(prefix)]
    if parameter != "name":
        return []
    apis = {one.api for one in able} if able is not None else {model.provider for model in catalog.models} - {*HOSTS}
    names: list[str] = []
    for model in catalog.models:
        if model.provider in apis and model.provider != "ollama" and not catalog.is_retired(model):
            names += [model.name, *model.aliases]
    names += [name for one in able or [] for name in one.models]
    return [name for name in [*names, OFFLINE] if name.startswith(prefix)]

"""Models to choose from, by provider, with what is known of each.

Owns how a model is described; gets them as the data of `model list`. Opened by the app; the answer is a line of the
command language's `model` parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from gshtui.ui.kit import figures
from gshtui.ui.kit.picker import Choice, Picker


class ModelsScreen(Picker):
    """Choose a model; the answer is `provider/model`, or `provider` alone where it has no models."""

    def __init__(self, models: Sequence[dict[str, Any]]) -> None:
        super().__init__(
            "Models",
            # Those that can be used now come first; else in the catalog's order.
            [described(model) for model in sorted(models, key=lambda one: one.get("usable") is False)],
            empty="No model is known. Set a key (`gsh-tui doctor` lists them) or start Ollama.",
            hint="enter uses it from the next request on · escape closes",
        )


def described(model: dict[str, Any]) -> Choice:
    """One model of `model list` as an entry."""
    from gshtui.guard.sanitise import one_line

    provider, name = str(model.get("provider", "")), str(model.get("model") or model.get("name") or "")
    window = model.get("window")
    price_in, price_out = model.get("price_input"), model.get("price_output")
    parts = [
        provider,
        f"{figures.tokens(int(window))} window" if window else "",
        f"${price_in:g} in, ${price_out:g} out per million" if price_in is not None and price_out is not None else "",
        "in use" if _in_use(model) else "no key" if model.get("usable") is False else "",
    ]
    return Choice(
        f"{provider}/{name}" if provider else name,
        one_line(str(model.get("label") or name or provider), 60),
        one_line(" · ".join(part for part in parts if part), 100),
        current=_in_use(model),
    )


def _in_use(model: dict[str, Any]) -> bool:
    return bool(model.get("in_use"))


def listed(data: Any) -> list[dict[str, Any]]:
    """The models in the data of `model list`, whatever else there is."""
    if isinstance(data, dict):
        data = cast("dict[str, Any]", data).get("models", [])
    if not isinstance(data, list):
        return []
    return [cast("dict[str, Any]", one) for one in cast("list[Any]", data) if isinstance(one, dict)]

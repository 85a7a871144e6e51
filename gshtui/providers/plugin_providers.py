"""Providers that approved plugins bring: found by the name of their entry point, imported when one is asked for by it.

They are used only where somebody names them; no plugin becomes the provider of requests by being installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from gshtui.providers.port import Provider, ProviderError
from gshtui.settings import plugins
from gshtui.text.sanitise import one_line


@dataclass(frozen=True, slots=True)
class ProviderOffer:
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

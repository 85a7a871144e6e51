"""A person's key: where it belongs, whether its server takes it, and keeping it in the system's keyring.

The key is in no argument, no file and no message. Used by `gsh-tui login` and by the window.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.messages import Message, Text
from gshtui.providers.candidates import candidates
from gshtui.providers.keyring_key import keyring_key, read_keyring, write_keyring
from gshtui.providers.port import Completed, ProviderError, Request
from gshtui.providers.selection import choose_model
from gshtui.settings import user_config
from gshtui.settings.known_providers import OTHER_NAMES
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit

if TYPE_CHECKING:
    from gshtui.settings.model import Settings

SERVICE = "gsh-tui"
WITHIN = 60.0
"""Seconds in which a person can unlock the keyring."""
LONGEST = 16_384
_ANSWERS_WITHIN = 30.0
_QUESTION, _TOKENS = "Answer with the word: yes", 16


class KeyPlace(msgspec.Struct, frozen=True):
    """Where a provider's key belongs."""

    provider: str
    """The name of its table in the configuration, too."""
    api: str
    service: str
    variable: str


def key_places(settings: Settings) -> dict[str, KeyPlace]:
    """Where the key of each provider belongs that takes one."""
    found: dict[str, KeyPlace] = {}
    for one in candidates(settings, {}).values():
        if one.key_variable:
            table = settings.providers.get(one.name)
            service = table.keyring if table is not None and table.keyring else SERVICE
            found[one.name] = KeyPlace(one.name, one.api, service, one.key_variable)
    return found


def place_named(settings: Settings, name: str) -> KeyPlace | None:
    """The place of a provider's key by any of its names."""
    named = name if name in settings.providers else OTHER_NAMES.get(name, name)
    return key_places(settings).get(named)


def key_problem(key: str) -> str:
    """What is wrong with text that should be a key; empty: nothing."""
    if key.isascii() and key.isprintable() and " " not in key and 0 < len(key) < LONGEST:
        return ""
    return "that is no key: it contains characters that cannot be part of one"


async def try_key(settings: Settings, environ: Mapping[str, str], place: KeyPlace, key: str) -> str:
    """Ask the provider's model for one word with this key; returns the model's label. Raises `ProviderError`: the key
    is refused, or nothing answers.
    """
    choice = await choose_model(settings, {**environ, place.variable: key}, provider=place.provider)
    question = Message(new_id(), "user", (Text(_QUESTION),), at=time.time())
    deltas = choice.provider.stream(Request(choice.model, (), (question,), max_output=_TOKENS))
    try:
        async with time_limit(_ANSWERS_WITHIN):
            async for delta in deltas:
                if isinstance(delta, Completed):
                    return choice.label
    except TimeoutError:
        why = f"{place.provider} did not answer within {_ANSWERS_WITHIN:g} s"
        raise ProviderError("timeout", why, retryable=True) from None
    finally:
        if (close := getattr(deltas, "aclose", None)) is not None:
            await close()
        await choice.provider.close()
    raise ProviderError("truncated", f"{place.provider} ended the answer in the middle")


def keep_key(place: KeyPlace, key: str) -> str:
    """Keep the key in the keyring, and say in the person's settings that it is there; returns why not, or nothing.

    Blocks for at most `WITHIN` seconds.

    Raises:
        gshtui.settings.user_config.EditError: the settings cannot be changed.
    """
    if why := write_keyring(place.service, place.variable, key, WITHIN):
        return why
    if read_keyring(place.service, place.variable, WITHIN).text != key:
        return "the keyring took the key, but does not give it back"
    keyring_key.cache_clear()
    user_config.set_value(f"providers.{place.provider}.keyring", place.service)
    return ""

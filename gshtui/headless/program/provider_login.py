"""Puts a provider's key into the system's keyring and says so in the user's file, or takes both out again.

The key is in no argument, no variable, no file and no message.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gshtui.headless import exits, streams
from gshtui.providers.kept_key import LONGEST, WITHIN, KeyPlace, keep_key, key_places, key_problem, place_named
from gshtui.providers.keyring_key import write_keyring
from gshtui.settings import user_config


def login(provider: str, *, as_json: bool) -> int:
    """Ask for the key and keep it; returns the exit code."""
    place = _place(provider)
    if isinstance(place, int):
        return place
    key = _asked(place)
    if isinstance(key, int):
        return key
    try:
        why = keep_key(place, key)
    except user_config.EditError as error:
        streams.complain(str(error))
        return exits.ERROR
    if why:
        streams.complain(f"the key was not kept: {why}.", f"`export {place.variable}=…` works without a keyring.")
        return exits.ERROR
    return _done(place, f"The key of {place.provider} is in the keyring, and gsh-tui reads it there.", as_json=as_json)


def logout(provider: str, *, as_json: bool) -> int:
    """Take the key out; returns the exit code."""
    place = _place(provider)
    if isinstance(place, int):
        return place
    if why := write_keyring(place.service, place.variable, None, WITHIN):
        streams.complain(f"the keyring still has what it had: {why}.")
        return exits.ERROR
    try:
        user_config.unset_value(f"providers.{place.provider}.keyring")
    except user_config.EditError as error:
        streams.complain(str(error))
        return exits.ERROR
    return _done(place, f"The keyring has no key of {place.provider} any more.", as_json=as_json)


def _place(provider: str) -> KeyPlace | int:
    """Where the key of this provider belongs; an exit code: nowhere."""
    from gshtui.settings.loader import load

    settings = load(Path.cwd()).settings
    place = place_named(settings, provider)
    if place is None:
        streams.complain(
            f"there is no provider {provider!r} that takes a key.", f"There are {', '.join(key_places(settings))}."
        )
        return exits.USAGE
    return place


def _asked(place: KeyPlace) -> str | int:
    """The key that the person types or pipes in; an exit code: none."""
    if streams.is_terminal(0):
        import getpass

        from gshtui.settings.known_providers import label_of

        try:
            key = getpass.getpass(f"{label_of(place.provider)} API key (what you type is hidden): ")
        except EOFError:
            key = ""
    else:
        key = sys.stdin.read(LONGEST)
    key = key.strip()
    if not key:
        streams.complain("no key was given, so nothing was changed.", "Type it, or pipe it in.")
        return exits.USAGE
    if why := key_problem(key):
        streams.complain(f"{why}.", "Copy it again.")
        return exits.USAGE
    return key


def _done(place: KeyPlace, text: str, *, as_json: bool) -> int:
    if as_json:
        streams.result_json({"provider": place.provider, "service": place.service, "name": place.variable})
    else:
        streams.result(text)
    return exits.DONE

"""Puts a provider's key into the system's keyring and says so in the user's file, or takes both out again.

The key is in no argument, no variable, no file and no message.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from gshtui.headless import exits, streams
from gshtui.providers.keyring_key import read_keyring, write_keyring
from gshtui.settings import user_config

_SERVICE = "gsh-tui"
_WITHIN = 60.0
"""Seconds in which a person can unlock the keyring."""
_LONGEST = 16_384


@dataclass(frozen=True, slots=True)
class _Place:
    provider: str
    """The name of its table in the configuration, too."""
    service: str
    variable: str


def login(provider: str, *, as_json: bool) -> int:
    """Ask for the key and keep it; returns the exit code."""
    place = _place(provider)
    if isinstance(place, int):
        return place
    key = _asked(place)
    if isinstance(key, int):
        return key
    if why := write_keyring(place.service, place.variable, key, _WITHIN):
        streams.complain(f"the key was not kept: {why}.", f"`export {place.variable}=…` works without a keyring.")
        return exits.ERROR
    if read_keyring(place.service, place.variable, _WITHIN).text != key:
        streams.complain("the keyring took the key, but does not give it back.")
        return exits.ERROR
    try:
        user_config.set_value(f"providers.{place.provider}.keyring", place.service)
    except user_config.EditError as error:
        streams.complain(str(error))
        return exits.ERROR
    return _done(place, f"The key of {place.provider} is in the keyring, and gsh-tui reads it there.", as_json=as_json)


def logout(provider: str, *, as_json: bool) -> int:
    """Take the key out; returns the exit code."""
    place = _place(provider)
    if isinstance(place, int):
        return place
    if why := write_keyring(place.service, place.variable, None, _WITHIN):
        streams.complain(f"the keyring still has what it had: {why}.")
        return exits.ERROR
    try:
        user_config.unset_value(f"providers.{place.provider}.keyring")
    except user_config.EditError as error:
        streams.complain(str(error))
        return exits.ERROR
    return _done(place, f"The keyring has no key of {place.provider} any more.", as_json=as_json)


def _place(provider: str) -> _Place | int:
    """Where the key of this provider belongs; an exit code: nowhere."""
    from gshtui.providers.candidates import OTHER_NAMES, candidates
    from gshtui.settings.loader import load

    settings = load(Path.cwd()).settings
    name = provider if provider in settings.providers else OTHER_NAMES.get(provider, provider)
    known = {one.name: one for one in candidates(settings, {}).values() if one.key_variable}
    if name not in known:
        streams.complain(f"there is no provider {provider!r} that takes a key.", f"There are {', '.join(known)}.")
        return exits.USAGE
    table = settings.providers.get(name)
    service = table.keyring if table is not None and table.keyring else _SERVICE
    return _Place(name, service, known[name].key_variable)


def _asked(place: _Place) -> str | int:
    """The key that the person types or pipes in; an exit code: none."""
    if streams.is_terminal(0):
        import getpass

        try:
            key = getpass.getpass(f"Key of {place.provider} ({place.variable}), not shown: ")
        except EOFError:
            key = ""
    else:
        key = sys.stdin.read(_LONGEST)
    key = key.strip()
    if not key:
        streams.complain("no key was given, so nothing was changed.", "Type it, or pipe it in.")
        return exits.USAGE
    if not (key.isascii() and key.isprintable() and " " not in key) or len(key) >= _LONGEST:
        streams.complain("that is no key: it contains characters that cannot be part of one.", "Copy it again.")
        return exits.USAGE
    return key


def _done(place: _Place, text: str, *, as_json: bool) -> int:
    if as_json:
        streams.result_json({"provider": place.provider, "service": place.service, "name": place.variable})
    else:
        streams.result(text)
    return exits.DONE

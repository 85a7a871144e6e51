"""The contract: all that brings a feature in, be it one of ours or a plugin.

What is brought has a kind, and a value `package.module:attribute`, which is imported when it is first needed:

| kind | value | whose |
| --- | --- | --- |
| `commands` | a `Command`, some, or a function that makes them of what its parameters name by their types | any |
| `things` | a function that makes what such a parameter names: the type is its name here (`hub/provision.py`) | any |
| `findings` | an async function of the settings that gives what `doctor` says | ours |
| `faces` | a function that serves one, called with what its words say | ours |
| `windows` | a `Feature` of the window (`ui/kit/feature.py`), whose keys are rows of the key table | ours |
| `tools` | as `commands`, for agents; a command of ours says itself that it is one | a plugin's |
| `providers` | a `ProviderOffer` | a plugin's |
| `personas` | a `Persona`, or some | a plugin's |
| `programs` | a profile's file | a plugin's |

A plugin declares them as entry points of the groups `gshtui.KIND` (`plugins.py`). A feature of ours is a package
`gshtui.features.NAME` with a list `BRINGS` in `brings.py`; its name is in `FEATURES`, and a switch in `Features`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from gshtui.system.expected_error import ExpectedError

if TYPE_CHECKING:
    from gshtui.settings.settings_tables import Features

PluginKind = Literal["commands", "tools", "things", "providers", "personas", "programs"]
PLUGIN_KINDS: tuple[PluginKind, ...] = get_args(PluginKind)
Kind = PluginKind | Literal["findings", "faces", "windows"]


class Brought(msgspec.Struct, frozen=True):
    """What a feature of ours brings; a room of the core brings its commands in the same way."""

    kind: Kind
    value: str
    """The attribute may be left out where it is called as the kind is."""
    name: str
    """Of commands: names and aliases in their order, so that they are made once one of them is used."""
    after: str = ""
    """Of a feature's commands: the parts of the hub that must have started."""
    for_agents: bool = True
    """An agent's own hub has these commands, too; the others are for people, or the fleet's."""

    @property
    def feature(self) -> str:
        """The feature's name."""
        return self.value.split(".")[2]

    def load(self) -> Any:
        """The value, imported."""
        module, _, attribute = self.value.partition(":")
        return getattr(import_module(module), attribute or self.kind)


FEATURES = ("acp", "code", "mcp_server", "replay", "ssh", "web", "workflows")


def brought(kind: Kind, switches: Features | None = None) -> Iterator[Brought]:
    """What our features bring of a kind; nothing of one that is switched off is imported. `None`: of all, as a window
    asks, which has its keys before it has settings.
    """
    for name in FEATURES:
        if getattr(switches, name, True):
            yield from (one for one in import_module(f"gshtui.features.{name}.brings").BRINGS if one.kind == kind)


class FeatureOffError(ExpectedError):
    """A feature is switched off."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The feature {name} is switched off.", how_to_switch_on(name.split(" ")[0]))


def how_to_switch_on(name: str) -> str:
    """What to do where a feature is missed."""
    return f"`config set features.{name} true` switches it on."


def face(name: str, switches: Features) -> Any:
    """The face of this name. Raises `FeatureOffError`."""
    found = next((one for one in brought("faces", switches) if one.name == name), None)
    if found is None:
        raise FeatureOffError(name)
    return found.load()

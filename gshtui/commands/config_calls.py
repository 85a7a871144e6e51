"""Commands about the settings as code calls them, `await hub.call(ShowSettings(key="agent"))`; their results.

One pair of parameters and result for each word of `config`; the handlers are in `config_commands`. The shell's
`config edit` opens an editor and belongs to the command line (`cli/upkeep.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from gshtui.commands.declaration import Mark, Parameters, Returns
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.settings.loader import Loaded
from gshtui.settings.toml_file import Problem

NO_PARTS = frozenset[str]()
CONFIG_GROUP = ShellGroup(
    "Show and change the configuration.",
    """\
Show and change the configuration.

A value comes from the last of these that sets it: the default, your file, the project's .gsh/config.toml (once you
trust the folder, and only to make things stricter), a GSH_TABLE__KEY variable, --set.""",
    synonyms=(("list", "show"), ("ls", "show"), ("reset", "unset"), ("paths", "path")),
)


class ShownSettings(msgspec.Struct, frozen=True):
    """The settings as they are now."""

    loaded: Loaded
    key: str
    """The setting or table that is shown; empty: all."""


class ConfigPlaces(msgspec.Struct, frozen=True):
    """The paths of the files and folders, by their purpose."""

    paths: dict[str, Path]


class SettingsSchema(msgspec.Struct, frozen=True):
    """The JSON schema of the configuration."""

    schema: dict[str, Any]


class ChangedSetting(msgspec.Struct, frozen=True):
    """A value that was set in the user's file."""

    key: str
    value: object
    """As it was written."""
    file: Path


class ResetValue(msgspec.Struct, frozen=True):
    """A value that was removed from the user's file, or was not in it."""

    key: str
    found: bool
    file: Path


class ConfigFile(msgspec.Struct, frozen=True):
    """The user's file, which exists now."""

    file: Path


class SeenProject(msgspec.Struct, frozen=True):
    """The files of a project as a person saw them before trusting it."""

    config: bytes | None
    """The project's configuration; `None`: it has none."""
    files: dict[str, str]
    """The hash of each of its files, by name."""


class ProjectTrust(msgspec.Struct, frozen=True):
    """Whether a project is trusted, after a person decided."""

    project: Path
    trust: str
    files: tuple[str, ...] = ()
    """The files that it brings."""
    refused: tuple[Problem, ...] = ()
    """What its configuration must not set."""
    revoked: bool = False


_KEY = Field(default="", description="A setting or table, such as agent.max_steps.")


class ShowSettings(Parameters, Returns[ShownSettings]):
    """Show all values, or those of KEY, and where each comes from."""

    COMMAND: ClassVar[str] = "config"
    WORD: ClassVar[str] = "show"
    SHELL = ShellForm(parts=NO_PARTS, takes_settings=True, quiet=True)
    key: str = _KEY


class SettingValue(msgspec.Struct, frozen=True):
    """The value of one setting, or the values of one table."""

    value: object


class GetSetting(Parameters, Returns[SettingValue]):
    """Print the value of KEY alone: text as it is, everything else as JSON."""

    COMMAND: ClassVar[str] = "config"
    WORD: ClassVar[str] = "get"
    SHELL = ShellForm(parts=NO_PARTS, takes_settings=True, quiet=True)
    key: Annotated[str, ShellOption(required=True)] = _KEY


class ShowPlaces(Parameters, Returns[ConfigPlaces]):
    """Print the paths of the files and folders."""

    COMMAND: ClassVar[str] = "config"
    WORD: ClassVar[str] = "path"
    SHELL = ShellForm(parts=NO_PARTS)


class ShowSchema(Parameters, Returns[SettingsSchema]):
    """Print the JSON schema, which describes every key."""

    COMMAND: ClassVar[str] = "config"
    WORD: ClassVar[str] = "schema"
    SHELL = ShellForm(parts=NO_PARTS)


class SetSetting(Parameters, Returns[ChangedSetting]):
    """Set KEY to VALUE in your file.

    Comments and everything else stay unchanged. Write lists as JSON.
    """

    COMMAND: ClassVar[str] = "config"
    WORD: ClassVar[str] = "set"
    SHELL = ShellForm(parts=NO_PARTS, rights=True)
    key: Annotated[str, ShellOption(required=True)] = _KEY
    value: Annotated[str, Mark.VERBATIM, ShellOption(required=True)] = Field(
        default="", description="The new value; lists are JSON."
    )
    seen: Annotated[str | None, Mark.CODE_ONLY] = None
    """The value that the person saw, as JSON: if it is another one by now, it is not set. `None`: whatever it is."""


class ResetSetting(Parameters, Returns[ResetValue]):
    """Remove KEY from your file, so that its default applies again."""

    COMMAND: ClassVar[str] = "config"
    WORD: ClassVar[str] = "unset"
    SHELL = ShellForm(parts=NO_PARTS, rights=True)
    key: Annotated[str, ShellOption(required=True)] = _KEY


class MakeConfigFile(Parameters, Returns[ConfigFile]):
    """Create the user's file where it is missing, to be edited."""

    COMMAND: ClassVar[str] = "config"
    WORD: ClassVar[str] = "edit"


class TrustProject(Parameters, Returns[ProjectTrust]):
    """Trust this folder's configuration and AGENTS.md.

    This trusts .gsh/config.toml as it is now, until it changes. It can still only make things stricter, and trusting it
    starts nothing.
    """

    COMMAND: ClassVar[str] = "config"
    WORD: ClassVar[str] = "trust"
    SHELL = ShellForm(
        parts=NO_PARTS,
        quiet=True,
        yes="Skip the preview and the question.",
        needs_answer=True,
    )
    revoke: bool = Field(default=False, description="Withdraw the trust.")
    seen: Annotated[SkipJsonSchema[InstanceOf[SeenProject] | None], Mark.CODE_ONLY] = None
    """The files as the person saw them, which is how they are trusted; `None`: as they are now."""


class UntrustProject(TrustProject):
    """Withdraw the trust in this folder's configuration and AGENTS.md."""

    WORD: ClassVar[str] = "untrust"
    SHELL = None
    revoke: Annotated[bool, Mark.CODE_ONLY] = True

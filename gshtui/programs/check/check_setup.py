"""How each program is pointed at a model on this machine, in a throw-away home. Data files that ship, and no others:
neither a person's profile nor a bundle of rules can name a file to write or a variable to set.

`<url>`, `<home>`, `<config>`, `<folder>` and `<version>` stand for what is known only when it is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from gshtui.settings.toml_file import load_toml
from gshtui.system.json_types import map_texts
from gshtui.system.struct_types import learned

ModelApi = Literal["", "anthropic", "openai", "openai-chat", "gemini"]
_PLACE = re.compile(r"<(url|home|config|folder|version)>")


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a set-up."""


class ShellTool(_Table, frozen=True, kw_only=True):
    """The program's tool that runs a command."""

    name: str = ""
    """Empty: it has none that a model could call."""
    argument: str = ""
    """The argument that is the command."""
    more: dict[str, Any] = {}
    """What else a call needs."""
    unasked: bool = False
    """It is run without a question."""

    @property
    def asks(self) -> bool:
        """Whether the program asks before it runs a command of its model."""
        return bool(self.name) and not self.unasked


class OwnCall(_Table, frozen=True, kw_only=True):
    """A call of one of the program's own tools; `<plan>` is the file that it told its model to write a plan into."""

    name: str
    arguments: dict[str, Any] = {}


class PlanSetup(_Table, frozen=True, kw_only=True):
    """How it gets into its own planning mode, and how its model hands in a plan."""

    keys: tuple[str, ...] = ()
    shows: str = ""
    """Pattern of its screen in that mode."""
    calls: tuple[OwnCall, ...] = ()
    """Each is made once the one before has its result."""


class DialogSetup(_Table, frozen=True, kw_only=True):
    """A command that opens a dialog, which Escape closes."""

    text: str = ""
    shows: str = ""


class CheckSetup(_Table, frozen=True, kw_only=True):
    """One program's."""

    api: ModelApi = ""
    """What the model on this machine has to speak to it."""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    files: dict[str, dict[str, Any]] = {}
    """Path → content, written as its suffix says: TOML or JSON. One that ends with `/` is a folder."""
    tool: ShellTool = ShellTool()
    plan: PlanSetup = PlanSetup()
    dialog: DialogSetup = DialogSetup()
    clear: str = ""
    """The command that begins a new conversation."""
    denied: tuple[str, ...] = ()
    """Keys that confirm a denial in its terminal, where the answer alone does not end the question."""
    login: str = ""
    """Why it cannot be pointed at a model here; the end of a sentence. Empty: it can."""

    def prepare(self, home: Path, folder: Path, url: str, version: str, config: Path | None = None) -> dict[str, str]:
        """Write its files below this home, with the folder trusted; its environment. `config`: what `$XDG_CONFIG_HOME`
        is in that home, if not `.config`.
        """
        places = {
            "url": url,
            "home": str(home),
            "config": str(config or home / ".config"),
            "folder": str(folder),
            "version": version,
        }
        for path, content in self.files.items():
            file = Path(_filled(path, places))
            if not file.is_relative_to(home) and not file.is_relative_to(places["config"]):
                raise ValueError(f"{file} is outside the throw-away home")
            if path.endswith("/"):
                file.mkdir(parents=True, exist_ok=True)
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_written(_filled(content, places), file.suffix), "utf-8")
        return {name: _filled(value, places) for name, value in self.environment.items()}


def read_setup(name: str) -> CheckSetup | None:
    """The set-up of a program by the name of its profile; `None`: there is none."""
    file = Path(__file__).parent / "setups" / f"{name}.toml"
    try:
        tables = load_toml(file.read_text("utf-8"))
    except FileNotFoundError:
        return None
    return msgspec.convert(tables, learned(CheckSetup))


def _filled(value: object, places: Mapping[str, str]) -> Any:
    return map_texts(value, lambda text: _PLACE.sub(lambda found: places[found[1]], text))


def _written(content: Mapping[str, Any], suffix: str) -> str:
    if suffix != ".toml":
        return json.dumps(content)
    import tomlkit

    return tomlkit.dumps(content)  # pyright: ignore[reportUnknownMemberType]

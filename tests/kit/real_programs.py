"""Other people's programs as they are installed here, and how each is set up to talk to a loopback and to nobody else.

`.ci/programs` installs them; `FOUND` are those that are there, `MISSING` says of each other one that it is not. Used
by `tests/programs` and by the recorder of screens.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gshtui.programs.check.check_setup import CheckSetup, read_setup
from gshtui.settings import paths
from tests.kit.loopback.server import Asked
from tests.kit.prompt_driven_model import follow_prompts

FOLDER = Path(os.environ.get("GSH_PROGRAMS", "") or Path.home() / ".cache" / "gsh-programs")
"""Where `.ci/programs` puts them; read before a test has made up a home."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program.

    Args:
        like: the program whose set-up it has, as the product itself points it at a model on this machine.
    """

    name: str
    like: str
    over_acp: bool = False
    """It speaks the Agent Client Protocol, and has no screen."""

    @property
    def asks(self) -> str:
        """Words on its screen while it asks whether a command may run; empty: it never does."""
        return "" if self.over_acp else _ASKS.get(self.name, "")

    @property
    def setup(self) -> CheckSetup:
        """How it is pointed at a model on this machine."""
        found = read_setup(self.like)
        assert found is not None
        return found

    @property
    def api(self) -> str:
        """What the loopback speaks to it."""
        return self.setup.api

    def prepare(self, home: Path, folder: Path, url: str) -> dict[str, str]:
        """Write its configuration, with the folder trusted; its environment."""
        config = os.environ.get("XDG_CONFIG_HOME", "")
        return self.setup.prepare(home, folder, url, self.version, Path(config) if config else None)

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line, with the program's own name as on the PATH."""
        return (self.name, *(() if self.over_acp else self.setup.arguments))

    @property
    def path(self) -> Path:
        return FOLDER / "bin" / self.name

    @property
    def version(self) -> str:
        """As installed; empty when it is not."""
        try:
            return (FOLDER / self.name / ".version").read_text("utf-8").strip() if self.path.exists() else ""
        except OSError:
            return ""

    def is_turn(self, asked: Asked) -> bool:
        """Whether a request belongs to a turn; for a title, or to see whether the model is there, none offers tools."""
        body = asked.body if isinstance(asked.body, dict) else {}
        return asked.kind == "chat" and (not self.setup.tool.name or bool(body.get("tools")))

    def choose(self) -> Any:
        """A model that does what it is asked for, with this program's tool."""
        tool = self.setup.tool
        return follow_prompts(tool.name, tool.argument, **tool.more)


_ASKS = {
    "claude": "Do you want to proceed",
    "codex": "Would you like to run",
    "opencode": "Permission required",
    "gemini": "Allow execution of",
    "vibe": "Permission for the",
    "qwen": "Allow execution of",
}
PROGRAMS = {
    program.name: program
    for program in (
        *(Program(name, name) for name in ("claude", "codex", "opencode", "gemini", "aider", "vibe", "qwen")),
        *(Program(name, name) for name in ("pi", "cline", "kilo", "copilot")),
        Program("claude-agent-acp", "claude", over_acp=True),
        Program("codex-acp", "codex", over_acp=True),
    )
}
FOUND = [program for program in PROGRAMS.values() if program.version]
MISSING = [program for program in PROGRAMS.values() if not program.version]


def leave_alone(name: str) -> None:
    """Have a program not connected to us by a protocol of its own, by a person's profile in the home of the moment."""
    profile = paths.config_dir(create=True) / "profiles" / f"{name}.toml"
    profile.parent.mkdir(exist_ok=True)
    profile.write_text(f'extends = "{name}"\nprotocol = ""\n', "utf-8")


SERVERS = ("mcp-server-everything", "mcp-server-filesystem", "mcp-server-git", "mcp-server-fetch", "litellm")
"""MCP servers and a proxy of models that `.ci/programs` installs, by the names of their commands."""


def server_path(name: str) -> Path:
    """The executable of an MCP server."""
    return FOLDER / "bin" / name


def installed_servers() -> list[str]:
    """Those that are there."""
    return [name for name in SERVERS if server_path(name).exists() and (FOLDER / name / ".version").exists()]

"""Other people's programs as they are installed here, and how each is set up to talk to a loopback and to nobody else.

`.ci/programs` installs them; `FOUND` are those that are there, `MISSING` says of each other one that it is not. Used
by `tests/programs` and by the recorder of screens.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kit.prompt_driven_model import follow_prompts

FOLDER = Path(os.environ.get("GSH_PROGRAMS", "") or Path.home() / ".cache" / "gsh-programs")
"""Where `.ci/programs` puts them; read before a test has made up a home."""
KEY = "sk-ant-api03-loopback-key-0000"


@dataclass(frozen=True, slots=True)
class Program:
    """One program.

    Args:
        api: what the loopback speaks to it.
        prepare: (home, folder, the server's URL) → environment; writes its configuration, with the folder trusted.
        tool: its tool for commands, the argument that the command is, and what else a call needs.
    """

    name: str
    api: str
    prepare: Callable[[Path, Path, str], dict[str, str]]
    tool: tuple[str, str, dict[str, Any]]
    arguments: tuple[str, ...] = ()
    over_acp: bool = False
    """It speaks the Agent Client Protocol, and has no screen."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line, with the program's own name as on the PATH."""
        return (self.name, *self.arguments)

    @property
    def path(self) -> Path:
        """The executable."""
        return FOLDER / "bin" / self.name

    @property
    def version(self) -> str:
        """As installed; empty when it is not."""
        try:
            return (FOLDER / self.name / ".version").read_text("utf-8").strip() if self.path.exists() else ""
        except OSError:
            return ""

    def choose(self) -> Any:
        """A model that does what it is asked for, with this program's tool."""
        name, argument, more = self.tool
        return follow_prompts(name, argument, **more)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _claude(home: Path, folder: Path, url: str) -> dict[str, str]:
    project = {"hasTrustDialogAccepted": True, "projectOnboardingSeenCount": 3, "allowedTools": []}
    seen: dict[str, Any] = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": "9.9.9",
        "theme": "dark",
        "autoUpdates": False,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(folder): project, os.path.realpath(folder): project},
    }
    _write(home / ".claude.json", json.dumps(seen))
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def _codex(home: Path, folder: Path, url: str) -> dict[str, str]:
    _write(
        home / ".codex" / "config.toml",
        'model = "gpt-5.2-codex"\nmodel_provider = "loop"\napproval_policy = "on-request"\n'
        'sandbox_mode = "read-only"\ncheck_for_update_on_startup = false\n'
        f'[model_providers.loop]\nname = "loop"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
        f'env_key = "OPENAI_API_KEY"\n[projects.{json.dumps(str(folder))}]\ntrust_level = "trusted"\n',
    )
    return {"OPENAI_API_KEY": "loopback"}


def _gemini(home: Path, folder: Path, url: str) -> dict[str, str]:
    _write(
        home / ".gemini" / "settings.json",
        json.dumps(
            {
                "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
                "privacy": {"usageStatisticsEnabled": False},
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "model": {"name": "gemini-2.5-flash"},
            }
        ),
    )
    _write(home / ".gemini" / "trustedFolders.json", json.dumps({str(folder): "TRUST_FOLDER"}))
    return {"GEMINI_API_KEY": "loopback", "GOOGLE_GEMINI_BASE_URL": url}


def _opencode(home: Path, folder: Path, url: str) -> dict[str, str]:
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "loop/fake",
        "small_model": "loop/fake",
        "permission": {"bash": "ask", "edit": "ask"},
        "provider": {
            "loop": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Loop",
                "options": {"baseURL": f"{url}/v1", "apiKey": "loopback"},
                "models": {"fake": {"name": "fake", "tool_call": True}},
            }
        },
    }
    configs = Path(os.environ.get("XDG_CONFIG_HOME", "") or home / ".config") / "opencode"
    _write(configs / "opencode.json", json.dumps(config))
    # Its start would install the library for its plugins (63 MB from the network, three seconds of a core) into each
    # new home; where this is to be found, it takes it for installed. Our plugin does without.
    (configs / "node_modules").mkdir(exist_ok=True)
    lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": PROGRAMS["opencode"].version}}}}
    _write(configs / "package-lock.json", json.dumps(lock))
    quiet = ("MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "EXTERNAL_SKILLS", "FFF", "AUTOUPDATE", "SHARE")
    return {f"OPENCODE_DISABLE_{what}": "1" for what in quiet}


def _aider(home: Path, folder: Path, url: str) -> dict[str, str]:
    return {
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": "loopback",
        "AIDER_CHECK_UPDATE": "false",
        "AIDER_ANALYTICS_DISABLE": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def _vibe(home: Path, folder: Path, url: str) -> dict[str, str]:
    _write(
        home / ".vibe" / "config.toml",
        'active_model = "fake"\nenable_telemetry = false\nenable_update_checks = false\nenable_auto_update = false\n'
        "enable_connectors = false\nenable_mcp = false\n"
        f'[[providers]]\nname = "loop"\napi_base = "{url}/v1"\napi_key_env_var = "LOOP_KEY"\nbackend = "generic"\n'
        '[[models]]\nname = "fake"\nprovider = "loop"\nalias = "fake"\n',
    )
    return {"LOOP_KEY": "loopback", "MISTRAL_API_KEY": "loopback"}


def _qwen(home: Path, folder: Path, url: str) -> dict[str, str]:
    _write(
        home / ".qwen" / "settings.json",
        json.dumps(
            {
                "$version": 4,
                "general": {"enableAutoUpdate": False},
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
                "memory": {"enableManagedAutoMemory": False},  # which asks again after each turn
                "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
                "model": {"name": "fake"},
            }
        ),
    )
    return {"OPENAI_API_KEY": "loopback", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "fake"}


_ASK = {"sandbox_permissions": "require_escalated", "justification": "May I run it?"}
PROGRAMS = {
    program.name: program
    for program in (
        Program("claude", "anthropic", _claude, ("Bash", "command", {"description": "Run it"})),
        Program("codex", "openai", _codex, ("exec_command", "cmd", _ASK)),
        Program("opencode", "openai-chat", _opencode, ("bash", "command", {"description": "Run it"})),
        Program("gemini", "gemini", _gemini, ("run_shell_command", "command", {"description": "Run it"})),
        Program(
            "aider",
            "openai-chat",
            _aider,
            ("", "", {}),
            ("--model", "openai/gpt-4o", "--no-git", "--no-show-model-warnings", "--no-show-release-notes"),
        ),
        Program("vibe", "openai-chat", _vibe, ("bash", "command", {})),
        Program("qwen", "openai-chat", _qwen, ("run_shell_command", "command", {"is_background": False})),
        Program(
            "claude-agent-acp", "anthropic", _claude, ("Bash", "command", {"description": "Run it"}), over_acp=True
        ),
        Program("codex-acp", "openai", _codex, ("exec_command", "cmd", _ASK), over_acp=True),
    )
}
FOUND = [program for program in PROGRAMS.values() if program.version]
MISSING = [program for program in PROGRAMS.values() if not program.version]


SERVERS = ("mcp-server-everything", "mcp-server-filesystem", "mcp-server-git", "mcp-server-fetch")
"""MCP servers that `.ci/programs` installs, by the names of their commands."""


def server_path(name: str) -> Path:
    """The executable of an MCP server."""
    return FOLDER / "bin" / name


def installed_servers() -> list[str]:
    """Those that are there."""
    return [name for name in SERVERS if server_path(name).exists() and (FOLDER / name / ".version").exists()]

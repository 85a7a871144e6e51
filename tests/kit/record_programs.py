"""How each real program is set up and led through its screens, for `record_screens`.

Every step says what is done, what must be seen then, and what the program's true status is at that moment: the tests
hold the status rules against that. Nothing here talks to anything but this machine.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kit.prompt_driven_model import follow_prompts

KEY = "sk-ant-api03-loopback-key-0000"


@dataclass(frozen=True, slots=True)
class Step:
    """One picture.

    Args:
        status: what the program really does then; empty when it has ended.
        keys: pressed first.
        text: pasted behind them; Enter follows unless `enter` is off.
        until: must match the screen.
        steady: seconds that the screen must then stand still; 0 takes it at once.
    """

    name: str
    status: str
    keys: tuple[str, ...] = ()
    text: str = ""
    enter: bool = True
    until: str = ""
    steady: float = 0.7
    draft: bool = False
    """Half-typed text stands in the input."""
    after: float = 0.0
    """Seconds that the screen must stand still first, as some questions take no key in their first second. Of a picture
    that is taken at once: whatever it is, it is taken when the screen has moved once more."""
    dialog: bool = False
    """Something of the program's own is open; nobody is asked anything."""
    optional: bool = False
    """Where it is not seen within a few seconds, there is no such picture, and its keys are not pressed."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One program."""

    name: str
    api: str
    prepare: Callable[[Path, str], dict[str, str]]
    """(home, the server's URL) → environment."""
    steps: tuple[Step, ...]
    argv: tuple[str, ...] = ()
    choose: Any = None
    resumed: tuple[Step, ...] = field(default_factory=tuple[Step, ...])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _claude(home: Path, url: str) -> dict[str, str]:
    seen = {"hasCompletedOnboarding": True, "lastOnboardingVersion": "9.9.9", "theme": "dark", "autoUpdates": False}
    _write(home / ".claude.json", json.dumps(seen))
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _codex(home: Path, url: str) -> dict[str, str]:
    _write(
        home / ".codex" / "config.toml",
        'model = "gpt-5.2-codex"\nmodel_provider = "loop"\napproval_policy = "on-request"\n'
        'sandbox_mode = "read-only"\ncheck_for_update_on_startup = false\n'
        f'[model_providers.loop]\nname = "loop"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "LOOP_KEY"\n',
    )
    return {"LOOP_KEY": "loopback"}


def _gemini(home: Path, url: str) -> dict[str, str]:
    _write(
        home / ".gemini" / "settings.json",
        json.dumps(
            {
                "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
                "privacy": {"usageStatisticsEnabled": False},
                "model": {"name": "gemini-2.5-flash"},
            }
        ),
    )
    return {"GEMINI_API_KEY": "loopback", "GOOGLE_GEMINI_BASE_URL": url}


def _opencode(home: Path, url: str) -> dict[str, str]:
    loop = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Loop",
        "options": {"baseURL": f"{url}/v1", "apiKey": "loopback"},
        "models": {"m1": {"name": "m1"}},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "loop/m1",
        "small_model": "loop/m1",
        "provider": {"loop": loop},
        "permission": {"bash": "ask", "edit": "ask"},
    }
    _write(home / ".config" / "opencode" / "opencode.json", json.dumps(config))
    return {}


CLAUDE = Recipe(
    "claude",
    "anthropic",
    _claude,
    (
        Step("trust", "waiting", until="Yes, I trust this folder"),
        Step("api-key", "waiting", keys=("Enter",), until="Do you want to use this API key"),
        Step("idle", "idle", keys=("Up", "Enter"), until=r"\? for shortcuts"),
        Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
        Step("answered", "idle", keys=("C-u",), text="Good day", until=r"I am here\.[\s\S]*for shortcuts"),
        Step("busy", "thinking", text="do:long", until="This sentence says", steady=0),
        Step("interrupted", "idle", keys=("Escape",), until=r"Interrupted|interrupted"),
        Step("approval", "waiting", text="do:touch", until="Do you want to proceed"),
        Step("approved", "idle", keys=("Enter",), until=r"has run\.[\s\S]*for shortcuts"),
        Step("approval-sleep", "waiting", text="do:sleep", until="Do you want to proceed"),
        Step("tool", "tool", keys=("Enter",), until=r"Running|esc to interrupt", steady=0),
        Step("tool-done", "idle", until=r"slept[\s\S]*has run\.[\s\S]*for shortcuts"),
        Step("list", "idle", text="do:list", until=r"which one you want\.[\s\S]*for shortcuts"),
        Step("error", "idle", text="do:fail", until=r"API Error[\s\S]*for shortcuts"),
        Step("pasted", "idle", text="\n".join(f"line {n}" for n in range(40)), enter=False, until="Pasted", draft=True),
        Step("ended", "", keys=("C-u", "C-c", "C-c"), until="Resume this session"),
    ),
    argv=("claude",),
    choose=follow_prompts("Bash", "command", description="Run it"),
    resumed=(Step("resumed", "idle", until=r"which one you want[\s\S]*(\? for shortcuts|/effort)"),),
)

_ASK: dict[str, Any] = {"sandbox_permissions": "require_escalated", "justification": "May I run it?"}
CODEX = Recipe(
    "codex",
    "openai",
    _codex,
    (
        Step("hooks", "waiting", until="Hooks need review"),
        Step("idle", "idle", keys=("Down", "Enter"), until="Ask Codex to do anything"),
        Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
        Step("answered", "idle", keys=("C-u",), text="Good day", until=r"I am here\.[\s\S]*Worked for"),
        Step("busy", "thinking", text="do:long", until="This sentence says", steady=0),
        Step("interrupted", "idle", keys=("Escape",), until="interrupted"),
        Step("approval", "waiting", text="do:touch", until=r"May I run it|Yes, proceed"),
        Step("approved", "idle", keys=("Enter",), until=r"has run\.[\s\S]*Worked for"),
        Step("approval-sleep", "waiting", text="do:sleep", until=r"May I run it\?[\s\S]*Yes, proceed"),
        Step("tool", "tool", keys=("Enter",), until=r"esc to interrupt|Running", steady=0),
        Step("tool-done", "idle", until=r"slept[\s\S]*has run\.[\s\S]*Worked for"),
        Step("list", "idle", text="do:list", until=r"which one you want\.[\s\S]*Worked for"),
        Step("error", "idle", text="do:fail", until="not in the mood"),
        Step("ended", "", keys=("C-c", "C-c"), until="codex resume"),
    ),
    argv=("codex",),
    choose=follow_prompts("exec_command", "cmd", **_ASK),
    resumed=(Step("resumed", "idle", until=r"which one you want[\s\S]*Ask Codex to do anything"),),
)

GEMINI = Recipe(
    "gemini",
    "gemini",
    _gemini,
    (
        Step("trust", "waiting", until="Do you trust the files in this folder"),
        Step("auth", "waiting", keys=("Enter",), until="How would you like to authenticate"),
        Step("key", "waiting", keys=("Enter",), until="Enter Gemini API Key"),
        Step("idle", "idle", keys=("Enter",), until="Type your message"),
        Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
        Step("answered", "idle", keys=("C-u",), text="Good day", until=r"I am here\."),
        Step("busy", "thinking", text="do:long", until="This sentence says", steady=0),
        Step("interrupted", "idle", keys=("Escape",), until="ancelled"),
        Step("approval", "waiting", text="do:touch", until="Allow once"),
        Step("approved", "idle", keys=("Enter",), until=r"has run\."),
        Step("approval-sleep", "waiting", text="do:sleep", until="Allow once"),
        Step("tool", "tool", keys=("Enter",), until=r"esc to cancel", steady=0),
        Step("tool-done", "idle", until=r"has run\.[\s\S]*has run\."),
        Step("list", "idle", text="do:list", until=r"which one you want"),
        Step("error", "idle", text="do:fail", until="not in the mood"),
        Step("ended", "", keys=("C-u", "C-c", "C-c"), until="Goodbye|powering down|Interaction Summary"),
    ),
    argv=("gemini",),
    choose=follow_prompts("run_shell_command", "command", description="Run it"),
    resumed=(Step("resumed", "idle", until=r"Type your message"),),
)

OPENCODE = Recipe(
    "opencode",
    "openai-chat",
    _opencode,
    (
        Step("idle", "idle", until="Ask anything"),
        Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
        Step("answered", "idle", keys=("C-u",), text="Good day", until=r"I am here\."),
        Step("busy", "thinking", text="do:long", until="This sentence says", steady=0),
        Step("interrupted", "idle", keys=("Escape", "Escape"), until="interrupted"),
        Step("approval", "waiting", text="do:touch", until="Permission required"),
        Step("approved", "idle", keys=("Enter",), until=r"has run\."),
        Step("approval-sleep", "waiting", text="do:sleep", until="Permission required"),
        Step("tool", "tool", keys=("Enter",), until=r"esc interrupt", steady=0),
        Step("tool-done", "idle", until=r"slept[\s\S]*has run\."),
        Step("list", "idle", text="do:list", until=r"which one you want"),
        Step("error", "idle", text="do:fail", until="not in the mood"),
        Step("ended", "", keys=("C-c",), until="Continue|Session|opencode -s"),
    ),
    argv=("opencode",),
    choose=follow_prompts("bash", "command", description="Run it"),
    resumed=(Step("resumed", "idle", until=r"which one you want"),),
)

RECIPES = {recipe.name: recipe for recipe in (CLAUDE, CODEX, GEMINI, OPENCODE)}


def _opened(name: str, text: str, until: str, *close: str) -> Step:
    """A dialog that a command opens, after the one before it was closed."""
    return Step(name, "waiting", keys=close, text=text, until=until, dialog=True)


_ESC = "Escape"
DIALOGS: dict[str, tuple[Step, ...]] = {
    "claude": (
        Step("idle", "idle", until=r"\? for shortcuts"),
        _opened("cost", "/cost", r"Total cost[\s\S]*Esc to"),
        _opened("config", "/config", r"Auto-compact[\s\S]*Esc to", _ESC),
        _opened("help", "/help", r"shortcuts[\s\S]*[Ee]sc to|[Ee]sc to", _ESC, _ESC),
        _opened("resume", "/resume", r"Resume session[\s\S]*[Ee]sc to", _ESC),
        _opened("permissions", "/permissions", r"Recently denied[\s\S]*[Ee]sc to", _ESC),
        _opened("agents", "/agents", r"Running[\s\S]*[Ee]sc to", _ESC),
        Step("model", "waiting", keys=(_ESC,), text="/model", until=r"Select model[\s\S]*[Ee]sc to"),
        Step("shell", "waiting", keys=(_ESC, "!"), until="! for shell mode", dialog=True),
        Step("approval", "waiting", keys=(_ESC,), text="do:touch", until="Do you want to proceed"),
        Step("rejected", "idle", keys=(_ESC,), until=r"\? for shortcuts|/effort"),
    ),
    "codex": (
        Step("starting", "starting", until="Ask Codex to do anything", steady=0),
        Step("idle", "idle", until=r"Ask Codex to do anything\s+gpt-5", steady=1.5),
        _opened("hooks", "/hooks", "enter details · esc close"),
        _opened("model", "/model", "esc back", _ESC),
        _opened("permissions", "/permissions", r"Update Model Permissions[\s\S]*esc back", _ESC),
        _opened("resume", "/resume", "esc exit", _ESC),
        Step("shell", "waiting", keys=(_ESC, "!"), until="Shell mode", dialog=True),
        Step("approval", "waiting", keys=("BSpace",), text="do:touch", until="Yes, proceed"),
        Step("rejected", "idle", keys=(_ESC,), until=r"interrupted[\s\S]*Ask Codex"),
    ),
    "opencode": (
        Step("idle", "idle", until="Ask anything"),
        _opened("help", "/help", "esc/enter"),
        _opened("models", "/models", r"Select model +esc", _ESC),
        _opened("sessions", "/sessions", r"Sessions +esc", _ESC),
        Step("palette", "waiting", keys=(_ESC, "C-p"), until=r"Commands +esc", dialog=True),
        Step("shell", "waiting", keys=(_ESC, "!"), until="esc exit shell mode", dialog=True),
        Step("answered", "idle", keys=(_ESC,), text="do:list", until=r"which one you want\.[\s\S]*ctrl\+p"),
        _opened("help-over-talk", "/help", "esc/enter"),
        _opened("models-over-talk", "/models", r"Select model +esc", _ESC),
        Step("approval", "waiting", keys=(_ESC,), text="do:touch", until="Permission required"),
        Step("rejected", "idle", keys=(_ESC,), until=r"ctrl\+p commands"),
    ),
    "gemini": (
        Step("idle", "idle", until="Type your message"),
        _opened("settings", "/settings", "Esc to close"),
        _opened("theme", "/theme", r"Select Theme[\s\S]*Esc to close", _ESC),
        _opened("model", "/model", "Press Esc to close", _ESC),
        _opened("resume", "/resume", "Press q to exit", _ESC),
        Step("shell", "waiting", keys=("q", "!"), until="shell mode enabled", dialog=True),
        Step("approval", "waiting", keys=(_ESC,), text="do:touch", until="Allow once"),
        Step("rejected", "idle", keys=(_ESC,), until=r"cancelled[\s\S]*Type your message"),
    ),
    "vibe": (
        Step("starting", "starting", until="Initializing…", steady=0),
        Step("idle", "idle", until=r"^(?![\s\S]*Initializing)[\s\S]*tokens", steady=0),
        Step("draft", "idle", text="half a thought", enter=False, until="half a thought", steady=0, draft=True),
        Step("answered", "idle", keys=("C-c",), text="Good day", until=r"I am here\.", steady=0),
        _opened("config", "/config", "Esc close"),
        _opened("model", "/model", r"Select Model[\s\S]*Esc cancel", _ESC),
        _opened("resume", "/resume", r"d delete +Esc cancel", _ESC),
        Step("shell", "waiting", keys=(_ESC, "!"), until=r"\n! *\n", steady=0, dialog=True),
        Step("approval", "waiting", keys=("C-c",), text="do:touch", until="Esc reject", steady=0),
        Step("rejected", "idle", keys=(_ESC,), after=2.0, until=r"Done; the command has run[\s\S]*\n>"),
        Step("busy", "thinking", text="do:long", until=r"This sentence[\s\S]*Generating…", steady=0),
        Step("interrupted", "idle", keys=(_ESC,), until="Interrupted", steady=0),
        Step("sleep", "waiting", text="do:sleep", until="Esc reject", steady=0),
        Step("approved", "idle", keys=("Enter",), after=2.0, until=r"slept[\s\S]*has run\.", steady=0),
    ),
    "aider": (
        Step("idle", "idle", until=r"\n> *\s*\Z", steady=1.0),
        Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
        Step("answered", "idle", keys=("C-u",), text="Good day", until=r"I am here\.[\s\S]*\n> *\s*\Z"),
        Step("question", "waiting", text="/add nofile.py", until=r"\[Yes\]:\s*\Z"),
        Step("refused", "idle", keys=("n", "Enter"), until=r"\n> *\s*\Z"),
    ),
}
"""Dialogs and the like, of programs that are set up already; recorded in a small and a large window."""

"""What real programs ask, for `record_screens --questions`: the calls that make each ask, and how each is led there.

Every scene starts the program anew. The steps say what must be seen, and what is true of that screen: its status, and
what each of its choices means.
"""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.kit.prompt_driven_model import PLAN_FILE, Calls
from tests.kit.record_programs import Step

TEXT = "".join(f"line {n} of the notes that are kept here\n" for n in range(1, 41))
CHANGED = "".join(f"a better line {n} of the notes, with more words in it than before\n" for n in range(10, 34))
PLAN = "# Tidy the notes\n\n" + "".join(f"{n}. Go through part {n} of the notes.\n" for n in range(1, 9))
_COLOUR = {
    "question": "Which colour do you want?",
    "header": "Colour",
    "multiSelect": False,
    "options": [
        {"label": "Red", "description": "Like a rose"},
        {"label": "Blue", "description": "Like the sea"},
    ],
}
_TOPPINGS = {
    "question": "Which toppings do you want?",
    "header": "Toppings",
    "multiSelect": True,
    "options": [
        {"label": "Cheese", "description": "Much of it"},
        {"label": "Olives", "description": "Black ones"},
        {"label": "Basil", "description": "Fresh"},
    ],
}


def made_project(folder: Path) -> None:
    """A folder with a file to edit."""
    (folder / "readme.txt").write_text("A project.\n", "utf-8")
    (folder / "notes.txt").write_text(TEXT, "utf-8")


_WIDE = ("line 5 of the notes that", f"if a:\n\tline five{' and more words' * 12} 一二三, to the end\n    return")
"""An edit with lines that no screen has room for in one row: what it replaces, by what."""


def _patched(*changes: str) -> Sequence[tuple[str, dict[str, Any]]]:
    """The calls by which Codex changes files."""
    lines = "\n".join(["*** Begin Patch", *changes, "*** End Patch"])
    return (("exec_command", {"cmd": f"apply_patch <<'EOF'\n{lines}\nEOF"}),)


def calls(program: str, folder: Path) -> Calls:
    """The wishes of `follow_prompts` that are about this program's own tools."""
    notes = str(folder / "notes.txt")
    middle = "".join(TEXT.splitlines(keepends=True)[9:33])
    match program:
        case "claude":
            edit = {"file_path": notes, "old_string": middle, "new_string": CHANGED, "replace_all": False}
            small = {"file_path": notes, "old_string": "line 5 of", "new_string": "line five of", "replace_all": False}
            return {
                "edit": (("Read", {"file_path": notes}), ("Edit", edit)),
                "small": (("Read", {"file_path": notes}), ("Edit", small)),
                "wide": (
                    ("Read", {"file_path": notes}),
                    ("Edit", small | dict(zip(("old_string", "new_string"), _WIDE, strict=True))),
                ),
                "write": (("Write", {"file_path": str(folder / "new.txt"), "content": TEXT}),),
                "plan": (("Write", {"file_path": PLAN_FILE, "content": PLAN}), ("ExitPlanMode", {})),
                "exit": (("ExitPlanMode", {"plan": PLAN}),),
                "ask": (("AskUserQuestion", {"questions": [_COLOUR]}),),
                "both": (("AskUserQuestion", {"questions": [_COLOUR, _TOPPINGS]}),),
                "agent": (
                    ("Agent", {"description": "Look around", "prompt": "do:long", "subagent_type": "general-purpose"}),
                ),
                "background": (("Bash", {"command": "sleep 300", "description": "Wait", "run_in_background": True}),),
            }
        case "codex":
            old = "-line 5 of the notes that are kept here"
            many = "\n".join(
                [*(f"-{line}" for line in middle.splitlines()), *(f"+{line}" for line in CHANGED.splitlines())]
            )
            choices = [{**_COLOUR, "id": "colour"}]
            del choices[0]["multiSelect"]
            return {
                "small": _patched(f"*** Update File: notes.txt\n@@\n{old}\n+line five of the notes"),
                "edit": _patched(f"*** Update File: notes.txt\n@@\n{many}"),
                "wide": _patched(
                    f"*** Update File: notes.txt\n@@\n{old}\n+line five{' and more words' * 20}, to the end"
                ),
                "two": _patched(
                    f"*** Update File: notes.txt\n@@\n{old}\n+line five",
                    "*** Update File: readme.txt\n@@\n-A project.\n+A better project.",
                ),
                "write": _patched("*** Add File: new.txt\n+one\n+two"),
                "remove": _patched("*** Delete File: readme.txt"),
                "ask": (("request_user_input", {"questions": choices}),),
                "agent": (("multi_agent_v1/spawn_agent", {"message": "do:long"}),),
            }
        case "opencode":
            edit = {"filePath": notes, "oldString": "line 5 of", "newString": "line five of"}
            return {
                "small": (("read", {"filePath": notes}), ("edit", edit)),
                "wide": (
                    ("read", {"filePath": notes}),
                    ("edit", edit | dict(zip(("oldString", "newString"), _WIDE, strict=True))),
                ),
                "ask": (("question", {"questions": [_COLOUR]}),),
                "agent": (("task", {"description": "Look around", "prompt": "do:long", "subagent_type": "general"}),),
            }
        case "qwen":
            ask: dict[str, Any] = {"questions": [_COLOUR]}
            small = {"file_path": notes, "old_string": "line 5 of", "new_string": "line five of"}
            edit = {"file_path": notes, "old_string": middle, "new_string": CHANGED}
            return {
                "edit": (("read_file", {"file_path": notes}), ("edit", edit)),
                "small": (("read_file", {"file_path": notes}), ("edit", small)),
                "wide": (
                    ("read_file", {"file_path": notes}),
                    ("edit", small | dict(zip(("old_string", "new_string"), _WIDE, strict=True))),
                ),
                "ask": (("ask_user_question", ask),),
                "both": (("ask_user_question", {"questions": [_COLOUR, _TOPPINGS]}),),
                "plan": (("exit_plan_mode", {"plan": PLAN}),),
                "agent": (("agent", {"description": "Look", "prompt": "do:long", "subagent_type": "general-purpose"}),),
            }
        case "copilot":
            edit = {"path": notes, "old_str": "line 5 of", "new_str": "line five of"}
            wide = edit | dict(zip(("old_str", "new_str"), _WIDE, strict=True))
            return {"small": (("edit", edit),), "wide": (("edit", wide),)}
        case "gemini":
            small = {
                "file_path": notes,
                "old_string": "line 5 of",
                "new_string": "line five of",
                "instruction": "Do it",
            }
            return {
                "change": (("read_file", {"file_path": notes}), ("replace", small)),
                "edit": (
                    ("read_file", {"file_path": notes}),
                    ("replace", small | {"old_string": middle, "new_string": CHANGED}),
                ),
                "wide": (
                    ("read_file", {"file_path": notes}),
                    ("replace", small | dict(zip(("old_string", "new_string"), _WIDE, strict=True))),
                ),
                "ask": (("ask_user", {"questions": [{**_COLOUR, "type": "choice"}]}),),
                "small": (("write_file", {"file_path": str(folder / "new.txt"), "content": "one\ntwo\n"}),),
                "agent": (("invoke_agent", {"agent_name": "generalist", "prompt": "do:long"}),),
            }
        case "vibe":
            edit = {"file_path": notes, "old_string": "line 5 of", "new_string": "line five of"}
            return {
                "small": (("edit", edit),),
                "wide": (("edit", edit | dict(zip(("old_string", "new_string"), _WIDE, strict=True))),),
                "edit": (("edit", edit | {"old_string": middle, "new_string": CHANGED}),),
            }
        case "cline":
            return {"small": (("editor", {"path": notes, "old_text": "line 5 of", "new_text": "line five of"}),)}
        case _:
            return {}


@dataclass(frozen=True, slots=True)
class Scene:
    """One start of a program, and its pictures.

    Args:
        arguments: beside the program's own.
        set_up: (home, folder) before the start.
        bare: it has no configuration at all, as at somebody's first start.
    """

    name: str
    steps: tuple[Step, ...]
    arguments: tuple[str, ...] = ()
    set_up: Callable[[Path, Path], None] | None = None
    bare: bool = False


def _claude_settings(settings: Mapping[str, Any]) -> Callable[[Path, Path], None]:
    def set_up(home: Path, folder: Path) -> None:
        (home / ".claude").mkdir(exist_ok=True)
        (home / ".claude" / "settings.json").write_text(json.dumps(settings), "utf-8")

    return set_up


def _claude_mode(mode: str) -> Callable[[Path, Path], None]:
    return _claude_settings({"permissions": {"defaultMode": mode}})


def _untrusted(home: Path, folder: Path) -> None:
    file = home / ".claude.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "projects": {}}), "utf-8")


def _codex_untrusted(home: Path, folder: Path) -> None:
    file = home / ".codex" / "config.toml"
    kept = file.read_text("utf-8").partition("[projects.")[0].splitlines()
    own = ("approval_policy", "sandbox_mode")  # with them it does not ask
    file.write_text("\n".join(line for line in kept if not line.startswith(own)), "utf-8")
    subprocess.run(("git", "init", "-q"), cwd=folder, check=True)


def _codex_outdated(home: Path, folder: Path) -> None:
    file = home / ".codex" / "config.toml"
    kept = (line for line in file.read_text("utf-8").splitlines() if not line.startswith("check_for_update"))
    file.write_text("\n".join(kept), "utf-8")
    known = {"latest_version": "0.999.0", "last_checked_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
    (home / ".codex" / "version.json").write_text(json.dumps(known), "utf-8")


def _qwen_mode(mode: str) -> Callable[[Path, Path], None]:
    def set_up(home: Path, folder: Path) -> None:
        file = home / ".qwen" / "settings.json"
        settings = json.loads(file.read_text("utf-8"))
        settings["tools"] = {"approvalMode": mode}
        file.write_text(json.dumps(settings), "utf-8")

    return set_up


def _copilot_untrusted(home: Path, folder: Path) -> None:
    (home / ".copilot" / "config.json").write_text(json.dumps({"banner": "never"}), "utf-8")


_WORKS = r"\n {1,4}(?:\S.* · )?esc to interrupt"


def _busy() -> tuple[Step, ...]:
    return (
        Step("busy", "thinking", text="do:long", until=_WORKS, steady=0, after=0.5),
        Step("interrupted", "idle", keys=("Escape",), until="Interrupted"),
    )


_QWEN = Step("idle", "idle", until=r"^(?![\s\S]*Initializing)[\s\S]*Type your message", steady=1.5)
_QWEN_BUSY = (
    Step("busy", "thinking", text="do:long", until=r"This sentence[\s\S]*esc to cancel", steady=0, after=0.5),
    Step("interrupted", "idle", keys=("Escape",), until="ancelled"),
)
_GEMINI_BUSY = (
    Step("busy", "thinking", text="do:long", until=r"This sentence[\s\S]*esc to cancel", steady=0, after=0.5),
    Step("interrupted", "idle", keys=("Escape",), until="cancelled", steady=1.0),
)
_OPENCODE_BUSY = (
    Step("busy", "thinking", text="do:long", until=r"This sentence[\s\S]*esc interrupt", steady=0),
    Step("interrupted", "idle", keys=("Escape", "Escape"), until="interrupted"),
)
_VIBE = Step("idle", "idle", until=r"^(?![\s\S]*Initializing)[\s\S]*tokens", steady=0)
_VIBE_BUSY = (
    Step("busy", "thinking", text="do:long", until=r"This sentence[\s\S]*Generating…", steady=0),
    Step("interrupted", "idle", keys=("Escape",), until="Interrupted", steady=0),
)


def _codex_mode(name: str, *arguments: str) -> Scene:
    """It works in this mode, and is interrupted."""
    return Scene(
        name,
        (
            Step("idle", "idle", until=r"Ask Codex to do anything\s+gpt-5", steady=1.5),
            Step("busy", "thinking", text="do:long", until=r"This sentence[\s\S]*esc to interrupt", steady=0),
            Step("interrupted", "idle", keys=("Escape",), until="interrupted"),
            Step("answered", "idle", text="do:list", until=r"which one you want\.[\s\S]*Ask Codex"),
        ),
        ("--no-daemon", *arguments),
    )


_ASKED = Step("default-mode", "waiting", until="default permission mode", optional=True)
"""Some versions ask at the first start in another mode than theirs."""
_KEPT = Step("idle", "idle", keys=("Down", "Enter"), until=r"\n❯")
_DENIED = Step("denied", "idle", keys=("Escape",), until=r"(?:mode|edits|permissions) on\b|\? for shortcuts", after=1.0)
SCENES: dict[str, tuple[Scene, ...]] = {
    "claude": (
        Scene("trust", (Step("trust", "waiting", until="trust this folder"),), set_up=_untrusted),
        Scene(
            "bypass",
            (
                Step("warning", "waiting", until="Yes, I accept"),
                Step("idle", "idle", keys=("Down", "Enter"), until="bypass permissions on"),
                *_busy(),
            ),
            ("--dangerously-skip-permissions",),
        ),
        Scene(
            "ask",
            (
                _ASKED,
                _KEPT,
                *_busy(),
                Step("command", "waiting", text="do:touch", until="proceed"),
                _DENIED,
                Step("sleep", "waiting", text="do:sleep", until="proceed"),
                Step("tool", "tool", keys=("Enter",), until=_WORKS, steady=0, after=0.7),
                Step("ran", "idle", until=r"has run\."),
                Step("small-edit", "waiting", text="do:small", until="make this edit"),
                _DENIED,
                Step("edit", "waiting", text="do:edit", until="make this edit"),
                _DENIED,
                Step("new-file", "waiting", text="do:write", until="create new.txt"),
                _DENIED,
                Step("one-question", "waiting", text="do:ask", until="Chat about this"),
                _DENIED,
                Step("two-questions", "waiting", text="do:both", until="Chat about this"),
                Step("second-question", "waiting", keys=("1",), until="Which toppings"),
                Step("picked", "waiting", keys=("1",), until=r"\[✔\] Cheese"),
                Step("review", "waiting", keys=("Tab",), until="Submit answers"),
                _DENIED,
                Step(
                    "subagent",
                    "thinking",
                    text="do:agent",
                    until=r"esc to interrupt[\s\S]*|Look around",
                    steady=0,
                    after=1.5,
                ),
                Step("subagent-done", "idle", until=r"has run\.|I am here", steady=6.0, optional=True),
                Step("background-asks", "waiting", text="do:background", until="proceed", optional=True),
                Step("background", "idle", until=r"has run\.|I am here", steady=3.0),
            ),
            set_up=_claude_mode("default"),
        ),
        Scene(
            "wide",
            (_ASKED, _KEPT, Step("edit", "waiting", text="do:wide", until="make this edit")),
            set_up=_claude_mode("default"),
        ),
        Scene(
            "edits",
            (_ASKED, _KEPT, *_busy()),
            set_up=_claude_mode("acceptEdits"),
        ),
        Scene(
            "plan",
            (
                _ASKED,
                _KEPT,
                *_busy(),
                Step("plan", "waiting", text="do:plan", until="proceed\\?"),
                Step("words", "waiting", keys=("3",), until=r"❯ 3\."),
                _DENIED,
            ),
            set_up=_claude_mode("plan"),
        ),
        Scene(
            "exit",
            (_ASKED, _KEPT, Step("exit-plan", "waiting", text="do:exit", until="proceed|Exit plan mode")),
            set_up=_claude_mode("plan"),
        ),
        Scene("auto", (Step("idle", "idle", until=r"\n❯"), *_busy())),
    ),
    "codex": (
        Scene("first", (Step("login", "waiting", until="Press enter to continue"),), ("--no-daemon",), bare=True),
        Scene(
            "trust", (Step("trust", "waiting", until="Trust and|Yes, continue"),), ("--no-daemon",), _codex_untrusted
        ),
        Scene("update", (Step("update", "waiting", until="Update now"),), ("--no-daemon",), _codex_outdated),
        Scene(
            "ask",
            (
                Step("idle", "idle", until=r"Ask Codex to do anything\s+gpt-5", steady=1.5),
                Step("command", "waiting", text="do:touch", until="Yes, proceed"),
                Step("denied", "idle", keys=("Escape",), until="interrupted"),
                Step("small-edit", "waiting", text="do:small", until="make the following edits|Yes, proceed"),
            ),
            ("--no-daemon",),
        ),
        Scene(
            "changes",
            (
                Step("idle", "idle", until=r"Ask Codex to do anything\s+gpt-5", steady=1.5),
                *(
                    step
                    for name in ("edit", "wide", "two", "write", "remove")
                    for step in (
                        Step(name, "waiting", text=f"do:{name}", until="make the following edits", steady=1.0),
                        Step("denied", "idle", keys=("Escape",), until="interrupted", steady=1.0),
                    )
                ),
            ),
            ("--no-daemon",),
        ),
        _codex_mode("works", "-s", "workspace-write", "-a", "on-request"),
        _codex_mode("reads", "-s", "read-only", "-a", "never"),
        _codex_mode("full", "--dangerously-bypass-approvals-and-sandbox"),
        Scene(
            "plan",
            (
                Step("ready", "idle", until=r"Ask Codex to do anything\s+gpt-5", steady=1.5),
                Step("idle", "idle", keys=("BTab",), until=r"Plan mode", steady=1.0),
                Step("one-question", "waiting", text="do:ask", until="Question 1/1", steady=1.0),
                Step("interrupted", "idle", keys=("Escape", "Escape"), until="interrupted", steady=1.0),
                Step("plan", "waiting", text="do:propose", until=r"Implement this plan\?", steady=1.0),
                Step("denied", "idle", keys=("Escape",), until=r"Ask Codex to do anything", steady=1.0),
            ),
            ("--no-daemon",),
        ),
    ),
    "qwen": (
        Scene("first", (Step("provider", "waiting", until="Connect a Provider"),), bare=True),
        Scene(
            "ask",
            (
                _QWEN,
                *_QWEN_BUSY,
                Step("command", "waiting", keys=("C-u",), text="do:touch", until="Yes, allow once|allow once"),
                Step("denied", "idle", keys=("Escape",), until="Type your message", steady=1.0),
                Step("small-edit", "waiting", text="do:small", until="allow once"),
                Step("denied", "idle", keys=("Escape",), until="Type your message", steady=1.0),
                Step("edit", "waiting", text="do:edit", until="allow once"),
                Step("denied", "idle", keys=("Escape",), until="Type your message", steady=1.0),
                Step("one-question", "waiting", text="do:ask", until="Which colour", steady=1.0),
                Step("denied", "idle", keys=("Escape",), until="Type your message", steady=1.0),
                Step("two-questions", "waiting", text="do:both", until="Which colour", steady=1.0),
                Step("second-question", "waiting", keys=("1",), until="Which toppings", steady=1.0),
            ),
            set_up=_qwen_mode("default"),
        ),
        Scene(
            "wide",
            (_QWEN, Step("edit", "waiting", keys=("C-u",), text="do:wide", until="allow once", steady=1.0)),
            set_up=_qwen_mode("default"),
        ),
        Scene(
            "plan",
            (
                _QWEN,
                *_QWEN_BUSY,
                Step("plan", "waiting", keys=("C-u",), text="do:plan", until="proceed|allow once|Yes", steady=1.0),
            ),
            set_up=_qwen_mode("plan"),
        ),
        Scene(
            "edits",
            (
                _QWEN,
                *_QWEN_BUSY,
                Step(
                    "edited",
                    "idle",
                    keys=("C-u",),
                    text="do:small",
                    until=r"has run\.[\s\S]*Type your message",
                    steady=1.0,
                ),
                Step("command", "waiting", text="do:touch", until="allow once"),
            ),
            set_up=_qwen_mode("auto-edit"),
        ),
        Scene(
            "yolo",
            (
                _QWEN,
                *_QWEN_BUSY,
                Step("tool", "thinking", keys=("C-u",), text="do:sleep", until="esc to cancel", steady=0, after=0.5),
                Step("ran", "idle", until=r"has run\.[\s\S]*Type your message", steady=1.0),
                Step("one-question", "waiting", text="do:ask", until="Which colour", steady=1.0, optional=True),
            ),
            set_up=_qwen_mode("yolo"),
        ),
        Scene(
            "auto",
            (
                _QWEN,
                *_QWEN_BUSY,
                Step("command", "waiting", keys=("C-u",), text="do:touch", until="allow once|proceed", optional=True),
            ),
        ),
    ),
    "gemini": (
        Scene("first", (Step("trust", "waiting", until="Do you trust", steady=1.0),), bare=True),
        Scene(
            "ask",
            (
                Step("idle", "idle", until="Type your message", steady=1.5),
                Step("one-question", "waiting", text="do:ask", until="Enter a custom value", steady=1.0),
                Step("denied", "idle", keys=("Escape",), until="Type your message", steady=1.5),
                Step("new-file", "waiting", text="do:small", until="Apply this change", steady=1.0),
            ),
        ),
        Scene(
            "changes",
            (
                Step("idle", "idle", until="Type your message", steady=1.5),
                Step("small-edit", "waiting", text="do:change", until="Apply this change", steady=1.0),
                Step("denied", "idle", keys=("Escape",), until="Type your message", steady=1.5),
                Step("edit", "waiting", text="do:edit", until="Apply this change", steady=1.0),
            ),
        ),
        Scene(
            "wide",
            (
                Step("idle", "idle", until="Type your message", steady=1.5),
                Step("edit", "waiting", text="do:wide", until="Apply this change", steady=1.0),
            ),
        ),
        Scene(
            "edits",
            (
                Step("idle", "idle", until="Type your message", steady=1.5),
                *_GEMINI_BUSY,
                Step("edited", "idle", text="do:small", until=r"has run\.[\s\S]*Type your message", steady=1.0),
                Step("command", "waiting", text="do:touch", until="Allow once"),
            ),
            ("--approval-mode", "auto_edit"),
        ),
        Scene(
            "plan",
            (Step("idle", "idle", until="Type your message", steady=1.5), *_GEMINI_BUSY),
            ("--approval-mode", "plan"),
        ),
        Scene(
            "yolo",
            (
                Step("idle", "idle", until="Type your message", steady=1.5),
                *_GEMINI_BUSY,
                Step("tool", "thinking", text="do:sleep", until="esc to cancel", steady=0, after=0.5),
                Step("ran", "idle", until=r"has run\.[\s\S]*Type your message", steady=1.0),
            ),
            ("--approval-mode", "yolo"),
        ),
    ),
    "opencode": (
        Scene(
            "day",
            (
                Step("idle", "idle", until="Ask anything", steady=1.0),
                *_OPENCODE_BUSY,
                Step("command", "waiting", text="do:touch", until="Permission required"),
                Step("always", "waiting", keys=("Right", "Enter"), until="Always allow", steady=1.0),
                Step("back", "waiting", keys=("Escape",), until="Permission required", steady=1.0),
                Step("denied", "idle", keys=("Right", "Right", "Enter"), until=r"ctrl\+p", steady=1.0),
                Step("sleep", "waiting", text="do:sleep", until="Permission required"),
                Step("tool", "tool", keys=("Enter",), until="esc interrupt", steady=0),
                Step("ran", "idle", until=r"slept[\s\S]*has run\.[\s\S]*ctrl\+p"),
            ),
        ),
        Scene("plan", (Step("idle", "idle", until="Ask anything", steady=1.0), *_OPENCODE_BUSY), ("--agent", "plan")),
        Scene(
            "wide",
            (
                Step("idle", "idle", until="Ask anything", steady=1.0),
                Step("edit", "waiting", text="do:wide", until="Permission required", steady=1.0),
            ),
        ),
        Scene(
            "asks",
            (
                Step("idle", "idle", until="Ask anything", steady=1.0),
                Step("one-question", "waiting", text="do:ask", until="esc dismiss", steady=1.0),
                Step("dismissed", "idle", keys=("Escape",), until=r"ctrl\+p", steady=1.0),
                Step("small-edit", "waiting", text="do:small", until="Permission required", steady=1.0),
                Step("denied", "idle", keys=("Right", "Right", "Enter"), until=r"ctrl\+p", steady=1.0),
                Step(
                    "subagent",
                    "thinking",
                    text="do:agent",
                    until=r"Look around[\s\S]*esc interrupt",
                    steady=0,
                    after=1.5,
                ),
            ),
        ),
    ),
    "vibe": (
        Scene("first", (Step("welcome", "waiting", until="Enter continue"),), bare=True),
        *(
            Scene(
                scene,
                (_VIBE, Step(name, "waiting", text=text, until="Esc reject", steady=0)),
                ("--agent", "ask"),
            )
            for scene, name, text in (
                ("change", "small-edit", "do:small"),
                ("changes", "edit", "do:edit"),
                ("wide", "edit", "do:wide"),
            )
        ),
        *(
            Scene(
                name,
                (
                    _VIBE,
                    *_VIBE_BUSY,
                    Step("command", "waiting", text="do:touch", until="Esc reject", steady=0, optional=name != "ask"),
                ),
                arguments,
            )
            for name, arguments in (
                ("ask", ("--agent", "ask")),
                ("edits", ("--agent", "accept-edits")),
                ("auto", ("--agent", "auto-approve")),
            )
        ),
    ),
    "aider": (
        Scene(
            "day",
            (
                Step("idle", "idle", until=r"\n> *\s*\Z", steady=1.0),
                Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
                Step("question", "waiting", keys=("C-u",), text="/add nofile.py", until=r"\[Yes\]:\s*\Z"),
                Step("refused", "idle", keys=("n", "Enter"), until=r"\n> *\s*\Z"),
            ),
        ),
    ),
    "pi": (
        Scene(
            "day",
            (
                Step("idle", "idle", until=r"v\d+\.\d+[\s\S]*\n─{10}", steady=1.5),
                Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
                Step(
                    "long-draft",
                    "idle",
                    keys=("C-u",),
                    text="a thought\n\n  in three lines",
                    enter=False,
                    until="three lines",
                    draft=True,
                ),
                Step("answered", "idle", keys=("C-c",), text="Good day", until=r"I am here\."),
                Step("busy", "thinking", text="do:long", until=r"\n── . Working", steady=0, after=0.5),
                Step("interrupted", "idle", keys=("Escape",), until="Operation aborted"),
                Step("tool", "tool", text="do:sleep", until=r"Elapsed[\s\S]*\n── . Working", steady=0, after=0.5),
                Step("ran", "idle", until=r"slept[\s\S]*has run\.[\s\S]*\n─{20}"),
                Step("error", "idle", text="do:fail", until=r"in the\s+mood[\s\S]*\n─{20}", steady=1.5),
                Step("model", "waiting", text="/model", until="to cancel", dialog=True),
                Step("settings", "waiting", keys=("Escape",), text="/settings", until="to cancel", dialog=True),
                Step("resume", "waiting", keys=("Escape",), text="/resume", until="Resume Session", dialog=True),
                Step("tree", "waiting", keys=("Escape",), text="/tree", until="Type to search", dialog=True),
                Step("login", "waiting", keys=("Escape",), text="/login", until=r"navigate .*cancel", dialog=True),
                Step("shell", "waiting", keys=("Escape", "!"), until=r"\n! *\n", dialog=True, draft=True),
            ),
        ),
    ),
    "kilo": (
        Scene(
            "day",
            (
                Step("idle", "idle", until="Ask anything", steady=1.5),
                Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
                Step("answered", "idle", keys=("C-u",), text="Good day", until=r"I am here\."),
                Step("busy", "thinking", text="do:long", until="This sentence[\\s\\S]*esc interrupt", steady=0),
                Step("interrupted", "idle", keys=("Escape", "Escape"), until="interrupted"),
                Step("command", "waiting", text="do:touch", until="Permission required"),
                Step("approved", "idle", keys=("Enter",), until=r"has run\.[\s\S]*ctrl\+p"),
                Step("sleep", "waiting", text="do:sleep", until="Permission required"),
                Step("tool", "tool", keys=("Enter",), until=r"esc interrupt", steady=0),
                Step("ran", "idle", until=r"slept[\s\S]*has run\.[\s\S]*ctrl\+p"),
                Step("denial", "waiting", text="do:touch", until="Permission required", steady=1.0),
                Step("words", "waiting", keys=("Right", "Right", "Enter"), until="Reject permission"),
                Step("denied", "idle", keys=("Enter",), until=r"ctrl\+p", steady=1.0),
                Step("error", "idle", text="do:fail", until="in the mood"),
                Step("models", "waiting", text="/models", until=r"Select model +esc", dialog=True),
                Step("palette", "waiting", keys=("Escape", "C-p"), until=r"Commands +esc", dialog=True),
            ),
        ),
    ),
    "cline": (
        Scene(
            "change",
            (
                Step("offer", "waiting", until="any other key to close", dialog=True, optional=True),
                Step("idle", "idle", keys=("x", "C-u"), until="Ctrl.P for menu", steady=1.0),
                Step("small-edit", "waiting", text="do:small", until=r"\[y\] Approve", steady=1.0),
            ),
        ),
        Scene(
            "day",
            (
                Step("offer", "waiting", until="any other key to close", dialog=True, optional=True),
                Step("idle", "idle", keys=("x", "C-u"), until="Ctrl.P for menu", steady=1.0),
                Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
                Step("answered", "idle", keys=("C-u",), text="Good day", until=r"\* Hello\. I am here\."),
                Step("busy", "thinking", text="do:long", until=r"\n . This sentence", steady=0, after=0.5),
                Step("interrupted", "idle", keys=("Escape",), until="This sentence", steady=2.0),
                Step("command", "waiting", text="do:touch", until=r"\[y\] Approve", steady=0, after=0.5),
                Step("denied", "idle", keys=("n",), until=r"rejected[\s\S]*\* Done"),
                Step("sleep", "waiting", text="do:sleep", until=r"\[y\] Approve", steady=0, after=0.5),
                Step("tool", "tool", keys=("y",), until=r"\n [^ *x] run_commands", steady=0, after=0.5),
                Step("ran", "idle", until=r"slept\s*\n[\s\S]*\* Done"),
                Step("settings", "waiting", text="/settings", until="Esc close", dialog=True),
                Step("history", "waiting", keys=("Escape",), text="/history", until="Esc to close", dialog=True),
            ),
        ),
    ),
    "copilot": (
        Scene("trust", (Step("trust", "waiting", until="trust the files"),), set_up=_copilot_untrusted),
        Scene(
            "wide",
            (
                Step("idle", "idle", until=r"/ commands", steady=1.5),
                Step("edit", "waiting", text="do:wide", until="Do you want to edit", steady=1.0),
            ),
        ),
        Scene(
            "day",
            (
                Step("idle", "idle", until=r"/ commands", steady=1.5),
                Step("draft", "idle", text="half a thought", enter=False, until="half a thought", draft=True),
                Step("answered", "idle", keys=("C-u",), text="Good day", until=r"I am here\.[\s\S]*/ commands"),
                Step("busy", "thinking", text="do:long", until=r"This sentence[\s\S]*Working", steady=0),
                Step("interrupted", "idle", keys=("Escape", "Escape"), until=r"cancelled by user[\s\S]*/ commands"),
                Step("command", "waiting", text="do:touch", until="Do you want to run"),
                Step("denied", "idle", keys=("Escape",), until=r"Operation cancelled by user\s[^╭]*/ commands"),
                Step("sleep", "waiting", text="do:sleep", until="Do you want to run"),
                Step("tool", "tool", keys=("Enter",), until=r"Working", steady=0, after=0.5),
                Step("ran", "idle", until=r"has run\.[\s\S]*/ commands"),
                Step("small-edit", "waiting", text="do:small", until="Do you want to"),
                Step("denied", "idle", keys=("Escape",), until=r"/ commands", steady=1.0),
                Step("error", "idle", text="do:fail", until=r"in the mood[\s\S]*/ commands"),
                Step("model", "waiting", text="/model", until="esc to cancel", dialog=True),
                Step("plan-mode", "idle", keys=("Escape", "BTab"), until="Plan · "),
                Step("autopilot", "idle", keys=("BTab",), until="Autopilot · "),
                Step("shell", "waiting", keys=("BTab", "!"), until="exit shell mode", dialog=True),
            ),
        ),
    ),
}

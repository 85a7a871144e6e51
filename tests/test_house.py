"""The rules of the house, kept by tests: layers, what is loaded when, owners, the pinned wire, documentation."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gshtui.bus.wire import EVENT_TYPES
from gshtui.commands.declaration import typed_fields
from gshtui.providers.wire.cloud_access import CLOUDS
from gshtui.settings.known_providers import KNOWN_PROVIDERS
from gshtui.settings.model import Settings
from tests.kit import private_textual, source, wire_schema
from tests.kit.running_hub import running_hub

SDKS = {"anthropic", "openai", "google.genai", "httpx2", "mcp", "mcp_types", "uvicorn", "starlette"}


def test_the_hub_loads_no_face_and_no_sdk() -> None:
    loaded = source.loaded_by("import gshtui.hub.composition")
    assert (
        source.within(loaded, {"textual", "rich", "click", "gshtui.ui", "gshtui.headless", "gshtui.cli", *SDKS}) == []
    )


def test_the_command_loads_next_to_nothing_before_the_first_frame() -> None:
    """What is on the way to the painted frame; each of these costs more than painting it."""
    loaded = source.loaded_by("import gshtui.cli.entry, gshtui.cli.window, gshtui.ui.window.first_frame")
    heavy = {"textual", "rich", "pydantic", "msgspec", "click", "asyncio", "typing", "pathlib", "dataclasses", "json"}
    assert source.within(loaded, heavy | {"inspect", "logging", "tomllib", "subprocess", "gshtui.bus", *SDKS}) == []


FIRST_SCREEN = """
import asyncio, pathlib
from gshtui.ui.window.app import Workbench
from gshtui.client.window_protocol import OpenRequest

async def never(opening):
    await asyncio.Event().wait()

async def main():
    app = Workbench(OpenRequest(cwd=pathlib.Path.cwd()), make_hub=never)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()

asyncio.run(main())
"""


def test_the_first_screen_needs_no_hub_no_store_and_no_sdk() -> None:
    """Everything that the window draws before its hub is there."""
    loaded = source.loaded_by(FIRST_SCREEN)
    late = {"pydantic", "pydantic_settings", "aiosqlite", "sqlite3", "libtmux", "watchfiles", "psutil", "click"}
    rooms = {"gshtui.hub", "gshtui.fleet", "gshtui.agents", "gshtui.tools", "gshtui.programs", "gshtui.store"}
    rooms |= {"gshtui.providers", "gshtui.headless"}
    assert source.within(loaded, late | rooms | SDKS) == []


def test_every_module_says_what_it_owns() -> None:
    silent = [
        source.name(path)
        for path in source.files()
        if path.name != "__init__.py" and not ast.get_docstring(source.tree(path))
    ]
    assert silent == [], "no module docstring"


def test_nothing_below_a_face_imports_textual() -> None:
    for path in source.files():
        room = path.relative_to(source.PACKAGE).parts[0]
        drawn = {"textual"} if path.name == "terminal_markdown.py" else {"textual", "rich"}
        if room != "ui" and path.parent.name != "window":  # a face lays text out, too
            found = [module for module in source.imported(path) if module.partition(".")[0] in drawn]
            assert found == [], source.name(path)


PRIVATE = source.PACKAGE / "ui" / "kit" / "textual"


def test_textual_keeps_its_private_parts_to_one_folder() -> None:
    """So that a new Textual is read against one folder, whose tests say by name what has changed."""
    found = {path: list(private_textual.private_uses(path)) for path in source.files(source.PACKAGE / "ui")}
    assert [touch for path, touches in found.items() if PRIVATE not in path.parents for touch in touches] == []
    assert sum(len(touches) for path, touches in found.items() if PRIVATE in path.parents) > 30, "nothing is found"


def test_imports_are_absolute_and_packages_export_nothing() -> None:
    for path in source.files():
        for node in source.nodes(path, ast.ImportFrom):
            assert not node.level, f"{source.name(path)}: a relative import"
        if path.name == "__init__.py" and path.parent != source.PACKAGE:
            body = [node for node in source.tree(path).body if not isinstance(node, ast.Expr)]
            assert body == [], f"{source.name(path)} should hold a docstring at most"


def runs_of(program: str) -> Iterator[str]:
    """Places where a program is started by name: in the arguments of any call, or first in a list."""
    for path in source.files():
        if path.is_relative_to(source.PACKAGE / program):
            continue
        calls = [
            (node, node.args)
            for node in source.nodes(path, ast.Call)
            if re.search(r"subprocess|Popen|spawn|exec", ast.unparse(node.func))
        ]
        lists = [(node, node.elts) for kind in (ast.List, ast.Tuple) for node in source.nodes(path, kind)]
        for node, parts in (*calls, *lists):
            constants = [part.value for part in parts if isinstance(part, ast.Constant)]
            if constants[:1] == [program] and constants[1:2] != ["-V"] and len(parts) > 1 and starts(node, path):
                yield f"{source.name(path)}:{node.lineno}"


def starts(node: ast.AST, path: Path) -> bool:
    """A call starts something; a list does when the file has to do with processes at all."""
    return isinstance(node, ast.Call) or bool({"subprocess", "asyncio.subprocess", "pty"} & set(source.imported(path)))


TYPING = {"send_text", "send_keys", "press_where_shown", "type_bytes"}
WRITERS = {"programs/pane/pane_writer.py", "programs/pane/choice_presser.py", "ui/terminal/terminals.py"}
WRITERS |= {"headless/program/program_check.py"}
"""What may type into panes: the one guarded way, its part for answers, a person's own keyboard in a tab, and the check
of a program in a throw-away home, which does what that person would."""


def test_panes_are_typed_into_in_one_guarded_way_only() -> None:
    found: list[str] = []
    for path in source.files():
        place = path.relative_to(source.PACKAGE)
        if place.parts[0] == "tmux" or place.as_posix() in WRITERS:
            continue
        named = [(node.attr, node.lineno) for node in source.nodes(path, ast.Attribute)]
        named += [(node.value, node.lineno) for node in source.nodes(path, ast.Constant) if isinstance(node.value, str)]
        typing = TYPING | {"send-keys", "paste-buffer"}
        found += [f"{source.name(path)}:{line}: {name}" for name, line in named if name in typing]
    assert found == [], "text and keys go into a pane through `PaneWriter`, which looks first"


MADE_BY = {"CleanText": "gshtui.text.sanitise", "ShownBytes": "gshtui.headless.streams"}
"""Types that stand for having been sanitised, and the module that alone makes them."""


def test_what_is_sanitised_is_made_by_the_sanitiser_alone() -> None:
    """No call and no cast makes such a text elsewhere: then pyright proves it of every door that takes one."""
    found: list[str] = []
    for path in source.files():
        for node in source.nodes(path, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name == "cast" and node.args:
                name = ast.unparse(node.args[0]).strip("'\"").rpartition(".")[2]
            if name in MADE_BY and source.module(path) != MADE_BY[name]:
                found.append(f"{path}:{node.lineno} makes {name}")
    assert found == []
    taken = {
        f"{source.module(path).removeprefix('gshtui.')}.{node.name}": ast.unparse(node.args)
        for path in source.files()
        for node in source.nodes(path, ast.FunctionDef)
    }
    assert {door: taken.get(door) for door in TERMINAL_DOORS} == TERMINAL_DOORS


TERMINAL_DOORS = {
    "headless.streams.write_all": "number: int, data: ShownBytes",
    "headless.agents.agent_pane.pane_screen._write": "self, text: CleanText",
    "features.ssh.person_terminal.show": "self, *parts: LiteralString | CleanText | int",
    "ui.kit.textual.driver.write_sequence": "app: App[Any], sequence: CleanText",
}
"""What writes to a terminal, and that it takes nothing but what is sanitised."""
TERMINAL_WRITERS = {
    "gshtui/cli/entry.py": "literals, the system's words, and a folder's name as one sanitised line",
    "gshtui/cli/shell_init.py": "the text of our own plugin, for `eval`",
    "gshtui/cli/window.py": "a literal",
    "gshtui/guard/sandbox/escapes.py": "JSON, for the self-test that started it",
    "gshtui/guard/sandbox/network_start.py": "the system's words, below a command whose output is sanitised",
    "gshtui/headless/agents/agent_terminal.py": "what the hub has had a pane draw",
    "gshtui/headless/streams.py": "a door",
    "gshtui/headless/servers/tool_process.py": "the wire, for the process elsewhere that started it and sanitises it",
    "gshtui/programs/report_hook.py": "JSON, for the program that started it",
    "gshtui/python/worker/namespace.py": "the block's output, which the hub sanitises",
    "gshtui/features/ssh/person_terminal.py": "a door, and what the person's own program prints",
    "gshtui/features/ssh/ssh_server.py": "a literal",
    "gshtui/ui/window/window_run.py": "what the window leaves, which is sanitised",
}
"""Who writes to a standard stream or to a channel, and what that is."""


def test_no_other_module_writes_to_a_terminal() -> None:
    found: set[str] = set()
    for path in source.files():
        for node in source.nodes(path, ast.Call):
            called = ast.unparse(node.func)
            standard = called == "os.write" and node.args and ast.unparse(node.args[0]) in ("1", "2")
            if called == "print" or standard or re.search(r"std(out|err)(\.buffer)?\.write(lines)?$", called):
                found.add(source.name(path))
    assert found | {"gshtui/headless/streams.py"} == set(TERMINAL_WRITERS)


ENVIRONMENT_READERS = frozenset(
    (
        *("settings/loader.py", "settings/paths.py", "guard/secrets/report_redaction.py"),
        *("fleet/keeper/keeper_commands.py", "shell/file_watch.py"),
        *("tmux/control_client.py", "tmux/tmux_program.py", "media/attachment.py", "programs/report_hook.py"),
        *("hub/faces/face_host.py", "system/caller_environment.py", "system/processes/process_limits.py"),
    )
)
"""Who reads this process's variables and working folder below the faces, because they are about the process itself."""


def test_a_folders_environment_is_handed_in() -> None:
    """A hub works for several folders, opened by faces with variables of their own: `caller_environ` has them."""
    names = {"os.environ", "os.getenv", "os.getcwd", "os.umask", "Path.cwd"}
    found = {
        source.name(path).removeprefix("gshtui/")
        for path in source.files()
        for node in source.nodes(path, ast.Attribute)
        if ast.unparse(node) in names
    }
    faces = re.compile(r"(cli|client|headless|ui)/|features/\w+/(command_line|\w+_process)\.py")
    below = {name for name in found if not faces.match(name)}
    assert below == ENVIRONMENT_READERS


def test_tmux_is_started_in_its_own_room_only() -> None:
    assert list(runs_of("tmux")) == []


def test_a_provider_is_a_row_of_one_table() -> None:
    """One without an adapter is named nowhere else: another list lacks the next one, and fails when it is used."""
    rows = {name for name, known in KNOWN_PROVIDERS.items() if known.chat} - {*CLOUDS}
    found = {
        source.name(path) for path in source.files() for node in source.nodes(path, ast.Constant) if node.value in rows
    }
    assert found == {"gshtui/settings/known_providers.py"}


def test_children_are_started_in_one_way_that_can_be_cancelled() -> None:
    """Cancelled, asyncio's own start waits for whoever holds a pipe of the child, and that may be for ever."""
    found = {
        (source.name(path), node.attr)
        for path in source.files()
        for node in source.nodes(path, ast.Attribute)
        if node.attr in ("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell")
    }
    assert found == {
        ("gshtui/system/processes/processes.py", "create_subprocess_exec"),
        ("gshtui/tmux/client_process.py", "subprocess_exec"),
    }, "start it by `processes.start_child`"


def test_python_imports_nothing_from_the_folder_that_it_is_started_in() -> None:
    """It may be an agent's, and would run with the person's rights: each has `-P` or, of any version, `-I`."""
    safe, bare = ("'-P'", "'-I'"), re.compile(r"\$\w+\"? -[mc] ")
    found: list[str] = []
    own: set[str] = set()
    for path in source.files():
        lists = [node.elts for kind in (ast.List, ast.Tuple) for node in source.nodes(path, kind)]
        for parts in [*lists, *(node.args for node in source.nodes(path, ast.Call))]:
            plain = (ast.Attribute, ast.Constant, ast.Name, ast.Starred)
            words = [ast.unparse(part) for part in parts if isinstance(part, plain)]
            for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
                runs = after and re.search(r"(?:^|\.)(?:executable|PYTHON)$", word) and after not in safe
                loads = word == "'-m'" and re.match(r"'(?:gshtui|pip|venv)\b", after) and before not in safe
                if runs or loads:
                    found.append(f"{source.name(path)}:{parts[0].lineno}")
                if (word, after) == ("'-m'", "'gshtui'"):
                    own.add(source.name(path))
        for node in source.nodes(path, ast.Constant):
            if isinstance(node.value, str) and bare.search(node.value):
                found.append(f"{source.name(path)}:{node.lineno}")
    assert not found
    assert own == {"gshtui/system/installation.py"}, "its command line is `installation.own_command`"


def test_who_starts_a_child_closes_its_pipes_however_it_ended() -> None:
    """A pipe that was not read to its end, or that another process holds, outlives the child: its `returncode` does not
    matter. These hand the child over to an object that is closed, or give it no pipe.
    """
    kept = {
        "acp_connection",
        "host_link",
        "interpreter",
        "pty_process",
        "remote_tools",
        "shell_process",
        "stdio_server",
    }
    no_pipe = {"terminal_handoff", "own_status", "hub_reach"}
    found = {
        path.stem
        for path in source.files()
        for node in source.nodes(path, ast.AsyncFunctionDef)
        if calls(node, "start_child") and not any(calls(last, "kill_child") for last in last_steps(node))
    }
    assert found == kept | {"stdio_server"} | no_pipe


def last_steps(node: ast.AST) -> list[ast.stmt]:
    """What its `finally` blocks do in any case."""
    blocks = [block.finalbody for block in ast.walk(node) if isinstance(block, ast.Try)]
    return [step for block in blocks for step in block if not isinstance(step, ast.If)]


def calls(node: ast.AST, name: str) -> bool:
    named = (call.func for call in ast.walk(node) if isinstance(call, ast.Call))
    return any(name == (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")) for func in named)


def test_the_wire_is_the_agreed_one() -> None:
    """A change is made on purpose: `python -m tests.kit.wire_schema` writes the file and says what it breaks."""
    broken = wire_schema.breaks(wire_schema.golden(), wire_schema.schema())
    assert broken == [], "give the wire another VERSION, or take it back"
    assert wire_schema.schema() == wire_schema.golden(), "new events or fields: run python -m tests.kit.wire_schema"


def test_every_family_of_events_is_on_the_wire() -> None:
    for path in source.files(source.PACKAGE / "bus" / "events"):
        for node in source.tree(path).body:
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Event" for base in node.bases):
                assert node.name in EVENT_TYPES, f"{source.name(path)}: {node.name} is not in EVENT_TYPES"


def test_every_event_says_what_it_means() -> None:
    for name, kind in EVENT_TYPES.items():
        assert (kind.__doc__ or "").strip().endswith("."), name
        intent = (kind.__doc__ or "").startswith("Intent")
        named_so = name.endswith(("Requested", "Submitted", "Answered"))
        assert intent == named_so or name in {"ApprovalRequested", "MessageSubmitted"}, name


def fields_of(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every field of a settings model and of the tables inside."""
    for name, field in model.model_fields.items():
        yield prefix + name, field
        for kind in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from fields_of(kind, f"{prefix}{name}.")


def test_every_setting_says_what_it_does() -> None:
    silent = [
        f"{name}: {field.description!r}"
        for name, field in fields_of(Settings)
        if not (field.description or "").strip().endswith(".")
    ]
    assert silent == [], "no sentence"


async def test_every_command_and_parameter_says_what_it_does(tmp_path: Path) -> None:

    async with running_hub(tmp_path) as hub:
        assert len(list(hub.registry)) > 15
        for command in (one for whole in hub.registry for one in (whole, *whole.words.values())):
            assert command.summary, command.name
            assert "\n" not in command.summary, f"{command.name}: the summary is one line"
            for name, field in typed_fields(command.parameters).items():
                assert field.description, f"{command.name}: {name} has no description"


TIMED = re.compile(
    r"\btime\.sleep\(|\basyncio\.sleep\((?!0\))|\.pause\(\s*[0-9.]|mark\.(skip|xfail|flaky)|pytest\.skip\("
)
SPENT = re.compile(r"\b(perf_counter|process_time|thread_time)\(|\bassert\b.*\bmonotonic\(\) *-")
"""A time that is measured. Work is counted (`tests/kit/steps.py`), and a hang ends at the test's own limit."""
UNFINISHED = re.compile(r"#.*\b(TODO|FIXME|XXX|HACK)\b")


PAUSES = {
    ("tests/kit/tmux.py", "await asyncio.sleep(0 if looks < _AT_ONCE else pause)"),
    (
        "tests/programs/stage.py",
        "await asyncio.sleep(profiles.load().for_argv(self.program.argv).timing.enter)",
    ),
    ("tests/programs/stage.py", "await asyncio.sleep(SAMPLED)"),
}
"""The one loop that looks until something is so, the moment that a person takes to press enter, and the watch for what
is never to be seen, which nothing waits for.
"""


def test_tests_wait_for_events_never_for_a_time() -> None:
    found: list[str] = []
    for path in source.files(source.ROOT / "tests"):
        if "bench" in path.parts or path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            timed = TIMED.search(line) or (SPENT.search(line) and path.name != "attacks.py")
            if timed and (source.name(path), line.strip()) not in PAUSES:
                found.append(f"{source.name(path)}:{number}: {line.strip()}")
    assert found == []


def test_nothing_is_left_unfinished() -> None:
    found: list[str] = []
    for folder in ("gshtui", "tests"):
        for path in source.files(source.ROOT / folder):
            if path == Path(__file__).resolve():
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if UNFINISHED.search(line):
                    found.append(f"{source.name(path)}:{number}: {line.strip()}")
    assert found == []


def test_the_formatter_wins() -> None:
    found = [
        source.name(path)
        for folder in ("gshtui", "tests")
        for path in source.files(source.ROOT / folder)
        if re.search(r"# fmt: (?:off|skip)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert found == []


IN_COLUMNS = {"gshtui/cli/prompt.py", "gshtui/cli/shell.py", "gshtui/ui/prompt/prompt_queue.py"}
"""Files with text in columns."""
TWO_SPACES = re.compile(r"[\w,;:.)]  +[\w(`]")


def test_sentences_have_one_space_between_words() -> None:
    """A string that continues after a backslash keeps the indentation of its next line."""
    found = [
        f"{source.name(path)}:{node.lineno}: {node.value[:60]!r}"
        for path in source.files()
        if source.name(path) not in IN_COLUMNS
        for node in source.nodes(path, ast.Constant)
        if isinstance(node.value, str) and TWO_SPACES.search(node.value)
    ]
    assert found == []


LISTING = """
import os, sys
sys.argv = ["gsh-tui", "agent", "ls"]
from gshtui.cli.entry import main
assert main() == 0
"""


def test_a_list_of_agents_loads_no_agent() -> None:
    """Nor a model or a window, where the call is the hub itself."""
    loaded = source.loaded_by(LISTING)
    parts = {"gshtui.providers.selection", "gshtui.agents.loop", "gshtui.fleet.terminal_tools", "gshtui.ui"}
    assert source.within(loaded, parts | {"textual", "rich", "libtmux", "watchfiles", *SDKS}) == []


def test_the_pages_name_files_that_there_are() -> None:
    """A page about the code that names what is not there any more is worse than none."""
    rooms = "|".join(sorted(path.name for path in source.PACKAGE.iterdir() if (path / "__init__.py").exists()))
    named = re.compile(rf"`((?:gshtui|tests|styles|\.ci|{rooms})/[\w./-]*)`")
    missing: list[str] = []
    for page in sorted((source.ROOT / ".github").glob("*.md")):
        for name in named.findall(page.read_text(encoding="utf-8")):
            places = (source.ROOT / name, source.PACKAGE / name)
            if not any(place.exists() for place in places):
                missing.append(f"{page.name}: {name}")
    assert missing == []


def test_the_page_about_the_code_names_what_is_there() -> None:
    page = (source.ROOT / ".github" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    places = (*source.files(), *source.files(source.ROOT / "tests"))
    code = {word for path in places for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    names = re.findall(r"`([A-Za-z_]\w*(?:\.\w+)*)(?<!\.md)`", page)
    assert {word for name in names for word in name.split(".")} - code == set()
    rooms = {path.parent.name for path in source.PACKAGE.glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)) == rooms


def test_nothing_cites_a_page_that_is_not_here() -> None:
    cited = re.compile(r"\b(?:DESIGN|STYLE|SAFETY|THREATS|LIBRARIES|FOUND|HOUSE)(?:\.md| §)|\bseeds/")
    found = [
        f"{source.name(path)}:{number}"
        for path in source.files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if cited.search(line)
    ]
    assert found == []


SAME_NAMES = {"__init__", "brings", "command_line", "commands", "ports"}
"""The names that each room may have: its commands, what it needs of others, and what a feature brings."""
UNCLEAR = {
    *("take", "told", "tell", "say", "hear", "look", "work", "of", "mind", "minds", "wish", "letters", "saw", "poke"),
    *("rung", "ladder", "shelf", "seat", "studio", "ground", "living", "warmth"),
}
"""A name says what is done to what: `handle_event`, `publish_change`, `acquire`."""


def test_no_two_modules_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for path in source.files():
        places.setdefault(path.stem, []).append(source.name(path))
    assert {name: found for name, found in places.items() if len(found) > 1 and name not in SAME_NAMES} == {}


def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for path in source.files():
        for node in source.tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(source.name(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_public_names_say_what_is_done_to_what() -> None:
    found = [
        f"{source.name(path)}:{node.lineno}: {node.name}"
        for path in source.files()
        for owner in (source.tree(path), *(node for node in source.tree(path).body if isinstance(node, ast.ClassDef)))
        for node in owner.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name.lower() in UNCLEAR
    ]
    assert found == []


def test_every_module_has_tests() -> None:
    modules = [source.module(path) for path in source.files() if source.does_something(path)]
    tests = [path for path in source.files(source.ROOT / "tests") if path.name.startswith("test_")]
    tested = set[str]().union(*map(source.reached, tests))
    assert sorted(set(modules) - tested) == []
    assert source.tests_of("gshtui.guard.approval.gate")[0] == "tests/real/test_gate.py"


STARTS_TASKS = {
    "system/tasks.py": "the one way",
    "bus/subscription.py": "the bus serves its handlers, and reports what they raise",
    "agents/conversation.py": "a write to the record, which is awaited where it is started",
    "agents/side_question.py": "a question to a model, which is awaited where it is started",
    "ui/prompt/prompt_completion.py": "a group that is awaited where it is started",
    "agents/agent.py": "a turn, which is awaited where it is started",
    "fleet/acp/acp_agent.py": "a turn and its prompt, which are awaited where they are started",
    "agents/toolbox.py": "a group that is awaited where it is started",
    "programs/check/model_server.py": "a look whether its client has gone, which is awaited where it is started",
    "shell/hub_link.py": "a group that is awaited where it is started",
    "features/workflows/workflow_run.py": "the steps of a run, which are awaited where they are started",
    "features/workflows/workflow_service.py": "a run, which its caller awaits",
}


def test_background_tasks_are_started_in_one_way() -> None:
    """A task that nobody waits for dies without a word; `system/tasks.py` starts those that do not."""
    starting = {
        str(file.relative_to(source.PACKAGE))
        for file in source.files()
        for node in source.nodes(file, ast.Attribute)
        if node.attr == "create_task"
    }
    assert starting == STARTS_TASKS.keys()


def test_nobody_swallows_a_cancellation_that_may_be_its_own() -> None:
    """`suppress(CancelledError)` around an await loses the cancellation of whoever waits: see `cancel_and_wait`."""
    swallowed = [
        path.relative_to(source.PACKAGE).as_posix()
        for path in source.files()
        for node in source.nodes(path, ast.Call)
        if "suppress" in ast.unparse(node.func)
        and any("CancelledError" in ast.unparse(argument) for argument in node.args)
    ]
    assert swallowed == ["shell/hub_listener.py"], "which is cancelled by nobody but its own end"


DATACLASS = re.compile(r"compare=False|repr=False|init=False|cached_property")
"""What a struct cannot have."""


def test_records_are_structs() -> None:
    """A dataclass takes fifty times as long to make, at each start of each process."""
    for path in source.files():
        made = [node for node in source.nodes(path, ast.ClassDef) if "dataclass" in map(_called, node.decorator_list)]
        for node in made:
            assert DATACLASS.search(ast.unparse(node)), f"{source.name(path)}: {node.name} can be a msgspec.Struct"


def _called(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]


def test_every_type_that_is_decoded_is_learned() -> None:
    calls = [
        f"{source.name(file)}:{node.lineno}"
        for file in source.files()
        if file.name != "struct_types.py"
        for node in source.nodes(file, ast.Call)
        if _is_unlearned(node)
    ]
    assert calls == []


def _is_unlearned(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if name == "msgspec.json.Decoder":
        kind = call.args[0]
    elif name == "msgspec.convert":
        kind = call.args[1]
    elif name == "msgspec.json.decode":
        kind = next((word.value for word in call.keywords if word.arg == "type"), None)
    else:
        return False
    return kind is not None and not ast.unparse(kind).startswith(("learned(", "dict[str, Any]"))


def test_no_event_loop_searches_the_path() -> None:
    """On a busy machine that takes seconds, in which nothing else happens: it is done in a thread."""
    searches = ("shutil.which", "tmux_program.find", "find_bubblewrap")
    found = [
        f"{source.name(path)}:{call.lineno}"
        for path in source.files()
        for function in source.nodes(path, ast.AsyncFunctionDef)
        for call in own_calls(function)
        if ast.unparse(call.func) in searches
    ]
    assert found == []


def own_calls(function: ast.AsyncFunctionDef) -> Iterator[ast.Call]:
    """What it calls itself, not in a function inside it."""
    left: list[ast.AST] = [*function.body]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            yield node
        left.extend(ast.iter_child_nodes(node))

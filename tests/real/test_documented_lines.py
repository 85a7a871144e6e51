"""Every line that the README, the help and the messages show means what it says; those of prose take it raw."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gshtui.commands.language import parse, read_line
from gshtui.hub.hub import Hub
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.line_formatter import canonical, format_line
from tests.kit.running_hub import running_hub

LINES: dict[str, tuple[str, dict[str, object]]] = {
    "/agent answer fix": ("agent answer", {"agent": "fix"}),
    "/agent show fix": ("agent show", {"agent": "fix"}),
    "/approvals": ("approvals", {}),
    "/approvals keep 12": ("approvals keep", {"number": 12}),
    "/carry": ("carry", {}),
    "/carry by=file": ("carry", {"by": "file"}),
    "/clear_context": ("clear_context", {}),
    "/compact": ("compact", {}),
    "/context": ("context", {}),
    "/effort high": ("effort", {"level": "high"}),
    "/forget parser-choice": ("forget", {"key": "parser-choice"}),
    "/help": ("help", {}),
    "/program_hooks install claude": ("program_hooks", {"action": "install", "name": "claude"}),
    "/info": ("info", {}),
    "/init": ("init", {}),
    "/logs test": ("logs", {"query": "test"}),
    "/mail": ("mail", {}),
    "/memory": ("memory", {}),
    "/memory search audio": ("memory", {"form": "search", "query": "audio"}),
    "/memory show=NAME": ("memory", {"show": "NAME"}),
    "/mode ask": ("mode", {"mode": "ask"}),
    "/mode auto": ("mode", {"mode": "auto"}),
    "/mode edit fix": ("mode", {"mode": "edit", "agent": "fix"}),
    "/mode yolo": ("mode", {"mode": "yolo"}),
    "/model": ("model show", {}),
    "/model sonnet effort=high": ("model", {"name": "sonnet", "effort": "high"}),
    "/pin 12": ("pin", {"block": "12"}),
    "/pin FILE": ("pin", {"block": "FILE"}),
    "/profiles": ("profiles", {}),
    "/prune": ("prune", {}),
    "/python interrupt": ("python interrupt", {}),
    "/python restart": ("python restart", {}),
    "/python run": ("python run", {}),
    "/python show": ("python show", {}),
    "/remember parser-choice we use winnow": ("remember", {"key": "parser-choice", "value": "we use winnow"}),
    "/restore 12": ("restore", {"block": "12"}),
    "/restore FILE": ("restore", {"block": "FILE"}),
    "/resume": ("resume", {}),
    "/review": ("review", {}),
    "/review main": ("review", {"base": "main"}),
    "/search history docker": ("search_context", {"source": "shell_history", "query": "docker"}),
    "/session ls": ("session ls", {}),
    "/spawn": ("spawn", {}),
    "/timeline": ("timeline", {}),
    "/todo add fix the parser": ("todo", {"action": "add", "task": "fix the parser"}),
    "/tune threshold=0.7 protect=20000": ("tune", {"threshold": 0.7, "protect": 20000}),
    "/undo": ("undo", {}),
    "/undo ID": ("undo", {"cut": "ID"}),
    "/unpin 12": ("unpin", {"block": "12"}),
    "/usage": ("usage", {}),
    "/usage agent": ("usage", {"by": "agent"}),
    "/whatif haiku": ("whatif", {"model": "haiku"}),
    "/whatif without=FILE": ("whatif", {"without": "FILE"}),
    "?": ("help", {}),
    "agent rename 12 new name; x": ("agent rename", {"agent": "12", "name": "new name; x"}),
    "agent send 12 fix $HOME; don't | stop": ("agent send", {"agent": "12", "text": "fix $HOME; don't | stop"}),
    'agent send fred "two words"': ("agent send", {"agent": "fred", "text": "two words"}),
    'bash "echo $HOME"': ("bash", {"command": "echo $HOME"}),
    "bash 'ls -la' timeout_ms=5": ("bash", {"command": "ls -la", "timeout_ms": 5}),
    "bash (cd src; ls)": ("bash", {"command": "(cd src; ls)"}),
    'bash ls -la | grep "a b" > out; echo $HOME': ("bash", {"command": 'ls -la | grep "a b" > out; echo $HOME'}),
    "compact the login; and $x": ("compact", {"focus": "the login; and $x"}),
    "config set agent.model opus": ("config set", {"key": "agent.model", "value": "opus"}),
    'config set sandbox.hosts ["a.org", "b.org"]': (
        "config set",
        {"key": "sandbox.hosts", "value": '["a.org", "b.org"]'},
    ),
    "context main history": ("context", {"agent": "main", "section": "history"}),
    "edit a.py old 'new text; x'": ("edit", {"path": "a.py", "old_text": "old", "new_text": "new text; x"}),
    "glob **/*.rs src": ("glob", {"pattern": "**/*.rs", "path": "src"}),
    "glob *.py": ("glob", {"pattern": "*.py"}),
    'grep "def main"': ("grep", {"pattern": "def main"}),
    "grep 'a|b' src": ("grep", {"pattern": "a|b", "path": "src"}),
    "grep TODO": ("grep", {"pattern": "TODO"}),
    "guard check rm -rf / | cat": ("guard check", {"command": "rm -rf / | cat"}),
    "help agent": ("help", {"command": "agent"}),
    "info fred": ("info", {"agent": "fred"}),
    "logs it's broken": ("logs", {"query": "it's broken"}),
    "mail edit 12 new text; it's": ("mail", {"action": "edit", "message": "12", "text": "new text; it's"}),
    "model opus": ("model", {"name": "opus"}),
    'python run print("a | b")': ("python run", {"code": 'print("a | b")'}),
    "read a.txt 3": ("read", {"path": "a.txt", "start_line": 3}),
    "read path=README.md": ("read", {"path": "README.md"}),
    "say it's done; really": ("say", {"message": "it's done; really"}),
    "say to=parent text='two words'": ("say", {"to": "parent", "message": "two words"}),
    "search history docker": ("search_context", {"source": "shell_history", "query": "docker"}),
    "search sessions login bug": ("search_context", {"source": "sessions", "query": "login bug"}),
    'search_context sessions "retry policy"': ("search_context", {"source": "sessions", "query": "retry policy"}),
    "session rename 12 A title": ("session rename", {"session": "12", "title": "A title"}),
    "session rm a b c": ("session rm", {"sessions": ["a", "b", "c"]}),
    "session search what failed": ("session search", {"query": "what failed"}),
    "spawn fix the tests; they're | red name=fixer": ("spawn", {"prompt": "fix the tests; they're | red name=fixer"}),
    "spawn name=fixer fix the tests": ("spawn", {"prompt": "fix the tests", "name": "fixer"}),
    "spawn tools=[read,grep] look around": ("spawn", {"prompt": "look around", "tools": ["read", "grep"]}),
    "spawn tools=read,grep look around": ("spawn", {"prompt": "look around", "tools": ["read", "grep"]}),
    'talk bob "is it?" timeout_s=5': ("talk", {"to": "bob", "message": "is it?", "timeout_s": 5.0}),
    "talk bob what is $5 in euros; is it more | less?": (
        "talk",
        {"to": "bob", "message": "what is $5 in euros; is it more | less?"},
    ),
    "terminal make test; date": ("terminal", {"command": "make test; date"}),
    "tmux send gsh:1 echo $HOME | cat": ("tmux", {"action": "send", "pane": "gsh:1", "text": "echo $HOME | cat"}),
    "todo add Fix login; then | test": ("todo", {"action": "add", "task": "Fix login; then | test"}),
    "todo done 2": ("todo", {"action": "done", "task": "2"}),
    "undo": ("undo", {}),
    "write notes.md buy milk; then $5": ("write", {"path": "notes.md", "content": "buy milk; then $5"}),
}
"""A line → its command, and the parameters that it gives."""


@pytest.fixture
async def hub(tmp_path: Path, home: Home) -> AsyncIterator[Hub]:
    project = made_project(tmp_path / "project")
    async with running_hub(project) as hub:
        yield hub


async def test_lines_mean_what_they_did(hub: Hub) -> None:
    for line, (name, given) in LINES.items():
        parsed = parse(hub.registry, line)
        assert parsed.command.name == name, line
        assert parsed.parameters.model_dump(mode="json", exclude_unset=True) == given, line


async def test_their_canonical_forms_mean_the_same(hub: Hub) -> None:
    for line, (name, given) in LINES.items():
        script = canonical(hub.registry, read_line(hub.registry, line))
        written = format_line(script)
        assert read_line(hub.registry, written) == script, line
        parsed = parse(hub.registry, written)
        assert (parsed.command.name, parsed.parameters.model_dump(mode="json", exclude_unset=True)) == (name, given)

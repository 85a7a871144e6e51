"""The command language: one table of lines and what they bind to, and every way a line can be wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from gshtui.commands.completion import complete
from gshtui.commands.declaration import (
    Access,
    Caller,
    Command,
    CommandError,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    UsageError,
)
from gshtui.commands.evaluation import run_line
from gshtui.commands.execution import run_call
from gshtui.commands.help_command import commands as help_commands
from gshtui.commands.language import parse
from gshtui.commands.line_parser import parse_line
from gshtui.commands.line_syntax import TextNode, quote
from gshtui.commands.registry import Registry
from gshtui.commands.schema import lean_schema, tool_schema

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class ReadLike(Parameters):
    path: str
    start_line: int | None = None
    paths: list[str] = []
    deep: bool = False


class BashLike(Parameters):
    command: Annotated[str, Mark.VERBATIM]
    timeout_ms: int = 1000


class SizedLike(Parameters):
    name: str = Field(min_length=1, max_length=8)
    seconds: float = Field(default=1.0, ge=0, le=1e6)


class ActionLike(Parameters):
    action: Literal["list", "remove"] = "list"
    target: str = ""


async def _echo(_: Invocation, parameters: Parameters) -> Outcome:
    return Outcome(parameters.model_dump())


async def _broken(_: Invocation, __: Parameters) -> Outcome:
    raise RuntimeError("boom")


async def _targets(invocation: Invocation, parameter: str, _prefix: str) -> list[str]:
    """What fits depends on what the line has so far."""
    return [f"what to {invocation.given.get('action')}"] if parameter == "target" else []


@pytest.fixture
def registry() -> Registry:
    registry = Registry(
        [
            Command("read", "Read a file", ReadLike, _echo, positions=("path", "start_line"), tool=True),
            Command("bash", "Run", BashLike, _echo, positions=("command",), tool=True),
            Command(
                "item",
                "Act",
                ActionLike,
                _echo,
                positions=("action", "target"),
                access=Access.HUMAN_ONLY,
                complete=_targets,
            ),
            Command("boom", "Fail", Parameters, _broken),
        ]
    )
    for command in help_commands(registry):
        registry.register(command)
    return registry


@pytest.fixture
def here(tmp_path: Path) -> Invocation:
    return Invocation(Caller(), tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("read a.txt", {"path": "a.txt"}),
        ("/read a.txt 3", {"path": "a.txt", "start_line": 3}),
        ("read path='a b.txt' deep=yes", {"path": "a b.txt", "deep": True}),
        ('read "a\\"b" start_line=2', {"path": 'a"b', "start_line": 2}),
        ("read x paths=[a,b]", {"path": "x", "paths": ["a", "b"]}),
        ("bash ls -la | grep 'a b' > out", {"command": "ls -la | grep 'a b' > out"}),
        ("bash FOO=1 env", {"command": "FOO=1 env"}),
        ("bash echo it's fine", {"command": "echo it's fine"}),
        ("bash 'ls -la' timeout_ms=5", {"command": "ls -la", "timeout_ms": 5}),
        ("bash timeout_ms=5 ls -la", {"command": "ls -la", "timeout_ms": 5}),
        ("bash print('a'); b = 'c d'", {"command": "print('a'); b = 'c d'"}),
        ("item", {"action": "list"}),
        ("bash ls --timeout-ms", {"command": "ls --timeout-ms"}),
        ("bash '--timeout-ms'", {"command": "--timeout-ms"}),
        ("read --start-line 3 a.txt", {"path": "a.txt", "start_line": 3}),
        ("read a.txt --start_line=3 --deep", {"path": "a.txt", "start_line": 3, "deep": True}),
        ("read --path='a b.txt' --start-line=2", {"path": "a b.txt", "start_line": 2}),
        ("bash --timeout_ms=3 ls -la | wc", {"command": "ls -la | wc", "timeout_ms": 3}),
        ("bash --timeout-ms 3 ls --timeout-ms 4", {"command": "ls --timeout-ms 4", "timeout_ms": 3}),
        ("item --action remove the --target rest", {"action": "remove", "target": "the --target rest"}),
        ("item remove '--target'", {"action": "remove", "target": "--target"}),
        ("item remove the whole rest", {"action": "remove", "target": "the whole rest"}),
    ],
)
def test_lines_bind(registry: Registry, line: str, expected: dict[str, object]) -> None:
    assert parse(registry, line).parameters.model_dump(exclude_defaults=True) == {
        k: v for k, v in expected.items() if (k, v) != ("action", "list")
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("raed x", "Did you mean read"),
        ("remove x", "Did you mean `item remove`?"),
        ("read", "path is missing"),
        ("read a start_line=two", "start_line"),
        ("read a pth=b", "did you mean 'path'"),
        ("read a path=b path=c", "given twice"),
        ("read a 1 extra", "unexpected"),
        ("read 'a", "not closed"),
        ("item destroy", "action"),
        ("read a --start-line", "Use start_line=…"),
        ("read a --start-line three", "start_line"),
        ("read --path a path=b", "given twice"),
        ("bash --timeout-ms", "Use timeout_ms=…"),
    ],
)
def test_wrong_lines_say_what_is_wrong(registry: Registry, line: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(registry, line)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("wait ''", "name must be at least 1 character long, not ''."),
        ("wait somebody-else", "name must be at most 8 characters long, not 'somebody-else'."),
        ("wait bob seconds=-1", "seconds must be at least 0, not '-1'."),
        ("wait bob seconds=1e7", "seconds must be at most 1000000, not '1e7'."),
        ("wait bob seconds=soon", "seconds must be a number, not 'soon'."),
    ],
)
def test_a_wrong_value_is_told_what_it_has_to_be(line: str, said: str) -> None:
    registry = Registry([Command("wait", "Wait", SizedLike, _echo, positions=("name",))])
    with pytest.raises(UsageError) as caught:
        parse(registry, line)
    assert caught.value.message == f"wait: {said}"


@given(st.text().filter(lambda text: not CONTROL.search(text)))
def test_quote_makes_one_word_of_anything(text: str) -> None:
    stage = parse_line(f"read {quote(text)} b={quote(text)}").only_stage
    assert stage is not None
    assert [(one.name, one.value) for one in stage.arguments] == [("", TextNode(text)), ("b", TextNode(text))]


@given(st.text())
def test_any_text_is_bound_or_refused(text: str) -> None:
    registry = Registry([Command("read", "Read", ReadLike, _echo, positions=("path",))])
    try:
        parse(registry, "read " + text)
    except UsageError as error:
        assert str(error)


async def test_access_and_failures(registry: Registry, here: Invocation, tmp_path: Path) -> None:
    agent = Invocation(Caller("main", is_agent=True), tmp_path, tmp_path)
    with pytest.raises(UsageError, match="people only"):
        await run_line(registry, "item", agent)
    with pytest.raises(CommandError, match="RuntimeError: boom"):
        await run_line(registry, "boom", here)
    with pytest.raises(UsageError, match="start_line"):
        await run_call(registry.get("read"), {"path": "a", "start_line": {}}, here)
    assert (await run_call(registry.get("read"), {"path": "a"}, here)).data["path"] == "a"


async def test_completion(registry: Registry, here: Invocation) -> None:
    async def values(line: str) -> list[str]:
        return [c.value for c in await complete(registry, here, line, len(line))]

    assert await values("/re") == ["read"]
    assert await values("item ") == ["list", "remove", "action=", "target="]
    assert await values("item re") == ["remove"]
    assert await values("item remove ") == ["'what to remove'", "action=", "target="]
    assert await values("item action=list w") == ["'what to list'"]
    assert await values("read deep=") == ["deep=true", "deep=false"]
    assert await values("read 'unclosed st") == []
    assert await values("nothing ") == []
    assert await values("help it") == ["item"]
    for name in ("read_all", "re"):
        registry.register(Command(name, "Read more", ReadLike, _echo))
    assert await values("/re") == ["re", "read_all", "read"], "what is written whole comes first, a tool last"


def test_schema_has_no_titles_or_references(registry: Registry) -> None:
    schema = tool_schema(registry.get("read"))
    assert schema["required"] == ["path"]
    assert schema["additionalProperties"] is False
    assert "title" not in str(schema)
    assert "$ref" not in str(schema)


def test_what_models_are_told_leaves_out_what_says_nothing(registry: Registry) -> None:
    for command in registry:
        full, lean = tool_schema(command), lean_schema(command)
        assert "additionalProperties" not in lean
        assert lean.get("required") == full.get("required")
        for name, told in lean["properties"].items():
            whole = full["properties"][name]
            if not whole.get("plain"):
                assert told.get("description", "") == whole.get("description", "")
            assert told.get("default", whole.get("default")) == whole.get("default")
            assert told.get("enum", whole.get("enum")) == whole.get("enum")
        hidden = full["properties"].keys() - lean["properties"].keys()
        assert all(full["properties"][name]["for_people"] for name in hidden)


async def test_help_reads_the_declarations(registry: Registry, here: Invocation) -> None:
    overview = await run_line(registry, "help", here)
    listed = overview.data
    assert "  boom  " in overview.plain and "`" not in overview.plain, "a terminal shows no Markdown"
    assert [c["name"] for c in listed] == ["read", "bash", "item", "boom", "help"]
    assert "start_line" in (await run_line(registry, "help command=read", here)).text


def test_a_name_is_registered_once(registry: Registry) -> None:
    with pytest.raises(ValueError, match="two commands"):
        registry.register(Command("?", "again", Parameters, _echo))
    with pytest.raises(ValueError, match="not parameters"):
        registry.register(Command("new", "positions", Parameters, _echo, positions=("x",)))

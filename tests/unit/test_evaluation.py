"""Lines of several commands: what flows from one to the next, what stops them, and who may run what."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec.structs import replace

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
from gshtui.commands.execution import run_parsed
from gshtui.commands.language import read_line
from gshtui.commands.line_values import LineValue, Variables
from gshtui.commands.registry import AnyCommand, Registry
from tests.kit.line_formatter import canonical, format_line


class Listing(Parameters):
    path: str = "."


class Saying(Parameters):
    message: Annotated[str, Mark.PIPED] = ""


class Sending(Parameters):
    to: str
    text: Annotated[str, Mark.VERBATIM, Mark.PIPED] = ""


class Counting(Parameters):
    items: Annotated[list[str], Mark.PIPED] = []
    most: int = 0
    deep: bool = False


class Holding(Parameters):
    name: str
    value: Annotated[LineValue, Mark.PIPED] = LineValue("", "")


async def _listing(_: Invocation, given: Listing) -> Outcome:
    if given.path == "nowhere":
        raise CommandError("There is no folder 'nowhere'.")
    if given.path == "broken":
        return Outcome(None, "half of it", is_error=True)
    return Outcome({"path": given.path, "entries": [{"name": "a.txt"}, {"name": "b c.txt"}]}, "a.txt\nb c.txt")


async def _names(_: Invocation, __: Parameters) -> Outcome:
    return Outcome(["a,b", "c"], "two names")


async def _saying(_: Invocation, given: Saying) -> Outcome:
    return Outcome(given.message, given.message)


async def _sending(_: Invocation, given: Sending) -> Outcome:
    return Outcome(given.model_dump(), f"to {given.to}: {given.text}")


async def _counting(_: Invocation, given: Counting) -> Outcome:
    return Outcome(given.model_dump(), str(len(given.items)))


async def _holding(invocation: Invocation, given: Holding) -> Outcome:
    invocation.variables.set(given.name, given.value)
    return Outcome(given.value.data, given.value.text)


@pytest.fixture
def registry() -> Registry:
    return Registry(
        [
            Command("list", "List", Listing, _listing, positions=("path",), aliases=("ls",)),
            Command("names", "Names", Parameters, _names),
            Command("echo", "Say", Saying, _saying, positions=("message",)),
            Command("send", "Send", Sending, _sending, positions=("to", "text")),
            Command("count", "Count", Counting, _counting, positions=("items",)),
            Command("hold", "Hold", Holding, _holding, positions=("name", "value")),
            Command("quit", "Leave", Saying, _saying, positions=("message",), access=Access.HUMAN_ONLY),
        ]
    )


@pytest.fixture
def here(tmp_path: Path) -> Invocation:
    return Invocation(Caller(), tmp_path, tmp_path, variables=Variables())


@pytest.mark.parametrize(
    ("line", "data"),
    [
        ("list | send bob", {"to": "bob", "text": "a.txt\nb c.txt"}),
        ("list | send to=bob text='look at this'", {"to": "bob", "text": "look at this\n\na.txt\nb c.txt"}),
        ("list | send bob is $it; it | me", {"to": "bob", "text": "is $it; it | me\n\na.txt\nb c.txt"}),
        ("names | count", {"items": ["a,b", "c"], "most": 0, "deep": False}),
        ("count $(names)", {"items": ["a,b", "c"], "most": 0, "deep": False}),
        ("count items=[x, $(echo y z)]", {"items": ["x", "y z"], "most": 0, "deep": False}),
        ("count x,y most=2 deep=yes", {"items": ["x", "y"], "most": 2, "deep": True}),
        ("echo $(list)", "a.txt\nb c.txt"),
        ('echo "have: $(names)!"', "have: two names!"),
        ("echo it's  $(echo a) b=c", "it's  a b=c"),
        ("echo [a, b]", "[a, b]"),
        ("echo 'a  b' c", "a  b c"),
        ("send bob text=$(echo hi | send carl)", {"to": "bob", "text": "to carl: hi"}),
        ("echo one; echo two", ["one", "two"]),
        ("hold x $(names); echo ${x[0]}", [["a,b", "c"], "a,b"]),
        ("hold x $(names); count $x", [["a,b", "c"], {"items": ["a,b", "c"], "most": 0, "deep": False}]),
        ("hold x $(list); echo ${x.entries[-1].name}; echo ${last.text}", None),
        ("list | hold x; echo ${x.text}; echo $x", None),
        ("hold n 3; count most=$n items=[]", ["3", {"items": [], "most": 3, "deep": False}]),
        ("hold s 'a b'; count [$s]", ["a b", {"items": ["a b"], "most": 0, "deep": False}]),
    ],
)
async def test_lines(registry: Registry, here: Invocation, line: str, data: object) -> None:
    outcome = await run_line(registry, line, here)
    if data is None:
        assert outcome.data[1] == outcome.data[2]
        assert outcome.data[1].endswith("b c.txt")
    else:
        assert outcome.data == data


async def test_people_get_all_texts_in_order(registry: Registry, here: Invocation) -> None:
    assert (await run_line(registry, "echo a; names; echo c", here)).text == "a\ntwo names\nc"
    assert here.variables["last"].text == "c"


@pytest.mark.parametrize(
    ("line", "said", "column"),
    [
        ("echo $nothing", "There is no variable 'nothing'.", 6),
        ("echo '$x' \"a ${HOME}\"", "There is no variable 'HOME'.", 14),
        ("names; echo ${last[7]}", "$last: It has no item 7.", 13),
        ("names; echo ${last[0].x}", "$last: `0` has no field 'x'.", 13),
        ("list | names", "names takes nothing from a pipe.", 8),
        ("list | send bob | nosuch", "There is no command 'nosuch'.", 19),
        ("echo $(nosuch)", "There is no command 'nosuch'.", 8),
        ("list nowhere | send bob", "list: There is no folder 'nowhere'.", 1),
        ("echo a | send to=$(list nowhere)", "list: There is no folder 'nowhere'.", 20),
        ("list broken | send bob", "list failed, so the rest of the line was not run: half of it", 1),
        ("echo $(list broken)", "list failed, so the rest of the line was not run: half of it", 8),
        ("list broken; echo a", "list failed, so the rest of the line was not run: half of it", 1),
        (
            "count most=many",
            "count: most must be a whole number, not 'many'.",
            7,
        ),
        ("names extra", "names: unexpected 'extra'.", 7),
        ("list <(names)", "list: path takes no `<(…)`.", 6),
        ("names | count items=$(names)", "count: items is given, and comes out of the pipe, too.", 9),
    ],
)
async def test_errors(registry: Registry, here: Invocation, line: str, said: str, column: int) -> None:
    with pytest.raises(CommandError) as caught:
        await run_line(registry, line, here)
    assert caught.value.message == said
    assert caught.value.position is not None
    assert caught.value.position.column == column
    assert "^" not in caught.value.drawn, "what a short line names needs no picture"


async def test_nothing_runs_where_a_later_command_cannot(registry: Registry, here: Invocation) -> None:
    for line in ("hold x 1; nosuch", "hold x 1 | names", "echo $(hold x 1) | list a b c=1"):
        with pytest.raises(UsageError):
            await run_line(registry, line, here)
        assert "x" not in here.variables, line


@pytest.mark.parametrize("line", ["quit", "echo a | quit", "echo $(quit)", "echo a; quit", 'echo "${last} $(quit)"'])
async def test_what_is_for_people_stays_so_everywhere(registry: Registry, here: Invocation, line: str) -> None:
    agent = replace(here, caller=Caller("main", is_agent=True))
    agent.variables.keep_last(LineValue.from_data("x"))
    with pytest.raises(UsageError, match="for people only"):
        await run_line(registry, line, agent)


async def test_every_command_passes_the_callers_door(registry: Registry, here: Invocation) -> None:
    asked: list[str] = []

    async def door(command: AnyCommand, parameters: Any, invocation: Invocation) -> Outcome:
        asked.append(command.name)
        if command.name == "send":
            raise CommandError("The guard says no.")
        return await run_parsed(command, parameters, invocation)

    guarded = replace(here, run_stage=door)
    with pytest.raises(CommandError, match="send: The guard says no"):
        await run_line(registry, "list $(echo x) | hold y; echo $(names | send bob) | count", guarded)
    assert asked == ["echo", "list", "hold", "names", "send"]


async def test_cancellation_passes_through(registry: Registry, here: Invocation) -> None:
    started = asyncio.Event()

    async def waits(_: Invocation, __: Parameters) -> Outcome:
        started.set()
        await asyncio.Event().wait()
        return Outcome()

    registry.register(Command("wait", "Wait", Parameters, waits))
    task = asyncio.create_task(run_line(registry, "echo $(wait) | send bob", here))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("ls src | send bob hi; there", "list path=src | send to=bob text='hi; there'"),
        ("echo it's $(ls a)  b", 'echo message="it\'s $(list path=a)  b"'),
        ("/count x,y 2", "count items='x,y 2'"),
        ("count [a, $b]", "count items=[a, $b]"),
    ],
)
def test_the_canonical_form_names_every_parameter(registry: Registry, line: str, written: str) -> None:
    if line.startswith("/count"):
        with pytest.raises(UsageError):
            canonical(registry, read_line(registry, line))
        return
    script = canonical(registry, read_line(registry, line))
    assert format_line(script) == written
    assert read_line(registry, written) == script


async def test_variables_are_bounded() -> None:
    variables = Variables()
    for number in range(1_000):
        variables.set(f"x{number}", LineValue.from_data(number))
    with pytest.raises(Exception, match="1,000 variables"):
        variables.set("more", LineValue.from_data(1))
    with pytest.raises(Exception, match="characters"):
        variables.set("x1", LineValue.from_data("a" * 20_000_000))
    variables.keep_last(LineValue.from_data("a" * 20_000_000))
    assert "last" not in variables
    with pytest.raises(Exception, match="always has"):
        variables.set("last", LineValue.from_data(1))
    with pytest.raises(Exception, match="cannot be the name"):
        variables.set("a b", LineValue.from_data(1))

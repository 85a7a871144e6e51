"""A command that is typed plainly is asked of the keeper as click would have asked it, or is left to click."""

from __future__ import annotations

import itertools

import pytest

from gshtui.cli import plain_call, root
from gshtui.cli.command_form import CommandForm
from gshtui.cli.declared_forms import COMMANDS
from gshtui.headless import declared_command, keeper_call
from gshtui.headless.keeper_call import KeeperCall, Silent

FORMS = [form for form in COMMANDS if form.by_keeper]
ENDINGS = [
    *itertools.chain.from_iterable(itertools.product(("7", "a name"), repeat=count) for count in range(4)),
    ("7", "--json"),
    ("--json",),
    ("--json", "7"),
    ("--json", "--json"),
    ("-h",),
    ("--help",),
    ("",),
    ("-",),
    ("--", "7"),
    ("--all",),
    ("7", "--yes"),
    ("7", "--timeout", "3"),
    ("7", "--unknown"),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What the keeper was asked."""
    calls: list[tuple[object, ...]] = []

    def note(call: KeeperCall) -> int:
        calls.append((call.name, call.values, call.json, call.yes, call.waiting))
        return 0

    monkeypatch.setattr(keeper_call, "run_by_keeper", note)
    return calls


@pytest.mark.parametrize("form", FORMS, ids=[form.name for form in FORMS])
def test_the_keeper_is_asked_the_same(form: CommandForm, asked: list[tuple[object, ...]]) -> None:
    for ending in ENDINGS:
        arguments = [*form.name.split(), *ending]
        code = plain_call.by_keeper(list(arguments))
        assert len(asked) == (0 if code is None else 1), arguments
        if code is not None:
            root.run(list(arguments))
            assert len(asked) == 2 and asked[0] == asked[1], arguments
        asked.clear()


def test_what_is_asked_most_is_plain() -> None:
    for line in ("agent ls", "agent list", "agent ls --json", "agent show 1", "agent kill x --json", "hub status"):
        assert plain_call.plain_call(line.split()) is not None, line
    for line in ("agent ls --all", "agent", "agent spawn x", "agent send 1 hi", "ls", "--version", "", "session ls"):
        assert plain_call.plain_call(line.split()) is None, line


@pytest.mark.parametrize("pid", [4711, 0])
def test_where_the_keeper_does_not_do_it_the_command_acts_and_asks_no_second_time(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], pid: int
) -> None:
    asked: list[str] = []

    def declines(call: KeeperCall) -> None:
        asked.append(call.name)
        if pid:
            raise Silent(pid)

    def here(call: declared_command.DeclaredCall, _: object) -> int:
        assert (call.silent, call.json, call.values) == (pid, True, {"agent": "7"})
        return 5

    monkeypatch.setattr(keeper_call, "run_by_keeper", declines)
    monkeypatch.setattr(declared_command, "run_call", here)
    assert plain_call.by_keeper(["agent", "show", "7", "--json"]) == 5
    assert asked == ["agent show"]
    assert ("the keeper (pid 4711) does not answer" in capfd.readouterr().err) is bool(pid)

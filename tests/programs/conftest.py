"""The programs that are installed here, one after the other; at the end, which are not.

`.ci/programs` installs them. A test asks for `program`, and for `stage` to have it on one as an agent: without hooks
and at 80x24, unless it is marked otherwise. What depends on neither is tested at one size, some of it at each. With
GSH_TEST_ALONE, none is connected to us by a protocol of its own.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.programs.hooks import hooks
from gshtui.programs.profiles import profile_files as profiles
from tests.kit.home import Home
from tests.kit.real_programs import FOUND, MISSING, SERVERS, Program, installed_servers, leave_alone
from tests.kit.tmux import end_server, short_folder
from tests.programs.stage import Stage, on_stage

LIMIT = 240.0
"""Seconds for one test: programs of this kind need ten to start where two of them and a compiler share a core."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run for each program that is there; a test's `programs` mark names those that it is about, and its
    `whole_turn_of` mark those of which it is the run that stands for all their tests.
    """
    if "program" not in metafunc.fixturenames:
        return
    marked = metafunc.definition.get_closest_marker("programs")
    wanted = [each for each in FOUND if (each.name in marked.args if marked is not None else not each.over_acp)]
    telling = metafunc.definition.get_closest_marker("whole_turn_of")
    runs = [
        pytest.param(
            each,
            id=f"{each.name}-{each.version}",
            marks=pytest.mark.whole_turn if telling is not None and each.name in telling.args else (),
        )
        for each in wanted
    ]
    metafunc.parametrize("program", runs)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "programs(*names): the programs that a test is about; without it, all of them")
    config.addinivalue_line("markers", "whole_turn_of(*names): the one test of these that .ci/run always runs")
    config.addinivalue_line("markers", "whole_turn: one whole turn of each program; put there by `whole_turn_of`")
    config.addinivalue_line("markers", "hooked: the program's hooks are installed, so that it reports by itself")
    config.addinivalue_line("markers", "alone: without the protocol by which it is connected to us beside its screen")
    config.addinivalue_line("markers", "over_acp: the program speaks the Agent Client Protocol with us")
    config.addinivalue_line("markers", "size(columns, rows): of the program's terminal; without it, 80x24")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(LIMIT))
            run = getattr(item, "callspec", None)
            if run is not None and isinstance(program := run.params.get("program"), Program):
                item.user_properties += [("program", program.name), ("version", program.version)]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was run, and what was not."""
    terminalreporter.section("other people's programs")
    for program in FOUND:
        terminalreporter.write_line(f"run      {program.name} {program.version}")
    for program in MISSING:
        terminalreporter.write_line(f"NOT RUN  {program.name}: not installed; .ci/programs {program.name} does that")
    there = installed_servers()
    for name in SERVERS:
        said = f"run      {name}" if name in there else f"NOT RUN  {name}: not installed; .ci/programs {name} does that"
        terminalreporter.write_line(said)


@pytest.fixture
async def stage(
    request: pytest.FixtureRequest, program: Program, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    """The program as an agent, in a fresh home, with a private tmux server and a provider on this machine."""
    size = request.node.get_closest_marker("size")
    columns, rows = size.args if size is not None else (80, 24)
    if request.node.get_closest_marker("alone") is not None or os.environ.get("GSH_TEST_ALONE"):
        leave_alone(program.name)
    if request.node.get_closest_marker("hooked") is not None:
        hooks.apply_plan(hooks.plan(profiles.load().get(program.name)))
    with short_folder() as sockets:
        monkeypatch.setenv("TMUX_TMPDIR", str(sockets))
        try:
            spoken = request.node.get_closest_marker("over_acp") is not None
            folder = tmp_path / "project"
            async with on_stage(program, home, folder, (columns, rows), monkeypatch.setenv, over_acp=spoken) as made:
                yield made
        finally:
            end_server(sockets / f"tmux-{os.getuid()}" / "gsh")

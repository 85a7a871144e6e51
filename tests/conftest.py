"""What holds for every test: a made-up home, a pinned environment, no network, reproducible examples.

A test that wants the folders asks for the fixture `home`. Nothing here imports the program under test.
"""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path

# Textual reads these once, when it is imported.
os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ["COLORTERM"] = "truecolor"
os.environ["TERM"] = "xterm-256color"
os.environ.pop("NO_COLOR", None)

import pytest
from hypothesis import HealthCheck, settings

from tests.kit.home import Home, end_hub_of_agents, end_servers, made_up_home, servers_left
from tests.kit.loopback_only import loopback_only
from tests.kit.storms import examples

pytest_plugins = ["tests.kit.failed_tests", "tests.kit.worker_faults"]

settings.register_profile(
    "house",
    max_examples=examples(100),
    deadline=None,  # how long an example takes says more about the machine than about the code
    derandomize=True,  # the same examples in every run: a failure is never a matter of luck
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: the garbage collector would go through all of it again and again.

    From then on it collects more seldom than by default, which a tenth of the time of all tests went into.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 10, 20)
        gc.enable()


@pytest.fixture(autouse=True)
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    """A fresh home, XDG folders and environment; nothing of the machine's own.

    A fault that the program isolated fails the test: the window and the hub go on after one, a test must not. So does a
    tmux server or a keeper that outlives it (`tests/kit/tmux.py` has folders whose servers end with the test).
    """
    with made_up_home() as made:
        yield made
        if made.untouched:
            return
        end_hub_of_agents(made)
        if left := servers_left(made):
            end_servers(made)
        reports = sorted(made.state.glob("**/crash-*.log"))
        said = "\n\n".join(report.read_text(errors="replace") for report in reports)
    if left:
        pytest.fail(f"this test left servers running: {', '.join(map(str, left))}", pytrace=False)
    if reports and request.node.get_closest_marker("faults") is None:
        pytest.fail(f"the program met a fault and went on:\n{said}", pytrace=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that is a project's root."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def no_network() -> Iterator[list[str]]:
    """Sockets reach this machine only; an attempt to reach further fails the test, even where it was swallowed."""
    with loopback_only() as refused:
        yield refused
    if refused:
        pytest.fail("this test tried to reach the network: " + "; ".join(refused))

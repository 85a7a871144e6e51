"""What a look at the terminals makes of a row: nobody is declared dead by what was not seen."""

import pytest

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.fleet.core.agent_terminals import (
    DRAWN_AFTER,
    LATE,
    SETTLED_AFTER,
    UNBORN_FOR,
    PaneProbe,
    probed_changes,
    verdict,
)

NOW = 1_000_000.0
ROW = AgentRow(id="0001", name="a", status="idle", pane="%3", pid=77, pid_started=5.0, socket="s", created=NOW - 100)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (PaneProbe(known=False), "unknown"),
        (PaneProbe(known=False, runs=True), "unknown"),
        (PaneProbe(True, True, 77, runs=True), "runs"),
        (PaneProbe(True, True, 77, dead=True, exit_status=0), "ended"),
        (PaneProbe(True, True, 77, gone_for=0.1), "unknown"),
        (PaneProbe(True, True, 77, gone_for=LATE + 1), "ended"),
        (PaneProbe(True, True, 77, other=True), "lost"),
        (PaneProbe(True, True, 78, runs=True), "lost"),
        (PaneProbe(True, False, runs=True, gone_for=0.1), "unknown"),
        (PaneProbe(True, False, runs=True, gone_for=LATE + 1), "lost"),
        (PaneProbe(True, False), "lost"),
    ],
)
def test_an_agent_is_its_pane_its_process_and_its_start(seen: PaneProbe, expected: str) -> None:
    assert verdict(ROW, seen, NOW) == expected
    if expected == "unknown":
        assert probed_changes(ROW, seen, NOW) == {}


def test_one_without_a_pane_is_given_time_to_be_born() -> None:
    import msgspec

    unborn = msgspec.structs.replace(ROW, pane="", created=NOW - UNBORN_FOR + 1)
    assert verdict(unborn, PaneProbe(known=True), NOW) == "unknown"
    assert verdict(unborn, PaneProbe(known=True), NOW + 2) == "lost"


@pytest.mark.parametrize(
    ("exit_status", "status", "doing"),
    [(0, "done", ""), (None, "done", ""), (3, "failed", "exit 3"), (137, "failed", "signal 9")],
)
def test_an_end_says_how(exit_status: int | None, status: str, doing: str) -> None:
    said = probed_changes(ROW, PaneProbe(True, True, 77, dead=True, exit_status=exit_status), NOW)
    assert (said["status"], said["doing"], said["exit_status"], said["ended"]) == (status, doing, exit_status, NOW)


@pytest.mark.parametrize("seen", [PaneProbe(True, True, 77, dead=True), PaneProbe(True, False)])
def test_what_has_ended_or_is_lost_asks_nobody(seen: PaneProbe) -> None:
    import msgspec

    asks = msgspec.structs.replace(ROW, status="waiting", needs_you=True, question=OpenQuestion("q", "Go on?"))
    over = msgspec.structs.replace(asks, **probed_changes(asks, seen, NOW))
    assert (over.needs_you, over.question) == (False, None)


def test_a_killed_one_is_done_whatever_its_exit() -> None:
    import msgspec

    killed = msgspec.structs.replace(ROW, killed=True)
    assert probed_changes(killed, PaneProbe(True, False), NOW)["status"] == "done"
    assert probed_changes(killed, PaneProbe(True, True, 77, dead=True, exit_status=137), NOW)["doing"] == "killed"


def test_its_own_words_of_failure_are_kept() -> None:
    import msgspec

    said_so = msgspec.structs.replace(ROW, status="failed", status_source="event", doing="the provider is down")
    assert (
        probed_changes(said_so, PaneProbe(True, True, 77, dead=True, exit_status=3), NOW)["doing"]
        == "the provider is down"
    )


def test_a_known_program_is_not_called_idle_before_its_screen_says_so() -> None:
    """It may be blank for as long as it starts; of an unknown one nothing more will be known."""
    import msgspec

    begun = msgspec.structs.replace(
        ROW, kind="cli", status="starting", status_source="spawn", status_at=NOW - SETTLED_AFTER - 1
    )
    runs = PaneProbe(True, True, 77, runs=True)
    assert probed_changes(msgspec.structs.replace(begun, profile="repl"), runs, NOW)["status"] == "quiet"
    known = msgspec.structs.replace(begun, profile="opencode")
    assert probed_changes(known, runs, NOW) == {}
    assert probed_changes(known, runs, NOW + DRAWN_AFTER)["status"] == "quiet"

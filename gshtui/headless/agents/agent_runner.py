"""A native agent and its pane in the process of its terminal, where no hub takes it (`agent_terminal.py`)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.fleet.native.outcome import FAILED
from gshtui.fleet.native.spec import Spec, SpecError, read_spec, spec_path
from gshtui.headless.agents.agent_pane.agent_pane import HUB_LOST, AgentPane
from gshtui.headless.agents.agent_pane.pane_screen import TerminalScreen
from gshtui.headless.agents.pane_protocol import PaneKept
from gshtui.headless.runner import collect_later
from gshtui.headless.streams import complain
from gshtui.hub.faces.native_run import NativeRun
from gshtui.system.processes.processes import kill_calls
from gshtui.system.struct_types import learned
from gshtui.system.tasks import end_all

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def run_here(
    spec_file: Path, kept: dict[str, Any], keys: bytes, *, lost: bool, cut: bool, as_json: bool = False
) -> int:
    """Run the agent of this spec until its work is done; gives the exit status.

    Args:
        kept: what the last hub that ran it has left, see `PaneKept`.
        keys: what was typed and no hub has taken.
        lost: that has ended without a word.
        cut: a turn of it was cut, or may have been.
        as_json: its events go to standard output, one a line, in place of the pane.
    """
    try:
        spec = read_spec(spec_file)
        left = msgspec.convert(kept, learned(PaneKept))
        if left.session:
            spec = _newest(spec, left.session)
    except (SpecError, msgspec.ValidationError) as error:
        complain(str(error), error.hint if isinstance(error, SpecError) else "")
        return FAILED
    return asyncio.run(_live(spec, left, keys, lost=lost, cut=cut, as_json=as_json))


def _newest(spec: Spec, session: str) -> Spec:
    """What it was started with, with what a hub has recorded since, as its mode. Blocks for a moment."""
    try:
        return replace(read_spec(spec_path(Path(spec.data), spec.agent)), session=session)
    except SpecError:
        return replace(spec, session=session, mode=spec.mode if spec.mode == "plan" else "ask")


async def _live(spec: Spec, kept: PaneKept, keys: bytes, *, lost: bool, cut: bool, as_json: bool) -> int:
    loop = asyncio.get_running_loop()
    collect_later(loop)
    pane: AgentPane | None = None
    run = NativeRun(spec, lambda linked: pane.connected(linked) if pane is not None else None, cut=cut)
    if as_json:
        run.bus.subscribe(_print, name="standard output")
    else:
        pane = AgentPane(
            spec,
            run.bus,
            TerminalScreen(),
            run.run_line,
            intend=run.take_event,
            leave=run.leave,
            typed=run.typed,
            draft=kept.draft,
            goes_on=kept != PaneKept(),
        )
        pane.open()
        pane.type(keys)
        if lost:
            pane.show_notice(HUB_LOST)
    ended = False

    def end(number: int) -> None:
        nonlocal ended
        if ended:
            kill_calls()
            os._exit(128 + number)  # asked twice: it does not end by itself
        ended = True
        run.end_by_signal(number)

    for number in _SIGNALS:
        loop.add_signal_handler(number, end, number)
    try:
        outcome = await run.live()
        return FAILED if outcome is None else outcome.exit
    finally:
        await end_all("the end of the agent's terminal", *([pane.close] if pane is not None else []))


def _print(batch: Sequence[Event]) -> None:
    with contextlib.suppress(OSError):  # nobody reads: the work goes on
        sys.stdout.buffer.write(b"".join(wire.encode(event) for event in batch))
        sys.stdout.buffer.flush()

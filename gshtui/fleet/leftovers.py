"""Files that an agent leaves in the data folder: its orders, what it could not send, what its program reported.

Refuses to touch anything else. Called when an agent is taken off the roster, which is the last that is heard of it.
"""

from __future__ import annotations

from pathlib import Path


def clear(data: Path, agent: str) -> None:
    """Remove the agent's files, as far as there are any. Blocks for a moment; never raises."""
    from gshtui.fleet.native.spec import SpecError, spec_path
    from gshtui.programs.spool import spool_path  # a short call takes nobody off the roster

    try:
        orders = spec_path(data, agent)
    except SpecError:
        return
    for path in (orders, orders.with_suffix(".waiting"), spool_path(data, agent)):
        try:
            path.unlink(missing_ok=True)
        except OSError:
            continue  # a file that cannot be removed harms nobody: numbers are never given twice

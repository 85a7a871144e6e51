"""The agents of this folder, a line each, for the menu at the prompt: the ID, a tab, what is shown.

Read by the plugin, which takes the first word of the chosen line. Called by `cli`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.line import FLEET_PARTS
from gshtui.headless.running import run, until_asked
from gshtui.headless.surroundings import here, loaded_here, running

if TYPE_CHECKING:
    from gshtui.commands.declaration import Outcome

_BUSY = ("starting", "thinking", "tool", "waiting")


def menu(*, busy: bool, as_json: bool) -> int:
    """Print those that can be attached, or with `busy` those that can be interrupted; gives the exit code."""
    return run(lambda stop: until_asked(_menu(busy, as_json), stop))


async def _menu(busy: bool, as_json: bool) -> int:
    from gshtui.hub.options import HubOptions

    options = HubOptions(cwd=here(), loaded=loaded_here(), parts=FLEET_PARTS, where="gsh-tui shell")
    async with running(options) as hub:
        await hub.start()
        if hub.failed:
            return exits.ERROR
        outcome: Outcome = await hub.run("agent ls all=false")
        found: list[dict[str, Any]] = outcome.data
    rows = [a for a in found if a["status"] not in ("done", "failed", "lost") and (not busy or a["status"] in _BUSY)]
    if as_json:
        streams.result_json([{"id": a["id"], "shown": _shown(a)} for a in rows])
        return exits.DONE
    streams.result("\n".join(f"{a['id']}\t{_shown(a)}" for a in rows))
    return exits.DONE


def _shown(agent: dict[str, Any]) -> str:
    doing = f" · {agent['doing'][:40]}" if agent["doing"] else ""
    words = f"{agent['id']}  {agent['name']}  {agent['status']}{doing}"
    return " ".join(words.split())

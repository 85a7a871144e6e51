"""A replay at ten times its pace: how often the screen is drawn, what it costs, and whether keys still answer."""

import asyncio
from itertools import pairwise

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import MessageAppended, TurnFinished, TurnStarted
from gshtui.bus.messages import Message, Text
from gshtui.settings import paths
from gshtui.store.record.store import Store
from tests.bench.figures import Report, p95
from tests.bench.place import Place, ours
from tests.bench.pty_probe import Probe
from tests.kit.endings import closing_async

TURNS = 400
_SECONDS = 4.0


def run(report: Report, place: Place) -> None:
    """Some seconds of a replay at ten times its pace."""
    session = asyncio.run(recorded(place))
    with Probe(ours("replay", session, "--speed", "10"), environ=place.environ, cwd=place.project) as probe:
        probe.wait_for("replay 10x", timeout=40)
        probe.rest(1.0)
        cpu, began = probe.cpu(), probe.now()
        drawn: list[float] = []
        while (now := probe.now()) < began + _SECONDS:
            if probe.read(0.1):
                drawn.append(now)
        took = probe.now() - began
        gaps = [later - earlier for earlier, later in pairwise(drawn)]
        report.add("replay at 10x: updates of the screen a second", len(drawn) / took, "/s", limit=10, at_least=True)
        report.add("  longest time without one", 1e3 * max(gaps, default=took), "ms", limit=300)
        report.add("  processor meanwhile", 100 * (probe.cpu() - cpu) / took, "%", limit=100)
        answers: list[float] = []
        for sign in ("⏸", "▶") * 5:
            after = len(probe.output)
            pressed = probe.write("p")
            answers.append(probe.wait_for(sign, after=after, timeout=10) - pressed)
        report.add("  key to the bar, p95", 1e3 * p95(answers), "ms", limit=100)


async def recorded(place: Place) -> str:
    """A conversation with turns of a second each; gives its id."""
    async with closing_async(await Store.open(paths.data_dir() / "gsh.db")) as store:
        session = (await store.sessions.create(cwd=str(place.project), agent="main", title="Long")).id
        for number in range(TURNS):
            at = 1_000.0 + number
            turn = f"t{number}"
            prompt = Message(f"p{number}", "user", (Text(f"question {number}"),), at=at, turn=turn)
            words = "\n\n".join(f"answer {number}, row {row} of **some** `code`" for row in range(20))
            answer = Message(f"a{number}", "assistant", (Text(words),), at=at + 0.5, turn=turn)
            for message in (prompt, answer):
                await store.messages.append(session, message)
            events: tuple[Event, ...] = (
                TurnStarted(at=at, agent="main", session=session, turn=turn, prompt=prompt.id, text=prompt.text),
                MessageAppended(at=at, agent="main", session=session, message=prompt),
                MessageAppended(at=at + 0.5, agent="main", session=session, message=answer),
                TurnFinished(at=at + 0.6, agent="main", session=session, turn=turn, stop="end"),
            )
            for event in events:
                store.journal.record(event)
        return session

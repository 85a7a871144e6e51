"""The link to a hub in bad weather: breaks, wedged and false hubs, long absences. Everything arrives once, in order."""

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import InterruptRequested, ModelChangeRequested, TextDelta
from gshtui.bus.events.approval_events import ApprovalAnswered
from gshtui.bus.events.hub_events import SettingChanged
from gshtui.bus.events.session_events import SessionOpened
from gshtui.settings import paths
from gshtui.shell import hub_link as link_room
from gshtui.shell.event_table import AGENT as KIND
from gshtui.shell.event_table import TO_AGENT
from gshtui.shell.hub_link import HubLink, LineOutbox, LinkIdentity
from tests.kit.native_agents import AGENT, DEADLINE, prepare_spec, relay_window

OPENED = SessionOpened(session="s1", agent=AGENT)


class Taken:
    """What a link heard, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._came = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._came.set()

    async def until(self, right: Callable[[Event], bool]) -> None:
        """Wait until the last one is right."""
        async with asyncio.timeout(DEADLINE):
            while not self.events or not right(self.events[-1]):
                self._came.clear()
                await self._came.wait()


@contextlib.asynccontextmanager
async def linked(
    secret: str, find: Callable[[], Sequence[Path]], *, in_memory: int = 1_000_000
) -> AsyncIterator[tuple[HubLink, Taken]]:
    heard = Taken()
    outbox = LineOutbox(paths.state_dir() / "waiting", in_memory=in_memory)
    link = HubLink(LinkIdentity(KIND, AGENT, secret), outbox, find, heard, takes=TO_AGENT, greet=lambda _: [OPENED])
    link.start()
    try:
        yield link, heard
    finally:
        await link.stop(flush=0)


@contextlib.asynccontextmanager
async def fragile(to: Path, at: Path, seed: int) -> AsyncIterator[list[int]]:
    """A way to a hub's socket that breaks after some kilobytes, in both directions, ten times; yields how often."""
    chance, breaks = random.Random(seed), [0]

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(4_096):
                left -= len(data)
                # The last piece is cut in the middle of a line, most likely.
                writer.write(data[:left] if left < 0 and breaks[0] < 10 else data)
                await writer.drain()
                if left < 0 and breaks[0] < 10:
                    breaks[0] += 1
                    break

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        out_reader, out_writer = await asyncio.open_unix_connection(str(to), limit=2**20)
        limits = chance.randint(2_000, 30_000), chance.randint(2_000, 30_000)
        both = [
            asyncio.ensure_future(carry(reader, out_writer, limits[0])),
            asyncio.ensure_future(carry(out_reader, writer, limits[1])),
        ]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        writer.transport.abort()
        out_writer.transport.abort()

    with contextlib.closing(await asyncio.start_unix_server(visit, str(at))):
        yield breaks


def said(number: int) -> TextDelta:
    return TextDelta(agent=AGENT, session="s1", message="m", text=str(number))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_room, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(link_room, "LONGEST_WAIT", 0.05)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_breaks_lose_and_repeat_nothing(tmp_path: Path, seed: int) -> None:
    """Both ways: what the agent says, and what is asked of it."""
    async with relay_window(tmp_path) as hub:
        spec, _ = prepare_spec(tmp_path, hub=hub.relay.socket)
        way = Path(hub.relay.socket).with_name("way")
        async with (
            fragile(Path(hub.relay.socket), way, seed) as breaks,
            linked(spec.token, lambda: [way]) as (
                link,
                heard,
            ),
        ):
            await hub.heard.wait_for(SessionOpened)  # from here on the hub knows whom wishes are for
            for number in range(3_000):
                link.publish(said(number))
                if number % 10 == 0:
                    wish = ModelChangeRequested(agent=AGENT, model=str(number))
                    hub.bus.publish(wish)
                    await asyncio.sleep(0)
            await hub.heard.wait_for(TextDelta, number=3_000)
            await heard.until(lambda event: getattr(event, "model", "") == "2990")
        assert breaks == [10]
        assert [event.text for event in hub.heard.of(TextDelta)] == [str(n) for n in range(3_000)]
        models = [int(event.model) for event in heard.events if isinstance(event, ModelChangeRequested)]
        assert models == list(range(0, 3_000, 10))


async def test_a_long_absence_goes_through_a_file(tmp_path: Path) -> None:
    """20,000 events without a hub, with little memory: the hub that comes gets them all."""
    found: list[Path] = []
    spec, _ = prepare_spec(tmp_path)
    async with linked(spec.token, lambda: found, in_memory=50_000) as (link, _):
        for number in range(20_000):
            link.publish(said(number))
        assert (paths.state_dir() / "waiting").stat().st_size > 1_000_000
        async with relay_window(tmp_path) as hub:
            found.append(Path(hub.relay.socket))
            await hub.heard.wait_for(TextDelta, number=20_000)
            assert [event.text for event in hub.heard.of(TextDelta)] == [str(n) for n in range(20_000)]
            link.publish(said(20_000))
            await hub.heard.wait_for(TextDelta, number=20_001)


async def test_a_false_hub_is_told_nothing_and_not_obeyed(tmp_path: Path) -> None:
    """A process that listens where a hub could, without the secret: no event reaches it, none of its words counts."""
    told: list[bytes] = []
    hung_up = asyncio.Event()

    async def false_hub(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.append(await reader.readline())
        hello = json.loads(told[0])
        writer.write(json.dumps({"challenge": "c", "proof": hello["nonce"]}).encode() + b"\n")
        writer.write(b'{"welcome": "h", "have": 0}\n' + wire.encode(ApprovalAnswered(approval="a", decision="always")))
        told.append(await reader.read())
        hung_up.set()
        writer.close()

    spec, _ = prepare_spec(tmp_path)
    path = paths.runtime_dir() / "hub-1.sock"
    server = await asyncio.start_unix_server(false_hub, str(path))
    async with linked(spec.token, lambda: [path]) as (link, heard):
        link.publish(said(1))
        async with asyncio.timeout(DEADLINE):
            await hung_up.wait()
        assert heard.events == []
        assert told[1] == b""
        assert spec.token.encode() not in told[0]
    server.close()


async def test_a_wedged_hub_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_room, "CONNECT_WITHIN", 0.2)
    wedged = paths.runtime_dir() / "hub-1.sock"
    stay = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stay.wait()
        writer.close()

    server = await asyncio.start_unix_server(say_nothing, str(wedged))
    async with relay_window(tmp_path) as hub:
        spec, _ = prepare_spec(tmp_path, hub=hub.relay.socket)
        async with linked(spec.token, lambda: [wedged, Path(hub.relay.socket)]) as (link, _):
            link.publish(said(1))
            await hub.heard.wait_for(TextDelta)
            assert link.hub == hub.relay.socket
    stay.set()
    server.close()


async def test_a_hub_may_not_say_everything(tmp_path: Path) -> None:
    """Even the right hub says only what is for an agent; the rest is counted."""
    async with relay_window(tmp_path) as hub:
        spec, _ = prepare_spec(tmp_path, hub=hub.relay.socket)
        async with linked(spec.token, lambda: [Path(hub.relay.socket)]) as (link, heard):
            await hub.heard.wait_for(SessionOpened)
            remote = hub.relay._remotes[AGENT]
            remote.send(SettingChanged(key="agent.auto_approve", value=["bash"]))
            remote.send(InterruptRequested(agent=AGENT))
            await heard.until(lambda event: isinstance(event, InterruptRequested))
            assert len(heard.events) == 1
            assert link.ignored == 1

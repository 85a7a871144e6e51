"""A person elsewhere is reached by their own command and a webhook: without secrets, in time, not in quiet hours."""

import asyncio
import datetime
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import Noticed
from gshtui.hub import person_notifier
from gshtui.hub.person_notifier import PersonNotifier
from gshtui.settings.model import Settings
from gshtui.settings.settings_tables import Notify
from tests.kit.tmux import eventually

RECEIVE = (
    "import json, os, sys; open(sys.argv[1], 'w').write(json.dumps([os.environ['GSH_TEXT'], os.environ['GSH_AGENT']]))"
)


class Hook:
    """A webhook on this machine: what it was sent, and what it answers."""

    def __init__(self) -> None:
        self.answer = "204 No Content"
        self.got = asyncio.Queue[tuple[str, dict[str, Any]]]()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1]) for line in head.lower().split("\r\n") if line.startswith("content-length")
        )
        self.got.put_nowait((head.split()[1], json.loads(await reader.readexactly(length))))
        writer.write(f"HTTP/1.1 {self.answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
        writer.close()


@pytest.fixture
async def hook() -> AsyncIterator[tuple[Hook, str]]:
    made = Hook()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    async with server:
        yield made, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def notifier(notices: list[Event], notify: Notify, hour: int = 12) -> PersonNotifier:
    clock = datetime.datetime(2026, 5, 4, hour, 30)
    return PersonNotifier(notices.append, Settings(notify=notify), os.environ, clock=lambda: clock)


async def until_idle(made: PersonNotifier) -> None:
    async def busy() -> bool:
        return made.is_busy

    await eventually(busy, until=lambda busy: not busy)


async def test_a_command_gets_the_words_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter2-hunter2")
    notices = list[Event]()
    file = tmp_path / "said.json"
    made = notifier(notices, Notify(command=[sys.executable, "-c", RECEIVE, str(file)]))
    made.send("fix asks: run curl -H hunter2-hunter2", "fix")
    await until_idle(made)
    text, agent = json.loads(file.read_text())
    assert "hunter2" not in text
    assert text.startswith("fix asks: run curl")
    assert agent == "fix"
    assert notices == []


async def test_a_command_that_fails_or_hangs_is_noticed_once_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_notifier, "WITHIN", 0.3)
    for command, words in (
        (["/nowhere/notify"], "cannot be started"),
        (["sh", "-c", "exit 3"], "ended with 3"),
        (["sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 1000 & sleep 1000"], "took more than"),
    ):
        notices = list[Event]()
        made = notifier(notices, Notify(command=command))
        for _ in range(2):
            made.send("done", "fix")
            await until_idle(made)
        (notice,) = notices
        assert isinstance(notice, Noticed)
        assert words in notice.text
        assert "[notify]" in notice.hint
    group = int((tmp_path / "pid").read_text())

    async def members() -> list[psutil.Process]:
        return [
            one
            for one in psutil.process_iter()
            if os.getpgid(one.pid) == group and one.status() != psutil.STATUS_ZOMBIE
        ]

    assert await eventually(members, until=lambda left: not left) == []


async def test_a_webhook_gets_json_and_no_other_address_does(hook: tuple[Hook, str]) -> None:
    server, address = hook
    notices = list[Event]()
    made = notifier(notices, Notify(webhook=f"{address}/hook"))
    made.send("fix is done", "fix")
    await until_idle(made)
    path, said = server.got.get_nowait()
    assert (path, said["text"], said["agent"]) == ("/hook", "fix is done", "fix")
    server.answer = f"307 Elsewhere\r\nlocation: {address}/other"
    made.send("fix is done", "fix")
    await until_idle(made)
    assert (server.got.get_nowait()[0], server.got.empty()) == ("/hook", True)
    (notice,) = notices
    assert isinstance(notice, Noticed) and "answered 307" in notice.text
    gone = notifier(notices, Notify(webhook="http://127.0.0.1:9/"))
    gone.send("x", "fix")
    await until_idle(gone)
    assert isinstance(notices[-1], Noticed) and "cannot be reached" in notices[-1].text


async def test_a_variable_that_keeps_a_webhook_from_its_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    notices: list[Event] = []
    for variable, value in [("SSL_CERT_FILE", "/nonexistent/ca.pem"), ("ALL_PROXY", "gopher://x")]:
        with monkeypatch.context() as one:
            one.setenv(variable, value)
            made = notifier(notices, Notify(webhook="https://hooks.example/x"))
            made.send("done", "main")
            await until_idle(made)
        told = notices[-1]
        assert isinstance(told, Noticed)
        assert told.text.startswith(f"The notification webhook cannot be reached: {variable} names ")


async def test_a_storm_of_notifications_is_bounded_and_ends_with_the_hub(tmp_path: Path) -> None:
    count = tmp_path / "count"
    made = notifier([], Notify(command=["sh", "-c", f"echo x >> {count}; sleep 1000"]))
    for _ in range(200):
        made.send("done", "fix")

    async def begun() -> bool:
        return count.exists()

    await eventually(begun, until=bool)
    await made.stop()
    assert not made.is_busy
    assert len(count.read_text().split()) <= 8


@pytest.mark.parametrize(
    ("quiet", "hour", "wanted"),
    [("22:00-07:00", 23, False), ("22:00-07:00", 6, False), ("22:00-07:00", 12, True), ("9:00 - 17:00", 12, False)],
)
async def test_quiet_hours_hold_over_midnight(quiet: str, hour: int, wanted: bool) -> None:
    assert notifier([], Notify(quiet=quiet), hour).is_wanted("fix") is wanted


async def test_agents_are_muted_by_name() -> None:
    made = notifier([], Notify(muted=["explore-*", "quiet"]))
    assert [made.is_wanted(name) for name in ("explore-1", "quiet", "fix")] == [False, False, True]


@pytest.mark.parametrize(
    "wrong",
    [{"webhook": "http://example.org/x"}, {"webhook": "ftp://127.0.0.1"}, {"webhook": "x"}, {"quiet": "25:00-7"}],
)
def test_a_mistake_in_the_settings_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="write"):
        Notify(**wrong)  # pyright: ignore[reportArgumentType]


async def test_apprise_gets_the_words_without_secrets(hook: tuple[Hook, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter2-hunter2")
    server, address = hook
    notices = list[Event]()
    made = notifier(notices, Notify(apprise=[address.replace("http://", "json://") + "/topic"]))
    made.send("fix asks: run curl -H hunter2-hunter2", "fix")
    await until_idle(made)
    path, got = server.got.get_nowait()
    assert path == "/topic" and got["title"] == "gsh-tui: fix"
    assert got["message"].startswith("fix asks: run curl") and "hunter2" not in got["message"]
    assert notices == []


@pytest.mark.parametrize(
    ("address", "words"),
    [("json://127.0.0.1:1/s3cr3t-path", "(json) failed"), ("nosuch://s3cr3t", "none that apprise knows")],
)
async def test_apprise_that_fails_is_noticed_once_and_names_no_address(address: str, words: str) -> None:
    notices = list[Event]()
    made = notifier(notices, Notify(apprise=[address]))
    for _ in range(2):
        made.send("done", "fix")
        await until_idle(made)
    (notice,) = notices
    assert isinstance(notice, Noticed) and words in notice.text and "s3cr3t" not in notice.text
    with pytest.raises(ValidationError):
        Notify(apprise=["a phone"])

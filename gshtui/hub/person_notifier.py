"""Reaches a person who is not at the terminal: by a command, a webhook and apprise, but not in their quiet hours.

The window and the keeper have one each. All ways get the words without secrets, have a deadline, and hold nothing up;
a way that fails is noticed once. Whether the person is called about an agent at all is decided here for every way, also
for the badge, the bell and the desktop.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import fnmatch
import importlib
import importlib.util
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import Noticed
from gshtui.settings.setting_values import is_within
from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes.processes import kill_child, start_child
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.sanitise import one_line, plain

if TYPE_CHECKING:
    from gshtui.guard.secrets.redaction import Redactor
    from gshtui.settings.model import Settings

WITHIN = 10.0
"""Seconds for each way."""
_MOST = 8
"""Notifications under way; further ones are dropped, as the person has enough to look at."""
Clock = Callable[[], datetime.datetime]


class PersonNotifier:
    """Made inside a running loop. `stop` ends what is under way."""

    def __init__(
        self,
        publish: Callable[[Event], object],
        settings: Settings,
        environ: Mapping[str, str],
        *,
        clock: Clock = datetime.datetime.now,
    ) -> None:
        """
        Args:
            publish: learns that a way failed.
            environ: for the command.
            clock: gives the local time.
        """
        self._publish = publish
        self._settings = settings
        self._environ = environ
        self._clock = clock
        self._jobs: set[asyncio.Task[None]] = set()
        self._failed: set[str] = set()
        """The ways that have failed, which was noticed."""

    @property
    def is_busy(self) -> bool:
        """Whether something is under way."""
        return bool(self._jobs)

    def is_wanted(self, agent: str) -> bool:
        """Whether to call the person about this agent now, in any way. `agent`: its name."""
        chosen = self._settings.notify
        if any(fnmatch.fnmatchcase(agent, pattern) for pattern in chosen.muted):
            return False
        return not is_within(chosen.quiet, self._clock().time())

    def send(self, text: str, agent: str) -> None:
        """Call the person in each way that there is. `text`: one line without controls."""
        chosen = self._settings.notify
        if chosen.command:
            self._start("command", self._run_command(text, agent))
        if chosen.webhook:
            self._start("webhook", self._call_webhook(text, agent))
        if chosen.apprise:
            self._start("apprise", self._call_apprise(text, agent))

    async def stop(self) -> None:
        """End what is under way."""
        await cancel_and_wait(*self._jobs)

    def _start(self, way: str, work: Awaitable[str]) -> None:
        if len(self._jobs) >= _MOST:
            if asyncio.iscoroutine(work):
                work.close()
            return
        job = start_job(self._finish(way, work), "a notification")
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)

    async def _finish(self, way: str, work: Awaitable[str]) -> None:
        why = await work
        if why and way not in self._failed:
            self._failed.add(way)
            hint = f"`gsh-tui config edit` has it below [notify], as {way}."
            self._publish(Noticed(level="warning", text=why, hint=hint, about="notify"))

    @cached_property
    def _redactor(self) -> Redactor:
        from gshtui.agents.telemetry import redactor  # it compiles much, and few are called like this

        return redactor(self._settings, self._environ)

    async def _redacted(self, text: str) -> str:
        return await asyncio.to_thread(lambda: self._redactor.redact(text))

    async def _run_command(self, text: str, agent: str) -> str:
        """Why it failed; empty: it did not."""
        argv = self._settings.notify.command
        environ = {**self._environ, "GSH_TEXT": await self._redacted(text), "GSH_AGENT": agent}
        try:
            # No pipe: what the command leaves running could hold it, and then ending it would wait.
            process = await start_child(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=environ,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"The notification command {argv[0]} cannot be started: {error}."
        try:
            async with time_limit(WITHIN):
                await process.wait()
        except TimeoutError:
            return f"The notification command {argv[0]} took more than {WITHIN:g} s and was ended."
        finally:
            await kill_child(process, is_leader=True)
        return f"The notification command {argv[0]} ended with {process.returncode}." if process.returncode else ""

    async def _call_apprise(self, text: str, agent: str) -> str:
        """Why it failed; empty: it did not. Its network calls block, in a thread that nothing has to wait for."""
        if importlib.util.find_spec("apprise") is None:
            return "The package apprise is not installed beside gsh-tui (`pip install apprise`): it sent nothing."
        words, title = await self._redacted(text), f"gsh-tui: {agent}" if agent else "gsh-tui"
        loop = asyncio.get_running_loop()
        answer = loop.create_future()

        def call() -> None:
            why = _by_apprise(self._settings.notify.apprise, title, words)
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(lambda: answer.done() or answer.set_result(why))

        threading.Thread(target=call, name="apprise", daemon=True).start()
        try:
            async with time_limit(WITHIN):
                why: str = await answer
        except TimeoutError:
            return f"Notification by apprise did not end within {WITHIN:g} s."
        return await self._redacted(why)

    async def _call_webhook(self, text: str, agent: str) -> str:
        """Why it failed; empty: it did not. It goes to the address that is set and to no other."""
        import httpx2  # few have a webhook

        from gshtui.system.network.routed_transport import RoutedTransport

        said = {"text": await self._redacted(text), "agent": agent, "at": time.time()}
        try:
            async with (
                time_limit(WITHIN),
                httpx2.AsyncClient(follow_redirects=False, timeout=WITHIN, transport=RoutedTransport()) as client,
                client.stream("POST", self._settings.notify.webhook, json=said) as answer,
            ):
                code = answer.status_code
        except TimeoutError:
            return f"The notification webhook did not answer within {WITHIN:g} s."
        except (httpx2.HTTPError, OSError, ValueError, ExpectedError) as error:
            why = error.message if isinstance(error, ExpectedError) else error
            return f"The notification webhook cannot be reached: {why}."
        return "" if 200 <= code < 300 else f"The notification webhook answered {code}."


def _by_apprise(addresses: Sequence[str], title: str, words: str) -> str:
    """Why it failed, in words without the addresses, which have keys in them; empty: it did not. Blocks."""
    apprise: Any = importlib.import_module("apprise")  # an extra, and slow to load

    try:
        for number, address in enumerate(addresses, 1):
            service = address.partition(":")[0]
            sender = apprise.Apprise()
            if not sender.add(address):
                return f"Address {number} of apprise ({service}) is none that apprise knows."
            with apprise.LogCapture(level=apprise.logging.WARNING, fmt="%(message)s") as said:
                if not sender.notify(body=words, title=title):
                    reason = one_line(plain(said.getvalue()), 200).strip().rstrip(".")
                    return f"Notification by apprise ({service}) failed{f': {reason}' if reason else ''}."
    except Exception as error:  # dozens of services' code
        return f"Notification by apprise failed: {type(error).__name__}."
    return ""

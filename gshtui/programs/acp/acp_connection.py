"""One program that speaks the Agent Client Protocol: its process, the requests to it, and what it asks of us.

The official SDK matches requests and answers (`acp.connection.Connection`), loaded when the first program starts. Every
request but a prompt has a deadline; a program that ends, floods or talks nonsense costs one `AcpError`. Closing ends
the whole process group, since some programs start themselves a second time; so does the end of our own process, however
it comes: a shell in that group waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import gshtui
from gshtui.programs.acp.acp_commands import program_name
from gshtui.programs.acp.acp_transport import LineTransport
from gshtui.system.expected_error import ExpectedError
from gshtui.system.json_types import is_object
from gshtui.system.processes.processes import kill_child, start_child
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.sanitise import one_line, plain

if TYPE_CHECKING:
    from acp.connection import Connection

AcpKind = Literal["missing", "version", "garbage", "ended", "timeout", "refused", "login"]


NO_SDK = "The Agent Client Protocol needs the Python package agent-client-protocol, which is not installed here."
"""It has no version yet for some Pythons."""


class AcpError(ExpectedError):
    """A program that should speak the protocol did not do what was needed."""

    def __init__(self, kind: AcpKind, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind: AcpKind = kind


PROTOCOL = 1
"""The version of the protocol that we speak."""
STARTS_WITHIN = 60.0
"""Seconds within which a program must answer `initialize`, and open a session."""
ANSWERS_WITHIN = 30.0
"""Seconds for every other request but a prompt."""
_ENDS_WITHIN = 2.0
_GUARDED = '(exec </dev/null >/dev/null 2>&1; read _ </dev/fd/%d; sleep 3; kill -s KILL -- -$$) & exec "$@"'
"""Runs a program as the leader of its group, with a shell beside it that reads from a pipe of ours: when that ends,
because we have, the group has three seconds to see the end of its input."""
_TAIL = 4_000
"""Characters of what it last wrote to its error output that are kept."""
_WAITING = 256
"""Updates that may wait to be handled before the next one is read."""
_STANDING = ("available_commands_update", "config_option_update", "current_mode_update", "usage_update")
"""The kinds of updates that are about how a session is, and not about what was said."""
Answer = dict[str, Any]


class ClientPort(Protocol):
    """What a program asks of its client. Each method raises `ExpectedError` with words for the program."""

    def take_update(self, update: Mapping[str, Any]) -> None:
        """Handle one `session/update`; called in order, and does not wait."""
        ...

    async def answer_request(self, method: str, params: Mapping[str, Any]) -> Answer | None:
        """Answer a request; `None`: an empty answer. Raises `KeyError` for an unknown method."""
        ...

    def note(self, text: str) -> None:
        """Tell a person about an oddity of the program that harms nothing."""
        ...

    async def caught_up(self) -> None:
        """Return once the updates so far are handled, as far as that is needed for reading more."""
        ...


class AcpConnection:
    """See the module. `start`, then `open_session`, then prompts; `close` in any case."""

    def __init__(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str], port: ClientPort) -> None:
        self.name = program_name(argv)
        self.version = ""
        self.session = ""
        self.capabilities: Mapping[str, Any] = {}
        self._argv = tuple(argv)
        self._cwd = cwd
        self._environ = environ
        self._port = port
        self._process: asyncio.subprocess.Process | None = None
        self._transport: LineTransport | None = None
        self._connection: Connection | None = None
        self._alive = -1
        """Our end of the pipe that tells the program's group that we live."""
        self._errors = ""
        self._draining: asyncio.Task[None] | None = None
        self._updates_of = ""
        self._early: list[tuple[str, Mapping[str, Any]]] = []
        """Updates of sessions that are being opened."""

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self, within: float = STARTS_WITHIN) -> None:
        """Start the program and agree on the protocol. Raises `AcpError`: it cannot be started, ends at once, does not
        answer in time, or speaks another version.
        """
        if await asyncio.to_thread(self._found) is None:
            raise AcpError(
                "missing",
                f"The program {one_line(self._argv[0])} was not found.",
                hint="Install it, or name its whole path after --acp.",
            )
        if find_spec("acp") is None:
            raise AcpError("missing", NO_SDK, hint="Run gsh-tui with Python 3.14 or older.")
        alive, self._alive = os.pipe()
        try:
            self._process = process = await start_child(
                *("/bin/sh", "-c", _GUARDED % alive, "sh", *self._argv),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._cwd,
                env=dict(self._environ),
                start_new_session=True,
                pass_fds=(alive,),
            )
        except (OSError, ValueError) as error:
            raise AcpError("missing", f"{one_line(self._argv[0])} cannot be started: {error}.") from error
        finally:
            os.close(alive)
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._draining = start_job(self._drain(process.stderr), "the error output of a program")
        self._transport = LineTransport(
            process.stdout, process.stdin, pace=self._port.caught_up, noted=self._note_garbage
        )
        await asyncio.to_thread(_load)  # while the program starts, which takes as long
        from acp.connection import Connection

        self._connection = Connection(self._handle, self._transport)
        answer = await self._request(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "clientInfo": {"name": "gsh-tui", "title": "gsh-tui", "version": gshtui.__version__},
                "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
            },
            within,
        )
        version = answer.get("protocolVersion")
        if version != PROTOCOL:
            said = one_line(str(version), 40)
            raise AcpError(
                "version",
                f"{self.name} speaks version {said} of the Agent Client Protocol, but gsh-tui speaks {PROTOCOL}.",
                hint=f"Install a version of {self.name} that speaks {PROTOCOL}, or a newer gsh-tui.",
            )
        self.capabilities = _mapping(answer.get("agentCapabilities"))
        info = _mapping(answer.get("agentInfo"))
        self.version = one_line(str(info.get("version") or ""), 40)

    async def open_session(self, known: str = "", within: float = STARTS_WITHIN) -> tuple[Answer, bool]:
        """Open a session in its folder: the known one if it can be continued, else a new one.

        Returns:
            The program's answer, and whether the known session goes on.

        Raises `AcpError`: it refuses, or does not answer in time.
        """
        place: Answer = {"cwd": str(self._cwd), "mcpServers": []}
        resumes = _mapping(self.capabilities.get("sessionCapabilities")).get("resume") is not None
        if known and (resumes or self.capabilities.get("loadSession") is True):
            method = "session/resume" if resumes else "session/load"
            self._updates_of, self._early = "", []
            try:
                answer = await self._request(method, {**place, "sessionId": known}, within)
            except AcpError as error:
                if error.kind != "refused":
                    raise
                self._port.note(f"{self.name} could not continue its conversation: {error.message}")
            else:
                self._take_early(known, of=_STANDING)  # what it repeats of the past is in our record already
                return answer, True
        self._updates_of, self._early = "", []
        answer = await self._request("session/new", place, within)
        session = answer.get("sessionId")
        if not isinstance(session, str) or not session:
            raise AcpError("garbage", f"{self.name} opened a session without an id.")
        self._take_early(session)
        return answer, False

    def _take_early(self, session: str, of: tuple[str, ...] = ()) -> None:
        """Begin with the session; pass on what it has said while it was opened, or only updates of these kinds."""
        self.session = self._updates_of = session
        early, self._early = self._early, []
        for id, update in early:
            if id == session and (not of or update.get("sessionUpdate") in of):
                self._port.take_update(update)

    async def prompt(self, blocks: Sequence[Mapping[str, Any]]) -> Answer:
        """One turn, however long it takes; gives the answer with its `stopReason`. Raises `AcpError`."""
        return await self._request("session/prompt", {"sessionId": self.session, "prompt": list(blocks)}, None)

    async def cancel(self) -> None:
        """Ask it to end the turn; the prompt then returns. Raises `AcpError`."""
        if self._connection is None:
            return
        try:
            async with time_limit(ANSWERS_WITHIN):
                await self._connection.send_notification("session/cancel", {"sessionId": self.session})
        except (TimeoutError, OSError) as error:
            raise self._ended() from error

    async def set_option(self, way: str, option: str, value: str) -> Answer:
        """Set one of the session's options; `way` as in `ProgramOption`. Raises `AcpError`."""
        session = {"sessionId": self.session}
        match way:
            case "mode":
                method, params = "session/set_mode", {**session, "modeId": value}
            case "model":
                method, params = "session/set_model", {**session, "modelId": value}
            case "boolean":
                params = {**session, "configId": option, "type": "boolean", "value": value == "true"}
                method = "session/set_config_option"
            case _:
                method, params = "session/set_config_option", {**session, "configId": option, "value": value}
        return await self._request(method, params, ANSWERS_WITHIN)

    async def close(self) -> None:
        """End the program and everything that it started in its process group. Raises nothing."""
        process, connection = self._process, self._connection
        if connection is not None:
            with contextlib.suppress(Exception):  # it is ending in any case
                async with time_limit(_ENDS_WITHIN):
                    await connection.close()
        if process is not None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(TimeoutError):
                    async with time_limit(_ENDS_WITHIN):
                        await process.wait()
                    if number == signal.SIGTERM:
                        break
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # whatever of its group is left
        alive, self._alive = self._alive, -1
        if alive >= 0:
            os.close(alive)
        await cancel_and_wait(self._draining, within=_ENDS_WITHIN)
        if process is not None:
            with contextlib.suppress(RuntimeError):  # a connection that does not close in time still reads
                await kill_child(process)

    def _found(self) -> str | None:
        """The path of the program; `None`: there is none that could be run."""
        name = self._argv[0]
        return shutil.which(str(self._cwd / name) if "/" in name else name, path=self._environ.get("PATH"))

    async def _request(self, method: str, params: Answer, within: float | None) -> Answer:
        from acp.exceptions import RequestError

        connection = self._connection
        if connection is None:
            raise AcpError("ended", f"{self.name} is not running.")
        try:
            async with time_limit(within):
                answer: object = await connection.send_request(method, params)
        except TimeoutError as error:
            raise AcpError(
                "timeout",
                f"{self.name} did not answer {method} within {within:g} s.",
                hint=f"Does `{one_line(' '.join(self._argv), 120)}` speak the Agent Client Protocol?",
            ) from error
        except RequestError as error:
            raise self._refused(method, error) from error
        except (ConnectionError, OSError, RuntimeError) as error:
            await self._settle()
            raise self._ended() from error
        return dict(_mapping(answer))

    def _refused(self, method: str, error: Exception) -> AcpError:
        code, data = getattr(error, "code", 0), getattr(error, "data", None)
        details = _mapping(data).get("details") or _mapping(data).get("message") or ""
        words = one_line(" ".join(filter(None, (str(error), str(details)))), 300)
        if code == -32000:
            hint = f"Log in by `{one_line(self._argv[0])}` in a terminal, then `agent restart` it."
            return AcpError("login", f"{self.name} wants a login first: {words}", hint=hint)
        return AcpError("refused", f"{self.name} refused {method}: {words}")

    async def _settle(self) -> None:
        """Wait a moment for the end of a program whose pipes are closed, so that its last words are known."""
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with time_limit(1.0):
                    await self._process.wait()
                    if self._draining is not None:
                        await asyncio.shield(self._draining)

    def _ended(self) -> AcpError:
        fault = self._transport.fault if self._transport is not None else ""
        if fault:
            return AcpError(
                "garbage", f"{self.name} {fault}, so it was ended.", hint="`agent restart` starts it again."
            )
        code = self._process.returncode if self._process is not None else None
        how = "closed the connection" if code is None else f"ended with {_exit_words(code)}"
        last = next((line for line in reversed(self._errors.splitlines()) if line.strip()), "")
        said = f" Its last words: {one_line(plain(last), 300)}" if last else ""
        return AcpError("ended", f"{self.name} {how}.{said}", hint="`agent restart` starts it again.")

    async def _handle(self, method: str, params: object, is_notification: bool) -> Answer | None:
        """What the program sends; called by the SDK, in a task for each message."""
        from acp.exceptions import RequestError

        held = _mapping(params)
        if is_notification:
            session, update = held.get("sessionId"), _mapping(held.get("update"))
            if method == "session/update" and session == self._updates_of:
                self._port.take_update(update)
            elif method == "session/update" and not self._updates_of:
                self._early = [*self._early, (str(session), update)][-_WAITING:]
            return None
        if held.get("sessionId") != self.session:
            raise RequestError.invalid_params({"details": "There is no such session."})
        try:
            return await self._port.answer_request(method, held) or {}
        except KeyError:
            raise RequestError.method_not_found(method) from None
        except ExpectedError as error:
            raise RequestError(-32603, str(error)) from error

    def _note_garbage(self, line: str) -> None:
        self._port.note(f"{self.name} wrote a line that is no message of the protocol: {line}")

    async def _drain(self, pipe: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := await pipe.read(65_536):
                self._errors = (self._errors + chunk.decode("utf-8", "replace"))[-_TAIL:]


def _exit_words(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit status {code}"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if is_object(value) else {}


def _load() -> None:
    """Import what the SDK needs, which takes most of a second."""
    for name in ("acp.connection", "acp.exceptions"):
        import_module(name)

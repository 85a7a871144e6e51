"""Sessions with interactive programs in a terminal that everyone sees, by the agent's own `tmux` tool.

Each step is a call of that tool, so the guard judges it as if the agent had made it. Runs under the person's Python
with nothing but the standard library.
"""

from __future__ import annotations

from typing import Any

from gshtui.python.worker.channel import Channel, HubRefused


def cli_session_class(channel: Channel) -> type[Any]:
    """The class `CliSession`, over this connection."""

    def call_tmux(**arguments: Any) -> str:
        try:
            answer = channel.ask("tool", name="tmux", arguments=arguments)
        except HubRefused as error:
            raise RuntimeError(str(error)) from None
        if answer["status"] not in ("ok", "timeout"):
            raise RuntimeError(answer["text"])
        return str(answer["text"])

    class CliSession:
        """A program in the shared shell, or in the terminal of an agent (`pane`): start, send, read_response, exit.

        session = CliSession("opencode", pattern="^> $"); session.start(); answer = session.send("write a test")
        """

        def __init__(
            self,
            command: str = "",
            *,
            pane: str = "",
            pattern: str = "",
            idle_seconds: float = 10,
            timeout: float = 120,
        ) -> None:
            """command: what starts it; empty: it runs already. pattern: its prompt, if it has one. Times in seconds."""
            self.command = command
            self.pane = pane
            self.pattern = pattern
            self.idle_seconds = idle_seconds
            self.timeout = timeout

        def start(self, timeout: float | None = None) -> str:
            """Start it and wait until it takes input; returns what it shows."""
            if self.command:
                self._call(action="send", text=self.command)
            return self._wait(timeout)

        def send(self, prompt: str, timeout: float | None = None) -> str:
            """Type a prompt and enter it; returns the response."""
            self._call(action="send", text=prompt)
            return self.read_response(timeout)

        def read_response(self, timeout: float | None = None) -> str:
            """Wait until it is ready again; returns what came since the last prompt."""
            self._wait(timeout)
            return self._call(action="read", what="new")

        def interrupt(self) -> None:
            """Press Ctrl+C."""
            self._call(action="read")
            self._call(action="keys", keys=["C-c"])

        def exit(self, text: str = "") -> None:
            """End it: enter this text, such as /exit, or press Ctrl+D."""
            if text:
                self._call(action="send", text=text)
            else:
                self._call(action="read")
                self._call(action="keys", keys=["C-d"])

        def _wait(self, timeout: float | None) -> str:
            return self._call(
                action="wait_ready",
                timeout=timeout or self.timeout,
                idle_seconds=self.idle_seconds,
                **({"pattern": self.pattern} if self.pattern else {}),
            )

        def _call(self, **arguments: Any) -> str:
            return call_tmux(**arguments, **({"pane": self.pane} if self.pane else {}))

    return CliSession

"""What a block finds: the helpers, and the modules that it need not import. Each is loaded when a block names it.

The signatures and results of the helpers are a contract with models: `run_cmd` gives a dict and -1 on a time-out,
`http_get` and `http_post` give a dict with `error` instead of raising.

Runs under the person's Python with nothing but the standard library.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from gshtui.python.worker.channel import Channel, HubRefused
from gshtui.python.worker.drawn_figures import add_picture, is_picture


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


_WITHIN = 30
"""Seconds for an answer from the web."""
_BODY = 50 * 1024 * 1024
"""Bytes of a body that are read."""
NO_NETWORK = "The sandbox has no network. The person can allow it: `[sandbox] allow_network = true`."


class BlockFunctions:
    """Makes them."""

    def __init__(self, channel: Channel, process: int, network: bool) -> None:
        self._channel = channel
        self._process = process
        self._network = network

    def names(self) -> dict[str, Any]:
        """All of them by name."""
        given: list[Callable[..., Any]] = [run_cmd, read_file, write_file, append_file, list_files, output]
        return {function.__name__: function for function in given} | {
            "llm_call": self._llm_call(),
            "http_get": self._http_get(),
            "http_post": self._http_post(),
            "CliSession": cli_session_class(self._channel),
        }

    def _llm_call(self) -> Callable[..., str]:
        channel = self._channel

        def llm_call(prompt: str) -> str:
            """Ask the model of this conversation one question, and return its answer as text.

            It sees only the prompt: no history, no tools. What it uses counts against the agent's budget.
            """
            if not isinstance(prompt, str) or not prompt.strip():
                raise ValueError("llm_call needs a prompt: some text.")
            try:
                return str(channel.ask("llm", prompt=prompt))
            except HubRefused as error:
                raise RuntimeError(str(error)) from None

        return llm_call

    def _http_get(self) -> Callable[..., dict[str, Any]]:
        network = self._network

        def http_get(url: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
            """Make an HTTP GET request: a dict with status, headers and body, or with error."""
            return _request(url, None, dict(headers or {}), network)

        return http_get

    def _http_post(self) -> Callable[..., dict[str, Any]]:
        network = self._network

        def http_post(url: str, data: Any, headers: dict[str, str] | None = None) -> dict[str, Any]:
            """Make an HTTP POST request with a JSON body: a dict with status, headers and body, or with error."""
            given = {**(headers or {}), "Content-Type": "application/json"}
            return _request(url, json.dumps(data).encode(), given, network)

        return http_post


def run_cmd(cmd: str, timeout: float = 120) -> dict[str, Any]:
    """Run a shell command: a dict with stdout, stderr, returncode and success. returncode is -1 after a time-out."""
    import signal
    import subprocess

    child = subprocess.Popen(
        cmd,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=timeout)
    except BaseException as error:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except OSError:
            pass  # it has ended
        out, err = _rest(child)
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        said = "\n".join(filter(None, (err.rstrip("\n"), f"Command timed out after {timeout}s")))
        return {"stdout": out, "stderr": said, "returncode": -1, "success": False}
    code = child.returncode
    return {"stdout": _decoded(out), "stderr": _decoded(err), "returncode": code, "success": code == 0}


def _rest(child: Any) -> tuple[str, str]:
    """What a killed command had printed."""
    import subprocess

    try:
        out, err = child.communicate(timeout=1)
    except subprocess.TimeoutExpired:  # something that left its session holds the pipes
        for pipe in (child.stdout, child.stderr):
            pipe.close()
        return "", ""
    return _decoded(out), _decoded(err)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def read_file(path: str) -> str:
    """Return the text of a file; `~` is the home folder."""
    with open(os.path.expanduser(path), encoding="utf-8", errors="replace") as file:
        return file.read()


def write_file(path: str, content: str) -> None:
    """Write text to a file, making its folders."""
    whole = os.path.expanduser(path)
    folder = os.path.dirname(whole)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(whole, "w", encoding="utf-8") as file:
        file.write(content)


def append_file(path: str, content: str) -> None:
    """Append text to a file."""
    with open(os.path.expanduser(path), "a", encoding="utf-8") as file:
        file.write(content)


def list_files(pattern: str = "*") -> list[str]:
    """Return the paths that match a pattern; `**` stands for any folders."""
    import glob

    return glob.glob(os.path.expanduser(pattern), recursive=True)


def output(data: Any) -> None:
    """Print data so that it can be read back: dicts and lists as indented JSON. A picture is shown with the result."""
    if is_picture(data):
        add_picture(data)
        return
    text = json.dumps(data, indent=2, default=str) if isinstance(data, (dict, list)) else str(data)
    sys.stdout.write(text + "\n")


def _request(url: str, data: bytes | None, headers: dict[str, str], network: bool) -> dict[str, Any]:
    import urllib.request

    if not url.lower().startswith(("http://", "https://")):
        return {"error": f"Not an http or https address: {url[:200]}"}
    try:
        request = urllib.request.Request(url, data=data, headers=headers, method="POST" if data is not None else "GET")
        with urllib.request.urlopen(request, timeout=_WITHIN) as answer:
            body = answer.read(_BODY + 1)
            if len(body) > _BODY:
                return {"error": f"The answer is longer than {_BODY:,} bytes."}
            return {"status": answer.status, "headers": dict(answer.headers), "body": _decoded(body)}
    except Exception as error:  # the contract: whatever it is, as text
        return {"error": str(error) if network else f"{error}. {NO_NETWORK}"}


_MODULES = ("os", "sys", "json", "subprocess", "pathlib")
"""Preloaded, as their plain names; and everything of `typing`."""


class Namespace:
    """The names of one interpreter."""

    def __init__(self, given: dict[str, Any]) -> None:
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        self.names = main.__dict__
        self.names["__builtins__"] = builtins
        self.names.update(given)
        self._given = dict(given)

    def own(self) -> dict[str, Any]:
        """What blocks have defined: not the helpers, not modules, nothing whose name begins with `_`."""
        return {
            name: value
            for name, value in list(self.names.items())
            if not name.startswith("_") and not isinstance(value, types.ModuleType) and not self._is_given(name, value)
        }

    def all(self) -> list[tuple[str, Any]]:
        """All that blocks have named, modules, too: not the helpers, and nothing that Python itself sets."""
        return [
            (name, value)
            for name, value in list(self.names.items())
            if name != "_" and not name.startswith("__") and not self._is_given(name, value)
        ]

    def mend(self) -> None:
        """Set again what Python itself needs."""
        self.names["__builtins__"] = builtins

    def _is_given(self, name: str, value: object) -> bool:
        return name in self._given and self._given[name] is value

    def import_for(self, tree: ast.AST) -> None:
        """Load the preloaded modules that this code names and the namespace does not have."""
        wanted = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - self.names.keys()
        wanted -= set(dir(builtins))
        for name in wanted.intersection(_MODULES):
            self.names[name] = importlib.import_module(name)
        if wanted.intersection(_TYPING):
            typing = importlib.import_module("typing")
            for name in wanted.intersection(_TYPING):
                self.names[name] = self._given[name] = getattr(typing, name)


def _typing_names() -> frozenset[str]:
    typing = sys.modules.get("typing")
    return frozenset(getattr(typing, "__all__", ()))


_TYPING = _typing_names()


def make_namespace(channel: Channel, *, network: bool) -> Namespace:
    """The names of a new interpreter. `network`: whether it may reach one."""
    return Namespace(BlockFunctions(channel, os.getpid(), network).names())
